/* Linear elasticity, -div(sigma(u)) = f, sigma = lambda tr(eps) I + 2 mu eps, in a block of K x K x K unit
 * cubes: E = 1, nu = 0.3, trilinear hexahedra, 2 x 2 x 2 Gauss points, three displacements per node.
 *
 * The face x = 0 is clamped and its nodes are eliminated; the other faces are free. 3 K (K+1)^2 unknowns; the
 * three of a node are consecutive, nodes are numbered x fastest. Symmetric positive definite. */
#include <math.h>

#include "runtime/matrix/generate/generate.h"

typedef struct elasticity {
  tsi_grid nodes; /* x = 1 .. K is place[0] = 0 .. K-1 */
  tsi_index k;
  double element[24][24]; /* unknown 3 * corner + direction; bit d of corner: upper end in direction d */
} elasticity;

/* The gradients of the eight shape functions at a point of the unit cube. */
static void gradients(const double x[3], double gradient[8][3]) {
  for (int corner = 0; corner < 8; corner++) {
    double value[3], slope[3];
    for (int d = 0; d < 3; d++) {
      bool upper = (corner >> d & 1) != 0;
      value[d] = upper ? x[d] : 1 - x[d];
      slope[d] = upper ? 1 : -1;
    }
    gradient[corner][0] = slope[0] * value[1] * value[2];
    gradient[corner][1] = value[0] * slope[1] * value[2];
    gradient[corner][2] = value[0] * value[1] * slope[2];
  }
}

/* Adds one Gauss point: lambda d_s N_a d_t N_b + mu d_t N_a d_s N_b + mu [s = t] grad N_a . grad N_b,
 * lower triangle. */
static void add_gauss_point(double gradient[8][3], double weight, double element[24][24]) {
  const double young = 1, poisson = 0.3;
  const double lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
  const double mu = young / (2 * (1 + poisson));
  for (int row = 0; row < 24; row++)
    for (int col = 0; col <= row; col++) {
      const double *a = gradient[row / 3], *b = gradient[col / 3];
      int s = row % 3, t = col % 3;
      double sum = lambda * a[s] * b[t] + mu * a[t] * b[s];
      if (s == t) sum += mu * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
      element[row][col] += weight * sum;
    }
}

static void make_element(double element[24][24]) {
  const double distance = 0.5 * sqrt(1.0 / 3.0); /* of a Gauss point from the middle */
  memset(element, 0, 24 * sizeof element[0]);
  for (int g = 0; g < 8; g++) {
    double x[3], gradient[8][3];
    for (int d = 0; d < 3; d++) x[d] = (g >> d & 1) != 0 ? 0.5 + distance : 0.5 - distance;
    gradients(x, gradient);
    add_gauss_point(gradient, 0.125, element);
  }
  for (int row = 0; row < 24; row++)
    for (int col = row + 1; col < 24; col++) element[row][col] = element[col][row];
}

static int couple(const void *problem, tsi_index j, tsi_index *list) {
  return tsi_grid_box(&((const elasticity *)problem)->nodes, j, 1, list);
}

/* Sums the element matrix over the elements that have both nodes as corners. */
static void block(const void *problem, tsi_index i, tsi_index j, double *values) {
  const elasticity *p = problem;
  tsi_index at[2][3], low[3], high[3], e[3];
  tsi_grid_place(&p->nodes, i, at[0]);
  tsi_grid_place(&p->nodes, j, at[1]);
  at[0][0]++; /* the clamped nodes x = 0 are not among the points */
  at[1][0]++;
  for (int d = 0; d < 3; d++) {
    low[d] = tsi_index_max(tsi_index_max(at[0][d], at[1][d]) - 1, 0);
    high[d] = tsi_index_min(tsi_index_min(at[0][d], at[1][d]), p->k - 1);
  }
  for (int v = 0; v < 9; v++) values[v] = 0;
  for (e[2] = low[2]; e[2] <= high[2]; e[2]++)
    for (e[1] = low[1]; e[1] <= high[1]; e[1]++)
      for (e[0] = low[0]; e[0] <= high[0]; e[0]++) {
        int corner[2] = {0, 0};
        for (int d = 0; d < 3; d++)
          for (int c = 0; c < 2; c++) corner[c] |= (int)(at[c][d] - e[d]) << d;
        for (int v = 0; v < 9; v++) values[v] += p->element[3 * corner[0] + v / 3][3 * corner[1] + v % 3];
      }
}

tristar_status tsi_generate_elasticity3d(tsi_env *env, int64_t k, tsi_matrix_part *part,
                                         tristar_matrix_t **matrix) {
  elasticity p = {.k = (tsi_index)k};
  tsi_points points = {.unknowns = 3,
                       .symmetric = true,
                       .neighbours = 27,
                       .self_mask = TSI_MASK_FULL(3),
                       .other_mask = TSI_MASK_FULL(3),
                       .problem = &p,
                       .couple = couple,
                       .block = block};
  TSI_TRY(tsi_grid_init(env, &p.nodes, k, k + 1, k + 1));
  points.points = p.nodes.points;
  make_element(p.element);
  return tsi_points_build(env, &points, part, matrix);
}
