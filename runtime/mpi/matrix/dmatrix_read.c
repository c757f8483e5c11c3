/* Reads the entries of a file in parts, one on each rank: see dmatrix.h. */
#include "runtime/base/grow.h"
#include "runtime/matrix/file/market.h"
#include "runtime/matrix/file/number.h"
#include "runtime/mpi/matrix/dmatrix.h"
#include "runtime/mpi/comm/mailbox.h"

/* Collective. Checks that all ranks see the same file, with a square matrix and values. Gives each rank an
 * equal block of rows. */
static tristar_status agree_on_header(tristar_dmatrix_t *d, const tsi_market_part *p,
                                      const tristar_dmatrix_options *options, tristar_status mine) {
  tsi_env *env = &d->ts->env;
  const tsi_market_header *h = &p->header;
  const int ranks = tsi_transport_size(d->transport);
  static const char *const name[] = {"rows of the file", "entries of the file", "symmetry of the file",
                                     "values of the file", "bytes of the file"};
  const int64_t value[] = {h->rows, h->entries, h->symmetry, h->field, p->lines.bytes};
  if (mine == TRISTAR_OK && h->rows != h->cols)
    mine = tsi_fail(env, TRISTAR_ERR_RECTANGULAR, __func__, __FILE__, __LINE__,
                    "%s: the matrix is not square: %d rows, %d columns", p->lines.path, h->rows, h->cols);
  if (mine == TRISTAR_OK)
    mine = tsi_dmatrix_choose_scalar(d, options,
                                     h->field == TSI_FIELD_COMPLEX ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE,
                                     h->field != TSI_FIELD_PATTERN);
  TSI_TRY(tsi_dmatrix_agree(d, options, mine));
  TSI_TRY(tsi_transport_same(d->transport, TRISTAR_OK, 5, name, value, 0, NULL));
  for (int r = 0; r < ranks; r++) d->start[r + 1] = (int64_t)h->rows * (r + 1) / ranks;
  return TRISTAR_OK;
}

/* Local. */
static tristar_status list_entries(const tristar_dmatrix_t *d, tsi_market_part *p, tsi_dlist *list) {
  tsi_env *env = &d->ts->env;
  const tsi_count expected = p->header.entries / p->part.parts + 1;
  tsi_count space = 0;
  for (;;) {
    double value[2];
    tsi_dplace place;
    bool there;
    TSI_TRY(tsi_market_part_next(p, &there, &place.row, &place.col, value));
    if (!there) break;
    if (list->count == space) {
      space = tsi_next_capacity(space, expected);
      TSI_TRY(tsi_grow(env, (void **)&list->place, sizeof *list->place, list->count, space));
      TSI_TRY(tsi_grow(env, (void **)&list->value, d->bytes, list->count, space));
    }
    list->place[list->count] = place;
    tsi_dvalue_put(d->scalar, value, list->value, list->count++);
  }
  return TRISTAR_OK;
}

/* Collective. Counts the lines that end in the parts before this one. */
static tristar_status count_before(tristar_dmatrix_t *d, tsi_market_part *p, int64_t *before) {
  int64_t own = 0;
  *before = 0;
  TSI_TRY(tsi_transport_agree(d->transport, tsi_market_part_count(p, &own)));
  TSI_TRY(TSI_MPI(&d->ts->env, "MPI_Exscan",
                  MPI_Exscan(&own, before, 1, MPI_INT64_T, MPI_SUM, tsi_transport_comm(d->transport))));
  if (tsi_transport_rank(d->transport) == 0) *before = 0; /* MPI leaves it undefined */
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status check_count(tristar_dmatrix_t *d, const tsi_market_part *p) {
  int64_t all = p->taken;
  TSI_TRY(tsi_transport_unite(d->transport, &all, 1, MPI_INT64_T, MPI_SUM));
  if (all != p->header.entries)
    TSI_FAIL(&d->ts->env, TRISTAR_ERR_FORMAT, "%s: the file has %lld entries, line %lld announces %lld",
             p->lines.path, (long long)all, (long long)p->header.size_line, (long long)p->header.entries);
  return TRISTAR_OK;
}

static tristar_status read_parts(tristar_dmatrix_t *d, tsi_market_part *p, tristar_status mine,
                                 const tristar_dmatrix_options *options, tsi_dlist *list) {
  int64_t before;
  TSI_TRY(agree_on_header(d, p, options, mine));
  TSI_TRY(count_before(d, p, &before));
  mine = tsi_market_part_begin(p, before);
  if (mine == TRISTAR_OK) mine = list_entries(d, p, list);
  TSI_TRY(tsi_transport_agree(d->transport, mine));
  return check_count(d, p);
}

tristar_status tsi_dmatrix_read_file(tristar_dmatrix_t *d, const char *path,
                                     const tristar_dmatrix_options *options, tsi_dlist *list,
                                     tristar_symmetry *symmetry, bool *is_complex) {
  const tsi_matrix_part part = {.number = tsi_transport_rank(d->transport),
                                .parts = tsi_transport_size(d->transport)};
  tsi_market_part p;
  tsi_locale locale;
  tsi_locale_enter(&locale);
  const tristar_status mine = tsi_market_part_open(&p, &d->ts->env, path, &part);
  const tristar_status status = read_parts(d, &p, mine, options, list);
  *symmetry = p.header.symmetry;
  *is_complex = p.header.field == TSI_FIELD_COMPLEX;
  tsi_market_part_close(&p);
  tsi_locale_leave(&locale);
  return status;
}
