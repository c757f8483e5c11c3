/* A solve among the tasks of a StarPU program: a task makes b, the solve reads it and writes x, a task reads
 * x. The program waits only at the end. */
#include <stdio.h>
#include <tristar_starpu.h>
#include <tristar_matrix.h>

static void make_b(void *buffers[], void *arg) {
  double *b = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
  (void)arg;
  for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) b[i] = 1;
}
static void use_x(void *buffers[], void *arg) {
  const double *x = (const double *)STARPU_VECTOR_GET_PTR(buffers[0]);
  double *largest = (double *)STARPU_VARIABLE_GET_PTR(buffers[1]);
  (void)arg;
  for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
    if (x[i] > *largest) *largest = x[i];
}
static struct starpu_codelet maker = {.cpu_funcs = {make_b}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet user = {.cpu_funcs = {use_x}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}};

int main(void) {
  static double b[1000], x[1000], largest;
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_view a;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  starpu_data_handle_t hb, hx, hl;
  if (starpu_init(NULL)) return 1;
  if (tristar_create(NULL, &ts) || tristar_matrix_read(ts, "gen:poisson3d7:10", &matrix)) return 1;
  tristar_matrix_get_view(matrix, &a);
  if (tristar_analyze(ts, &a, NULL, &analysis) || tristar_factor(analysis, a.values, &factor)) return 1;
  if (tristar_plan(factor, NULL, &plan)) return 1;
  starpu_vector_data_register(&hb, STARPU_MAIN_RAM, (uintptr_t)b, 1000, sizeof *b);
  starpu_vector_data_register(&hx, STARPU_MAIN_RAM, (uintptr_t)x, 1000, sizeof *x);
  starpu_variable_data_register(&hl, STARPU_MAIN_RAM, (uintptr_t)&largest, sizeof largest);
  for (int k = 0; k < 10; k++) { /* submitted ten times, one after the other; run as the data allows */
    if (starpu_task_insert(&maker, STARPU_W, hb, 0)) return 1;
    if (tristar_solve_insert(plan, TRISTAR_N, hb, hx)) return 1;
    if (starpu_task_insert(&user, STARPU_R, hx, STARPU_RW, hl, 0)) return 1;
  }
  const tristar_status status = tristar_plan_wait(plan);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  starpu_data_unregister(hb);
  starpu_data_unregister(hx);
  starpu_data_unregister(hl); /* waits for the tasks that use it */
  tristar_destroy(&ts);
  starpu_shutdown();
  printf("largest entry of x: %g\n", largest);
  return status == TRISTAR_OK && largest > 0 ? 0 : 1;
}
