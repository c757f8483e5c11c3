/* Factors of SuperLU, imported: the solutions are those of SuperLU itself to roundoff, for A, A^T and A^H, 1
 * and 3 right-hand sides, with and without equilibration, for matrices in columns and in rows, for incomplete
 * factors, after new values; bad input and failing allocations give an error and leave nothing behind.
 * Compiled for each scalar type. */
#if defined TSI_SCALAR_S
#include <slu_sdefs.h>
#define SLU(name) s##name
#define SLU_TYPE SLU_S
typedef float slu_scalar;
#elif defined TSI_SCALAR_D
#include <slu_ddefs.h>
#define SLU(name) d##name
#define SLU_TYPE SLU_D
typedef double slu_scalar;
#elif defined TSI_SCALAR_C
#include <slu_cdefs.h> /* must precede complex.h: both define the word complex */
#define SLU(name) c##name
#define SLU_TYPE SLU_C
typedef complex slu_scalar;
#else
#include <slu_zdefs.h>
#define SLU(name) z##name
#define SLU_TYPE SLU_Z
typedef doublecomplex slu_scalar;
#endif

#include "runtime/adapters/superlu_factors.h"
#include "tests/support/context.h"
#include "tests/support/factors_product.h"
#include "tests/support/failing_import.h"
#include "tests/support/subtests.h"
#include "tests/support/unsymmetric.h"
#include "tristar_superlu.h"

#define gssvx SLU(gssvx)
#define gsisx SLU(gsisx)
#define create_columns SLU(Create_CompCol_Matrix)
#define create_rows SLU(Create_CompRow_Matrix)
#define create_dense SLU(Create_Dense_Matrix)

#define N 300
#define RHS 3

/* A matrix and its factors by SuperLU. */
typedef struct system {
  unsymmetric matrix;
  Stype_t storage;
  bool incomplete;
  superlu_options_t options;
  SuperMatrix A, L, U;
  slu_scalar *values; /* values of A, which gssvx scales */
  int perm_c[N], perm_r[N], etree[N];
  char equed[1];
  tsi_real R[N], C[N];
  GlobalLU_t glu;
  SuperLUStat_t stat;
  tsi_scalar b[RHS * N], x[RHS * N];
  tristar_superlu factors;
} system_t;

/* Calls the expert driver with options.Fact. Overwrites b. */
static void drive(system_t *s, trans_t trans, int nrhs) {
  SuperMatrix B, X;
  tsi_real growth, rcond, ferr[RHS], berr[RHS];
  mem_usage_t memory;
  int info;
  s->options.Trans = trans;
  create_dense(&B, N, nrhs, (slu_scalar *)s->b, N, SLU_DN, SLU_TYPE, SLU_GE);
  create_dense(&X, N, nrhs, (slu_scalar *)s->x, N, SLU_DN, SLU_TYPE, SLU_GE);
  if (s->incomplete)
    gsisx(&s->options, &s->A, s->perm_c, s->perm_r, s->etree, s->equed, s->R, s->C, &s->L, &s->U, NULL, 0, &B,
          &X, &growth, &rcond, &s->glu, &memory, &s->stat, &info);
  else
    gssvx(&s->options, &s->A, s->perm_c, s->perm_r, s->etree, s->equed, s->R, s->C, &s->L, &s->U, NULL, 0, &B,
          &X, &growth, &rcond, ferr, berr, &s->glu, &memory, &s->stat, &info);
  /* gsisx returns the number of perturbed pivots */
  CHECK_MSG(info == 0 || (s->incomplete && info < N), "info %d", info);
  Destroy_SuperMatrix_Store(&B);
  Destroy_SuperMatrix_Store(&X);
}

static void factor(system_t *s, fact_t fact) {
  s->options.Fact = fact;
  memcpy(s->values, s->matrix.value, PER_LINE * N * sizeof *s->values);
  random_vectors(s->b, N, 1);
  drive(s, NOTRANS, 1);
  s->options.Fact = FACTORED;
  s->factors = (tristar_superlu){.L = &s->L,
                                 .U = &s->U,
                                 .perm_r = s->perm_r,
                                 .perm_c = s->perm_c,
                                 .equed = s->equed[0],
                                 .R = s->R,
                                 .C = s->C};
}

static void create(system_t *s, Stype_t storage, bool incomplete, bool equilibrate) {
  unsymmetric_create(storage == SLU_NC ? TRISTAR_CSC : TRISTAR_CSR, N, 0, equilibrate ? 3 : 0, 5, &s->matrix);
  s->storage = storage;
  s->incomplete = incomplete;
  s->values = xmalloc(PER_LINE * N * sizeof *s->values);
  if (storage == SLU_NC)
    create_columns(&s->A, N, N, PER_LINE * N, s->values, s->matrix.index, s->matrix.ptr, SLU_NC, SLU_TYPE,
                   SLU_GE);
  else
    create_rows(&s->A, N, N, PER_LINE * N, s->values, s->matrix.index, s->matrix.ptr, SLU_NR, SLU_TYPE,
                SLU_GE);
  if (incomplete)
    ilu_set_default_options(&s->options);
  else
    set_default_options(&s->options);
  s->options.RowPerm = NOROWPERM; /* some builds have no MC64, which dgsisx would call */
  s->options.Equil = equilibrate ? YES : NO;
  StatInit(&s->stat);
  factor(s, DOFACT);
  CHECK_MSG(s->equed[0] == (equilibrate ? 'B' : 'N'), "equed is %c", s->equed[0]);
  int moved = 0;
  for (int i = 0; i < N; i++) moved += s->perm_r[i] != s->perm_c[i];
  CHECK_MSG(moved > N / 2, "only %d pivots off the diagonal", moved);
}

static void destroy(system_t *s) {
  Destroy_SuperNode_Matrix(&s->L);
  Destroy_CompCol_Matrix(&s->U);
  Destroy_SuperMatrix_Store(&s->A);
  StatFree(&s->stat);
  free(s->values);
  unsymmetric_destroy(&s->matrix);
}

/* Checks the adapter's view by multiplying the factors. */
static void check_view(tristar_t *ts, const system_t *s) {
  CLEANUP(tsi_superlu_release) tsi_superlu work = {0};
  tristar_factors factors;
  tristar_view matrix = s->matrix.view;
  if (s->storage == SLU_NR) matrix.format = TRISTAR_CSC; /* a matrix by rows is factored as its transpose */
  CHECK_OK(tsi_superlu_factors(ts, &s->factors, &work, &factors));
  check_factors_product(&factors, &matrix);
}

/* Compares the plan's solves with those of SuperLU. */
static void check_solves(tristar_plan_t *plan, system_t *s) {
  static const struct {
    trans_t theirs;
    tristar_op ours, of_transpose;
  } ops[] = {{NOTRANS, TRISTAR_N, TRISTAR_T}, {TRANS, TRISTAR_T, TRISTAR_N}, {CONJ, TRISTAR_C, TRISTAR_C}};
  static tsi_scalar y[RHS * N];
  /* for a matrix by rows SuperLU factors A^T; A^H is its conjugate, for which no plan solves */
  for (int o = 0; o < (s->storage == SLU_NC ? 3 : 2); o++)
    for (int nrhs = 1; nrhs <= RHS; nrhs += RHS - 1) {
      const tristar_op op = s->storage == SLU_NC ? ops[o].ours : ops[o].of_transpose;
      random_vectors(s->b, nrhs * N, (uint64_t)(10 * o + nrhs));
      CHECK_OK(tristar_solve(plan, op, nrhs, s->b, N, y, N));
      drive(s, ops[o].theirs, nrhs);
      check_same_solutions(&s->matrix, ops[o].ours, nrhs, s->x, y);
    }
}

static void check_kind(tristar_t *ts, Stype_t storage, bool incomplete, bool equilibrate) {
  static system_t s;
  tristar_factor_t *f;
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  create(&s, storage, incomplete, equilibrate);
  if (!incomplete) check_view(ts, &s);
  CHECK_OK(tristar_import_superlu(ts, &s.factors, &f));
  options.nrhs = RHS;
  options.engine = equilibrate ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_SERIAL;
  options.chunk_bytes_max = 20000;
  tristar_plan_t *plan = NEW_PLAN(f, &options);
  check_solves(plan, &s);
  if (!incomplete) { /* the same pivots, so the same structure */
    int before[N];
    memcpy(before, s.perm_r, sizeof before);
    for (int p = 0; p < PER_LINE * N; p++) s.matrix.value[p] *= (tsi_real)(3 + 1e-2 * (p % 5));
    s.options.DiagPivotThresh =
        0.1; /* old pivots are accepted although they are no longer the largest entries */
    factor(&s, SamePattern_SameRowPerm);
    CHECK(memcmp(before, s.perm_r, sizeof before) == 0);
    CHECK_OK(tristar_reimport_superlu(f, &s.factors));
    check_solves(plan, &s);
  }
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&f);
  destroy(&s);
}

/* With the matrix, refinement reaches a small backward error. */
static void check_refined(tristar_t *ts) {
  static system_t s;
  static tsi_scalar x[N];
  tristar_factor_t *f;
  tristar_refine_result result;
  double reciprocal;
  create(&s, SLU_NC, false, true);
  s.factors.matrix = &s.matrix.view;
  CHECK_OK(tristar_import_superlu(ts, &s.factors, &f));
  tristar_plan_t *plan = NEW_PLAN(f, NULL);
  random_vectors(s.b, N, 9);
  CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 1, s.b, N, x, N, NULL, &result));
  CHECK_MSG(result.backward_error < 10 * ROUNDOFF, "%g", result.backward_error);
  CHECK_OK(tristar_condition(plan, &reciprocal));
  CHECK(reciprocal > 0 && reciprocal <= 1);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&f);
  destroy(&s);
}

/* Factors with other pivots make the factor stale until suitable values follow. */
static void check_stale(tristar_t *ts) {
  static system_t s, other;
  static tsi_scalar x[N];
  tristar_factor_t *f;
  create(&s, SLU_NC, false, false);
  create(&other, SLU_NC, false, false);
  Destroy_SuperNode_Matrix(&other.L);
  Destroy_CompCol_Matrix(&other.U);
  random_vectors(other.matrix.value, PER_LINE * N, 77);
  factor(&other, DOFACT);
  CHECK(memcmp(s.perm_r, other.perm_r, sizeof s.perm_r) != 0);
  CHECK_OK(tristar_import_superlu(ts, &s.factors, &f));
  tristar_plan_t *plan = NEW_PLAN(f, NULL);
  CHECK_STATUS(tristar_reimport_superlu(f, &other.factors), TRISTAR_ERR_STALE);
  random_vectors(s.b, N, 9);
  CHECK_STATUS(tristar_solve(plan, TRISTAR_N, 1, s.b, N, x, N), TRISTAR_ERR_STALE);
  CHECK_OK(tristar_reimport_superlu(f, &s.factors));
  CHECK_STATUS(tristar_reimport_superlu(f, NULL), TRISTAR_ERR_ARGUMENT); /* the values are kept */
  check_solves(plan, &s);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&f);
  destroy(&s);
  destroy(&other);
}

/* The import must fail with this status, and the message must contain `cause`. */
static void check_refused(tristar_t *ts, const tristar_superlu *from, tristar_status status,
                          const char *cause) {
  char message[512] = "";
  tristar_factor_t *f = (tristar_factor_t *)&message;
  CHECK_STATUS(tristar_import_superlu(ts, from, &f), status);
  CHECK(f == NULL);
  CHECK_ERROR(ts, cause);
}

static void check_bad_arguments(tristar_t *ts, const tristar_superlu *good) {
  tristar_superlu from;
  SuperMatrix other;
  tristar_factor_t *f;
  CHECK_STATUS(tristar_import_superlu(NULL, good, &f), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_import_superlu(ts, good, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_reimport_superlu(NULL, good), TRISTAR_ERR_ARGUMENT);
  check_refused(ts, NULL, TRISTAR_ERR_ARGUMENT, "from is NULL");
  from = *good, from.L = NULL;
  check_refused(ts, &from, TRISTAR_ERR_ARGUMENT, "L is NULL");
  from = *good, from.U = NULL;
  check_refused(ts, &from, TRISTAR_ERR_ARGUMENT, "U is NULL");
  from = *good, from.perm_c = NULL;
  check_refused(ts, &from, TRISTAR_ERR_ARGUMENT, "perm_c is NULL");
  from = *good, from.R = NULL;
  check_refused(ts, &from, TRISTAR_ERR_ARGUMENT, "R is NULL");
  from = *good, from.equed = 'X';
  check_refused(ts, &from, TRISTAR_ERR_ARGUMENT, "'X'");
  from = *good, from.L = &other, other = *good->L, other.Stype = SLU_SCP;
  check_refused(ts, &from, TRISTAR_ERR_UNSUPPORTED, "SLU_SC");
  other = *good->L, other.ncol = N - 1;
  check_refused(ts, &from, TRISTAR_ERR_ARGUMENT, "L is 300 x 299");
  other = *good->L, other.Dtype = SLU_TYPE == SLU_D ? SLU_S : SLU_D;
  check_refused(ts, &from, TRISTAR_ERR_ARGUMENT, "types");
}

/* The import must fail after *place = value. Restores the old value. */
static void check_broken(tristar_t *ts, const tristar_superlu *from, int *place, int value,
                         const char *cause) {
  const int old = *place;
  *place = value;
  check_refused(ts, from, TRISTAR_ERR_FORMAT, cause);
  *place = old;
}

static void check_bad_arrays(tristar_t *ts, system_t *s) {
  SCformat *l = s->L.Store;
  NCformat *u = s->U.Store;
  const int last = l->sup_to_col[l->nsuper], height = l->rowind_colptr[N] - l->rowind_colptr[last];
  tsi_scalar *corner = (tsi_scalar *)l->nzval + l->nzval_colptr[last], old = *corner;
  CHECK(height == N - last);
  check_broken(ts, &s->factors, &s->perm_r[4], N, "perm_r[4] = 300");
  check_broken(ts, &s->factors, &s->perm_c[4], s->perm_c[5], "perm_c is no permutation");
  check_broken(ts, &s->factors, &l->nsuper, N, "L has 301 supernodes");
  check_broken(ts, &s->factors, &l->sup_to_col[1], 0, "supernode 1 of L begins");
  check_broken(ts, &s->factors, &l->sup_to_col[l->nsuper + 1], N - 1, "L");
  check_broken(ts, &s->factors, &l->rowind[0], N, "");
  check_broken(ts, &s->factors, &u->colptr[N], 0, "column 299 of U");
  if (u->colptr[N] > 0) check_broken(ts, &s->factors, &u->rowind[0], N, "");
  *corner = 0;
  check_refused(ts, &s->factors, TRISTAR_ERR_SINGULAR, "");
  *corner = (tsi_scalar)NAN;
  check_refused(ts, &s->factors, TRISTAR_ERR_NOT_FINITE, "");
  *corner = old;
}

static tristar_status import(tristar_t *ts, const void *from, tristar_factor_t **out) {
  return tristar_import_superlu(ts, from, out);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static system_t s;
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, true);
  RUN(check_kind(ts, SLU_NC, false, true));
  RUN(check_kind(ts, SLU_NC, false, false));
  RUN(check_kind(ts, SLU_NR, false, true));
  RUN(check_kind(ts, SLU_NC, true, true));
  RUN(check_refined(ts));
  RUN(check_stale(ts));
  create(&s, SLU_NC, false, true);
  RUN(check_bad_arguments(ts, &s.factors));
  RUN(check_bad_arrays(ts, &s));
  CHECK(fail_each_allocation(import, &s.factors) >= 10);
  destroy(&s);
  return 0;
}
