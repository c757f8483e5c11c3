/* A factorized sparse approximate inverse: A^-1 ~ G^H G, G lower triangular (codelets/cpu/fsai.h).
 *
 * Job. Compute the rows of G from those of A, by whoever works; keep G and G^H by rows; multiply with both.
 *
 * Reads   rows of A, vectors.   Writes  its own members, vectors.
 * Invariants
 *   - what G is does not depend on who computes which row; a product adds up a row's entries in their order
 *   - the pattern of G is found once: then values are computed on it
 *   - G^H G may be multiplied with by several threads at the same time; one of them is helped by workers */
#ifndef TSI_RUNTIME_PRECOND_FSAI_H
#define TSI_RUNTIME_PRECOND_FSAI_H

#include "codelets/cpu/incomplete.h"
#include "runtime/context/context.h"
#include "tristar_precond.h"

typedef struct tsi_fsai tsi_fsai;

/* Finds the static pattern that rows of G begin with. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_create(tristar_t *ts, const tristar_precond_options *options,
                                               char scalar, const tsi_factor_rows *a, tsi_fsai **out);
void tsi_fsai_destroy(tsi_env *env, tsi_fsai **fsai);

/* G, of a Hermitian A in full; the first time also its pattern. breakdown: the first row that is none; then G
 * has no values. Errors: MEMORY, NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_fsai_compute(tsi_fsai *fsai, const tsi_factor_rows *a,
                                                tsi_breakdown *breakdown);

/* Entries of G. */
tsi_count tsi_fsai_entries(const tsi_fsai *fsai);
/* Nodes whose rows share patterns; 0: none do. */
tsi_index tsi_fsai_node_count(const tsi_fsai *fsai);

/* X = G^H G B. x may be b, with ldx == ldb. Errors: MEMORY, NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_fsai_multiply(tsi_fsai *fsai, int64_t nrhs, const void *b, int64_t ldb,
                                                 void *x, int64_t ldx);

#endif
