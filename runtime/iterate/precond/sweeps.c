/* The sweeps of a preconditioner: triangular factors and their plans; see precond.h. */
#include "runtime/import/import.h"
#include "runtime/iterate/precond/precond.h"

void tsi_precond_drop_sweeps(tristar_precond_t *precond) {
  if (precond->sweep[1].factor == NULL) precond->sweep[1].plan = NULL; /* sweep 0 owns it */
  for (int i = 0; i < 2; i++) {
    tristar_plan_destroy(&precond->sweep[i].plan);
    tristar_factor_destroy(&precond->sweep[i].factor);
  }
}

/* The entries of row i that belong to a triangle: *first is the first one; returns their number. */
static tsi_count part_of(const tsi_factor_rows *rows, tsi_index i, bool lower, tsi_count *first) {
  *first = lower ? rows->ptr[i] : rows->diagonal[i];
  return (lower ? rows->diagonal[i] + 1 : rows->ptr[i + 1]) - *first;
}

/* Copies one triangle of the rows: values, and indices unless to_index is NULL. one: the diagonal entry to
 * use; NULL: the entry of the rows. bytes: a constant. */
static inline __attribute__((always_inline)) void copy_part(const tsi_factor_rows *rows, bool lower,
                                                            const double *one, tsi_index *to_index,
                                                            void *to_values, const size_t bytes) {
  const tsi_index *index = rows->index;
  const void *values = rows->values;
  tsi_count to = 0;
  for (tsi_index i = 0; i < rows->n; i++) {
    tsi_count from;
    const tsi_count end = to + part_of(rows, i, lower, &from), first = to;
    for (; to < end; to++, from++) {
      if (to_index) to_index[to] = index[from];
      tsi_copy_scalar(bytes, to_values, to, values, from);
    }
    if (one) tsi_copy_scalar(bytes, to_values, lower ? end - 1 : first, one, 0);
  }
}

/* Copies one triangle of the rows: with a diagonal of ones if unit, conjugated if op is C. */
static void copy_triangle(const tristar_precond_t *p, const tsi_factor_rows *rows, bool lower, bool unit,
                          tristar_op op, tsi_index *index, void *values) {
  const size_t bytes = p->sparse->scalar_bytes;
  const double number = 1;
  double own[2];
  const double *one = unit ? own : NULL;
  p->sparse->fill(1, &number, own);
  switch (bytes) {
  case 4:
    copy_part(rows, lower, one, index, values, 4);
    break;
  case 8:
    copy_part(rows, lower, one, index, values, 8);
    break;
  default:
    copy_part(rows, lower, one, index, values, 16);
  }
  tsi_count to = 0, count, first;
  for (tsi_index i = 0; i < rows->n && op == TRISTAR_C; i++, to += count) {
    count = part_of(rows, i, lower, &first);
    p->kernels->conjugate((tsi_index)count, (char *)values + (size_t)to * bytes);
  }
}

static tristar_status make_plan(tristar_precond_t *p, int which) {
  tsi_precond_sweep *sweep = &p->sweep[which];
  tristar_plan_options options;
  tristar_plan_stats stats;
  tristar_plan_options_init(&options);
  options.engine = p->options.engine;
  options.nrhs = p->options.nrhs;
  options.place = p->options.place;
  options.device_bytes = p->options.device_bytes;
  TSI_TRY(tristar_plan(sweep->factor, &options, &sweep->plan));
  (void)tristar_plan_get_stats(sweep->plan, &stats);
  p->stats.partition[which] = stats.partition;
  if (stats.devices > 0) p->stats.on_device = 1;
  return TRISTAR_OK;
}

/* Were all values verified when they were computed? */
static bool are_finite(const tristar_precond_t *p) {
  return p->options.kind != TRISTAR_PRECOND_SSOR; /* the diagonal of SSOR may overflow */
}

/* Makes the factor of a sweep. */
static tristar_status import(tristar_precond_t *p, int which, const tsi_factor_rows *rows, bool lower,
                             bool unit, tristar_op op) {
  tsi_env *env = &p->ts->env;
  const bool stored = op == TRISTAR_N;
  TSI_CLEANUP(tsi_entries_finish) tsi_entries t = {.ptr = NULL};
  tsi_pattern *pattern;
  tsi_count first;
  void *values;
  TSI_TRY(tsi_entries_begin(env, rows->n, p->sparse->scalar_bytes, &t));
  for (tsi_index i = 0; i < rows->n; i++) t.ptr[i + 1] = t.ptr[i] + part_of(rows, i, lower, &first);
  TSI_TRY(tsi_entries_allocate(env, &t));
  copy_triangle(p, rows, lower, unit, op, t.index, t.item);
  TSI_TRY(tsi_pattern_from_entries(env, &t, stored, (char)p->stats.scalar, &pattern, &values));
  return tsi_import_lines(p->ts, pattern, values, lower == stored, are_finite(p), p->options.partition,
                          &p->sweep[which].factor);
}

tristar_status tsi_precond_make_sweep(tristar_precond_t *precond, int which, const tsi_factor_rows *rows,
                                      tristar_uplo uplo, tristar_diag diag, tristar_op op) {
  tsi_precond_sweep *sweep = &precond->sweep[which];
  const bool lower = uplo == TRISTAR_LOWER, unit = diag == TRISTAR_UNIT;
  sweep->op = TRISTAR_N;
  if (sweep->plan != NULL) {
    sweep->factor->valid = false;
    copy_triangle(precond, rows, lower, unit, op, NULL, sweep->factor->values);
    return tsi_reimport_lines(sweep->factor, sweep->factor->values, are_finite(precond));
  }
  TSI_TRY(import(precond, which, rows, lower, unit, op));
  return make_plan(precond, which);
}

void tsi_precond_share_sweep(tristar_precond_t *precond, tristar_op op) {
  precond->sweep[1] = (tsi_precond_sweep){.factor = NULL, .plan = precond->sweep[0].plan, .op = op};
  precond->stats.partition[1] = precond->stats.partition[0];
}
