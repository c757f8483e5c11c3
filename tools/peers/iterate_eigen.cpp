/* iterate_eigen [--on-demand] MATRIX [REPEAT]: ConjugateGradient or BiCGSTAB of Eigen on one core, on the
 * original arrays of the rows. See iterate.h.
 *
 * Eigen has no ILU(0): BiCGSTAB uses IncompleteLUT with as many entries as the matrix. Its IncompleteCholesky
 * keeps in each column the largest entries, as many as the column of the matrix has. */
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <cstdio>

#include "tools/peers/iterate.h"

namespace {

using Rows = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
using Vector = Eigen::Map<Eigen::VectorXd>;
using Jacobi = Eigen::DiagonalPreconditioner<double>;
using Cholesky = Eigen::IncompleteCholesky<double, Eigen::Lower, Eigen::NaturalOrdering<int>>;
using Lut = Eigen::IncompleteLUT<double, int>;

template <class Preconditioner>
using Cg = Eigen::ConjugateGradient<Rows, Eigen::Lower | Eigen::Upper, Preconditioner>;
template <class Preconditioner> using Bicgstab = Eigen::BiCGSTAB<Rows, Preconditioner>;

template <class Solver> void configure(Solver &) {}
void configure(Bicgstab<Lut> &solver) {
  solver.preconditioner().setFillfactor(1);
}

template <class Solver> void solve(peer *p, iterate_system *s) {
  const double begin = iterate_seconds();
  const int n = static_cast<int>(p->n);
  const Eigen::Map<const Rows> a(n, n, s->rows.ptr[n], s->rows.ptr, s->rows.index,
                                 static_cast<const double *>(s->rows.values));
  const Eigen::Map<const Eigen::VectorXd> b(static_cast<const double *>(p->b), n);
  Vector x(static_cast<double *>(p->x), n);
  Solver solver;
  configure(solver);
  solver.setTolerance(ITERATE_TOLERANCE);
  solver.setMaxIterations(ITERATE_MOST);
  solver.compute(a);
  s->setup_s = iterate_seconds() - begin;
  if (solver.info() != Eigen::Success)
    peer_fail(p, static_cast<int>(solver.info()), "the factorization failed");
  else {
    x = solver.solve(b);
    p->iterations = solver.iterations();
    if (solver.info() != Eigen::Success)
      peer_fail(p, static_cast<int>(solver.info()), "not converged after %d iterations",
                static_cast<int>(solver.iterations()));
  }
}

} // namespace

bool iterate_begin(peer *p) {
  std::snprintf(p->solver, sizeof p->solver, "Eigen %d.%d.%d", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                EIGEN_MINOR_VERSION);
  return true;
}

void iterate_end() {}

void iterate_solve(peer *p, iterate_system *s) {
  if (s->cg)
    (s->jacobi ? solve<Cg<Jacobi>> : solve<Cg<Cholesky>>)(p, s);
  else
    (s->jacobi ? solve<Bicgstab<Jacobi>> : solve<Bicgstab<Lut>>)(p, s);
}
