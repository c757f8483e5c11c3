/* Distributed solves inserted into a StarPU-MPI program. Tasks compute b on the ranks that own its pieces,
 * and tasks on other ranks read x, without waiting in between. The bits are those of
 * tristar_distributed_solve. An error of one rank is returned by all ranks. */
#include <starpu_mpi.h>
#include <stdatomic.h>

#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_starpu_mpi.h"

#define STEPS 4
#define PIECES_MAX 16

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
  tristar_distributed_t *d;
  int64_t n;
  int pieces; /* two of rank 0; rank 1 has none if there are more than two ranks */
  int owner[PIECES_MAX];
  int64_t first[PIECES_MAX + 1];
  double *expected[STEPS]; /* n x columns */
} world;

static atomic_int wrong, looked;

static double entry(int64_t row, int64_t column, int step) {
  return sin((double)(row + 1) * (double)(step + 2)) + (double)column;
}

static int64_t rows_of(void *interface) {
  return STARPU_MATRIX_GET_NX(interface);
}

static void fill(void *buffers[], void *arg) {
  int64_t first;
  int step;
  starpu_codelet_unpack_args(arg, &first, &step);
  double *b = (double *)STARPU_MATRIX_GET_PTR(buffers[0]);
  for (int64_t c = 0; c < STARPU_MATRIX_GET_NY(buffers[0]); c++)
    for (int64_t i = 0; i < rows_of(buffers[0]); i++)
      b[i + c * STARPU_MATRIX_GET_LD(buffers[0])] = entry(first + i, c, step);
}

static void compare(void *buffers[], void *arg) {
  int64_t first, n;
  const double *expected;
  starpu_codelet_unpack_args(arg, &first, &n, &expected);
  const double *x = (const double *)STARPU_MATRIX_GET_PTR(buffers[0]);
  for (int64_t c = 0; c < STARPU_MATRIX_GET_NY(buffers[0]); c++)
    for (int64_t i = 0; i < rows_of(buffers[0]); i++)
      if (x[i + c * STARPU_MATRIX_GET_LD(buffers[0])] != expected[first + i + c * n])
        atomic_fetch_add(&wrong, 1);
  atomic_fetch_add(&looked, 1);
}

static struct starpu_codelet fill_codelet = {
    .cpu_funcs = {fill}, .nbuffers = 1, .modes = {STARPU_W}, .name = "fill"};
static struct starpu_codelet compare_codelet = {
    .cpu_funcs = {compare}, .nbuffers = 1, .modes = {STARPU_R}, .name = "compare"};

static void choose_pieces(world *w) {
  const int skip = w->ranks > 2 ? 1 : -1;
  w->pieces = 0;
  w->owner[w->pieces++] = 0;
  for (int r = 0; r < w->ranks; r++)
    if (r != skip) w->owner[w->pieces++] = r;
  for (int k = 0; k <= w->pieces; k++) w->first[k] = w->n * k / w->pieces;
}

/* tag: of the first piece. */
static void make_handles(const world *w, int64_t columns, int tag, starpu_data_handle_t *handle,
                         double **data) {
  for (int k = 0; k < w->pieces; k++) {
    const int64_t rows = w->first[k + 1] - w->first[k], ld = rows + 3;
    const bool own = w->owner[k] == w->rank;
    data[k] = own ? xmalloc((size_t)(ld * columns) * sizeof **data) : NULL;
    starpu_matrix_data_register(&handle[k], own ? STARPU_MAIN_RAM : -1, (uintptr_t)data[k],
                                (uint32_t)(own ? ld : rows), (uint32_t)rows, (uint32_t)columns,
                                sizeof **data);
    starpu_mpi_data_register(handle[k], tag + k, w->owner[k]);
  }
}

static void drop_handles(const world *w, starpu_data_handle_t *handle, double **data) {
  for (int k = 0; k < w->pieces; k++) {
    starpu_data_unregister(handle[k]);
    free(data[k]);
  }
}

/* Computes x of each step by a plain distributed solve, on all ranks. */
static void solve_plainly(world *w, tristar_op op, int64_t columns) {
  OWNED double *b = xmalloc((size_t)(w->n * columns) * sizeof *b);
  CHECK_OK(tristar_distributed_set_rows(w->d, w->rank == 0 ? 0 : w->n, w->rank == 0 ? w->n : 0));
  for (int s = 0; s < STEPS; s++) {
    w->expected[s] = xmalloc((size_t)(w->n * columns) * sizeof *b);
    for (int64_t c = 0; c < columns; c++)
      for (int64_t i = 0; i < w->n; i++) b[i + c * w->n] = entry(i, c, s);
    CHECK_OK(tristar_distributed_solve(w->d, op, columns, b, w->n, w->expected[s], w->n));
    MPI_Bcast(w->expected[s], (int)(w->n * columns), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
}

/* Runs the steps as one chain of tasks, with new b and x in each step. in_place: x is b. */
static void check_chain(world *w, tristar_op op, int64_t columns, bool in_place) {
  starpu_data_handle_t b[PIECES_MAX], x[PIECES_MAX];
  double *b_data[PIECES_MAX], *x_data[PIECES_MAX];
  solve_plainly(w, op, columns);
  make_handles(w, columns, 100, b, b_data);
  make_handles(w, columns, 200, x, x_data);
  starpu_data_handle_t *to = in_place ? b : x;
  for (int s = 0; s < STEPS; s++) {
    for (int k = 0; k < w->pieces; k++)
      CHECK(starpu_mpi_task_insert(MPI_COMM_WORLD, &fill_codelet, STARPU_VALUE, &w->first[k], sizeof(int64_t),
                                   STARPU_VALUE, &s, sizeof s, STARPU_W, b[k], 0) == 0);
    CHECK_OK(tristar_distributed_insert(w->d, op, w->pieces, b, w->pieces, to));
    for (int k = 0; k < w->pieces; k++)
      for (int shift = 0; shift < (w->ranks > 1 ? 2 : 1); shift++)
        CHECK(starpu_mpi_task_insert(MPI_COMM_WORLD, &compare_codelet, STARPU_VALUE, &w->first[k],
                                     sizeof(int64_t), STARPU_VALUE, &w->n, sizeof w->n, STARPU_VALUE,
                                     &w->expected[s], sizeof w->expected[s], STARPU_R, to[k],
                                     STARPU_EXECUTE_ON_NODE, (w->owner[k] + shift) % w->ranks, 0) == 0);
  }
  CHECK_OK(tristar_distributed_wait(w->d));
  CHECK(starpu_mpi_wait_for_all(MPI_COMM_WORLD) == 0); /* starpu_mpi_barrier would overtake messages */
  CHECK_MSG(wrong == 0, "rank %d: %d entries of x are wrong", w->rank, (int)wrong);
  drop_handles(w, b, b_data);
  drop_handles(w, x, x_data);
  for (int s = 0; s < STEPS; s++) free(w->expected[s]);
}

static void check_errors(world *w) {
  starpu_data_handle_t b[PIECES_MAX], x[PIECES_MAX], foreign;
  double *b_data[PIECES_MAX], *x_data[PIECES_MAX], value = 0;
  const bool last = w->rank == w->ranks - 1;
  make_handles(w, 1, 300, b, b_data);
  make_handles(w, 2, 400, x, x_data);
  starpu_variable_data_register(&foreign, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
  for (int k = 0; k < w->pieces; k++)
    if (b_data[k]) memset(b_data[k], 0, (size_t)(w->first[k + 1] - w->first[k]) * sizeof value);
  /* All ranks are wrong; one is wrong; a handle without an owner. */
  CHECK_STATUS(tristar_distributed_insert(w->d, TRISTAR_N, w->pieces, b, w->pieces, x), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_distributed_wait(w->d), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_distributed_wait(w->d));
  CHECK_STATUS(tristar_distributed_insert(w->d, TRISTAR_N, w->pieces, last ? NULL : b, w->pieces, b),
               last ? TRISTAR_ERR_ARGUMENT : TRISTAR_OK);
  CHECK_STATUS(tristar_distributed_wait(w->d), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_distributed_insert(w->d, TRISTAR_N, 1, &foreign, 1, &foreign), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_distributed_wait(w->d), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_distributed_insert(w->d, (tristar_op)(last ? 77 : TRISTAR_N), w->pieces, b, w->pieces, b));
  CHECK_STATUS(tristar_distributed_wait(w->d), TRISTAR_ERR_ARGUMENT);
  allocation_failures failing = fail_allocations_on(w->ranks - 1, w->ts);
  failing.keeps_memory = true; /* requests */
  while (next_failure(&failing)) {
    const tristar_status status = tristar_distributed_insert(w->d, TRISTAR_N, w->pieces, b, w->pieces, b);
    CHECK(status == TRISTAR_OK || (last && status == TRISTAR_ERR_MEMORY));
    end_failure_everywhere(&failing, tristar_distributed_wait(w->d));
  }
  CHECK_OK(tristar_distributed_insert(w->d, TRISTAR_N, w->pieces, b, w->pieces, b));
  starpu_data_unregister(foreign);
  drop_handles(w, b, b_data);
  drop_handles(w, x, x_data);
}

static void check_matrix(world *w, const char *kind, int64_t k) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix = NULL;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
  tristar_view view = generated_view(w->ts, kind, k, &matrix);
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &view, NULL, &an));
  if (w->rank == 0) CHECK_OK(tristar_factor(an, view.values, &factor));
  options.layout.px = w->ranks;
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &w->d));
  CHECK_OK(tristar_distributed_wait(w->d));
  w->n = view.rows;
  choose_pieces(w);
  check_chain(w, TRISTAR_N, 1, false);
  check_chain(w, TRISTAR_T, 3, false);
  check_chain(w, TRISTAR_N, 2, true);
  check_errors(w);
  tristar_distributed_destroy(&w->d); /* waits for the pending solve of check_errors */
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  world w = {.d = NULL};
  tristar_memory_stats memory;
  int level;
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  CHECK(starpu_init(NULL) == 0);
  CHECK(starpu_mpi_init_comm(NULL, NULL, 0, MPI_COMM_WORLD) == 0);
  CHECK_OK(tristar_create(NULL, &w.ts));
  RUN(check_matrix(&w, "s2d9pt", 20));
  RUN(check_matrix(&w, "convdiff3d", 5));
  CHECK_TOTAL(looked > 0, "no task was looked at");
  tristar_get_memory(w.ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "rank %d: %zu bytes leaked", w.rank, memory.current_bytes);
  tristar_destroy(&w.ts);
  starpu_mpi_shutdown();
  starpu_shutdown();
  MPI_Finalize();
  return 0;
}
