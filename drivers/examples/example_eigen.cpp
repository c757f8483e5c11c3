/* Eigen: TriStar in place of SparseLU, and as preconditioner of Eigen's conjugate gradients. */
#include <Eigen/IterativeLinearSolvers>
#include <cstdio>
#include <tristar_eigen.hpp>

using Matrix = Eigen::SparseMatrix<double>;

static Matrix laplacian(int k) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < k * k; i++) {
    entries.emplace_back(i, i, 4);
    if (i >= k) entries.emplace_back(i, i - k, -1), entries.emplace_back(i - k, i, -1);
    if (i % k > 0) entries.emplace_back(i, i - 1, -1), entries.emplace_back(i - 1, i, -1);
  }
  Matrix A(k * k, k * k);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

int main() {
  const Matrix A = laplacian(40);
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(A.rows());
  Eigen::TriStarLU<Matrix> lu(A);
  if (lu.info() != Eigen::Success) return 1;
  const Eigen::VectorXd x = lu.solve(b);
  std::printf("direct: residual %.1e\n", (A * x - b).norm() / b.norm());

  Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Eigen::TriStarLLT<Matrix>> cg(A);
  const Eigen::VectorXd y = cg.solve(b);
  std::printf("preconditioned: %d iterations, residual %.1e\n", static_cast<int>(cg.iterations()),
              (A * y - b).norm() / b.norm());
  return (A * x - b).norm() < 1e-10 * b.norm() && cg.info() == Eigen::Success ? 0 : 1;
}
