/* Copies the data of a Numeric object: see umfpack_factors.h. */
#include "runtime/adapters/umfpack_factors.h"

#include <stdbool.h>

#include "runtime/adapters/row_divisors.h"
#include "runtime/adapters/widen.h"

typedef struct sizes {
  int64_t lower, upper, rows, columns, pivots; /* entries of L, U; order; nonzeros on the diagonal of U */
} sizes;

static bool has_long(tristar_umfpack family) {
  return family == TRISTAR_UMFPACK_DL || family == TRISTAR_UMFPACK_ZL;
}

static bool is_complex(tristar_umfpack family) {
  return family == TRISTAR_UMFPACK_ZI || family == TRISTAR_UMFPACK_ZL;
}

/* UMFPACK does not change its argument here. */
static void *object(const void *Numeric) {
  return (void *)Numeric;
}

/* Each function returns UMFPACK's code. */
static int64_t get_sizes(tristar_umfpack family, const void *Numeric, sizes *s) {
  int64_t code;
  if (has_long(family)) {
    SuiteSparse_long lower = 0, upper = 0, rows = 0, columns = 0, pivots = 0;
    code = is_complex(family)
               ? umfpack_zl_get_lunz(&lower, &upper, &rows, &columns, &pivots, object(Numeric))
               : umfpack_dl_get_lunz(&lower, &upper, &rows, &columns, &pivots, object(Numeric));
    *s = (sizes){lower, upper, rows, columns, pivots};
  } else {
    int lower = 0, upper = 0, rows = 0, columns = 0, pivots = 0;
    code = is_complex(family)
               ? umfpack_zi_get_lunz(&lower, &upper, &rows, &columns, &pivots, object(Numeric))
               : umfpack_di_get_lunz(&lower, &upper, &rows, &columns, &pivots, object(Numeric));
    *s = (sizes){lower, upper, rows, columns, pivots};
  }
  return code;
}

static int64_t get_arrays(tristar_umfpack family, const void *Numeric, tsi_umfpack *w, bool *multiply) {
  void *lp = w->lower_ptr, *li = w->lower_index, *up = w->upper_ptr, *ui = w->upper_index;
  void *p = w->row_order, *q = w->column_order; /* Integers of UMFPACK's type until they are widened. */
  SuiteSparse_long long_flag = 0;
  int64_t code;
  int flag = 0;
  switch (family) {
  case TRISTAR_UMFPACK_DI:
    code = umfpack_di_get_numeric(lp, li, w->lower, up, ui, w->upper, p, q, NULL, &flag, w->row_scale,
                                  object(Numeric));
    break;
  case TRISTAR_UMFPACK_DL:
    code = umfpack_dl_get_numeric(lp, li, w->lower, up, ui, w->upper, p, q, NULL, &long_flag, w->row_scale,
                                  object(Numeric));
    break;
  case TRISTAR_UMFPACK_ZI:
    code = umfpack_zi_get_numeric(lp, li, w->lower, NULL, up, ui, w->upper, NULL, p, q, NULL, NULL, &flag,
                                  w->row_scale, object(Numeric));
    break;
  default:
    code = umfpack_zl_get_numeric(lp, li, w->lower, NULL, up, ui, w->upper, NULL, p, q, NULL, NULL,
                                  &long_flag, w->row_scale, object(Numeric));
  }
  *multiply = flag != 0 || long_flag != 0;
  return code;
}

static tristar_status check_code(tristar_t *ts, int64_t code) {
  if (code == UMFPACK_ERROR_invalid_Numeric_object)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "UMFPACK does not take Numeric for one of its objects");
  if (code == UMFPACK_ERROR_out_of_memory) TSI_FAIL(ts, TRISTAR_ERR_MEMORY, "UMFPACK ran out of memory");
  if (code != UMFPACK_OK) TSI_FAIL(ts, TRISTAR_ERR_RUNTIME, "UMFPACK gave the error %lld", (long long)code);
  return TRISTAR_OK;
}

static tristar_status check_sizes(tristar_t *ts, const sizes *s) {
  if (s->rows != s->columns)
    TSI_FAIL(ts, TRISTAR_ERR_RECTANGULAR, "UMFPACK factored a matrix of %lld x %lld", (long long)s->rows,
             (long long)s->columns);
  if (s->pivots < s->rows)
    TSI_FAIL(ts, TRISTAR_ERR_SINGULAR, "only %lld of the %lld entries on the diagonal of U are not zero",
             (long long)s->pivots, (long long)s->rows);
  return TRISTAR_OK;
}

static tristar_status allocate(tristar_t *ts, tristar_umfpack family, const sizes *s, tsi_umfpack *w) {
  const size_t n = (size_t)s->rows, integer = has_long(family) ? sizeof(SuiteSparse_long) : sizeof(int);
  const size_t parts = is_complex(family) ? 2 : 1;
  TSI_TRY(TSI_ALLOC(ts, w->row_order, n));
  TSI_TRY(TSI_ALLOC(ts, w->column_order, n));
  TSI_TRY(TSI_ALLOC(ts, w->row_scale, n));
  TSI_TRY(TSI_ALLOC(ts, w->lower, parts * (size_t)s->lower));
  TSI_TRY(TSI_ALLOC(ts, w->upper, parts * (size_t)s->upper));
  TSI_TRY(TSI_ALLOC(ts, w->lower_ptr, (n + 1) * integer));
  TSI_TRY(TSI_ALLOC(ts, w->upper_ptr, (n + 1) * integer));
  TSI_TRY(TSI_ALLOC(ts, w->lower_index, (size_t)s->lower * integer));
  return TSI_ALLOC(ts, w->upper_index, (size_t)s->upper * integer);
}

static void describe(tristar_umfpack family, const tsi_umfpack *w, tristar_factors *factors) {
  const int bits = (int)(8 * (has_long(family) ? sizeof(SuiteSparse_long) : sizeof(int)));
  factors->scalar = is_complex(family) ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE;
  factors->method = TRISTAR_METHOD_LU;
  factors->row_order = w->row_order;
  factors->column_order = w->column_order;
  factors->row_scale = w->row_scale;
  factors->lower = (tristar_triangle){.format = TRISTAR_TRIANGLE_ROWS,
                                      .unit_diagonal = 1,
                                      .ptr_bits = bits,
                                      .index_bits = bits,
                                      .ptr = w->lower_ptr,
                                      .index = w->lower_index,
                                      .values = w->lower};
  factors->upper = (tristar_triangle){.format = TRISTAR_TRIANGLE_COLUMNS,
                                      .ptr_bits = bits,
                                      .index_bits = bits,
                                      .ptr = w->upper_ptr,
                                      .index = w->upper_index,
                                      .values = w->upper};
}

tristar_status tsi_umfpack_factors(tristar_t *ts, tristar_umfpack family, const void *Numeric,
                                   const tristar_view *matrix, tsi_umfpack *work, tristar_factors *factors) {
  sizes s;
  bool multiply;
  tristar_factors_init(factors);
  if (family < TRISTAR_UMFPACK_DI || family > TRISTAR_UMFPACK_ZL)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "no family %d of UMFPACK", (int)family);
  if (Numeric == NULL) TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "Numeric is NULL");
  TSI_TRY(check_code(ts, get_sizes(family, Numeric, &s)));
  TSI_TRY(check_sizes(ts, &s));
  TSI_TRY(allocate(ts, family, &s, work));
  TSI_TRY(check_code(ts, get_arrays(family, Numeric, work, &multiply)));
  if (!has_long(family)) {
    tsi_widen(work->row_order, s.rows);
    tsi_widen(work->column_order, s.rows);
  }
  factors->n = s.rows;
  factors->matrix = matrix;
  describe(family, work, factors);
  if (!multiply) TSI_TRY(tsi_divisors_to_factors(ts, factors, work->row_scale, work->lower, work->upper));
  return TRISTAR_OK;
}

void tsi_umfpack_release(tsi_umfpack *work) {
  TSI_FREE(work->lower_ptr);
  TSI_FREE(work->lower_index);
  TSI_FREE(work->lower);
  TSI_FREE(work->upper_ptr);
  TSI_FREE(work->upper_index);
  TSI_FREE(work->upper);
  TSI_FREE(work->row_order);
  TSI_FREE(work->column_order);
  TSI_FREE(work->row_scale);
}
