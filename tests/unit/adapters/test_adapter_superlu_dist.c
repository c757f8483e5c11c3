/* Factors of SuperLU_DIST on one process, imported: the solutions are those of SuperLU_DIST itself to
 * roundoff, for 1 and 3 right-hand sides, with row and column permutations, with and without equilibration,
 * after new values; A^T and A^H, which SuperLU_DIST does not solve, by their backward errors; bad input and
 * failing allocations give an error and leave nothing behind. Compiled for each of its scalar types. */
#include "tristar_superlu_dist.h"

#include "runtime/adapters/superlu_dist_factors.h"
#include "tests/support/context.h"
#include "tests/support/factors_product.h"
#include "tests/support/failing_import.h"
#include "tests/support/subtests.h"
#include "tests/support/unsymmetric.h"

#if defined TSI_SCALAR_S
#define SLU(name) s##name
#define PSLU(name) ps##name
#define SLU_TYPE SLU_S
#define IMPORT tristar_import_superlu_dist_s
#define REIMPORT tristar_reimport_superlu_dist_s
typedef float slu_scalar;
#elif defined TSI_SCALAR_D
#define SLU(name) d##name
#define PSLU(name) pd##name
#define SLU_TYPE SLU_D
#define IMPORT tristar_import_superlu_dist_d
#define REIMPORT tristar_reimport_superlu_dist_d
typedef double slu_scalar;
#else
#define SLU(name) z##name
#define PSLU(name) pz##name
#define SLU_TYPE SLU_Z
#define IMPORT tristar_import_superlu_dist_z
#define REIMPORT tristar_reimport_superlu_dist_z
typedef doublecomplex slu_scalar;
#endif

#define gssvx PSLU(gssvx)
#define create_rows SLU(Create_CompRowLoc_Matrix_dist)

#define N 300
#define RHS 3

/* A matrix and its factors by SuperLU_DIST. */
typedef struct system {
  unsymmetric matrix;
  superlu_dist_options_t options;
  gridinfo_t grid;
  SuperMatrix A;
  int_t *ptr, *index; /* of A; gssvx permutes the columns ... */
  slu_scalar *value;  /* ... and scales the values */
  SLU(ScalePermstruct_t) scale_perm;
  SLU(LUstruct_t) lu;
  SLU(SOLVEstruct_t) solve;
  SuperLUStat_t stat;
  tsi_scalar x[RHS * N]; /* right-hand sides, then solutions */
} system_t;

/* Calls the expert driver with options.Fact. Overwrites x with the solutions. */
static void drive(system_t *s, int nrhs) {
  tsi_real berr[RHS];
  int info;
  gssvx(&s->options, &s->A, &s->scale_perm, (slu_scalar *)s->x, N, nrhs, &s->grid, &s->lu, &s->solve, berr,
        &s->stat, &info);
  CHECK_MSG(info == 0, "info %d", info);
}

static void factor(system_t *s, fact_t fact) {
  s->options.Fact = fact;
  for (int i = 0; i <= N; i++) s->ptr[i] = s->matrix.ptr[i];
  for (int p = 0; p < PER_LINE * N; p++) s->index[p] = s->matrix.index[p];
  memcpy(s->value, s->matrix.value, PER_LINE * N * sizeof *s->value);
  random_vectors(s->x, N, 1);
  drive(s, 1);
  s->options.Fact = FACTORED;
}

static void create(system_t *s, bool equilibrate, colperm_t ordering) {
  unsymmetric_create(TRISTAR_CSR, N, 3, equilibrate ? 3 : 0, 5, &s->matrix);
  s->ptr = intMalloc_dist(N + 1);
  s->index = intMalloc_dist(PER_LINE * N);
  s->value = superlu_malloc_dist(PER_LINE * N * sizeof *s->value);
  superlu_gridinit(MPI_COMM_WORLD, 1, 1, &s->grid);
  create_rows(&s->A, N, N, PER_LINE * N, N, 0, s->value, s->index, s->ptr, SLU_NR_loc, SLU_TYPE, SLU_GE);
  SLU(ScalePermstructInit)(N, N, &s->scale_perm);
  SLU(LUstructInit)(N, &s->lu);
  PStatInit(&s->stat);
  set_default_options_dist(&s->options);
  s->options.PrintStat = NO;
  s->options.IterRefine = NOREFINE;
  s->options.Equil = equilibrate ? YES : NO;
  s->options.ColPerm = ordering;
  s->options.RowPerm = MY_PERMR; /* moves the large entries to the diagonal */
  for (int i = 0; i < N; i++) s->scale_perm.perm_r[i] = far_entry(N, i);
  factor(s, DOFACT);
  CHECK_MSG(s->scale_perm.DiagScale == (equilibrate ? BOTH : NOEQUIL), "%d", (int)s->scale_perm.DiagScale);
}

static void destroy(system_t *s) {
  Destroy_CompRowLoc_Matrix_dist(&s->A);
  SLU(ScalePermstructFree)(&s->scale_perm);
  SLU(Destroy_LU)(N, &s->grid, &s->lu);
  SLU(LUstructFree)(&s->lu);
  SLU(SolveFinalize)(&s->options, &s->solve);
  PStatFree(&s->stat);
  superlu_gridexit(&s->grid);
  unsymmetric_destroy(&s->matrix);
}

static tristar_status import(tristar_t *ts, const void *from, tristar_factor_t **f) {
  const system_t *s = from;
  return IMPORT(ts, N, &s->lu, &s->scale_perm, &s->grid, NULL, f);
}

/* Checks the adapter's view by multiplying the factors. */
static void check_view(tristar_t *ts, const system_t *s) {
  tsi_superlu_dist_parts parts = {
      .n = N,
      .scalar = TRISTAR_SCALAR,
      .bytes = sizeof(slu_scalar),
      .xsup = s->lu.Glu_persist->xsup,
      .supno = s->lu.Glu_persist->supno,
      .lower_index = s->lu.Llu->Lrowind_bc_ptr,
      .lower_values = s->lu.Llu->Lnzval_bc_ptr,
      .upper_index = s->lu.Llu->Ufstnz_br_ptr,
      .upper_values = s->lu.Llu->Unzval_br_ptr,
      .scaled = s->scale_perm.DiagScale,
      .R = s->scale_perm.R,
      .C = s->scale_perm.C,
      .perm_r = s->scale_perm.perm_r,
      .perm_c = s->scale_perm.perm_c,
  };
  CLEANUP(tsi_superlu_dist_release) tsi_superlu_dist work = {0};
  tristar_factors factors;
  int moved = 0;
  CHECK_OK(tsi_superlu_dist_factors(ts, &parts, &work, &factors));
  CHECK(factors.lower.supernodes < N);
  for (int k = 0; k < N; k++) moved += factors.row_order[k] != factors.column_order[k];
  CHECK_MSG(moved > N / 2, "only %d pivots off the diagonal", moved);
  check_factors_product(&factors, &s->matrix.view);
}

/* Compares the plan's solves with those of SuperLU_DIST; where it has none, checks the backward error. */
static void check_solves(tristar_plan_t *plan, system_t *s) {
  static tsi_scalar b[RHS * N], y[RHS * N];
  for (int nrhs = 1; nrhs <= RHS; nrhs += RHS - 1) {
    random_vectors(b, nrhs * N, (uint64_t)nrhs);
    memcpy(s->x, b, sizeof b);
    SLU(SolveFinalize)
    (&s->options, &s->solve); /* SuperLU_DIST set it up for another number of right-hand sides */
    s->options.SolveInitialized = NO;
    drive(s, nrhs);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, nrhs, b, N, y, N));
    check_same_solutions(&s->matrix, TRISTAR_N, nrhs, s->x, y);
    CHECK_OK(tristar_solve(plan, TRISTAR_T, nrhs, b, N, y, N));
    check_residuals(&s->matrix, TRISTAR_T, nrhs, b, y);
    CHECK_OK(tristar_solve(plan, TRISTAR_C, nrhs, b, N, y, N));
    check_residuals(&s->matrix, TRISTAR_C, nrhs, b, y);
  }
}

static void check_kind(tristar_t *ts, bool equilibrate, colperm_t ordering) {
  static system_t s;
  tristar_factor_t *f;
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  create(&s, equilibrate, ordering);
  check_view(ts, &s);
  CHECK_OK(import(ts, &s, &f));
  options.nrhs = RHS;
  options.engine = equilibrate ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_SERIAL;
  options.chunk_bytes_max = 20000;
  tristar_plan_t *plan = NEW_PLAN(f, &options);
  check_solves(plan, &s);
  for (int p = 0; p < PER_LINE * N; p++) s.matrix.value[p] *= (tsi_real)(3 + 1e-1 * (p % 5));
  factor(&s, SamePattern_SameRowPerm);
  check_view(ts, &s);
  CHECK_OK(REIMPORT(f, N, &s.lu, &s.scale_perm, &s.grid, NULL));
  check_solves(plan, &s);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&f);
  destroy(&s);
}

/* With the matrix, refinement reaches a small backward error. */
static void check_refined(tristar_t *ts, system_t *s) {
  static tsi_scalar b[N], x[N];
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  tristar_refine_result result;
  CHECK_OK(IMPORT(ts, N, &s->lu, &s->scale_perm, &s->grid, &s->matrix.view, &f));
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, NULL);
  random_vectors(b, N, 9);
  CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 1, b, N, x, N, NULL, &result));
  CHECK_MSG(result.backward_error < 10 * ROUNDOFF, "%g", result.backward_error);
}

/* The import must fail with this status, and the message must contain `cause`. */
static void check_refused(tristar_t *ts, const system_t *s, tristar_status status, const char *cause) {
  char message[512] = "";
  tristar_factor_t *f = (tristar_factor_t *)&message;
  CHECK_STATUS(import(ts, s, &f), status);
  CHECK(f == NULL);
  CHECK_ERROR(ts, cause);
}

static void check_bad_arguments(tristar_t *ts, system_t *s) {
  tristar_factor_t *f;
  CHECK_STATUS(import(NULL, s, &f), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(import(ts, s, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(IMPORT(ts, N, NULL, &s->scale_perm, &s->grid, NULL, &f), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(IMPORT(ts, N, &s->lu, NULL, &s->grid, NULL, &f), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(IMPORT(ts, N, &s->lu, &s->scale_perm, NULL, NULL, &f), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(IMPORT(ts, N - 1, &s->lu, &s->scale_perm, &s->grid, NULL, &f), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(IMPORT(ts, 0, &s->lu, &s->scale_perm, &s->grid, NULL, &f), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(REIMPORT(NULL, N, &s->lu, &s->scale_perm, &s->grid, NULL), TRISTAR_ERR_ARGUMENT);
  s->grid.npcol = 2;
  check_refused(ts, s, TRISTAR_ERR_ARGUMENT, "the grid has 1 x 2 processes, its communicator 1");
  s->grid.npcol = 1;
  const DiagScale_t scaled = s->scale_perm.DiagScale;
  s->scale_perm.DiagScale = (DiagScale_t)7;
  check_refused(ts, s, TRISTAR_ERR_ARGUMENT, "DiagScale is 7");
  s->scale_perm.DiagScale = scaled;
  void *const r = s->scale_perm.R;
  s->scale_perm.R = NULL;
  check_refused(ts, s, TRISTAR_ERR_ARGUMENT, "R is NULL");
  s->scale_perm.R = r;
}

/* The import must fail after *place = value. Restores the old value. */
static void check_broken(tristar_t *ts, const system_t *s, int_t *place, int_t value, const char *cause) {
  const int_t old = *place;
  *place = value;
  check_refused(ts, s, TRISTAR_ERR_FORMAT, cause);
  *place = old;
}

static void check_bad_arrays(tristar_t *ts, system_t *s) {
  int_t *const *upper = s->lu.Llu->Ufstnz_br_ptr;
  int k = 0;
  while (upper[k] == NULL) k++;
  check_broken(ts, s, &s->scale_perm.perm_r[4], N, "perm_r[4] = 300");
  check_broken(ts, s, &s->scale_perm.perm_c[4], s->scale_perm.perm_c[5], "perm_c is no permutation");
  check_broken(ts, s, &s->lu.Glu_persist->xsup[1], 0, "supernode 0 holds columns 0 to -1");
  check_broken(ts, s, &s->lu.Llu->Lrowind_bc_ptr[0][1], 0, "supernode 0 of L has");
  check_broken(ts, s, &s->lu.Llu->Lrowind_bc_ptr[0][0], 0, "blocks of supernode 0 of L");
  check_broken(ts, s, &s->lu.Llu->Lrowind_bc_ptr[0][BC_HEADER + LB_DESCRIPTOR], N, "");
  check_broken(ts, s, &upper[k][BR_HEADER], k, "block 0 of the rows of supernode");
  check_broken(ts, s, &upper[k][2], 4, "block 0 of the rows of supernode");
  check_broken(ts, s, &upper[k][BR_HEADER + UB_DESCRIPTOR], N, "begin at 300 in column");
  tsi_scalar *corner = (tsi_scalar *)s->lu.Llu->Lnzval_bc_ptr[0], old = *corner;
  *corner = 0;
  check_refused(ts, s, TRISTAR_ERR_SINGULAR, "");
  *corner = (tsi_scalar)NAN;
  check_refused(ts, s, TRISTAR_ERR_NOT_FINITE, "");
  *corner = old;
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static system_t s;
  MPI_Init(&argc, &argv);
  tristar_t *ts = open_with_starpu(0, true);
  RUN(check_kind(ts, true, MMD_AT_PLUS_A));
  RUN(check_kind(ts, false, MMD_AT_PLUS_A));
  RUN(check_kind(ts, false, NATURAL));
  create(&s, true, MMD_AT_PLUS_A);
  RUN(check_refined(ts, &s));
  RUN(check_bad_arguments(ts, &s));
  RUN(check_bad_arrays(ts, &s));
  CHECK(fail_each_allocation(import, &s) >= 10);
  destroy(&s);
  close_context(&ts);
  MPI_Finalize();
  return 0;
}
