#!/usr/bin/env bash
# SciPy 1.10.1 (Debian 12, 1.10.1-2): spsolve_triangular(A, b, overwrite_b=True) rounds the solution to the type of b without an error.
# Its documentation lets the caller overwrite b; a ValueError "Cannot overwrite b" exists for types that do not fit, but tests whether
# b can become the result's type, not whether the result can become b's.
# Guess: that ValueError for a b of integers, as for any result that b cannot hold.
# Seen, for A = [2 0; 1 4]: b = (1, 5) of integers gives (0, 1) instead of (0.5, 1.125), silently. The matrix i A and a real b give
# (0, 0), as imaginary parts are dropped (a ComplexWarning); a b of float32 keeps 8 digits.
# Consequence: a b that is to be overwritten has the type of the result, or is copied first.
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
import numpy, warnings
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import spsolve_triangular
a = csr_matrix(numpy.array([[2., 0], [1, 4]]))
print("integers:", spsolve_triangular(a, numpy.array([1, 5])), "overwritten:", spsolve_triangular(a, numpy.array([1, 5]), overwrite_b=True))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x = spsolve_triangular(a * 1j, numpy.array([1., 5]), overwrite_b=True)
print("complex matrix, real b:", x, "after", {warning.category.__name__ for warning in caught})
print("float32:", spsolve_triangular(a, numpy.array([1, 5], numpy.float32), overwrite_b=True).dtype)
P
/usr/bin/python3.11 -s program.py | tee output
grep -q '^integers: \[0.5 *1.125\] overwritten: \[0 1\]$' output && grep -q "^complex matrix, real b: \[0\. 0\.\] after {'ComplexWarning'}" output &&
  grep -q '^float32: float32$' output || { echo "changed: the solution is not rounded as described"; exit 1; }
echo "SciPy 1.10.1: an overwritten b rounds the solution, as described"
