/* C++: a 2D Laplacian is factored once and solved with many times; then it gets new values. */
#include <cstdio>
#include <tristar.hpp>

int main() {
  const int k = 40, n = k * k;
  std::vector<int> ptr{0}, column; /* compressed rows; the lower triangle is enough */
  std::vector<double> value;
  for (int i = 0; i < n; i++) {
    if (i >= k) column.push_back(i - k), value.push_back(-1);
    if (i % k > 0) column.push_back(i - 1), value.push_back(-1);
    column.push_back(i), value.push_back(4);
    ptr.push_back(static_cast<int>(column.size()));
  }
  try {
    tristar::solver<double> solver(tristar::csr<double>(n, ptr, column, value, TRISTAR_SYMMETRIC));
    std::vector<double> x(n, 1);
    for (int step = 0; step < 10; step++) solver.solve(x, x); /* inverse iteration, in place */
    std::printf("x[0] = %.6e after 10 solves\n", x[0]);
    for (double &entry : value) entry *= 2;
    solver.refactor(value); /* no analysis, no plan */
    const std::vector<double> b(n, 1), y = solver.solve(b);
    std::printf("%lld entries in the factor, y[0] = %.6e\n",
                static_cast<long long>(solver.statistics().nnz_factor), y[0]);
  } catch (const tristar::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
