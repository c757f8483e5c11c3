/* tristar_eigen.hpp: solutions equal those of SparseLU and SimplicialLDLT. New values, transposes,
 * preconditioners of Eigen's Krylov methods, row-major and column-major matrices, integers of 32 and 64 bits,
 * errors. */
#include "tristar_eigen.hpp"

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <limits>

#include "check.hpp"

namespace {

/* Five-point stencil on a k x k grid, not compressed. A real skew makes it unsymmetric, an imaginary skew
 * Hermitian. */
template <class Matrix> Matrix grid(int k, typename Matrix::Scalar skew, double diagonal) {
  using Scalar = typename Matrix::Scalar;
  Matrix A(k * k, k * k);
  A.reserve(Eigen::VectorXi::Constant(k * k, 6));
  for (int i = 0; i < k * k; i++) {
    A.insert(i, i) = Scalar(diagonal);
    if (i >= k) A.insert(i, i - k) = Scalar(-1) + skew;
    if (i % k > 0) A.insert(i, i - 1) = Scalar(-1) + skew;
    if (i % k < k - 1) A.insert(i, i + 1) = Scalar(-1) - skew;
    if (i < k * k - k) A.insert(i, i + k) = Scalar(-1) - skew;
  }
  return A;
}

template <class Solver, class Matrix> void check_direct(const Matrix &first, const Matrix &second) {
  using Dense = Eigen::Matrix<typename Matrix::Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  Dense B = Dense::Random(first.rows(), 3);
  Solver solver(first);
  CHECK(solver.info() == Eigen::Success && solver.rows() == first.rows() && solver.cols() == first.cols());
  Dense X = solver.solve(B);
  CHECK((first * X - B).norm() < 1e-12 * B.norm());
  CHECK((first * solver.solve(B.col(1) * 2.0) - B.col(1) * 2.0).norm() < 1e-12 * B.norm());
  CHECK((first.transpose() * solver.solveTransposed(B) - B).norm() < 1e-12 * B.norm());
  CHECK((first.adjoint() * solver.solveAdjoint(B) - B).norm() < 1e-12 * B.norm());
  solver.factorize(second);
  X = solver.solve(B);
  CHECK(solver.info() == Eigen::Success && (second * X - B).norm() < 1e-12 * B.norm());

  Solver later; /* in two steps */
  later.analyzePattern(first);
  later.factorize(second);
  X = later.solve(B);
  CHECK(later.info() == Eigen::Success && (second * X - B).norm() < 1e-12 * B.norm());
  using Columns =
      Eigen::SparseMatrix<typename Matrix::Scalar, Eigen::ColMajor, typename Matrix::StorageIndex>;
  const Columns sparse = B.sparseView(), Y = later.solve(sparse);
  CHECK((second * Dense(Y) - B).norm() < 1e-12 * B.norm());
}

/* Compressed, with entries (i, j) but no (j, i), so that rows and columns differ. */
template <class Matrix> Matrix one_way(double diagonal) {
  Matrix A = grid<Matrix>(12, 0, diagonal);
  for (int i = 0; i < 143; i += 3) A.coeffRef(i, 143) = typename Matrix::Scalar(i % 5 + 1);
  A.makeCompressed();
  return A;
}

template <class Matrix> void check_matrices() {
  using Scalar = typename Matrix::Scalar;
  const Matrix plain = grid<Matrix>(12, 0, 4), shifted = grid<Matrix>(12, 0, 5);
  const Matrix wind = grid<Matrix>(12, Scalar(0.5), 4);
  check_direct<Eigen::TriStarLU<Matrix>>(plain, shifted);
  check_direct<Eigen::TriStarLU<Matrix>>(wind, grid<Matrix>(12, Scalar(0.3), 4));
  check_direct<Eigen::TriStarLU<Matrix>>(plain, wind);                     /* another method */
  check_direct<Eigen::TriStarLU<Matrix>>(plain, grid<Matrix>(12, 0, 1.7)); /* not positive definite */
  check_direct<Eigen::TriStarLU<Matrix>>(one_way<Matrix>(4), one_way<Matrix>(5));
  check_direct<Eigen::TriStarLLT<Matrix>>(plain, shifted);
  check_direct<Eigen::TriStarLLT<Matrix, Eigen::Upper>>(plain, shifted);
  check_direct<Eigen::TriStarLDLT<Matrix>>(grid<Matrix>(12, 0, 1.7), grid<Matrix>(12, 0, 1.3));
  if constexpr (Eigen::NumTraits<Scalar>::IsComplex)
    check_direct<Eigen::TriStarLLT<Matrix>>(grid<Matrix>(12, Scalar(0, 0.5), 5),
                                            grid<Matrix>(12, Scalar(0, 0.5), 6));
}

/* A peer of Eigen accepts a compressed matrix. */
template <class Solver, class Peer, class Matrix> void check_peer(Matrix A) {
  using Dense = Eigen::Matrix<typename Matrix::Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  const Dense B = Dense::Random(A.rows(), 3);
  Solver solver(A);
  A.makeCompressed();
  Peer peer(A);
  const Dense X = solver.solve(B), expected = peer.solve(B);
  CHECK((X - expected).norm() < 1e-11 * expected.norm());
}

template <class Method, class Matrix> void check_iterative(const Matrix &A) {
  const Eigen::VectorXd b = Eigen::VectorXd::Random(A.rows());
  Method method;
  method.setTolerance(1e-13);
  method.compute(A);
  const Eigen::VectorXd x = method.solve(b);
  CHECK(method.info() == Eigen::Success && method.iterations() <= 3);
  CHECK((A * x - b).norm() < 1e-11 * b.norm());
}

void check_errors() {
  using Matrix = Eigen::SparseMatrix<double>;
  Matrix A(2, 2), wide(2, 3);
  A.insert(0, 0) = 1;
  A.insert(1, 1) = -1;
  Eigen::TriStarLLT<Matrix> llt(A);
  CHECK(llt.info() == Eigen::NumericalIssue && !llt.lastErrorMessage().empty());
  A.coeffRef(1, 1) = 2;
  llt.factorize(A);
  CHECK(llt.info() == Eigen::Success && llt.lastErrorMessage().empty());
  CHECK(llt.solve(Eigen::Vector2d(1, 2)).isApprox(Eigen::Vector2d(1, 1)));
  Eigen::TriStarLU<Matrix> lu(wide);
  CHECK(lu.info() == Eigen::InvalidInput);
  A.coeffRef(1, 1) = 0;
  lu.compute(A);
  CHECK(lu.info() == Eigen::NumericalIssue); /* The analysis has failed: a row of zeros. */
  lu.factorize(A);
  CHECK(lu.info() == Eigen::NumericalIssue);
  A.coeffRef(1, 1) = 4;
  lu.factorize(A);
  CHECK(lu.info() == Eigen::Success);
  CHECK(lu.solve(Eigen::Vector2d(1, 4)).isApprox(Eigen::Vector2d(1, 1)));
  A.coeffRef(1, 1) = std::numeric_limits<double>::quiet_NaN();
  lu.compute(A);
  CHECK(lu.info() == Eigen::NumericalIssue);
  A.coeffRef(1, 1) = 2;
  lu.factorize(A);
  CHECK(lu.info() == Eigen::Success);
  Matrix singular(2, 2); /* structurally: a column without entries */
  singular.insert(0, 0) = singular.insert(1, 0) = 1;
  lu.analyzePattern(singular);
  lu.factorize(singular);
  CHECK(lu.info() == Eigen::NumericalIssue);
  lu.factorize(A);
  CHECK(lu.info() == Eigen::InvalidInput); /* another pattern than that of the latest analysis */
  A.insert(0, 1) = 1;
  llt.factorize(Matrix(3, 3));
  CHECK(llt.info() == Eigen::InvalidInput); /* another pattern */
  Matrix lower(2, 2), upper(2, 2);          /* as many entries at other places */
  for (Matrix *matrix : {&lower, &upper}) matrix->insert(0, 0) = matrix->insert(1, 1) = 1;
  lower.insert(1, 0) = upper.insert(0, 1) = 3;
  lu.compute(lower);
  lu.factorize(upper);
  CHECK(lu.info() == Eigen::InvalidInput);
  lu.factorize(lower);
  CHECK(lu.info() == Eigen::Success && lu.solve(Eigen::Vector2d(1, 2)).isApprox(Eigen::Vector2d(1, -1)));
}

} // namespace

int main() {
  using Columns = Eigen::SparseMatrix<double>;
  using Rows = Eigen::SparseMatrix<double, Eigen::RowMajor, std::int64_t>;
  using Complex = Eigen::SparseMatrix<std::complex<double>>;
  check_matrices<Columns>();
#ifdef TSI_FEW_TYPES /* with a sanitizer: the same templates for other types take minutes to compile */
  check_direct<Eigen::TriStarLU<Rows>>(grid<Rows>(12, 0.5, 4), grid<Rows>(12, 0.3, 4));
  check_direct<Eigen::TriStarLLT<Complex>>(grid<Complex>(12, {0, 0.5}, 5), grid<Complex>(12, {0, 0.5}, 6));
#else
  check_matrices<Rows>();
  check_matrices<Complex>();
  check_peer<Eigen::TriStarLU<Columns>, Eigen::SparseLU<Columns>>(grid<Columns>(12, 0.5, 4));
  check_peer<Eigen::TriStarLLT<Columns>, Eigen::SimplicialLDLT<Columns>>(grid<Columns>(12, 0, 5));
  check_peer<Eigen::TriStarLDLT<Columns>, Eigen::SimplicialLDLT<Columns>>(grid<Columns>(12, 0, 1.7));
  check_peer<Eigen::TriStarLU<Complex>, Eigen::SparseLU<Complex>>(grid<Complex>(12, {0.25, 0.5}, 4));
#endif
  const Columns A = grid<Columns>(12, 0, 4);
  check_iterative<Eigen::ConjugateGradient<Columns, Eigen::Lower | Eigen::Upper, Eigen::TriStarLLT<Columns>>>(
      A);
  check_iterative<Eigen::ConjugateGradient<Columns, Eigen::Lower, Eigen::TriStarLLT<Columns>>>(A);
  check_iterative<Eigen::BiCGSTAB<Columns, Eigen::TriStarLU<Columns>>>(grid<Columns>(12, 0.5, 4));
  check_errors();
}
