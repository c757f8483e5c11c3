/* The time stepper of example_heat.c on many processes. Every rank assembles its rows of the matrix and of
 * the right-hand sides, and keeps its rows of the solution. Solves are inserted among its tasks.
 *
 *   mpiexec -n P example_heat_mpi [N [STEPS]]
 *
 * N x N points (200), STEPS steps (20), see example_heat.h. The matrix is gathered on rank 0, factored there,
 * and distributed over all ranks, which then solve together. On each rank the tasks of a step are
 *
 *   source    f_k                         waits only for a free buffer
 *   sum       b = u_(k-1) + f_k           waits for the source and for step k - 1
 *   solve     u_k = (I + dt K)^-1 b       tristar_distributed_insert
 *
 * Then the steps are repeated, one part after the other, with tristar_distributed_solve. The exit status is 1
 * unless both give the same bits, and a sufficiently small error. */
#include <tristar_starpu_mpi.h>

#include <starpu_mpi.h>

#include "example_heat.h"
#include "example_mpi.h"
#include "example_tasks.h"

typedef struct simulation {
  heat p;
  int from, to;          /* Rows of the grid of this rank. */
  int64_t first, points; /* Of this rank. */
  tristar_distributed_t *solver;
  double *u, *f[2], *b;
  starpu_data_handle_t hf[2], *hu, *hb; /* hu, hb: of all ranks. */
} simulation;

static int first_row(const simulation *s, int of) {
  return (int)((int64_t)s->p.n * of / ranks);
}

/* ---- The matrix ---------------------------------------------------------------------------------------- */

/* This rank's rows of the lower triangle of I + dt K, row by row. The caller frees the arrays. */
static tristar_view assemble_rows(const simulation *s, int64_t **ptr, int32_t **column, double **value) {
  const double c = s->p.dt / (s->p.h * s->p.h);
  int64_t q = 0;
  *ptr = example_allocate((size_t)s->points + 1, sizeof **ptr);
  *column = example_allocate((size_t)s->points * 3, sizeof **column);
  *value = example_allocate((size_t)s->points * 3, sizeof **value);
  for (int64_t i = 0; i < s->points; i++) {
    const int64_t k = s->first + i;
    if (k >= s->p.n) (*column)[q] = (int32_t)(k - s->p.n), (*value)[q++] = -c;
    if (k % s->p.n != 0) (*column)[q] = (int32_t)(k - 1), (*value)[q++] = -c;
    (*column)[q] = (int32_t)k, (*value)[q++] = 1 + 4 * c;
    (*ptr)[i + 1] = q;
  }
  return (tristar_view){TRISTAR_CSR,
                        TRISTAR_SYMMETRIC,
                        TRISTAR_DOUBLE,
                        s->points,
                        heat_points(&s->p),
                        *ptr,
                        *column,
                        *value,
                        64,
                        32,
                        0};
}

/* Gathers the rows of all ranks, analyzes on rank 0, and makes a factor of which each rank has its share. */
static void make_solver(simulation *s) {
  int64_t *ptr;
  int32_t *column;
  double *value;
  tristar_matrix_t *matrix;
  tristar_view a = {.values = NULL};
  tristar_analysis_t *analysis = NULL;
  tristar_distributed_options options;
  const tristar_view rows = assemble_rows(s, &ptr, &column, &value);
  check(tristar_matrix_gather(ts, MPI_COMM_WORLD, &rows, &matrix));
  free(ptr);
  free(column);
  free(value);
  if (rank == 0) {
    tristar_matrix_get_view(matrix, &a);
    check(tristar_analyze(ts, &a, NULL, &analysis));
  }
  tristar_distributed_options_init(&options);
  options.layout.px = ranks;
  check(tristar_distributed_factor(ts, MPI_COMM_WORLD, analysis, a.values, &options, &s->solver));
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
}

/* ---- Tasks --------------------------------------------------------------------------------------------- */

static void assemble_source(const simulation *s, int step, double *f) {
  heat_assemble(&s->p, step * s->p.dt, s->from, s->to, f);
}

static void add(const simulation *s, const double *u, const double *f, double *b) {
  for (int64_t k = 0; k < s->points; k++) b[k] = u[k] + f[k];
}

static void source_task(void *buffers[], void *arg) {
  const simulation *s;
  int step;
  starpu_codelet_unpack_args(arg, &s, &step);
  assemble_source(s, step, (double *)STARPU_VECTOR_GET_PTR(buffers[0]));
}
static void sum_task(void *buffers[], void *arg) {
  const simulation *s;
  starpu_codelet_unpack_args(arg, &s);
  add(s, (const double *)STARPU_VECTOR_GET_PTR(buffers[1]), (const double *)STARPU_VECTOR_GET_PTR(buffers[2]),
      (double *)STARPU_VECTOR_GET_PTR(buffers[0]));
}
static struct starpu_codelet source = {
    .cpu_funcs = {source_task}, .nbuffers = 1, .modes = {STARPU_W}, .name = "source"};
static struct starpu_codelet sum = {
    .cpu_funcs = {sum_task}, .nbuffers = 3, .modes = {STARPU_W, STARPU_R, STARPU_R}, .name = "sum"};

static void submit_source(simulation *s, int step) {
  example_call(starpu_task_insert(&source, STARPU_W, s->hf[step % 2], STARPU_VALUE, &s, sizeof s,
                                  STARPU_VALUE, &step, sizeof step, 0));
}

/* Runs all steps; nothing waits before the end. */
static void run_tasks(simulation *s) {
  submit_source(s, 1);
  for (int k = 1; k <= s->p.steps; k++) {
    if (k < s->p.steps) submit_source(s, k + 1);
    example_call(starpu_task_insert(&sum, STARPU_W, s->hb[rank], STARPU_R, s->hu[rank], STARPU_R,
                                    s->hf[k % 2], STARPU_VALUE, &s, sizeof s, 0));
    check(tristar_distributed_insert(s->solver, TRISTAR_N, ranks, s->hb, ranks, s->hu));
  }
  check(tristar_distributed_wait(s->solver));
  example_call(starpu_task_wait_for_all());
}

/* Runs them one after the other. */
static void run_serially(simulation *s) {
  example_call(starpu_data_acquire(s->hu[rank], STARPU_RW));
  for (int k = 1; k <= s->p.steps; k++) {
    assemble_source(s, k, s->f[0]);
    add(s, s->u, s->f[0], s->b);
    check(tristar_distributed_solve(s->solver, TRISTAR_N, 1, s->b, s->points, s->u, s->points));
  }
  starpu_data_release(s->hu[rank]);
}

/* ---- The program --------------------------------------------------------------------------------------- */

/* Handles of a vector with a piece on each rank; array: this rank's piece. */
static starpu_data_handle_t *spread_vector(const simulation *s, double *array, int tag) {
  starpu_data_handle_t *handle = example_allocate((size_t)ranks, sizeof *handle);
  for (int r = 0; r < ranks; r++) {
    const int64_t points = (int64_t)(first_row(s, r + 1) - first_row(s, r)) * s->p.n;
    starpu_vector_data_register(&handle[r], r == rank ? STARPU_MAIN_RAM : -1,
                                r == rank ? (uintptr_t)array : 0, (uint32_t)points, sizeof *array);
    starpu_mpi_data_register(handle[r], tag + r, r);
  }
  return handle;
}

static void drop_vector(starpu_data_handle_t *handle) {
  for (int r = 0; r < ranks; r++) starpu_data_unregister(handle[r]);
  free(handle);
}

static void begin(simulation *s) {
  example_call(starpu_data_acquire(s->hu[rank], STARPU_W));
  heat_begin(&s->p, s->from, s->to, s->u);
  starpu_data_release(s->hu[rank]);
}

static void create(simulation *s, int n, int steps) {
  *s = (simulation){.p = heat_of(n, steps)};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  s->from = first_row(s, rank);
  s->to = first_row(s, rank + 1);
  s->first = (int64_t)s->from * n;
  s->points = (int64_t)(s->to - s->from) * n;
  make_solver(s);
  s->u = example_allocate((size_t)s->points, sizeof *s->u);
  s->b = example_allocate((size_t)s->points, sizeof *s->b);
  s->hu = spread_vector(s, s->u, 1000);
  s->hb = spread_vector(s, s->b, 2000);
  for (int i = 0; i < 2; i++) {
    s->f[i] = example_allocate((size_t)s->points, sizeof *s->f[i]);
    s->hf[i] = example_vector(s->f[i], s->points);
  }
  check(tristar_distributed_set_rows(s->solver, s->first, s->points)); /* For tristar_distributed_solve. */
}

static void destroy(simulation *s) {
  drop_vector(s->hu);
  drop_vector(s->hb);
  for (int i = 0; i < 2; i++) {
    starpu_data_unregister(s->hf[i]);
    free(s->f[i]);
  }
  free(s->u);
  free(s->b);
  tristar_distributed_destroy(&s->solver);
}

static int simulate(int n, int steps) {
  simulation s;
  double time[2];
  create(&s, n, steps);
  double *first = example_allocate((size_t)s.points, sizeof *first);
  for (int turn = 0; turn < 2; turn++) {
    begin(&s);
    MPI_Barrier(MPI_COMM_WORLD);
    time[turn] = example_seconds();
    if (turn == 0)
      run_tasks(&s);
    else
      run_serially(&s);
    time[turn] = example_seconds() - time[turn];
    if (turn == 0) memcpy(first, s.u, (size_t)s.points * sizeof *first);
  }
  const double mine = heat_error(&s.p, HEAT_TIME, s.from, s.to, s.u);
  const int good[2] = {memcmp(first, s.u, (size_t)s.points * sizeof *first) == 0,
                       mine < 2 * (s.p.dt + s.p.h * s.p.h)}; /* False for NaN. */
  int all[2];
  double error;
  MPI_Allreduce(good, all, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0)
    printf(
        "%d x %d points, %d steps, ranks: %d, error %.2e; tasks %.1f ms, one after the other %.1f ms, %s\n",
        n, n, steps, ranks, error, 1e3 * time[0], 1e3 * time[1], all[0] ? "same bits" : "OTHER BITS");
  free(first);
  destroy(&s);
  return all[0] && all[1];
}

int main(int argc, char **argv) {
  int level;
  tristar_config config;
  struct starpu_conf conf;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level); /* TriStar and StarPU-MPI both send messages. */
  if (argc > 3) example_die(argv[0], "[N [STEPS]]");
  const int n = argc > 1 ? example_number(argv[1], 1, 10000) : 200;
  const int steps = argc > 2 ? example_number(argv[2], 1, 1000000) : 20;
  tristar_config_init(&config);
  check(tristar_mpi_share_cores(MPI_COMM_WORLD, &config)); /* Cores for this rank's workers. */
  example_call(starpu_conf_init(&conf));
  if (config.workers > 0) conf.ncpus = config.workers;
  conf.use_explicit_workers_bindid = config.first_core >= 0;
  for (unsigned w = 0; w < STARPU_NMAXWORKERS && config.first_core >= 0; w++)
    conf.workers_bindid[w] =
        (unsigned)config.first_core + (config.workers > 0 ? w % (unsigned)config.workers : 0);
  example_call(starpu_init(&conf));
  example_call(starpu_mpi_init_comm(NULL, NULL, 0, MPI_COMM_WORLD));
  check(tristar_create(&config, &ts)); /* Uses the running StarPU. */
  const int good = simulate(n, steps);
  tristar_destroy(&ts);
  starpu_mpi_shutdown();
  starpu_shutdown();
  MPI_Finalize();
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
