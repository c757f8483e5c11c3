/* The kernel of rows of a sparse approximate inverse, see fsai_launch.h; fsai_reach.gpu.h has the gradient.
 *
 * The system. Columns that join become rows of K in a scratch, several at a time, which are eliminated column
 * by column. In step j entry j of each row becomes an entry of L, and its products are subtracted from all
 * entries right of it in all rows at the same time. Row j of L is complete after step j - 1; its pivot is the
 * remainder of its diagonal entry. Lanes decide by values that all of them read, so that their decisions
 * agree. */
#pragma once

#include "codelets/gpu/fsai_reach.gpu.h"

template <class T, int W> struct gpu_fsai : gpu_reach<T, W> {
  typedef gpu_reach<T, W> reach;
  typedef typename gpu_scalar<T>::real real;
  using reach::lane;
  using reach::s;
  using reach::space;

  tsi_index i; /* the row */
  int size;    /* size of the pattern */
  double psi, psi_0;

  __device__ gpu_fsai(const tsi_gpu_fsai &rows, char *warp_space)
      : reach(rows, warp_space), i(0), size(0), psi(0), psi_0(0) {}

  __device__ real *inverse() const { return (real *)(space + s.space.inverse); }
  __device__ T *z() const { return (T *)(space + s.space.z); }
  __device__ T *rows() const { return (T *)(space + s.space.rows); }
  __device__ T *right() const { return (T *)(space + s.space.right); }
  /* Entry (r, c) of L, r > c. */
  __device__ T *l(int r, int c) const {
    return (T *)(space + s.space.l) + ((int64_t)c * (2 * (int64_t)s.most - c - 1) / 2 + (r - c - 1));
  }
  __device__ T *row(int q) const { return rows() + (int64_t)q * s.most; }

  /* Checks a pivot, or the remainder of psi: a scalar or its real part. */
  template <class X> __device__ static int judge(X pivot) {
    if (!gpu_is_finite(pivot)) return TSI_BREAKDOWN_NOT_FINITE;
    return gpu_real_part(pivot) > 0 ? TSI_BREAKDOWN_NONE : TSI_BREAKDOWN_NOT_POSITIVE;
  }
  __device__ static real root(real x) { return (real)sqrt((double)x); }

  /* ---- The system -------------------------------------------------------------------------------------- */

  /* Makes rows of K from columns r .. r + count - 1 of the pattern; their rows of A are opened. */
  __device__ void gather(int r, int count) const {
    for (int q = 0; q < count; q++)
      for (int c = lane; c <= r + q; c += W) row(q)[c] = T();
    gpu_warp_barrier();
    for (int q = lane; q < count; q += W) {
      const tsi_index p = this->pattern()[r + q];
      const tsi_count at =
          s.a.ptr[i] + this->left_of(i, p); /* position of column p in row i, if it is there */
      right()[q] = s.a.index[at] == p ? -((const T *)s.a.values)[at] : T();
    }
    const tsi_count end = this->first()[r + count + 1];
    for (tsi_count e = this->first()[r + 1] + lane; e < end; e += W) {
      const int number = this->number_of(e, r + 1, r + count + 1), own = number - 1;
      const tsi_count at = this->entry_of(e, number, i);
      const int home = this->find(s.a.index[at]);
      const int place = home == TSI_NONE ? TSI_NONE : this->position()[home];
      if (place != TSI_NONE && place <= own) row(own - r)[place] = gpu_conj(((const T *)s.a.values)[at]);
    }
    gpu_warp_barrier();
  }

  /* Does step j for rows r .. r + count - 1; rows from number q on have entries right of column j. */
  __device__ void eliminate(int j, int r, int q, int count, real scale, T z_j) const {
    const int width = r + count - j; /* columns j + 1 .., and b */
    for (int k = lane; k < (count - q) * width; k += W) {
      const int own = q + k / width, c = j + 1 + k % width;
      const T x = scale * row(own)[j];
      if (c < r + count) {
        if (c > r + own) continue;
        const T other = c < r ? *l(c, j) : scale * row(c - r)[j];
        gpu_add_product(row(own)[c], -x, gpu_conj(other));
      } else {
        gpu_add_product(right()[own], -x, z_j);
        *l(r + own, j) = x;
      }
    }
    if (!gpu_fault(GPU_FAULT_BARRIER)) gpu_warp_barrier();
  }

  /* Turns rows r .. r + count - 1 of K into rows of L. Returns a tsi_breakdown_kind. */
  __device__ int factor(int r, int count) {
    for (int j = 0; j < r + count; j++) {
      const int ended = j - r; /* that row of K, if there is one, has become one of L */
      real scale;
      T z_j;
      if (ended < 0) {
        scale = inverse()[j];
        z_j = z()[j];
      } else {
        const real pivot = gpu_real_part(row(ended)[j]);
        const int kind = judge(pivot);
        if (kind != TSI_BREAKDOWN_NONE) return kind;
        scale = 1 / root(pivot);
        z_j = scale * right()[ended];
        psi -= gpu_square(z_j);
        if (lane == 0) {
          inverse()[j] = scale;
          z()[j] = z_j;
        }
      }
      eliminate(j, r, ended < 0 ? 0 : ended + 1, count, scale, z_j);
    }
    return TSI_BREAKDOWN_NONE;
  }

  /* Solves L^H g = z. */
  __device__ void solve() const {
    T *g = this->g();
    for (int j = lane; j < size; j += W) g[j] = z()[j];
    gpu_warp_barrier();
    for (int k = size - 1; k > 0; k--) {
      const T known = -(inverse()[k] * g[k]);
      for (int j = lane; j < k; j += W) gpu_add_product(g[j], known, gpu_conj(*l(k, j)));
      gpu_warp_barrier();
    }
    for (int j = lane; j < size; j += W) g[j] = inverse()[j] * g[j];
    gpu_warp_barrier();
  }

  /* Adds `count` columns to the system; they are already the last ones of the pattern. ends: the gradient is
   * no longer needed. Returns a tsi_breakdown_kind, or TSI_FSAI_ROW_LARGE. */
  __device__ int join(int count, bool ends) {
    const int to = size + count;
    this->open_rows(i, size + 1, to + 1);
    if (!ends && !this->enter_rows(i, size + 1, to + 1)) return TSI_FSAI_ROW_LARGE;
    while (size < to) {
      const int some = to - size < s.at_once ? to - size : s.at_once;
      gather(size, some);
      const int kind = factor(size, some);
      if (kind != TSI_BREAKDOWN_NONE) return kind;
      size += some;
    }
    solve();
    return TSI_BREAKDOWN_NONE;
  }

  /* ---- A row ------------------------------------------------------------------------------------------- */

  /* Starts with the given pattern and joins its columns. ends: the pattern does not grow. */
  __device__ int start(const tsi_index *given, int count, bool ends) {
    size = 0;
    this->open_rows(i, 0, 1);
    const T diagonal = ((const T *)s.a.values)[s.a.ptr[i] + this->first()[1]];
    psi = psi_0 = (double)gpu_real_part(diagonal);
    const int kind = judge(diagonal);
    if (kind != TSI_BREAKDOWN_NONE) return kind;
    if (!ends && !this->enter_rows(i, 0, 1)) return TSI_FSAI_ROW_LARGE;
    if (count > s.most || !this->has_space(count, i)) return TSI_FSAI_ROW_LARGE;
    gpu_warp_barrier(); /* all lanes have read the number of slots */
    for (int k = lane; k < count; k += W) {
      this->pattern()[k] = given[k];
      this->position()[this->settle(given[k])] = k;
    }
    gpu_warp_barrier();
    return TSI_BREAKDOWN_NONE;
  }

  /* Chooses the columns of a step, which must then join. Returns their number. */
  __device__ int choose() const {
    const int free = s.most - size, vacant = free < s.limits.per_step ? free : s.limits.per_step;
    int picked = 0;
    if (vacant == 0 || psi <= s.limits.reduction * psi_0) return 0;
    this->find_gradient(i, size);
    while (picked < vacant && this->pick(size + picked)) picked++;
    return picked;
  }

  /* Computes g on a pattern that begins with the given one and grows in so many steps. */
  __device__ int find_row(const tsi_index *given, int count, int steps) {
    int kind = start(given, count, steps == 0);
    while (kind == TSI_BREAKDOWN_NONE) {
      kind = join(count, steps == 0);
      if (kind != TSI_BREAKDOWN_NONE || steps == 0) break;
      count = choose();
      if (count == 0) break;
      steps--;
    }
    return kind;
  }

  /* Drops small entries of g: lists the columns of the others, ascending. Returns their number. */
  __device__ int list_large(tsi_index *list) const {
    double square = 1;
    int count = 0;
    for (int r = 0; r < size; r++) square += gpu_square(this->g()[r]);
    const double least = s.limits.postfilter * sqrt(square);
    for (int r = 0; r < size; r++) count += sqrt(gpu_square(this->g()[r])) >= least;
    for (int r = lane; r < size; r += W) {
      int before = 0;
      if (sqrt(gpu_square(this->g()[r])) < least) continue;
      for (int k = 0; k < size; k++)
        before += sqrt(gpu_square(this->g()[k])) >= least && this->pattern()[k] < this->pattern()[r];
      list[before] = this->pattern()[r];
    }
    gpu_warp_barrier();
    return count;
  }

  /* Writes g / sqrt(psi), columns ascending. */
  __device__ int write(tsi_index *index, T *values) const {
    const int kind = judge((real)psi);
    if (kind != TSI_BREAKDOWN_NONE) return kind;
    const real factor = 1 / root((real)psi);
    int finite = gpu_is_finite(factor);
    for (int r = lane; r < size; r += W) {
      const tsi_index c = this->pattern()[r];
      const T value = factor * this->g()[r];
      int before = 0;
      for (int k = 0; k < size; k++) before += this->pattern()[k] < c;
      index[before] = c;
      values[before] = value;
      finite &= gpu_is_finite(value);
    }
    if (lane == 0) {
      index[size] = i;
      gpu_set_real(values[size], factor);
    }
    for (int mask = 1; mask < W; mask *= 2) finite &= gpu_shuffle_xor(finite, (unsigned)mask, W);
    return finite ? TSI_BREAKDOWN_NONE : TSI_BREAKDOWN_NOT_FINITE;
  }

  /* Computes the k-th of the requested rows. */
  __device__ void run(int k) {
    tsi_index *index = s.index + (int64_t)k * s.stride;
    i = s.row ? s.row[k] : k;
    const tsi_count given = s.given_ptr ? s.given_ptr[i] : 0, end = s.given_ptr ? s.given_ptr[i + 1] : 0;
    const tsi_index *list = s.given + given;
    int listed = (int)(end - given), steps = s.limits.steps, kind;
    for (bool filters = s.limits.postfilter > 0;; filters = false) {
      kind = find_row(list, listed, steps);
      if (kind != TSI_BREAKDOWN_NONE || !filters) break;
      listed = list_large(index);
      if (listed == size) break;
      this->clear();
      list = index;
      steps = 0;
    }
    if (kind == TSI_BREAKDOWN_NONE) kind = write(index, (T *)s.values + (int64_t)k * s.stride);
    if (lane == 0) {
      s.entries[k] = kind == TSI_BREAKDOWN_NONE ? size + 1 : 0;
      s.kind[k] = kind;
    }
    this->clear();
  }
};

/* Distributes the rows over the warps in turn. */
template <class T, int W> __device__ static __forceinline__ void gpu_run_fsai(const tsi_gpu_fsai &s) {
  GPU_SHARED_SPACE(shared, s.workspace ? 0 : gpu_threads() / W * s.space.bytes);
  const unsigned own = gpu_thread() / W, each = gpu_threads() / W, warp = gpu_block() * each + own;
  char *space =
      s.workspace ? (char *)s.workspace + warp * s.space.bytes : (char *)shared + own * s.space.bytes;
  gpu_fsai<T, W> worker(s, space);
  worker.begin_table();
  for (int64_t k = warp; k < s.count; k += (int64_t)gpu_blocks() * each) worker.run((int)k);
}
