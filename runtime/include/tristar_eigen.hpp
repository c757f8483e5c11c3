/* TriStar for Eigen: direct solvers with the interface of Eigen's own.
 *
 *   Eigen::TriStarLU<Eigen::SparseMatrix<double>> lu(A);
 *   x = lu.solve(b);                              b and x: vectors or matrices, dense or sparse
 *
 * compute, or analyzePattern and factorize, solve and info work as in SparseLU and SimplicialLLT. The solvers
 * serve as preconditioners too: Eigen::ConjugateGradient<Matrix, Eigen::Lower, Eigen::TriStarLLT<Matrix>>.
 * Errors are a value of info(); lastErrorMessage() has the library's text. */
#ifndef TRISTAR_EIGEN_HPP
#define TRISTAR_EIGEN_HPP

#include <Eigen/SparseCore>
#include <algorithm>
#include <vector>

#include "tristar.hpp"

namespace Eigen {

/* What the solvers share. Derived::pick returns the matrix whose entries are factored. */
template <class Derived, class Matrix_> class TriStarBase : public SparseSolverBase<Derived> {
  using Base = SparseSolverBase<Derived>;

public:
  using MatrixType = Matrix_;                             /* Type of the matrix. */
  using Scalar = typename MatrixType::Scalar;             /* Type of its entries. */
  using RealScalar = typename MatrixType::RealScalar;     /* Type of their absolute values. */
  using StorageIndex = typename MatrixType::StorageIndex; /* Type of its integers. */
  enum { ColsAtCompileTime = Dynamic, MaxColsAtCompileTime = Dynamic };

  TriStarBase() = default;              /* No matrix: call compute. */
  TriStarBase(TriStarBase &&) = delete; /* Eigen's solvers stay in their place. */
  Index rows() const { return m_rows; } /* Number of rows. */
  Index cols() const { return m_rows; } /* Number of columns. */
  /* Success; NumericalIssue: singular, not positive definite or not finite; InvalidInput: all else. */
  ComputationInfo info() const { return m_info; }
  /* The message of the latest failure. */
  const std::string &lastErrorMessage() const { return m_message; }
  /* Options of the analysis, for the next compute or analyzePattern. */
  tristar_analysis_options &options() { return m_options; }

  /* Analyzes and factors. */
  template <class Input> Derived &compute(const Input &A) {
    const MatrixType matrix = derived().pick(A);
    attempt([&] {
      analyze(matrix, true);
      make_factor(matrix);
    });
    return derived();
  }
  /* Reads only the pattern. If the values of factorize need another analysis, factorize makes it. */
  template <class Input> Derived &analyzePattern(const Input &A) {
    const MatrixType matrix = derived().pick(A);
    attempt([&] { analyze(matrix, false); });
    return derived();
  }
  /* Factors a matrix with the pattern of analyzePattern, or of the latest compute. */
  template <class Input> Derived &factorize(const Input &A) {
    const MatrixType matrix = derived().pick(A);
    attempt([&] { new_values(matrix); });
    return derived();
  }

  using Base::_solve_impl; /* For sparse right-hand sides. */
  /* Called by solve of the base class. */
  template <class Rhs, class Dest> void _solve_impl(const MatrixBase<Rhs> &b, MatrixBase<Dest> &x) const {
    apply(TRISTAR_N, b, x);
  }
  /* A^T x = b. */
  template <class Rhs> Matrix<Scalar, Dynamic, Dynamic> solveTransposed(const MatrixBase<Rhs> &b) const {
    Matrix<Scalar, Dynamic, Dynamic> x;
    apply(TRISTAR_T, b, x);
    return x;
  }
  /* A^H x = b. */
  template <class Rhs> Matrix<Scalar, Dynamic, Dynamic> solveAdjoint(const MatrixBase<Rhs> &b) const {
    Matrix<Scalar, Dynamic, Dynamic> x;
    apply(TRISTAR_C, b, x);
    return x;
  }

protected:
  using Base::derived;
  using Base::m_isInitialized;
  tristar_symmetry m_symmetry = TRISTAR_GENERAL; /* Symmetry of the picked matrix. */
  tristar::analysis_options m_options;           /* Options of the analysis. */

private:
  template <class Rhs, class Dest>
  void apply(tristar_op op, const MatrixBase<Rhs> &b, MatrixBase<Dest> &x) const {
    eigen_assert(m_info == Success && m_plan && b.rows() == m_rows);
    const Ref<const Matrix<Scalar, Dynamic, Dynamic>> from(b);
    Matrix<Scalar, Dynamic, Dynamic> to(m_rows, b.cols());
    const Index ld = numext::maxi<Index>(m_rows, 1);
    tristar::check(tristar_solve(m_plan.get(), op, b.cols(), from.data(),
                                 numext::maxi<Index>(from.outerStride(), ld), to.data(), ld));
    x.derived() = to;
  }

  template <class Function> void attempt(Function &&function) {
    m_info = Success;
    m_isInitialized = true;
    m_message.clear();
    try {
      function();
    } catch (const tristar::error &failure) {
      m_message = failure.what();
      m_info = failure.status() == TRISTAR_ERR_SINGULAR || failure.status() == TRISTAR_ERR_NOT_FINITE ||
                       failure.status() == TRISTAR_ERR_NOT_POSITIVE_DEFINITE
                   ? NumericalIssue
                   : InvalidInput;
    }
  }

  tristar::matrix_view<Scalar> view(const MatrixType &A) const {
    if (A.rows() != A.cols()) throw tristar::error(TRISTAR_ERR_RECTANGULAR, "the matrix is not square");
    using tristar::span;
    const std::size_t n = static_cast<std::size_t>(A.rows()),
                      entries = static_cast<std::size_t>(A.nonZeros());
    return tristar::compressed<Scalar, StorageIndex, StorageIndex>(
        MatrixType::IsRowMajor ? TRISTAR_CSR : TRISTAR_CSC, A.rows(),
        span<const StorageIndex>(A.outerIndexPtr(), n + 1),
        span<const StorageIndex>(A.innerIndexPtr(), entries), span<const Scalar>(A.valuePtr(), entries),
        m_symmetry);
  }
  void analyze(const MatrixType &A, bool with_values) {
    tristar_view pattern = view(A).view;
    if (!with_values) pattern.values = nullptr;
    m_options.growth = TRISTAR_GROWTH_MATCH;
    m_plan = tristar::plan();
    m_factor = tristar::factor();
    m_analysis = tristar::analysis();
    m_outer.clear(); /* No pattern, if there is no memory for the next one. */
    m_rows = A.rows();
    m_inner.assign(A.innerIndexPtr(), A.innerIndexPtr() + A.nonZeros());
    m_outer.assign(A.outerIndexPtr(), A.outerIndexPtr() + m_rows + 1);
    m_analysis = tristar::analysis(m_context, pattern, m_options);
  }
  bool has_pattern(const MatrixType &A) const {
    return A.rows() == m_rows && A.cols() == m_rows && !m_outer.empty() &&
           std::equal(m_outer.begin(), m_outer.end(), A.outerIndexPtr()) &&
           std::equal(m_inner.begin(), m_inner.end(), A.innerIndexPtr());
  }
  void make_factor(const MatrixType &A) {
    m_plan = tristar::plan();
    m_factor = tristar::factor(m_analysis, A.valuePtr());
    m_plan = tristar::plan(m_factor);
  }
  void new_values(const MatrixType &A) {
    if (!has_pattern(A))
      throw tristar::error(TRISTAR_ERR_ARGUMENT, "factorize: another pattern than analyzePattern had");
    if (!m_analysis) analyze(A, true); /* It failed for other values, or for the pattern. */
    if (!m_plan) return make_factor(A);
    const tristar_status status = tristar_refactor(m_factor.get(), A.valuePtr());
    if (status == TRISTAR_ERR_STALE ||
        status == TRISTAR_ERR_ARGUMENT || /* These values need another analysis. */
        (status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE && m_options.method == TRISTAR_METHOD_AUTO)) {
      analyze(A, true);
      return make_factor(A);
    }
    tristar::check(status);
  }

  tristar::context m_context;
  tristar::analysis m_analysis;
  tristar::factor m_factor;
  tristar::plan m_plan;
  Index m_rows = 0;
  std::vector<StorageIndex> m_outer, m_inner; /* The pattern of the latest square matrix to analyze. */
  ComputationInfo m_info = InvalidInput;
  std::string m_message;
};

/* Factors of any square matrix: L U, or L L^T or L D L^T if the values are symmetric. */
template <class Matrix_> class TriStarLU : public TriStarBase<TriStarLU<Matrix_>, Matrix_> {
public:
  TriStarLU() = default; /* No matrix: call compute. */
  /* Analyzes and factors. */
  template <class Input> explicit TriStarLU(const Input &A) { this->compute(A); }
  /* All entries, compressed. */
  template <class Input> static Matrix_ pick(const Input &A) {
    Matrix_ matrix(A);
    matrix.makeCompressed();
    return matrix;
  }
};

/* L L^H of a symmetric or Hermitian positive definite matrix, of which the triangle UpLo is read. */
template <class Matrix_, int UpLo = Lower>
class TriStarLLT : public TriStarBase<TriStarLLT<Matrix_, UpLo>, Matrix_> {
public:
  TriStarLLT() { start(); } /* No matrix: call compute. */
  /* Analyzes and factors. */
  template <class Input> explicit TriStarLLT(const Input &A) {
    start();
    this->compute(A);
  }
  /* The triangle, compressed. */
  template <class Input> static Matrix_ pick(const Input &A) {
    Matrix_ matrix = A.template triangularView<UpLo>();
    matrix.makeCompressed();
    return matrix;
  }

private:
  void start() {
    this->m_symmetry = TRISTAR_HERMITIAN;
    this->m_options.method = TRISTAR_METHOD_LLT;
  }
};

/* L D L^H of a symmetric or Hermitian matrix, with pivots of order 1 and 2; the triangle UpLo is read. */
template <class Matrix_, int UpLo = Lower>
class TriStarLDLT : public TriStarBase<TriStarLDLT<Matrix_, UpLo>, Matrix_> {
public:
  TriStarLDLT() { start(); } /* No matrix: call compute. */
  /* Analyzes and factors. */
  template <class Input> explicit TriStarLDLT(const Input &A) {
    start();
    this->compute(A);
  }
  /* The triangle, compressed. */
  template <class Input> static Matrix_ pick(const Input &A) { return TriStarLLT<Matrix_, UpLo>::pick(A); }

private:
  void start() {
    this->m_symmetry = TRISTAR_HERMITIAN;
    this->m_options.method = TRISTAR_METHOD_LDLT;
  }
};

} // namespace Eigen

#endif
