/* Factors of KLU, of each family, with one block and with several: they are viewed right, solves with them
 * equal those of KLU, new values arrive, and an import that is not possible fails with an error. */
#include "runtime/adapters/klu_factors.h"
#include "tests/unit/adapters/adapter_matrix.h"
#include "tests/support/context.h"
#include "tests/support/factors_product.h"
#include "tests/support/failing_import.h"
#include "tests/support/subtests.h"

/* A matrix and its factors by KLU. */
typedef struct side {
  tristar_klu family;
  adapter_matrix *m;
  int btf, scale;
  klu_common common;
  klu_l_common long_common;
  void *symbolic, *numeric;
} side;

static int is_long(tristar_klu family) {
  return family == TRISTAR_KLU_L || family == TRISTAR_KLU_ZL;
}

static int parts_of(tristar_klu family) {
  return family == TRISTAR_KLU_Z || family == TRISTAR_KLU_ZL ? 2 : 1;
}

static void side_start(side *s) {
  adapter_matrix *m = s->m;
  klu_defaults(&s->common);
  klu_l_defaults(&s->long_common);
  s->common.btf = s->btf, s->long_common.btf = s->btf;
  s->common.scale = s->scale, s->long_common.scale = s->scale;
  s->common.tol = 1,
  s->long_common.tol =
      1; /* by default KLU accepts small pivots on the diagonal, which causes element growth */
  s->common.halt_if_singular = 0, s->long_common.halt_if_singular = 0;
  s->symbolic = is_long(s->family) ? (void *)klu_l_analyze(m->n, m->long_ptr, m->long_row, &s->long_common)
                                   : (void *)klu_analyze(m->n, m->ptr, m->row, &s->common);
  CHECK(s->symbolic != NULL);
  switch (s->family) {
  case TRISTAR_KLU:
    s->numeric = klu_factor(m->ptr, m->row, m->values, s->symbolic, &s->common);
    break;
  case TRISTAR_KLU_Z:
    s->numeric = klu_z_factor(m->ptr, m->row, m->values, s->symbolic, &s->common);
    break;
  case TRISTAR_KLU_L:
    s->numeric = klu_l_factor(m->long_ptr, m->long_row, m->values, s->symbolic, &s->long_common);
    break;
  default:
    s->numeric = klu_zl_factor(m->long_ptr, m->long_row, m->values, s->symbolic, &s->long_common);
  }
  CHECK(s->numeric != NULL);
}

static void side_refactor(side *s) {
  adapter_matrix *m = s->m;
  int64_t good;
  switch (s->family) {
  case TRISTAR_KLU:
    good = klu_refactor(m->ptr, m->row, m->values, s->symbolic, s->numeric, &s->common);
    break;
  case TRISTAR_KLU_Z:
    good = klu_z_refactor(m->ptr, m->row, m->values, s->symbolic, s->numeric, &s->common);
    break;
  case TRISTAR_KLU_L:
    good = klu_l_refactor(m->long_ptr, m->long_row, m->values, s->symbolic, s->numeric, &s->long_common);
    break;
  default:
    good = klu_zl_refactor(m->long_ptr, m->long_row, m->values, s->symbolic, s->numeric, &s->long_common);
  }
  CHECK(good);
}

static void side_finish(side *s) {
  klu_symbolic *symbolic = s->symbolic;
  klu_l_symbolic *long_symbolic = s->symbolic;
  klu_numeric *numeric = s->numeric;
  klu_l_numeric *long_numeric = s->numeric;
  switch (s->family) {
  case TRISTAR_KLU:
    klu_free_numeric(&numeric, &s->common);
    break;
  case TRISTAR_KLU_Z:
    klu_z_free_numeric(&numeric, &s->common);
    break;
  case TRISTAR_KLU_L:
    klu_l_free_numeric(&long_numeric, &s->long_common);
    break;
  default:
    klu_zl_free_numeric(&long_numeric, &s->long_common);
  }
  if (is_long(s->family))
    klu_l_free_symbolic(&long_symbolic, &s->long_common);
  else
    klu_free_symbolic(&symbolic, &s->common);
}

static void solve(void *arg, tristar_op op, const double *b, double *x) {
  side *s = arg;
  const int n = s->m->n, parts = s->m->parts, normal = op == TRISTAR_N, conjugate = op == TRISTAR_C;
  int64_t good;
  memcpy(x, b, (size_t)(n * parts) * sizeof *x);
  switch (s->family) {
  case TRISTAR_KLU:
    good = normal ? klu_solve(s->symbolic, s->numeric, n, 1, x, &s->common)
                  : klu_tsolve(s->symbolic, s->numeric, n, 1, x, &s->common);
    break;
  case TRISTAR_KLU_Z:
    good = normal ? klu_z_solve(s->symbolic, s->numeric, n, 1, x, &s->common)
                  : klu_z_tsolve(s->symbolic, s->numeric, n, 1, x, conjugate, &s->common);
    break;
  case TRISTAR_KLU_L:
    good = normal ? klu_l_solve(s->symbolic, s->numeric, n, 1, x, &s->long_common)
                  : klu_l_tsolve(s->symbolic, s->numeric, n, 1, x, &s->long_common);
    break;
  default:
    good = normal ? klu_zl_solve(s->symbolic, s->numeric, n, 1, x, &s->long_common)
                  : klu_zl_tsolve(s->symbolic, s->numeric, n, 1, x, conjugate, &s->long_common);
  }
  CHECK(good);
}

static void check_view(tristar_t *ts, const side *s, adapter_kind kind) {
  CLEANUP(tsi_klu_release) tsi_klu work = {0};
  tristar_factors factors;
  int exchanged = 0;
  CHECK_OK(tsi_klu_factors(ts, s->family, s->symbolic, s->numeric, &s->m->view, &work, &factors));
  CHECK(factors.matrix == &s->m->view);
  CHECK(work.blocks == (kind == ADAPTER_BLOCKS && s->btf ? 7 : 1));
  check_factors_product(&factors, &s->m->view);
  for (int k = 0; k < s->m->n; k++) exchanged += factors.row_order[k] != factors.column_order[k];
  CHECK(exchanged > 10);
}

/* Checks the view and the solves, and the same with new values in the same plan. */
static void check_family(tristar_t *ts, tristar_klu family, adapter_kind kind, int btf, int scale) {
  CLEANUP(adapter_matrix_destroy) adapter_matrix m;
  side s = {.family = family, .m = &m, .btf = btf, .scale = scale};
  tristar_factor_t *factor;
  adapter_matrix_create(kind, 80, parts_of(family), 5, &m);
  side_start(&s);
  check_view(ts, &s, kind);
  CHECK_OK(tristar_import_klu(ts, family, s.symbolic, s.numeric, &m.view, &factor));
  check_factor(factor, &m, solve, &s);
  tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  adapter_matrix_change(&m, 3);
  side_refactor(&s);
  check_view(ts, &s, kind);
  CHECK_OK(tristar_reimport_klu(factor, family, s.symbolic, s.numeric, &m.view));
  check_plan(plan, &m, solve, &s);
  check_refined(plan, &m);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  side_finish(&s);
}

/* Rows whose scale has no normal reciprocal: in new values, and in the first import. */
static void check_extreme_rows(tristar_t *ts, tristar_klu family, int btf, int scale) {
  CLEANUP(adapter_matrix_destroy) adapter_matrix m;
  side s = {.family = family, .m = &m, .btf = btf, .scale = scale};
  tristar_factor_t *factor;
  adapter_matrix_create(ADAPTER_BLOCKS, 80, parts_of(family), 5, &m);
  adapter_matrix_round(&m);
  side_start(&s);
  CHECK_OK(tristar_import_klu(ts, family, s.symbolic, s.numeric, &m.view, &factor));
  tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  adapter_matrix_make_extreme(&m);
  side_refactor(&s);
  CHECK_OK(tristar_reimport_klu(factor, family, s.symbolic, s.numeric, &m.view));
  check_extreme_plan(plan, &m);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  CHECK_OK(tristar_import_klu(ts, family, s.symbolic, s.numeric, &m.view, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  check_extreme_plan(plan, &m);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  side_finish(&s);
}

/* A factor that cannot be imported gives an error and no factor. */
static void refuse(tristar_t *ts, const side *s, const void *symbolic, const void *numeric,
                   tristar_status status, const char *message) {
  tristar_factor_t *factor = (tristar_factor_t *)ts;
  CHECK_STATUS(tristar_import_klu(ts, s->family, symbolic, numeric, NULL, &factor), status);
  CHECK(factor == NULL);
  check_message(ts, message);
}

static void check_refused(tristar_t *ts, tristar_klu family) {
  adapter_matrix m, small;
  side s = {.family = family, .m = &m, .btf = 1}, other = {.family = family, .m = &small, .btf = 1};
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  adapter_matrix_create(ADAPTER_UNSYMMETRIC, 30, parts_of(family), 2, &m);
  adapter_matrix_create(ADAPTER_UNSYMMETRIC, 20, parts_of(family), 2, &small);
  side_start(&s);
  side_start(&other);
  refuse(ts, &s, NULL, s.numeric, TRISTAR_ERR_ARGUMENT, "Symbolic is NULL");
  refuse(ts, &s, s.symbolic, NULL, TRISTAR_ERR_ARGUMENT, "Numeric is NULL");
  refuse(ts, &s, other.symbolic, s.numeric, TRISTAR_ERR_ARGUMENT, "order 20");
  CHECK_STATUS(tristar_import_klu(ts, (tristar_klu)4, s.symbolic, s.numeric, NULL, &factor),
               TRISTAR_ERR_ARGUMENT);
  check_message(ts, "no family 4");
  CHECK_STATUS(tristar_import_klu(NULL, family, s.symbolic, s.numeric, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_import_klu(ts, family, s.symbolic, s.numeric, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_reimport_klu(NULL, family, s.symbolic, s.numeric, NULL), TRISTAR_ERR_ARGUMENT);
  /* a factor is unchanged if the new one cannot be imported */
  CHECK_OK(tristar_import_klu(ts, family, s.symbolic, s.numeric, &m.view, &factor));
  CHECK_STATUS(tristar_reimport_klu(factor, family, other.symbolic, s.numeric, &m.view),
               TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  check_plan(plan, &m, solve, &s);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  side_finish(&s);
  side_finish(&other);
  /* a column of zeros: KLU continues if requested, and leaves a zero on the diagonal of U */
  for (int p = m.ptr[4] * m.parts; p < m.ptr[5] * m.parts; p++) m.values[p] = 0;
  s.scale = -1;
  side_start(&s);
  refuse(ts, &s, s.symbolic, s.numeric, TRISTAR_ERR_SINGULAR, "the pivot of column 4 of");
  side_finish(&s);
  adapter_matrix_destroy(&m);
  adapter_matrix_destroy(&small);
}

static tristar_status import_side(tristar_t *ts, const void *from, tristar_factor_t **out) {
  const side *s = from;
  return tristar_import_klu(ts, s->family, s->symbolic, s->numeric, &s->m->view, out);
}

static void check_allocations(tristar_klu family) {
  CLEANUP(adapter_matrix_destroy) adapter_matrix m;
  side s = {.family = family, .m = &m, .btf = 1, .scale = 2};
  adapter_matrix_create(ADAPTER_BLOCKS, 50, parts_of(family), 5, &m);
  side_start(&s);
  CHECK(fail_each_allocation(import_side, &s) >= 20);
  side_finish(&s);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_with_starpu(0, true);
  for (int family = TRISTAR_KLU; family <= TRISTAR_KLU_ZL; family++) {
    for (int scale = -1; scale <= 2;
         scale++) { /* no scaling and no checks; no scaling; by the sum; by the maximum */
      RUN(check_family(ts, (tristar_klu)family, ADAPTER_UNSYMMETRIC, 1, scale));
      RUN(check_family(ts, (tristar_klu)family, ADAPTER_BLOCKS, 1, scale));
      RUN(check_family(ts, (tristar_klu)family, ADAPTER_BLOCKS, 0, scale));
    }
    for (int scale = 1; scale <= 2; scale++) {
      RUN(check_extreme_rows(ts, (tristar_klu)family, 0, scale));
      RUN(check_extreme_rows(ts, (tristar_klu)family, 1, scale));
    }
    RUN(check_refused(ts, (tristar_klu)family));
  }
  close_context(&ts);
  RUN(check_allocations(TRISTAR_KLU));
  RUN(check_allocations(TRISTAR_KLU_ZL));
  return 0;
}
