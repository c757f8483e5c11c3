/* tristar.hpp: solves with four types of entries and of integers, new values, refinement, exceptions,
 * moves. */
#include "tristar.hpp"

#include <array>
#include <cmath>

#include "check.hpp"

namespace {

/* tridiag(lower, diagonal, upper) of order n by columns. */
template <class T, class Integer> struct tridiagonal {
  std::vector<Integer> ptr{0}, row;
  std::vector<T> value;
  tridiagonal(Integer n, T lower, T diagonal, T upper) {
    for (Integer j = 0; j < n; j++) {
      if (j > 0) row.push_back(j - 1), value.push_back(upper);
      row.push_back(j), value.push_back(diagonal);
      if (j + 1 < n) row.push_back(j + 1), value.push_back(lower);
      ptr.push_back(static_cast<Integer>(row.size()));
    }
  }
  std::vector<T> multiply(const std::vector<T> &x) const {
    std::vector<T> y(x.size());
    for (std::size_t j = 0; j + 1 < ptr.size(); j++)
      for (auto p = static_cast<std::size_t>(ptr[j]); p < static_cast<std::size_t>(ptr[j + 1]); p++)
        y[static_cast<std::size_t>(row[p])] += value[p] * x[j];
    return y;
  }
};

template <class T> double distance(const std::vector<T> &a, const std::vector<T> &b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); i++) most = std::fmax(most, std::abs(a[i] - b[i]));
  return most;
}

template <class T, class Integer> void check_solver(double bound) {
  const Integer n = 50;
  tridiagonal<T, Integer> A(n, T(-1), T(4), T(-2));
  const tristar::context ts;
  tristar::solver<T> solver(ts, tristar::csc<T>(n, A.ptr, A.row, A.value));
  std::vector<T> exact(n);
  for (std::size_t i = 0; i < exact.size(); i++) exact[i] = T(static_cast<float>(1 + i % 5));
  CHECK(solver.rows() == n);
  CHECK(distance(solver.solve(A.multiply(exact)), exact) < bound);
  const tridiagonal<T, Integer> transposed(n, T(-2), T(4), T(-1));
  CHECK(distance(solver.solve(transposed.multiply(exact), TRISTAR_T), exact) < bound);
  for (T &value : A.value) value *= T(3);
  solver.refactor(A.value);
  std::vector<T> x = A.multiply(exact);
  solver.solve(x, x); /* in place */
  CHECK(distance(x, exact) < bound);
  CHECK(solver.solve_refined(A.multiply(exact), x).backward_error < bound);
  CHECK(distance(x, exact) < bound);
  CHECK(solver.reciprocal_condition() > 0.01);
  CHECK(solver.statistics().perturbed_pivots == 0);

  std::vector<T> two = A.multiply(exact); /* two right-hand sides */
  two.insert(two.end(), exact.begin(), exact.end());
  const std::vector<T> both = solver.solve(two);
  CHECK(both.size() == two.size() && std::abs(both[7] - exact[7]) < bound);
}

void check_figures() {
  const std::array<int, 3> ptr{0, 1, 2};
  const std::array<int, 2> index{0, 1};
  const std::array<double, 2> value{2, -3};
  const tristar::solver<double> solver(tristar::csr<double>(2, ptr, index, value, TRISTAR_SYMMETRIC));
  const tristar_inertia inertia = solver.inertia();
  CHECK(inertia.positive == 1 && inertia.negative == 1 && inertia.zero == 0);
  CHECK(std::fabs(solver.determinant().log_abs - std::log(6.0)) < 1e-14 &&
        solver.determinant().sign[0] == -1);
}

template <class Function> tristar_status status_of(Function &&function) {
  try {
    function();
  } catch (const tristar::error &error) {
    CHECK(std::string(error.what()).rfind(tristar_status_name(error.status()), 0) == 0);
    return error.status();
  }
  return TRISTAR_OK;
}

void check_errors() {
  const std::vector<int> ptr{0, 1, 2}, index{0, 1}, out{0, 7};
  const std::vector<double> value{1, 0}, good{1, 1};
  bool singular = false;
  try {
    tristar::solver<double>(tristar::csc<double>(2, ptr, index, value));
  } catch (const tristar::singular_error &) {
    singular = true;
  }
  CHECK(singular);
  CHECK(status_of([&] { tristar::csc<double>(3, ptr, index, value); }) == TRISTAR_ERR_ARGUMENT);
  CHECK(status_of([&] { tristar::solver<double>(tristar::csc<double>(2, ptr, out, good)); }) ==
        TRISTAR_ERR_FORMAT);
  tristar::solver<double> solver(tristar::csc<double>(2, ptr, index, good));
  CHECK(status_of([&] { solver.solve(std::vector<double>(3)); }) == TRISTAR_ERR_ARGUMENT);
  CHECK(status_of([&] { solver.refactor(std::vector<double>(3)); }) == TRISTAR_ERR_ARGUMENT);
  tristar::solver<double> moved = std::move(solver);
  CHECK(moved.solve(good) == good);
  solver = std::move(moved);
  CHECK(solver.solve(good) == good);
  CHECK(status_of([&] { moved.solve(std::vector<double>()); }) == TRISTAR_ERR_ARGUMENT); /* it is empty */
  tristar::solver<double> other(tristar::csc<double>(2, ptr, index, std::vector<double>{4, 2}));
  other = std::move(solver);
  CHECK(other.solve(good) == good);
  CHECK(status_of([&] { solver.solve(good); }) == TRISTAR_ERR_ARGUMENT); /* not the system of `other` */
}

void check_preconditioner() {
  const tridiagonal<double, int> A(30, -1, 3, -1);
  tristar::precond_options options;
  options.kind = TRISTAR_PRECOND_IC; /* tridiagonal: complete factors */
  tristar::preconditioner<double> m(tristar::csc<double>(30, A.ptr, A.row, A.value), options);
  const std::vector<double> ones(30, 1);
  std::vector<double> x = A.multiply(ones);
  m.apply(x, x);
  CHECK(distance(x, ones) < 1e-14);
  m.update(tristar::csc<double>(30, A.ptr, A.row, A.value));
  CHECK(status_of([&] { m.apply(ones, x = std::vector<double>(2)); }) == TRISTAR_ERR_ARGUMENT);
}

} // namespace

int main() {
  check_solver<float, std::int32_t>(1e-5);
  check_solver<double, std::int64_t>(1e-13);
  check_solver<std::complex<float>, std::int64_t>(1e-5);
  check_solver<std::complex<double>, std::int32_t>(1e-13);
  check_figures();
  check_errors();
  check_preconditioner();
}
