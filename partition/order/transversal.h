/* Maximum transversal: as many entries as possible with no two in the same row or column.
 *
 * Reads   a column-compressed square pattern (duplicates allowed), a matching to start from.
 * Writes  the matching in both directions, TSI_NONE where there is no partner.
 * J. E. Hopcroft and R. M. Karp, SIAM J. Comput. 2 (1973): O(sqrt(n) nnz), not recursive. */
#ifndef TSI_PARTITION_ORDER_TRANSVERSAL_H
#define TSI_PARTITION_ORDER_TRANSVERSAL_H

#include "runtime/base/env.h"

/* row_of, column_of: n entries each, the row of each column and back: all TSI_NONE, or a matching, whose rows
 * and columns stay matched (its pairs need not be entries of the pattern, and may be parted). *rank = number
 * of matched columns. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_transversal(tsi_env *env, tsi_index n, const tsi_count *ptr,
                                               const tsi_index *index, tsi_index *row_of,
                                               tsi_index *column_of, tsi_index *rank);

#endif
