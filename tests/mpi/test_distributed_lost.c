/* Solves with one-sided messages have the bits of solves with MPI's messages: many solves in succession, with
 * 1 and 17 right-hand sides, with and without tasks. If a rank does not enter a solve or a sweep, the ranks
 * that wait for it return an error that names it, in time. Afterwards each call of any rank returns an error
 * at once.
 *
 *   test_distributed_lost [tasks|serial PART]: the last rank kills itself before a solve or a sweep, for
 *     killed_team.sh; the others print the error that their own solve returns */
#include <signal.h>

#include "runtime/base/clock.h"
#include "runtime/mpi/solve/distributed.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_mpi.h"

enum { NRHS = 17, SOLVES = 50 };

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
  tristar_factor_t *factor; /* rank 0 */
  int64_t n;
} world;

static tristar_distributed_t *distribute(const world *w, tristar_engine engine, tristar_transport transport,
                                         int pz, double seconds) {
  tristar_distributed_t *d;
  tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
  options.layout = (tristar_layout){.px = 2, .py = w->ranks / 2 / pz, .pz = pz, .map = TRISTAR_MAP_CYCLIC};
  options.engine = engine;
  options.transport = transport;
  options.peer_seconds = seconds;
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, w->factor, &options, &d));
  return d;
}

static double *make_b(int64_t count) {
  double *b = xcalloc((size_t)count + 1, sizeof *b);
  for (int64_t i = 0; i < count; i++) b[i] = (double)(i * 7919 % 1009) - 500;
  return b;
}

static void check_bits(const world *w, tristar_engine engine) {
  const int64_t rows = w->rank == 0 ? w->n : 0, count = rows * NRHS;
  OWNED double *b = make_b(count);
  OWNED double *x = xcalloc((size_t)count + 1, sizeof *x), *y = xcalloc((size_t)count + 1, sizeof *y);
  CLEANUP(tristar_distributed_destroy)
  tristar_distributed_t *direct = distribute(w, engine, TRISTAR_TRANSPORT_DIRECT, w->ranks / 2, 0);
  CLEANUP(tristar_distributed_destroy)
  tristar_distributed_t *d = distribute(w, engine, TRISTAR_TRANSPORT_ONE_SIDED, w->ranks / 2, 0);
  tristar_distributed_stats stats[2];
  for (int64_t nrhs = 1; nrhs <= NRHS; nrhs += NRHS - 1) {
    CHECK_OK(tristar_distributed_solve(direct, TRISTAR_N, nrhs, b, w->n, x, w->n));
    for (int k = 0; k < SOLVES; k++) {
      memset(y, 0, (size_t)count * sizeof *y);
      CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, nrhs, b, w->n, y, w->n));
      CHECK_MSG(memcmp(x, y, (size_t)(rows * nrhs) * sizeof *x) == 0, "solve %d with %d right-hand sides", k,
                (int)nrhs);
    }
  }
  CHECK_OK(tristar_distributed_get_stats(direct, &stats[0]));
  CHECK_OK(tristar_distributed_get_stats(d, &stats[1]));
  CHECK(stats[0].reduction.messages == stats[1].reduction.messages &&
        stats[0].reduction.bytes == stats[1].reduction.bytes);
  CHECK(stats[0].grids.messages == stats[1].grids.messages && stats[0].grids.bytes == stats[1].grids.bytes);
}

/* In one sweep some ranks do not wait for the last one. */
static void check_lost(const world *w, tristar_engine engine, tristar_part part) {
  const int64_t rows = w->rank == 0 ? w->n : 0;
  OWNED double *b = make_b(rows);
  CLEANUP(tristar_distributed_destroy)
  tristar_distributed_t *d = distribute(w, engine, TRISTAR_TRANSPORT_ONE_SIDED, 1, 0.2);
  const tsi_process_call call = {
      .op = TRISTAR_N, .part = part, .nrhs = 1, .b = d->slot[0].b, .x = d->slot[0].x};
  const double begin = tsi_clock();
  int failed = 0;
  if (w->rank < w->ranks - 1) {
    const tristar_status status = tsi_distributed_run(d, &d->slot[0], &call, false);
    CHECK(status == TRISTAR_ERR_RUNTIME || (status == TRISTAR_OK && part != TRISTAR_PART_ALL));
    failed = status != TRISTAR_OK;
    CHECK_MSG(!failed || strstr(tsi_error_text(NULL), "seconds for PE "), "%s", tsi_error_text(NULL));
  }
  CHECK_MSG(tsi_clock() - begin < 60, "after %g s", tsi_clock() - begin);
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(failed > 0);
  CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, 1, b, w->n, b, w->n), TRISTAR_ERR_RUNTIME);
}

/* The last rank kills itself, and the others print the error of their solve. Then they kill themselves, too:
 * MPI_Finalize would wait for the last rank. */
static void kill_last(const world *w, char **argv) {
  const tristar_engine engine = strcmp(argv[1], "serial") == 0 ? TRISTAR_ENGINE_SERIAL : TRISTAR_ENGINE_TASKS;
  tristar_distributed_t *d = distribute(w, engine, TRISTAR_TRANSPORT_ONE_SIDED, 1, 5);
  const tsi_process_call call = {
      .op = TRISTAR_N, .part = (tristar_part)atoi(argv[2]), .nrhs = 1, .b = d->slot[0].b, .x = d->slot[0].x};
  CHECK_OK(tsi_distributed_run(d, &d->slot[0], &call, false));
  MPI_Barrier(MPI_COMM_WORLD);
  if (w->rank == w->ranks - 1) raise(SIGKILL);
  const double begin = tsi_clock();
  const tristar_status status = tsi_distributed_run(d, &d->slot[0], &call, false);
  CHECK_MSG(tsi_clock() - begin < 30, "after %g s", tsi_clock() - begin);
  printf("rank %d: %s\n", w->rank, status == TRISTAR_OK ? "OK" : tsi_error_text(NULL));
  fflush(stdout);
  raise(SIGKILL);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  world w = {.ts = NULL};
  int level;
  tristar_config config = DEFAULTS(tristar_config);
  config.check = 1;
  CHECK(MPI_Init_thread(NULL, NULL, argc == 3 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED, &level) ==
        MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  CHECK_OK(tristar_create(&config, &w.ts));
  tristar_matrix_t *matrix = NULL;
  tristar_analysis_t *analysis = NULL;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.leaf_parts = w.ranks / 2;
  tristar_view view;
  OWNED void *values = typed_matrix(w.ts, "s2d9pt", 24, &typed_double, TRISTAR_HERMITIAN, &matrix, &view);
  w.n = view.rows;
  if (w.rank == 0) {
    CHECK_OK(tristar_analyze(w.ts, &view, &options, &analysis));
    CHECK_OK(tristar_factor(analysis, values, &w.factor));
  }
  if (argc == 3) {
    kill_last(&w, argv);
  } else {
    RUN(check_bits(&w, TRISTAR_ENGINE_TASKS));
    RUN(check_bits(&w, TRISTAR_ENGINE_SERIAL));
    RUN(check_lost(&w, TRISTAR_ENGINE_TASKS, TRISTAR_PART_ALL));
    RUN(check_lost(&w, TRISTAR_ENGINE_TASKS, TRISTAR_PART_U));
    RUN(check_lost(&w, TRISTAR_ENGINE_SERIAL, TRISTAR_PART_L));
    RUN(check_lost(&w, TRISTAR_ENGINE_SERIAL, TRISTAR_PART_U));
  }
  tristar_factor_destroy(&w.factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  tristar_destroy(&w.ts);
  MPI_Finalize();
  return 0;
}
