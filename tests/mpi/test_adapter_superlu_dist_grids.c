/* Imports factors of SuperLU_DIST from grids of several processes on process 0 of the grid. For all shapes of
 * the grid (in double also layers of a 3D grid) the solutions equal those of SuperLU_DIST to roundoff, also
 * after new values. Bad input on one process and failing allocations give all processes the same error; none
 * hangs. Compiled for double and double complex. */
#include "tristar_superlu_dist.h"

#include "tests/support/context.h"
#include "tests/support/failing_import.h"
#include "tests/support/subtests.h"
#include "tests/support/unsymmetric.h"

#if defined TSI_SCALAR_D
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

/* A matrix, stored whole on each process, and its factors on a grid. This process has rows first .. end -
 * 1. */
typedef struct system {
  unsymmetric matrix;
  superlu_dist_options_t options;
  gridinfo_t *grid;
  gridinfo_t flat;
  gridinfo3d_t deep;
  int depth, first, end;
  bool equilibrate;
  SLU(ScalePermstruct_t) scale_perm;
  SLU(LUstruct_t) lu;
  SLU(SOLVEstruct_t) solve;
  SuperLUStat_t stat;
  tsi_scalar x[N]; /* Solution; the whole vector on process 0. */
} system_t;

/* Factors the present values and solves. */
static void factor(system_t *s, fact_t fact) {
  const int rows = s->end - s->first, from = s->matrix.ptr[s->first], entries = s->matrix.ptr[s->end] - from;
  int_t *ptr = intMalloc_dist(rows + 1), *index = intMalloc_dist(entries + 1);
  slu_scalar *value = superlu_malloc_dist(((size_t)entries + 1) * sizeof *value);
  int counts[64], starts[64], size, info;
  tsi_scalar b[N];
  tsi_real berr;
  SuperMatrix A;
  s->options.Fact = fact;
  for (int i = 0; i <= rows; i++) ptr[i] = s->matrix.ptr[s->first + i] - from;
  for (int p = 0; p < entries; p++) index[p] = s->matrix.index[from + p];
  memcpy(value, s->matrix.value + from, (size_t)entries * sizeof *value);
  create_rows(&A, N, N, entries, rows, s->first, value, index, ptr, SLU_NR_loc, SLU_TYPE, SLU_GE);
  random_vectors(b, N, 1);
  memcpy(s->x, b + s->first, (size_t)rows * sizeof *b);
  if (fact != DOFACT) SLU(SolveFinalize)(&s->options, &s->solve);
  s->options.SolveInitialized = NO;
#if defined TSI_SCALAR_D
  if (s->depth > 1)
    pdgssvx3d(&s->options, &A, &s->scale_perm, s->x, rows, 1, &s->deep, &s->lu, &s->solve, &berr, &s->stat,
              &info);
  else
#endif
    gssvx(&s->options, &A, &s->scale_perm, (slu_scalar *)s->x, rows, 1, s->grid, &s->lu, &s->solve, &berr,
          &s->stat, &info);
  CHECK_MSG(info == 0, "info %d", info);
  Destroy_CompRowLoc_Matrix_dist(&A);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int own[2] = {rows * (int)sizeof *b, s->first * (int)sizeof *b};
  MPI_Gather(&own[0], 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gather(&own[1], 1, MPI_INT, starts, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gatherv(s->x, own[0], MPI_BYTE, b, counts, starts, MPI_BYTE, 0, MPI_COMM_WORLD);
  memcpy(s->x, b, sizeof b);
}

static void create(system_t *s, int rows, int columns, int depth, bool equilibrate) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == rows * columns * depth && size <= 64);
  *s = (system_t){.depth = depth,
                  .first = (int)((int64_t)N * rank / size),
                  .end = (int)((int64_t)N * (rank + 1) / size),
                  .equilibrate = equilibrate};
  unsymmetric_create(TRISTAR_CSR, N, 3, equilibrate ? 3 : 0, 5, &s->matrix);
  if (depth > 1)
    superlu_gridinit3d(MPI_COMM_WORLD, rows, columns, depth, &s->deep);
  else
    superlu_gridinit(MPI_COMM_WORLD, rows, columns, &s->flat);
  s->grid = depth > 1 ? &s->deep.grid2d : &s->flat;
  SLU(ScalePermstructInit)(N, N, &s->scale_perm);
  SLU(LUstructInit)(N, &s->lu);
  PStatInit(&s->stat);
  set_default_options_dist(&s->options);
  s->options.PrintStat = NO;
  s->options.IterRefine = NOREFINE;
  s->options.Equil = equilibrate ? YES : NO;
  s->options.ColPerm = MMD_AT_PLUS_A;
  if (depth > 1) s->options.Algo3d = YES;
  s->options.RowPerm = MY_PERMR; /* Brings the large entries to the diagonal. */
  for (int i = 0; i < N; i++) s->scale_perm.perm_r[i] = far_entry(N, i);
  factor(s, DOFACT);
}

/* Returns whether this process has a piece of the imported factors. */
static bool in_layer(const system_t *s) {
  return s->depth == 1 || s->deep.zscp.Iam == 0;
}

static void destroy(system_t *s) {
  SLU(ScalePermstructFree)(&s->scale_perm);
  if (in_layer(s)) {
    SLU(Destroy_LU)(N, s->grid, &s->lu);
    SLU(SolveFinalize)(&s->options, &s->solve);
  }
#if defined TSI_SCALAR_D
  else {
    dDeAllocLlu_3d(N, &s->lu, &s->deep);
    dDeAllocGlu_3d(&s->lu);
  }
#endif
  SLU(LUstructFree)(&s->lu);
  PStatFree(&s->stat);
  if (s->depth > 1)
    superlu_gridexit3d(&s->deep);
  else
    superlu_gridexit(s->grid);
  unsymmetric_destroy(&s->matrix);
}

static tristar_status import(tristar_t *ts, const void *from, tristar_factor_t **f) {
  const system_t *s = from;
  return IMPORT(ts, N, &s->lu, &s->scale_perm, s->grid, NULL, f);
}

/* Process 0: compares solves with A, A^T and A^H with those of SuperLU_DIST. */
static void check_solves(tristar_factor_t *f, const system_t *s) {
  static tsi_scalar b[N], y[N];
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  if (f == NULL) return;
  options.chunk_bytes_max = 20000;
  tristar_plan_t *plan = NEW_PLAN(f, &options);
  random_vectors(b, N, 1);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, N, y, N));
  check_same_solutions(&s->matrix, TRISTAR_N, 1, s->x, y);
  CHECK_OK(tristar_solve(plan, TRISTAR_T, 1, b, N, y, N));
  check_residuals(&s->matrix, TRISTAR_T, 1, b, y);
  CHECK_OK(tristar_solve(plan, TRISTAR_C, 1, b, N, y, N));
  check_residuals(&s->matrix, TRISTAR_C, 1, b, y);
  tristar_plan_destroy(&plan);
}

static void check_grid(tristar_t *ts, int rows, int columns, int depth, bool equilibrate) {
  static system_t s;
  tristar_factor_t *f = NULL;
  create(&s, rows, columns, depth, equilibrate);
  if (s.grid->iam == 0 && in_layer(&s))
    fprintf(stderr, "%d x %d x %d%s\n", rows, columns, depth, equilibrate ? ", scaled" : "");
  if (in_layer(&s)) {
    CHECK_OK(import(ts, &s, &f));
    CHECK((f != NULL) == (s.grid->iam == 0));
    check_solves(f, &s);
  }
  for (int p = 0; p < PER_LINE * N; p++) s.matrix.value[p] *= (tsi_real)(3 + 1e-1 * (p % 5));
  if (depth == 1) {
    factor(&s, SamePattern_SameRowPerm);
    CHECK_OK(REIMPORT(f, N, &s.lu, &s.scale_perm, s.grid, NULL));
    check_solves(f, &s);
  }
  tristar_factor_destroy(&f);
  destroy(&s);
}

/* Process `who` has bad input: all processes get the error. */
static void check_bad(tristar_t *ts, int rows, int columns, int who) {
  static system_t s;
  tristar_factor_t *f;
  create(&s, rows, columns, 1, false);
  const bool me = s.grid->iam == who;
  CHECK_STATUS(IMPORT(ts, N, me ? NULL : &s.lu, &s.scale_perm, s.grid, NULL, &f), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(IMPORT(ts, N, &s.lu, me ? NULL : &s.scale_perm, s.grid, NULL, &f), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(IMPORT(ts, N, &s.lu, &s.scale_perm, s.grid, NULL, me ? NULL : &f), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(IMPORT(ts, me ? N - 1 : N, &s.lu, &s.scale_perm, s.grid, NULL, &f), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(REIMPORT(NULL, N, &s.lu, &s.scale_perm, s.grid, NULL), TRISTAR_ERR_ARGUMENT);
  int_t *const *lower = s.lu.Llu->Lrowind_bc_ptr, *corner = NULL;
  const int_t local = (s.lu.Glu_persist->supno[N - 1] + columns) / columns; /* a lower bound */
  for (int_t k = 0; me && k < local && corner == NULL; k++)
    if (lower[k] != NULL) corner = &lower[k][1];
  CHECK(!me || corner != NULL);
  const int_t old = corner ? *corner : 0;
  if (corner) *corner = -1;
  CHECK_STATUS(import(ts, &s, &f), TRISTAR_ERR_FORMAT);
  if (corner) *corner = old;
  if (me) s.scale_perm.perm_r[4] = N;
  CHECK_STATUS(import(ts, &s, &f), who == 0 ? TRISTAR_ERR_FORMAT : TRISTAR_OK); /* Process 0 reads its own. */
  tristar_factor_destroy(&f);
  if (me) s.scale_perm.perm_r[4] = far_entry(N, 4);
  if (s.grid->iam == 0)
    CHECK(fail_each_allocation(import, &s) >= 20);
  else
    fail_each_allocation(import, &s);
  destroy(&s);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  tristar_t *ts = open_without_starpu(true);
  for (int rows = 1; rows <= size; rows++)
    if (size % rows == 0)
      for (int equilibrate = 0; equilibrate < 2; equilibrate++)
        RUN(check_grid(ts, rows, size / rows, 1, equilibrate));
#if defined TSI_SCALAR_D
  check_grid(ts, 1, 1, size, false);
#endif
  check_bad(ts, size / 2, 2, 0);
  RUN(check_bad(ts, size / 2, 2, size - 1));
  close_context(&ts);
  MPI_Finalize();
  return 0;
}
