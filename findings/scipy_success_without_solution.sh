#!/usr/bin/env bash
# SciPy 1.10.1 (Debian 12, 1.10.1-2, reference BLAS): info = 0 of bicg, qmr, gmres and minres is no promise of a small residual.
# The matrix is a weighted graph Laplacian of order 3, singular; b has small integers that do not add up to zero, so that there is
# no solution. Guess: 0, "successful exit" with tol=1e-8, means norm(b - A x) <= 1e-8 norm(b).
# Seen on 306 such b: info 0 of bicg 144 times, of qmr 194 times (x of 1e16, and residuals of several times b), of gmres 19 times,
# where b - A x in double precision is exactly 0 and the exact residual is not; of minres always, for a least-squares solution.
# Consequence: compute the residual, with more digits where terms of A x are much larger than b.
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
import itertools, numpy, scipy.sparse.linalg as solvers
from fractions import Fraction
numpy.seterr(all='ignore')
a = numpy.array([[1., -1, 0], [-1, 3, -2], [0, -2, 2]])

def exact_residual(b, x):
    r = [Fraction(b[i]) - sum(Fraction(a[i, j]) * Fraction(x[j]) for j in range(3)) for i in range(3)]
    return float(sum(e * e for e in r)) ** 0.5 / numpy.linalg.norm(b)

runs = {name: [0, 0, 0] for name in ('cg', 'bicg', 'qmr', 'gmres', 'minres')}
for b in itertools.product(range(-3, 4), repeat=3):
    if sum(b) == 0:
        continue
    for name, run in runs.items():
        x, info = getattr(solvers, name)(a, numpy.array(b, float), tol=1e-8, maxiter=100)
        run[0] += 1
        if info == 0 and exact_residual(b, x) > 0.01:
            run[1] += 1
            run[2] += not (numpy.array(b) - a @ x).any()
for name, run in runs.items():
    print(f'{name}: {run[0]} systems without a solution, {run[1]} with info 0, b - A x computed as 0 in {run[2]} of them')
P
/usr/bin/python3.11 -s program.py | tee output
grep -Eq '^bicg: .* [1-9][0-9]+ with info 0' output && grep -Eq '^qmr: .* [1-9][0-9]+ with info 0' output &&
  grep -Eq '^gmres: .* ([1-9][0-9]*) with info 0, b - A x computed as 0 in \1 of them' output &&
  grep -q '^minres: .* 306 with info 0' output || { echo "changed: other methods return 0"; exit 1; }
echo "SciPy 1.10.1: info 0 without a solution, as described"
