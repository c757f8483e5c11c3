/* Factors of UMFPACK, of each family: they are viewed right, solves with them equal those of UMFPACK, new
 * values arrive, and an import that is not possible fails with an error. */
#include "runtime/adapters/umfpack_factors.h"
#include "tests/unit/adapters/adapter_matrix.h"
#include "tests/support/context.h"
#include "tests/support/factors_product.h"
#include "tests/support/failing_import.h"
#include "tests/support/subtests.h"

/* A matrix and its factors by UMFPACK. */
typedef struct side {
  tristar_umfpack family;
  const adapter_matrix *m;
  void *numeric;
  double scale; /* a constant UMFPACK_SCALE_... */
} side;

static int parts_of(tristar_umfpack family) {
  return family == TRISTAR_UMFPACK_ZI || family == TRISTAR_UMFPACK_ZL ? 2 : 1;
}

static void free_numeric(side *s) {
  switch (s->family) {
  case TRISTAR_UMFPACK_DI:
    umfpack_di_free_numeric(&s->numeric);
    break;
  case TRISTAR_UMFPACK_DL:
    umfpack_dl_free_numeric(&s->numeric);
    break;
  case TRISTAR_UMFPACK_ZI:
    umfpack_zi_free_numeric(&s->numeric);
    break;
  default:
    umfpack_zl_free_numeric(&s->numeric);
  }
}

/* Returns UMFPACK's status. `rows` rows make the matrix rectangular. */
static int factor_rows(side *s, int rows) {
  const adapter_matrix *m = s->m;
  const int *ip = m->ptr, *ii = m->row, n = m->n;
  const int64_t *lp = m->long_ptr, *li = m->long_row;
  const double *x = m->values;
  double control[UMFPACK_CONTROL], *info = NULL;
  void *symbolic = NULL;
  int status = 0;
  free_numeric(s);
  umfpack_di_defaults(control);
  control[UMFPACK_SCALE] = s->scale;
  switch (s->family) {
  case TRISTAR_UMFPACK_DI:
    CHECK(umfpack_di_symbolic(rows, n, ip, ii, x, &symbolic, control, info) == UMFPACK_OK);
    status = umfpack_di_numeric(ip, ii, x, symbolic, &s->numeric, control, info);
    umfpack_di_free_symbolic(&symbolic);
    break;
  case TRISTAR_UMFPACK_DL:
    CHECK(umfpack_dl_symbolic(rows, n, lp, li, x, &symbolic, control, info) == UMFPACK_OK);
    status = (int)umfpack_dl_numeric(lp, li, x, symbolic, &s->numeric, control, info);
    umfpack_dl_free_symbolic(&symbolic);
    break;
  case TRISTAR_UMFPACK_ZI:
    CHECK(umfpack_zi_symbolic(rows, n, ip, ii, x, NULL, &symbolic, control, info) == UMFPACK_OK);
    status = umfpack_zi_numeric(ip, ii, x, NULL, symbolic, &s->numeric, control, info);
    umfpack_zi_free_symbolic(&symbolic);
    break;
  default:
    CHECK(umfpack_zl_symbolic(rows, n, lp, li, x, NULL, &symbolic, control, info) == UMFPACK_OK);
    status = (int)umfpack_zl_numeric(lp, li, x, NULL, symbolic, &s->numeric, control, info);
    umfpack_zl_free_symbolic(&symbolic);
  }
  return status;
}

static void side_factor(side *s) {
  CHECK(factor_rows(s, s->m->n) == UMFPACK_OK);
}

/* Solves without UMFPACK's own refinement. */
static void solve(void *arg, tristar_op op, const double *b, double *x) {
  const side *s = arg;
  const adapter_matrix *m = s->m;
  const int sys = op == TRISTAR_N ? UMFPACK_A : op == TRISTAR_C ? UMFPACK_At : UMFPACK_Aat;
  double control[UMFPACK_CONTROL], *info = NULL;
  int status;
  umfpack_di_defaults(control);
  control[UMFPACK_IRSTEP] = 0;
  switch (s->family) {
  case TRISTAR_UMFPACK_DI:
    status = umfpack_di_solve(sys, m->ptr, m->row, m->values, x, b, s->numeric, control, info);
    break;
  case TRISTAR_UMFPACK_DL:
    status = (int)umfpack_dl_solve(sys, m->long_ptr, m->long_row, m->values, x, b, s->numeric, control, info);
    break;
  case TRISTAR_UMFPACK_ZI:
    status =
        umfpack_zi_solve(sys, m->ptr, m->row, m->values, NULL, x, NULL, b, NULL, s->numeric, control, info);
    break;
  default:
    status = (int)umfpack_zl_solve(sys, m->long_ptr, m->long_row, m->values, NULL, x, NULL, b, NULL,
                                   s->numeric, control, info);
  }
  CHECK(status == UMFPACK_OK);
}

/* Returns the number of exchanged rows. */
static int check_view(tristar_t *ts, const side *s) {
  CLEANUP(tsi_umfpack_release) tsi_umfpack work = {0};
  tristar_factors factors;
  int exchanged = 0;
  CHECK_OK(tsi_umfpack_factors(ts, s->family, s->numeric, &s->m->view, &work, &factors));
  CHECK(factors.matrix == &s->m->view);
  check_factors_product(&factors, &s->m->view);
  for (int k = 0; k < s->m->n; k++) exchanged += factors.row_order[k] != factors.column_order[k];
  return exchanged;
}

/* Checks the view and the solves, and the same with new values in the same plan. If the diagonal is
 * strongly dominant, the pivots do not depend on the values. Otherwise they may, and then the reimport
 * returns STALE. */
static void check_family(tristar_t *ts, tristar_umfpack family, adapter_kind kind, double scale) {
  CLEANUP(adapter_matrix_destroy) adapter_matrix m;
  CLEANUP(free_numeric) side s = {.family = family, .m = &m, .scale = scale};
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  adapter_matrix_create(kind, 80, parts_of(family), 5, &m);
  side_factor(&s);
  const int exchanged = check_view(ts, &s);
  CHECK(kind == ADAPTER_DEFINITE || exchanged > 10);
  CHECK_OK(tristar_import_umfpack(ts, family, s.numeric, &m.view, &factor));
  check_factor(factor, &m, solve, &s);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  adapter_matrix_change(&m, 3);
  side_factor(&s);
  check_view(ts, &s);
  const tristar_status status = tristar_reimport_umfpack(factor, family, s.numeric, &m.view);
  CHECK(status == TRISTAR_OK || (status == TRISTAR_ERR_STALE && kind != ADAPTER_DEFINITE));
  if (status == TRISTAR_OK) {
    check_plan(plan, &m, solve, &s);
    check_refined(plan, &m);
  }
}

/* Rows whose scale has no normal reciprocal: in the first import, and in new values. UMFPACK's scaling
 * compensates for powers of two, so the pivots stay the same. */
static void check_extreme_rows(tristar_t *ts, tristar_umfpack family, double scale) {
  CLEANUP(adapter_matrix_destroy) adapter_matrix m;
  CLEANUP(free_numeric) side s = {.family = family, .m = &m, .scale = scale};
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  adapter_matrix_create(ADAPTER_UNSYMMETRIC, 80, parts_of(family), 5, &m);
  adapter_matrix_round(&m);
  side_factor(&s);
  CHECK_OK(tristar_import_umfpack(ts, family, s.numeric, &m.view, &factor));
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  adapter_matrix_make_extreme(&m);
  side_factor(&s);
  CHECK_OK(tristar_reimport_umfpack(factor, family, s.numeric, &m.view));
  check_extreme_plan(plan, &m);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  CHECK_OK(tristar_import_umfpack(ts, family, s.numeric, &m.view, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  check_extreme_plan(plan, &m);
}

/* A factor that cannot be imported gives an error and no factor. */
static void refuse(tristar_t *ts, tristar_umfpack family, const void *numeric, tristar_status status,
                   const char *message) {
  tristar_factor_t *factor = (tristar_factor_t *)ts;
  CHECK_STATUS(tristar_import_umfpack(ts, family, numeric, NULL, &factor), status);
  CHECK(factor == NULL);
  check_message(ts, message);
}

static void check_refused(tristar_t *ts, tristar_umfpack family) {
  CLEANUP(adapter_matrix_destroy) adapter_matrix m;
  CLEANUP(free_numeric) side s = {.family = family, .m = &m};
  tristar_factor_t *factor;
  const int64_t nothing[1000] = {0};
  adapter_matrix_create(ADAPTER_UNSYMMETRIC, 30, parts_of(family), 2, &m);
  side_factor(&s);
  refuse(ts, (tristar_umfpack)4, s.numeric, TRISTAR_ERR_ARGUMENT, "no family 4");
  refuse(ts, family, NULL, TRISTAR_ERR_ARGUMENT, "NULL");
  refuse(ts, family, nothing, TRISTAR_ERR_ARGUMENT, "objects");
  CHECK_STATUS(tristar_import_umfpack(NULL, family, s.numeric, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_import_umfpack(ts, family, s.numeric, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_reimport_umfpack(NULL, family, s.numeric, NULL), TRISTAR_ERR_ARGUMENT);
  /* a factor is unchanged if the new one cannot be imported */
  CHECK_OK(tristar_import_umfpack(ts, family, s.numeric, &m.view, &factor));
  CHECK_STATUS(tristar_reimport_umfpack(factor, family, nothing, &m.view), TRISTAR_ERR_ARGUMENT);
  tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  check_plan(plan, &m, solve, &s);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  CHECK(factor_rows(&s, m.n + 1) >= 0);
  refuse(ts, family, s.numeric, TRISTAR_ERR_RECTANGULAR, "31 x 30");
  for (int p = m.ptr[4] * m.parts; p < m.ptr[5] * m.parts; p++) m.values[p] = 0;
  CHECK(factor_rows(&s, m.n) == UMFPACK_WARNING_singular_matrix);
  refuse(ts, family, s.numeric, TRISTAR_ERR_SINGULAR, "29 of the 30");
}

static tristar_status import_side(tristar_t *ts, const void *from, tristar_factor_t **out) {
  const side *s = from;
  return tristar_import_umfpack(ts, s->family, s->numeric, &s->m->view, out);
}

static void check_allocations(tristar_umfpack family) {
  CLEANUP(adapter_matrix_destroy) adapter_matrix m;
  CLEANUP(free_numeric) side s = {.family = family, .m = &m, .scale = UMFPACK_SCALE_SUM};
  adapter_matrix_create(ADAPTER_UNSYMMETRIC, 30, parts_of(family), 5, &m);
  side_factor(&s);
  CHECK(fail_each_allocation(import_side, &s) >= 10);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const double scales[] = {UMFPACK_SCALE_NONE, UMFPACK_SCALE_SUM, UMFPACK_SCALE_MAX};
  tristar_t *ts = open_with_starpu(0, true);
  for (int family = TRISTAR_UMFPACK_DI; family <= TRISTAR_UMFPACK_ZL; family++) {
    for (int k = 0; k < 3; k++) {
      RUN(check_family(ts, (tristar_umfpack)family, ADAPTER_UNSYMMETRIC, scales[k]));
      RUN(check_family(ts, (tristar_umfpack)family, ADAPTER_BLOCKS, scales[k]));
      RUN(check_family(ts, (tristar_umfpack)family, ADAPTER_DEFINITE, scales[k]));
    }
    RUN(check_extreme_rows(ts, (tristar_umfpack)family, UMFPACK_SCALE_SUM));
    RUN(check_extreme_rows(ts, (tristar_umfpack)family, UMFPACK_SCALE_MAX));
    RUN(check_refused(ts, (tristar_umfpack)family));
  }
  close_context(&ts);
  RUN(check_allocations(TRISTAR_UMFPACK_DI));
  RUN(check_allocations(TRISTAR_UMFPACK_ZL));
  return 0;
}
