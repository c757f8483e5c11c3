/* MatSolverType "tristar": complete factors of AIJ, BAIJ and SBAIJ matrices, on one rank or many.
 *
 * The factor of a matrix on one rank is a tristar_factor_t with a plan; on several ranks a
 * tristar_distributed_t. The analysis needs values, so the symbolic factorization only reads the options. New
 * values with the same pattern are refactored. If the first analysis does not fit new values, as if a
 * symmetric matrix has become unsymmetric, they are analyzed again. */
#include <petsc/private/matimpl.h>

#include "plugin.h"
#include "tristar_stats.h"

/* The data of a factored matrix. */
typedef struct solver {
  tristar_t *ts;
  tristar_factor_t *factor; /* On one rank. */
  tristar_plan_t *plan;
  tristar_distributed_t *distributed; /* On several ranks. */
  tsi_petsc_rows rows;                /* On one rank: the pattern of the factor. */
  tristar_analysis_options analysis;
  tristar_refinement refine;
  PetscInt solves, workers;
  PetscInt layout[3]; /* px, py, pz; px = 0: TriStar chooses. */
  PetscMPIInt ranks;
} solver;

/* ---- Options ----------------------------------------------------------------------------------------- */

/* A list of words ends with the name of the C type and the prefix, as PETSc expects it. */
static const char *const methods[] = {"auto", "llt", "lu", "ldlt", "tristar_method", "TRISTAR_METHOD_", NULL};
static const char *const matchings[] = {"auto", "off", "on", "tristar_matching", "TRISTAR_MATCHING_", NULL};
static const char *const orderings[] = {"auto",
                                        "metis",
                                        "natural",
                                        "amd",
                                        "dissection",
                                        "scotch",
                                        "ptscotch",
                                        "tristar_ordering",
                                        "TRISTAR_ORDERING_",
                                        NULL};
static const tristar_ordering ordering_of[] = {
    TRISTAR_ORDERING_AUTO,       TRISTAR_ORDERING_METIS,  TRISTAR_ORDERING_NATURAL, TRISTAR_ORDERING_AMD,
    TRISTAR_ORDERING_DISSECTION, TRISTAR_ORDERING_SCOTCH, TRISTAR_ORDERING_PTSCOTCH};

/* Reads the options of the analysis, which are the same on all ranks. */
static PetscErrorCode read_analysis(PetscOptionItems *PetscOptionsObject, solver *s) {
  PetscEnum method = (PetscEnum)s->analysis.method, ordering = (PetscEnum)0;
  PetscEnum matching = (PetscEnum)s->analysis.matching;
  PetscBool perturb = PETSC_FALSE, single = PETSC_FALSE;
  PetscInt seed = 1;
  PetscFunctionBegin;
  PetscCall(PetscOptionsEnum("-mat_tristar_method", "Factorization", "MatGetFactor", methods, method, &method,
                             NULL));
  PetscCall(PetscOptionsEnum("-mat_tristar_ordering", "Order of elimination", "MatGetFactor", orderings,
                             ordering, &ordering, NULL));
  PetscCall(PetscOptionsEnum("-mat_tristar_matching", "Permute large entries to the diagonal", "MatGetFactor",
                             matchings, matching, &matching, NULL));
  PetscCall(PetscOptionsBool("-mat_tristar_perturb", "Factor singular matrices with perturbed pivots",
                             "MatGetFactor", perturb, &perturb, NULL));
  PetscCall(PetscOptionsBool("-mat_tristar_single", "Factors in single precision", "MatGetFactor", single,
                             &single, NULL));
  PetscCall(PetscOptionsInt("-mat_tristar_seed", "Seed of the ordering", "MatGetFactor", seed, &seed, NULL));
  s->analysis.method = (tristar_method)method;
  s->analysis.ordering = ordering_of[ordering];
  s->analysis.matching = (tristar_matching)matching;
  s->analysis.singular = perturb ? TRISTAR_SINGULAR_PERTURB : TRISTAR_SINGULAR_REFUSE;
  s->analysis.single_factors = single == PETSC_TRUE;
  s->analysis.seed = (int)seed;
  PetscFunctionReturn(0);
}

static PetscErrorCode read_options(Mat F) {
  solver *s = F->data;
  PetscBool refine = PETSC_TRUE;
  PetscInt three = 3;
  PetscFunctionBegin;
  tristar_analysis_options_init(&s->analysis);
  if (F->factortype == MAT_FACTOR_CHOLESKY && F->spd == PETSC_BOOL3_TRUE)
    s->analysis.method = TRISTAR_METHOD_LLT;
  PetscOptionsBegin(PetscObjectComm((PetscObject)F), ((PetscObject)F)->prefix, "TriStar Options", "Mat");
  PetscCall(read_analysis(PetscOptionsObject, s));
  PetscCall(PetscOptionsBool("-mat_tristar_refine", "Refine solutions if pivots were perturbed", "MatSolve",
                             refine, &refine, NULL));
  PetscCall(PetscOptionsBoundedInt("-mat_tristar_solves", "Expected solves for each factorization",
                                   "MatGetFactor", s->solves, &s->solves, NULL, 0));
  PetscCall(PetscOptionsBoundedInt("-mat_tristar_workers",
                                   "Threads of a rank; 0: all cores of a program with one rank, else 1",
                                   "MatGetFactor", s->workers, &s->workers, NULL, 0));
  PetscCall(PetscOptionsIntArray("-mat_tristar_layout", "px,py,pz; without it TriStar chooses",
                                 "MatGetFactor", s->layout, &three, NULL));
  PetscOptionsEnd();
  s->refine = refine ? TRISTAR_REFINE_AUTO : TRISTAR_REFINE_NEVER;
  s->analysis.solves = s->solves;
  PetscFunctionReturn(0);
}

/* ---- Factorization ----------------------------------------------------------------------------------- */

static PetscErrorCode release(solver *s) {
  PetscFunctionBegin;
  tristar_plan_destroy(&s->plan);
  tristar_factor_destroy(&s->factor);
  tristar_distributed_destroy(&s->distributed);
  PetscCall(tsi_petsc_rows_free(&s->rows));
  PetscFunctionReturn(0);
}

/* A matrix whose values cannot be factored is no error of PETSc, unless the user chose so: KSP reports it. */
static PetscErrorCode report(Mat F, Mat A, tristar_status status) {
  const solver *s = F->data;
  char message[512] = "";
  PetscFunctionBegin;
  if (status != TRISTAR_ERR_SINGULAR && status != TRISTAR_ERR_NOT_POSITIVE_DEFINITE &&
      status != TRISTAR_ERR_NOT_FINITE && status != TRISTAR_ERR_MEMORY)
    PetscCall(tsi_petsc_error(s->ts, status, PETSC_FUNCTION_NAME));
  tristar_get_error(s->ts, message, sizeof message);
  PetscCall(PetscInfo(F, "TriStar: %s: %s\n", tristar_status_name(status), message));
  PetscCheck(!A->erroriffailure, PETSC_COMM_SELF,
             F->factortype == MAT_FACTOR_LU ? PETSC_ERR_MAT_LU_ZRPVT : PETSC_ERR_MAT_CH_ZRPVT, "%s: %s",
             tristar_status_name(status), message);
  F->factorerrortype = status == TRISTAR_ERR_MEMORY       ? MAT_FACTOR_OUTMEMORY
                       : status == TRISTAR_ERR_NOT_FINITE ? MAT_FACTOR_OTHER
                                                          : MAT_FACTOR_NUMERIC_ZEROPIVOT;
  PetscFunctionReturn(0);
}

/* Whether a failed refactorization calls for another analysis. */
static PetscBool needs_analysis(tristar_status status) {
  return (PetscBool)(status == TRISTAR_ERR_ARGUMENT || status == TRISTAR_ERR_STALE ||
                     status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
}

static tristar_status factor_here(solver *s, const tristar_view *view) {
  tristar_analysis_t *analysis = NULL;
  tristar_plan_options options;
  tristar_plan_options_init(&options);
  options.refine = s->refine;
  tristar_status status = tristar_analyze(s->ts, view, &s->analysis, &analysis);
  if (status == TRISTAR_OK) status = tristar_factor(analysis, view->values, &s->factor);
  if (status == TRISTAR_OK) status = tristar_plan(s->factor, &options, &s->plan);
  tristar_analysis_destroy(&analysis);
  return status;
}

static PetscErrorCode same_pattern(const tsi_petsc_rows *a, const tsi_petsc_rows *b, PetscBool *same) {
  const size_t n = (size_t)b->view.rows;
  PetscFunctionBegin;
  *same = PETSC_FALSE;
  if (a->ptr && a->view.symmetry == b->view.symmetry) PetscCall(PetscArraycmp(a->ptr, b->ptr, n + 1, same));
  if (*same) PetscCall(PetscArraycmp(a->index, b->index, (size_t)b->ptr[n], same));
  PetscFunctionReturn(0);
}

/* Takes over the arrays of rows. */
static PetscErrorCode numeric_here(solver *s, tsi_petsc_rows *rows, tristar_status *status) {
  PetscBool same;
  PetscFunctionBegin;
  PetscCall(same_pattern(&s->rows, rows, &same));
  *status = s->plan && same ? tristar_refactor(s->factor, rows->values) : TRISTAR_ERR_STALE;
  if (needs_analysis(*status)) {
    PetscCall(release(s));
    *status = factor_here(s, &rows->view);
  }
  PetscCall(tsi_petsc_rows_free(&s->rows));
  s->rows = *rows;
  PetscCall(PetscMemzero(rows, sizeof *rows));
  PetscFunctionReturn(0);
}

static tristar_status factor_on_ranks(solver *s, tristar_dmatrix_t *matrix) {
  tristar_distributed_options options;
  tristar_distributed_options_init(&options);
  for (s->analysis.leaf_parts = 1; 2 * s->analysis.leaf_parts <= s->ranks;) s->analysis.leaf_parts *= 2;
  options.layout.px = (int)s->layout[0];
  options.layout.py = (int)s->layout[1];
  options.layout.pz = (int)s->layout[2];
  options.refine = s->refine;
  options.solves = s->solves;
  return tristar_dmatrix_factor(matrix, &s->analysis, &options, &s->distributed);
}

static PetscErrorCode numeric_on_ranks(Mat A, solver *s, const tsi_petsc_rows *rows, tristar_status *status) {
  tristar_dmatrix_t *matrix = NULL;
  PetscFunctionBegin;
  *status = tristar_dmatrix_create(s->ts, PetscObjectComm((PetscObject)A), &rows->view, NULL, &matrix);
  if (*status == TRISTAR_OK) {
    *status = s->distributed ? tristar_dmatrix_refactor(matrix, s->distributed) : TRISTAR_ERR_STALE;
    if (needs_analysis(*status)) {
      PetscCall(release(s));
      *status = factor_on_ranks(s, matrix);
    }
  }
  tristar_dmatrix_destroy(&matrix);
  PetscFunctionReturn(0);
}

static PetscErrorCode numeric(Mat F, Mat A, const MatFactorInfo *info) {
  solver *s = F->data;
  tsi_petsc_rows rows;
  tristar_status status = TRISTAR_OK;
  tristar_symmetry symmetry = TRISTAR_GENERAL;
  PetscFunctionBegin;
  (void)info;
  if (!s->ts) PetscCall(tsi_petsc_context(PetscObjectComm((PetscObject)F), s->workers, &s->ts));
  PetscCall(tsi_petsc_find_symmetry(A, (PetscBool)(F->factortype == MAT_FACTOR_CHOLESKY), &symmetry));
  PetscCall(tsi_petsc_rows_copy(A, (PetscBool)(symmetry != TRISTAR_GENERAL), &rows));
  rows.view.symmetry = symmetry;
  F->factorerrortype = MAT_FACTOR_NOERROR;
  if (s->ranks == 1)
    PetscCall(numeric_here(s, &rows, &status));
  else
    PetscCall(numeric_on_ranks(A, s, &rows, &status));
  PetscCall(tsi_petsc_rows_free(&rows));
  if (status != TRISTAR_OK) PetscCall(report(F, A, status));
  F->assembled = PETSC_TRUE;
  PetscFunctionReturn(0);
}

/* ---- Solves ------------------------------------------------------------------------------------------ */

static PetscErrorCode solve_columns(Mat F, tristar_op op, PetscInt nrhs, const PetscScalar *b, PetscInt ldb,
                                    PetscScalar *x, PetscInt ldx) {
  const solver *s = F->data;
  PetscFunctionBegin;
  if (s->ranks == 1)
    TsiCall(s->ts, tristar_solve(s->plan, op, nrhs, b, ldb, x, ldx));
  else
    TsiCall(s->ts, tristar_distributed_solve(s->distributed, op, nrhs, b, ldb, x, ldx));
  PetscFunctionReturn(0);
}

static PetscErrorCode solve_vector(Mat F, tristar_op op, Vec b, Vec x) {
  const PetscScalar *from;
  PetscScalar *to;
  PetscFunctionBegin;
  const PetscInt ld = PetscMax(F->rmap->n, 1);
  PetscCall(VecGetArrayRead(b, &from));
  PetscCall(VecGetArrayWrite(x, &to));
  PetscCall(solve_columns(F, op, 1, from, ld, to, ld));
  PetscCall(VecRestoreArrayWrite(x, &to));
  PetscCall(VecRestoreArrayRead(b, &from));
  PetscFunctionReturn(0);
}

static PetscErrorCode solve(Mat F, Vec b, Vec x) {
  return solve_vector(F, TRISTAR_N, b, x);
}
static PetscErrorCode solve_transpose(Mat F, Vec b, Vec x) {
  return solve_vector(F, TRISTAR_T, b, x);
}

static PetscErrorCode solve_dense(Mat F, tristar_op op, Mat B, Mat X) {
  const PetscScalar *from;
  PetscScalar *to;
  PetscInt ldb, ldx, nrhs;
  PetscBool b_dense, x_dense;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)B, &b_dense, MATSEQDENSE, MATMPIDENSE, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)X, &x_dense, MATSEQDENSE, MATMPIDENSE, ""));
  PetscCheck(b_dense && x_dense, PetscObjectComm((PetscObject)F), PETSC_ERR_SUP,
             "MatMatSolve by TriStar needs dense right-hand sides and solutions");
  PetscCall(MatGetSize(B, NULL, &nrhs));
  PetscCall(MatDenseGetLDA(B, &ldb));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetArrayRead(B, &from));
  PetscCall(MatDenseGetArrayWrite(X, &to));
  PetscCall(solve_columns(F, op, nrhs, from, PetscMax(ldb, 1), to, PetscMax(ldx, 1)));
  PetscCall(MatDenseRestoreArrayWrite(X, &to));
  PetscCall(MatDenseRestoreArrayRead(B, &from));
  PetscFunctionReturn(0);
}

static PetscErrorCode mat_solve(Mat F, Mat B, Mat X) {
  return solve_dense(F, TRISTAR_N, B, X);
}
static PetscErrorCode mat_solve_transpose(Mat F, Mat B, Mat X) {
  return solve_dense(F, TRISTAR_T, B, X);
}

/* ---- Figures ----------------------------------------------------------------------------------------- */

static PetscErrorCode get_stats(Mat F, tristar_factor_stats *factor, tristar_analysis_stats *analysis,
                                PetscBool *known) {
  const solver *s = F->data;
  PetscMPIInt rank;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)F), &rank));
  *known = (PetscBool)(s->distributed && rank == 0);
  if (*known) TsiCall(s->ts, tristar_distributed_get_factor_stats(s->distributed, factor, analysis));
  if (s->factor) {
    TsiCall(s->ts, tristar_factor_get_stats(s->factor, factor));
    TsiCall(s->ts, tristar_analysis_get_stats(tristar_factor_get_analysis(s->factor), analysis));
    *known = PETSC_TRUE;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode view(Mat F, PetscViewer viewer) {
  tristar_factor_stats factor;
  tristar_analysis_stats analysis;
  PetscBool ascii, known;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(get_stats(F, &factor, &analysis, &known));
  if (!ascii || !known) PetscFunctionReturn(0);
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "TriStar %s: %s, %" PRId64 " supernodes, %" PRId64
                                   " entries in the factors, %" PRId64 " perturbed pivots\n",
                                   tristar_version(), methods[analysis.method], analysis.supernodes,
                                   factor.nnz_factor, factor.perturbed_pivots));
  PetscFunctionReturn(0);
}

static PetscErrorCode get_info(Mat F, MatInfoType type, MatInfo *info) {
  tristar_factor_stats factor;
  tristar_analysis_stats analysis;
  PetscBool known;
  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof *info));
  PetscCall(get_stats(F, &factor, &analysis, &known));
  if (known) {
    info->block_size = 1;
    info->nz_allocated = (PetscLogDouble)factor.stored_factor;
    info->nz_used = (PetscLogDouble)factor.nnz_factor;
    info->memory = (PetscLogDouble)factor.factor_bytes;
    info->fill_ratio_needed = (PetscLogDouble)factor.nnz_factor / (PetscLogDouble)PetscMax(analysis.nnz, 1);
  }
  if (type != MAT_LOCAL) /* of all ranks: rank 0 has the sums */
    PetscCallMPI(MPI_Bcast(info, (PetscMPIInt)sizeof *info, MPI_BYTE, 0, PetscObjectComm((PetscObject)F)));
  PetscFunctionReturn(0);
}

static PetscErrorCode get_inertia(Mat F, PetscInt *negative, PetscInt *zero, PetscInt *positive) {
  const solver *s = F->data;
  tristar_inertia inertia;
  PetscFunctionBegin;
  PetscCheck(s->factor, PetscObjectComm((PetscObject)F), PETSC_ERR_SUP,
             "TriStar has the inertia of a matrix on one rank only");
  TsiCall(s->ts, tristar_factor_get_inertia(s->factor, &inertia));
  if (negative) *negative = (PetscInt)inertia.negative;
  if (zero) *zero = (PetscInt)inertia.zero;
  if (positive) *positive = (PetscInt)inertia.positive;
  PetscFunctionReturn(0);
}

/* ---- Life -------------------------------------------------------------------------------------------- */

static PetscErrorCode symbolic(Mat F) {
  PetscFunctionBegin;
  PetscCall(read_options(F));
  F->ops->lufactornumeric = numeric;
  F->ops->choleskyfactornumeric = numeric;
  F->ops->solve = solve;
  F->ops->solvetranspose = solve_transpose;
  F->ops->matsolve = mat_solve;
  F->ops->matsolvetranspose = mat_solve_transpose;
  F->ops->getinertia = get_inertia;
  PetscFunctionReturn(0);
}
static PetscErrorCode symbolic_lu(Mat F, Mat A, IS row, IS column, const MatFactorInfo *info) {
  (void)A, (void)row, (void)column, (void)info;
  return symbolic(F);
}
static PetscErrorCode symbolic_cholesky(Mat F, Mat A, IS row, const MatFactorInfo *info) {
  PetscFunctionBegin;
  (void)row, (void)info;
  F->spd = A->spd;
  PetscCall(symbolic(F));
  PetscFunctionReturn(0);
}

static PetscErrorCode get_solver_type(Mat F, MatSolverType *type) {
  (void)F;
  *type = "tristar";
  return 0;
}

static PetscErrorCode destroy(Mat F) {
  solver *s = F->data;
  PetscFunctionBegin;
  PetscCall(release(s));
  tristar_destroy(&s->ts);
  PetscCall(PetscFree(F->data));
  PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatFactorGetSolverType_C", NULL));
  PetscFunctionReturn(0);
}

static PetscErrorCode get_factor(Mat A, MatFactorType type, Mat *out) {
  solver *s;
  Mat F;
  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &F));
  PetscCall(MatSetSizes(F, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(PetscStrallocpy("tristar", &((PetscObject)F)->type_name));
  PetscCall(MatSetUp(F));
  PetscCall(PetscNew(&s));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &s->ranks));
  F->data = s;
  F->factortype = type;
  F->trivialsymbolic = PETSC_TRUE;
  F->ops->lufactorsymbolic = symbolic_lu;
  F->ops->choleskyfactorsymbolic = symbolic_cholesky;
  F->ops->view = view;
  F->ops->getinfo = get_info;
  F->ops->destroy = destroy;
  PetscCall(PetscFree(F->solvertype));
  PetscCall(PetscStrallocpy("tristar", &F->solvertype));
  PetscCall(PetscStrallocpy(MATORDERINGEXTERNAL, (char **)&F->preferredordering[type]));
  PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatFactorGetSolverType_C", get_solver_type));
  *out = F;
  PetscFunctionReturn(0);
}

PetscErrorCode tsi_petsc_register_solver(void) {
  static const MatType types[] = {MATSEQAIJ, MATMPIAIJ, MATSEQBAIJ, MATMPIBAIJ, MATSEQSBAIJ, MATMPISBAIJ};
  PetscFunctionBegin;
  for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
    PetscCall(MatSolverTypeRegister("tristar", types[k], MAT_FACTOR_LU, get_factor));
    PetscCall(MatSolverTypeRegister("tristar", types[k], MAT_FACTOR_CHOLESKY, get_factor));
  }
  PetscFunctionReturn(0);
}
