/* Poisson's equation -Laplace(u) = f in a square or a cube, u = 0 on the boundary (Dirichlet).
 *
 *   s2d9pt       K x K interior points: 8 on the diagonal, -1 for each of the 8 neighbours: the stencil of
 *                bilinear elements on squares, times 3. K^2 unknowns.
 *   poisson3d7   K x K x K interior points: 6 and -1 for each of the 6 neighbours along the axes: central
 *                differences, times h^2. K^3 unknowns.
 *   poisson3d27  K x K x K interior points: 26 and -1 for each of the 26 neighbours: second-order
 *                differences, times 9 h^2. K^3 unknowns.
 *
 * Boundary points are eliminated. All are symmetric and irreducibly diagonally dominant: positive definite.
 */
#include "runtime/matrix/generate/generate.h"

typedef struct stencil {
  tsi_grid grid;
  double diagonal;
} stencil;

static int couple_star(const void *problem, tsi_index j, tsi_index *list) {
  return tsi_grid_star(&((const stencil *)problem)->grid, j, 1, list);
}

static int couple_box(const void *problem, tsi_index j, tsi_index *list) {
  return tsi_grid_box(&((const stencil *)problem)->grid, j, 1, list);
}

static void stencil_block(const void *problem, tsi_index i, tsi_index j, double *block) {
  block[0] = i == j ? ((const stencil *)problem)->diagonal : -1;
}

static tristar_status build(tsi_env *env, int64_t k, int64_t nz, double diagonal, bool star,
                            tsi_matrix_part *part, tristar_matrix_t **matrix) {
  stencil s = {.diagonal = diagonal};
  tsi_points points = {.unknowns = 1,
                       .symmetric = true,
                       .neighbours = 27,
                       .self_mask = 1,
                       .other_mask = 1,
                       .problem = &s,
                       .couple = star ? couple_star : couple_box,
                       .block = stencil_block};
  TSI_TRY(tsi_grid_init(env, &s.grid, k, k, nz));
  points.points = s.grid.points;
  return tsi_points_build(env, &points, part, matrix);
}

tristar_status tsi_generate_s2d9pt(tsi_env *env, int64_t k, tsi_matrix_part *part,
                                   tristar_matrix_t **matrix) {
  return build(env, k, 1, 8, false, part, matrix);
}

tristar_status tsi_generate_poisson3d7(tsi_env *env, int64_t k, tsi_matrix_part *part,
                                       tristar_matrix_t **matrix) {
  return build(env, k, k, 6, true, part, matrix);
}

tristar_status tsi_generate_poisson3d27(tsi_env *env, int64_t k, tsi_matrix_part *part,
                                        tristar_matrix_t **matrix) {
  return build(env, k, k, 26, false, part, matrix);
}
