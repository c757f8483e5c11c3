/* What a row of a sparse approximate inverse reaches, in the table of its warp: see fsai_launch.h. The
 * gradient g A by column, and the columns that join.
 *
 * Entries of the rows of A that take part are numbered one behind the other: row i first, which is number 0,
 * then the rows of the pattern, numbers 1, 2, ... Lanes take neighbouring ones, so that short rows keep all
 * of them busy. Where two rows have the same column, its entry of the gradient is added up in the order of
 * the numbers: lanes load and multiply at once, and then those of each number add in turn.
 *
 * All lanes of the warp come to all functions together, but to those that say `lane`.
 *
 * A header of its own because it needs the table of a warp alone, and nothing of a factorization. */
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

  /* Multiplied with a number by the golden ratio, as Knuth has it: neighbours are far from each other. */
  __device__ int home_of(tsi_index c) const {
    return (int)((uint64_t)(uint32_t)c * 0x9e3779b97f4a7c15u >> 32 & (uint64_t)(s.homes - 1));
  }
  __device__ int next_home(int home) const { return (home + 1) & (s.homes - 1); }

  /* A lane: the home of a column; TSI_NONE: it has none. */
  __device__ int find(tsi_index c) const {
    for (int home = home_of(c);; home = next_home(home)) {
      const tsi_index there = column()[home];
      if (there == c) return home;
      if (there == TSI_NONE) return TSI_NONE;
    }
  }
  /* A lane: the home of a column, which gets one if it has none yet. */
  __device__ int settle(tsi_index c) const {
    for (int home = home_of(c);; home = next_home(home)) {
      const tsi_index there = gpu_compare_swap(column() + home, TSI_NONE, c, GPU_BLOCK);
      if (there == TSI_NONE) used()[gpu_fetch_add(used() + s.slots, 1, GPU_BLOCK)] = home;
      if (there == TSI_NONE || there == c) return home;
    }
  }
  __device__ int slots() const { return used()[s.slots]; }

  /* Before the first row of the warp. */
  __device__ void begin_table() const {
    for (int home = lane; home < s.homes; home += W) column()[home] = position()[home] = TSI_NONE;
    if (lane == 0) used()[s.slots] = 0;
    gpu_warp_barrier();
  }
  /* All homes are free again. */
  __device__ void forget() const {
    const int count = slots();
    for (int k = lane; k < count; k += W) column()[used()[k]] = position()[used()[k]] = TSI_NONE;
    gpu_warp_barrier();
    if (lane == 0) used()[s.slots] = 0;
    gpu_warp_barrier();
  }

  /* ---- Rows that take part ----------------------------------------------------------------------------- */

  /* A lane: entries of row p of A that stand left of column i. */
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

  /* Rows number .. end - 1 of row i get their numbers of entries. */
  __device__ void open_rows(tsi_index i, int number, int end) const {
    if (number == 0 && lane == 0) first()[0] = 0;
    for (int k = number + lane; k < end; k += W) first()[k + 1] = left_of(row_of(k, i), i);
    gpu_warp_barrier();
    if (lane == 0)
      for (int k = number; k < end; k++) first()[k + 1] += first()[k];
    gpu_warp_barrier();
  }

  /* A lane: which of the rows number .. end - 1 has entry e. */
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
  /* A lane: where entry e, of the row with that number, is in A. */
  __device__ tsi_count entry_of(tsi_count e, int number, tsi_index i) const {
    return s.a.ptr[row_of(number, i)] + (e - first()[number]);
  }

  /* May so many columns more come? There are no more than those left of i. */
  __device__ bool has_room(tsi_count more, tsi_index i) const {
    return i <= s.slots || slots() + more <= s.slots;
  }

  /* The columns of rows number .. end - 1 get homes; false: there is no room. */
  __device__ bool enter_rows(tsi_index i, int number, int end) const {
    const tsi_count to = first()[end];
    if (!has_room(to - first()[number], i)) return false;
    gpu_warp_barrier(); /* all have seen how many there were */
    for (tsi_count e = first()[number] + lane; e < to; e += W)
      (void)settle(s.a.index[entry_of(e, number_of(e, number, end), i)]);
    gpu_warp_barrier();
    return true;
  }

  /* ---- Gradient and selection -------------------------------------------------------------------------- */

  /* g A, of a pattern of `size` columns. */
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

  /* What orders entries by magnitude. */
  __device__ static double size_of(T x) {
    const double re = (double)gpu_real_part(x);
    return gpu_scalar<T>::COMPLEX ? gpu_square(x) : re < 0 ? -re : re;
  }

  /* The column with the largest entry of the gradient that is not in the pattern becomes number `place` of
   * it; false: all are zero. */
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
    gpu_warp_barrier(); /* all have looked at the positions */
    if (lane == 0) {
      pattern()[place] = best;
      position()[best_home] = place;
    }
    gpu_warp_barrier();
    return true;
  }
  /* Of equal ones the smaller column; zero and NaN are none. */
  __device__ static void take_larger(double size, tsi_index c, int home, double *largest, tsi_index *best,
                                     int *best_home) {
    if (!(size > *largest || (size == *largest && size > 0 && c < *best))) return;
    *largest = size;
    *best = c;
    *best_home = home;
  }
};
