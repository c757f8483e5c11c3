/* triangle_kokkos [--on-demand] --uplo L|U MATRIX [REPEAT [NRHS]]: sptrsv of KokkosKernels, by level sets, on
 * the default execution space that Kokkos was built with. See triangle.h. */
#include <KokkosKernels_Handle.hpp>
#include <KokkosSparse_sptrsv.hpp>
#include <Kokkos_Core.hpp>
#include <cstdio>

#include "tools/peers/triangle.h"

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Memory = Space::memory_space;
using Device = Kokkos::Device<Space, Memory>;
using Handle = KokkosKernels::Experimental::KokkosKernelsHandle<int, int, double, Space, Memory, Memory>;
template <class T>
using View = Kokkos::View<T *, Kokkos::LayoutLeft, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

struct Solver {
  Handle handle;
  View<const int> ptr, index;
  View<const double> values;
  size_t n;
};

void solve(void *solver, const double *b, double *x) {
  auto *s = static_cast<Solver *>(solver);
  KokkosSparse::Experimental::sptrsv_solve(&s->handle, s->ptr, s->index, s->values,
                                           View<const double>(b, s->n), View<double>(x, s->n));
  Space().fence();
}

void run(peer *p) {
  peer_compressed rows;
  const double begin = peer_seconds();
  peer_compress(p, true, &rows);
  const auto n = static_cast<size_t>(p->n), nnz = static_cast<size_t>(rows.ptr[p->n]);
  Solver s{Handle(), View<const int>(rows.ptr, n + 1), View<const int>(rows.index, nnz),
           View<const double>(static_cast<const double *>(rows.values), nnz), n};
  s.handle.create_sptrsv_handle(KokkosSparse::Experimental::SPTRSVAlgorithm::SEQLVLSCHD_TP1,
                                static_cast<int>(p->n), p->uplo == 'L');
  KokkosSparse::Experimental::sptrsv_symbolic(&s.handle, s.ptr, s.index, s.values);
  p->factor_s = peer_seconds() - begin;
  p->method = "level sets";
  p->nnz_factor = static_cast<double>(nnz);
  triangle_rounds(p, false, solve, &s);
  s.handle.destroy_sptrsv_handle();
  peer_compressed_free(&rows);
}

} // namespace

void triangle_solve_real(peer *p) {
  std::snprintf(p->solver, sizeof p->solver, "KokkosKernels, %s", Space::name());
  Kokkos::initialize();
  run(p);
  Kokkos::finalize();
}
