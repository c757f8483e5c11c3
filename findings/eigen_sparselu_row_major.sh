#!/usr/bin/env bash
# Eigen 3.4.0 (Debian 12, 3.4.0-4): SparseLU of a compressed row-major matrix factors another matrix. info() is Success, and solve()
# returns a wrong x. The same matrix uncompressed, or in columns, is solved right, and so is one of symmetric pattern.
# Guess: right, only slower: the documentation of SparseLU warns that without a compressed column-major matrix an expensive copy is
# made (its template parameter "must be" column-major; no assertion and no static check holds it to that).
# Seen, for A = [1 2 3; 0 4 0; 0 0 5] and b = A (1, 1, 1)^T:
#   columns: info 0, x right; rows: info 0, x wrong (1 1.33333 1); rows, not compressed: info 0, x right
# The copy has columns, but the pointers to their first entries are taken from the given matrix, where they belong to rows.
# Consequence: a program whose matrices are row-major, as CSR arrays are, gets wrong solutions with Success; compare the residual.
# Fails (exit status 1) if that changes; 77 if the package cannot be had.
set -eu
version=3.4.0-4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -q "libeigen3-dev=$version" >log 2>&1 || { cat log; echo "skipped: libeigen3-dev $version cannot be fetched"; exit 77; }
dpkg -x ./*.deb root
cat >program.cpp <<'C'
#include <Eigen/Sparse>
#include <cstdio>
template <int ORDER> static void solve(const char *name, bool compressed) {
  typedef Eigen::SparseMatrix<double, ORDER> Matrix;
  Matrix a(3, 3);
  const int row[] = {0, 0, 0, 1, 2}, column[] = {0, 1, 2, 1, 2};
  for (int e = 0; e < 5; e++) a.insert(row[e], column[e]) = e + 1;
  if (compressed) a.makeCompressed();
  Eigen::SparseLU<Matrix> lu(a);
  const Eigen::VectorXd b = a * Eigen::VectorXd::Ones(3), x = lu.solve(b);
  std::printf("%s: info %d, x %s (%g %g %g)\n", name, (int)lu.info(),
              (x - Eigen::VectorXd::Ones(3)).norm() < 1e-14 ? "right" : "wrong", x(0), x(1), x(2));
}
int main() {
  solve<Eigen::ColMajor>("columns", true);
  solve<Eigen::RowMajor>("rows", true);
  solve<Eigen::RowMajor>("rows, not compressed", false);
}
C
c++ -O1 -I root/usr/include/eigen3 program.cpp -o program 2>log || { cat log; echo "skipped: there is no C++ compiler that takes it"; exit 77; }
./program | tee output
grep -q '^columns: info 0, x right' output && grep -q '^rows: info 0, x wrong' output &&
  grep -q '^rows, not compressed: info 0, x right' output
