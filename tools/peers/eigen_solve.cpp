/* eigen_solve [--on-demand] [--quick] MATRIX [REPEAT [NRHS]]: Eigen's own factorizations, without other
 * libraries, on one core. See peer.h.
 *
 * Real symmetric and complex Hermitian matrices: SimplicialLDLT in METIS' order of A. After a zero pivot,
 * and for all other matrices: SparseLU, with the order and the pivots of superlu_solve. Eigen has no
 * refinement. */
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <complex>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tools/peers/metis_order.h"

namespace {

using Permutation = Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int>;

/* position[j], the position of column j in the order of the next analysis; empty: COLAMD, for SparseLU. */
std::vector<int> position;

/* SparseLU requires the positions of the columns, SimplicialLDLT the inverse permutation. */
template <bool ToColumns> struct Given {
  using PermutationType = Permutation;
  template <class Matrix> void operator()(const Matrix &a, PermutationType &order) const {
    if (position.empty()) {
      Eigen::COLAMDOrdering<int>()(a, order);
      return;
    }
    const int n = static_cast<int>(position.size());
    order.resize(n);
    for (int j = 0; j < n; j++) {
      if (ToColumns)
        order.indices()(position[static_cast<std::size_t>(j)]) = j;
      else
        order.indices()(j) = position[static_cast<std::size_t>(j)];
    }
  }
};

template <class Scalar> using Matrix = Eigen::SparseMatrix<Scalar, Eigen::ColMajor, int>;
template <class Scalar> using Cholesky = Eigen::SimplicialLDLT<Matrix<Scalar>, Eigen::Lower, Given<true>>;
template <class Scalar> using LU = Eigen::SparseLU<Matrix<Scalar>, Given<false>>;

/* Sets the order; returns its name. */
const char *set_order(const peer *p, bool of_sum, const peer_compressed &columns,
                      const peer_compressed *rows) {
  position.resize(static_cast<std::size_t>(p->n));
  if (peer_metis_order(p->n, of_sum ? PEER_GRAPH_SYMMETRIC : PEER_GRAPH_PRODUCT, &columns, rows,
                       position.data()))
    return of_sum ? "METIS" : "METIS of A^T A";
  position.clear();
  return "COLAMD";
}

template <class Scalar> double entries(const Cholesky<Scalar> &f) {
  return static_cast<double>(f.matrixL().nestedExpression().nonZeros()) + static_cast<double>(f.rows());
}
template <class Scalar> double entries(const LU<Scalar> &f) {
  return static_cast<double>(f.nnzL()) + static_cast<double>(f.nnzU()) - static_cast<double>(f.rows());
}

/* Factors with the order that was set; returns false on failure. begin: start time of the analysis. */
template <class Scalar, class Solver> bool factor(peer *p, Solver &f, const Matrix<Scalar> &a, double begin) {
  f.analyzePattern(a);
  const double analyzed = peer_seconds();
  f.factorize(a);
  p->analyze_s = analyzed - begin;
  p->factor_s = peer_seconds() - analyzed;
  if (f.info() != Eigen::Success) return false;
  p->nnz_factor = entries<Scalar>(f);
  return true;
}

/* Seconds of a solve for all right-hand sides: in one call, or column by column. */
template <class Scalar, class Solver> double solve_all(peer *p, const Solver &f, bool by_columns) {
  using Block = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  const Eigen::Index n = static_cast<Eigen::Index>(p->n);
  const Eigen::Map<const Block> b(static_cast<const Scalar *>(p->b), n, p->nrhs);
  Eigen::Map<Block> x(static_cast<Scalar *>(p->x), n, p->nrhs);
  const double begin = peer_seconds();
  if (!by_columns)
    x = f.solve(b);
  else
    for (int k = 0; k < p->nrhs; k++) x.col(k) = f.solve(b.col(k));
  return peer_seconds() - begin;
}

/* Some solves of Eigen for several columns at once are slow: after a warm-up the faster way is used. */
template <class Scalar, class Solver> void rounds(peer *p, const Solver &f) {
  double fastest[2] = {solve_all<Scalar>(p, f, false), solve_all<Scalar>(p, f, true)};
  for (int k = 0; k < 3 && p->nrhs > 1; k++)
    for (int way = 0; way < 2; way++) {
      const double seconds = solve_all<Scalar>(p, f, way == 1);
      if (k == 0 || seconds < fastest[way]) fastest[way] = seconds;
    }
  const bool by_columns = p->nrhs == 1 || fastest[1] < fastest[0];
  do {
    solve_all<Scalar>(p, f, by_columns);
    for (int k = 0; k < p->repeat; k++) p->solves_s[k] = solve_all<Scalar>(p, f, by_columns);
  } while (peer_again(p));
}

template <class Scalar> bool solve_by_ldlt(peer *p, const Matrix<Scalar> &a, const peer_compressed &columns) {
  Cholesky<Scalar> f;
  const double begin = peer_seconds();
  p->ordering = set_order(p, true, columns, nullptr);
  p->method = "LDLT";
  if (position.empty() || !factor<Scalar>(p, f, a, begin)) return false;
  rounds<Scalar>(p, f);
  return true;
}

template <class Scalar> void solve_by_lu(peer *p, const Matrix<Scalar> &a, const peer_compressed &columns) {
  LU<Scalar> f;
  peer_compressed rows;
  peer_compress(p, true, &rows);
  const double begin = peer_seconds();
  const bool symmetric = peer_symmetric_pattern(p, &columns, &rows);
  p->method = "LU";
  p->ordering = set_order(p, symmetric, columns, &rows);
  f.isSymmetric(symmetric);
  if (symmetric) f.setPivotThreshold(0.001);
  if (factor<Scalar>(p, f, a, begin))
    rounds<Scalar>(p, f);
  else
    peer_fail(p, static_cast<int>(f.info()), "%s", f.lastErrorMessage().c_str());
  peer_compressed_free(&rows);
}

template <class Scalar> void solve(peer *p, tristar_symmetry symmetry) {
  peer_compressed columns;
  std::snprintf(p->solver, sizeof p->solver, "Eigen %d.%d.%d", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                EIGEN_MINOR_VERSION);
  peer_compress(p, false, &columns);
  const int n = static_cast<int>(p->n);
  const Matrix<Scalar> a = Eigen::Map<const Matrix<Scalar>>(n, n, columns.ptr[n], columns.ptr, columns.index,
                                                            static_cast<const Scalar *>(columns.values));
  if (p->view.symmetry != symmetry || !solve_by_ldlt<Scalar>(p, a, columns))
    solve_by_lu<Scalar>(p, a, columns);
  peer_compressed_free(&columns);
}

} // namespace

void peer_solve_real(peer *p) {
  solve<double>(p, TRISTAR_SYMMETRIC);
}

void peer_solve_complex(peer *p) {
  solve<std::complex<double>>(p, TRISTAR_HERMITIAN);
}
