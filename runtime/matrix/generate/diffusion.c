/* Diffusion, for example through layers of rock: -div(c grad(u)) = f in a cube, u = 0 on the boundary, with a
 * coefficient c that spans six orders of magnitude and has jumps.
 *
 * K x K x K cells, finite volumes, times 1 / h: 7 points. The harmonic mean of their coefficients couples two
 * cells; twice the coefficient of a cell couples it with the boundary, which is half as far away. c = 2^(b +
 * e) of a cell is about log-normal. b is normal with a deviation of 5/2 and constant in blocks of 6 x 6 x 6
 * cells, so c jumps from block to block. e, with deviation 3/2, belongs to the cell. The exponent is limited
 * to -10 .. 10.
 *
 * K^3 unknowns, x fastest. Symmetric and irreducibly diagonally dominant: positive definite. Normal numbers
 * are sums of twelve uniform ones, and 2^t is linear between integers t: other functions are rounded
 * differently on different machines. */
#include <math.h>

#include "runtime/matrix/generate/generate.h"

#define BLOCK 6
#define EXPONENT_MOST 10

typedef struct medium {
  tsi_grid grid;
} medium;

/* Normal random number `number`. */
static double normal(uint64_t number) {
  double sum = -6;
  for (uint64_t k = 0; k < 12; k++) sum += tsi_hash_unit(12 * number + k);
  return sum;
}

static double coefficient(const tsi_grid *grid, const tsi_index place[3]) {
  uint64_t block = 0, cell = 0;
  for (int d = 2; d >= 0; d--) {
    block = block * (uint64_t)grid->n[d] + (uint64_t)(place[d] / BLOCK);
    cell = cell * (uint64_t)grid->n[d] + (uint64_t)place[d];
  }
  const double t = 2.5 * normal(2 * block) + 1.5 * normal(2 * cell + 1);
  const double exponent = fmin(fmax(t, -EXPONENT_MOST), EXPONENT_MOST), whole = floor(exponent);
  return ldexp(1 + (exponent - whole), (int)whole);
}

static double mean(double a, double b) {
  return 2 * a * b / (a + b);
}

static int couple(const void *problem, tsi_index j, tsi_index *list) {
  return tsi_grid_star(&((const medium *)problem)->grid, j, 1, list);
}

/* The sum over the six faces of a cell. */
static double faces(const tsi_grid *grid, const tsi_index place[3]) {
  const double own = coefficient(grid, place);
  double sum = 0;
  for (int d = 0; d < 3; d++)
    for (int side = -1; side <= 1; side += 2) {
      tsi_index next[3] = {place[0], place[1], place[2]};
      next[d] += side;
      sum += next[d] < 0 || next[d] == grid->n[d] ? 2 * own : mean(own, coefficient(grid, next));
    }
  return sum;
}

static void block(const void *problem, tsi_index i, tsi_index j, double *value) {
  const tsi_grid *grid = &((const medium *)problem)->grid;
  tsi_index a[3], b[3];
  tsi_grid_place(grid, i, a);
  tsi_grid_place(grid, j, b);
  *value = i == j ? faces(grid, a) : -mean(coefficient(grid, a), coefficient(grid, b));
}

tristar_status tsi_generate_diffusion3d(tsi_env *env, int64_t k, tsi_matrix_part *part,
                                        tristar_matrix_t **matrix) {
  medium m;
  tsi_points points = {.unknowns = 1,
                       .symmetric = true,
                       .neighbours = 7,
                       .self_mask = 1,
                       .other_mask = 1,
                       .problem = &m,
                       .couple = couple,
                       .block = block};
  TSI_TRY(tsi_grid_init(env, &m.grid, k, k, k));
  points.points = m.grid.points;
  return tsi_points_build(env, &points, part, matrix);
}
