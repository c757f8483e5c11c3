/* What the files of the fuzz target `api` share: the objects of an input, what is known of them, and how
 * calls and solutions are judged.
 *
 *   fuzz_api.c       an input from its first byte to its last
 *   api_faults.c     views of which something is wrong
 *   api_factor.c     analyses and factors
 *   api_triangle.c   triangular matrices
 *   api_solve.c      plans, solves, requests
 *   api_accuracy.c   refined solves, residuals, conditions
 *   api_precond.c    preconditioners, against dense factors of incomplete.h; api_precond_apply.c: at work
 *   api_krylov.c     Krylov methods; api_krylov_solve.c: at work
 *   api_judge.c      judgement of solutions
 *
 * Each call_* is one call of the interface: it takes its decisions from the input, calls, and judges. */
#pragma once

#include <math.h>

#include "runtime/context/context.h"
#include "runtime/iterate/precond/precond.h"
#include "runtime/solve/plan.h"
#include "tests/fuzz/system.h"
#include "tristar_krylov.h"

enum { PATTERNS = 2, SLOTS = 3, CALLS_MOST = 24, COLUMNS_MOST = 70, REQUESTS = 3, PAD = 3 };

/* What a factor holds; plans share it. */
typedef struct cell {
  const pattern *p;
  values *v; /* NULL: none, since a refactorization failed */
  tristar_analysis_options options;
  bool imported;     /* a triangle: v is of it alone */
  bool values_known; /* the analysis had values; they were */
  bool analyzed_hermitian, analyzed_symmetric;
  const values *analyzed; /* the values of the analysis; NULL: none */
  double eps;             /* unit roundoff of the factors */
} cell;

typedef struct analysis_slot {
  tristar_analysis_t *handle;
  cell like; /* what a factor of it would be */
} analysis_slot;
typedef struct factor_slot {
  tristar_factor_t *handle;
  cell *cell;
} factor_slot;
typedef struct plan_slot {
  tristar_plan_t *handle;
  cell *cell;
  tristar_plan_options options;
} plan_slot;
typedef struct request_slot {
  tristar_request_t *handle;
  cell *cell;
  tristar_plan_t *plan; /* to solve again with; NULL: destroyed since */
  tristar_solve_options options;
  int64_t nrhs;
  void *b, *x;
} request_slot;

typedef struct precond_slot {
  tristar_precond_t *handle;
  cell *cell; /* of the matrix; v NULL: none, since an update failed */
  tristar_precond_options options;
  tristar_plan_t *plan; /* PLAN: which; NULL: another kind */
} precond_slot;
typedef struct krylov_slot {
  tristar_krylov_t *handle;
  cell *cell; /* as above */
  tristar_krylov_options options;
  bool is_function; /* the matrix is multiplied with here */
} krylov_slot;

/* All that an input makes; lists of what is to be freed at its end. */
typedef struct game {
  bytes in;
  tristar_t *ts;
  pattern pattern[PATTERNS];
  values *current[PATTERNS];
  analysis_slot analysis[SLOTS];
  factor_slot factor[SLOTS];
  plan_slot plan[SLOTS];
  request_slot request[REQUESTS];
  precond_slot precond[SLOTS];
  krylov_slot krylov[SLOTS];
  bool solvers; /* triangles, preconditioners and Krylov methods rather than factors */
  void *kept[32 * CALLS_MOST];
  int kept_count;
  int function_fails; /* the application or product, from 1, that gives an error; 0: none */
  int64_t fail;       /* the next call's allocation that fails; 0: none */
} game;

extern game *g;

/* ---- Calls and statuses (fuzz_api.c) ------------------------------------------------------------------- */

#define BIT(status) (1u << (status))
#define ONLY_OK BIT(TRISTAR_OK)

/* Zeroed memory until the end of the input. */
void *keep(size_t size);
/* The call that follows may have an allocation that fails. */
void arm(void);
/* Notes the outcome of a call and judges its status; right: a set of BITs. Gives the status. */
tristar_status outcome(const char *call, tristar_status status, unsigned right);
/* Are there tasks in this input? */
bool with_tasks(void);

/* ---- What is known, and judgement (api_judge.c) -------------------------------------------------------- */

double unit_roundoff(tristar_scalar scalar);
long double smallest_number(tristar_scalar scalar); /* positive, of a type */
size_t scalar_bytes(const cell *c);
/* Single factors of a double matrix. */
bool mixed(const cell *c);
/* Entries of A and A^-1 are so far apart, or so near the ends of the range, that products of them overflow or
 * underflow. */
bool badly_scaled(const cell *c);
/* Far enough from singular for its factors to be of use. */
bool well_conditioned(const cell *c);
/* Is the cell's method one that its values do not have, because the analysis saw others? */
bool analyzed_otherwise(const cell *c);
/* Pivots that may be tiny, however well conditioned the matrix is: nothing brings larger entries to the
 * diagonal. */
bool lacks_pivots(const cell *c);
/* Was the matching, which permutes and scales the matrix for all later values, made for values of quite
 * another kind? Then the factors may be useless (the header tells that). */
bool matched_otherwise(const cell *c);
long double magnitude_of_op(values *v, tristar_op op, int i, int j);

typedef enum rhs_kind { RHS_UNIFORM, RHS_ZERO, RHS_ONE, RHS_PRODUCT, RHS_LARGE, RHS_KINDS } rhs_kind;
number rhs_entry(const cell *c, rhs_kind kind, uint64_t seed, int i, int k);

/* A solution of op(A) x = b in extended precision, and how far x is from it. */
typedef struct errors {
  long double backward;    /* |b - A x| / (|A| |x| + |b|), maximum norms */
  long double documented;  /* the componentwise one, as tristar.h defines it, with the plain norm of x */
  long double strict;      /* the same without that norm, which another one can only come near to */
  long double forward;     /* max |x - x*| / max |x| */
  long double sensitivity; /* || |A^-1| (|A| |x| + |b|) || / ||x|| */
  long double documented_sensitivity; /* the same of what `documented` measures residuals against */
  long double underflow;              /* what products that underflow add to `documented` at most */
  bool finite;
} errors;
errors measure(const cell *c, tristar_op op, const number *b, const number *x);
void fetch_column(const cell *c, const void *array, int64_t begin, int64_t stride, number *column);
/* One column of a solve that is not refined. */
void judge_plain(const cell *c, tristar_op op, const number *b, const number *x);
/* Within the range in which neither products nor sums overflow, and few of them underflow? */
bool in_range(const cell *c, number a);

/* ---- Matrices ------------------------------------------------------------------------------------------ */

/* The pattern's view with values, of which one thing may be wrong; *right: the statuses that are then right.
 */
tristar_view choose_view(const pattern *p, const values *v, bool with_values, unsigned *right);
/* Other values for a pattern, or those that are there. */
values *choose_values(const pattern *p);

/* ---- b and x (api_solve.c) ----------------------------------------------------------------------------- */

/* b and x of a solve: in memory of their own, of which nothing but the rows and columns that are meant may be
 * written. */
typedef struct operands {
  int64_t nrhs, rows_b, rows_x, step_b, step_x, next_b,
      next_x; /* step: between rows; next: between columns */
  void *b, *x;
  size_t bytes;
} operands;

/* Frees the plan, and what borrows it. */
void destroy_plan(plan_slot *p);
tristar_op choose_op(void);
operands choose_operands(const cell *c);
/* Beyond the columns of x nothing was written. */
void judge_gaps(const cell *c, const operands *o);
unsigned solve_statuses(const cell *c);
/* r = b - op(A) x, but for rounding errors. */
void judge_residual_of(const cell *c, tristar_op op, const operands *o, const void *r);
void finish_request(request_slot *r);
/* No solve may be in flight while its factor changes. */
void land(const cell *c);

/* ---- Calls --------------------------------------------------------------------------------------------- */

void call_analyze(void);
void call_factor(void);
void call_refactor(void);
void call_import(void);
void call_triangle(void);
void call_partitions(void);
void call_plan(void);
void call_solve(void);
void call_solve_with(void);
void call_start(void);
void call_wait(void);
void call_refined(void);
void call_condition(void);
void call_residual(void);
void call_precond(void);
void call_precond_of(void);
void call_precond_update(void);
void call_precond_apply(void);
void call_krylov(void);
void call_krylov_change(void);
void call_krylov_solve(void);
void call_krylov_residual(void);
