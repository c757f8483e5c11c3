/* krylov_hypre [--on-demand] MATRIX [REPEAT [NRHS]]: conjugate gradients of TriStar with the factorized
 * sparse approximate inverse of hypre, a program of peer.h for an iterative solver. So the inverses of both
 * libraries are compared by the same iteration and the same test, the norm of the residual. Under mpirun each
 * process reads the matrix and keeps its rows.
 *
 * The environment variable PEER_FSAI="STEPS PER_STEP TOLERANCE MAX_ITERATIONS" has the parameters (default: 5
 * 3 1e-8 2000). Patterns grow until the last step, whatever the gain. "factor_s" is the time of
 * HYPRE_FSAISetup without its optional estimate of eigenvalues; "nnz_factor" counts the entries of G. */
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <_hypre_parcsr_ls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/peers/ranks.h"
#include "tristar_dmatrix_mpi.h"

typedef struct solver {
  int steps, per_step, max_iterations;
  double tolerance;
  peer_ranks part;
  tristar_dmatrix_t *rows;
  HYPRE_IJMatrix a;
  HYPRE_IJVector b, x;
  HYPRE_Solver fsai;
  tristar_precond_t *precond;
  tristar_krylov_t *cg;
} solver;

/* Returns whether hypre succeeded; keeps its error. */
static bool good(peer *p, HYPRE_Int code) {
  if (code != 0 && p->status == 0) peer_fail(p, (int)code, "hypre error %d", (int)code);
  return p->status == 0;
}

static HYPRE_ParCSRMatrix matrix_of(const solver *s) {
  void *object = NULL;
  (void)HYPRE_IJMatrixGetObject(s->a, &object);
  return object;
}

static HYPRE_ParVector vector_of(HYPRE_IJVector v) {
  void *object = NULL;
  (void)HYPRE_IJVectorGetObject(v, &object);
  return object;
}

static double *values_of(HYPRE_IJVector v) {
  return hypre_VectorData(hypre_ParVectorLocalVector(vector_of(v)));
}

static bool need(peer *p, tristar_status status) {
  char message[200];
  if (status == TRISTAR_OK) return true;
  (void)tristar_get_error(p->ts, message, sizeof message);
  peer_fail(p, (int)status, "%s", message);
  return false;
}

/* The same rows for TriStar. */
static bool make_rows(peer *p, solver *s, const peer_compressed *rows) {
  const int32_t begin = rows->ptr[s->part.first];
  int32_t *ptr = peer_allocate((int64_t)s->part.own + 1, sizeof *ptr);
  tristar_dmatrix_options options;
  for (int32_t i = 0; i <= s->part.own; i++) ptr[i] = rows->ptr[s->part.first + i] - begin;
  const tristar_view view = {TRISTAR_CSR,
                             TRISTAR_GENERAL,
                             TRISTAR_DOUBLE,
                             s->part.own,
                             p->n,
                             ptr,
                             rows->index + begin,
                             (double *)rows->values + begin,
                             32,
                             32,
                             0};
  tristar_dmatrix_options_init(&options);
  options.engine = TRISTAR_ENGINE_SERIAL;
  const bool ok = need(p, tristar_dmatrix_create(p->ts, MPI_COMM_WORLD, &view, &options, &s->rows));
  free(ptr);
  return ok;
}

static bool make_matrix(peer *p, solver *s) {
  const HYPRE_Int first = s->part.first, end = first + s->part.own;
  peer_compressed rows;
  bool ok = good(p, HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, end - 1, first, end - 1, &s->a)) &&
            good(p, HYPRE_IJMatrixSetObjectType(s->a, HYPRE_PARCSR)) &&
            good(p, HYPRE_IJMatrixInitialize(s->a));
  peer_compress(p, true, &rows);
  for (HYPRE_Int i = first; i < end && ok; i++) {
    HYPRE_Int count = rows.ptr[i + 1] - rows.ptr[i];
    ok = good(p, HYPRE_IJMatrixSetValues(s->a, 1, &count, &i, rows.index + rows.ptr[i],
                                         (double *)rows.values + rows.ptr[i]));
  }
  ok = ok && good(p, HYPRE_IJMatrixAssemble(s->a)) && make_rows(p, s, &rows);
  peer_compressed_free(&rows);
  return ok;
}

static bool make_vector(peer *p, const solver *s, HYPRE_IJVector *v) {
  const HYPRE_Int first = s->part.first, end = first + s->part.own;
  return good(p, HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, end - 1, v)) &&
         good(p, HYPRE_IJVectorSetObjectType(*v, HYPRE_PARCSR)) && good(p, HYPRE_IJVectorInitialize(*v)) &&
         good(p, HYPRE_IJVectorAssemble(*v));
}

/* x = G^T G b, a tristar_precond_fn. */
static tristar_status apply(void *arg, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  const solver *s = arg;
  const size_t bytes = (size_t)s->part.own * sizeof(double);
  (void)op;
  for (int64_t k = 0; k < nrhs; k++) {
    memcpy(values_of(s->b), (const double *)b + k * ldb, bytes);
    memset(values_of(s->x), 0, bytes);
    if (HYPRE_FSAISolve(s->fsai, matrix_of(s), vector_of(s->b), vector_of(s->x)) != 0)
      return TRISTAR_ERR_RUNTIME;
    memcpy((double *)x + k * ldx, values_of(s->x), bytes);
  }
  return TRISTAR_OK;
}

static bool make_fsai(peer *p, solver *s) {
  const bool ok = good(p, HYPRE_FSAICreate(&s->fsai)) && good(p, HYPRE_FSAISetMaxSteps(s->fsai, s->steps)) &&
                  good(p, HYPRE_FSAISetMaxStepSize(s->fsai, s->per_step)) &&
                  good(p, HYPRE_FSAISetKapTolerance(s->fsai, 0)) &&
                  good(p, HYPRE_FSAISetEigMaxIters(s->fsai, 0)) && good(p, HYPRE_FSAISetOmega(s->fsai, 1)) &&
                  good(p, HYPRE_FSAISetMaxIterations(s->fsai, 1)) &&
                  good(p, HYPRE_FSAISetTolerance(s->fsai, 0)) && good(p, HYPRE_FSAISetZeroGuess(s->fsai, 1));
  const double begin = peer_seconds();
  if (!ok || !good(p, HYPRE_FSAISetup(s->fsai, matrix_of(s), vector_of(s->b), vector_of(s->x)))) return false;
  p->factor_s = peer_seconds() - begin;
  hypre_ParFSAIData *data = (hypre_ParFSAIData *)s->fsai;
  (void)hypre_ParCSRMatrixSetDNumNonzeros(hypre_ParFSAIDataGmat(data));
  p->nnz_factor = hypre_ParCSRMatrixDNumNonzeros(hypre_ParFSAIDataGmat(data));
  return true;
}

static bool make_cg(peer *p, solver *s) {
  tristar_krylov_options options;
  tristar_krylov_options_init(&options);
  options.method = TRISTAR_KRYLOV_CG;
  options.tolerance = s->tolerance;
  options.max_iterations = s->max_iterations;
  options.norm = TRISTAR_NORM_RESIDUAL;
  options.engine = TRISTAR_ENGINE_SERIAL;
  return need(p, tristar_precond_of_function(p->ts, s->part.own, TRISTAR_DOUBLE, apply, s, &s->precond)) &&
         need(p, tristar_dmatrix_krylov(s->rows, &options, &s->cg));
}

/* Solves for all right-hand sides; returns the seconds. */
static double solve(peer *p, const solver *s) {
  const double begin = peer_seconds();
  p->iterations = 0;
  for (int k = 0; k < p->nrhs && p->status == 0; k++) {
    tristar_krylov_result result;
    if (!need(p, tristar_krylov_solve(s->cg, s->precond, 1, (const double *)peer_b(p, k) + s->part.first,
                                      p->n, (double *)peer_x(p, k) + s->part.first, p->n, &result)))
      break;
    if (result.iterations > p->iterations) p->iterations = result.iterations;
    if (!result.converged)
      peer_fail(p, (int)result.reason, "%s after %d iterations", tristar_krylov_reason_text(result.reason),
                (int)result.iterations);
  }
  return peer_seconds() - begin;
}

static bool read_options(peer *p, solver *s) {
  const char *text = getenv("PEER_FSAI");
  if (text != NULL &&
      sscanf(text, "%d %d %lf %d", &s->steps, &s->per_step, &s->tolerance, &s->max_iterations) != 4)
    peer_fail(p, 1, "PEER_FSAI is \"%s\", not four numbers", text);
  return p->status == 0;
}

void peer_solve_real(peer *p) {
  solver s = {.steps = 5, .per_step = 3, .tolerance = 1e-8, .max_iterations = 2000};
  snprintf(p->solver, sizeof p->solver, "hypre %s", HYPRE_RELEASE_VERSION);
  p->method = "CG";
  p->ordering = "as given";
  int level;
  (void)MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
  (void)HYPRE_Init();
  const double begin = peer_seconds();
  bool ok = peer_ranks_join(p, &s.part) && read_options(p, &s) && make_matrix(p, &s) &&
            make_vector(p, &s, &s.b) && make_vector(p, &s, &s.x);
  p->analyze_s = peer_seconds() - begin;
  ok = ok && make_fsai(p, &s) && make_cg(p, &s);
  if (ok) do {
      for (int turn = -1; turn < p->repeat && p->status == 0; turn++) {
        const double seconds = solve(p, &s);
        if (turn >= 0) p->solves_s[turn] = seconds;
      }
      peer_ranks_share_x(p, &s.part);
    } while (peer_again(p));
  tristar_krylov_destroy(&s.cg);
  tristar_precond_destroy(&s.precond);
  tristar_dmatrix_destroy(&s.rows);
  if (s.fsai) (void)HYPRE_FSAIDestroy(s.fsai);
  if (s.b) (void)HYPRE_IJVectorDestroy(s.b);
  if (s.x) (void)HYPRE_IJVectorDestroy(s.x);
  if (s.a) (void)HYPRE_IJMatrixDestroy(s.a);
  (void)HYPRE_Finalize();
  (void)MPI_Finalize();
}

void peer_solve_complex(peer *p) {
  peer_fail(p, 1, "it is compared for real matrices only");
}
