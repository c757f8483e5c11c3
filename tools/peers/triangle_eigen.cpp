/* triangle_eigen [--on-demand] --uplo L|U MATRIX [REPEAT [NRHS]]: triangularView of Eigen, in place. Eigen
 * solves by rows and by columns: the program tries both and uses the faster one. See triangle.h. */
#include <Eigen/SparseCore>
#include <cstdio>

#include "tools/peers/triangle.h"

namespace {

template <int Order> using Sparse = Eigen::SparseMatrix<double, Order, int>;

template <int Order> struct Triangle { const Eigen::Map<const Sparse<Order>> &entries; };

template <int Order, unsigned Mode> void solve(void *solver, const double *, double *x) {
  const auto &entries = static_cast<Triangle<Order> *>(solver)->entries;
  Eigen::Map<Eigen::VectorXd> in_place(x, entries.rows());
  entries.template triangularView<Mode>().solveInPlace(in_place);
}

template <int Order> struct Solver {
  peer_compressed arrays;
  Eigen::Map<const Sparse<Order>> entries;
  Triangle<Order> triangle;
  triangle_solve *call;

  static peer_compressed compress(const peer *p) {
    peer_compressed arrays;
    peer_compress(p, Order == Eigen::RowMajor, &arrays);
    return arrays;
  }
  explicit Solver(const peer *p)
      : arrays(compress(p)), entries(static_cast<int>(p->n), static_cast<int>(p->n), arrays.ptr[p->n],
                                     arrays.ptr, arrays.index, static_cast<const double *>(arrays.values)),
        triangle{entries}, call(p->uplo == 'U' ? solve<Order, Eigen::Upper> : solve<Order, Eigen::Lower>) {}
  Solver(const Solver &) = delete;
  Solver &operator=(const Solver &) = delete;
  ~Solver() { peer_compressed_free(&arrays); }

  double attempt(const peer *p) { return triangle_try(p, true, call, &triangle); }
  void rounds(peer *p, const char *method) {
    p->method = method;
    p->nnz_factor = static_cast<double>(arrays.ptr[p->n]);
    triangle_rounds(p, true, call, &triangle);
  }
};

} // namespace

void triangle_solve_real(peer *p) {
  const double begin = peer_seconds();
  Solver<Eigen::RowMajor> rows(p);
  p->factor_s = peer_seconds() - begin;
  Solver<Eigen::ColMajor> columns(p);
  std::snprintf(p->solver, sizeof p->solver, "Eigen %d.%d.%d", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                EIGEN_MINOR_VERSION);
  if (rows.attempt(p) <= columns.attempt(p))
    rows.rounds(p, "rows");
  else
    columns.rounds(p, "columns");
}
