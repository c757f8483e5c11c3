#!/usr/bin/env bash
# Eigen 3.4.0 (Debian 12, 3.4.0-4, unsupported/Eigen/SparseExtra): loadMarket reads a symmetric, Hermitian or skew-symmetric Matrix
# Market file as the triangle that the file stores and returns true; for Hermitian and skew-symmetric files getMarketHeader reports
# "no symmetry" as well (0, for symmetric ones 32), so that the program cannot complete the matrix.
# Guess: the whole matrix, as scipy.io.mmread returns it, or at least the kind of symmetry that is in the file's first line.
# Seen, for files of order 2 with the entries (1,1), (2,1), (2,2), for skew-symmetric ones (2,1) alone:
#   symmetric: true, 3 entries, symmetry 32; hermitian: true, 3 entries, symmetry 0; skew-symmetric: true, 1 entry, symmetry 0.
# Consequence: SparseLU or BiCGSTAB of such a matrix solve a triangular system without an error.
# Fails (exit status 1) if that changes; 77 if the package cannot be had.
set -eu
version=3.4.0-4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -q "libeigen3-dev=$version" >log 2>&1 || { cat log; echo "skipped: libeigen3-dev $version cannot be fetched"; exit 77; }
dpkg -x libeigen3-dev*.deb root
printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '2 2 3' '1 1 2' '2 1 1' '2 2 5' >symmetric.mtx
printf '%s\n' '%%MatrixMarket matrix coordinate complex hermitian' '2 2 3' '1 1 2 0' '2 1 1 3' '2 2 5 0' >hermitian.mtx
printf '%s\n' '%%MatrixMarket matrix coordinate real skew-symmetric' '2 2 1' '2 1 3' >skew-symmetric.mtx
cat >program.cpp <<'C'
#include <Eigen/Sparse>
#include <complex>
#include <iostream>
#include <unsupported/Eigen/SparseExtra>
template <typename Scalar> void show(const char *name) {
  Eigen::SparseMatrix<Scalar> a;
  int symmetry = -1;
  bool is_complex, is_vector, read = Eigen::loadMarket(a, std::string(name) + ".mtx");
  Eigen::getMarketHeader(std::string(name) + ".mtx", symmetry, is_complex, is_vector);
  std::cout << name << ": " << std::boolalpha << read << ", entries " << a.nonZeros() << ", symmetry " << symmetry << "\n";
}
int main() {
  show<double>("symmetric");
  show<std::complex<double>>("hermitian");
  show<double>("skew-symmetric");
}
C
c++ -O1 -I root/usr/include/eigen3 program.cpp -o program 2>log || { cat log; echo "skipped: there is no C++ compiler that takes it"; exit 77; }
./program | tee output
grep -q '^symmetric: true, entries 3, symmetry 32$' output && grep -q '^hermitian: true, entries 3, symmetry 0$' output &&
  grep -q '^skew-symmetric: true, entries 1, symmetry 0$' output || { echo "changed: Eigen reads these files in another way"; exit 1; }
echo "Eigen $version: half of the matrix, as described"
