/* PCType "tristar": approximate inverses, incomplete factors, SSOR and Jacobi.
 *
 * On one rank M is a preconditioner of the whole matrix. On several ranks FSAI has couplings between ranks;
 * other kinds are additive Schwarz with one subdomain per rank, overlap 0 unless an option says otherwise. */
#include <petsc/private/pcimpl.h>

#include "plugin.h"

/* The data of a preconditioner. */
typedef struct inverse {
  tristar_t *ts;
  tristar_precond_t *precond;
  tristar_precond_options options;
  PetscInt levels, overlap, workers;
  PetscBool restricted;
  PetscMPIInt ranks;
} inverse;

/* A list of words ends with the name of the C type and the prefix, as PETSc expects it. */
static const char *const kinds[] = {
    "fsai", "ilu", "ilut", "ic", "ict", "ssor", "jacobi", "tristar_precond_kind", "TRISTAR_PRECOND_", NULL};
static const tristar_precond_kind kind_of[] = {
    TRISTAR_PRECOND_FSAI, TRISTAR_PRECOND_ILU,  TRISTAR_PRECOND_ILUT,  TRISTAR_PRECOND_IC,
    TRISTAR_PRECOND_ICT,  TRISTAR_PRECOND_SSOR, TRISTAR_PRECOND_JACOBI};

static PetscErrorCode read_numbers(PetscOptionItems *PetscOptionsObject, tristar_precond_options *o) {
  PetscInt level = o->level, fill = (PetscInt)o->fill, steps = (PetscInt)o->steps, power = o->power;
  PetscInt per_step = (PetscInt)o->per_step;
  PetscReal drop = (PetscReal)o->drop, omega = (PetscReal)o->omega, shift = (PetscReal)o->shift;
  PetscFunctionBegin;
  PetscCall(PetscOptionsInt("-pc_tristar_level", "ILU, IC: level of fill", "PCTRISTAR", level, &level, NULL));
  PetscCall(
      PetscOptionsReal("-pc_tristar_drop", "ILUT, ICT: drop tolerance", "PCTRISTAR", drop, &drop, NULL));
  PetscCall(PetscOptionsInt("-pc_tristar_fill", "ILUT, ICT: additional entries of a row", "PCTRISTAR", fill,
                            &fill, NULL));
  PetscCall(PetscOptionsReal("-pc_tristar_omega", "SSOR: relaxation", "PCTRISTAR", omega, &omega, NULL));
  PetscCall(PetscOptionsReal("-pc_tristar_shift", "The diagonal is multiplied by 1 + shift", "PCTRISTAR",
                             shift, &shift, NULL));
  PetscCall(PetscOptionsInt("-pc_tristar_steps", "FSAI: steps of a row", "PCTRISTAR", steps, &steps, NULL));
  PetscCall(PetscOptionsInt("-pc_tristar_per_step", "FSAI: columns of a step", "PCTRISTAR", per_step,
                            &per_step, NULL));
  PetscCall(PetscOptionsInt("-pc_tristar_power", "FSAI: first pattern as A^power", "PCTRISTAR", power, &power,
                            NULL));
  o->level = (int)level;
  o->drop = (double)drop;
  o->fill = fill;
  o->omega = (double)omega;
  o->shift = (double)shift;
  o->steps = steps;
  o->per_step = per_step;
  o->power = (int)power;
  PetscFunctionReturn(0);
}

static PetscErrorCode set_from_options(PC pc, PetscOptionItems *PetscOptionsObject) {
  inverse *m = pc->data;
  PetscEnum kind = (PetscEnum)0;
  PetscFunctionBegin;
  while (kind_of[kind] != m->options.kind) kind++;
  PetscOptionsHeadBegin(PetscOptionsObject, "TriStar preconditioners");
  PetscCall(
      PetscOptionsEnum("-pc_tristar_kind", "Kind of preconditioner", "PCTRISTAR", kinds, kind, &kind, NULL));
  PetscCall(read_numbers(PetscOptionsObject, &m->options));
  PetscCall(PetscOptionsBoundedInt("-pc_tristar_levels", "FSAI: couplings between ranks, in levels",
                                   "PCTRISTAR", m->levels, &m->levels, NULL, 0));
  PetscCall(PetscOptionsBoundedInt("-pc_tristar_overlap", "Other kinds: overlap of subdomains", "PCTRISTAR",
                                   m->overlap, &m->overlap, NULL, 0));
  PetscCall(PetscOptionsBool("-pc_tristar_restricted", "Other kinds: restricted additive Schwarz",
                             "PCTRISTAR", m->restricted, &m->restricted, NULL));
  PetscCall(PetscOptionsBoundedInt("-pc_tristar_workers",
                                   "Threads of a rank; 0: all cores of a program with one rank, else 1",
                                   "PCTRISTAR", m->workers, &m->workers, NULL, 0));
  PetscOptionsHeadEnd();
  m->options.kind = kind_of[kind];
  PetscFunctionReturn(0);
}

static tristar_status make_on_ranks(inverse *m, tristar_dmatrix_t *matrix, PetscBool same) {
  if (m->options.kind != TRISTAR_PRECOND_FSAI) {
    tristar_precond_destroy(&m->precond);
    return tristar_dmatrix_schwarz(matrix, &m->options, (int)m->overlap, m->restricted == PETSC_TRUE,
                                   &m->precond);
  }
  if (same) return tristar_dmatrix_fsai_update(matrix, m->precond);
  tristar_precond_destroy(&m->precond);
  return tristar_dmatrix_fsai(matrix, &m->options, (int)m->levels, &m->precond);
}

/* same: the preconditioner exists, and only values are new. */
static tristar_status make(PC pc, const tristar_view *view, PetscBool same) {
  inverse *m = pc->data;
  tristar_dmatrix_t *matrix = NULL;
  tristar_status status;
  if (m->ranks == 1) {
    if (same) return tristar_precond_update(m->precond, view);
    tristar_precond_destroy(&m->precond);
    return tristar_precond(m->ts, view, &m->options, &m->precond);
  }
  status = tristar_dmatrix_create(m->ts, PetscObjectComm((PetscObject)pc), view, NULL, &matrix);
  if (status == TRISTAR_OK) status = make_on_ranks(m, matrix, same);
  tristar_dmatrix_destroy(&matrix);
  return status;
}

static PetscErrorCode set_up(PC pc) {
  inverse *m = pc->data;
  tsi_petsc_rows rows;
  tristar_symmetry symmetry = TRISTAR_GENERAL;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &m->ranks));
  if (!m->ts) PetscCall(tsi_petsc_context(PetscObjectComm((PetscObject)pc), m->workers, &m->ts));
  PetscCall(tsi_petsc_find_symmetry(pc->pmat, PETSC_FALSE, &symmetry));
  PetscCall(tsi_petsc_rows_copy(pc->pmat, (PetscBool)(symmetry != TRISTAR_GENERAL), &rows));
  rows.view.symmetry = symmetry;
  const PetscBool same = (PetscBool)(m->precond && pc->flag == SAME_NONZERO_PATTERN);
  tristar_status status = make(pc, &rows.view, same);
  if (same && status == TRISTAR_ERR_ARGUMENT) /* A symmetric matrix has become unsymmetric. */
    status = make(pc, &rows.view, PETSC_FALSE);
  PetscCall(tsi_petsc_rows_free(&rows));
  pc->failedreason = PC_NOERROR;
  if (!pc->erroriffailure && (status == TRISTAR_ERR_SINGULAR || status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE))
    pc->failedreason = PC_FACTOR_NUMERIC_ZEROPIVOT;
  else
    TsiCall(m->ts, status);
  PetscFunctionReturn(0);
}

static PetscErrorCode apply_op(PC pc, tristar_op op, Vec b, Vec x) {
  const inverse *m = pc->data;
  const PetscScalar *from;
  PetscScalar *to;
  PetscInt n;
  PetscFunctionBegin;
  if (pc->failedreason) { /* As MatSolve does: a Krylov method ends with KSP_DIVERGED_PC_FAILED. */
    PetscCall(VecSetInf(x));
    PetscFunctionReturn(0);
  }
  PetscCall(VecGetLocalSize(b, &n));
  n = PetscMax(n, 1);
  PetscCall(VecGetArrayRead(b, &from));
  PetscCall(VecGetArrayWrite(x, &to));
  TsiCall(m->ts, tristar_precond_apply(m->precond, op, 1, from, n, to, n));
  PetscCall(VecRestoreArrayWrite(x, &to));
  PetscCall(VecRestoreArrayRead(b, &from));
  PetscFunctionReturn(0);
}

static PetscErrorCode apply(PC pc, Vec b, Vec x) {
  return apply_op(pc, TRISTAR_N, b, x);
}
static PetscErrorCode apply_transpose(PC pc, Vec b, Vec x) {
  return apply_op(pc, TRISTAR_T, b, x);
}

static PetscErrorCode reset(PC pc) {
  inverse *m = pc->data;
  PetscFunctionBegin;
  tristar_precond_destroy(&m->precond);
  tristar_destroy(&m->ts);
  PetscFunctionReturn(0);
}

static PetscErrorCode destroy(PC pc) {
  PetscFunctionBegin;
  PetscCall(reset(pc));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(0);
}

static PetscErrorCode view(PC pc, PetscViewer viewer) {
  const inverse *m = pc->data;
  tristar_precond_stats stats;
  PetscBool ascii;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii || !m->precond) PetscFunctionReturn(0);
  TsiCall(m->ts, tristar_precond_get_stats(m->precond, &stats));
  int kind = 0;
  while (kind_of[kind] != m->options.kind) kind++;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  TriStar %s: %s, density %g on rank 0\n", tristar_version(),
                                   kinds[kind], stats.fill));
  PetscFunctionReturn(0);
}

static PetscErrorCode create(PC pc) {
  inverse *m;
  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  pc->data = m;
  tristar_precond_options_init(&m->options);
  m->options.kind = TRISTAR_PRECOND_FSAI;
  m->options.pair = TRISTAR_PAIR_AUTO;
  m->levels = 1;
  pc->ops->setup = set_up;
  pc->ops->setfromoptions = set_from_options;
  pc->ops->apply = apply;
  pc->ops->applytranspose = apply_transpose;
  pc->ops->reset = reset;
  pc->ops->destroy = destroy;
  pc->ops->view = view;
  PetscFunctionReturn(0);
}

PetscErrorCode tsi_petsc_register_precond(void) {
  PetscFunctionBegin;
  PetscCall(PCRegister("tristar", create));
  PetscFunctionReturn(0);
}
