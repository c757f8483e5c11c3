/* Common parts of the generators: matrices of points, grids, hashes. See generate.h. */
#include "runtime/matrix/generate/generate.h"

tristar_status tsi_generate_refuse_part(tsi_env *env, tsi_matrix_part *part) {
  if (part == NULL) return TRISTAR_OK;
  TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "this generator makes the whole matrix only, not some of its rows");
}

/* Is entry (a, b) of the block of points i, j stored? */
static bool stored(const tsi_points *p, tsi_index i, tsi_index j, int a, int b) {
  unsigned mask = i == j ? p->self_mask : p->other_mask;
  if (p->symmetric && (i < j || (i == j && a < b))) return false;
  return (mask >> (a * p->unknowns + b) & 1u) != 0;
}

/* ptr[c+1] = entries of columns 0 .. c */
static void count_entries(const tsi_points *p, tsi_index *list, tsi_count *ptr) {
  int others[TSI_UNKNOWNS_MAX] = {0}, selves[TSI_UNKNOWNS_MAX] = {0};
  for (int b = 0; b < p->unknowns; b++)
    for (int a = 0; a < p->unknowns; a++) {
      others[b] += stored(p, 1, 0, a, b);
      selves[b] += stored(p, 0, 0, a, b);
    }
  for (tsi_index j = 0; j < p->points; j++) {
    int coupled = p->couple(p->problem, j, list), other = 0;
    for (int c = 0; c < coupled; c++) other += p->symmetric ? list[c] > j : list[c] != j;
    for (int b = 0; b < p->unknowns; b++) {
      tsi_count col = (tsi_count)j * p->unknowns + b;
      ptr[col + 1] = ptr[col] + selves[b] + (tsi_count)other * others[b];
    }
  }
}

static void write_point(const tsi_points *p, tsi_index j, tsi_index *list, tristar_matrix_t *m) {
  double block[TSI_UNKNOWNS_MAX * TSI_UNKNOWNS_MAX];
  tsi_count next[TSI_UNKNOWNS_MAX];
  int coupled = p->couple(p->problem, j, list);
  for (int b = 0; b < p->unknowns; b++) next[b] = m->ptr[(tsi_count)j * p->unknowns + b];
  for (int c = 0; c < coupled; c++) {
    tsi_index i = list[c];
    if (p->symmetric && i < j) continue;
    p->block(p->problem, i, j, block);
    for (int b = 0; b < p->unknowns; b++)
      for (int a = 0; a < p->unknowns; a++) {
        if (!stored(p, i, j, a, b)) continue;
        m->index[next[b]] = i * p->unknowns + a;
        m->values[next[b]++] = block[a * p->unknowns + b];
      }
  }
}

/* Counts or writes the entries of the rows of point i, from row `first` on; m: the columns of the transpose.
 * In a symmetric kind, entries of the other triangle are computed from the described one. */
static void visit_rows(const tsi_points *p, tsi_index i, tsi_index first, bool write, tsi_index *list,
                       tristar_matrix_t *m) {
  double block[TSI_UNKNOWNS_MAX * TSI_UNKNOWNS_MAX];
  const int coupled = p->couple(p->problem, i, list), unknowns = p->unknowns;
  for (int a = 0; a < unknowns; a++) {
    const tsi_count row = (tsi_count)i * unknowns + a - first;
    tsi_count at = m->ptr[row];
    for (int c = 0; c < coupled; c++) {
      const tsi_index j = list[c];
      const bool other = p->symmetric && i < j;
      if (write) p->block(p->problem, other ? j : i, other ? i : j, block);
      for (int b = 0; b < unknowns; b++) {
        const bool image = other || (p->symmetric && i == j && a < b);
        if (!(image ? stored(p, j, i, b, a) : stored(p, i, j, a, b))) continue;
        if (write) {
          m->index[at] = j * unknowns + b;
          m->values[at] = block[image ? b * unknowns + a : a * unknowns + b];
        }
        at++;
      }
    }
    if (!write) m->ptr[row + 1] = at;
  }
}

static tristar_status build_part(tsi_env *env, const tsi_points *p, tsi_index rows, tsi_matrix_part *part,
                                 tsi_index *list, tristar_matrix_t **matrix) {
  const tsi_index begin = (tsi_index)((int64_t)p->points * part->number / part->parts);
  const tsi_index end = (tsi_index)((int64_t)p->points * (part->number + 1) / part->parts);
  const tsi_index own = (end - begin) * p->unknowns, first = begin * p->unknowns;
  part->symmetry = p->symmetric ? TRISTAR_SYMMETRIC : TRISTAR_GENERAL;
  TSI_TRY(tsi_matrix_create(env, rows, own, TRISTAR_GENERAL, TRISTAR_DOUBLE, matrix));
  for (tsi_index i = begin; i < end; i++) visit_rows(p, i, first, false, list, *matrix);
  TSI_TRY(tsi_matrix_reserve(*matrix, (*matrix)->ptr[own], false));
  for (tsi_index i = begin; i < end; i++) visit_rows(p, i, first, true, list, *matrix);
  return TRISTAR_OK;
}

static tristar_status build_whole(tsi_env *env, const tsi_points *p, tsi_index rows, tsi_index *list,
                                  tristar_matrix_t **matrix) {
  TSI_TRY(tsi_matrix_create(env, rows, rows, p->symmetric ? TRISTAR_SYMMETRIC : TRISTAR_GENERAL,
                            TRISTAR_DOUBLE, matrix));
  count_entries(p, list, (*matrix)->ptr);
  TSI_TRY(tsi_matrix_reserve(*matrix, (*matrix)->ptr[rows], false));
  for (tsi_index j = 0; j < p->points; j++) write_point(p, j, list, *matrix);
  return TRISTAR_OK;
}

tristar_status tsi_points_build(tsi_env *env, const tsi_points *points, tsi_matrix_part *part,
                                tristar_matrix_t **matrix) {
  tsi_index rows = 0;
  *matrix = NULL;
  if (!tsi_to_index((int64_t)points->points * points->unknowns, &rows))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE,
             "%d points with %d unknowns each are too large a matrix: at most %d rows", (int)points->points,
             points->unknowns, (int)TSI_INDEX_MAX);
  TSI_SCRATCH(env, tsi_index, list, points->neighbours);
  const tristar_status status = part != NULL ? build_part(env, points, rows, part, list, matrix)
                                             : build_whole(env, points, rows, list, matrix);
  if (status != TRISTAR_OK) tristar_matrix_destroy(matrix);
  return status;
}

tristar_status tsi_grid_init(tsi_env *env, tsi_grid *grid, int64_t nx, int64_t ny, int64_t nz) {
  int64_t n[3] = {nx, ny, nz}, points = 1;
  for (int d = 0; d < 3; d++)
    if (!tsi_to_index(n[d], &grid->n[d]) || !tsi_count_mul(points, n[d], &points) || points > TSI_INDEX_MAX)
      TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "a grid of %lld x %lld x %lld points is too large: at most %d",
               (long long)nx, (long long)ny, (long long)nz, (int)TSI_INDEX_MAX);
  grid->points = (tsi_index)points;
  return TRISTAR_OK;
}

int tsi_grid_box(const tsi_grid *grid, tsi_index point, tsi_index radius, tsi_index *list) {
  tsi_index place[3], low[3], high[3];
  int found = 0;
  tsi_grid_place(grid, point, place);
  for (int d = 0; d < 3; d++) {
    low[d] = tsi_index_max(place[d] - radius, 0);
    high[d] = tsi_index_min(place[d] + radius, grid->n[d] - 1);
  }
  for (tsi_index z = low[2]; z <= high[2]; z++)
    for (tsi_index y = low[1]; y <= high[1]; y++)
      for (tsi_index x = low[0]; x <= high[0]; x++) list[found++] = x + grid->n[0] * (y + grid->n[1] * z);
  return found;
}

int tsi_grid_star(const tsi_grid *grid, tsi_index point, tsi_index radius, tsi_index *list) {
  tsi_index place[3];
  tsi_index stride[3] = {1, grid->n[0], grid->n[0] * grid->n[1]};
  int found = 0;
  tsi_grid_place(grid, point, place);
  for (int d = 2; d >= 0; d--)
    for (tsi_index r = tsi_index_min(radius, place[d]); r >= 1; r--) list[found++] = point - r * stride[d];
  list[found++] = point;
  for (int d = 0; d < 3; d++)
    for (tsi_index r = 1; r <= radius && place[d] + r < grid->n[d]; r++)
      list[found++] = point + r * stride[d];
  return found;
}

uint64_t tsi_hash(uint64_t x) {
  /* the finalizer of splitmix64 (Steele, Lea, Flood 2014) */
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

double tsi_hash_unit(uint64_t x) {
  return (double)(tsi_hash(x) >> 11) / 9007199254740992.0; /* 2^53 */
}
