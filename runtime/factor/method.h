/* Choices from the values before the ordering: the method and the matching.
 *
 * Reads   pattern and options of an analysis, the user's values.
 * Writes  stats.method, fallback; a tsi_matched. */
#pragma once

#include "runtime/factor/analysis.h"

/* Relation of the two entries of each pair (i, j), (j, i); real symmetric counts as Hermitian. */
typedef enum tsi_likeness { TSI_UNSYMMETRIC, TSI_SYMMETRIC, TSI_HERMITIAN } tsi_likeness;

/* Relation that the declared symmetry implies. The values of a GENERAL matrix may have more symmetry. */
tsi_likeness tsi_likeness_declared(tristar_symmetry symmetry, bool is_complex);
/* Method that METHOD_AUTO chooses. positive: every diagonal entry has a positive real part. */
tristar_method tsi_method_for(tsi_likeness found, bool positive);
/* Checks that LLT or LDLT can factor such a matrix. unlike: a pair that shows that the matrix is neither
 * symmetric nor Hermitian, if one was found. Errors: ARGUMENT; the message names the pair. */
TRISTAR_CHECKED tristar_status tsi_method_check(const tsi_env *env, tristar_method method, bool is_complex,
                                                tsi_likeness found, const tsi_unlike *unlike);
/* Is a diagonal entry so small, compared with the largest of its column, that a matching is needed? Absolute
 * values. */
static inline bool tsi_diagonal_is_weak(double diagonal, double largest) {
  return !(diagonal >= 1e-3 * largest) || diagonal == 0;
}
/* Reports a structurally singular matrix: SINGULAR. */
TRISTAR_CHECKED tristar_status tsi_fail_structure(const tsi_env *env, tsi_index n, tsi_index rank);

/* Result of a matching; all NULL without one. */
struct tsi_matched {
  tsi_index *row_map;            /* LU: row_map[row] = column whose pivot is in this row. */
  tsi_index *partner;            /* LDLT: pairs to eliminate together (pairs.h). */
  tsi_index pairs;               /* Number of pairs. */
  bool keeps_pairs;              /* Pairs stay adjacent, in one panel: they are the pivots of order 2. */
  double *row_scale, *col_scale; /* As in tristar_analysis_t. */
};
void tsi_matched_finish(tsi_matched *matched);

/* Chooses the method if it is METHOD_AUTO, else checks it. values may be NULL. Errors: ARGUMENT, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_choose_method(tsi_env *env, tristar_analysis_t *an, const void *values);

/* Checks that the method of the analysis suits these values. Called for each set of values, as the first may
 * have been symmetric by chance. *adjoint: mirror images are conjugates; for a GENERAL matrix with LDLT the
 * values decide. Errors: ARGUMENT (the message names a pair that differs), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_check_method(tsi_env *env, const tristar_analysis_t *an,
                                                const void *values, bool *adjoint);

/* Decides from the values whether a matching is needed, and computes it. The caller owns the arrays of out.
 * Errors: SINGULAR (structurally), MEMORY, CANCELLED. watch: may be NULL, also below. */
TRISTAR_CHECKED tristar_status tsi_use_values(tsi_env *env, tristar_analysis_t *an, const void *values,
                                              tsi_matched *out, tsi_watch *watch);

/* Computes a matching for a method other than LLT. sizes: absolute values of all nonzero entries, by columns.
 * The caller owns the arrays of out. Errors: as above. */
TRISTAR_CHECKED tristar_status tsi_match(tsi_env *env, tristar_method method, const tsi_entries *sizes,
                                         tsi_matched *out, tsi_watch *watch);

/* Checks the structure. Without values only the pattern can show a structural singularity. Errors: SINGULAR,
 * ARGUMENT (a matching was requested), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_use_pattern(tsi_env *env, tristar_analysis_t *an, tsi_watch *watch);
