#!/usr/bin/env bash
# KokkosKernels of Trilinos 13.2.0 (Debian 12, 13.2.0-4): the level-set solves of sptrsv, SEQLVLSCHD_RP and SEQLVLSCHD_TP1, divide by
# the last entry of each row of a lower triangle, whatever its column is. Rows that keep the diagonal first, as hypre stores them,
# give a wrong x with both, a different one with each, without an error: neither the functions nor the handle require sorted rows.
# Guess: entries of a row have any order in compressed rows, and the column number identifies the diagonal.
# Consequence: sort the columns of each row before sptrsv_symbolic; a test with sorted rows does not show it.
# Seen on a chain of 100 rows, 2 on the diagonal and 1 beside it, x = 1: sorted rows are right with both; with the diagonal first
# RP gives x[1] = 1.5 and TP1 x[1] = 2.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
version=13.2.0-4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libtrilinos-kokkos-kernels-13.2 libtrilinos-kokkos-kernels-dev libtrilinos-kokkos-13.2 libtrilinos-kokkos-dev; do
  apt-get download -q "$package=$version" >log 2>&1 || { cat log; echo "skipped: $package $version cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
include=$(dirname "$(find root -name KokkosSparse_sptrsv.hpp)")
kernels=$(find root -name 'libtrilinos_kokkoskernels.so.*' | head -n 1)
core=$(find root -name 'libtrilinos_kokkoscore.so.*' | head -n 1)
cat >program.cpp <<'C'
#include <KokkosKernels_Handle.hpp>
#include <KokkosSparse_sptrsv.hpp>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdio>
using Space = Kokkos::DefaultHostExecutionSpace;
using Handle = KokkosKernels::Experimental::KokkosKernelsHandle<int, int, double, Space, Space::memory_space, Space::memory_space>;
using KokkosSparse::Experimental::SPTRSVAlgorithm;
template <class T> using View = Kokkos::View<T *, Kokkos::LayoutLeft, Space>;
static void solve(const char *name, SPTRSVAlgorithm algorithm, bool diagonal_first) {
  const int n = 100;
  View<int> ptr("ptr", n + 1), index("index", 2 * n - 1);
  View<double> values("values", 2 * n - 1), b("b", n), x("x", n);
  int at = 0;
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < 2; k++) {
      const bool diagonal = (k == 0) == diagonal_first;
      if (!diagonal && i == 0) continue;
      index(at) = diagonal ? i : i - 1;
      values(at++) = diagonal ? 2 : 1;
    }
    ptr(i + 1) = at;
    b(i) = i > 0 ? 3 : 2;
  }
  Handle handle;
  handle.create_sptrsv_handle(algorithm, n, true);
  KokkosSparse::Experimental::sptrsv_symbolic(&handle, View<const int>(ptr), View<const int>(index), View<const double>(values));
  KokkosSparse::Experimental::sptrsv_solve(&handle, View<const int>(ptr), View<const int>(index), View<const double>(values),
                                           View<const double>(b), x);
  Space().fence();
  double error = 0;
  for (int i = 0; i < n; i++) error = std::fmax(error, std::fabs(x(i) - 1));
  std::printf("%s, %s: x[1] = %g, %s\n", name, diagonal_first ? "diagonal first" : "sorted", x(1), error < 1e-12 ? "right" : "wrong");
  handle.destroy_sptrsv_handle();
}
int main() {
  Kokkos::initialize();
  for (int first = 0; first < 2; first++) {
    solve("RP", SPTRSVAlgorithm::SEQLVLSCHD_RP, first);
    solve("TP1", SPTRSVAlgorithm::SEQLVLSCHD_TP1, first);
  }
  Kokkos::finalize();
}
C
g++ -std=c++17 -O1 -w -fopenmp -isystem "$include" program.cpp -o program "$kernels" "$core" -ldl
LD_LIBRARY_PATH=$(dirname "$kernels"):$(dirname "$core") OMP_PROC_BIND=false ./program 2>/dev/null | tee output
diff output - <<'T' || { echo "changed: what sptrsv does with rows that are not sorted"; exit 1; }
RP, sorted: x[1] = 1, right
TP1, sorted: x[1] = 1, right
RP, diagonal first: x[1] = 1.5, wrong
TP1, diagonal first: x[1] = 2, wrong
T
echo "KokkosKernels $version: sptrsv takes the last entry of a row for the diagonal, as described"
