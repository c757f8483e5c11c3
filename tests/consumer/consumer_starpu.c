/* Inserts a solve with a tridiagonal matrix into StarPU's task graph, with only the installed headers. The
 * solution is ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tristar_starpu.h>

enum { N = 100 };

int main(void) {
  int64_t ptr[N + 1];
  int32_t row[2 * N];
  double value[2 * N], b[N], worst = 0;
  int32_t p = 0;
  tristar_t *ts = NULL;
  tristar_analysis_t *analysis = NULL;
  tristar_factor_t *factor = NULL;
  tristar_plan_t *plan = NULL;
  starpu_data_handle_t handle;
  for (int32_t j = 0; j < N; j++) { /* the lower triangle of tridiag(-1, 3, -1) */
    ptr[j] = p;
    row[p] = j, value[p++] = 3;
    if (j + 1 < N) row[p] = j + 1, value[p++] = -1;
    b[j] = j == 0 || j + 1 == N ? 2 : 1;
  }
  ptr[N] = p;
  tristar_view view = {.format = TRISTAR_CSC,
                       .symmetry = TRISTAR_SYMMETRIC,
                       .scalar = TRISTAR_DOUBLE,
                       .rows = N,
                       .cols = N,
                       .ptr = ptr,
                       .index = row,
                       .values = value,
                       .ptr_bits = 64,
                       .index_bits = 32};
  if (starpu_init(NULL) != 0) return EXIT_FAILURE;
  starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)b, N, sizeof *b);
  tristar_status status = tristar_create(NULL, &ts);
  if (status == TRISTAR_OK) status = tristar_analyze(ts, &view, NULL, &analysis);
  if (status == TRISTAR_OK) status = tristar_factor(analysis, value, &factor);
  if (status == TRISTAR_OK) status = tristar_plan(factor, NULL, &plan);
  if (status == TRISTAR_OK) status = tristar_solve_insert(plan, TRISTAR_N, handle, handle);
  if (status == TRISTAR_OK) status = tristar_plan_wait(plan);
  starpu_data_unregister(handle);
  for (int j = 0; j < N; j++) worst = fmax(worst, fabs(b[j] - 1));
  printf("TriStar %s among StarPU tasks: %s, error %.2e\n", tristar_version(), tristar_status_name(status),
         worst);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_destroy(&ts);
  starpu_shutdown();
  return status == TRISTAR_OK && worst < 1e-14 ? EXIT_SUCCESS : EXIT_FAILURE;
}
