/* Factors of a matrix whose rows lie on all ranks: tristar_dmatrix_factor.
 *
 * Job. Take a matrix of dmatrix.h to a distributed factor, such that no rank ever holds the whole of it.
 *
 *   - method: all ranks look at their rows, and find out together what the values decide on: the method,
 *     whether the diagonal is weak, values badly scaled (dmatrix_method.c)
 *   - matching: where one is called for, the sizes of entries go to rank 0, which matches, and frees them,
 *     before there is an order; all ranks learn the scalings that come of it (dmatrix_matching.c)
 *   - order: with PT-Scotch all ranks find it, before rank 0 has the pattern: each has the graph of its rows
 *     (dmatrix_order.c, dmatrix_graph.h, ptscotch.h)
 *   - structure: the pattern goes to rank 0, which orders (otherwise) and analyzes it: 32-bit indices without
 *     values, one triangle of a symmetric kind; it is freed as soon as the graph is there
 *   - scaling: of factor/scaling.h, by a team (dmatrix_scaling.c)
 *   - values: each rank sends the entries of its rows to the ranks whose fronts assemble them
 *     (dmatrix_supply.c)
 *   - factor: as tristar_distributed_factor does (team_factor.h)
 *   - matrix: each rank sends its rows to the ranks that are their homes, for refinement (refine_rows.h)
 *
 * Reads   rows of all ranks, while a call lasts.   Writes  a distributed factor.
 * Invariants
 *   - what is as long as the matrix has entries: on rank 0 the pattern, while it is ordered, and, before it
 *     comes, sizes with their pattern, while they are matched; elsewhere nothing
 *   - what has a length of n on each rank, until values are factored: maxima of rows and columns, scalings
 *   - all ranks agree before they exchange anything; whatever fails, fails on all
 *   - entries of a line, and rows, arrive by rank, and within a rank in the order of its rows: neither fronts
 *     nor products depend on it. A row of d->matrix has its entries in the order of the user's columns, as
 *     that of a factor of rank 0 has: the bits of refined solutions are the same */
#pragma once

#include "runtime/factor/method.h"
#include "runtime/factor/scaling.h"
#include "runtime/mpi/matrix/dmatrix.h"
#include "runtime/mpi/factor/team_factor.h"

/* What the values of a matrix decide on. */
typedef struct tsi_rows_method {
  tsi_chosen_method chosen;
  bool adjoint; /* mirror images are conjugates; LLT, LDLT */
  bool match;   /* a matching is called for */
} tsi_rows_method;

/* The functions below are collective over matrix->transport; the rows are in one piece
 * (tsi_dmatrix_need_whole), and errors are the same on all ranks. */

/* What the method of the options becomes; refuses what it does not hold. options are the same on all ranks.
 * Errors: ARGUMENT, NOT_FINITE, SINGULAR (structurally, without a matching), MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_choose_method(const tristar_dmatrix_t *matrix,
                                                      const tristar_analysis_options *options,
                                                      tsi_rows_method *out);
/* Is a matching called for, with a method that is known? Errors: as above. */
TRISTAR_CHECKED tristar_status tsi_rows_want_matching(const tristar_dmatrix_t *matrix, tristar_method method,
                                                      tristar_matching matching, bool *wanted);
/* *out: on rank 0 the sizes (double) of all entries that are not zero, by columns, rows ascending; elsewhere
 * nothing. Errors: TOO_LARGE, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_gather_sizes(const tristar_dmatrix_t *matrix, tsi_entries *out);
/* scale: of rows, of columns: n numbers each, the caller's to free, those of the matching that rank 0's
 * source was analyzed with; untouched if there was none. *keeps: as in tsi_scaling_lines. source: NULL on
 * other ranks. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_share_matching(const tristar_dmatrix_t *matrix,
                                                       const tristar_factor_t *source, double *scale[2],
                                                       bool *keeps);
/* Is it so on all ranks? Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_everywhere(const tristar_dmatrix_t *matrix, bool here, bool *out);
/* Does the method hold these values? Errors: ARGUMENT, NOT_FINITE, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_check_method(const tristar_dmatrix_t *matrix, tristar_method method,
                                                     bool *adjoint);
/* Scalings of n rows and columns, as tsi_scaling_find has them. matched: of a matching, or NULL; keeps,
 * any_pivots: as in tsi_scaling_lines. Errors: those of tsi_scaling_find. */
TRISTAR_CHECKED tristar_status tsi_rows_find_scaling(const tristar_dmatrix_t *matrix, tristar_method method,
                                                     char factor_scalar, double *const matched[2], bool keeps,
                                                     bool any_pivots, double *scale[2]);
/* Local. The magnitudes of the entries of this rank's rows, in an array that is the caller's. Errors: MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_rows_measure(const tristar_dmatrix_t *matrix, double **magnitude);
/* Each number becomes the largest that a rank has. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_unite(const tristar_dmatrix_t *matrix, tsi_count count,
                                              double *largest);

/* The order of elimination that PT-Scotch finds for the graph of A + A^T: on rank 0 an array that is the
 * caller's, order[k] the column that is eliminated as k-th; elsewhere NULL. mapped: of the matrix whose row i
 * is row row_map[i] (on rank 0: n; elsewhere not read), as a matching wants it. Errors: UNSUPPORTED (built
 * without it), TOO_LARGE, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_order(const tristar_dmatrix_t *matrix, int seed, bool mapped,
                                              const tsi_index *row_map, tsi_index **order);

/* The supply of a factorization (team_factor.h). */
typedef struct tsi_rows_supply {
  tsi_supply supply; /* first member */
  tristar_dmatrix_t *matrix;
  bool lean; /* its rows are in one piece only while they are read: until the entries are there */
  tristar_method method;
  bool adjoint;
  char factor_scalar;
  tristar_singular singular;
  tristar_growth growth;
  tristar_matching matching;
  tristar_pivoting pivoting;
  double **scale;    /* of rows, of columns: n; NULL: ones; what measure finds */
  tsi_index **place; /* final numbers of rows here (NULL: those of own columns), and of columns that they
                        meet: own ones, then ghosts */
} tsi_rows_supply;

static inline const tsi_index *tsi_rows_places(const tsi_rows_supply *supply) {
  return supply->place[0] ? supply->place[0] : supply->place[1];
}

/* The rows are in one piece. scale, places: filled, the caller's to free. */
void tsi_rows_supply_begin(tristar_dmatrix_t *matrix, double *scale[2], tsi_index *places[2],
                           tsi_rows_supply *out);
