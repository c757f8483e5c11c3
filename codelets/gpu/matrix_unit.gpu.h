/* Products with row blocks of 8 by a warp's matrix unit, if the device has one for doubles (GPU_MATRIX_UNIT
 * in gpu.h). It adds an 8 x 4 matrix A times a 4 x 8 matrix B to an 8 x 8 matrix D; the 8 columns of B and D
 * are a tile of right-hand sides. Lane l of 32 provides A(l / 4, l % 4) and B(l % 4, l / 4), and holds D(l /
 * 4, 2 (l % 4)) and the entry right of it.
 *
 * The gain is not arithmetic, which is cheap in a sweep that waits for memory. For every number of the factor
 * a lane reads one number of the vectors from shared memory instead of 8, and sums need no additions over
 * lanes.
 *
 * Sums have another order than without the unit; it also depends only on the panel. Corners are multiplied as
 * squares, with zeros above the diagonal. So an infinity or NaN in a vector also affects the rows of its
 * corner that do not depend on it in the triangle.
 *
 * A header of its own because only some devices have such a unit. */
#pragma once

#include "codelets/gpu/team.gpu.h"

/* Does the unit compute products of a factor of type V with tiles of R vectors of type T, by warps of W
 * lanes? */
template <class V, class T, int W, int R> constexpr bool gpu_by_matrix_unit = false;
#if GPU_MATRIX_UNIT
template <> inline constexpr bool gpu_by_matrix_unit<double, double, 32, 8> = true;
#endif

/* The following templates exist for every device; they are used with T = double if there is a unit. */
template <class T> using gpu_unit_team = gpu_team<T, 32, 8>;
template <class T> using gpu_unit_tile = gpu_tile<T, 8>;

/* The rows of a row block times vectors. A load of 4 columns is contiguous. */
template <class T> struct gpu_row_product {
  int row, column; /* position of the number of the factor that the lane provides */
  int vector;      /* vector whose entry of a row it provides */
  T sum[2];

  __device__ explicit gpu_row_product(const gpu_unit_team<T> &team)
      : row(team.lane / 4), column(team.lane % 4), vector(team.lane / 4), sum{0, 0} {}
  /* Adds a x: a is the factor's entry (row, column), x the tile of this column; 0 and NULL if there is none.
   */
  __device__ void add(T a, const gpu_unit_tile<T> *x, int line = GPU_LINE) {
    gpu_multiply_matrices(sum, a, x ? x->c[vector] : 0, line);
  }
  /* Returns the sums of row lane % 8. */
  __device__ gpu_unit_tile<T> sums(const gpu_unit_team<T> &team) const {
    const int owner = (team.lane + gpu_fault(GPU_FAULT_LANE)) % 8 * 4;
    gpu_unit_tile<T> s;
    GPU_UNROLL_ALL
    for (int c = 0; c < 8; c++) s.c[c] = gpu_shuffle(sum[c % 2], (unsigned)(owner + c / 2), 32);
    return s;
  }
};

/* The columns of row blocks times vectors. Lanes load 4 columns of 8 rows, lane = row + 8 column, which are
 * contiguous. The upper and the lower half of column q are rows 2 q and 2 q + 1 of A. The unit multiplies all
 * rows by the upper half of the vectors, and then by the lower half; half of the rows of each product are
 * used. */
template <class T> struct gpu_column_product {
  T upper[2], lower[2];

  __device__ gpu_column_product() : upper{0, 0}, lower{0, 0} {}
  /* Adds a x: a is the factor's entry (team.row, team.q), 0 if there is none; x: the tiles of the `rows` rows
   * of the row block. */
  __device__ void add(const gpu_unit_team<T> &team, T a, const gpu_unit_tile<T> *x, int rows,
                      int line = GPU_LINE) {
    const int k = team.lane % 4, vector = team.lane / 4;
    gpu_multiply_matrices(upper, a, k < rows ? x[k].c[vector] : 0, line);
    gpu_multiply_matrices(lower, a, k + 4 < rows ? x[k + 4].c[vector] : 0, line);
  }
  /* Returns the sums of column team.q. */
  __device__ gpu_unit_tile<T> sums(const gpu_unit_team<T> &team) const {
    const bool lower_half = team.lane / 4 % 2;
    T all[2];
    for (int i = 0; i < 2; i++) {
      const T mine = lower_half ? lower[i] : upper[i];
      all[i] = mine + gpu_shuffle_xor(mine, gpu_fault(GPU_FAULT_LANE) ? 8 : 4, 32);
    }
    gpu_unit_tile<T> s;
    GPU_UNROLL_ALL
    for (int c = 0; c < 8; c++) s.c[c] = gpu_shuffle(all[c % 2], (unsigned)(team.q * 8 + c / 2), 32);
    return s;
  }
};
