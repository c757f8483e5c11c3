/* Real matrices x {s, d, c, z} x {LLT, LDLT, LU as they apply} x {N, T, C} x {1, 3, 17 right-hand sides}: the
 * backward error after refinement is below 100 units of roundoff of the type. test_types does the same with
 * generated matrices, and compares engines.
 *
 * Without an argument every third matrix, which runs the same code; with one all of them.
 *
 * Each matrix is brought to every type that can hold it (real_matrices.h). Nothing is left out in double. In
 * single a matrix is left out, and named with the reason, only where the library itself says that single
 * precision does not do:
 *   - values overflow: NOT_FINITE
 *   - no factorization: SINGULAR or NOT_POSITIVE_DEFINITE, and in double 1 / condition is below n units of
 *     single roundoff
 *   - the error stays large: tristar_condition is below the roundoff
 *
 * The folder: TRISTAR_DATA, or ../shared/data next to the sources. */
#include "tests/support/context.h"
#include "tests/support/data.h"
#include "tests/support/real_matrices.h"
#include "tests/support/subtests.h"
#include "tristar_machine.h"

#define ERROR_BOUND 100
/* The library computes residuals in the type itself, with some more rounding errors; the test computes them
 * in double. */
#define RECOMPUTED_BOUND 120

typedef struct source {
  const char *file;
  bool definite; /* LLT applies */
} source;

static const source sources[] = {
    /* symmetric positive definite */
    {"LFAT5.mtx.gz", true},
    {"bcsstk01.rsa.gz", true},
    {"bcsstk04.mtx.gz", true},
    {"bcsstk06.mtx.gz", true},
    {"494_bus.mtx.gz", true},
    {"nos7.mtx.gz", true},
    {"gr_30_30.mtx.gz", true},
    {"bcsstk08.mtx.gz", true},
    {"1138_bus.mtx.gz", true},
    /* symmetric indefinite, skew */
    {"tumorAntiAngiogenesis_2.mtx.gz", false},
    {"reorientation_1.mtx.gz", false},
    {"sherman1.mtx.gz", false},
    {"hangGlider_2.mtx.gz", false},
    {"ACTIVSg200_KKT_01.mtx.gz", false},
    {"KKT_POWELL20.mtx.gz", false},
    {"plskz362.rb.gz", false},
    /* unsymmetric */
    {"b1_ss.mtx.gz", false},
    {"umf_matrix11.mtx.gz", false},
    {"west0067.rua.gz", false},
    {"arc130.rua.gz", false},
    {"lns__131.mtx.gz", false},
    {"temp.mtx.gz", false}, /* values up to 5e38 */
    {"fs_183_1.mtx.gz", false},
    {"impcol_a.mtx.gz", false},
    {"e05r0500.mtx.gz", false},
    {"utm300.rua.gz", false},
    {"west0479.mtx.gz", false},
    {"bp_1200.mtx.gz", false},
    {"pde900.mtx.gz", false},
    {"orsirr_1.rua.gz", false},
    {"gre_1107.mtx.gz", false},
    {"watt_2.mtx.gz", false},
    /* complex: general, symmetric, Hermitian */
    {"1c.mtx.gz", false},
    {"arrowc.mtx.gz", false},
    {"mathnet_sparse_complex.mtx.gz", false},
    {"slu_cg20.cua.gz", false},
    {"young1c.mtx.gz", false},
    {"slu_cmat.cua.gz", false},
    {"young4c.mtx.gz", false},
    {"nlevp_railtrack_sB.mtx.gz", false},
    {"mhd1280b.mtx.gz", true},
};

/* One matrix in one type, and the method that factors it. */
typedef struct trial {
  const char *file;
  const typed *type;
  const tristar_view *view;
  tristar_method method;
  char text[128]; /* all of these, for messages */
} trial;

static int solved, left_out;

static void leave_out(const trial *r, const char *reason) {
  printf("left out: %s: %s\n", r->text, reason);
  left_out++;
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

static bool overflows(const typed *t, const tristar_view *v) {
  const int64_t entries = ((const int64_t *)v->ptr)[v->cols];
  for (int64_t p = 0; p < entries; p++) {
    const number a = get(t, v->values, p);
    if (!isfinite(creal(a)) || !isfinite(cimag(a))) return true;
  }
  return false;
}

/* Returns NULL if single precision does not suffice. reciprocal: result of tristar_condition in double. */
static tristar_factor_t *factor(tristar_t *ts, const trial *r, double reciprocal) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_analysis_t *an;
  tristar_factor_t *f = NULL;
  tristar_analysis_stats stats;
  char message[256];
  options.method = r->method;
  tristar_status status = tristar_analyze(ts, r->view, &options, &an);
  if (status == TRISTAR_OK) status = tristar_factor(an, r->view->values, &f);
  tristar_analysis_destroy(&an);
  tristar_get_error(ts, message, sizeof message);
  if (overflows(r->type, r->view)) {
    CHECK_MSG(status == TRISTAR_ERR_NOT_FINITE && r->type->is_single, "%s: infinite values give %s", r->text,
              tristar_status_name(status));
  } else if (status != TRISTAR_OK) {
    const double bound = (double)r->view->rows * FLT_EPSILON / 2;
    CHECK_MSG(r->type->is_single, "%s: %s", r->text, message);
    CHECK_MSG(status == TRISTAR_ERR_SINGULAR ||
                  (status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE && r->method == TRISTAR_METHOD_LLT),
              "%s: %s", r->text, message);
    CHECK_MSG(reciprocal < bound, "%s: %s, but 1 / condition is %g in double", r->text, message, reciprocal);
  }
  if (status != TRISTAR_OK) {
    leave_out(r, message);
    return NULL;
  }
  tristar_analysis_get_stats(tristar_factor_get_analysis(f), &stats);
  CHECK_MSG(stats.method == r->method, "%s: method %d", r->text, (int)stats.method);
  return f;
}

/* *reciprocal: result of tristar_condition in double; set if the type is a double one. */
static void check_solves(tristar_t *ts, const trial *r, double *reciprocal) {
  const typed *t = r->type;
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  double own;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = factor(ts, r, *reciprocal);
  if (f == NULL) return;
  options.chunk_bytes_max = 20000;
  tristar_plan_t *p = NEW_PLAN(f, &options);
  CHECK_OK(tristar_condition(p, &own));
  if (!t->is_single) *reciprocal = own;
  OWNED void *b = make_rhs(t, r->view->rows);
  const typed_errors worst = worst_errors(t, r->view, f, p, b, DOCUMENTED);
  if (worst.reported < ERROR_BOUND * t->roundoff && worst.recomputed < RECOMPUTED_BOUND * t->roundoff)
    solved++;
  else {
    char reason[128];
    snprintf(reason, sizeof reason, "backward error %g, 1 / condition %g", worst.reported, own);
    CHECK_MSG(t->is_single && own < t->roundoff, "%s, %c, column %d of %d: recomputed backward error %g, %s",
              r->text, worst.op, worst.column, worst.count, worst.recomputed, reason);
    leave_out(r, reason);
  }
  tristar_plan_destroy(&p);
}

/* Tests the matrix with this symmetry and method, in double and in single precision. */
static void check_method(tristar_t *ts, const source *s, const tristar_view *from, bool is_complex,
                         tristar_symmetry symmetry, tristar_method method) {
  static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", "Hermitian"};
  static const char *const methods[] = {"auto", "LLT", "LU", "LDLT"};
  double reciprocal = NAN;
  for (int is_single = 0; is_single < (TSI_TESTS_SANITIZED ? 1 : 2); is_single++) {
    const typed *t = is_complex ? (is_single ? &typed_complex_single : &typed_complex_double)
                                : (is_single ? &typed_single : &typed_double);
    tristar_view v = *from;
    v.scalar = t->scalar;
    v.symmetry = symmetry;
    OWNED void *values = real_values(t, from, symmetry);
    v.values = values;
    trial r = {s->file, t, &v, method, ""};
    snprintf(r.text, sizeof r.text, "%s, %c, %s, %s", s->file, t->scalar, symmetries[symmetry],
             methods[method]);
    check_solves(ts, &r, &reciprocal);
  }
}

/* Tests all methods that apply. */
static void check_symmetry(tristar_t *ts, const source *s, const tristar_view *from, bool is_complex,
                           tristar_symmetry symmetry) {
  const bool symmetric = symmetry == TRISTAR_SYMMETRIC || symmetry == TRISTAR_HERMITIAN;
  if (s->definite && symmetry == (is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC))
    check_method(ts, s, from, is_complex, symmetry, TRISTAR_METHOD_LLT);
  if (symmetric) check_method(ts, s, from, is_complex, symmetry, TRISTAR_METHOD_LDLT);
  check_method(ts, s, from, is_complex, symmetry, TRISTAR_METHOD_LU);
}

static void check_source(tristar_t *ts, const source *s) {
  char path[1024];
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  snprintf(path, sizeof path, "%s/%s", data_folder(), s->file);
  tristar_view v = read_view(ts, path, &m);
  CHECK_MSG(v.rows == v.cols && v.values != NULL, "%s", s->file);
  if (v.scalar == TRISTAR_DOUBLE) {
    check_symmetry(ts, s, &v, false, v.symmetry);
    if (v.symmetry == TRISTAR_SYMMETRIC) check_symmetry(ts, s, &v, true, TRISTAR_HERMITIAN);
  }
  check_symmetry(ts, s, &v, true, v.symmetry);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  char path[1024];
  snprintf(path, sizeof path, "%s/INDEX.tsv", data_folder());
  FILE *index = fopen(path, "r");
  if (index == NULL) SKIP("no matrices: %s is not there (TRISTAR_DATA names the folder)", path);
  fclose(index);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  for (size_t k = 0;
       k<sizeof sources / sizeof *sources; k += argc> 1 ? 1 : 3) /* with an argument, all files */
    RUN(check_source(ts, &sources[k]));
  printf("%d solved, %d left out\n", solved, left_out);
  return 0;
}
