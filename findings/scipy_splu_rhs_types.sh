#!/usr/bin/env bash
# SciPy 1.10.1 (Debian 12, 1.10.1-2): the factors of scipy.sparse.linalg.splu and factorized take right-hand sides of few types, though
# spsolve, with the same library behind it, takes all of them.
# Guess: a right-hand side is converted to the type of the factors, or solved in its real and imaginary parts; what spsolve(A, b) takes,
# splu(A).solve(b) takes, too.
# Seen, for a diagonal matrix: factors in single precision refuse vectors of float64 and int32 (TypeError: Cannot cast array data),
# factors in double precision take float32 and int32. Real factors refuse complex vectors, in splu and in factorized; spsolve solves
# for all of these vectors with the same matrices.
# Consequence: code that moves from spsolve to splu, to solve many times, fails where b is complex, and where A has single precision
# and b does not. It converts b, or solves for b.real and b.imag.
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
import numpy
import scipy.sparse as sparse
from scipy.sparse.linalg import factorized, splu, spsolve

for single in True, False:
    A = sparse.identity(3, format="csc", dtype=numpy.float32 if single else numpy.float64) * 2
    for way, solve in ("splu", splu(A).solve), ("factorized", factorized(A)), ("spsolve", lambda b: spsolve(A, b)):
        taken = []
        for kind in numpy.int32, numpy.float32, numpy.float64, numpy.complex64, numpy.complex128:
            try:
                x = solve(numpy.ones(3, kind))
            except TypeError:
                continue
            assert numpy.allclose(x, 0.5)
            taken.append(kind.__name__)
        print("single" if single else "double", way, *taken)
P
/usr/bin/python3.11 -s program.py | tee output
cat >expected <<'E'
single splu float32
single factorized float32
single spsolve int32 float32 float64 complex64 complex128
double splu int32 float32 float64
double factorized int32 float32 float64
double spsolve int32 float32 float64 complex64 complex128
E
diff expected output || { echo "changed: splu or factorized takes other right-hand sides"; exit 1; }
echo "SciPy 1.10.1: splu and factorized refuse right-hand sides that spsolve takes, as described"
