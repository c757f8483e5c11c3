/* The lower half of a Hermitian matrix for products: see codelets/cpu/rows/halved.h.
 *
 * Job. Part the entries of such a matrix: rows are cut into stretches of consecutive windows; what couples
 * rows of one stretch is stored by its lower half, what couples two stretches in full, by rows (slices.h). A
 * stretch is the unit of work of a product: it writes its own rows of y alone, so that stretches may be
 * multiplied with in any order, at the same time, with the same bits.
 *
 *   windows of a stretch, in order:  y = the rest's rows of the window times x;  y += the half's
 *
 * Reads   lines of entries that ascend strictly.   Writes  arrays of its own.
 * Invariants: what is chosen depends on the pattern alone, and the lengths of stretches on the number of rows
 * alone. */
#pragma once

#include "codelets/cpu/rows/halved.h"
#include "runtime/matrix/slices.h"

/* Is the matrix, in full with the pattern of a Hermitian one, to be stored by its lower half? Each row has an
 * entry on the diagonal then. */
bool tsi_halves_are_worth(const tsi_entries *rows);
/* Parts its entries with their items. rest and lower: to be finished, also after a failure. Errors: MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_halves_split(tsi_env *env, const tsi_entries *rows, tsi_entries *rest,
                                                tsi_entries *lower);

/* Of the entries below the diagonal and on it. There are no values yet. out: to be finished, also after a
 * failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_halved_make(tsi_env *env, const tsi_entries *lower, size_t bytes,
                                               tsi_halved *out);
/* values: of the entries of the rows of a window, in their order. */
void tsi_halved_fill(const tsi_halved *a, tsi_index window, const tsi_count *ptr, const void *values);

/* What a product reads, but for vectors. */
size_t tsi_halved_bytes(const tsi_halved *a);

/* Are they those of the rows? Errors: INTERNAL names the first invariant that is broken. */
TRISTAR_CHECKED tristar_status tsi_halved_check(tsi_env *env, const tsi_halved *a, const tsi_entries *lower);

/* A matrix as products read it. */
typedef struct tsi_halves {
  tsi_sliced rest; /* of a matrix that is not halved: all */
  tsi_halved half; /* window NULL: the matrix is not halved */
} tsi_halves;

/* Of rows whose items are the values. hermitian: they are those of a Hermitian matrix, and not narrow. out:
 * to be finished, also after a failure. Errors: MEMORY; with env->check INTERNAL. */
TRISTAR_CHECKED tristar_status tsi_halves_take(tsi_env *env, const tsi_entries *rows, bool hermitian,
                                               bool narrow, tsi_halves *out);
void tsi_halves_finish(tsi_halves *a);
static inline size_t tsi_halves_bytes(const tsi_halves *a) {
  return tsi_slices_bytes(&a->rest) + tsi_halved_bytes(&a->half);
}

/* Windows that are multiplied with together: a stretch, or one of a matrix that is not halved. */
tsi_index tsi_halves_unit(const tsi_halves *a);
static inline tsi_index tsi_units(tsi_index windows, tsi_index unit) {
  return windows / unit + (windows % unit > 0);
}

typedef struct tsi_halves_kernels {
  const tsi_sliced_kernels *sliced;
  const tsi_halved_kernels *halved;
} tsi_halves_kernels;

/* For a scalar type, and an instruction set as tsi_kernels_select has it. */
tsi_halves_kernels tsi_halves_kernels_select(char scalar, const char *isa);

/* Y = A X for the rows of so many windows, which are whole units, or end with the last row. */
void tsi_halves_multiply(const tsi_halves_kernels *kernels, const tsi_halves *a, tsi_index first,
                         tsi_index windows, int64_t columns, const void *x, int64_t ldx, void *y,
                         int64_t ldy);
