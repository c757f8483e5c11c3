/* The sweeps of a preconditioner: triangular factors and their plans; see precond.h. */
#include "runtime/import/import.h"
#include "runtime/iterate/precond/precond.h"

void tsi_precond_drop_sweeps(tristar_precond_t *precond) {
  if (precond->sweep[1].factor == NULL) precond->sweep[1].plan = NULL; /* of sweep 0 */
  for (int i = 0; i < 2; i++) {
    tristar_plan_destroy(&precond->sweep[i].plan);
    tristar_factor_destroy(&precond->sweep[i].factor);
  }
}

/* Entries of the triangle that row i begins with, or ends with, and how many. */
static tsi_count part_of(const tsi_factor_rows *rows, tsi_index i, bool lower, tsi_count *first) {
  *first = lower ? rows->ptr[i] : rows->diagonal[i];
  return (lower ? rows->diagonal[i] + 1 : rows->ptr[i + 1]) - *first;
}

/* bytes: a constant. */
static inline __attribute__((always_inline)) void copy_part(const tsi_factor_rows *rows, bool lower,
                                                            const double *one, tsi_entries *out,
                                                            const size_t bytes) {
  const tsi_index *index = rows->index;
  const void *values = rows->values;
  tsi_index *to_index = out->index;
  void *item = out->item;
  tsi_count to = 0;
  for (tsi_index i = 0; i < rows->n; i++) {
    tsi_count from;
    const tsi_count end = to + part_of(rows, i, lower, &from), first = to;
    for (; to < end; to++, from++) {
      to_index[to] = index[from];
      tsi_copy_scalar(bytes, item, to, values, from);
    }
    if (one) tsi_copy_scalar(bytes, item, lower ? end - 1 : first, one, 0);
  }
}

/* One triangle of the rows, with a diagonal of ones if unit. */
static tristar_status extract(tsi_env *env, const tsi_sparse_kernels *sparse, const tsi_factor_rows *rows,
                              bool lower, bool unit, tsi_entries *out) {
  const double number = 1;
  double one[2];
  tsi_count first;
  sparse->fill(1, &number, one);
  TSI_TRY(tsi_entries_begin(env, rows->n, sparse->scalar_bytes, out));
  for (tsi_index i = 0; i < rows->n; i++) out->ptr[i + 1] = out->ptr[i] + part_of(rows, i, lower, &first);
  TSI_TRY(tsi_entries_allocate(env, out));
  switch (out->bytes) {
  case 4:
    copy_part(rows, lower, unit ? one : NULL, out, 4);
    break;
  case 8:
    copy_part(rows, lower, unit ? one : NULL, out, 8);
    break;
  default:
    copy_part(rows, lower, unit ? one : NULL, out, 16);
  }
  return TRISTAR_OK;
}

static tristar_status make_plan(tristar_precond_t *p, int which) {
  tsi_precond_sweep *sweep = &p->sweep[which];
  tristar_plan_options options;
  tristar_plan_stats stats;
  tristar_plan_options_init(&options);
  options.engine = p->options.engine;
  options.nrhs = p->options.nrhs;
  TSI_TRY(tristar_plan(sweep->factor, &options, &sweep->plan));
  (void)tristar_plan_get_stats(sweep->plan, &stats);
  p->stats.partition[which] = stats.partition;
  return TRISTAR_OK;
}

tristar_status tsi_precond_make_sweep(tristar_precond_t *precond, int which, const tsi_factor_rows *rows,
                                      tristar_uplo uplo, tristar_diag diag, tristar_op op) {
  tsi_env *env = &precond->ts->env;
  tsi_precond_sweep *sweep = &precond->sweep[which];
  const bool stored = op == TRISTAR_N, lower = uplo == TRISTAR_LOWER;
  TSI_CLEANUP(tsi_entries_finish) tsi_entries t = {.ptr = NULL};
  tsi_pattern *pattern;
  void *values;
  TSI_TRY(extract(env, precond->sparse, rows, lower, diag == TRISTAR_UNIT, &t));
  for (tsi_index j = 0; j < t.n && op == TRISTAR_C; j++)
    precond->kernels->conjugate((tsi_index)(t.ptr[j + 1] - t.ptr[j]),
                                (char *)t.item + (size_t)t.ptr[j] * precond->sparse->scalar_bytes);
  sweep->op = TRISTAR_N;
  if (sweep->plan != NULL) {
    return tsi_reimport_lines(sweep->factor, t.item);
  }
  TSI_TRY(tsi_pattern_from_entries(env, &t, stored, (char)precond->stats.scalar, &pattern, &values));
  TSI_TRY(tsi_import_lines(precond->ts, pattern, values, lower == stored, precond->options.partition,
                           &sweep->factor));
  return make_plan(precond, which);
}

void tsi_precond_share_sweep(tristar_precond_t *precond, tristar_op op) {
  precond->sweep[1] = (tsi_precond_sweep){.factor = NULL, .plan = precond->sweep[0].plan, .op = op};
  precond->stats.partition[1] = precond->stats.partition[0];
}
