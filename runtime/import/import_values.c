/* Scatters given columns to dense blocks, inverts and packs them: see import_values.h. */
#include "runtime/import/import_values.h"

#include <math.h>

#include "codelets/cpu/front.h"
#include "runtime/exec/starpu/blas.h"

typedef struct importer {
  tsi_env *env;
  const tsi_triangle *triangle;
  const tsi_structure *structure;
  const tsi_front_kernels *kernels;
  const tsi_sparse_kernels *sparse;
  const char *name;
  tsi_inverse inverse;
  const void *middle;   /* see the header */
  double growth, ratio; /* maxima over the blocks so far */
  char *stream;
  tsi_index *place; /* n: row in the current front */
  tsi_index *owner; /* n: the supernode for which `place` is valid */
  tsi_index *row;   /* rows of the current column */
  void *scratch;    /* a diagonal block */
} importer;

/* The user's term for a column of the triangle. */
static const char *line_of(const importer *im) {
  return *im->name == 'U' ? "row" : "column";
}

static tristar_status allocate(importer *im) {
  const tsi_triangle *t = im->triangle;
  tsi_index longest = 0;
  for (tsi_index j = 0; j < t->n; j++) longest = tsi_index_max(longest, t->count[j]);
  TSI_TRY(TSI_ALLOC_IN(im, im->place, t->n));
  TSI_TRY(TSI_ALLOC_IN(im, im->owner, t->n));
  TSI_TRY(TSI_ALLOC_IN(im, im->row, longest));
  TSI_TRY(TSI_ALLOC_SIZED_IN(im, im->scratch, TSI_PANEL_WIDTH_MAX * TSI_PANEL_WIDTH_MAX,
                             im->kernels->scalar_bytes));
  for (tsi_index i = 0; i < t->n; i++) im->owner[i] = TSI_NONE;
  return TRISTAR_OK;
}

/* Computes the positions of the rows of supernode s in its front. */
static void place_rows(importer *im, tsi_index s) {
  const tsi_symbolic *sy = im->structure->symbolic;
  tsi_index at = 0;
  for (tsi_index i = sy->start[s]; i < sy->start[s + 1]; i++) {
    im->owner[i] = s;
    im->place[i] = at++;
  }
  for (tsi_count p = sy->row_ptr[s]; p < sy->row_ptr[s + 1]; p++) {
    im->owner[sy->rows[p]] = s;
    im->place[sy->rows[p]] = at++;
  }
}

/* Adds the given column perm[j] to the front of supernode s. */
static tristar_status add_column(importer *im, const tsi_front *front, tsi_index s, tsi_index j) {
  const tsi_symbolic *sy = im->structure->symbolic;
  const tsi_triangle *t = im->triangle;
  const tsi_index given = sy->perm[j];
  const tsi_count begin = t->ptr[given];
  for (tsi_index e = 0; e < t->count[given]; e++) {
    const tsi_index i = sy->inverse[t->row[begin + e]];
    im->row[e] = im->owner[i] == s && !(t->unit && i == j) ? im->place[i] : -1;
    if (im->owner[i] == s) continue;
    const tsi_count at = t->source ? t->source[begin + e] : e;
    if (im->sparse->largest_size(1, (const char *)t->values[given] +
                                        (size_t)at * im->kernels->scalar_bytes) != 0)
      TSI_FAIL(im->env, TRISTAR_ERR_STALE, "%s has a new entry: row %d of column %d", im->name,
               t->row[begin + e], given);
  }
  im->kernels->add_column(front, j - sy->start[s], t->count[given], im->row, t->values[given],
                          t->source ? t->source + begin : NULL);
  return TRISTAR_OK;
}

/* The largest ratio of entries first .. first + count - 1 on the diagonal of a front, or in `middle`. */
static double ratio_of(const importer *im, const tsi_front *front, tsi_index s, tsi_index first,
                       tsi_index count, bool of_middle) {
  const tsi_symbolic *sy = im->structure->symbolic;
  double least = INFINITY, most = 0;
  for (tsi_index k = first; k < first + count; k++) {
    const char *entry =
        of_middle ? (const char *)im->middle + (size_t)sy->perm[sy->start[s] + k] * im->kernels->scalar_bytes
                  : (const char *)front->p + (size_t)k * ((size_t)front->f + 1) * im->kernels->scalar_bytes;
    const double size = im->sparse->largest_size(1, entry);
    least = fmin(least, size);
    most = fmax(most, size);
  }
  return most / least;
}

static tristar_status pack_panels(importer *im, const tsi_front *front, tsi_index s) {
  const tsi_panels *panels = im->structure->panels;
  const tsi_count *values = im->structure->panel_values;
  for (tsi_index p = panels->first[s]; p < panels->first[s + 1]; p++) {
    char *to = im->stream + (size_t)values[p] * im->kernels->scalar_bytes;
    im->kernels->pack_lower(front, panels->start[p] - panels->start[panels->first[s]],
                            tsi_panel_width(panels, p), im->triangle->unit, im->inverse, to, im->scratch);
    const bool finite =
        im->sparse->first_not_finite(values[p + 1] - values[p], to) == values[p + 1] - values[p];
    if (!finite && im->inverse == TSI_INVERSE_NONE)
      TSI_FAIL(
          im->env, TRISTAR_ERR_NOT_FINITE,
          "%s: the reciprocal of a diagonal entry in columns %d to %d of the order that the import chose "
          "exceeds the range of the type",
          im->name, panels->start[p], panels->start[p + 1] - 1);
    if (!finite)
      im->growth = INFINITY;
    else if (im->inverse != TSI_INVERSE_NONE)
      im->growth = fmax(im->growth, im->kernels->inverse_growth(tsi_panel_width(panels, p), to));
    const tsi_index first = panels->start[p] - panels->start[panels->first[s]];
    if (!im->triangle->unit)
      im->ratio = fmax(im->ratio, ratio_of(im, front, s, first, tsi_panel_width(panels, p), false));
    if (im->middle)
      im->ratio = fmax(im->ratio, ratio_of(im, front, s, first, tsi_panel_width(panels, p), true));
  }
  return TRISTAR_OK;
}

static tristar_status import_supernode(importer *im, tsi_index s) {
  const tsi_symbolic *sy = im->structure->symbolic;
  const tsi_index w = sy->start[s + 1] - sy->start[s], m = (tsi_index)(sy->row_ptr[s + 1] - sy->row_ptr[s]);
  TSI_OWNED void *p = NULL;
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(im->env, p, (size_t)w * (size_t)(w + m), im->kernels->scalar_bytes));
  const tsi_front front = {.w = w, .m = m, .f = w + m, .p = p};
  place_rows(im, s);
  for (tsi_index j = sy->start[s]; j < sy->start[s + 1]; j++) TSI_TRY(add_column(im, &front, s, j));
  for (tsi_index k = 0; k < w; k++)
    if (im->sparse->first_not_finite(front.f, (const char *)front.p +
                                                  (size_t)k * (size_t)front.f * im->kernels->scalar_bytes) <
        front.f)
      TSI_FAIL(im->env, TRISTAR_ERR_NOT_FINITE, "%s: NaN or infinity in %s %d", im->name, line_of(im),
               sy->perm[sy->start[s] + k]);
  if (!im->triangle->unit) {
    const tsi_index k = im->kernels->zero_diagonal(&front);
    if (k != TSI_NONE)
      TSI_FAIL(im->env, TRISTAR_ERR_SINGULAR, "%s: diagonal entry %d (counted from 0) is zero or missing",
               im->name, sy->perm[sy->start[s] + k]);
  }
  return pack_panels(im, &front, s);
}

tristar_status tsi_import_values(tsi_env *env, const tsi_triangle *triangle, const tsi_structure *structure,
                                 char scalar, const char *name, tsi_inverse inverse, const void *middle,
                                 double *growth, double *ratio, void *stream) {
  TSI_SCRATCH(env, importer, im, 1);
  *im = (importer){.env = env,
                   .triangle = triangle,
                   .structure = structure,
                   .kernels = tsi_front_kernels_select(scalar),
                   .sparse = tsi_sparse_kernels_select(scalar),
                   .name = name,
                   .inverse = inverse,
                   .middle = middle,
                   .growth = *growth,
                   .ratio = *ratio,
                   .stream = stream};
  TSI_TRY(allocate(im));
  TSI_TRY(tsi_blas_reserve(env, 1));
  for (tsi_index s = 0; s < structure->symbolic->count; s++) TSI_TRY(import_supernode(im, s));
  *growth = im->growth;
  *ratio = im->ratio;
  return TRISTAR_OK;
}
