/* A rank that fails in a distributed solve or factorization leaves no other rank waiting: all return its
 * status and its message. The next call succeeds, unless a message was lost; then it returns an error.
 * Argument: "direct" or "starpu_mpi". Linked with --wrap, so that the k-th submission of a task or the k-th
 * receive fails on the last rank. */
#include <errno.h>
#include <mpi.h>
#include <starpu_mpi.h>
#include <stdatomic.h>

#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tristar_mpi.h"

#define NEVER 1000000000

static atomic_int submissions_left = NEVER, receives_left = NEVER; /* Number of calls until one fails. */

int __real_starpu_task_submit(struct starpu_task *task);
__attribute__((visibility("default"))) int __wrap_starpu_task_submit(struct starpu_task *task);
int __wrap_starpu_task_submit(struct starpu_task *task) {
  if (task->cl != NULL && atomic_fetch_sub(&submissions_left, 1) == 1) return -ENODEV; /* it needs a worker */
  return __real_starpu_task_submit(task);
}

int __real_MPI_Start(MPI_Request *request);
int __wrap_MPI_Start(MPI_Request *request);
int __wrap_MPI_Start(MPI_Request *request) {
  return atomic_fetch_sub(&receives_left, 1) == 1 ? MPI_ERR_OTHER : __real_MPI_Start(request);
}

typedef void (*receive_callback)(void *arg);
int __real_starpu_mpi_irecv_detached(starpu_data_handle_t handle, int source, starpu_mpi_tag_t tag,
                                     MPI_Comm comm, receive_callback callback, void *arg);
int __wrap_starpu_mpi_irecv_detached(starpu_data_handle_t handle, int source, starpu_mpi_tag_t tag,
                                     MPI_Comm comm, receive_callback callback, void *arg);
int __wrap_starpu_mpi_irecv_detached(starpu_data_handle_t handle, int source, starpu_mpi_tag_t tag,
                                     MPI_Comm comm, receive_callback callback, void *arg) {
  if (atomic_fetch_sub(&receives_left, 1) == 1) return -EINVAL;
  return __real_starpu_mpi_irecv_detached(handle, source, tag, comm, callback, arg);
}

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
  tristar_distributed_options options;
  tristar_factor_t *factor; /* rank 0 */
  int64_t n;
  double *b, *x, *expected;
} world;

static tristar_status solve(const world *w, tristar_distributed_t *d) {
  memset(w->x, 0, (size_t)w->n * sizeof *w->x);
  return tristar_distributed_solve(d, TRISTAR_N, 1, w->b, w->n, w->x, w->n);
}

static void solve_well(const world *w, tristar_distributed_t *d) {
  CHECK_OK(solve(w, d));
  CHECK(w->rank > 0 || memcmp(w->x, w->expected, (size_t)w->n * sizeof *w->x) == 0);
}

/* All ranks return the same status; the message names the rank that failed. */
static void expect_failure(const world *w, tristar_distributed_t *d, tristar_status status,
                           const char *text) {
  char message[512], place[20];
  CHECK_STATUS(solve(w, d), status);
  tristar_get_error(w->ts, message, sizeof message);
  snprintf(place, sizeof place, "rank %d: ", w->ranks - 1);
  CHECK_MSG(strstr(message, text) != NULL, "\"%s\" is not in \"%s\"", text, message);
  CHECK_MSG((strstr(message, place) != NULL) == (w->rank != w->ranks - 1), "\"%s\"", message);
}

static tristar_distributed_t *distribute(const world *w) {
  tristar_distributed_t *d;
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, w->factor, &w->options, &d));
  CHECK_OK(tristar_distributed_set_rows(d, w->rank == 0 ? 0 : w->n, w->rank == 0 ? w->n : 0));
  return d;
}

/* Each submission of a solve on the last rank fails in turn. */
static void check_submissions(const world *w) {
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d = distribute(w);
  int failed = 0, more = 1;
  CHECK_OK(solve(w, d));
  memcpy(w->expected, w->x, (size_t)w->n * sizeof *w->x);
  for (int k = 1; more; k++) {
    const bool failing = w->rank == w->ranks - 1;
    if (failing) atomic_store(&submissions_left, k);
    const tristar_status status = solve(w, d);
    int fails = failing && atomic_exchange(&submissions_left, NEVER) <= 0;
    MPI_Allreduce(&fails, &more, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK_STATUS(status, more ? TRISTAR_ERR_NO_WORKER : TRISTAR_OK);
    failed += more;
    solve_well(w, d);
  }
  CHECK_MSG(failed > 2, "%d submissions", failed);
}

/* A receive fails, so its message is lost, and no later solve may receive that message as its own. StarPU-MPI
 * repeats the receive. */
static void check_receives(const world *w) {
  const bool direct = w->options.transport == TRISTAR_TRANSPORT_DIRECT;
  for (int k = 1; k <= w->ranks / 2; k++) { /* a lower bound of their number */
    tristar_distributed_t *d = distribute(w);
    solve_well(w, d);
    if (w->rank == w->ranks - 1) atomic_store(&receives_left, k);
    if (!direct)
      solve_well(w, d);
    else
      expect_failure(w, d, TRISTAR_ERR_RUNTIME, "MPI error");
    atomic_store(&receives_left, NEVER);
    for (int turn = 0; turn < 2; turn++)
      if (!direct)
        solve_well(w, d);
      else
        expect_failure(w, d, TRISTAR_ERR_RUNTIME, "lost a message");
    tristar_distributed_destroy(&d);
  }
}

/* Each submission of a factorization on the last rank fails in turn. */
static void check_factorizations(const world *w, tristar_analysis_t *analysis, const void *values) {
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  const bool root = w->rank == 0, failing = w->rank == w->ranks - 1;
  int failed = 0, more = 1;
  CHECK_OK(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, root ? analysis : NULL, root ? values : NULL,
                                      &w->options, &d));
  CHECK_OK(tristar_distributed_set_rows(d, root ? 0 : w->n, root ? w->n : 0));
  for (int k = 1; more; k++) {
    if (failing) atomic_store(&submissions_left, k);
    const tristar_status status = tristar_distributed_refactor(d, root ? values : NULL);
    int fails = failing && atomic_exchange(&submissions_left, NEVER) <= 0;
    MPI_Allreduce(&fails, &more, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK_STATUS(status, more ? TRISTAR_ERR_NO_WORKER : TRISTAR_OK);
    failed += more;
    CHECK_OK(tristar_distributed_refactor(d, root ? values : NULL));
    solve_well(w, d);
  }
  CHECK_MSG(failed > 0, "no task was submitted");
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  world w = {.factor = NULL};
  int level;
  flow f;
  tristar_config config = DEFAULTS(tristar_config);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CHECK(argc == 2);
  CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  CHECK_OK(tristar_create(&config, &w.ts));
  f.view = generated_view(w.ts, "poisson3d7", 14, &f.matrix);
  options.leaf_parts = 2;
  CHECK_OK(tristar_analyze(w.ts, &f.view, &options, &f.analysis));
  if (w.rank == 0) CHECK_OK(tristar_factor(f.analysis, f.view.values, &w.factor));
  tristar_distributed_options_init(&w.options);
  w.options.layout.px = w.ranks / 2;
  w.options.layout.pz = 2;
  w.options.transport =
      strcmp(argv[1], "direct") == 0 ? TRISTAR_TRANSPORT_DIRECT : TRISTAR_TRANSPORT_STARPU_MPI;
  w.n = f.view.rows;
  w.b = xmalloc((size_t)w.n * sizeof *w.b);
  w.x = xmalloc((size_t)w.n * sizeof *w.x);
  w.expected = xmalloc((size_t)w.n * sizeof *w.expected);
  fill_random(w.b, w.n, 3);
  RUN(check_submissions(&w));
  RUN(check_receives(&w));
  RUN(check_submissions(&w));
  RUN(check_factorizations(&w, f.analysis, f.view.values));
  free(w.b);
  free(w.x);
  free(w.expected);
  tristar_factor_destroy(&w.factor);
  tristar_analysis_destroy(&f.analysis);
  tristar_matrix_destroy(&f.matrix);
  tristar_destroy(&w.ts);
  MPI_Finalize();
  return 0;
}
