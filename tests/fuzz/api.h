/* Shared by the files of the fuzz target `api`: the objects of an input, a model of each object, and the
 * checks of calls and solutions.
 *
 *   fuzz_api.c       an input from its first byte to its last
 *   api_faults.c     views with one fault
 *   api_factor.c     analyses and factors
 *   api_triangle.c   triangular matrices
 *   api_solve.c      plans, solves, requests
 *   api_accuracy.c   refined solves, residuals, conditions
 *   api_precond.c    preconditioners, against dense factors of api_precond.h;
 *                    api_precond_apply.c: applications
 *   api_krylov.c     Krylov methods; api_krylov_solve.c: solves
 *   api_judge.c      judgement of solutions
 *
 * Each call_* is one call of the interface: it reads its decisions from the input, calls, and judges. */
#pragma once

#include <math.h>

#include "runtime/context/context.h"
#include "runtime/iterate/precond/precond.h"
#include "runtime/solve/plan.h"
#include "tests/fuzz/system.h"
#include "tristar_krylov.h"

enum { PATTERNS = 2, SLOTS = 3, CALLS_MOST = 24, COLUMNS_MOST = 70, REQUESTS = 3, PAD = 3 };

/* Model of a factor; its plans share it. */
typedef struct cell {
  const pattern *p;
  values *v; /* NULL after a failed refactorization */
  tristar_analysis_options options;
  bool imported;     /* a triangle: v has only its entries */
  bool values_known; /* the analysis had values */
  bool analyzed_hermitian, analyzed_symmetric;
  const values *analyzed; /* the values of the analysis; NULL: none */
  const values *factored; /* the values of tristar_factor, which may analyze again */
  double eps;             /* unit roundoff of the factors */
} cell;

typedef struct analysis_slot {
  tristar_analysis_t *handle;
  cell like; /* the cell of a factor of this analysis */
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
  tristar_plan_t *plan; /* for another solve; NULL: destroyed */
  tristar_solve_options options;
  int64_t nrhs;
  void *b, *x;
  bool may_overflow; /* NOT_FINITE is right, too. */
} request_slot;

typedef struct precond_slot {
  tristar_precond_t *handle;
  cell *cell; /* of the matrix; v is NULL after a failed update */
  tristar_precond_options options;
  tristar_plan_t *plan; /* plan of the kind PLAN; NULL: another kind */
} precond_slot;
typedef struct krylov_slot {
  tristar_krylov_t *handle;
  cell *cell; /* as above */
  tristar_krylov_options options;
  bool is_function; /* the harness multiplies by the matrix */
} krylov_slot;

/* All objects of an input, and the memory to free at its end. */
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
  bool solvers; /* calls of triangles, preconditioners and Krylov methods instead of factors */
  void *kept[32 * CALLS_MOST];
  int kept_count;
  int function_fails; /* number of the application or product that fails; 0: none */
  int64_t fail;       /* number of the allocation that fails in the next call; 0: none */
} game;

extern game *g;

/* ---- Calls and statuses (fuzz_api.c) ------------------------------------------------------------------- */

#define BIT(status) (1u << (status))
#define ONLY_OK BIT(TRISTAR_OK)

/* Allocates zeroed memory that lives until the end of the input. */
void *keep(size_t size);
/* Decides whether an allocation of the next call fails. */
void arm(void);
/* Notes the outcome of a call, judges its status, and returns it. right: a set of BITs. */
tristar_status outcome(const char *call, tristar_status status, unsigned right);
/* Does this input run with tasks? */
bool with_tasks(void);

/* ---- What is known, and judgement (api_judge.c) -------------------------------------------------------- */

double unit_roundoff(tristar_scalar scalar);
long double smallest_number(tristar_scalar scalar); /* Smallest positive number of a type. */
size_t scalar_bytes(const cell *c);
/* Is a double matrix factored in single precision? */
bool mixed(const cell *c);
/* Entries of A and A^-1 differ so much in size, or are so near the ends of the range, that their products
 * overflow or underflow. */
bool badly_scaled(const cell *c);
/* Is the matrix far enough from singular that its factors are useful? */
bool well_conditioned(const cell *c);
/* Does the analysis have other values, so that its method does not suit the values of the cell? */
bool analyzed_otherwise(const cell *c);
/* May pivots be tiny even if the matrix is well conditioned, because nothing moves larger entries to the
 * diagonal? */
bool lacks_pivots(const cell *c);
/* Was the matching computed for very different values? It permutes and scales the matrix for all later
 * values, so the factors may be useless (see the header). */
bool matched_otherwise(const cell *c);
long double magnitude_of_op(values *v, tristar_op op, int i, int j);

typedef enum rhs_kind { RHS_UNIFORM, RHS_ZERO, RHS_ONE, RHS_PRODUCT, RHS_LARGE, RHS_KINDS } rhs_kind;
number rhs_entry(const cell *c, rhs_kind kind, uint64_t seed, int i, int k);

/* Errors of x as a solution of op(A) x = b, computed in extended precision. x* is the exact solution. */
typedef struct errors {
  long double backward;               /* |b - A x| / (|A| |x| + |b|), maximum norms */
  long double documented;             /* componentwise as defined in tristar.h, with the plain norm of x */
  long double strict;                 /* the same without this norm; other norms approach it from below */
  long double forward;                /* max |x - x*| / max |x| */
  long double sensitivity;            /* || |A^-1| (|A| |x| + |b|) || / ||x|| */
  long double documented_sensitivity; /* the same with the sizes that `documented` divides residuals by */
  long double underflow;              /* bound of what underflow of products adds to `documented` */
  bool finite;
} errors;
errors measure(const cell *c, tristar_op op, const number *b, const number *x);
void fetch_column(const cell *c, const void *array, int64_t begin, int64_t stride, number *column);
/* Judges one column of a solve without refinement. */
void judge_plain(const cell *c, tristar_op op, const number *b, const number *x);
/* Is the number in a range in which products and sums do not overflow, and few products underflow? */
bool in_range(const cell *c, number a);

/* ---- Matrices ------------------------------------------------------------------------------------------ */

/* The view of the pattern with values; one property may be wrong. *right: the statuses that are then
 * right. */
tristar_view choose_view(const pattern *p, const values *v, bool with_values, unsigned *right);
/* Returns other values for a pattern, or its present values. */
values *choose_values(const pattern *p);

/* ---- b and x (api_solve.c) ----------------------------------------------------------------------------- */

/* b and x of a solve, each in memory of its own. A call may write only the given rows and columns. */
typedef struct operands {
  int64_t nrhs, rows_b, rows_x, step_b, step_x, next_b,
      next_x; /* step: between rows; next: between columns */
  void *b, *x;
  size_t bytes;
} operands;

/* Frees the plan and the objects that use it. */
void destroy_plan(plan_slot *p);
tristar_op choose_op(void);
operands choose_operands(const cell *c);
/* Only the columns of x were written. */
void judge_gaps(const cell *c, const operands *o);
unsigned solve_statuses(const cell *c);
/* May the solution exceed the range of the type? */
bool may_overflow(const cell *c, const operands *o);
/* Those of solve_statuses, and NOT_FINITE if the solution may exceed the range. */
unsigned range_statuses(const cell *c, const operands *o);
/* r = b - op(A) x to rounding errors. */
void judge_residual_of(const cell *c, tristar_op op, const operands *o, const void *r);
void finish_request(request_slot *r);
/* Waits for the solves with a factor, which must not change during a solve. */
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
