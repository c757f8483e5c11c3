/* Elasticity with 3 x 3 blocks: springs join each point of a cube to its 26 neighbours. The cube is clamped
 * at one face and pulled at the other. The matrix is assembled in blocks; the library expands them. In each
 * round the most stretched springs soften, and the same factor receives new values of the blocks.
 *
 *     |o-o-o        block (i, i) = sum of k d d^T over the springs of point i, d: the direction of a spring
 *     |oXoXo ->     block (i, j) = - k d d^T
 *     |o-o-o        The program checks the forces of all springs against the load. */
#include <math.h>

#include "example.h"
#include "tristar_matrix.h"

enum { K = 10, POINTS = K * K * K, MOST = 14 * POINTS, ROUNDS = 4 };

typedef struct spring {
  int from, to; /* points; to < 0: the clamped face */
  int block;    /* block (from, to) */
  double d[3], stiffness;
} spring;

/* The lower triangle: block rows, with the diagonal block last. */
typedef struct lattice {
  int ptr[POINTS + 1], index[MOST], springs;
  double values[MOST][9]; /* by rows */
  spring spring[MOST];
} lattice;

static void add_spring(lattice *l, int from, int to, const int d[3]) {
  const double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
  spring *s = &l->spring[l->springs++];
  *s = (spring){from, to, l->ptr[from + 1], {d[0] / length, d[1] / length, d[2] / length}, 1 / length};
  if (to >= 0) l->index[l->ptr[from + 1]++] = to;
}

/* Springs to the clamped face x = -1 and to points with smaller numbers: each spring once. */
static void make_pattern(lattice *l) {
  int d[3];
  for (int i = 0; i < POINTS; i++) {
    const int x = i % K, y = i / K % K, z = i / K / K;
    l->ptr[i + 1] = l->ptr[i];
    for (d[2] = -1; d[2] <= 1; d[2]++)
      for (d[1] = -1; d[1] <= 1; d[1]++)
        for (d[0] = -1; d[0] <= 1; d[0]++) {
          const int at[3] = {x + d[0], y + d[1], z + d[2]}, to = at[0] + K * (at[1] + K * at[2]);
          if (at[0] >= K || at[1] < 0 || at[1] >= K || at[2] < 0 || at[2] >= K) continue;
          if (at[0] < 0)
            add_spring(l, i, -1, d);
          else if (to < i)
            add_spring(l, i, to, d);
        }
    l->index[l->ptr[i + 1]++] = i;
  }
}

static void assemble(lattice *l) {
  for (int k = 0; k < l->ptr[POINTS]; k++)
    for (int e = 0; e < 9; e++) l->values[k][e] = 0;
  for (int k = 0; k < l->springs; k++) {
    const spring *s = &l->spring[k];
    for (int e = 0; e < 9; e++) {
      const double value = s->stiffness * s->d[e / 3] * s->d[e % 3];
      l->values[l->ptr[s->from + 1] - 1][e] += value;
      if (s->to < 0) continue;
      l->values[l->ptr[s->to + 1] - 1][e] += value;
      l->values[s->block][e] -= value;
    }
  }
}

static double stretch(const spring *s, const double *u) {
  double sum = 0;
  for (int e = 0; e < 3; e++) sum += s->d[e] * (u[3 * s->from + e] - (s->to < 0 ? 0 : u[3 * s->to + e]));
  return sum;
}

/* The largest force that is not balanced. */
static double imbalance(const lattice *l, const double *u, const double *load) {
  static double force[3 * POINTS];
  double worst = 0;
  for (int i = 0; i < 3 * POINTS; i++) force[i] = load[i];
  for (int k = 0; k < l->springs; k++) {
    const spring *s = &l->spring[k];
    for (int e = 0; e < 3; e++) {
      const double own = s->stiffness * stretch(s, u) * s->d[e];
      force[3 * s->from + e] -= own;
      if (s->to >= 0) force[3 * s->to + e] += own;
    }
  }
  for (int i = 0; i < 3 * POINTS; i++) worst = fmax(worst, fabs(force[i]));
  return worst;
}

/* Halves the stiffness of springs whose stretch exceeds nine tenths of the largest. */
static int soften(lattice *l, const double *u) {
  double largest = 0;
  int count = 0;
  for (int k = 0; k < l->springs; k++) largest = fmax(largest, stretch(&l->spring[k], u));
  for (int k = 0; k < l->springs; k++)
    if (stretch(&l->spring[k], u) > 0.9 * largest) l->spring[k].stiffness /= 2, count++;
  return count;
}

int main(void) {
  static lattice l;
  static double load[3 * POINTS], u[3 * POINTS];
  double worst = 0;
  tristar_t *ts;
  tristar_view blocks, a;
  tristar_matrix_t *matrix;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  make_pattern(&l);
  assemble(&l);
  for (int i = K - 1; i < POINTS; i += K) load[3 * i] = 1e-3;
  tristar_view_init(&blocks);
  blocks.format = TRISTAR_CSR;
  blocks.symmetry = TRISTAR_SYMMETRIC;
  blocks.rows = blocks.cols = POINTS;
  blocks.ptr = l.ptr;
  blocks.index = l.index;
  blocks.values = l.values;
  example_check(NULL, tristar_create(NULL, &ts));
  example_check(ts, tristar_matrix_from_blocks(ts, &blocks, 3, TRISTAR_CSR, &matrix));
  example_check(ts, tristar_matrix_get_view(matrix, &a));
  example_check(ts, tristar_analyze(ts, &a, NULL, &analysis));
  example_check(ts, tristar_factor(analysis, a.values, &factor));
  example_check(ts, tristar_plan(factor, NULL, &plan));
  for (int round = 0; round < ROUNDS; round++) {
    example_check(ts, tristar_solve(plan, TRISTAR_N, 1, load, 3 * POINTS, u, 3 * POINTS));
    const double error = imbalance(&l, u, load);
    worst = fmax(worst, error);
    printf("round %d: the end moves by %.6f, largest imbalance of forces %.1e\n", round, u[3 * (POINTS - 1)],
           error);
    printf("         %d of %d springs soften\n", soften(&l, u), l.springs);
    assemble(&l);
    example_check(ts, tristar_matrix_set_blocks(matrix, l.values));
    example_check(ts, tristar_refactor(factor, a.values));
  }
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  tristar_destroy(&ts);
  return worst < 1e-12 ? 0 : 1;
}
