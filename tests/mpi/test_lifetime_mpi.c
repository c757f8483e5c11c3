/* Objects on all ranks and their context are destroyed in any order, the same on all ranks, also after
 * MPI_Finalize. A child of fork() gets errors from them, and may destroy them. */
#include <mpi.h>

#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tristar_dmatrix_mpi.h"
#include "tristar_krylov.h"
#include "tristar_mpi.h"

enum { CONTEXT, DMATRIX, KRYLOV, FSAI, SCHWARZ, BLOCK, DISTRIBUTED, OF_ROWS, ANALYSIS, TRACE, KINDS };

typedef struct ranks_objects {
  tristar_t *ts;
  tristar_dmatrix_t *matrix;
  tristar_krylov_t *krylov;
  tristar_precond_t *fsai, *schwarz, *block;
  tristar_distributed_t *distributed, *of_rows;
  tristar_distributed_request_t *request; /* of `distributed`: waited for at the end */
  tristar_analysis_t *analysis;           /* on rank 0 */
  tristar_trace_t *trace;                 /* likewise */
  int64_t n, rows;                        /* rows of `of_rows` and of the matrix on this rank */
  double *b, *x;                          /* n */
} ranks_objects;

/* Order n on rank 0: rank 0 has all of b and x of a distributed factor. */
static void make_factors(ranks_objects *o, int rank, int ranks) {
  tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix = NULL;
  tristar_view view = {.values = NULL};
  options.layout.px = ranks;
  if (rank == 0) {
    view = generated_view(o->ts, "s2d9pt", 12, &matrix);
    CHECK_OK(tristar_analyze(o->ts, &view, NULL, &o->analysis));
  }
  CHECK_OK(
      tristar_distributed_factor(o->ts, MPI_COMM_WORLD, o->analysis, view.values, &options, &o->distributed));
  options.transport = TRISTAR_TRANSPORT_DIRECT; /* StarPU-MPI allows one at a time */
  CHECK_OK(tristar_dmatrix_factor(o->matrix, NULL, &options, &o->of_rows));
}

static void make_objects(tristar_t *ts, ranks_objects *o) {
  int rank, ranks;
  tristar_dmatrix_stats stats;
  tristar_precond_options options;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  *o = (ranks_objects){.ts = ts};
  CHECK_OK(tristar_dmatrix_generate(ts, MPI_COMM_WORLD, "s2d9pt", 12, NULL, &o->matrix));
  CHECK_OK(tristar_dmatrix_get_stats(o->matrix, &stats));
  o->n = stats.n;
  o->rows = stats.rows;
  o->b = xmalloc((size_t)o->n * sizeof *o->b);
  o->x = xmalloc((size_t)o->n * sizeof *o->x);
  fill_random(o->b, o->n, 1);
  CHECK_OK(tristar_dmatrix_krylov(o->matrix, NULL, &o->krylov));
  tristar_precond_options_init(&options);
  options.kind = TRISTAR_PRECOND_FSAI;
  CHECK_OK(tristar_dmatrix_fsai(o->matrix, &options, 1, &o->fsai));
  CHECK_OK(tristar_dmatrix_schwarz(o->matrix, NULL, 1, 1, &o->schwarz));
  options.kind = TRISTAR_PRECOND_PLAN;
  CHECK_OK(tristar_dmatrix_schwarz(o->matrix, &options, 0, 0, &o->block));
  make_factors(o, rank, ranks);
  CHECK_OK(tristar_distributed_trace(o->distributed, TRISTAR_N, 1, o->b, o->n, o->x, o->n, &o->trace));
  CHECK_OK(tristar_distributed_solve_start(o->distributed, NULL, 1, o->b, o->x, &o->request));
}

static void destroy(ranks_objects *o, int kind) {
  switch (kind) {
  case CONTEXT:
    tristar_destroy(&o->ts);
    break;
  case DMATRIX:
    tristar_dmatrix_destroy(&o->matrix);
    break;
  case KRYLOV:
    tristar_krylov_destroy(&o->krylov);
    break;
  case FSAI:
    tristar_precond_destroy(&o->fsai);
    break;
  case SCHWARZ:
    tristar_precond_destroy(&o->schwarz);
    break;
  case BLOCK:
    tristar_precond_destroy(&o->block);
    break;
  case DISTRIBUTED:
    tristar_distributed_destroy(&o->distributed);
    break;
  case OF_ROWS:
    tristar_distributed_destroy(&o->of_rows);
    break;
  case ANALYSIS:
    tristar_analysis_destroy(&o->analysis);
    break;
  default:
    tristar_trace_destroy(&o->trace);
  }
}

static void release(ranks_objects *o, tristar_status waited) {
  CHECK_STATUS(tristar_distributed_solve_wait(&o->request, NULL), waited);
  CHECK(o->request == NULL);
  free(o->b);
  free(o->x);
}

/* Uses the remaining objects. */
static void use(ranks_objects *o, tristar_status expected) {
  tristar_precond_t *const precond[] = {NULL, o->fsai, o->schwarz, o->block};
  tristar_krylov_result result;
  OWNED double *x = xcalloc((size_t)o->n + 1, sizeof *x);
  for (int k = 0; k < 4 && o->krylov; k++)
    CHECK_STATUS(tristar_krylov_solve(o->krylov, precond[k], 1, o->b, o->n, memset(x, 0, (size_t)o->n * 8),
                                      o->n, &result),
                 expected);
  if (o->of_rows)
    CHECK_STATUS(tristar_distributed_solve(o->of_rows, TRISTAR_N, 1, o->b, o->n, x, o->n), expected);
  if (o->distributed)
    CHECK_STATUS(tristar_distributed_solve(o->distributed, TRISTAR_N, 1, o->b, o->n, x, o->n), expected);
  if (o->matrix)
    CHECK_STATUS(tristar_dmatrix_multiply(o->matrix, TRISTAR_N, 1, NULL, o->b, o->n, NULL, x, o->n),
                 expected);
}

/* The same shuffle on all ranks. */
static void shuffle(uint64_t seed, int *kind) {
  uint64_t state = seed;
  for (int k = 0; k < KINDS; k++) kind[k] = k;
  for (int k = KINDS - 1; k > 0; k--) {
    const int other = (int)(next_random(&state) % (uint64_t)(k + 1)), kept = kind[k];
    kind[k] = kind[other];
    kind[other] = kept;
  }
}

static tristar_t *make(bool starpu) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_t *ts;
  config.use_starpu = starpu;
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

static void check_order(uint64_t seed, bool starpu) {
  ranks_objects o;
  int kind[KINDS];
  make_objects(make(starpu), &o);
  shuffle(seed, kind);
  for (int k = 0; k < KINDS; k++) {
    destroy(&o, kind[k]);
    if (seed % 2 == 0) use(&o, TRISTAR_OK);
  }
  release(&o, TRISTAR_OK);
}

/* ---- fork() -------------------------------------------------------------------------------------------- */

static void work_in_child(ranks_objects *o, uint64_t seed) {
  int kind[KINDS], done;
  use(o, TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_distributed_solve_test(o->request, &done), TRISTAR_ERR_UNSUPPORTED);
  shuffle(seed, kind);
  for (int k = 0; k < KINDS; k++) destroy(o, kind[k]);
  release(o, TRISTAR_ERR_UNSUPPORTED);
  tristar_t *ts = make(true); /* without StarPU, if the parent started it, or with it */
  tristar_dmatrix_t *matrix;
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *whole;
  tristar_config config = DEFAULTS(tristar_config);
  CHECK_STATUS(tristar_dmatrix_generate(ts, MPI_COMM_WORLD, "s2d9pt", 5, NULL, &matrix),
               TRISTAR_ERR_UNSUPPORTED);
  CHECK(matrix == NULL);
  CHECK_STATUS(tristar_mpi_share_cores(MPI_COMM_WORLD, &config), TRISTAR_ERR_UNSUPPORTED);
  CHECK_OK(tristar_matrix_generate(ts, "s2d9pt", 5, &whole)); /* calls without MPI succeed */
  tristar_destroy(&ts);
}

static void check_fork(bool starpu) {
  ranks_objects o;
  int status;
  make_objects(make(starpu), &o);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(60);
    work_in_child(&o, (uint64_t)getpid());
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_MSG(!WIFSIGNALED(status) && WEXITSTATUS(status) == 0, "status %d", status);
  use(&o, TRISTAR_OK);
  for (int k = 0; k < KINDS; k++) destroy(&o, k);
  release(&o, TRISTAR_OK);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  const bool starpu = argc > 1 && strcmp(argv[1], "tasks") == 0;
  const int rounds = TSI_TESTS_SANITIZED ? 6 : 16;
  ranks_objects o;
  int level, kind[KINDS];
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  if (level < MPI_THREAD_MULTIPLE) SKIP("MPI has no MPI_THREAD_MULTIPLE");
  for (int seed = 0; seed < rounds; seed++) RUN(check_order((uint64_t)seed, starpu));
  RUN(check_fork(starpu));
  make_objects(make(starpu), &o); /* a garbage collector may run after MPI_Finalize */
  CHECK_OK(tristar_distributed_solve_wait(&o.request, NULL));
  shuffle(1, kind);
  MPI_Finalize();
  for (int k = 0; k < KINDS; k++) destroy(&o, kind[k]);
  release(&o, TRISTAR_OK);
  return 0;
}
