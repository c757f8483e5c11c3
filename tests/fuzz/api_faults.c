/* Views with one fault: wrong members, or copies of arrays with a wrong entry. */
#include "tests/fuzz/api.h"

/* Arrays of a view, which can be changed. */
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

/* Adds the mirror image of an entry at the end of its line. Returns false if there is none to add. */
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

/* Makes a diagonal entry invalid for the kind of symmetry. Returns false if there is none. */
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

/* Makes a fault in the arrays. Returns the statuses that are then right; 0: no fault. */
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
  if (fault == 1) /* ptr decreases */
    set_ptr(view, p->n, base - 1 - place);
  else if (view->index_bits == 32) /* an index beyond the matrix */
    set_index(view, place % p->count, place & 1 ? p->n + base : base - 1);
  else
    set_index(view, place % p->count, extreme >= 0 && extreme < p->n + base ? -5 : extreme);
  return BIT(TRISTAR_ERR_FORMAT);
}

/* Makes a fault in a member that is not an array. Returns as spoil_arrays. */
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

/* The view of the pattern with values; one property may be wrong. *right: the statuses that are then
 * right. */
tristar_view choose_view(const pattern *p, const values *v, bool with_values, unsigned *right) {
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
