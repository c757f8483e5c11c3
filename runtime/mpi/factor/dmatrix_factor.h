/* Factors of a matrix whose rows are distributed over all ranks: tristar_dmatrix_factor.
 *
 * Job. Factor a matrix of dmatrix.h, while no rank ever stores the whole matrix.
 *
 *   - method: all ranks scan their rows, and together choose the method, and find out whether the diagonal is
 *     weak and whether values are badly scaled (dmatrix_method.c)
 *   - matching, if needed: before the ordering, rank 0 gathers the sizes of entries, computes the matching
 *     and frees the sizes; all ranks receive the scalings of the matching (dmatrix_matching.c)
 *   - order, with PT-Scotch: all ranks compute it, before rank 0 gathers the pattern; each rank has the graph
 *     of its rows (dmatrix_order.c, dmatrix_graph.h, ptscotch.h)
 *   - structure: rank 0 gathers the pattern, orders it (without PT-Scotch) and analyzes it. The pattern has
 *     32-bit indices, no values, and one triangle if the matrix is symmetric. It is freed as soon as the
 *     graph exists
 *   - scaling: as in factor/scaling.h, by a team (dmatrix_scaling.c)
 *   - values: each rank sends the entries of its rows to the ranks whose fronts assemble them
 *     (dmatrix_supply.c)
 *   - factor: as tristar_distributed_factor does (team_factor.h)
 *   - matrix: each rank sends its rows to their homes, for refinement (refine_rows.h)
 *
 * Reads   rows of all ranks, during a call.   Writes  a distributed factor.
 * Invariants
 *   - arrays with one item for each entry of the matrix: only on rank 0, the pattern while it is ordered, and
 *     before that the pattern and sizes while they are matched
 *   - arrays of length n on each rank until the values are factored: maxima of rows and columns, scalings
 *   - all ranks agree before they exchange data; a failure on one rank is a failure on all
 *   - entries of a line, and rows, arrive by rank, and from each rank in the order of its rows; neither
 *     fronts nor products depend on this order. A row of d->matrix has its entries in the order of the user's
 *     columns, like a row of a factor of rank 0: refined solutions have the same bits */
#pragma once

#include "runtime/factor/method.h"
#include "runtime/factor/scaling.h"
#include "runtime/mpi/matrix/dmatrix.h"
#include "runtime/mpi/factor/team_factor.h"

/* Properties that the values of a matrix determine. */
typedef struct tsi_rows_method {
  tsi_chosen_method chosen;
  bool adjoint; /* mirror images are conjugates (LLT, LDLT) */
  bool match;   /* a matching is needed */
} tsi_rows_method;

/* The functions below are collective over matrix->transport. Call tsi_dmatrix_need_whole first. Errors are
 * the same on all ranks. */

/* Chooses the method, and refuses values that do not fit the method of the options. All ranks pass the same
 * options. Errors: ARGUMENT, NOT_FINITE, SINGULAR (structurally, without a matching), MEMORY, RUNTIME,
 * CANCELLED. */
TRISTAR_CHECKED tristar_status tsi_rows_choose_method(const tristar_dmatrix_t *matrix,
                                                      const tristar_analysis_options *options,
                                                      tsi_rows_method *out);
/* *requested: whether a matching is needed for this method. Errors: as above. */
TRISTAR_CHECKED tristar_status tsi_rows_need_matching(const tristar_dmatrix_t *matrix, tristar_method method,
                                                      const tristar_analysis_options *options,
                                                      bool *requested);
/* *out: on rank 0 the sizes (double) of all nonzero entries, by columns, rows ascending; unchanged on other
 * ranks. Errors: TOO_LARGE, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_gather_sizes(const tristar_dmatrix_t *matrix, tsi_entries *out);
/* scale: scalings of rows and of columns, n numbers each, from the matching with which rank 0's source was
 * analyzed. The caller frees them. Unchanged if there was no matching. *keeps: as in tsi_scaling_lines.
 * source: NULL on other ranks. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_share_matching(const tristar_dmatrix_t *matrix,
                                                       const tristar_factor_t *source, double *scale[2],
                                                       bool *keeps);
/* *out: whether `here` is true on all ranks. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_everywhere(const tristar_dmatrix_t *matrix, bool here, bool *out);
/* Checks that the values fit the method. Errors: ARGUMENT, NOT_FINITE, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_check_method(const tristar_dmatrix_t *matrix, tristar_method method,
                                                     bool *adjoint);
/* Scalings of n rows and columns, as computed by tsi_scaling_find. matched: scalings of a matching, or NULL;
 * keeps, any_pivots: as in tsi_scaling_lines. Errors: those of tsi_scaling_find. */
TRISTAR_CHECKED tristar_status tsi_rows_find_scaling(const tristar_dmatrix_t *matrix, tristar_method method,
                                                     char factor_scalar, double *const matched[2], bool keeps,
                                                     bool any_pivots, double *scale[2]);
/* Local. The magnitudes of the entries of this rank's rows, in an array that the caller frees. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_rows_measure(const tristar_dmatrix_t *matrix, double **magnitude);
/* Each number becomes the largest of all ranks. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_unite(const tristar_dmatrix_t *matrix, tsi_count count,
                                              double *largest);

/* The order of elimination that PT-Scotch computes for the graph of A + A^T. *order: on rank 0 an array that
 * the caller frees, order[k] is the k-th column to eliminate; NULL on other ranks. mapped: for the matrix
 * whose row i is row row_map[i], given by a matching (n entries on rank 0, not read elsewhere). Errors:
 * UNSUPPORTED (built without PT-Scotch), TOO_LARGE, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_order(const tristar_dmatrix_t *matrix, int seed, bool mapped,
                                              const tsi_index *row_map, tsi_index **order);

/* The supply of a factorization (team_factor.h). */
typedef struct tsi_rows_supply {
  tsi_supply supply; /* first member */
  tristar_dmatrix_t *matrix;
  bool lean; /* the rows are in one piece only while they are read: until the entries are sent */
  tristar_method method;
  bool adjoint;
  char factor_scalar;
  tristar_singular singular;
  tristar_growth growth;
  tristar_matching matching;
  tristar_pivoting pivoting;
  double **scale;    /* scalings of rows and of columns, n each, set by measure; NULL: all are 1 */
  tsi_index **place; /* final numbers of this rank's rows (NULL: those of its columns), and of its columns:
                        own ones, then ghosts */
} tsi_rows_supply;

static inline const tsi_index *tsi_rows_places(const tsi_rows_supply *supply) {
  return supply->place[0] ? supply->place[0] : supply->place[1];
}

/* Call tsi_dmatrix_need_whole first. scale, places: set later; the caller frees them. */
void tsi_rows_supply_begin(tristar_dmatrix_t *matrix, double *scale[2], tsi_index *places[2],
                           tsi_rows_supply *out);
