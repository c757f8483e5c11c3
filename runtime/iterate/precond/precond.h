/* A preconditioner: what an application does, and what an update needs.
 *
 * Job. X = op(M)^-1 B as at most two sweeps, each a plan of a triangular factor, with a diagonal between
 * them, or as two products:
 *
 *   for OP_N   sweep[0], diagonal, sweep[1]
 *   FSAI       G, G^H, or G_L, G_U (fsai.h)
 *
 * Incomplete factors are applied row by row at first, as they were computed (row_sweeps.h). The sweeps are
 * made when many applications have paid for them, or when one needs what only plans have.
 *
 * For T and C of a GENERAL M the same comes backwards, transposed. A symmetric M is its own transpose, a
 * Hermitian one its own adjoint: what is left is done with conjugates of B and X.
 *
 * Reads   the user's matrix, during set-up and update.   Writes  its own members.
 * Invariants
 *   - valid: all that applications need is there, of one set of values; else they give STALE
 *   - an application changes nothing here but how factors are applied: x is its only workspace */
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
  tristar_plan_t *plan; /* NULL: no such sweep. Both sweeps may be of one plan, which sweep[0] owns */
  tristar_op op;        /* that it has where M is applied with OP_N */
} tsi_precond_sweep;

struct tristar_precond_s {
  tristar_t *ts;
  tristar_precond_options options;
  tsi_index n;
  const tsi_sparse_kernels *sparse;
  const tsi_incomplete_kernels *kernels;
  tristar_symmetry symmetry; /* of M: GENERAL, SYMMETRIC or HERMITIAN */
  bool valid;
  tsi_pattern *pattern; /* of A */
  tsi_entries full;     /* its rows in full */
  tsi_factor_rows rows; /* the same, with the diagonal; diagonal NULL: not there yet */
  bool mirrored;        /* they are mirrored from lines that are rows of the upper triangle (factor_rows.h) */
  const tristar_view *unverified; /* whose values are taken, and may be NaN or infinite; NULL: none */
  bool tasks_chosen;
  tsi_row_tasks *tasks;   /* ILU and IC: how their rows are computed; NULL: one after the other */
  tsi_factor_rows filled; /* pattern of the factors, ILU and IC of a level above 0 */
  void *diagonal;         /* n: factors of the entries; NULL: none */
  tsi_row_sweeps by_rows; /* incomplete factors before there are sweeps */
  tsi_precond_sweep sweep[2];
  tsi_fsai *fsai;              /* FSAI; NULL: another kind, or not there yet */
  tristar_plan_t *plan;        /* PLAN: a share of it */
  tristar_precond_fn function; /* FUNCTION, and what has a function of the library's; NULL: another kind */
  void *arg;
  void (*release)(void *arg); /* NULL: arg is not the preconditioner's own */
  tristar_precond_stats stats;
};

/* Fills diagonal and sweeps from the values of the pattern's entries, which are finite; anew, if there are
 * some. After a failure what is there is of no use, but can be destroyed or filled. Errors: as
 * tristar_precond. */
TRISTAR_CHECKED tristar_status tsi_precond_set_up(tristar_precond_t *precond, const void *values);

/* D, n entries, where X = D B is all that an application does; else NULL. */
static inline const void *tsi_precond_diagonal(const tristar_precond_t *p) {
  const bool alone = p->valid && p->function == NULL && p->plan == NULL && p->fsai == NULL &&
                     p->sweep[0].plan == NULL && p->sweep[1].plan == NULL;
  return alone ? p->diagonal : NULL;
}

/* Are the options in their ranges? Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_precond_check_options(tsi_env *env,
                                                         const tristar_precond_options *options);

/* A preconditioner of any kind that applies what the function does with arg, which is its own from now on:
 * release frees it. Errors: MEMORY; then arg is the caller's. */
TRISTAR_CHECKED tristar_status tsi_precond_of_own(tristar_t *ts, const tristar_precond_options *options,
                                                  tsi_index n, char scalar, tristar_precond_fn function,
                                                  void *arg, void (*release)(void *arg),
                                                  tristar_precond_t **precond);

/* Where rows have numbers of their own: row is that of the breakdown in the user's matrix. Errors: SINGULAR,
 * NOT_POSITIVE_DEFINITE, NOT_FINITE, whose message names the row; none: OK. */
TRISTAR_CHECKED tristar_status tsi_breakdown_tell(tsi_env *env, tsi_breakdown_kind kind, int64_t row);
static inline tristar_status tsi_precond_tell(const tristar_precond_t *precond, tsi_breakdown breakdown) {
  return tsi_breakdown_tell(&precond->ts->env, breakdown.kind, breakdown.row);
}
/* The diagonal entries count 1 + shift times. */
void tsi_shift_diagonal(const tsi_sparse_kernels *sparse, const tsi_factor_rows *a, double shift);
/* Entries of the triangles, and what they are of A; no upper ones: the lower triangle serves as both. */
void tsi_precond_tell_fill(tristar_precond_t *precond, tsi_count lower, tsi_count upper);

/* The incomplete factors of A, whose rows are there; a has values, which become the factors on the same
 * pattern: then a has none afterwards. adjoint: see tsi_dropping. Errors: as above, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_precond_factor(tristar_precond_t *precond, tsi_factor_rows *a,
                                                  bool adjoint, tsi_factor_rows *out);

/* Does a factorization of this kind show by itself whether the values of the view, which are then not to be
 * verified before, are finite? Each entry of A that is not makes one of the factors so. */
static inline bool tsi_precond_shows_values(const tristar_precond_options *o, const tristar_view *view) {
  return (o->kind == TRISTAR_PRECOND_ILU || o->kind == TRISTAR_PRECOND_IC) && o->level == 0 &&
         o->modified == 0 && (view->symmetry == TRISTAR_GENERAL || view->symmetry == TRISTAR_SYMMETRIC);
}
/* Verifies values that were not. Errors: as tsi_view_check. */
TRISTAR_CHECKED tristar_status tsi_precond_verify(tristar_precond_t *precond);

/* Is A its own adjoint, or its own transpose? Neither: an error, which names what is to be made of it, and
 * others that take A beside ILU. Errors: ARGUMENT, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_precond_find_symmetry(const tristar_precond_t *precond, const char *name,
                                                         const char *others, const void *values,
                                                         tristar_symmetry *symmetry);
/* What tsi_precond_incomplete does, of ILU and IC without fill whose values are read where the user has them,
 * in one pass over rows. *done: false where that is not possible, or not all went well: then it is to be done
 * step by step, which tells what is wrong. by_rows has the inverses of pivots, and cross, afterwards. */
TRISTAR_CHECKED tristar_status tsi_precond_factor_at_once(tristar_precond_t *precond, const void *values,
                                                          tsi_factor_rows *factors, bool *done);
/* Finds out whether rows of such factors are computed by tasks. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_precond_choose_tasks(tristar_precond_t *precond,
                                                        const tsi_factor_rows *rows);
/* May they be, as far as is known before the rows are looked at? */
bool tsi_precond_may_have_tasks(const tristar_precond_t *precond, tsi_index n, tsi_count entries);
/* cross of rows: see incomplete.h. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_find_cross(tsi_env *env, const tsi_factor_rows *rows, tsi_index **cross);
/* Rows of both triangles of a mirrored pattern, and cross. Errors: SINGULAR, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_precond_mirror_rows(tristar_precond_t *precond);

/* The factors from the values of the pattern's entries: what incomplete.h says of rows and columns. Kinds
 * ILU, ILUT, IC, ICT. The factors of ILU and IC may share precond's pattern. factors: for
 * tsi_precond_finish_factors, also after a failure. Errors: as tsi_precond_set_up. */
TRISTAR_CHECKED tristar_status tsi_precond_incomplete(tristar_precond_t *precond, const void *values,
                                                      tsi_factor_rows *factors);

/* Frees what is not lent. */
void tsi_precond_finish_factors(const tristar_precond_t *precond, tsi_factor_rows *factors);
/* A pattern that is lent becomes the factors' own; the preconditioner can only be destroyed then. */
void tsi_precond_leave_pattern(tristar_precond_t *precond, const tsi_factor_rows *factors);

/* Frees sweeps; accepts those that are not there. */
void tsi_precond_drop_sweeps(tristar_precond_t *precond);
/* Makes a sweep of op of one triangle of the rows, and tells its figures; a sweep that is there gets new
 * values: the pattern is that which it was made of. Errors: SINGULAR, NOT_FINITE, MEMORY, those of
 * tristar_plan. */
TRISTAR_CHECKED tristar_status tsi_precond_make_sweep(tristar_precond_t *precond, int which,
                                                      const tsi_factor_rows *rows, tristar_uplo uplo,
                                                      tristar_diag diag, tristar_op op);
/* The sweeps of incomplete factors, and their statistics; new values, if sweeps are there. shared: one factor
 * serves as both. Errors: as above. */
TRISTAR_CHECKED tristar_status tsi_precond_make_sweeps(tristar_precond_t *precond,
                                                       const tsi_factor_rows *factors, bool shared);
static inline bool tsi_precond_shares_factor(const tristar_precond_t *p) {
  return p->options.kind == TRISTAR_PRECOND_IC || p->options.kind == TRISTAR_PRECOND_ICT;
}
/* The other sweep is the same plan with another op. */
void tsi_precond_share_sweep(tristar_precond_t *precond, tristar_op op);
