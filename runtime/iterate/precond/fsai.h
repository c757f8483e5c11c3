/* A factorized sparse approximate inverse: A^-1 ~ G^H G, G lower triangular (codelets/cpu/fsai/fsai.h), or, a
 * pair, A^-1 ~ G_U G_L, G_L lower and G_U upper triangular (codelets/cpu/fsai/fsai_pair.h).
 *
 * Job. Compute the rows of G from those of A, by whoever works; keep G and G^H by rows; multiply with both.
 * Of a pair the same with G_L in the place of G, and G_U in that of G^H.
 *
 * Reads   rows of A, vectors.   Writes  its own members, vectors.
 * Invariants
 *   - what G is does not depend on who computes which row; a product adds up a row's entries in their order
 *   - the pattern of G is found once: then values are computed on it
 *   - the transposes of a pair are stored by the first product that needs them, until values change
 *   - G^H G may be multiplied with by several threads at the same time; one of them is helped by workers */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/context/context.h"
#include "tristar_precond.h"

typedef struct tsi_fsai tsi_fsai;

/* Finds the static pattern that rows of G begin with. pair: the pattern of A is symmetric. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_create(tristar_t *ts, const tristar_precond_options *options,
                                               char scalar, const tsi_factor_rows *a, bool pair,
                                               tsi_fsai **out);
void tsi_fsai_destroy(tsi_fsai **fsai);

/* Is the pattern of G still to be found? */
bool tsi_fsai_adapts(const tsi_fsai *fsai);
/* G, of a Hermitian A in full, or a pair; the first time also its pattern. part: of a pair whose pattern is
 * to be found, the values of the Hermitian matrix that it adapts to; else NULL. breakdown: the first row that
 * is none; then G has no values. Errors: MEMORY, NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_fsai_compute(tsi_fsai *fsai, const tsi_factor_rows *a, const void *part,
                                                tsi_breakdown *breakdown);

/* Entries of G, or of each of a pair. */
tsi_count tsi_fsai_entries(const tsi_fsai *fsai);
/* Nodes whose rows share patterns; 0: none do. */
tsi_index tsi_fsai_node_count(const tsi_fsai *fsai);
/* What they take, once they have values. */
size_t tsi_fsai_bytes(const tsi_fsai *fsai);
/* Are its products on a device? */
bool tsi_fsai_is_on_device(const tsi_fsai *fsai);
bool tsi_fsai_is_pair(const tsi_fsai *fsai);

/* X = G^H G B; of a pair X = G_U G_L B, or, transposed, G_L^T G_U^T B. x may be b, with ldx == ldb. Errors:
 * MEMORY, NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_fsai_multiply(tsi_fsai *fsai, bool transposed, int64_t nrhs, const void *b,
                                                 int64_t ldb, void *x, int64_t ldx);
