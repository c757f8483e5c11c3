/* Copies rows of a chunk between the user's b and x and the workspace: permutes, scales and conjugates them,
 * and handles the user's type and strides.
 *
 *   read    x_c = R b
 *   write   x = x_c, or x = beta x + alpha x_c, if tsi_solve_call.combines
 *
 * Reads   a call, and the rows of its arrays.   Writes  rows of the workspace; x. */
#pragma once

#include "codelets/cpu/node.h"
#include "codelets/cpu/base/scalar.h"

/* x_c = b, permuted and scaled; zero in the padding. x: the chunk's rows of the workspace. */
void TSI_TYPED(tsi_read_user)(const tsi_solve_call *call, const tsi_solve_chunk *chunk, tsi_index number,
                              void *x);
/* Writes the user's x from x_c. */
void TSI_TYPED(tsi_write_user)(const tsi_solve_call *call, const tsi_solve_chunk *chunk, tsi_index number,
                               const void *x);
#define read_user TSI_TYPED(tsi_read_user)
#define write_user TSI_TYPED(tsi_write_user)

static tsi_scalar *chunk_rows(const tsi_solve_call *call, const tsi_solve_chunk *chunk) {
  return (tsi_scalar *)call->workspace + chunk->workspace * call->stride;
}

INLINE tsi_wide times(const double factor[2], tsi_wide x) {
#if TSI_COMPLEX
  tsi_wide out;
  __real__ out = factor[0] * __real__ x - factor[1] * __imag__ x;
  __imag__ out = factor[0] * __imag__ x + factor[1] * __real__ x;
  return out;
#else
  return factor[0] * x;
#endif
}

/* Returns beta before + alpha value; before: the value in x. */
INLINE tsi_wide combined(const tsi_solve_call *call, tsi_wide before, tsi_wide value) {
  value = times(call->alpha, value);
  return call->beta[0] == 0 && call->beta[1] == 0 ? value : times(call->beta, before) + value;
}

/* Notes numbers of x, if they are watched. */
static inline void watch_numbers(const tsi_solve_call *call, tsi_count count, const tsi_scalar *x) {
  if (call->watch && !call->watch->sum_is_finite(count, x))
    atomic_store_explicit(&call->watch->suspects, true, memory_order_relaxed);
}
/* Does the same for a sum of numbers of x. */
static inline void watch_sum(const tsi_solve_call *call, tsi_wide sum) {
  if (!((tsi_re(sum) - tsi_re(sum)) + (tsi_im(sum) - tsi_im(sum)) == 0))
    atomic_store_explicit(&call->watch->suspects, true, memory_order_relaxed);
}

/* Tasks that only do this. */
void TSI_TYPED(tsi_read_chunk)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number);
void TSI_TYPED(tsi_write_chunk)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number);
