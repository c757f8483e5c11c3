/* The lower half of a Hermitian matrix for products: see codelets/cpu/rows/halved.h.
 *
 * Job. Divide the entries of such a matrix. Rows are cut into stretches of consecutive windows. Entries that
 * couple rows of one stretch are stored by their lower half; entries that couple two stretches are stored in
 * full, by rows (slices.h), and are called the rest. A stretch is the unit of work of a product: it writes
 * only its own rows of y. So stretches may be multiplied in any order, or at the same time, with the same
 * bits.
 *
 *   windows of a stretch, in order:  y = the rest's rows of the window times x;  y += the half's
 *
 * Reads   lines of entries that ascend strictly.   Writes  arrays of its own.
 * Invariants: the choice depends on the pattern alone, and the lengths of stretches on the number of rows
 * alone. */
#pragma once

#include "codelets/cpu/rows/halved.h"
#include "runtime/matrix/slices.h"

/* Should the matrix be stored by its lower half? rows: a matrix in full with the pattern of a Hermitian one.
 * If the result is true, each row has an entry on the diagonal. */
bool tsi_halves_are_worth(const tsi_entries *rows);
/* Divides its entries with their items. Call tsi_entries_finish for rest and lower, also after a failure.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_halves_split(tsi_env *env, const tsi_entries *rows, tsi_entries *rest,
                                                tsi_entries *lower);

/* Makes the half from the entries below and on the diagonal, without values. Call tsi_halves_finish for its
 * owner also after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_halved_make(tsi_env *env, const tsi_entries *lower, size_t bytes,
                                               tsi_halved *out);
/* values: of the entries of the rows of a window, in their order. */
void tsi_halved_fill(const tsi_halved *a, tsi_index window, const tsi_count *ptr, const void *values);

/* Bytes that a product reads, without vectors. */
size_t tsi_halved_bytes(const tsi_halved *a);

/* Do the entries agree with the rows? Errors: INTERNAL (the message has the first broken invariant). */
TRISTAR_CHECKED tristar_status tsi_halved_check(tsi_env *env, const tsi_halved *a, const tsi_entries *lower);

/* A matrix in the form that products read. */
typedef struct tsi_halves {
  tsi_sliced rest; /* If the matrix is not halved: all entries. */
  tsi_halved half; /* window NULL: the matrix is not halved. */
} tsi_halves;

/* Makes both from rows whose items are the values. hermitian: the matrix is Hermitian; then narrow
 * must be false. Call tsi_halves_finish also after a failure. Errors: MEMORY; with env->check INTERNAL. */
TRISTAR_CHECKED tristar_status tsi_halves_take(tsi_env *env, const tsi_entries *rows, bool hermitian,
                                               bool narrow, tsi_halves *out);
void tsi_halves_finish(tsi_halves *a);
static inline size_t tsi_halves_bytes(const tsi_halves *a) {
  return tsi_slices_bytes(&a->rest) + tsi_halved_bytes(&a->half);
}

/* Number of windows that are multiplied together: a stretch; 1 if the matrix is not halved. */
tsi_index tsi_halves_unit(const tsi_halves *a);
static inline tsi_index tsi_units(tsi_index windows, tsi_index unit) {
  return windows / unit + (windows % unit > 0);
}

typedef struct tsi_halves_kernels {
  const tsi_sliced_kernels *sliced;
  const tsi_halved_kernels *halved;
} tsi_halves_kernels;

/* For a scalar type, and an instruction set as in tsi_kernels_select. */
tsi_halves_kernels tsi_halves_kernels_select(char scalar, const char *isa);

/* Y = A X for the rows of `windows` windows from `first` on. These are whole units, or end with the last
 * row. */
void tsi_halves_multiply(const tsi_halves_kernels *kernels, const tsi_halves *a, tsi_index first,
                         tsi_index windows, int64_t columns, const void *x, int64_t ldx, void *y,
                         int64_t ldy);
