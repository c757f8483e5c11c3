/* The library's objects in any order and with any options, on small random systems, against a dense
 * reference.
 *
 * An input is a list of decisions: two patterns, then calls. The harness keeps a model of what each object
 * holds: which matrix a factor has, or that it has none since a refactorization failed. So it knows of each
 * call which statuses are right, and judges every result:
 *   - a status that is not OK must be one that the header names for this case, with a message
 *   - an object that was asked for and not given is NULL; what existed before is as it was
 *   - well-conditioned systems: refined solutions have small backward and forward errors, plain ones of
 * dominant and of definite matrices too; what the library tells of its errors agrees with what is computed
 * here
 *   - all systems: a bound of the forward error holds; the same solve gives the same bits in any form
 *   - an allocation that fails gives MEMORY, and nothing is left behind */
#include <float.h>
#include <math.h>

#include "runtime/context/context.h"
#include "runtime/solve/plan.h"
#include "tests/fuzz/system.h"

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
  void *kept[16 * CALLS_MOST];
  int kept_count;
  int64_t fail; /* the next call's allocation that fails; 0: none */
} game;

static tristar_t *serial, *tasks;
static game *g;

static void *keep(size_t size) {
  void *memory = calloc(1, size > 0 ? size : 1);
  if (memory == NULL || g->kept_count == (int)(sizeof g->kept / sizeof g->kept[0])) abort();
  return g->kept[g->kept_count++] = memory;
}

/* ---- Contexts ----------------------------------------------------------------------------------------- */

static tristar_t *make_context(int use_starpu) {
  tristar_config config;
  tristar_t *ts;
  tristar_config_init(&config);
  config.use_starpu = use_starpu;
  config.check = 1;
  config.calibration = "off";
  if (tristar_create(&config, &ts) != TRISTAR_OK) abort();
  return ts;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  g = calloc(1, sizeof *g);
  if (g == NULL) abort();
  serial = make_context(0);
  return 0;
}

/* StarPU is started by the first input that wants it. */
static tristar_t *context_with_tasks(void) {
  tristar_starpu_info info;
  if (tasks != NULL) return tasks;
  tasks = make_context(1);
  if (tristar_get_starpu(tasks, &info) != TRISTAR_OK) abort();
  return tasks;
}

static size_t memory_held(tristar_t *ts) {
  tristar_memory_stats memory;
  tristar_get_memory(ts, &memory);
  return memory.current_bytes;
}

/* ---- Statuses ----------------------------------------------------------------------------------------- */

#define BIT(status) (1u << (status))
#define ONLY_OK BIT(TRISTAR_OK)

/* The call that follows may have an allocation that fails. */
static void arm(void) {
  tristar_memory_stats memory;
  if (g->fail == 0) return;
  tristar_get_memory(g->ts, &memory);
  tsi_context_env(g->ts)->memory.fail_at = memory.allocations + g->fail;
}

/* Notes the outcome of a call and judges its status; right: a set of BITs. Gives the status. */
static tristar_status outcome(const char *call, tristar_status status, unsigned right) {
  char message[512] = "";
  if (g->fail != 0 && status == TRISTAR_ERR_MEMORY) right |= BIT(TRISTAR_ERR_MEMORY);
  tsi_context_env(g->ts)->memory.fail_at = 0;
  if (status != TRISTAR_OK) tristar_get_error(g->ts, message, sizeof message);
  note("%s%s -> %s%s%s\n", call, g->fail ? " (an allocation fails)" : "", tristar_status_name(status),
       *message ? ": " : "", message);
  g->fail = 0;
  MUST(right & BIT(status), "%s gives %s", call, tristar_status_name(status));
  if (status == TRISTAR_OK) return status;
  MUST(*message != '\0', "%s fails without a message", call);
  MUST(strstr(message, "nan") == NULL || status == TRISTAR_ERR_NOT_FINITE,
       "%s fails with a message about nan", call);
  return status;
}

/* ---- What is known of a factor ----------------------------------------------------------------------------
 */

static double unit_roundoff(tristar_scalar scalar) {
  return is_single(scalar) ? 0x1p-24 : 0x1p-53;
}

/* Single factors of a double matrix. */
static bool mixed(const cell *c) {
  return c->eps > 1e-10 && !is_single(c->p->scalar);
}

/* Entries of A and A^-1 are so far apart, or so near the ends of the range, that products of them overflow or
 * underflow. */
static bool badly_scaled(const cell *c) {
  const reference *r = values_reference(c->p, c->v);
  const long double most = c->eps > 1e-10 ? 1e9L : 1e75L;
  return r->trusted && (r->most > most || r->least < 1 / most);
}

/* Far enough from singular for its factors to be of use. */
static bool well_conditioned(const cell *c) {
  const reference *r = values_reference(c->p, c->v);
  return r->trusted && r->bauer * c->p->n * c->eps < 1e-3L;
}

/* Is the cell's method one that its values do not have, because the analysis saw others? */
static bool analyzed_otherwise(const cell *c) {
  if (c->p->symmetry != TRISTAR_GENERAL || c->options.method == TRISTAR_METHOD_LU) return false;
  if (!c->values_known)
    return c->options.method != TRISTAR_METHOD_AUTO && !(c->v->hermitian || c->v->symmetric);
  return (c->analyzed_hermitian && !c->v->hermitian) ||
         (!c->analyzed_hermitian && c->analyzed_symmetric && !c->v->symmetric);
}

/* Dominant values on a pattern that has the whole diagonal. */
static bool is_dominant(const cell *c) {
  for (int i = 0; i < c->p->n; i++)
    if (c->v->truth[i][i] == 0) return false;
  return c->v->style == DOMINANT && c->p->symmetry != TRISTAR_SKEW_SYMMETRIC;
}

/* Pivots that may be tiny, however well conditioned the matrix is: nothing brings larger entries to the
 * diagonal. */
static bool lacks_pivots(const cell *c) {
  return c->options.matching == TRISTAR_MATCHING_OFF && c->options.method != TRISTAR_METHOD_LLT &&
         !is_dominant(c);
}

/* Was the matching, which permutes and scales the matrix for all later values, made for values of quite
 * another kind? Then the factors may be useless (the header tells that). */
static bool matched_otherwise(const cell *c) {
  return c->analyzed != NULL && c->analyzed != c->v && c->options.method != TRISTAR_METHOD_LLT &&
         c->options.matching != TRISTAR_MATCHING_OFF;
}

/* Is the factorization of this kind meant for these values? */
static bool fits_method(const cell *c) {
  if (c->options.method == TRISTAR_METHOD_LLT) return c->v->hermitian;
  return true;
}

static long double magnitude_of_op(values *v, tristar_op op, int i, int j) {
  return cabsl(reference_op(v->truth, op, i, j));
}

/* ---- Right-hand sides -------------------------------------------------------------------------------------
 */

typedef enum rhs_kind { RHS_UNIFORM, RHS_ZERO, RHS_ONE, RHS_PRODUCT, RHS_LARGE, RHS_KINDS } rhs_kind;

static number rhs_entry(const cell *c, rhs_kind kind, uint64_t seed, int i, int k) {
  number b = hash_uniform(seed, i, k);
  if (is_complex(c->p->scalar)) __imag__ b = hash_uniform(seed + 1, i, k);
  if (kind == RHS_ZERO || (kind == RHS_ONE && i != (int)(seed % (unsigned)c->p->n))) return 0;
  if (kind == RHS_LARGE) return b * (is_single(c->p->scalar) ? 1e10L : 1e100L);
  if (kind == RHS_PRODUCT && c->v != NULL) {
    b = 0;
    for (int j = 0; j < c->p->n; j++) b += c->v->truth[i][j];
  }
  return b;
}

/* ---- Judgement of solutions -------------------------------------------------------------------------------
 */

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

/* The smallest positive number of a type. */
static long double smallest_number(tristar_scalar scalar) {
  return is_single(scalar) ? FLT_TRUE_MIN : DBL_TRUE_MIN;
}

static errors measure(const cell *c, tristar_op op, const number *b, const number *x) {
  const int n = c->p->n;
  const double eps = 2 * unit_roundoff(c->p->scalar);
  const reference *r = values_reference(c->p, c->v);
  number truth[ORDER_MOST];
  long double residual[ORDER_MOST], size[ORDER_MOST], row_sum[ORDER_MOST], bounds[ORDER_MOST];
  long double most_residual = 0, most_sum = 0, most_x = 0, most_b = 0, most_difference = 0;
  errors e = {.finite = true};
  for (int i = 0; i < n; i++) {
    e.finite = e.finite && isfinite(creall(x[i])) && isfinite(cimagl(x[i]));
    most_x = fmaxl(most_x, cabsl(x[i]));
    most_b = fmaxl(most_b, cabsl(b[i]));
  }
  for (int i = 0; i < n; i++) {
    number sum = b[i];
    size[i] = cabsl(b[i]);
    row_sum[i] = 0;
    for (int j = 0; j < n; j++) {
      sum -= reference_op(c->v->truth, op, i, j) * x[j];
      size[i] += magnitude_of_op(c->v, op, i, j) * cabsl(x[j]);
      row_sum[i] += magnitude_of_op(c->v, op, i, j);
    }
    residual[i] = cabsl(sum);
    most_residual = fmaxl(most_residual, residual[i]);
    most_sum = fmaxl(most_sum, row_sum[i]);
  }
  if (most_residual > 0) e.backward = most_residual / (most_sum * most_x + most_b);
  for (int i = 0; i < n; i++) {
    long double bound = size[i];
    if (bound < fmin(1000 * n * eps, 1e-3) * (row_sum[i] * most_x + cabsl(b[i])))
      bound = size[i] - cabsl(b[i]) + row_sum[i] * most_x;
    bounds[i] = bound;
    if (bound > 0) e.underflow = fmaxl(e.underflow, 4 * n * smallest_number(c->p->scalar) / bound);
    if (residual[i] > 0) e.documented = fmaxl(e.documented, residual[i] / bound);
    if (residual[i] > 0) e.strict = fmaxl(e.strict, residual[i] / size[i]);
  }
  if (!r->trusted) return e;
  reference_solve(r, c->v->truth, op, b, truth);
  for (int i = 0; i < n; i++) {
    long double sum = 0, documented = 0;
    for (int j = 0; j < n; j++) {
      const long double inverse = cabsl(reference_op(((reference *)r)->inverse, op, i, j));
      sum += inverse * size[j];
      documented += inverse * bounds[j];
    }
    e.sensitivity = fmaxl(e.sensitivity, sum);
    e.documented_sensitivity = fmaxl(e.documented_sensitivity, documented);
    most_difference = fmaxl(most_difference, cabsl(x[i] - truth[i]));
  }
  e.forward = most_x > 0 ? most_difference / most_x : most_difference > 0 ? INFINITY : 0;
  e.sensitivity = most_x > 0 ? e.sensitivity / most_x : 0;
  e.documented_sensitivity = most_x > 0 ? e.documented_sensitivity / most_x : 0;
  return e;
}

static void fetch_column(const cell *c, const void *array, int64_t begin, int64_t stride, number *column) {
  for (int i = 0; i < c->p->n; i++) column[i] = get(c->p->scalar, array, (int)(begin + i * stride));
}

/* One column of a solve that is not refined. */
static void judge_plain(const cell *c, tristar_op op, const number *b, const number *x) {
  if (c->v == NULL || c->p->n == 0 || !c->v->finite || !well_conditioned(c) || matched_otherwise(c)) return;
  const errors e = measure(c, op, b, x);
  if (badly_scaled(c) || (mixed(c) && !c->v->fits_single)) return; /* judged as refined */
  for (int i = 0; mixed(c) && i < c->p->n; i++)
    if (cabsl(b[i]) > 1e30L) return;
  MUST(e.finite, "a solution is not finite; condition %Lg", c->v->reference.bauer);
  const bool definite = fits_method(c) && c->options.method == TRISTAR_METHOD_LLT;
  const bool stable = definite || is_dominant(c) || c->imported;
  const long double limit =
      100.0L * (c->p->n + 10) * c->eps * (stable && !definite && !c->imported ? 1 : c->v->reference.kappa);
  if (stable)
    MUST(e.backward <= limit, "backward error %Lg is above %Lg; condition %Lg", e.backward, limit,
         c->v->reference.kappa);
}

/* ---- Calls ------------------------------------------------------------------------------------------------
 */

/* A view whose arrays can be spoilt. */
static struct {
  union {
    int32_t narrow[ORDER_MOST + 1];
    int64_t wide[ORDER_MOST + 1];
  } ptr;
  union {
    int32_t narrow[ENTRIES_MOST + 1];
    int64_t wide[ENTRIES_MOST + 1];
  } index;
  _Alignas(16) unsigned char stored[(ENTRIES_MOST + 1) * SCALAR_MOST];
} spoilt;

static void set_ptr(const tristar_view *view, int k, int64_t to) {
  if (view->ptr_bits == 32)
    spoilt.ptr.narrow[k] = (int32_t)to;
  else
    spoilt.ptr.wide[k] = to;
}
static void set_index(const tristar_view *view, int e, int64_t to) {
  if (view->index_bits == 32)
    spoilt.index.narrow[e] = (int32_t)to;
  else
    spoilt.index.wide[e] = to;
}

/* Adds the mirror image of an entry, at the end of its line. false: there is none to be added. */
static bool add_image(const pattern *p, const values *v, const tristar_view *view, int place) {
  const bool by_rows = view->format == TRISTAR_CSR;
  int e = 0;
  if (p->symmetry == TRISTAR_GENERAL || p->count == ENTRIES_MOST) return false;
  for (int k = 0; k < p->count; k++) {
    e = (place + k) % p->count;
    if (p->row[e] != p->column[e]) break;
  }
  if (p->count == 0 || p->row[e] == p->column[e]) return false;
  const int line = by_rows ? p->column[e] : p->row[e], minor = by_rows ? p->row[e] : p->column[e];
  const int at = p->line[line + 1];
  for (int k = p->count; k > at; k--) {
    set_index(view, k, (by_rows ? p->column[k - 1] : p->row[k - 1]) + view->base);
    put(p->scalar, spoilt.stored, k, get(p->scalar, v->stored, k - 1));
  }
  set_index(view, at, minor + view->base);
  put(p->scalar, spoilt.stored, at, get(p->scalar, v->stored, e));
  for (int k = line + 1; k <= p->n; k++) set_ptr(view, k, p->line[k] + 1 + view->base);
  return true;
}

/* A diagonal entry that the kind of symmetry excludes. false: there is none. */
static bool spoil_diagonal(const pattern *p, const tristar_view *view) {
  number wrong = 1;
  __imag__ wrong = 1;
  if (view->values == NULL ||
      !(p->symmetry == TRISTAR_SKEW_SYMMETRIC || (p->symmetry == TRISTAR_HERMITIAN && is_complex(p->scalar))))
    return false;
  for (int e = 0; e < p->count; e++)
    if (p->row[e] == p->column[e]) {
      put(p->scalar, spoilt.stored, e, wrong);
      return true;
    }
  return false;
}

/* Spoils the arrays; gives the statuses that are then right; 0: nothing is wrong. */
static unsigned spoil_arrays(const pattern *p, const values *v, const tristar_view *view, int fault,
                             int place, int64_t extreme) {
  const int64_t base = view->base;
  if (fault == 0) { /* ptr[0] */
    set_ptr(view, 0, view->ptr_bits == 32 ? base + 1 + place % 5 : extreme == base ? -7 : extreme);
    return BIT(TRISTAR_ERR_FORMAT);
  }
  if (fault == 3) return add_image(p, v, view, place) ? BIT(TRISTAR_ERR_FORMAT) : 0;
  if (fault == 4) return spoil_diagonal(p, view) ? BIT(TRISTAR_ERR_FORMAT) : 0;
  if (p->count == 0) return 0;
  if (fault == 1) /* ptr falls */
    set_ptr(view, p->n, base - 1 - place);
  else if (view->index_bits == 32) /* an index beyond the matrix */
    set_index(view, place % p->count, place & 1 ? p->n + base : base - 1);
  else
    set_index(view, place % p->count, extreme >= 0 && extreme < p->n + base ? -5 : extreme);
  return BIT(TRISTAR_ERR_FORMAT);
}

/* The same for what is not in an array. */
static unsigned spoil_head(const pattern *p, tristar_view *view, int fault, int place, int64_t extreme) {
  switch (fault) {
  case 0:
    view->ptr_bits = place & 1 ? 16 : 0;
    break;
  case 1:
    view->index_bits = place & 1 ? 16 : 0;
    break;
  case 2:
    view->base = place & 1 ? 2 : -1;
    break;
  case 3:
    view->rows++;
    return BIT(TRISTAR_ERR_RECTANGULAR);
  case 4:
    view->rows = view->cols = extreme == 3 ? -3 : extreme < 0 ? extreme : INT64_MAX;
    return BIT(view->rows < 0 ? TRISTAR_ERR_ARGUMENT : TRISTAR_ERR_TOO_LARGE);
  case 5:
    view->ptr = NULL;
    break;
  case 6:
    view->index = NULL;
    if (p->count == 0) return 0;
    break;
  case 7:
    view->format = (tristar_format)(place + 2);
    break;
  case 8:
    view->symmetry = (tristar_symmetry)(place + 4);
    break;
  default:
    view->scalar = (tristar_scalar)0;
  }
  return BIT(TRISTAR_ERR_ARGUMENT);
}

/* The pattern's view with values, of which one thing may be wrong; *right: the statuses that are then right.
 */
static tristar_view choose_view(const pattern *p, const values *v, bool with_values, unsigned *right) {
  static const int64_t extremes[] = {-1, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, 3};
  tristar_view view = p->view;
  view.values = with_values ? v->stored : NULL;
  *right = 0;
  if (!chance(&g->in, 24)) return view;
  const int fault = below(&g->in, 15), place = below(&g->in, 256);
  const int64_t extreme = extremes[below(&g->in, 6)];
  memcpy(&spoilt.ptr, &p->ptr, sizeof p->ptr);
  memcpy(&spoilt.index, &p->index, sizeof p->index);
  memcpy(spoilt.stored, v->stored, sizeof v->stored);
  view.ptr = &spoilt.ptr;
  view.index = &spoilt.index;
  *right = fault < 5 ? spoil_arrays(p, v, &view, fault, place, extreme)
                     : spoil_head(p, &view, fault - 5, place, extreme);
  if (with_values) view.values = spoilt.stored;
  note("fault %d of the view, at %d, number %lld\n", fault, place, (long long)extreme);
  return view;
}

/* Options of an analysis, of which one may be wrong. */
static tristar_analysis_options choose_analysis_options(const pattern *p, unsigned *right) {
  static int64_t permutation[ORDER_MOST];
  static const int leaves[] = {0, 0, 0, 1, 2, 4, 8};
  tristar_analysis_options o;
  tristar_analysis_options_init(&o);
  *right = 0;
  if (!chance(&g->in, 160)) return o; /* the defaults */
  o.method = (tristar_method)below(&g->in, 4);
  o.ordering = (tristar_ordering)below(&g->in, 3);
  const int parts = leaves[below(&g->in, 7)];
  if (o.ordering == TRISTAR_ORDERING_METIS) o.leaf_parts = parts;
  o.seed = below(&g->in, 256) - 100;
  o.matching = (tristar_matching)below(&g->in, 3);
  o.single_factors = chance(&g->in, 48);
  o.inverse = (tristar_inverse)below(&g->in, 3);
  o.merge = (tristar_merge)below(&g->in, 3);
  const uint64_t seed = take(&g->in);
  for (int k = 0; k < p->n; k++) permutation[k] = k;
  for (int k = p->n - 1; k > 0; k--) {
    const int other = hash_below(seed, k, 1, k + 1);
    const int64_t kept = permutation[k];
    permutation[k] = permutation[other];
    permutation[other] = kept;
  }
  o.permutation = o.ordering == TRISTAR_ORDERING_USER ? permutation : NULL;
  if (chance(&g->in, 16)) {
    const int fault = below(&g->in, 6);
    *right = BIT(TRISTAR_ERR_ARGUMENT);
    if (fault == 0)
      o.method = (tristar_method)7;
    else if (fault == 1)
      o.leaf_parts = seed & 1 ? 3 : -1;
    else if (fault == 2)
      o.ordering = TRISTAR_ORDERING_USER, o.permutation = NULL;
    else if (fault == 3 && p->n > 1 && o.permutation != NULL)
      permutation[seed % (unsigned)p->n] = permutation[(seed + 1) % (unsigned)p->n];
    else if (fault == 4 && p->n > 0 && o.permutation != NULL)
      permutation[seed % (unsigned)p->n] = seed & 1 ? -1 : INT64_MAX;
    else if (fault == 5)
      o.merge = (tristar_merge)-1;
    else
      *right = 0;
    if (fault == 2 && p->n == 0) *right |= ONLY_OK;
    /* leaves count for METIS alone */
    if (fault == 1 && o.ordering != TRISTAR_ORDERING_METIS) *right |= ONLY_OK;
  }
  note("method %d, ordering %d, leaves %d, seed %d, matching %d, single %d, inverse %d, merge %d\n",
       (int)o.method, (int)o.ordering, o.leaf_parts, o.seed, (int)o.matching, o.single_factors,
       (int)o.inverse, (int)o.merge);
  return o;
}

static bool same_as_transpose(const pattern *p) {
  bool at[ORDER_MOST][ORDER_MOST] = {{false}}, same = true;
  for (int e = 0; e < p->count; e++) at[p->row[e]][p->column[e]] = true;
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < i; j++) same = same && at[i][j] == at[j][i];
  return same;
}

/* Which statuses may an analysis without a fault of its arguments have? */
static unsigned analysis_statuses(const pattern *p, values *v, bool with_values,
                                  const tristar_analysis_options *o) {
  static square stored;
  unsigned right = ONLY_OK;
  const bool hermitian =
      p->symmetry == TRISTAR_HERMITIAN || (p->symmetry == TRISTAR_SYMMETRIC && !is_complex(p->scalar));
  if (with_values && !v->finite) return BIT(TRISTAR_ERR_NOT_FINITE);
  if (!with_values && o->matching == TRISTAR_MATCHING_ON) right |= BIT(TRISTAR_ERR_ARGUMENT);
  const bool undeclared = p->symmetry == TRISTAR_GENERAL;
  const bool symmetric_pattern = same_as_transpose(p); /* explicit zeros count */
  if (o->method == TRISTAR_METHOD_LLT &&
      !(undeclared ? !with_values || (v->hermitian && symmetric_pattern) : hermitian))
    right |= BIT(TRISTAR_ERR_ARGUMENT);
  if (o->method == TRISTAR_METHOD_LDLT &&
      !(undeclared ? with_values && symmetric_pattern && (v->hermitian || v->symmetric)
                   : hermitian || p->symmetry == TRISTAR_SYMMETRIC))
    right |= BIT(TRISTAR_ERR_ARGUMENT);
  memset(stored, 0, sizeof stored);
  for (int e = 0; e < p->count; e++) {
    stored[p->row[e]][p->column[e]] = 1;
    if (p->symmetry != TRISTAR_GENERAL) stored[p->column[e]][p->row[e]] = 1;
  }
  if (reference_structural_rank(p->n, with_values ? v->truth : stored) < p->n)
    right |= BIT(TRISTAR_ERR_SINGULAR);
  return right;
}

static void call_analyze(void) {
  const int slot = below(&g->in, SLOTS), which = below(&g->in, PATTERNS);
  const pattern *p = &g->pattern[which];
  values *v = g->current[which];
  const bool with_values = !chance(&g->in, 32);
  unsigned view_right, options_right;
  const tristar_view view = choose_view(p, v, with_values, &view_right);
  const tristar_analysis_options options = choose_analysis_options(p, &options_right);
  analysis_slot *a = &g->analysis[slot];
  tristar_analysis_destroy(&a->handle);
  unsigned right = view_right ? view_right : options_right ? options_right : 0;
  if (view_right && options_right) right = view_right | options_right;
  if (right == 0 || (right & ONLY_OK)) right |= analysis_statuses(p, v, with_values, &options);
  /* other faults of the same call may be seen first */
  if (!(right & ONLY_OK)) right |= analysis_statuses(p, v, with_values, &options) & ~ONLY_OK;
  arm();
  const tristar_status status =
      outcome("tristar_analyze", tristar_analyze(g->ts, &view, &options, &a->handle), right);
  MUST((a->handle != NULL) == (status == TRISTAR_OK), "the analysis is %s", a->handle ? "there" : "NULL");
  if (status != TRISTAR_OK) return;
  const tristar_scalar scalar =
      options.single_factors ? (is_complex(p->scalar) ? TRISTAR_COMPLEX_SINGLE : TRISTAR_SINGLE) : p->scalar;
  a->like = (cell){.p = p,
                   .options = options,
                   .values_known = with_values,
                   .analyzed = with_values ? v : NULL,
                   .analyzed_hermitian = with_values && v->hermitian,
                   .analyzed_symmetric = with_values && v->symmetric,
                   .eps = unit_roundoff(scalar)};
  tristar_analysis_stats stats;
  tristar_analysis_get_stats(a->handle, &stats);
  MUST(stats.n == p->n && stats.nnz_lower >= p->n && stats.stored_lower >= stats.nnz_lower,
       "figures of an analysis");
}

/* Statuses of a factorization of c->v. */
static unsigned factor_statuses(cell *c) {
  unsigned right = ONLY_OK;
  const bool explicit_llt = c->options.method == TRISTAR_METHOD_LLT;
  if (!c->v->finite) return BIT(TRISTAR_ERR_NOT_FINITE);
  if (c->p->n > 0 && c->v->zero)
    return BIT(TRISTAR_ERR_SINGULAR) | (explicit_llt ? BIT(TRISTAR_ERR_NOT_POSITIVE_DEFINITE) : 0);
  if (!well_conditioned(c)) right |= BIT(TRISTAR_ERR_SINGULAR) | BIT(TRISTAR_ERR_NOT_FINITE);
  if (explicit_llt &&
      (!c->v->hermitian || reference_definiteness(c->p->n, c->v->truth) < 100 * (c->p->n + 10) * c->eps))
    right |= BIT(TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  if (explicit_llt && !c->v->hermitian) right |= BIT(TRISTAR_ERR_ARGUMENT);
  if (analyzed_otherwise(c))
    right |= BIT(TRISTAR_ERR_ARGUMENT) | BIT(TRISTAR_ERR_SINGULAR) | BIT(TRISTAR_ERR_NOT_FINITE);
  if (matched_otherwise(c) || lacks_pivots(c))
    right |= BIT(TRISTAR_ERR_SINGULAR) | BIT(TRISTAR_ERR_NOT_FINITE);
  if (analyzed_otherwise(c)) right |= BIT(TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  return right;
}

/* Other values for the pattern of a cell, or those that are there. */
static values *choose_values(const pattern *p) {
  const int which = p == &g->pattern[0] ? 0 : 1;
  if (chance(&g->in, 128)) {
    values *v = keep(sizeof *v);
    values_make(&g->in, p, v);
    g->current[which] = v;
  }
  return g->current[which];
}

static void judge_order(const tristar_factor_t *f, int n) {
  int64_t row[ORDER_MOST], column[ORDER_MOST];
  double row_scale[ORDER_MOST], column_scale[ORDER_MOST];
  bool seen_row[ORDER_MOST] = {false}, seen_column[ORDER_MOST] = {false};
  tristar_factor_get_order(f, row, column, row_scale, column_scale);
  for (int k = 0; k < n; k++) {
    MUST(row[k] >= 0 && row[k] < n && !seen_row[row[k]], "row_order is no permutation");
    MUST(column[k] >= 0 && column[k] < n && !seen_column[column[k]], "column_order is no permutation");
    seen_row[row[k]] = seen_column[column[k]] = true;
    MUST(row_scale[k] > 0 && isfinite(row_scale[k]) && column_scale[k] > 0 && isfinite(column_scale[k]),
         "scales %g, %g", row_scale[k], column_scale[k]);
  }
}

static void call_factor(void) {
  const analysis_slot *a = &g->analysis[below(&g->in, SLOTS)];
  factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  if (a->handle == NULL) return;
  tristar_factor_destroy(&f->handle);
  f->cell = keep(sizeof *f->cell);
  *f->cell = a->like;
  f->cell->v = choose_values(a->like.p);
  arm();
  const tristar_status status = outcome(
      "tristar_factor", tristar_factor(a->handle, f->cell->v->stored, &f->handle), factor_statuses(f->cell));
  MUST((f->handle != NULL) == (status == TRISTAR_OK), "the factor is %s", f->handle ? "there" : "NULL");
  if (status == TRISTAR_OK) judge_order(f->handle, a->like.p->n);
}

static void finish_request(request_slot *r);

/* No solve may be in flight while its factor changes. */
static void land(const cell *c) {
  for (int k = 0; k < REQUESTS; k++)
    if (g->request[k].handle != NULL && g->request[k].cell == c) finish_request(&g->request[k]);
}

static void call_refactor(void) {
  const factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  if (f->handle == NULL) return;
  cell *c = f->cell;
  land(c);
  if (c->imported) {
    outcome("tristar_refactor", tristar_refactor(f->handle, c->p->ptr.wide), BIT(TRISTAR_ERR_UNSUPPORTED));
    return;
  }
  c->v = choose_values(c->p);
  const unsigned right =
      factor_statuses(c) |
      (c->options.method == TRISTAR_METHOD_AUTO ? BIT(TRISTAR_ERR_NOT_POSITIVE_DEFINITE) : 0);
  arm();
  if (outcome("tristar_refactor", tristar_refactor(f->handle, c->v->stored), right) != TRISTAR_OK)
    c->v = NULL;
}

static void call_import(void) {
  const pattern *p = &g->pattern[below(&g->in, PATTERNS)];
  factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  const bool lower = below(&g->in, 2), unit = below(&g->in, 2);
  values *given = choose_values(p);
  tristar_view view = p->view;
  unsigned right = ONLY_OK;
  view.values = given->stored;
  tristar_factor_destroy(&f->handle);
  f->cell = keep(sizeof *f->cell);
  values *v = keep(sizeof *v);
  *v = *given;
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < p->n; j++)
      if (lower ? j > i : j < i)
        v->truth[i][j] = 0;
      else if (i == j && unit)
        v->truth[i][j] = 1;
  v->hermitian = v->symmetric = v->known = false;
  *f->cell = (cell){.p = p, .v = v, .imported = true, .eps = unit_roundoff(p->scalar)};
  if (!v->finite) right = (right & ~ONLY_OK) | BIT(TRISTAR_ERR_NOT_FINITE);
  for (int i = 0; i < p->n && (right & ONLY_OK); i++)
    if (v->truth[i][i] == 0) right = BIT(TRISTAR_ERR_SINGULAR);
  if (right == BIT(TRISTAR_ERR_SINGULAR))
    right |= BIT(TRISTAR_ERR_NOT_FINITE); /* another column may be tiny */
  if (right & ONLY_OK && !well_conditioned(f->cell))
    right |= BIT(TRISTAR_ERR_SINGULAR) | BIT(TRISTAR_ERR_NOT_FINITE);
  /* Imported values are not scaled: the inverse of a block of subnormal ones is out of the type's range. */
  for (int i = 0; i < p->n; i++)
    if (cabsl(v->truth[i][i]) < (is_single(p->scalar) ? 1e-30 : 1e-290)) right |= BIT(TRISTAR_ERR_NOT_FINITE);
  note("%s, %s diagonal\n", lower ? "lower" : "upper", unit ? "unit" : "its own");
  arm();
  const tristar_status status =
      outcome("tristar_import_csr",
              tristar_import_csr(g->ts, &view, lower ? TRISTAR_LOWER : TRISTAR_UPPER,
                                 unit ? TRISTAR_UNIT : TRISTAR_NON_UNIT, &f->handle),
              right);
  MUST((f->handle != NULL) == (status == TRISTAR_OK), "the factor is %s", f->handle ? "there" : "NULL");
}

static void call_plan(void) {
  static const int64_t floors[] = {0, 0, 0, 64, 400, 4000}, ceilings[] = {0, 0, 0, 64, 400, 4000};
  const factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  plan_slot *p = &g->plan[below(&g->in, SLOTS)];
  unsigned right = ONLY_OK;
  if (f->handle == NULL) return;
  for (int k = 0; k < REQUESTS; k++)
    if (g->request[k].plan == p->handle) g->request[k].plan = NULL;
  tristar_plan_destroy(&p->handle);
  p->cell = f->cell;
  tristar_plan_options *o = &p->options;
  tristar_plan_options_init(o);
  if (chance(&g->in, 192)) {
    o->engine = (tristar_engine)below(&g->in, 3);
    o->nrhs = below(&g->in, 6);
    o->chunk_bytes_min = floors[below(&g->in, 6)];
    o->chunk_bytes_max = ceilings[below(&g->in, 6)];
    o->order_seed = take(&g->in);
    o->placement = (tristar_placement)below(&g->in, 3);
    o->scheduling = (tristar_scheduling)below(&g->in, 2);
    o->updates = (tristar_updates)below(&g->in, 2);
    o->granularity = (tristar_granularity)below(&g->in, 2);
    o->kernel = chance(&g->in, 40) ? TRISTAR_KERNEL_SPMV : TRISTAR_KERNEL_PANELS;
    if (chance(&g->in, 8)) o->nrhs = -1, right = BIT(TRISTAR_ERR_ARGUMENT);
    note("engine %d, nrhs %d, chunks %d to %d, seed %u, scheduling %d, updates %d, granularity %d, kernel "
         "%d\n",
         (int)o->engine, (int)o->nrhs, (int)o->chunk_bytes_min, (int)o->chunk_bytes_max, o->order_seed,
         (int)o->scheduling, (int)o->updates, (int)o->granularity, (int)o->kernel);
  }
  if (o->engine == TRISTAR_ENGINE_TASKS && g->ts == serial)
    right = (right & ~ONLY_OK) | BIT(TRISTAR_ERR_UNSUPPORTED);
  if (o->kernel == TRISTAR_KERNEL_SPMV) right |= BIT(TRISTAR_ERR_UNSUPPORTED);
  if (f->cell->v == NULL) right = (right & ~ONLY_OK) | BIT(TRISTAR_ERR_STALE);
  arm();
  const tristar_status status = outcome("tristar_plan", tristar_plan(f->handle, o, &p->handle), right);
  MUST((p->handle != NULL) == (status == TRISTAR_OK), "the plan is %s", p->handle ? "there" : "NULL");
}

/* b and x of a solve: in memory of their own, of which nothing but the rows and columns that are meant may be
 * written. */
typedef struct operands {
  int64_t nrhs, rows_b, rows_x, step_b, step_x, next_b,
      next_x; /* step: between rows; next: between columns */
  void *b, *x;
  size_t bytes;
} operands;

static size_t scalar_bytes(const cell *c) {
  return (is_complex(c->p->scalar) ? 2 : 1) * (is_single(c->p->scalar) ? sizeof(float) : sizeof(double));
}

static int choose_columns(void) {
  const int kind = below(&g->in, 16);
  return kind < 8 ? 1 : kind < 14 ? below(&g->in, 6) : kind < 15 ? 17 : 65;
}

static void fill_operands(const cell *c, operands *o, const int64_t *b_row) {
  const rhs_kind kind = (rhs_kind)below(&g->in, RHS_KINDS);
  const uint64_t seed = take(&g->in);
  const int64_t most_rows = o->rows_b > o->rows_x ? o->rows_b : o->rows_x;
  const int64_t step = o->step_b > o->step_x ? o->step_b : o->step_x,
                next = o->next_b > o->next_x ? o->next_b : o->next_x;
  o->bytes = (size_t)(most_rows * step + o->nrhs * next + PAD) * scalar_bytes(c);
  o->b = keep(o->bytes);
  o->x = keep(o->bytes);
  memset(o->x, 0x7b, o->bytes);
  for (int64_t k = 0; k < o->nrhs; k++)
    for (int64_t i = 0; i < o->rows_b; i++)
      put(c->p->scalar, o->b, (int)(i * o->step_b + k * o->next_b),
          rhs_entry(c, kind, seed, (int)(b_row ? b_row[i] : i), (int)k));
  note("%d right-hand sides, kind %d, seed %llu\n", (int)o->nrhs, (int)kind, (unsigned long long)seed);
}

static tristar_op choose_op(void) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const tristar_op op = ops[below(&g->in, 4)];
  note("op %c: ", (char)op);
  return op;
}

static unsigned solve_statuses(const cell *c) {
  return c->v == NULL ? BIT(TRISTAR_ERR_STALE) : ONLY_OK;
}

/* Beyond the columns of x nothing was written. */
static void judge_gaps(const cell *c, const operands *o) {
  const unsigned char *x = o->x;
  const size_t width = scalar_bytes(c);
  static bool meant[(ORDER_MOST + PAD) * (COLUMNS_MOST + PAD) * 4];
  const int64_t all = (int64_t)(o->bytes / width);
  if (all > (int64_t)sizeof meant) return;
  memset(meant, 0, sizeof meant);
  for (int64_t k = 0; k < o->nrhs; k++)
    for (int64_t i = 0; i < o->rows_x; i++) meant[i * o->step_x + k * o->next_x] = true;
  for (int64_t at = 0; at < all; at++)
    for (size_t byte = 0; byte < width && !meant[at]; byte++)
      MUST(x[(size_t)at * width + byte] == 0x7b, "scalar %lld of x was written", (long long)at);
}

static operands choose_operands(const cell *c) {
  const int64_t n = c->p->n, gap = chance(&g->in, 64) ? below(&g->in, PAD) : 0;
  operands o = {.nrhs = choose_columns(), .rows_b = n, .rows_x = n, .step_b = 1, .step_x = 1};
  o.next_b = n + gap;
  o.next_x = n + (gap ? PAD - gap : 0);
  fill_operands(c, &o, NULL);
  return o;
}

static void judge_columns(const cell *c, tristar_op op, const operands *o, bool plain) {
  number b[ORDER_MOST], x[ORDER_MOST];
  for (int64_t k = 0; k < o->nrhs && plain; k++) {
    fetch_column(c, o->b, k * o->next_b, o->step_b, b);
    fetch_column(c, o->x, k * o->next_x, o->step_x, x);
    judge_plain(c, op, b, x);
  }
}

/* tristar_solve; also with x in the place of b, with the same bits. */
static void call_solve(void) {
  const plan_slot *p = &g->plan[below(&g->in, SLOTS)];
  if (p->handle == NULL) return;
  const cell *c = p->cell;
  const tristar_op op = choose_op();
  operands o = choose_operands(c);
  unsigned right = solve_statuses(c);
  const bool narrow = o.nrhs > 1 && c->p->n > 0 && chance(&g->in, 8), in_place = chance(&g->in, 48);
  arm();
  const tristar_status status =
      outcome("tristar_solve",
              tristar_solve(p->handle, op, o.nrhs, o.b, narrow ? c->p->n - 1 : o.next_b, o.x, o.next_x),
              narrow ? (right & ~ONLY_OK) | BIT(TRISTAR_ERR_ARGUMENT) : right);
  if (status != TRISTAR_OK) return;
  judge_gaps(c, &o);
  judge_columns(c, op, &o, !analyzed_otherwise(c));
  if (!in_place) return;
  if (outcome("tristar_solve, x = b", tristar_solve(p->handle, op, o.nrhs, o.b, o.next_b, o.b, o.next_b),
              right) != TRISTAR_OK)
    return;
  for (int64_t k = 0; k < o.nrhs; k++)
    for (int64_t i = 0; i < c->p->n; i++)
      MUST(memcmp((char *)o.b + (size_t)(i + k * o.next_b) * scalar_bytes(c),
                  (char *)o.x + (size_t)(i + k * o.next_x) * scalar_bytes(c), scalar_bytes(c)) == 0,
           "x in the place of b gets other bits, row %lld, column %lld", (long long)i, (long long)k);
}

/* Some rows, in any order. */
static int64_t *choose_rows(int n, int64_t *count) {
  int64_t *row = keep((size_t)(n + 1) * sizeof *row);
  const uint64_t seed = take(&g->in);
  *count = 0;
  for (int i = 0; i < n; i++)
    if (hash_below(seed, i, 0, 3)) row[(*count)++] = i;
  for (int64_t k = *count - 1; k > 0; k--) {
    const int64_t other = hash_below(seed, (int)k, 1, (int)k + 1), kept = row[k];
    row[k] = row[other];
    row[other] = kept;
  }
  return row;
}

static tristar_solve_options choose_solve_options(const cell *c, operands *o) {
  tristar_solve_options s;
  tristar_solve_options_init(&s);
  const int64_t n = c->p->n;
  s.op = choose_op();
  s.part = chance(&g->in, 64) ? (tristar_part)below(&g->in, 4) : TRISTAR_PART_ALL;
  s.factor_order = chance(&g->in, 32);
  *o = (operands){.nrhs = choose_columns(), .rows_b = n, .rows_x = n, .step_b = 1, .step_x = 1};
  if (chance(&g->in, 64)) s.b_row = choose_rows(c->p->n, &s.b_rows), o->rows_b = s.b_rows;
  if (chance(&g->in, 64)) s.x_row = choose_rows(c->p->n, &s.x_rows), o->rows_x = s.x_rows;
  o->next_b = o->rows_b > 0 ? o->rows_b : 1;
  o->next_x = o->rows_x > 0 ? o->rows_x : 1;
  if (chance(&g->in, 64)) { /* row by row */
    o->step_b = s.b_row_stride = o->nrhs > 0 ? o->nrhs : 1;
    o->step_x = s.x_row_stride = o->step_b + below(&g->in, PAD);
    o->next_b = s.b_column_stride = 1;
    o->next_x = s.x_column_stride = 1;
  }
  fill_operands(c, o, s.b_row);
  note("part %d, factor order %d, rows %lld and %lld, strides %lld %lld %lld %lld\n", (int)s.part,
       s.factor_order, s.b_row ? (long long)s.b_rows : -1, s.x_row ? (long long)s.x_rows : -1,
       (long long)o->step_b, (long long)o->next_b, (long long)o->step_x, (long long)o->next_x);
  return s;
}

/* The same solve with all rows, column by column, must have the same numbers. */
static void compare_with_dense(const plan_slot *p, const tristar_solve_options *s, const operands *o) {
  const cell *c = p->cell;
  const size_t n = (size_t)c->p->n, width = scalar_bytes(c);
  char *b = keep((n * (size_t)o->nrhs + 1) * width), *x = keep((n * (size_t)o->nrhs + 1) * width);
  tristar_solve_options all;
  tristar_solve_options_init(&all);
  all.op = s->op, all.part = s->part, all.factor_order = s->factor_order;
  for (int64_t k = 0; k < o->nrhs; k++)
    for (int64_t i = 0; i < o->rows_b; i++)
      memcpy(b + ((size_t)(s->b_row ? s->b_row[i] : i) + (size_t)k * n) * width,
             (char *)o->b + (size_t)(i * o->step_b + k * o->next_b) * width, width);
  const tristar_status status = tristar_solve_with(p->handle, &all, o->nrhs, b, x, NULL);
  MUST(status == TRISTAR_OK, "the same solve with all rows gives %s", tristar_status_name(status));
  for (int64_t k = 0; k < o->nrhs; k++)
    for (int64_t i = 0; i < o->rows_x; i++) {
      const int64_t row = s->x_row ? s->x_row[i] : i;
      const number got = get(c->p->scalar, o->x, (int)(i * o->step_x + k * o->next_x));
      const number wanted = get(c->p->scalar, x, (int)(row + k * (int64_t)n));
      const bool nothing = got != got && wanted != wanted; /* NaN both */
      MUST(got == wanted || nothing, "row %lld, column %lld: %Lg%+Lgi, with all rows %Lg%+Lgi",
           (long long)row, (long long)k, creall(got), cimagl(got), creall(wanted), cimagl(wanted));
    }
}

static unsigned with_statuses(const plan_slot *p, const tristar_solve_options *s) {
  unsigned right = solve_statuses(p->cell);
  if (p->options.kernel == TRISTAR_KERNEL_SPMV && (s->part != TRISTAR_PART_ALL || s->b_row || s->x_row))
    right = (right & ~ONLY_OK) | BIT(TRISTAR_ERR_UNSUPPORTED);
  if (p->cell->imported && s->part != TRISTAR_PART_ALL) right |= BIT(TRISTAR_ERR_ARGUMENT);
  return right;
}

static void call_solve_with(void) {
  const plan_slot *p = &g->plan[below(&g->in, SLOTS)];
  operands o;
  if (p->handle == NULL) return;
  tristar_solve_options s = choose_solve_options(p->cell, &o);
  tristar_solve_result result;
  unsigned right = with_statuses(p, &s);
  const int fault = chance(&g->in, 12) ? 1 + below(&g->in, 3) : 0;
  if (fault == 1) s.op = (tristar_op)'x';
  if (fault == 2 && s.b_row != NULL && s.b_rows > 1) ((int64_t *)(uintptr_t)s.b_row)[0] = s.b_row[1];
  if (fault == 3 && s.x_row != NULL && s.x_rows > 0) ((int64_t *)(uintptr_t)s.x_row)[0] = p->cell->p->n;
  if (fault == 1 || (fault == 2 && s.b_row != NULL && s.b_rows > 1) ||
      (fault == 3 && s.x_row != NULL && s.x_rows > 0))
    right = (right & ~ONLY_OK) | BIT(TRISTAR_ERR_ARGUMENT);
  arm();
  if (outcome("tristar_solve_with", tristar_solve_with(p->handle, &s, o.nrhs, o.b, o.x, &result), right) !=
      TRISTAR_OK)
    return;
  MUST(result.share >= 0 && result.share <= 1, "the share is %g", result.share);
  judge_gaps(p->cell, &o);
  compare_with_dense(p, &s, &o);
}

static void call_start(void) {
  const plan_slot *p = &g->plan[below(&g->in, SLOTS)];
  request_slot *r = &g->request[below(&g->in, REQUESTS)];
  operands o;
  if (p->handle == NULL || r->handle != NULL) return;
  r->options = choose_solve_options(p->cell, &o);
  r->cell = p->cell;
  r->plan = p->handle;
  r->nrhs = o.nrhs;
  r->b = o.b, r->x = o.x;
  arm();
  const tristar_status status = outcome(
      "tristar_solve_start", tristar_solve_start(p->handle, &r->options, o.nrhs, o.b, o.x, &r->handle),
      with_statuses(p, &r->options));
  MUST((r->handle != NULL) == (status == TRISTAR_OK), "the request is %s", r->handle ? "there" : "NULL");
}

/* Waits; the same solve in one call gives the same bits. */
static void finish_request(request_slot *r) {
  tristar_solve_result result;
  const size_t room = ((size_t)r->nrhs + PAD) * ORDER_MOST * 4 * SCALAR_MOST;
  const tristar_status status =
      outcome("tristar_wait", tristar_wait(&r->handle, &result), ONLY_OK | BIT(TRISTAR_ERR_MEMORY));
  MUST(r->handle == NULL, "the request is still there");
  if (status != TRISTAR_OK || r->plan == NULL || r->cell->v == NULL) return;
  void *x = keep(room);
  const tristar_status again = tristar_solve_with(r->plan, &r->options, r->nrhs, r->b, x, NULL);
  MUST(again == TRISTAR_OK, "the same solve in one call gives %s", tristar_status_name(again));
  const int64_t rows = r->options.x_row ? r->options.x_rows : r->cell->p->n;
  const int64_t step = r->options.x_row_stride ? r->options.x_row_stride : 1;
  const int64_t next = r->options.x_column_stride ? r->options.x_column_stride : rows > 0 ? rows : 1;
  for (int64_t k = 0; k < r->nrhs; k++)
    for (int64_t i = 0; i < rows; i++)
      MUST(memcmp((char *)x + (size_t)(i * step + k * next) * scalar_bytes(r->cell),
                  (char *)r->x + (size_t)(i * step + k * next) * scalar_bytes(r->cell),
                  scalar_bytes(r->cell)) == 0,
           "the request's x has other bits than that of one call, row %lld, column %lld", (long long)i,
           (long long)k);
}

static void call_wait(void) {
  request_slot *r = &g->request[below(&g->in, REQUESTS)];
  int done = 0;
  if (r->handle == NULL) return;
  if (chance(&g->in, 128)) outcome("tristar_test", tristar_test(r->handle, &done), ONLY_OK);
  finish_request(r);
}

/* What a refined solve tells, against what is found here. */
static void judge_refined(const cell *c, bool perturbed, tristar_op op, const operands *o,
                          const tristar_refine_options *options, const tristar_refine_result *result) {
  const double eps = unit_roundoff(c->p->scalar);
  number b[ORDER_MOST], x[ORDER_MOST];
  long double documented = 0, strict = 0, forward = 0, underflow = 0;
  bool finite = true;
  MUST(!isnan(result->forward_error), "the bound of the forward error is NaN");
  if (c->p->n == 0 || o->nrhs == 0) return;
  const reference *r = values_reference(c->p, c->v);
  const bool scaled = badly_scaled(c) || (mixed(c) && !c->v->fits_single);
  for (int64_t k = 0; k < o->nrhs; k++) {
    fetch_column(c, o->b, k * o->next_b, 1, b);
    fetch_column(c, o->x, k * o->next_x, 1, x);
    const errors e = measure(c, op, b, x);
    finite = finite && e.finite;
    documented = fmaxl(documented, e.documented);
    strict = fmaxl(strict, e.strict);
    forward = fmaxl(forward, e.forward);
    underflow = fmaxl(underflow, e.underflow);
    if (!well_conditioned(c) || matched_otherwise(c) || options->max_steps < 5 ||
        options->max_iterations < 30 || options->tolerance > 0)
      continue;
    /* what perturbed pivots have spoiled may take more iterations than were allowed; the result tells */
    if (perturbed && result->iterations >= options->max_iterations) continue;
    const long double limit = 100.0L * (c->p->n + 10) * eps + e.underflow;
    MUST(e.finite && e.documented <= limit, "refined backward error %Lg is above %Lg; condition %Lg, told %g",
         e.documented, limit, r->bauer, result->backward_error);
    /* rows of tiny terms are not solved to the last digit of these: see tristar_refine_options */
    const long double sensitivity = e.strict <= limit ? e.sensitivity : e.documented_sensitivity;
    MUST(e.forward <= limit * sensitivity, "forward error %Lg, sensitivity %Lg", e.forward, sensitivity);
  }
  if (scaled) return;
  const long double told = result->backward_error, rounding = 10.0L * (c->p->n + 10) * eps + underflow;
  if (finite) /* the library takes the lesser one of two norms of x; and no number of the type tells a
               * residual that is smaller than all of them */
    MUST(told >= 0.5L * documented - rounding && told <= 1.5L * strict + rounding,
         "backward error %Lg, without a norm %Lg, was told to be %g", documented, strict,
         result->backward_error);
  if (!options->forward_error || !r->trusted || !finite || r->bauer * c->p->n > 1e14L) return;
  MUST(result->forward_error >= forward / 10, "forward error %Lg, but the bound is %g; condition %Lg",
       forward, result->forward_error, r->bauer);
}

/* May the solution be beyond the range of the type? */
static bool may_overflow(const cell *c, const operands *o) {
  const long double limit = is_single(c->p->scalar) || mixed(c) ? 1e30L : 1e290L;
  long double most = 0;
  if (c->v == NULL) return false;
  if (!values_reference(c->p, c->v)->trusted) return true; /* singular, or nearly: x may be anything */
  for (int64_t k = 0; k < o->nrhs; k++)
    for (int i = 0; i < c->p->n; i++)
      most = fmaxl(most, cabsl(get(c->p->scalar, o->b, (int)(i + k * o->next_b))));
  return most * c->p->n * values_reference(c->p, c->v)->most > limit;
}

static void call_refined(void) {
  const plan_slot *p = &g->plan[below(&g->in, SLOTS)];
  if (p->handle == NULL) return;
  const cell *c = p->cell;
  const tristar_op op = choose_op();
  const operands o = choose_operands(c);
  tristar_refine_options options;
  tristar_refine_result result = {.forward_error = NAN};
  tristar_refine_options_init(&options);
  options.forward_error = chance(&g->in, 64);
  if (chance(&g->in, 48)) {
    options.max_steps = below(&g->in, 7);
    options.max_iterations = below(&g->in, 40);
    options.tolerance = chance(&g->in, 64) ? 1e-6 : 0;
  }
  note("steps %d, iterations %d, tolerance %g, bound %d\n", options.max_steps, options.max_iterations,
       options.tolerance, options.forward_error);
  if (chance(&g->in, 12) && c->v != NULL && c->p->n > 0 && o.nrhs > 0) {
    void *before = keep(o.bytes);
    memcpy(before, o.b, o.bytes);
    outcome("tristar_solve_refined, x = b",
            tristar_solve_refined(p->handle, op, o.nrhs, o.b, o.next_b, o.b, o.next_b, &options, &result),
            BIT(TRISTAR_ERR_ARGUMENT));
    MUST(memcmp(before, o.b, o.bytes) == 0, "a refused call has overwritten b");
    return;
  }
  arm();
  const tristar_status status =
      outcome("tristar_solve_refined",
              tristar_solve_refined(p->handle, op, o.nrhs, o.b, o.next_b, o.x, o.next_x, &options, &result),
              solve_statuses(c) | (may_overflow(c, &o) ? BIT(TRISTAR_ERR_NOT_FINITE) : 0));
  if (status != TRISTAR_OK) return;
  judge_gaps(c, &o);
  judge_refined(c, p->handle->factor->stats.perturbed_pivots > 0, op, &o, &options, &result);
}

/* The condition of the matrix as it was scaled for the factorization. */
static long double scaled_condition(const cell *c, const tristar_factor_t *f) {
  static square scaled;
  static reference r;
  double row[ORDER_MOST], column[ORDER_MOST];
  long double norm = 0, inverse_norm = 0;
  tristar_factor_get_order(f, NULL, NULL, row, column);
  for (int i = 0; i < c->p->n; i++)
    for (int j = 0; j < c->p->n; j++) scaled[i][j] = c->v->truth[i][j] * row[i] * column[j];
  reference_make(c->p->n, scaled, &r);
  for (int j = 0; j < c->p->n; j++) {
    long double sum = 0, inverse_sum = 0;
    for (int i = 0; i < c->p->n; i++) sum += cabsl(scaled[i][j]), inverse_sum += cabsl(r.inverse[i][j]);
    norm = fmaxl(norm, sum);
    inverse_norm = fmaxl(inverse_norm, inverse_sum);
  }
  return r.trusted ? norm * inverse_norm : INFINITY;
}

static void call_condition(void) {
  const plan_slot *p = &g->plan[below(&g->in, SLOTS)];
  const factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  double reciprocal = -1;
  if (p->handle == NULL) return;
  const cell *c = p->cell;
  arm();
  if (outcome("tristar_condition", tristar_condition(p->handle, &reciprocal), solve_statuses(c)) !=
      TRISTAR_OK)
    return;
  note("condition %g\n", reciprocal);
  MUST(reciprocal >= 0 && reciprocal <= 1 + 1e-5, "the reciprocal condition is %g", reciprocal);
  if (c->p->n == 0 || f->cell != c || f->handle == NULL || !well_conditioned(c) || badly_scaled(c) ||
      analyzed_otherwise(c) || (reciprocal == 0 && lacks_pivots(c)))
    return;
  const long double truth = 1 / scaled_condition(c, f->handle);
  if (truth < 1e3 * c->eps) return;
  /* magnitudes of complex numbers count as the sums of their parts' */
  MUST(reciprocal >= truth / (is_complex(c->p->scalar) ? 2.2 : 1.1) && reciprocal <= 100 * truth,
       "the reciprocal condition is %g, but should be %Lg", reciprocal, truth);
}

static void call_residual(void) {
  const factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  double error = -1;
  if (f->handle == NULL || f->cell->v == NULL) return;
  const cell *c = f->cell;
  const double eps = unit_roundoff(c->p->scalar);
  const tristar_op op = choose_op();
  operands o = choose_operands(c);
  for (int64_t k = 0; k < o.nrhs; k++)
    for (int i = 0; i < c->p->n; i++)
      put(c->p->scalar, o.x, (int)(i + k * o.next_x), rhs_entry(c, RHS_UNIFORM, 17, i, (int)k));
  void *r = keep(o.bytes);
  arm();
  if (outcome("tristar_residual",
              tristar_residual(f->handle, op, o.nrhs, o.b, o.next_b, o.x, o.next_x, r, o.next_b, &error),
              ONLY_OK) != TRISTAR_OK)
    return;
  if (values_reference(c->p, c->v)->most > (is_single(c->p->scalar) ? 1e30L : 1e290L) || !c->v->finite)
    return;
  const long double floor = is_single(c->p->scalar) ? 0x1p-149L : 0x1p-1074L; /* of underflow */
  for (int64_t k = 0; k < o.nrhs; k++)
    for (int i = 0; i < c->p->n; i++) {
      number sum = get(c->p->scalar, o.b, (int)(i + k * o.next_b));
      long double size = cabsl(sum);
      for (int j = 0; j < c->p->n; j++) {
        const number x = get(c->p->scalar, o.x, (int)(j + k * o.next_x));
        sum -= reference_op(c->v->truth, op, i, j) * x;
        size += magnitude_of_op(c->v, op, i, j) * cabsl(x);
      }
      const number told = get(c->p->scalar, r, (int)(i + k * o.next_b));
      MUST(cabsl(told - sum) <= 8 * (c->p->n + 10) * (eps * size + floor),
           "residual %Lg%+Lgi, told %Lg%+Lgi, size %Lg", creall(sum), cimagl(sum), creall(told), cimagl(told),
           size);
    }
}

/* Any object, in any order. */
static void call_destroy(void) {
  const int slot = below(&g->in, SLOTS);
  switch (below(&g->in, 3)) {
  case 0:
    tristar_analysis_destroy(&g->analysis[slot].handle);
    note("analysis destroyed\n");
    return;
  case 1:
    tristar_factor_destroy(&g->factor[slot].handle);
    note("factor destroyed\n");
    return;
  default:
    for (int k = 0; k < REQUESTS; k++)
      if (g->request[k].plan == g->plan[slot].handle) g->request[k].plan = NULL;
    tristar_plan_destroy(&g->plan[slot].handle);
    note("plan destroyed\n");
  }
}

/* ---- An input ---------------------------------------------------------------------------------------------
 */

static void begin(const uint8_t *data, size_t size) {
  memset(g, 0, sizeof *g);
  account_begin();
  g->in = (bytes){data, data + size};
  const bool with_tasks = chance(&g->in, 32);
  g->ts = with_tasks ? context_with_tasks() : serial;
  note("%s\n", with_tasks ? "with StarPU" : "serial");
  for (int k = 0; k < PATTERNS; k++) {
    pattern_make(&g->in, &g->pattern[k]);
    g->current[k] = keep(sizeof *g->current[k]);
    values_make(&g->in, &g->pattern[k], g->current[k]);
    if (k == 0 && chance(&g->in, 128)) { /* one system is enough for most */
      g->pattern[1] = g->pattern[0];
      g->pattern[1].view.ptr = &g->pattern[1].ptr;
      g->pattern[1].view.index = &g->pattern[1].index;
      g->current[1] = g->current[0];
      break;
    }
  }
}

static void end(void) {
  for (int k = 0; k < REQUESTS; k++)
    if (g->request[k].handle != NULL) finish_request(&g->request[k]);
  for (int k = 0; k < SLOTS; k++) {
    tristar_plan_destroy(&g->plan[k].handle);
    tristar_factor_destroy(&g->factor[k].handle);
    tristar_analysis_destroy(&g->analysis[k].handle);
  }
  for (int k = 0; k < g->kept_count; k++) free(g->kept[k]);
  g->kept_count = 0;
}

/* The ordinary way first, so that most calls have something to work on. */
static void call(int k) {
  static void (*const calls[])(void) = {
      call_solve, call_refined, call_solve_with, call_refactor, call_plan,    call_factor, call_analyze,
      call_start, call_wait,    call_condition,  call_residual, call_destroy, call_import, call_refined};
  calls[k % (int)(sizeof calls / sizeof calls[0])]();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  begin(data, size);
  const size_t before = memory_held(g->ts);
  call_analyze();
  call_factor();
  call_plan();
  for (int k = 0; k < CALLS_MOST && g->in.at < g->in.end; k++) {
    const unsigned choice = take(&g->in);
    if (choice > 240) g->fail = 1 + below(&g->in, 200);
    call((int)(choice % 240));
  }
  end();
  MUST(memory_held(g->ts) == before, "%zd bytes are left behind", (ssize_t)(memory_held(g->ts) - before));
  return 0;
}
