/* One implicit time step of a linear model of a magnetized plasma in the unit square, similar to extended MHD
 * codes: four fields u_c (flux, stream function, density, temperature) with
 *
 *   u_c / dt + v . grad(u_c) - D_c Laplace(u_c) - div( X_c B (B . grad(u_c)) / (|B|^2 + 0.01) )
 *     + sum_d alpha_cd B . grad(u_d) + sum_d gamma_cd u_d = f_c,      u_c = 0 on the boundary
 *
 * B and v are divergence-free: B circulates around the middle (a magnetic island), v in two cells. Heat is
 * conducted 10^4 times faster along B than across.
 *
 * K x K elements, bicubic (16 nodes), 4 x 4 Gauss points; boundary nodes are eliminated. 4 (3K-1)^2 unknowns;
 * the four of a node are consecutive, nodes x fastest. Symmetric pattern, unsymmetric values. alpha is
 * symmetric, so its terms are skew, and 1 / dt outweighs gamma: the symmetric part is positive definite, the
 * matrix is nonsingular, and LU needs no pivoting. */
#include <math.h>

#include "runtime/matrix/generate/generate.h"

#define FIELDS 4
#define ORDER 3 /* of the elements; ORDER + 1 nodes and Gauss points in each direction */
#define NODES (ORDER + 1)
#define GAUSS 4

typedef struct gauss_fields {
  double b[2], v[2], weight; /* weight = 1 / (|B|^2 + 0.01) */
} gauss_fields;

typedef struct plasma {
  tsi_grid nodes; /* The interior nodes: place + 1 counts 0 .. 3K in each direction. */
  tsi_index k;
  double h;
  double gauss[GAUSS], gauss_weight[GAUSS]; /* on [0, 1] */
  double shape[NODES][GAUSS], slope[NODES][GAUSS];
  gauss_fields *fields; /* K * K * GAUSS * GAUSS */
} plasma;

static const double inverse_step = 20;
static const double diffusion[FIELDS] = {0.001, 0.002, 0.001, 0.0001};
static const double parallel[FIELDS] = {0, 0, 0.01, 1};
static const double alpha[FIELDS][FIELDS] = {
    {0, -1, 0.5, 0.5}, {-1, 0, 0.25, 0.25}, {0.5, 0.25, 0, 0.75}, {0.5, 0.25, 0.75, 0}};
static const double coupling[FIELDS][FIELDS] = {
    {0, 0.5, 0, 0}, {0, 0, 2, 2}, {0, -1, 0, 0.5}, {0.25, -1, 0.5, 0}};

/* Lagrange polynomials of the nodes 0, 1/3, 2/3, 1 and their slopes at t. */
static void shape_functions(double t, double shape[NODES], double slope[NODES]) {
  double s = ORDER * t;
  for (int a = 0; a < NODES; a++) {
    shape[a] = 1;
    slope[a] = 0;
    for (int c = 0; c < NODES; c++) {
      if (c == a) continue;
      double product = (double)ORDER / (a - c);
      for (int b = 0; b < NODES; b++)
        if (b != a && b != c) product *= (s - b) / (a - b);
      slope[a] += product;
      shape[a] *= (s - c) / (a - c);
    }
  }
}

static void set_up_element(plasma *p) {
  const double inner = sqrt(3.0 / 7 - 2.0 / 7 * sqrt(6.0 / 5)),
               outer = sqrt(3.0 / 7 + 2.0 / 7 * sqrt(6.0 / 5));
  const double point[GAUSS] = {-outer, -inner, inner, outer};
  const double root = sqrt(30.0);
  for (int g = 0; g < GAUSS; g++) {
    double shape[NODES], slope[NODES];
    p->gauss[g] = 0.5 + 0.5 * point[g];
    p->gauss_weight[g] = g == 1 || g == 2 ? (18 + root) / 72 : (18 - root) / 72;
    shape_functions(p->gauss[g], shape, slope);
    for (int a = 0; a < NODES; a++) {
      p->shape[a][g] = shape[a];
      p->slope[a][g] = slope[a];
    }
  }
}

/* B = (-d/dy, d/dx) of 4 x (1-x) y (1-y);  v = (-d/dy, d/dx) of 8 x (1-x) (1-2x) y (1-y) */
static void set_up_fields(plasma *p) {
  gauss_fields *at = p->fields;
  for (tsi_index ey = 0; ey < p->k; ey++)
    for (tsi_index ex = 0; ex < p->k; ex++)
      for (int gy = 0; gy < GAUSS; gy++)
        for (int gx = 0; gx < GAUSS; gx++, at++) {
          double x = ((double)ex + p->gauss[gx]) * p->h, y = ((double)ey + p->gauss[gy]) * p->h;
          at->b[0] = -4 * x * (1 - x) * (1 - 2 * y);
          at->b[1] = 4 * (1 - 2 * x) * y * (1 - y);
          at->v[0] = -8 * x * (1 - x) * (1 - 2 * x) * (1 - 2 * y);
          at->v[1] = 8 * (1 - 6 * x + 6 * x * x) * y * (1 - y);
          at->weight = 1 / (at->b[0] * at->b[0] + at->b[1] * at->b[1] + 0.01);
        }
}

/* The elements with this node, in one direction. */
static void elements_of(tsi_index node, tsi_index *low, tsi_index *high) {
  *high = node / ORDER;
  *low = node % ORDER == 0 ? *high - 1 : *high;
}

static int couple(const void *problem, tsi_index j, tsi_index *list) {
  const plasma *p = problem;
  tsi_index place[3], low[2], high[2];
  int found = 0;
  tsi_grid_place(&p->nodes, j, place);
  for (int d = 0; d < 2; d++) {
    elements_of(place[d] + 1, &low[d], &high[d]);
    low[d] = tsi_index_max(ORDER * low[d], 1);
    high[d] = tsi_index_min(ORDER * high[d] + ORDER, ORDER * p->k - 1);
  }
  for (tsi_index y = low[1]; y <= high[1]; y++)
    for (tsi_index x = low[0]; x <= high[0]; x++) list[found++] = x - 1 + p->nodes.n[0] * (y - 1);
  return found;
}

/* Integrals over one element of products of the shape functions of i and j. */
typedef struct integrals {
  double mass, laplace, parallel, advection, along; /* along: of N_i (B . grad N_j) */
} integrals;

static void integrate(const plasma *p, tsi_index ex, tsi_index ey, const int i[2], const int j[2],
                      integrals *sum) {
  const gauss_fields *at = p->fields + ((tsi_count)ey * p->k + ex) * (GAUSS * GAUSS);
  for (int gy = 0; gy < GAUSS; gy++)
    for (int gx = 0; gx < GAUSS; gx++, at++) {
      double w = p->gauss_weight[gx] * p->gauss_weight[gy];
      double ni = p->shape[i[0]][gx] * p->shape[i[1]][gy], nj = p->shape[j[0]][gx] * p->shape[j[1]][gy];
      double ix = p->slope[i[0]][gx] * p->shape[i[1]][gy], iy = p->shape[i[0]][gx] * p->slope[i[1]][gy];
      double jx = p->slope[j[0]][gx] * p->shape[j[1]][gy], jy = p->shape[j[0]][gx] * p->slope[j[1]][gy];
      double bi = at->b[0] * ix + at->b[1] * iy, bj = at->b[0] * jx + at->b[1] * jy;
      sum->mass += w * ni * nj;
      sum->laplace += w * (ix * jx + iy * jy);
      sum->parallel += w * at->weight * bi * bj;
      sum->advection += w * ni * (at->v[0] * jx + at->v[1] * jy);
      sum->along += w * ni * bj;
    }
}

static void block(const void *problem, tsi_index i, tsi_index j, double *values) {
  const plasma *p = problem;
  tsi_index at_i[3], at_j[3], low[2], high[2];
  integrals sum = {0, 0, 0, 0, 0};
  tsi_grid_place(&p->nodes, i, at_i);
  tsi_grid_place(&p->nodes, j, at_j);
  for (int d = 0; d < 2; d++) {
    tsi_index low_i, high_i;
    elements_of(++at_i[d], &low_i, &high_i);
    elements_of(++at_j[d], &low[d], &high[d]);
    low[d] = tsi_index_max(low[d], low_i);
    high[d] = tsi_index_min(high[d], high_i);
  }
  for (tsi_index ey = low[1]; ey <= high[1]; ey++)
    for (tsi_index ex = low[0]; ex <= high[0]; ex++) {
      const int node_i[2] = {(int)(at_i[0] - ORDER * ex), (int)(at_i[1] - ORDER * ey)};
      const int node_j[2] = {(int)(at_j[0] - ORDER * ex), (int)(at_j[1] - ORDER * ey)};
      integrate(p, ex, ey, node_i, node_j, &sum);
    }
  for (int c = 0; c < FIELDS; c++)
    for (int d = 0; d < FIELDS; d++) {
      double value = coupling[c][d] * (p->h * p->h * sum.mass) + alpha[c][d] * (p->h * sum.along);
      if (c == d)
        value += inverse_step * (p->h * p->h * sum.mass) + p->h * sum.advection + diffusion[c] * sum.laplace +
                 parallel[c] * sum.parallel;
      values[c * FIELDS + d] = value;
    }
}

tristar_status tsi_generate_fusion2d(tsi_env *env, int64_t k, tsi_matrix_part *part,
                                     tristar_matrix_t **matrix) {
  plasma p = {.k = (tsi_index)k, .h = 1.0 / (double)k};
  tsi_points points = {.unknowns = FIELDS,
                       .symmetric = false,
                       .neighbours = (2 * ORDER + 1) * (2 * ORDER + 1),
                       .self_mask = TSI_MASK_FULL(FIELDS),
                       .other_mask = TSI_MASK_FULL(FIELDS),
                       .problem = &p,
                       .couple = couple,
                       .block = block};
  TSI_TRY(tsi_grid_init(env, &p.nodes, ORDER * k - 1, ORDER * k - 1, 1));
  points.points = p.nodes.points;
  TSI_SCRATCH(env, gauss_fields, fields, (tsi_count)p.k * p.k * (GAUSS * GAUSS));
  p.fields = fields;
  set_up_element(&p);
  set_up_fields(&p);
  return tsi_points_build(env, &points, part, matrix);
}
