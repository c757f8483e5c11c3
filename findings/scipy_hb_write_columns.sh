#!/usr/bin/env bash
# SciPy 1.10.1 (Debian 12, 1.10.1-2): hb_write writes the values of a Harwell-Boeing file one column narrower than its header states.
# Guess: fields as wide as in the Fortran format of the header, as the format has no other separator.
# Seen: with the header's (3E25.16) a number takes 24 columns, with (5E15.7), in single precision, 14. Positive numbers in double precision
# survive, as they begin with two blanks. For the values 1.5, -2, -4 gfortran ends with an error, as the sign of the third belongs to the
# second field. In single precision 1.5, 2.5, 3.5 become 1.5, 2500, 0.5 without an error: the second field ends with the first digit of
# the third number, which becomes a digit of its exponent. hb_read, which divides at blanks, reads both, and refuses 1.5, -2 in single
# precision, which stand side by side: "ValueError: indices and data should have the same size".
# Consequence: readers that use columns must compare the lengths of the lines with the header; matrices are written to Matrix Market.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in python3-scipy=1.10.1-2 python3-numpy=1:1.24.2-1+deb12u1 python3-decorator=5.1.1-3 libblas3=3.11.0-2 liblapack3=3.11.0-2 \
               libgfortran5=12.2.0-14+deb12u1 libquadmath0=12.2.0-14+deb12u1; do
  apt-get download -q "$package" >log 2>&1 || { cat log; echo "skipped: $package cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
[ -x /usr/bin/python3.11 ] || { echo "skipped: there is no python3.11"; exit 77; }
export LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu:$PWD/root/usr/lib/x86_64-linux-gnu/blas:$PWD/root/usr/lib/x86_64-linux-gnu/lapack
export PYTHONPATH=$PWD/root/usr/lib/python3/dist-packages OPENBLAS_NUM_THREADS=1
cat >program.py <<'P'
import numpy, sys, warnings
from scipy.io import hb_read, hb_write
from scipy.sparse import csc_matrix
warnings.simplefilter("ignore")
for name, kind, values in ("double", "d", (1.5, -2, -4)), ("positive", "f", (1.5, 2.5, 3.5)), ("negative", "f", (1.5, -2)):
    a = csc_matrix(numpy.array(values, kind).reshape(1, -1))
    hb_write(name, a)
    with open(name) as file:
        lines = file.read().splitlines()
    try:
        result = "equal" if (hb_read(name).toarray() == a.toarray()).all() else "different"
    except ValueError as error:
        result = error
    print(name + ":", lines[3].split()[2], len(lines[-1]) / len(values), "columns, hb_read:", result)
P
/usr/bin/python3.11 -s program.py | tee output
grep -q '^double: (3E25.16) 24.0 columns, hb_read: equal$' output && grep -q '^positive: (5E15.7) 14.0 columns, hb_read: equal$' output &&
  grep -q '^negative: (5E15.7) 14.0 columns, hb_read: indices and data should have the same size$' output ||
  { echo "changed: the fields are as wide as the header says, or hb_read reads them"; exit 1; }
if command -v gfortran >/dev/null; then
  cat >program.f90 <<'F'
character(20) :: layout
integer :: count, state
double precision :: value(3)
read(*, *) count
read(*, '(a)') layout
read(*, layout, iostat=state) value(:count)
if (state == 0) print '(3f8.1)', value(:count)
if (state /= 0) print '(a)', 'error'
end
F
  gfortran program.f90 -o program
  { echo 3 && echo '(3E25.16)' && tail -n 1 double; } | ./program | tee output
  { echo 3 && echo '(5E15.7)' && tail -n 1 positive; } | ./program | tee -a output
  tr -s ' ' <output | tr '\n' ';' | grep -q '^error; 1.5 2500.0 0.5;$' || { echo "changed: gfortran reads other numbers"; exit 1; }
fi
echo "SciPy 1.10.1: hb_write's fields are narrower than the header says, as described"
