/* Solves a tridiagonal system from C++, with only the installed headers. The solution is ones.
 * CONSUMER_HEADER: the header of an adapter, which must compile in C++. */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <tristar.h>
#ifdef CONSUMER_HEADER
#include CONSUMER_HEADER
#endif

int main() {
  const int n = 100;
  std::vector<int64_t> ptr{0};
  std::vector<int32_t> row;
  std::vector<double> value, b(n, 1);
  for (int32_t j = 0; j < n; j++) { /* the lower triangle of tridiag(-1, 3, -1) */
    row.push_back(j), value.push_back(3);
    if (j + 1 < n) row.push_back(j + 1), value.push_back(-1);
    ptr.push_back(static_cast<int64_t>(row.size()));
  }
  b.front() = b.back() = 2;
  const tristar_view view = {
      TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, n, n, ptr.data(), row.data(), value.data(), 64, 32, 0};
  tristar_t *ts = nullptr;
  tristar_analysis_t *analysis = nullptr;
  tristar_factor_t *factor = nullptr;
  tristar_plan_t *plan = nullptr;
  tristar_status status = tristar_create(nullptr, &ts);
  if (status == TRISTAR_OK) status = tristar_analyze(ts, &view, nullptr, &analysis);
  if (status == TRISTAR_OK) status = tristar_factor(analysis, value.data(), &factor);
  if (status == TRISTAR_OK) status = tristar_plan(factor, nullptr, &plan);
  if (status == TRISTAR_OK) status = tristar_solve(plan, TRISTAR_N, 1, b.data(), n, b.data(), n);
  double worst = 0;
  for (double x : b) worst = std::fmax(worst, std::fabs(x - 1));
  std::printf("TriStar %s from C++: %s, error %.2e\n", tristar_version(), tristar_status_name(status), worst);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_destroy(&ts);
  return status == TRISTAR_OK && worst < 1e-14 ? EXIT_SUCCESS : EXIT_FAILURE;
}
