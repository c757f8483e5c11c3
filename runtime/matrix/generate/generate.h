/* Common parts of the generators of model problems.
 *
 * Every generator gives the same bits on every machine: it uses + - * / and sqrt, which IEEE 754 rounds
 * uniquely, in a fixed order, and no fused multiply-add; an integer hash makes pseudo-random coefficients.
 *
 * A generator of points describes its matrix by two functions: the points that couple with point j, and the
 * small dense block of values that couples a pair. tsi_points_build counts the entries, allocates exactly as
 * many, and writes them column by column: rows ascend, and no sort is needed. */
#pragma once

#include "runtime/matrix/matrix.h"
#include "tristar_matrix.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF /* gcc -std=c11 never contracts */
#endif

#define TSI_UNKNOWNS_MAX 4

typedef struct tsi_points {
  tsi_index points;
  int unknowns;   /* Per point: unknown a of point i is row i * unknowns + a. */
  bool symmetric; /* Only the lower triangle is stored. */
  int neighbours; /* Maximum number of neighbours of a point, including itself. */
  /* The stored entries of a block: bit a * unknowns + b for (unknown a of i, unknown b of j). */
  unsigned self_mask, other_mask;
  const void *problem; /* First argument of the functions. */
  /* Lists the points that couple with j, including itself, ascending; returns their number. */
  int (*couple)(const void *problem, tsi_index j, tsi_index *list);
  /* Writes block[a * unknowns + b] = a((i, a), (j, b)) for a coupled pair i, j. */
  void (*block)(const void *problem, tsi_index i, tsi_index j, double *block);
} tsi_points;

#define TSI_MASK_FULL(unknowns) ((1u << ((unknowns) * (unknowns))) - 1u)

/* part NULL: the whole matrix; otherwise the rows of the points of this part (matrix.h). Errors: TOO_LARGE
 * (rows beyond TSI_INDEX_MAX), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_points_build(tsi_env *env, const tsi_points *points, tsi_matrix_part *part,
                                                tristar_matrix_t **matrix);

/* A box of n[0] x n[1] x n[2] points, x fastest: point (x, y, z) is number x + n[0] * (y + n[1] * z). */
typedef struct tsi_grid {
  tsi_index n[3];
  tsi_index points;
} tsi_grid;

/* Errors: TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_grid_init(tsi_env *env, tsi_grid *grid, int64_t nx, int64_t ny,
                                             int64_t nz);
static inline void tsi_grid_place(const tsi_grid *grid, tsi_index point, tsi_index place[3]) {
  place[0] = point % grid->n[0];
  place[1] = point / grid->n[0] % grid->n[1];
  place[2] = point / grid->n[0] / grid->n[1];
}
/* Points of the grid within radius in every direction (box), or along one axis (star), ascending. */
int tsi_grid_box(const tsi_grid *grid, tsi_index point, tsi_index radius, tsi_index *list);
int tsi_grid_star(const tsi_grid *grid, tsi_index point, tsi_index radius, tsi_index *list);

/* For generators without points: part must be NULL. Errors: UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_generate_refuse_part(tsi_env *env, tsi_matrix_part *part);

/* A hash of 64 bits, and a number in [0, 1) from its upper 53 bits. */
uint64_t tsi_hash(uint64_t x);
double tsi_hash_unit(uint64_t x);

/* The generators; 1 <= k <= TSI_INDEX_MAX has been verified. The file of each describes its discretization.
 * part: as in tsi_matrix_generate. Errors: TOO_LARGE, MEMORY. */
typedef tristar_status tsi_generate_fn(tsi_env *env, int64_t k, tsi_matrix_part *part,
                                       tristar_matrix_t **matrix);
tsi_generate_fn tsi_generate_s2d9pt, tsi_generate_poisson3d7, tsi_generate_poisson3d27,
    tsi_generate_elasticity3d, tsi_generate_kkt3d, tsi_generate_maxwell3d, tsi_generate_chem3d,
    tsi_generate_fusion2d, tsi_generate_convdiff3d, tsi_generate_diffusion3d, tsi_generate_circuit,
    tsi_generate_erdos, tsi_generate_band, tsi_generate_chain;
