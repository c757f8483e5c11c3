/* The columns that a row of a sparse approximate inverse reaches, in the table of its warp (fsai_launch.h):
 * the gradient g A by column, and the columns that join.
 *
 * The rows of A that take part are numbered: row i is number 0, the rows of the pattern are numbers 1, 2, ...
 * Their entries are numbered consecutively in this order. Lanes take neighbouring entries, so that short rows
 * keep all lanes busy. If two rows have the same column, its entry of the gradient is summed in the order of
 * the row numbers: all lanes load and multiply at once; then the lanes of each row number add in turn.
 *
 * All lanes of the warp call all functions together, except functions marked with `lane`.
 *
 * A header of its own because it needs only the table of a warp, and nothing of a factorization. */
#pragma once

#include "codelets/gpu/tables/fsai_launch.h"
#include "codelets/gpu/scalar.gpu.h"

template <class T, int W> struct gpu_reach {
  const tsi_gpu_fsai &s;
  const int lane;
  char *const space;

  __device__ gpu_reach(const tsi_gpu_fsai &rows, char *warp_space)
      : s(rows), lane((int)gpu_thread() % W), space(warp_space) {}

  __device__ tsi_index *column() const { return (tsi_index *)(space + s.space.column); }
  __device__ tsi_index *position() const { return (tsi_index *)(space + s.space.position); }
  __device__ T *gradient() const { return (T *)(space + s.space.gradient); }
  __device__ tsi_index *used() const { return (tsi_index *)(space + s.space.used); }
  __device__ tsi_index *pattern() const { return (tsi_index *)(space + s.space.pattern); }
  __device__ tsi_count *first() const { return (tsi_count *)(space + s.space.first); }
  __device__ T *g() const { return (T *)(space + s.space.g); }

  /* ---- The table --------------------------------------------------------------------------------------- */

  /* Returns the hash of a column: Knuth's multiplication by the golden ratio, which separates neighbours. */
  __device__ int home_of(tsi_index c) const {
    return (int)((uint64_t)(uint32_t)c * 0x9e3779b97f4a7c15u >> 32 & (uint64_t)(s.homes - 1));
  }
  __device__ int next_home(int home) const { return (home + 1) & (s.homes - 1); }

  /* A lane: returns the home of a column; TSI_NONE: it has none. */
  __device__ int find(tsi_index c) const {
    for (int home = home_of(c);; home = next_home(home)) {
      const tsi_index there = column()[home];
      if (there == c) return home;
      if (there == TSI_NONE) return TSI_NONE;
    }
  }
  /* A lane: returns the home of a column; gives it one if it has none. */
  __device__ int settle(tsi_index c) const {
    for (int home = home_of(c);; home = next_home(home)) {
      const tsi_index there = gpu_compare_swap(column() + home, TSI_NONE, c, GPU_BLOCK);
      if (there == TSI_NONE) used()[gpu_fetch_add(used() + s.slots, 1, GPU_BLOCK)] = home;
      if (there == TSI_NONE || there == c) return home;
    }
  }
  __device__ int slots() const { return used()[s.slots]; }

  /* Called before the first row of the warp. */
  __device__ void begin_table() const {
    for (int home = lane; home < s.homes; home += W) column()[home] = position()[home] = TSI_NONE;
    if (lane == 0) used()[s.slots] = 0;
    gpu_warp_barrier();
  }
  /* Frees all homes. */
  __device__ void clear() const {
    const int count = slots();
    for (int k = lane; k < count; k += W) column()[used()[k]] = position()[used()[k]] = TSI_NONE;
    gpu_warp_barrier();
    if (lane == 0) used()[s.slots] = 0;
    gpu_warp_barrier();
  }

  /* ---- Rows that take part ----------------------------------------------------------------------------- */

  /* A lane: returns the number of entries of row p of A left of column i. */
  __device__ tsi_count left_of(tsi_index p, tsi_index i) const {
    const tsi_count begin = s.a.ptr[p];
    tsi_count low = 0, high = s.a.ptr[p + 1] - begin;
    while (low < high) {
      const tsi_count middle = (low + high) / 2;
      if (s.a.index[begin + middle] < i)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  __device__ tsi_index row_of(int number, tsi_index i) const {
    return number == 0 ? i : pattern()[number - 1];
  }

  /* Sets the first entries of rows number .. end - 1 of row i. */
  __device__ void open_rows(tsi_index i, int number, int end) const {
    if (number == 0 && lane == 0) first()[0] = 0;
    for (int k = number + lane; k < end; k += W) first()[k + 1] = left_of(row_of(k, i), i);
    gpu_warp_barrier();
    if (lane == 0)
      for (int k = number; k < end; k++) first()[k + 1] += first()[k];
    gpu_warp_barrier();
  }

  /* A lane: returns which of the rows number .. end - 1 has entry e. */
  __device__ int number_of(tsi_count e, int number, int end) const {
    while (end - number > 1) {
      const int middle = (number + end) / 2;
      if (first()[middle] <= e)
        number = middle;
      else
        end = middle;
    }
    return number;
  }
  /* A lane: returns the position in A of entry e, which belongs to row `number`. */
  __device__ tsi_count entry_of(tsi_count e, int number, tsi_index i) const {
    return s.a.ptr[row_of(number, i)] + (e - first()[number]);
  }

  /* Does the table have space for so many more columns? There are at most i columns. */
  __device__ bool has_space(tsi_count more, tsi_index i) const {
    return i <= s.slots || slots() + more <= s.slots;
  }

  /* Gives the columns of rows number .. end - 1 homes; returns false if there is no space. */
  __device__ bool enter_rows(tsi_index i, int number, int end) const {
    const tsi_count to = first()[end];
    if (!has_space(to - first()[number], i)) return false;
    gpu_warp_barrier(); /* all lanes have read the number of slots */
    for (tsi_count e = first()[number] + lane; e < to; e += W)
      (void)settle(s.a.index[entry_of(e, number_of(e, number, end), i)]);
    gpu_warp_barrier();
    return true;
  }

  /* ---- Gradient and selection -------------------------------------------------------------------------- */

  /* Computes g A for a pattern of `size` columns. */
  __device__ void find_gradient(tsi_index i, int size) const {
    const int count = slots();
    for (int k = lane; k < count; k += W) gradient()[used()[k]] = T();
    gpu_warp_barrier();
    const tsi_count entries = first()[size + 1];
    for (tsi_count begin = 0; begin < entries; begin += W) {
      const tsi_count e = begin + lane;
      const int number = e < entries ? number_of(e, 0, size + 1) : size + 1;
      int home = 0;
      T part = T();
      if (e < entries) {
        const tsi_count at = entry_of(e, number, i);
        home = find(s.a.index[at]);
        part = ((const T *)s.a.values)[at];
        if (number > 0) part = part * g()[number - 1];
      }
      const int from = gpu_shuffle(number, 0, W), last = gpu_shuffle(number, W - 1, W);
      for (int k = from; k <= last && k <= size; k++) {
        if (number == k) gradient()[home] = gradient()[home] + part;
        if (!gpu_fault(GPU_FAULT_WARP_BARRIER)) gpu_warp_barrier();
      }
    }
    gpu_warp_barrier();
  }

  /* Returns the key that orders entries by magnitude. */
  __device__ static double size_of(T x) {
    const double re = (double)gpu_real_part(x);
    return gpu_scalar<T>::COMPLEX ? gpu_square(x) : re < 0 ? -re : re;
  }

  /* Makes the column with the largest entry of the gradient outside the pattern number `place` of the
   * pattern. Returns false if all these entries are zero. */
  __device__ bool pick(int place) const {
    const int count = slots();
    double largest = 0;
    tsi_index best = TSI_NONE;
    int best_home = 0;
    for (int k = lane; k < count; k += W) {
      const int home = used()[k];
      if (position()[home] != TSI_NONE) continue;
      const double size = size_of(gradient()[home]);
      take_larger(size, column()[home], home, &largest, &best, &best_home);
    }
    for (int mask = 1; mask < W; mask *= 2) {
      const unsigned other = (unsigned)(gpu_fault(GPU_FAULT_LANE) ? mask / 2 : mask);
      const double size = gpu_shuffle_xor(largest, other, W);
      const tsi_index c = gpu_shuffle_xor(best, other, W);
      const int home = gpu_shuffle_xor(best_home, other, W);
      take_larger(size, c, home, &largest, &best, &best_home);
    }
    if (best == TSI_NONE) return false;
    gpu_warp_barrier(); /* all lanes have read the positions */
    if (lane == 0) {
      pattern()[place] = best;
      position()[best_home] = place;
    }
    gpu_warp_barrier();
    return true;
  }
  /* Keeps the larger entry; of equal ones the smaller column. Ignores zero and NaN. */
  __device__ static void take_larger(double size, tsi_index c, int home, double *largest, tsi_index *best,
                                     int *best_home) {
    if (!(size > *largest || (size == *largest && size > 0 && c < *best))) return;
    *largest = size;
    *best = c;
    *best_home = home;
  }
};
