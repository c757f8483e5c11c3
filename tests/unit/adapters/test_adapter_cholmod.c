/* Factors of CHOLMOD in all their forms: they are viewed right, solves with them equal those of CHOLMOD, new
 * values arrive, and an import that is not possible fails with an error. */
#include "runtime/adapters/cholmod_factors.h"
#include "tests/unit/adapters/adapter_matrix.h"
#include "tests/support/context.h"
#include "tests/support/factors_product.h"
#include "tests/support/failing_import.h"
#include "tests/support/subtests.h"
#include "tests/support/magnitude.h"
#include "tristar_matrix.h"
#include "tristar_update.h"

/* CHOLMOD's functions for int and for long indices; both have the same types. */
typedef struct api {
  int itype;
  int (*start)(cholmod_common *);
  int (*finish)(cholmod_common *);
  cholmod_factor *(*analyze)(cholmod_sparse *, cholmod_common *);
  int (*factorize)(cholmod_sparse *, cholmod_factor *, cholmod_common *);
  int (*change)(int, int, int, int, int, cholmod_factor *, cholmod_common *);
  int (*change_xtype)(int, cholmod_factor *, cholmod_common *);
  int (*move_column)(size_t, size_t, cholmod_factor *, cholmod_common *);
  cholmod_dense *(*solve)(int, cholmod_factor *, cholmod_dense *, cholmod_common *);
  int (*free_factor)(cholmod_factor **, cholmod_common *);
  int (*free_dense)(cholmod_dense **, cholmod_common *);
} api;

static const api apis[] = {
    {CHOLMOD_INT, cholmod_start, cholmod_finish, cholmod_analyze, cholmod_factorize, cholmod_change_factor,
     cholmod_factor_xtype, cholmod_reallocate_column, cholmod_solve, cholmod_free_factor, cholmod_free_dense},
    {CHOLMOD_LONG, cholmod_l_start, cholmod_l_finish, cholmod_l_analyze, cholmod_l_factorize,
     cholmod_l_change_factor, cholmod_l_factor_xtype, cholmod_l_reallocate_column, cholmod_l_solve,
     cholmod_l_free_factor, cholmod_l_free_dense},
};

typedef struct form {
  const char *name;
  int ll, super, packed, monotonic, zomplex;
} form;

static const form forms[] = {
    {"supernodal LL", 1, 1, 1, 1, 0},        {"simplicial LL", 1, 0, 1, 1, 0},
    {"simplicial LL, moved", 1, 0, 0, 0, 0}, {"simplicial LDL", 0, 0, 1, 1, 0},
    {"simplicial LDL, room", 0, 0, 0, 1, 0}, {"simplicial LDL, moved", 0, 0, 0, 0, 0},
    {"zomplex LL", 1, 0, 1, 1, 1},           {"zomplex LDL, moved", 0, 0, 0, 0, 1},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* A matrix and its factor by CHOLMOD. */
typedef struct side {
  const api *api;
  const adapter_matrix *m;
  cholmod_common common;
  cholmod_sparse a;
  cholmod_factor *l;
} side;

/* Makes A refer to the arrays of m. CHOLMOD reads the lower triangle. */
static void side_start(const api *functions, const adapter_matrix *m, side *s) {
  *s = (side){.api = functions, .m = m};
  CHECK(functions->start(&s->common));
  s->common.print = 0;
  s->a = (cholmod_sparse){.nrow = (size_t)m->n,
                          .ncol = (size_t)m->n,
                          .nzmax = (size_t)m->ptr[m->n],
                          .p = functions->itype == CHOLMOD_LONG ? (void *)m->long_ptr : m->ptr,
                          .i = functions->itype == CHOLMOD_LONG ? (void *)m->long_row : m->row,
                          .x = m->values,
                          .stype = -1,
                          .itype = functions->itype,
                          .xtype = m->parts == 2 ? CHOLMOD_COMPLEX : CHOLMOD_REAL,
                          .dtype = CHOLMOD_DOUBLE,
                          .sorted = 1,
                          .packed = 1};
}

/* Factors A and converts the factor to the given form. "moved": two columns are stored at the end. */
static void side_factor(side *s, const form *f) {
  s->common.supernodal = f->super ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
  s->common.final_ll = f->ll;
  s->api->free_factor(&s->l, &s->common);
  s->l = s->api->analyze(&s->a, &s->common);
  CHECK(s->l != NULL);
  CHECK(s->api->factorize(&s->a, s->l, &s->common) && s->common.status == CHOLMOD_OK);
  const int xtype = f->zomplex ? CHOLMOD_ZOMPLEX : s->l->xtype;
  if (!f->super) CHECK(s->api->change(s->l->xtype, f->ll, 0, f->packed, f->monotonic, s->l, &s->common));
  if (!f->monotonic) {
    CHECK(s->api->move_column(3, s->l->n, s->l, &s->common));
    CHECK(s->api->move_column(1, s->l->n, s->l, &s->common));
    CHECK(!s->l->is_monotonic);
  }
  if (f->zomplex) CHECK(s->api->change_xtype(CHOLMOD_ZOMPLEX, s->l, &s->common));
  CHECK(s->l->is_super == f->super && s->l->is_ll == f->ll && s->l->xtype == xtype);
}

static void side_finish(side *s) {
  s->api->free_factor(&s->l, &s->common);
  s->api->finish(&s->common);
}

/* A^T is conj(A), and A^H is A. */
static void solve(void *arg, tristar_op op, const double *b, double *x) {
  side *s = arg;
  const int n = (int)s->a.nrow, parts = s->a.xtype == CHOLMOD_COMPLEX ? 2 : 1;
  const double sign = op == TRISTAR_T ? -1 : 1;
  OWNED double *copy = xmalloc((size_t)(n * parts) * sizeof *copy);
  for (int i = 0; i < n * parts; i++) copy[i] = i % parts ? sign * b[i] : b[i];
  cholmod_dense dense = {.nrow = (size_t)n,
                         .ncol = 1,
                         .nzmax = (size_t)n,
                         .d = (size_t)n,
                         .x = copy,
                         .xtype = s->a.xtype,
                         .dtype = CHOLMOD_DOUBLE};
  cholmod_dense *result = s->api->solve(CHOLMOD_A, s->l, &dense, &s->common);
  CHECK(result != NULL && result->xtype == s->a.xtype);
  for (int i = 0; i < n * parts; i++)
    x[i] = i % parts ? sign * ((double *)result->x)[i] : ((double *)result->x)[i];
  s->api->free_dense(&result, &s->common);
}

static adapter_kind kind_of(const form *f) {
  return f->ll ? ADAPTER_DEFINITE : ADAPTER_INDEFINITE;
}

static void check_view(tristar_t *ts, const cholmod_factor *l, const tristar_view *matrix) {
  CLEANUP(tsi_cholmod_release) tsi_cholmod work = {0};
  tristar_factors factors;
  CHECK_OK(tsi_cholmod_factors(ts, l, matrix, &work, &factors));
  CHECK(factors.matrix == matrix);
  if (l->is_super) CHECK(factors.lower.blocks[0] == l->x); /* the values are not copied */
  check_factors_product(&factors, matrix);
}

/* Checks the view and the solves, and the same with new values in the same plan. */
static void check_form(tristar_t *ts, const api *functions, const form *f, int parts) {
  adapter_matrix m;
  side s;
  tristar_factor_t *factor;
  if (f->zomplex && parts == 1) return;
  adapter_matrix_create(kind_of(f), 90, parts, 7, &m);
  side_start(functions, &m, &s);
  side_factor(&s, f);
  check_view(ts, s.l, &m.view);
  CHECK_OK(tristar_import_cholmod(ts, s.l, &m.view, &factor));
  check_factor(factor, &m, solve, &s);
  tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  adapter_matrix_change(&m, 3);
  side_factor(&s, f);
  CHECK_OK(tristar_reimport_cholmod(factor, s.l, &m.view));
  check_plan(plan, &m, solve, &s);
  check_refined(plan, &m);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  side_finish(&s);
  adapter_matrix_destroy(&m);
}

static float *to_single(const double *x, size_t count) {
  float *y = xcalloc(count + 1, sizeof *y);
  for (size_t i = 0; x != NULL && i < count; i++) y[i] = (float)x[i];
  return y;
}

/* Not every CHOLMOD computes factors in single precision. So the test converts factors from double. */
static void check_single(tristar_t *ts, const form *f, int parts) {
  adapter_matrix m;
  side s;
  tristar_factor_t *factor;
  if (f->zomplex && parts == 1) return;
  adapter_matrix_create(kind_of(f), 90, parts, 7, &m);
  side_start(&apis[0], &m, &s);
  side_factor(&s, f);
  cholmod_factor single = *s.l;
  const size_t count = f->super ? s.l->xsize : s.l->nzmax, width = s.l->xtype == CHOLMOD_COMPLEX ? 2 : 1;
  single.x = to_single(s.l->x, count * width);
  single.z = to_single(s.l->z, count * width);
  single.dtype = CHOLMOD_SINGLE;
  m.view.scalar = parts == 2 ? TRISTAR_COMPLEX_SINGLE : TRISTAR_SINGLE;
  float *values = to_single(m.values, (size_t)(m.ptr[m.n] * parts));
  m.view.values = values;
  check_view(ts, &single, &m.view);
  CHECK_OK(tristar_import_cholmod(ts, &single, NULL, &factor));
  tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  const int size = m.n * parts;
  double *b = xcalloc((size_t)size, sizeof *b), *y = xcalloc((size_t)size, sizeof *y);
  fill_random(b, size, 1);
  float *x = to_single(b, (size_t)size);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, x, m.n, x, m.n));
  solve(&s, TRISTAR_N, b, y);
  for (int i = 0; i < size; i++) CHECK(fabs(x[i] - y[i]) < 1e-4);
  free(b);
  free(x);
  free(y);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  free(values);
  free(single.x);
  free(single.z);
  side_finish(&s);
  adapter_matrix_destroy(&m);
}

/* A factor that cannot be imported gives an error and no factor. An existing factor stays unchanged. */
static void refuse(tristar_t *ts, tristar_factor_t *good, const cholmod_factor *l, tristar_status status,
                   const char *message) {
  tristar_factor_t *factor = good;
  CHECK_STATUS(tristar_import_cholmod(ts, l, NULL, &factor), status);
  CHECK(factor == NULL);
  check_message(ts, message);
  CHECK_STATUS(tristar_reimport_cholmod(good, l, NULL), status);
  check_message(ts, message);
}

static void check_refused(tristar_t *ts) {
  CLEANUP(adapter_matrix_destroy) adapter_matrix m;
  side s;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *good;
  tristar_plan_t *plan;
  adapter_matrix_create(ADAPTER_DEFINITE, 40, 1, 2, &m);
  side_start(&apis[0], &m, &s);
  side_factor(&s, &forms[0]);
  CHECK_OK(tristar_import_cholmod(ts, s.l, &m.view, &good));
  refuse(ts, good, NULL, TRISTAR_ERR_ARGUMENT, "NULL");
  cholmod_factor bad = *s.l;
  bad.itype = 77;
  refuse(ts, good, &bad, TRISTAR_ERR_UNSUPPORTED, "itype 77");
  bad = *s.l;
  bad.dtype = 77;
  refuse(ts, good, &bad, TRISTAR_ERR_UNSUPPORTED, "dtype 77");
  bad = *s.l;
  bad.xtype = 77;
  refuse(ts, good, &bad, TRISTAR_ERR_ARGUMENT, "xtype 77");
  CHECK_STATUS(tristar_import_cholmod(NULL, s.l, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_import_cholmod(ts, s.l, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_reimport_cholmod(NULL, s.l, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_plan(good, NULL, &plan));
  check_plan(plan, &m, solve, &s);
  tristar_plan_destroy(&plan);
  /* symbolic factors, supernodal and simplicial */
  for (int super = 0; super < 2; super++) {
    s.common.supernodal = super ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
    cholmod_factor *symbolic = cholmod_analyze(&s.a, &s.common);
    refuse(ts, good, symbolic, TRISTAR_ERR_ARGUMENT, "symbolic");
    cholmod_free_factor(&symbolic, &s.common);
  }
  /* a pivot that is not positive */
  for (int j = 0; j < m.n; j++)
    for (int p = m.ptr[j]; p < m.ptr[j + 1]; p++)
      if (m.row[p] == j && j == 20) m.values[p] = -1;
  cholmod_factorize(&s.a, s.l, &s.common);
  CHECK(s.common.status == CHOLMOD_NOT_POSDEF);
  refuse(ts, good, s.l, TRISTAR_ERR_NOT_POSITIVE_DEFINITE, "column");
  side_finish(&s);
  /* a zero in D: the matrix [0 1; 1 0] */
  int ptr[] = {0, 2, 3}, row[] = {0, 1, 1};
  double values[] = {0, 1, 0};
  const adapter_matrix swap = {.n = 2, .parts = 1, .ptr = ptr, .row = row, .values = values};
  side_start(&apis[0], &swap, &s);
  s.common.supernodal = CHOLMOD_SIMPLICIAL;
  s.l = cholmod_analyze(&s.a, &s.common);
  cholmod_factorize(&s.a, s.l, &s.common);
  refuse(ts, good, s.l, TRISTAR_ERR_SINGULAR, "zero in column 0");
  side_finish(&s);
}

static tristar_status import_side(tristar_t *ts, const void *from, tristar_factor_t **out) {
  const side *s = from;
  return tristar_import_cholmod(ts, s->l, &s->m->view, out);
}

static void check_allocations(void) {
  CLEANUP(adapter_matrix_destroy) adapter_matrix m;
  side s;
  adapter_matrix_create(ADAPTER_INDEFINITE, 30, 2, 5, &m);
  side_start(&apis[1], &m, &s);
  side_factor(&s, &forms[FORMS - 1]);
  CHECK(fail_each_allocation(import_side, &s) >= 5);
  side_finish(&s);
}

/* ---- Terms of low rank -------------------------------------------------------------------------------- */

/* Compares solutions after cholmod_updown and after tristar_update_low_rank with the same terms. */
static void compare_updown(tristar_t *ts) {
  enum { K = 20, N = K * K, ENTRIES = 5 * N, TERMS = 3 };
  static int ptr[N + 1], wptr[] = {0, 2, 4, 5}, wrow[] = {41, 42, 200, 220, 399};
  static double x[N], b[N], wvalue[] = {2, -2, 0.5, 1.5, 3};
  tristar_matrix_t *matrix;
  tristar_view a = generated_view(ts, "s2d9pt", K, &matrix), w;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  cholmod_common common;
  CHECK(a.rows == N && ((const int64_t *)a.ptr)[N] <= ENTRIES);
  for (int j = 0; j <= N; j++) ptr[j] = (int)((const int64_t *)a.ptr)[j];
  for (int j = 0; j < N; j++) b[j] = 1 + j % 7;
  options.method = TRISTAR_METHOD_LLT;
  CHECK_OK(tristar_analyze(ts, &a, &options, &analysis));
  CHECK_OK(tristar_factor(analysis, a.values, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  tristar_view_init(&w);
  w = (tristar_view){w.format, w.symmetry, w.scalar, N, TERMS, wptr, wrow, wvalue, 32, 32, 0};
  cholmod_start(&common);
  cholmod_sparse of_a = {.nrow = N,
                         .ncol = N,
                         .nzmax = (size_t)ptr[N],
                         .p = ptr,
                         .i = (void *)(uintptr_t)a.index,
                         .x = (void *)(uintptr_t)a.values,
                         .stype = -1,
                         .itype = CHOLMOD_INT,
                         .xtype = CHOLMOD_REAL,
                         .dtype = CHOLMOD_DOUBLE,
                         .sorted = 0,
                         .packed = 1};
  cholmod_sparse of_w = {.nrow = N,
                         .ncol = TERMS,
                         .nzmax = 5,
                         .p = wptr,
                         .i = wrow,
                         .x = wvalue,
                         .stype = 0,
                         .itype = CHOLMOD_INT,
                         .xtype = CHOLMOD_REAL,
                         .dtype = CHOLMOD_DOUBLE,
                         .sorted = 1,
                         .packed = 1};
  cholmod_dense right = {
      .nrow = N, .ncol = 1, .nzmax = N, .d = N, .x = b, .xtype = CHOLMOD_REAL, .dtype = CHOLMOD_DOUBLE};
  common.supernodal = CHOLMOD_SIMPLICIAL;
  cholmod_factor *l = cholmod_analyze(&of_a, &common);
  CHECK(cholmod_factorize(&of_a, l, &common));
  cholmod_sparse *permuted = cholmod_submatrix(&of_w, l->Perm, N, NULL, -1, 1, 1, &common);
  for (int subtract = 0; subtract < 2; subtract++) {
    double off = 0, largest = 0;
    tristar_update_result result;
    CHECK(cholmod_updown(!subtract, permuted, l, &common));
    CHECK_OK(tristar_update_low_rank(factor, &w, subtract, &result));
    CHECK(result.whole == 0);
    cholmod_dense *wanted = cholmod_solve(CHOLMOD_A, l, &right, &common);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, N, x, N));
    for (int j = 0; j < N; j++) {
      off = fmax(off, fabs(x[j] - ((double *)wanted->x)[j]));
      largest = fmax(largest, fabs(x[j]));
    }
    CHECK_MSG(off < 1e-11 * largest, "difference %g of %g", off, largest);
    cholmod_free_dense(&wanted, &common);
  }
  cholmod_free_sparse(&permuted, &common);
  cholmod_free_factor(&l, &common);
  cholmod_finish(&common);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_with_starpu(0, true);
  for (int f = 0; f < FORMS; f++)
    for (int parts = 1; parts <= 2; parts++) {
      for (int a = 0; a < 2; a++) RUN(check_form(ts, &apis[a], &forms[f], parts));
      RUN(check_single(ts, &forms[f], parts));
    }
  RUN(check_refused(ts));
  RUN(compare_updown(ts));
  close_context(&ts);
  RUN(check_allocations());
  return 0;
}
