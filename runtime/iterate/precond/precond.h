/* A preconditioner: its applications and updates.
 *
 * Job. Compute X = op(M)^-1 B by at most two sweeps with a diagonal between them, or by two products. Each
 * sweep is a plan of a triangular factor.
 *
 *   for OP_N   sweep[0], diagonal, sweep[1]
 *   FSAI       G, G^H, or G_L, G_U (fsai.h)
 *
 * At first, incomplete factors are applied row by row, as they were computed (row_sweeps.h). The sweeps are
 * made after so many applications that they pay, or when an application needs a plan.
 *
 * For T and C of a GENERAL M the transposed operations run in reverse order. A symmetric M is its own
 * transpose, a Hermitian M its own adjoint; the other op conjugates B and X.
 *
 * Reads   the user's matrix, during set-up and update.   Writes  its own members.
 * Invariants
 *   - valid: all data of applications exist and belong to one set of values; otherwise applications return
 *     STALE
 *   - an application changes only how factors are applied; x is its only workspace */
#pragma once

#include "runtime/context/context.h"
#include "runtime/matrix/full.h"
#include "runtime/iterate/precond/factor_rows.h"
#include "runtime/iterate/precond/fsai.h"
#include "runtime/iterate/precond/row_sweeps.h"
#include "runtime/iterate/precond/row_tasks.h"
#include "tristar_precond.h"

typedef struct tsi_precond_sweep {
  tristar_factor_t *factor;
  tristar_plan_t *plan; /* NULL: no such sweep. Both sweeps may use one plan, which sweep[0] owns. */
  tristar_op op;        /* its op if M is applied with OP_N */
} tsi_precond_sweep;

struct tristar_precond_s {
  tristar_t *ts;
  tristar_precond_options options;
  tsi_index n;
  const tsi_sparse_kernels *sparse;
  const tsi_incomplete_kernels *kernels;
  tristar_symmetry symmetry; /* of M: GENERAL, SYMMETRIC or HERMITIAN */
  bool valid;
  tsi_pattern *pattern; /* pattern of A */
  tsi_entries full;     /* rows of A in full */
  tsi_factor_rows rows; /* the same, with diagonal positions; diagonal NULL: not made yet */
  bool mirrored; /* `rows` are mirrored from lines that are rows of the upper triangle (factor_rows.h) */
  const tristar_view *unverified; /* view whose values are in use, but may be NaN or infinite; NULL: none */
  bool tasks_chosen;
  tsi_row_tasks *tasks;   /* ILU and IC: tasks that compute the rows; NULL: they are computed in order */
  tsi_factor_rows filled; /* ILU and IC with a level above 0: pattern of the factors */
  void *diagonal;         /* n: the diagonal; NULL: none */
  tsi_row_sweeps by_rows; /* incomplete factors until the sweeps are made */
  tsi_precond_sweep sweep[2];
  tsi_fsai *fsai;       /* FSAI; NULL: another kind, or not computed yet */
  tristar_plan_t *plan; /* PLAN: a counted reference to it */
  tristar_precond_fn
      function; /* FUNCTION, and kinds that the library applies by a function; NULL: another kind */
  void *arg;
  void (*release)(void *arg); /* NULL: the caller owns arg */
  tristar_precond_stats stats;
};

/* Computes diagonal, sweeps or factors from the values of the pattern's entries, which are finite. Replaces
 * existing ones. After a failure they can only be destroyed or computed again. Errors: as tristar_precond. */
TRISTAR_CHECKED tristar_status tsi_precond_set_up(tristar_precond_t *precond, const void *values);

/* The diagonal D, n entries, if an application is only X = D B; otherwise NULL. */
static inline const void *tsi_precond_diagonal(const tristar_precond_t *p) {
  const bool alone = p->valid && p->function == NULL && p->plan == NULL && p->fsai == NULL &&
                     p->sweep[0].plan == NULL && p->sweep[1].plan == NULL;
  return alone ? p->diagonal : NULL;
}

/* Are the options in their ranges? Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_precond_check_options(tsi_env *env,
                                                         const tristar_precond_options *options);

/* Makes a preconditioner of any kind that is applied by the function with arg. It owns arg from then on;
 * release frees it. Errors: MEMORY; then the caller still owns arg. */
TRISTAR_CHECKED tristar_status tsi_precond_of_own(tristar_t *ts, const tristar_precond_options *options,
                                                  tsi_index n, char scalar, tristar_precond_fn function,
                                                  void *arg, void (*release)(void *arg),
                                                  tristar_precond_t **precond);

/* Turns a breakdown into a status. row: number in the user's matrix. Errors: SINGULAR, NOT_POSITIVE_DEFINITE,
 * NOT_FINITE; the message names the row. No breakdown: OK. */
TRISTAR_CHECKED tristar_status tsi_breakdown_report(tsi_env *env, tsi_breakdown_kind kind, int64_t row);
static inline tristar_status tsi_precond_report(const tristar_precond_t *precond, tsi_breakdown breakdown) {
  return tsi_breakdown_report(&precond->ts->env, breakdown.kind, breakdown.row);
}
/* Multiplies the diagonal entries by 1 + shift. */
void tsi_shift_diagonal(const tsi_sparse_kernels *sparse, const tsi_factor_rows *a, double shift);
/* Sets the statistics of fill: entries of the triangles, and their ratio to the entries of A. upper 0: the
 * lower triangle serves as both. */
void tsi_precond_report_fill(tristar_precond_t *precond, tsi_count lower, tsi_count upper);

/* Computes the incomplete factors of A. a has values. Factors on the same pattern replace them; then `a` has
 * no values afterwards. adjoint: see tsi_dropping. Errors: as above, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_precond_factor(tristar_precond_t *precond, tsi_factor_rows *a,
                                                  bool adjoint, tsi_factor_rows *out);

/* Does a factorization of this kind detect values that are not finite? Then the values of the view need no
 * verification before it: each entry of A that is not finite makes a factor not finite. */
static inline bool tsi_precond_shows_values(const tristar_precond_options *o, const tristar_view *view) {
  return (o->kind == TRISTAR_PRECOND_ILU || o->kind == TRISTAR_PRECOND_IC) && o->level == 0 &&
         o->modified == 0 && (view->symmetry == TRISTAR_GENERAL || view->symmetry == TRISTAR_SYMMETRIC);
}
/* Verifies values that were not verified yet. Errors: as tsi_view_check. */
TRISTAR_CHECKED tristar_status tsi_precond_verify(tristar_precond_t *precond);

/* Is A its own adjoint, or its own transpose? Neither is an error. Its message contains `name`, the factors
 * to be made, and `others`, further kinds that accept A besides ILU. Errors: ARGUMENT, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_precond_find_symmetry(const tristar_precond_t *precond, const char *name,
                                                         const char *others, const void *values,
                                                         tristar_symmetry *symmetry);
/* Does the work of tsi_precond_incomplete for ILU and IC without fill, in one pass over rows, directly from
 * the user's values. *done: false if that is not possible, or if something failed. Then the steps of
 * tsi_precond_incomplete find the error. Afterwards by_rows has the inverses of pivots, and cross. */
TRISTAR_CHECKED tristar_status tsi_precond_factor_at_once(tristar_precond_t *precond, const void *values,
                                                          tsi_factor_rows *factors, bool *done);
/* Decides whether tasks compute the rows of such factors. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_precond_choose_tasks(tristar_precond_t *precond,
                                                        const tsi_factor_rows *rows);
/* May tasks compute them, judged without reading the rows? */
bool tsi_precond_may_have_tasks(const tristar_precond_t *precond, tsi_index n, tsi_count entries);
/* Computes cross of rows: see incomplete.h. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_find_cross(tsi_env *env, const tsi_factor_rows *rows, tsi_index **cross);
/* Makes rows of both triangles, and cross, for a mirrored pattern. Errors: SINGULAR, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_precond_mirror_rows(tristar_precond_t *precond);

/* Computes the factors from the values of the pattern's entries, in the form of incomplete.h. Kinds ILU,
 * ILUT, IC, ICT. The factors of ILU and IC may share the pattern of the preconditioner. factors: release with
 * tsi_precond_finish_factors, also after a failure. Errors: as tsi_precond_set_up. */
TRISTAR_CHECKED tristar_status tsi_precond_incomplete(tristar_precond_t *precond, const void *values,
                                                      tsi_factor_rows *factors);

/* Frees all of the factors but a shared pattern. */
void tsi_precond_finish_factors(const tristar_precond_t *precond, tsi_factor_rows *factors);
/* Gives a shared pattern to the factors. Afterwards the preconditioner can only be destroyed. */
void tsi_precond_leave_pattern(tristar_precond_t *precond, const tsi_factor_rows *factors);

/* Frees the sweeps that exist. */
void tsi_precond_drop_sweeps(tristar_precond_t *precond);
/* Makes a sweep of op with one triangle of the rows, and sets its statistics. An existing sweep gets new
 * values; the pattern must be the same as before. Errors: SINGULAR, NOT_FINITE, MEMORY, those of
 * tristar_plan. */
TRISTAR_CHECKED tristar_status tsi_precond_make_sweep(tristar_precond_t *precond, int which,
                                                      const tsi_factor_rows *rows, tristar_uplo uplo,
                                                      tristar_diag diag, tristar_op op);
/* Makes the sweeps of incomplete factors, and their statistics. Existing sweeps get new values. shared: one
 * factor serves as both. Errors: as above. */
TRISTAR_CHECKED tristar_status tsi_precond_make_sweeps(tristar_precond_t *precond,
                                                       const tsi_factor_rows *factors, bool shared);
static inline bool tsi_precond_shares_factor(const tristar_precond_t *p) {
  return p->options.kind == TRISTAR_PRECOND_IC || p->options.kind == TRISTAR_PRECOND_ICT;
}
/* Makes the other sweep: the same plan with another op. */
void tsi_precond_share_sweep(tristar_precond_t *precond, tristar_op op);
