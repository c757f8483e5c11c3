/* The electric field in a cavity: curl curl E - k^2 E = f in the unit cube, E tangential = 0 on its walls
 * (perfect conductor), k^2 = 27. Lowest-order edge elements (Nedelec 1980) on (K+1)^3 cubes.
 *
 * One unknown per edge; edges on the walls are eliminated: 3 (K+1) K^2 unknowns, first all edges along x,
 * then y, then z, each group numbered x fastest. Values are scaled by 36 / h, h = 1 / (K + 1).
 *
 * Symmetric, indefinite: the K^3 discrete gradients have negative eigenvalues, and so have the three lowest
 * modes. k^2 is between the resonances of the cavity: the nearest continuous ones are 2 pi^2 = 19.7 and 3
 * pi^2 = 29.6; the discrete ones are higher, the first at most 24 (K = 1). */
#include "runtime/matrix/generate/generate.h"

#define WAVE_NUMBER_SQUARED 27.0

typedef struct cavity {
  tsi_grid edges[3];  /* The interior edges in each direction. */
  tsi_index first[4]; /* number of the first edge of each direction; the end */
  double mass_factor; /* k^2 h^2 */
} cavity;

/* Direction of an edge, and its place: the cell along its direction, grid lines 1 .. K across. */
static int edge_place(const cavity *p, tsi_index edge, tsi_index place[3]) {
  int direction = edge < p->first[1] ? 0 : edge < p->first[2] ? 1 : 2;
  tsi_grid_place(&p->edges[direction], edge - p->first[direction], place);
  for (int d = 0; d < 3; d++) place[d] += d != direction;
  return direction;
}

/* Lists the edges of the four cubes around edge j, by direction; the edges of each direction form a box. */
static int couple(const void *problem, tsi_index j, tsi_index *list) {
  const cavity *p = problem;
  tsi_index at[3];
  int found = 0, own = edge_place(p, j, at);
  for (int direction = 0; direction < 3; direction++) {
    const tsi_grid *edges = &p->edges[direction];
    tsi_index low[3], high[3];
    for (int d = 0; d < 3; d++) {
      /* the cubes around j: at-1 and at, across its direction; their edges along `direction` are in these
       * cubes, on the grid lines that bound them across it */
      bool along = d == direction;
      low[d] = d == own ? at[d] : at[d] - 1;
      high[d] = along ? at[d] : at[d] + 1;
      if (!along) { /* lines 1 .. K are numbered from 0 */
        low[d] = tsi_index_max(low[d] - 1, 0);
        high[d] = tsi_index_min(high[d] - 1, edges->n[d] - 1);
      }
    }
    for (tsi_index z = low[2]; z <= high[2]; z++)
      for (tsi_index y = low[1]; y <= high[1]; y++)
        for (tsi_index x = low[0]; x <= high[0]; x++)
          list[found++] = p->first[direction] + x + edges->n[0] * (y + edges->n[1] * z);
  }
  return found;
}

/* One-dimensional integrals of hat functions on a unit cell; a, b: which end. */
static double mass6(int a, int b) {
  return a == b ? 2 : 1; /* times 1/6 */
}
static double stiffness(int a, int b) {
  return a == b ? 1 : -1;
}
static double slope(int a) {
  return a == 1 ? 1 : -1;
}

/* The contribution of one cube: edges along da and db at the ends a[], b[] of the cube across their
 * direction. */
static double cube_value(const cavity *p, int da, const int a[3], int db, const int b[3]) {
  if (da != db) { /* curl(e_da f) . curl(e_db g) = -(d f / d x_db) (d g / d x_da) */
    int across = 3 - da - db;
    return -6 * slope(a[db]) * slope(b[da]) * mass6(a[across], b[across]);
  }
  int s = (da + 1) % 3, t = (da + 2) % 3;
  double curl = 6 * (mass6(a[s], b[s]) * stiffness(a[t], b[t]) + stiffness(a[s], b[s]) * mass6(a[t], b[t]));
  return curl - p->mass_factor * (mass6(a[s], b[s]) * mass6(a[t], b[t]));
}

static void block(const void *problem, tsi_index i, tsi_index j, double *value) {
  const cavity *p = problem;
  tsi_index at_i[3], at_j[3], low[3], high[3], cube[3];
  int di = edge_place(p, i, at_i), dj = edge_place(p, j, at_j);
  for (int d = 0; d < 3; d++) { /* the cubes with both edges */
    low[d] = tsi_index_max(at_i[d] - (d != di), at_j[d] - (d != dj));
    high[d] = tsi_index_min(at_i[d], at_j[d]);
  }
  *value = 0;
  for (cube[2] = low[2]; cube[2] <= high[2]; cube[2]++)
    for (cube[1] = low[1]; cube[1] <= high[1]; cube[1]++)
      for (cube[0] = low[0]; cube[0] <= high[0]; cube[0]++) {
        int a[3], b[3];
        for (int d = 0; d < 3; d++) {
          a[d] = (int)(at_i[d] - cube[d]);
          b[d] = (int)(at_j[d] - cube[d]);
        }
        *value += cube_value(p, di, a, dj, b);
      }
}

tristar_status tsi_generate_maxwell3d(tsi_env *env, int64_t k, tsi_matrix_part *part,
                                      tristar_matrix_t **matrix) {
  double cells = (double)k + 1;
  cavity p = {.mass_factor = WAVE_NUMBER_SQUARED / (cells * cells)};
  tsi_points points = {.unknowns = 1,
                       .symmetric = true,
                       .neighbours = 33,
                       .self_mask = 1,
                       .other_mask = 1,
                       .problem = &p,
                       .couple = couple,
                       .block = block};
  for (int d = 0; d < 3; d++) {
    TSI_TRY(tsi_grid_init(env, &p.edges[d], k + (d == 0), k + (d == 1), k + (d == 2)));
    if (!tsi_to_index((int64_t)p.first[d] + p.edges[d].points, &p.first[d + 1]))
      TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld cubes a side are too large a matrix: at most %d rows",
               (long long)k + 1, (int)TSI_INDEX_MAX);
  }
  points.points = p.first[3];
  return tsi_points_build(env, &points, part, matrix);
}
