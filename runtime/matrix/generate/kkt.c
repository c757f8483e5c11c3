/* Optimality conditions of a control problem: minimize |y - y_d|^2 / 2 + beta |u|^2 / 2 over state y and
 * control u under -Laplace(y) = u in the unit cube, y = 0 on the boundary. With the multiplier p:
 *
 *   [ M    0       A ] [y]     A: 27-point differences on K x K x K interior points, times 9 h^2 (26 and -1)
 *   [ 0  beta M   -M ] [u]     M: 9 h^2 I, the lumped mass on the same scale, h = 1 / (K + 1)
 *   [ A   -M       0 ] [p]     beta = 0.01
 *
 * Unknowns: 3 K^3, ordered point by point as (y, u, p), points x fastest. Symmetric, indefinite (K^3 negative
 * eigenvalues), nonsingular: the Schur complement of the definite upper block is -(A M^-1 A + M / beta). The
 * multiplier block is structurally zero: its diagonal is not stored. */
#include "runtime/matrix/generate/generate.h"

enum { STATE, CONTROL, MULTIPLIER, FIELDS };

typedef struct control_problem {
  tsi_grid grid;
  double mass;
} control_problem;

#define BIT(a, b) (1u << ((a)*FIELDS + (b)))
#define COUPLED (BIT(STATE, MULTIPLIER) | BIT(MULTIPLIER, STATE))

static int couple(const void *problem, tsi_index j, tsi_index *list) {
  return tsi_grid_box(&((const control_problem *)problem)->grid, j, 1, list);
}

static void block(const void *problem, tsi_index i, tsi_index j, double *values) {
  const double beta = 0.01;
  double mass = i == j ? ((const control_problem *)problem)->mass : 0;
  double stiffness = i == j ? 26 : -1;
  for (int v = 0; v < FIELDS * FIELDS; v++) values[v] = 0;
  values[STATE * FIELDS + STATE] = mass;
  values[CONTROL * FIELDS + CONTROL] = beta * mass;
  values[STATE * FIELDS + MULTIPLIER] = values[MULTIPLIER * FIELDS + STATE] = stiffness;
  values[CONTROL * FIELDS + MULTIPLIER] = values[MULTIPLIER * FIELDS + CONTROL] = -mass;
}

tristar_status tsi_generate_kkt3d(tsi_env *env, int64_t k, tsi_matrix_part *part, tristar_matrix_t **matrix) {
  control_problem p = {.mass = 9.0 / (((double)k + 1) * ((double)k + 1))};
  tsi_points points = {.unknowns = FIELDS,
                       .symmetric = true,
                       .neighbours = 27,
                       .self_mask = COUPLED | BIT(STATE, STATE) | BIT(CONTROL, CONTROL) |
                                    BIT(CONTROL, MULTIPLIER) | BIT(MULTIPLIER, CONTROL),
                       .other_mask = COUPLED,
                       .problem = &p,
                       .couple = couple,
                       .block = block};
  TSI_TRY(tsi_grid_init(env, &p.grid, k, k, k));
  points.points = p.grid.points;
  return tsi_points_build(env, &points, part, matrix);
}
