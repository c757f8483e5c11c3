/* Choices that depend on the values of all ranks: see dmatrix_factor.h.
 *
 * If the entries of a pair (i, j), (j, i) are on two ranks, both ranks compare them: each entry outside the
 * diagonal block is sent to the owner of the row of its mirror image. */
#include <inttypes.h>

#include "runtime/matrix/matrix.h"
#include "runtime/mpi/factor/dmatrix_factor.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/comm/route.h"

/* ---- Mirror images ------------------------------------------------------------------------------------- */

enum { SYMMETRIC, HERMITIAN, KINDS }; /* kinds of mirror images */

/* Result of a comparison of mirror images, for each kind. */
typedef struct likeness {
  int64_t pair[KINDS];    /* first pair that is not alike, see pair_of; INT64_MAX: there is none */
  int64_t rounded[KINDS]; /* -1: mirror images differ by rounding errors; 0: they are equal. Like pairs,
                             reduced to the least of all ranks */
} likeness;

/* Entries whose mirror images are on other ranks. */
typedef struct mirrors {
  const tristar_dmatrix_t *d;
  tsi_route route;
  tsi_dlist given, taken;
  char *own;                                  /* this rank's mirror image of each received entry, or zero */
  double *given_root, *taken_root, *own_root; /* sqrt(|a_ii|) of the row of each entry */
} mirrors;

/* The value of an entry of this rank's rows; NULL: there is none. */
static const char *find_entry(const tristar_dmatrix_t *d, const tsi_dplace *place) {
  const tsi_count at = tsi_dmatrix_find(d, place->row, place->col);
  return at < 0 ? NULL : (const char *)d->whole->values + (size_t)at * d->bytes;
}

/* sqrt(|a_ii|) of a row of this rank. */
static double root_of_diagonal(const tristar_dmatrix_t *d, tsi_index row) {
  const char *entry = find_entry(d, &(tsi_dplace){row, row});
  double size = 0;
  if (entry != NULL) d->sparse->part(1, entry, TSI_PART_MAGNITUDE, &size);
  return sqrt(size);
}

/* Local. */
static tristar_status count_given(mirrors *m) {
  const tristar_dmatrix_t *d = m->d;
  TSI_TRY(tsi_route_begin(&d->ts->env, d->transport, &m->route));
  for (tsi_count e = 0; e < d->whole->ptr[d->n]; e++)
    if (!tsi_dmatrix_has_row(d, d->column[e])) m->route.goes[tsi_dmatrix_owner(d, d->column[e]) + 1]++;
  return TRISTAR_OK;
}

/* Local. Lists the entries to send, by the owner of the column, and allocates the entries to receive. */
static tristar_status list_given(mirrors *m) {
  const tristar_dmatrix_t *d = m->d;
  tsi_env *env = &d->ts->env;
  const tsi_rows_matrix *rows = d->whole;
  const tsi_index first = (tsi_index)tsi_dmatrix_first(d);
  const tsi_count gives = tsi_route_sent(&m->route), takes = tsi_route_received(&m->route);
  TSI_TRY(tsi_dlist_make(d, gives, &m->given));
  TSI_TRY(TSI_ALLOC(env, m->given_root, gives));
  TSI_TRY(tsi_dlist_make(d, takes, &m->taken));
  TSI_TRY(TSI_ALLOC(env, m->taken_root, takes));
  TSI_TRY(TSI_ALLOC_ZERO(env, m->own_root, takes));
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, m->own, takes, d->bytes));
  for (tsi_index i = 0; i < d->n; i++)
    for (tsi_count e = rows->ptr[i]; e < rows->ptr[i + 1]; e++) {
      if (tsi_dmatrix_has_row(d, d->column[e])) continue;
      const tsi_count at = m->route.next[tsi_dmatrix_owner(d, d->column[e])]++;
      m->given.place[at] = (tsi_dplace){d->column[e], first + i};
      tsi_copy_scalar(d->bytes, m->given.value, at, rows->values, e);
      m->given_root[at] = root_of_diagonal(d, first + i);
    }
  return TRISTAR_OK;
}

/* A pair as a number, for a reduction to the smallest. */
static int64_t pair_of(const tristar_dmatrix_t *d, int64_t row, int64_t column) {
  return row * d->stats.n + column;
}

/* Local. Compares mirror images within the diagonal block. */
static tristar_status look_here(const tristar_dmatrix_t *d, likeness *found) {
  const tsi_entries *diagonal = &d->form[TSI_DPLAIN].diagonal;
  const tsi_sparse a = {d->n, true, TRISTAR_GENERAL, diagonal->ptr, diagonal->index, diagonal->item};
  const int64_t first = tsi_dmatrix_first(d);
  TSI_SCRATCH(&d->ts->env, tsi_count, next, d->n);
  for (int k = 0; k < KINDS; k++) {
    bool rounded = false;
    const tsi_count p = d->sparse->first_unlike(&a, k == HERMITIAN, TSI_SAME, next, &rounded);
    tsi_index row = 0;
    found->rounded[k] = -rounded;
    found->pair[k] = INT64_MAX;
    if (p == a.ptr[a.n]) continue;
    while (a.ptr[row + 1] <= p) row++;
    found->pair[k] = pair_of(d, first + row, first + a.index[p]);
  }
  return TRISTAR_OK;
}

/* Compares the entries whose mirror images were received. */
static void look_there(const mirrors *m, likeness *out) {
  const tristar_dmatrix_t *d = m->d;
  const tsi_dplace *taken = m->taken.place;
  for (tsi_count k = 0; k < m->taken.count; k++) {
    const char *entry = find_entry(d, &taken[k]);
    if (entry) memcpy(m->own + (size_t)k * d->bytes, entry, d->bytes);
    if (entry) m->own_root[k] = root_of_diagonal(d, taken[k].row);
  }
  for (int k = 0; k < KINDS; k++) {
    bool rounded = false;
    const tsi_count at = d->sparse->first_apart(m->taken.count, m->own, m->own_root, m->taken.value,
                                                m->taken_root, k == HERMITIAN, &rounded);
    if (rounded) out->rounded[k] = -1;
    if (at == m->taken.count) continue;
    const int64_t found = pair_of(d, taken[at].row, taken[at].col);
    out->pair[k] = found < out->pair[k] ? found : out->pair[k];
  }
}

/* Collective. Compares all mirror images, with the same result on all ranks. */
static tristar_status compare_mirrors(const tristar_dmatrix_t *d, likeness *out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  mirrors m = {.d = d};
  status = look_here(d, out);
  if (status == TRISTAR_OK) status = count_given(&m);
  TSI_TRY_OUT(tsi_route_connect(env, d->transport, status, &m.route));
  TSI_TRY_OUT(tsi_transport_agree(d->transport, list_given(&m)));
  TSI_TRY_OUT(tsi_route_pass(env, &m.route, sizeof(tsi_dplace), false, m.given.place, m.taken.place));
  TSI_TRY_OUT(tsi_route_pass(env, &m.route, d->bytes, false, m.given.value, m.taken.value));
  TSI_TRY_OUT(tsi_route_pass(env, &m.route, sizeof *m.taken_root, false, m.given_root, m.taken_root));
  look_there(&m, out);
  TSI_TRY_OUT(tsi_transport_unite(d->transport, out, sizeof *out / sizeof *out->pair, MPI_INT64_T, MPI_MIN));
out:
  tsi_route_finish(&m.route);
  tsi_dlist_release(&m.given);
  tsi_dlist_release(&m.taken);
  TSI_FREE(env, m.own);
  TSI_FREE(env, m.given_root);
  TSI_FREE(env, m.taken_root);
  TSI_FREE(env, m.own_root);
  return status;
}

/* Collective. The likeness of mirror images: as declared or, for a general matrix, found from the values.
 * unlike: a pair that is not alike, if there is one. */
static tristar_status find_likeness(const tristar_dmatrix_t *d, tsi_likeness *out, tsi_unlike *unlike) {
  const bool is_complex = d->sparse->is_complex;
  likeness all;
  *unlike = (tsi_unlike){.found = false};
  *out = tsi_likeness_declared(d->stats.symmetry, is_complex);
  if (d->stats.symmetry != TRISTAR_GENERAL) return TRISTAR_OK;
  TSI_TRY(compare_mirrors(d, &all));
  unlike->rounded = all.rounded[HERMITIAN] != 0;
  if (all.pair[HERMITIAN] == INT64_MAX) {
    *out = TSI_HERMITIAN;
    return TRISTAR_OK;
  }
  unlike->found = true;
  unlike->row = (tsi_index)(all.pair[HERMITIAN] / d->stats.n);
  unlike->column = (tsi_index)(all.pair[HERMITIAN] % d->stats.n);
  if (is_complex && all.pair[SYMMETRIC] == INT64_MAX) {
    *out = TSI_SYMMETRIC;
    unlike->rounded = all.rounded[SYMMETRIC] != 0;
    return TRISTAR_OK;
  }
  if (is_complex) {
    unlike->plain_row = (tsi_index)(all.pair[SYMMETRIC] / d->stats.n);
    unlike->plain_column = (tsi_index)(all.pair[SYMMETRIC] % d->stats.n);
  }
  return TRISTAR_OK;
}

/* ---- The method ---------------------------------------------------------------------------------------- */

/* Local. */
static tristar_status check_finite(const tristar_dmatrix_t *d) {
  const tsi_rows_matrix *rows = d->whole;
  const tsi_count bad = d->sparse->first_not_finite(rows->ptr[d->n], rows->values);
  tsi_index i = 0;
  if (bad == rows->ptr[d->n]) return TRISTAR_OK;
  while (rows->ptr[i + 1] <= bad) i++;
  TSI_FAIL(&d->ts->env, TRISTAR_ERR_NOT_FINITE,
           "the matrix has NaN or infinity in row %" PRId64 ", column %d (counted from 0)",
           tsi_dmatrix_first(d) + i, d->column[bad]);
}

/* Whether the real part of every diagonal entry of this rank is positive. */
static bool positive_here(const tristar_dmatrix_t *d) {
  const tsi_entries *diagonal = &d->form[TSI_DPLAIN].diagonal;
  for (tsi_index i = 0; i < d->n; i++) {
    double value = 0;
    for (tsi_count p = diagonal->ptr[i]; p < diagonal->ptr[i + 1]; p++)
      if (diagonal->index[p] == i)
        d->sparse->part(1, (const char *)diagonal->item + (size_t)p * d->bytes, TSI_PART_REAL, &value);
    if (!(value > 0)) return false;
  }
  return true;
}

/* Collective. rounded: the values fit the method except for rounding errors. */
static tristar_status check_method(const tristar_dmatrix_t *d, tristar_method method, bool *adjoint,
                                   bool *rounded) {
  tsi_likeness found;
  tsi_unlike unlike;
  *adjoint = *rounded = false;
  TSI_TRY(tsi_transport_agree(d->transport, check_finite(d)));
  if (method == TRISTAR_METHOD_LU) return TRISTAR_OK;
  TSI_TRY(find_likeness(d, &found, &unlike));
  TSI_TRY(tsi_method_check(&d->ts->env, method, d->sparse->is_complex, found, &unlike));
  *adjoint = found == TSI_HERMITIAN;
  *rounded = unlike.rounded;
  return TRISTAR_OK;
}

tristar_status tsi_rows_check_method(const tristar_dmatrix_t *d, tristar_method method, bool *adjoint) {
  bool rounded;
  return check_method(d, method, adjoint, &rounded);
}

/* Collective. */
static tristar_status choose(const tristar_dmatrix_t *d, tsi_rows_method *out) {
  tsi_likeness found;
  tsi_unlike unlike;
  bool positive;
  TSI_TRY(tsi_transport_agree(d->transport, check_finite(d)));
  TSI_TRY(find_likeness(d, &found, &unlike));
  TSI_TRY(tsi_rows_everywhere(d, positive_here(d), &positive));
  out->chosen.method = tsi_method_for(found, positive);
  out->chosen.fallback = out->chosen.method == TRISTAR_METHOD_LLT;
  out->chosen.rounded = found != TSI_UNSYMMETRIC && unlike.rounded;
  out->adjoint = out->chosen.method != TRISTAR_METHOD_LU && found == TSI_HERMITIAN;
  return TRISTAR_OK;
}

tristar_status tsi_rows_choose_method(const tristar_dmatrix_t *d, const tristar_analysis_options *options,
                                      tsi_rows_method *out) {
  *out = (tsi_rows_method){.chosen = {.method = options->method}};
  if (options->method == TRISTAR_METHOD_AUTO)
    TSI_TRY(choose(d, out));
  else
    TSI_TRY(check_method(d, options->method, &out->adjoint, &out->chosen.rounded));
  return tsi_rows_need_matching(d, out->chosen.method, options, &out->match);
}
