/* Computes a preconditioner from the values of a matrix: see precond.h. */
#include "runtime/iterate/precond/hermitian_part.h"
#include "runtime/iterate/precond/level_fill.h"
#include "runtime/iterate/precond/precond.h"

static tristar_status allocate(const tristar_precond_t *p, tsi_count count, void **scalars) {
  return TSI_ALLOC_SIZED(&p->ts->env, *scalars, count, p->sparse->scalar_bytes);
}

/* ---- The matrix ---------------------------------------------------------------------------------------- */

/* to[i] = entry (i, i), which every row must have. Errors: SINGULAR. */
static tristar_status take_diagonal(const tristar_precond_t *p, const void *values, void *to) {
  const tsi_pattern *a = p->pattern;
  const size_t bytes = p->sparse->scalar_bytes;
  for (tsi_index j = 0; j < a->n; j++) {
    tsi_count e =
        a->ptr[j] + (a->ptr[j + 1] - a->ptr[j]) /
                        2; /* the middle entry, which usually is the diagonal if both triangles are given */
    if (e == a->ptr[j + 1] || a->index[e] != j) e = tsi_pattern_find(a, j, j);
    if (e == TSI_NONE)
      TSI_FAIL(&p->ts->env, TRISTAR_ERR_SINGULAR, "row %d, counted from 0, has no entry on the diagonal", j);
    memcpy((char *)to + (size_t)j * bytes, (const char *)values + (size_t)e * bytes, bytes);
  }
  return TRISTAR_OK;
}

tristar_status tsi_precond_find_symmetry(const tristar_precond_t *p, const char *name, const char *others,
                                         const void *values, tristar_symmetry *symmetry) {
  tsi_env *env = &p->ts->env;
  const bool is_complex = p->sparse->is_complex;
  tsi_unlike unlike, plain;
  char text[TSI_UNLIKE_TEXT];
  *symmetry = p->pattern->symmetry;
  if (*symmetry == TRISTAR_SKEW_SYMMETRIC)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "a skew-symmetric matrix has no %s", name);
  if (*symmetry != TRISTAR_GENERAL) return TRISTAR_OK;
  *symmetry = is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
  TSI_TRY(tsi_pattern_find_unlike(env, p->pattern, values, is_complex, &unlike));
  if (unlike.found && is_complex) {
    *symmetry = TRISTAR_SYMMETRIC;
    TSI_TRY(tsi_pattern_find_unlike(env, p->pattern, values, false, &plain));
    unlike.found = plain.found;
    unlike.plain_row = plain.row;
    unlike.plain_column = plain.column;
  }
  if (unlike.found)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "%s are those of a symmetric%s matrix, but %s: ILU takes such a matrix%s", name,
             is_complex ? " or Hermitian" : "", tsi_unlike_text(&unlike, is_complex, text), others);
  return TRISTAR_OK;
}

/* Is a value, or a part of a complex one, zero? */
static bool have_zeros(const tristar_precond_t *p, const void *values) {
  const size_t part = p->sparse->is_complex ? p->sparse->scalar_bytes / 2 : p->sparse->scalar_bytes;
  const tsi_count count = p->pattern->ptr[p->n] * (p->sparse->is_complex ? 2 : 1);
  bool found = false;
  if (part == sizeof(float))
    for (tsi_count k = 0; k < count; k++) found |= ((const float *)values)[k] == 0;
  else
    for (tsi_count k = 0; k < count; k++) found |= ((const double *)values)[k] == 0;
  return found;
}

/* Can the rows of A share the arrays of its pattern? Yes for IC with a symmetric A whose entries all have
 * mirror images: it does not read values below the diagonal. The values are symmetric, so entries that are
 * not zero have mirror images. Errors: MEMORY. */
static tristar_status are_lent(const tristar_precond_t *p, bool symmetric, const void *values, bool *lent) {
  tsi_count missing = 0;
  *lent = tsi_full_is_pattern(p->pattern) && (!symmetric || p->options.kind == TRISTAR_PRECOND_IC);
  if (*lent && symmetric && have_zeros(p, values))
    TSI_TRY(tsi_pattern_missing_mirrors(&p->ts->env, p->pattern, &missing));
  *lent = *lent && missing == 0;
  return TRISTAR_OK;
}

/* For IC, which reads only the upper triangle. */
tristar_status tsi_precond_mirror_rows(tristar_precond_t *p) {
  tsi_env *env = &p->ts->env;
  p->mirrored = true;
  TSI_TRY(tsi_mirror_upper_rows(env, p->pattern, &p->rows, p->options.level == 0 ? &p->by_rows.cross : NULL));
  p->full = (tsi_entries){.n = p->n, .ptr = p->rows.ptr, .index = p->rows.index};
  return env->check ? tsi_factor_rows_check(env, &p->rows) : TRISTAR_OK;
}

/* Makes the rows, unless they exist. Errors: SINGULAR, MEMORY. */
static tristar_status need_rows(tristar_precond_t *p, bool symmetric, const void *values) {
  tsi_env *env = &p->ts->env;
  bool lent;
  if (p->rows.diagonal) return TRISTAR_OK;
  if (p->options.kind == TRISTAR_PRECOND_IC && tsi_lines_are_upper_rows(p->pattern))
    return tsi_precond_mirror_rows(p);
  TSI_TRY(are_lent(p, symmetric, values, &lent));
  if (lent)
    p->full = (tsi_entries){.n = p->n, .ptr = p->pattern->ptr, .index = p->pattern->index}; /* borrowed */
  else
    TSI_TRY(tsi_full_rows(env, p->pattern, symmetric, &p->full));
  p->rows = (tsi_factor_rows){.n = p->n, .ptr = p->full.ptr, .index = p->full.index};
  TSI_TRY(tsi_find_diagonal(env, &p->rows));
  if (env->check) TSI_TRY(tsi_factor_rows_check(env, &p->rows));
  return TRISTAR_OK;
}

/* Makes A with values, on the pattern of p->rows. symmetric: A has the symmetry of M, which is set. Errors:
 * SINGULAR, MEMORY. */
static tristar_status take_rows(tristar_precond_t *p, bool symmetric, const void *values,
                                tsi_factor_rows *a) {
  TSI_TRY(need_rows(p, symmetric, values));
  *a = p->rows;
  TSI_TRY(allocate(p, a->ptr[a->n], &a->values));
  if (p->mirrored) {
    tsi_copy_upper_rows(p->pattern, values, p->sparse->scalar_bytes, a);
    return TRISTAR_OK;
  }
  tsi_full_gather(p->pattern, &p->full, symmetric ? p->symmetry : p->pattern->symmetry, 0, a->ptr[a->n],
                  values, a->values);
  return TRISTAR_OK;
}

/* ---- Kinds --------------------------------------------------------------------------------------------- */

static tristar_status set_up_jacobi(tristar_precond_t *p, const void *values) {
  if (p->diagonal == NULL) TSI_TRY(allocate(p, p->n, &p->diagonal));
  TSI_TRY(take_diagonal(p, values, p->diagonal));
  return tsi_precond_report(p, p->kernels->invert(p->n, p->diagonal, p->diagonal));
}

void tsi_precond_report_fill(tristar_precond_t *p, tsi_count lower, tsi_count upper) {
  const double all = upper > 0 ? (double)(lower + upper) : 2.0 * (double)(lower - p->n) + p->n;
  p->stats.nnz_lower = lower;
  p->stats.nnz_upper = upper;
  p->stats.fill = p->stats.nnz > 0 ? all / (double)p->stats.nnz : 0;
}

static tsi_count count_lower(const tsi_factor_rows *rows) {
  tsi_count count = 0;
  for (tsi_index i = 0; i < rows->n; i++) count += rows->diagonal[i] - rows->ptr[i];
  return count;
}

static tristar_op adjoint_of(const tristar_precond_t *p) {
  return p->symmetry == TRISTAR_HERMITIAN ? TRISTAR_C : TRISTAR_T;
}

/* Makes the second sweep with the triangle of the first. Panels serve both; a triangle by rows is stored once
 * for each. */
static tristar_status make_other_sweep(tristar_precond_t *p, const tsi_factor_rows *rows, tristar_uplo uplo,
                                       tristar_op op) {
  if (p->stats.partition[0] != TRISTAR_PARTITION_SUPERNODES)
    return tsi_precond_make_sweep(p, 1, rows, uplo, TRISTAR_NON_UNIT, op);
  tsi_precond_share_sweep(p, adjoint_of(p));
  return TRISTAR_OK;
}

static tristar_status set_up_ssor(tristar_precond_t *p, const void *values) {
  tristar_status status = TRISTAR_OK;
  tsi_factor_rows a = {.values = NULL};
  const tristar_symmetry symmetry = p->pattern->symmetry;
  const bool shared = symmetry == TRISTAR_SYMMETRIC || symmetry == TRISTAR_HERMITIAN;
  TSI_TRY_OUT(take_rows(p, false, values, &a));
  if (p->diagonal == NULL) TSI_TRY_OUT(allocate(p, p->n, &p->diagonal));
  TSI_TRY_OUT(tsi_precond_report(p, p->kernels->relax(&a, p->options.omega, p->diagonal)));
  const tsi_count below = count_lower(&a);
  p->symmetry = shared ? symmetry : TRISTAR_GENERAL;
  tsi_precond_report_fill(p, below + p->n, shared ? 0 : a.ptr[p->n] - below);
  TSI_TRY_OUT(tsi_precond_make_sweep(p, 0, &a, TRISTAR_LOWER, TRISTAR_NON_UNIT, TRISTAR_N));
  if (shared)
    TSI_TRY_OUT(make_other_sweep(p, &a, TRISTAR_LOWER, adjoint_of(p)));
  else
    TSI_TRY_OUT(tsi_precond_make_sweep(p, 1, &a, TRISTAR_UPPER, TRISTAR_NON_UNIT, TRISTAR_N));
out:
  TSI_FREE(&p->ts->env, a.values);
  return status;
}

/* L and U, or U^H U. */
tristar_status tsi_precond_make_sweeps(tristar_precond_t *p, const tsi_factor_rows *factors, bool shared) {
  if (shared) {
    TSI_TRY(tsi_precond_make_sweep(p, 0, factors, TRISTAR_UPPER, TRISTAR_NON_UNIT, adjoint_of(p)));
    TSI_TRY(make_other_sweep(p, factors, TRISTAR_UPPER, TRISTAR_N));
  } else {
    TSI_TRY(tsi_precond_make_sweep(p, 0, factors, TRISTAR_LOWER, TRISTAR_UNIT, TRISTAR_N));
    TSI_TRY(tsi_precond_make_sweep(p, 1, factors, TRISTAR_UPPER, TRISTAR_NON_UNIT, TRISTAR_N));
  }
  return TRISTAR_OK;
}

tristar_status tsi_precond_incomplete(tristar_precond_t *p, const void *values, tsi_factor_rows *factors) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &p->ts->env;
  const tristar_precond_options *o = &p->options;
  const bool by_level = o->kind == TRISTAR_PRECOND_ILU || o->kind == TRISTAR_PRECOND_IC;
  const bool shared = tsi_precond_shares_factor(p);
  tsi_factor_rows a = {.values = NULL};
  bool done;
  *factors = (tsi_factor_rows){.values = NULL};
  TSI_TRY_OUT(tsi_precond_factor_at_once(p, values, factors, &done));
  if (done) goto out;
  TSI_TRY_OUT(tsi_precond_verify(p));
  if (shared)
    TSI_TRY_OUT(tsi_precond_find_symmetry(p, "incomplete Cholesky factors", "", values, &p->symmetry));
  TSI_TRY_OUT(take_rows(p, shared, values, &a));
  const double begin = tsi_workers_clock(&p->ts->workers);
  if (by_level && o->level > 0 && p->filled.ptr == NULL) {
    TSI_TRY_OUT(tsi_level_fill(env, &a, tsi_index_min(o->level, p->n), &p->filled));
    p->stats.symbolic_seconds = tsi_workers_clock(&p->ts->workers) - begin;
  }
  const double middle = tsi_workers_clock(&p->ts->workers);
  const bool adjoint = p->symmetry == TRISTAR_HERMITIAN || !p->sparse->is_complex;
  TSI_TRY_OUT(tsi_precond_factor(p, &a, adjoint, factors));
  p->stats.numeric_seconds = tsi_workers_clock(&p->ts->workers) - middle;
out:
  TSI_FREE(env, a.values);
  return status;
}

static tristar_status set_up_incomplete(tristar_precond_t *p, const void *values) {
  tristar_status status = TRISTAR_OK;
  const bool shared = tsi_precond_shares_factor(p);
  tsi_factor_rows factors;
  bool kept;
  tsi_row_sweeps_renew(p);
  TSI_TRY_OUT(tsi_precond_incomplete(p, values, &factors));
  const tsi_count below = count_lower(&factors), above = factors.ptr[p->n] - below;
  tsi_precond_report_fill(p, shared ? above : below, shared ? 0 : above);
  TSI_TRY_OUT(tsi_row_sweeps_keep(p, &factors, &kept));
  if (!kept) TSI_TRY_OUT(tsi_precond_make_sweeps(p, &factors, shared));
out:
  tsi_precond_finish_factors(p, &factors);
  return status;
}

void tsi_shift_diagonal(const tsi_sparse_kernels *sparse, const tsi_factor_rows *a, double shift) {
  char *values = a->values;
  for (tsi_index i = 0; i < a->n && shift > 0; i++)
    sparse->multiply(1, values + (size_t)a->diagonal[i] * sparse->scalar_bytes, 1 + shift);
}

/* Two factors, or one? The first choice is final. */
static tristar_status choose_pair(const tristar_precond_t *p, const void *values, bool *pair) {
  const bool is_complex = p->sparse->is_complex;
  const tristar_symmetry symmetry = p->pattern->symmetry;
  tsi_unlike unlike;
  *pair = p->fsai != NULL ? tsi_fsai_is_pair(p->fsai) : p->options.pair == TRISTAR_PAIR_ALWAYS;
  if (p->fsai != NULL || p->options.pair != TRISTAR_PAIR_AUTO) return TRISTAR_OK;
  *pair = symmetry != TRISTAR_HERMITIAN && (symmetry != TRISTAR_SYMMETRIC || is_complex);
  if (symmetry != TRISTAR_GENERAL) return TRISTAR_OK;
  TSI_TRY(tsi_pattern_find_unlike(&p->ts->env, p->pattern, values, is_complex, &unlike));
  *pair = unlike.found;
  return TRISTAR_OK;
}

/* a: for a pair on a symmetric pattern, with part if the pattern of the factors is not computed yet. */
static tristar_status compute_fsai(tristar_precond_t *p, const tsi_factor_rows *a, bool pair,
                                   const void *part) {
  tsi_breakdown breakdown;
  if (p->fsai == NULL) {
    const double begin = tsi_workers_clock(&p->ts->workers);
    TSI_TRY(tsi_fsai_create(p->ts, &p->options, (char)p->stats.scalar, a, pair, &p->fsai));
    p->stats.symbolic_seconds = tsi_workers_clock(&p->ts->workers) - begin;
  }
  const double middle = tsi_workers_clock(&p->ts->workers);
  TSI_TRY(tsi_fsai_compute(p->fsai, a, part, &breakdown));
  TSI_TRY(tsi_precond_report(p, breakdown));
  p->stats.numeric_seconds = tsi_workers_clock(&p->ts->workers) - middle;
  tsi_precond_report_fill(p, tsi_fsai_entries(p->fsai), pair ? tsi_fsai_entries(p->fsai) : 0);
  p->stats.bytes = tsi_fsai_bytes(p->fsai);
  p->stats.nodes = tsi_fsai_node_count(p->fsai);
  p->stats.on_device = tsi_fsai_is_on_device(p->fsai);
  return TRISTAR_OK;
}

static tristar_status set_up_pair(tristar_precond_t *p, const void *values) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &p->ts->env;
  tsi_factor_rows a = {.values = NULL};
  tsi_symmetrized s = {.part = NULL};
  const bool adapts = p->fsai != NULL ? tsi_fsai_adapts(p->fsai) : p->options.steps > 0;
  TSI_TRY_OUT(take_rows(p, false, values, &a));
  tsi_shift_diagonal(p->sparse, &a, p->options.shift);
  TSI_TRY_OUT(tsi_symmetrize(p->ts, (char)p->stats.scalar, &a, adapts, &s));
  if (s.own) TSI_FREE(env, a.values);
  TSI_TRY_OUT(compute_fsai(p, &s.rows, true, s.part));
out:
  tsi_symmetrized_finish(&s);
  TSI_FREE(env, a.values);
  return status;
}

static tristar_status set_up_fsai(tristar_precond_t *p, const void *values) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &p->ts->env;
  tsi_factor_rows a = {.values = NULL};
  bool pair;
  TSI_TRY_OUT(choose_pair(p, values, &pair));
  if (pair) {
    TSI_TRY_OUT(set_up_pair(p, values));
    goto out;
  }
  TSI_TRY_OUT(tsi_precond_find_symmetry(p, "factors of a sparse approximate inverse",
                                        ", and FSAI a pair of factors of it (option pair)", values,
                                        &p->symmetry));
  if (p->sparse->is_complex && p->symmetry != TRISTAR_HERMITIAN)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT,
                 "factors of a sparse approximate inverse are those of a Hermitian matrix, but this one is "
                 "complex symmetric: IC takes such a matrix, and so does a pair of factors (option pair)");
  TSI_TRY_OUT(take_rows(p, true, values, &a));
  tsi_shift_diagonal(p->sparse, &a, p->options.shift);
  TSI_TRY_OUT(compute_fsai(p, &a, false, NULL));
out:
  TSI_FREE(env, a.values);
  return status;
}

tristar_status tsi_precond_set_up(tristar_precond_t *precond, const void *values) {
  const tristar_precond_kind kind = precond->options.kind;
  if (kind == TRISTAR_PRECOND_ILUT || kind == TRISTAR_PRECOND_ICT)
    tsi_precond_drop_sweeps(precond); /* their patterns depend on values */
  switch (kind) {
  case TRISTAR_PRECOND_NONE:
    break;
  case TRISTAR_PRECOND_JACOBI:
    TSI_TRY(set_up_jacobi(precond, values));
    break;
  case TRISTAR_PRECOND_SSOR:
    TSI_TRY(set_up_ssor(precond, values));
    break;
  case TRISTAR_PRECOND_FSAI:
    TSI_TRY(set_up_fsai(precond, values));
    break;
  default:
    TSI_TRY(set_up_incomplete(precond, values));
  }
  return TRISTAR_OK;
}
