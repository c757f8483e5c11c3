#!/usr/bin/env bash
# Eigen 3.4.0 (Debian 12, 3.4.0-4): IncompleteLUT with a fill factor of 1 drops entries of a tridiagonal matrix, with a drop tolerance of 0.
# Its LU has no fill at all. The documentation states that the factors hold at most the fill factor times as many entries as A.
# Guess: fill factor 1 keeps as many entries as A has, so that the exact factors fit.
# Seen: of tridiag(-1, 2, -1) of order 50 (148 entries) L and U together keep 98, the whole superdiagonal of U is gone, and "solving"
# leaves a residual of 0.98 of b: a row's share for U is one entry, and the diagonal counts as it. Fill factor 2 keeps all 148 and is
# exact.
# Consequence: comparisons with ILU(0) take a fill factor of 2 at least, or count the entries.
# Fails (exit status 1) if that changes; 77 if the package cannot be had.
set -eu
version=3.4.0-4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -q "libeigen3-dev=$version" >log 2>&1 || { cat log; echo "skipped: libeigen3-dev $version cannot be fetched"; exit 77; }
dpkg -x libeigen3-dev*.deb root
cat >program.cpp <<'C'
#include <Eigen/Sparse>
#include <cstdio>
struct Open : Eigen::IncompleteLUT<double> {
  const Eigen::SparseMatrix<double, Eigen::RowMajor> &factors() const { return m_lu; }
};
int main() {
  const int n = 50;
  Eigen::SparseMatrix<double> a(n, n);
  for (int i = 0; i < n; i++) {
    a.insert(i, i) = 2;
    if (i > 0) a.insert(i, i - 1) = a.insert(i - 1, i) = -1;
  }
  a.makeCompressed();
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(n);
  for (int fill = 1; fill <= 2; fill++) {
    Open incomplete;
    incomplete.setDroptol(0);
    incomplete.setFillfactor(fill);
    incomplete.compute(a);
    const Eigen::VectorXd x = incomplete.solve(b);
    long above = 0;
    for (int i = 0; i < n; i++)
      for (Eigen::SparseMatrix<double, Eigen::RowMajor>::InnerIterator it(incomplete.factors(), i); it; ++it) above += it.col() > i;
    std::printf("fill factor %d: %ld of %ld entries, %ld above the diagonal, residual %s\n", fill, (long)incomplete.factors().nonZeros(),
                (long)a.nonZeros(), above, (b - a * x).norm() > 0.9 * b.norm() ? "above 0.9" : (b - a * x).norm() < 1e-12 * b.norm() ? "0" : "other");
  }
}
C
c++ -O1 -I root/usr/include/eigen3 program.cpp -o program 2>log || { cat log; echo "skipped: there is no C++ compiler that takes it"; exit 77; }
./program | tee output
grep -q '^fill factor 1: 98 of 148 entries, 0 above the diagonal, residual above 0.9$' output &&
  grep -q '^fill factor 2: 148 of 148 entries, 49 above the diagonal, residual 0$' output || { echo "changed: other entries are kept"; exit 1; }
echo "Eigen 3.4.0: fill factor 1 drops entries of the matrix, as described"
