/* A factorized sparse approximate inverse: A^-1 ~ G^H G, G lower triangular (codelets/cpu/fsai/fsai.h). A
 * pair is A^-1 ~ G_U G_L, G_L lower and G_U upper triangular (codelets/cpu/fsai/fsai_pair.h).
 *
 * Job. Compute the rows of G from the rows of A by all available threads, store G and G^H by rows, and
 * multiply by both. For a pair, G_L replaces G, and G_U replaces G^H.
 *
 * Reads   rows of A, vectors.   Writes  its own members, vectors.
 * Invariants
 *   - G does not depend on which thread computes which row; a product adds the entries of a row in their
 *     order
 *   - the pattern of G is computed once; new values use it
 *   - the transposes of a pair are made by the first product that needs them, and used until values change
 *   - several threads may multiply by G^H G at the same time; workers help one of them */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/context/context.h"
#include "tristar_precond.h"

typedef struct tsi_fsai tsi_fsai;

/* Computes the static pattern from which the patterns of G grow. pair: the pattern of A is symmetric. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_create(tristar_t *ts, const tristar_precond_options *options,
                                               char scalar, const tsi_factor_rows *a, bool pair,
                                               tsi_fsai **out);
void tsi_fsai_destroy(tsi_fsai **fsai);

/* Is the pattern of G not computed yet, and does it depend on values? */
bool tsi_fsai_adapts(const tsi_fsai *fsai);
/* Computes G, or a pair; the first call also computes the pattern. a: both triangles; Hermitian unless for a
 * pair. part: the values of the Hermitian matrix from which the pattern of a pair is computed; otherwise
 * NULL. breakdown: the first row that failed; then G has no values. Errors: MEMORY, NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_fsai_compute(tsi_fsai *fsai, const tsi_factor_rows *a, const void *part,
                                                tsi_breakdown *breakdown);

/* Number of entries of G, or of each factor of a pair. */
tsi_count tsi_fsai_entries(const tsi_fsai *fsai);
/* Number of nodes whose rows share patterns; 0: there are no nodes. */
tsi_index tsi_fsai_node_count(const tsi_fsai *fsai);
/* Bytes of the factors, after they have values. */
size_t tsi_fsai_bytes(const tsi_fsai *fsai);
/* Do products run on a device? */
bool tsi_fsai_is_on_device(const tsi_fsai *fsai);
bool tsi_fsai_is_pair(const tsi_fsai *fsai);

/* X = G^H G B. For a pair X = G_U G_L B, or, transposed, G_L^T G_U^T B. x may be b, with ldx == ldb. Errors:
 * MEMORY, NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_fsai_multiply(tsi_fsai *fsai, bool transposed, int64_t nrhs, const void *b,
                                                 int64_t ldb, void *x, int64_t ldx);
