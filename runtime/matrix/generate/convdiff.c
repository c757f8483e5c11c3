/* Convection and diffusion, -eps Laplace(u) + v . grad(u) = f, in the unit cube, u = 0 on the boundary,
 * eps = 0.01. K x K x K interior points, h = 1 / (K + 1), central differences for the diffusion, first-order
 * upwind differences for the convection, all times h^2: 7 points.
 *
 * The velocity recirculates in the planes z = const, around the axis of the cube, and rises in the middle:
 *   v = (4 x (x-1) (1-2y), -4 y (y-1) (1-2x), 16 x (1-x) y (1-y) z (1-z))
 *
 * K^3 unknowns, x fastest. Symmetric pattern, unsymmetric values. An irreducibly diagonally dominant
 * M-matrix: nonsingular, and LU needs no pivoting. */
#include "runtime/matrix/generate/generate.h"

typedef struct flow {
  tsi_grid grid;
  double h, diffusion;
} flow;

static void velocity(double x, double y, double z, double v[3]) {
  v[0] = 4 * x * (x - 1) * (1 - 2 * y);
  v[1] = -4 * y * (y - 1) * (1 - 2 * x);
  v[2] = 16 * x * (1 - x) * y * (1 - y) * z * (1 - z);
}

static int couple(const void *problem, tsi_index j, tsi_index *list) {
  return tsi_grid_star(&((const flow *)problem)->grid, j, 1, list);
}

/* Row i is the equation of point i, with the velocity at this point. */
static void block(const void *problem, tsi_index i, tsi_index j, double *value) {
  const flow *p = problem;
  tsi_index a[3], b[3];
  double v[3];
  tsi_grid_place(&p->grid, i, a);
  tsi_grid_place(&p->grid, j, b);
  velocity((double)(a[0] + 1) * p->h, (double)(a[1] + 1) * p->h, (double)(a[2] + 1) * p->h, v);
  *value = 0;
  for (int d = 0; d < 3; d++) {
    double speed = v[d] < 0 ? -v[d] : v[d];
    bool upwind = v[d] > 0 ? b[d] < a[d] : b[d] > a[d];
    if (i == j)
      *value += 2 * p->diffusion + p->h * speed;
    else if (a[d] != b[d])
      *value = -p->diffusion - (upwind ? p->h * speed : 0);
  }
}

tristar_status tsi_generate_convdiff3d(tsi_env *env, int64_t k, tsi_matrix_part *part,
                                       tristar_matrix_t **matrix) {
  flow p = {.h = 1.0 / ((double)k + 1), .diffusion = 0.01};
  tsi_points points = {.unknowns = 1,
                       .symmetric = false,
                       .neighbours = 7,
                       .self_mask = 1,
                       .other_mask = 1,
                       .problem = &p,
                       .couple = couple,
                       .block = block};
  TSI_TRY(tsi_grid_init(env, &p.grid, k, k, k));
  points.points = p.grid.points;
  return tsi_points_build(env, &points, part, matrix);
}
