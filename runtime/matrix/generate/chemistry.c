/* The Hamiltonian of real-space density-functional theory, -Laplace / 2 + V + sum_a sum_m |p_am> g_m <p_am|,
 * on K x K x K points of spacing 1, wave functions zero outside.
 *
 *   -Laplace / 2  differences of order 8: a star of radius 4 (25 points)
 *   V             local potential, in [0, 1), from the hash of the point
 *   p_am          projectors of atom a: w(r) times 1, x, y, z; w(r) = (1 - r^2 / 10)^2, r <= 3: 123 points
 *   atoms         one in each cell of 7 x 7 x 7 points (cut off at the end of the grid), at a point chosen by
 *                 the hash
 *
 * The projectors couple all points of an atom with one another: dense blocks of up to 123 x 123 in addition
 * to the sparse star. K^3 unknowns. Symmetric positive definite: the star has a positive symbol, V >= 0, g >
 * 0. */
#include "runtime/matrix/generate/generate.h"

#define CELL 7
#define STAR_RADIUS 4
#define ATOM_RADIUS 3
#define ATOM_POINTS 123 /* points with r^2 <= 9 */
#define ATOMS_NEAR 8    /* maximum per point: its radius meets two cells in each direction */
#define COUPLED_MAX (6 * STAR_RADIUS + 1 + ATOMS_NEAR * ATOM_POINTS)

typedef struct molecule {
  tsi_grid grid, cells;
  tsi_index (*atom)[3]; /* For each cell. */
} molecule;

static int distance_squared(const tsi_index a[3], const tsi_index b[3]) {
  int sum = 0;
  for (int d = 0; d < 3; d++) sum += (int)((a[d] - b[d]) * (a[d] - b[d]));
  return sum;
}

/* The atoms within ATOM_RADIUS of a place. */
static int atoms_near(const molecule *p, const tsi_index place[3], tsi_index atoms[ATOMS_NEAR]) {
  tsi_index low[3], high[3];
  int found = 0;
  for (int d = 0; d < 3; d++) {
    low[d] = tsi_index_max(place[d] - ATOM_RADIUS, 0) / CELL;
    high[d] = tsi_index_min((place[d] + ATOM_RADIUS) / CELL, p->cells.n[d] - 1);
  }
  for (tsi_index z = low[2]; z <= high[2]; z++)
    for (tsi_index y = low[1]; y <= high[1]; y++)
      for (tsi_index x = low[0]; x <= high[0]; x++) {
        tsi_index cell = x + p->cells.n[0] * (y + p->cells.n[1] * z);
        if (distance_squared(p->atom[cell], place) <= ATOM_RADIUS * ATOM_RADIUS) atoms[found++] = cell;
      }
  return found;
}

/* The points of the grid within ATOM_RADIUS of an atom, ascending. */
static int atom_points(const molecule *p, const tsi_index atom[3], tsi_index *list) {
  tsi_index at[3], low[3], high[3];
  int found = 0;
  for (int d = 0; d < 3; d++) {
    low[d] = tsi_index_max(atom[d] - ATOM_RADIUS, 0);
    high[d] = tsi_index_min(atom[d] + ATOM_RADIUS, p->grid.n[d] - 1);
  }
  for (at[2] = low[2]; at[2] <= high[2]; at[2]++)
    for (at[1] = low[1]; at[1] <= high[1]; at[1]++)
      for (at[0] = low[0]; at[0] <= high[0]; at[0]++)
        if (distance_squared(atom, at) <= ATOM_RADIUS * ATOM_RADIUS)
          list[found++] = at[0] + p->grid.n[0] * (at[1] + p->grid.n[1] * at[2]);
  return found;
}

/* Merges the ascending lists a and b into a; returns the length. */
static int merge(tsi_index *a, int na, const tsi_index *b, int nb) {
  tsi_index merged[COUPLED_MAX];
  int found = 0, i = 0, j = 0;
  while (i < na || j < nb) {
    tsi_index next = j == nb || (i < na && a[i] < b[j]) ? a[i] : b[j];
    i += i < na && a[i] == next;
    j += j < nb && b[j] == next;
    merged[found++] = next;
  }
  memcpy(a, merged, (size_t)found * sizeof *a);
  return found;
}

static int couple(const void *problem, tsi_index j, tsi_index *list) {
  const molecule *p = problem;
  tsi_index place[3], atoms[ATOMS_NEAR], around[ATOM_POINTS];
  int found = tsi_grid_star(&p->grid, j, STAR_RADIUS, list);
  tsi_grid_place(&p->grid, j, place);
  int near = atoms_near(p, place, atoms);
  for (int a = 0; a < near; a++)
    found = merge(list, found, around, atom_points(p, p->atom[atoms[a]], around));
  return found;
}

/* -1/2 times the weights of the second difference of order 8 along one axis. */
static double star_value(tsi_index distance) {
  switch (distance) {
  case 1:
    return -4.0 / 5.0;
  case 2:
    return 1.0 / 10.0;
  case 3:
    return -4.0 / 315.0;
  case 4:
    return 1.0 / 1120.0;
  default:
    return 0;
  }
}

static double projector_value(const tsi_index atom[3], const tsi_index a[3], const tsi_index b[3]) {
  const double strength_s = 0.5, strength_p = 0.25;
  double wa = 1 - distance_squared(atom, a) / 10.0, wb = 1 - distance_squared(atom, b) / 10.0;
  int dot = 0;
  for (int d = 0; d < 3; d++) dot += (int)((a[d] - atom[d]) * (b[d] - atom[d]));
  return (wa * wa) * (wb * wb) * (strength_s + strength_p * dot);
}

static void block(const void *problem, tsi_index i, tsi_index j, double *value) {
  const molecule *p = problem;
  tsi_index a[3], b[3], atoms[ATOMS_NEAR], apart = 0;
  int axes = 0;
  tsi_grid_place(&p->grid, i, a);
  tsi_grid_place(&p->grid, j, b);
  for (int d = 0; d < 3; d++) {
    axes += a[d] != b[d];
    apart += a[d] > b[d] ? a[d] - b[d] : b[d] - a[d];
  }
  if (axes == 0)
    *value = 3.0 * 205.0 / 144.0 + tsi_hash_unit((uint64_t)i);
  else
    *value = axes == 1 ? star_value(apart) : 0;
  int near = atoms_near(p, b, atoms);
  for (int n = 0; n < near; n++)
    if (distance_squared(p->atom[atoms[n]], a) <= ATOM_RADIUS * ATOM_RADIUS)
      *value += projector_value(p->atom[atoms[n]], a, b);
}

static void place_atoms(molecule *p) {
  for (tsi_index cell = 0; cell < p->cells.points; cell++) {
    tsi_index at[3];
    tsi_grid_place(&p->cells, cell, at);
    for (int d = 0; d < 3; d++) {
      tsi_index width = tsi_index_min(CELL, p->grid.n[d] - CELL * at[d]);
      uint64_t hash = tsi_hash((UINT64_C(1) << 40) + (uint64_t)cell * 3 + (uint64_t)d);
      p->atom[cell][d] = CELL * at[d] + (tsi_index)(hash % (uint64_t)width);
    }
  }
}

tristar_status tsi_generate_chem3d(tsi_env *env, int64_t k, tsi_matrix_part *part,
                                   tristar_matrix_t **matrix) {
  TSI_OWNED tsi_index(*atom)[3] = NULL;
  molecule p = {.atom = NULL};
  tsi_points points = {.unknowns = 1,
                       .symmetric = true,
                       .neighbours = COUPLED_MAX,
                       .self_mask = 1,
                       .other_mask = 1,
                       .problem = &p,
                       .couple = couple,
                       .block = block};
  TSI_TRY(tsi_grid_init(env, &p.grid, k, k, k));
  int64_t cells = (k - 1) / CELL + 1;
  TSI_TRY(tsi_grid_init(env, &p.cells, cells, cells, cells));
  TSI_TRY(TSI_ALLOC(env, atom, p.cells.points));
  p.atom = atom;
  place_atoms(&p);
  points.points = p.grid.points;
  return tsi_points_build(env, &points, part, matrix);
}
