/* What the values decide before the ordering: the method and the matching.
 *
 * Reads   pattern and options of an analysis, the user's values.
 * Writes  stats.method, fallback; a tsi_matched. */
#pragma once

#include "runtime/factor/analysis.h"

/* How the two entries of each pair (i, j), (j, i) are alike; real symmetric counts as Hermitian. */
typedef enum tsi_likeness { TSI_UNSYMMETRIC, TSI_SYMMETRIC, TSI_HERMITIAN } tsi_likeness;

/* As it is declared; a GENERAL matrix may be more than that. */
tsi_likeness tsi_likeness_declared(tristar_symmetry symmetry, bool is_complex);
/* What METHOD_AUTO becomes; positive: the real part of every diagonal entry is. */
tristar_method tsi_method_for(tsi_likeness found, bool positive);
/* Is such a matrix what the method, LLT or LDLT, holds? unlike: a pair that shows that it is neither
 * symmetric nor Hermitian, if one was found. Errors: ARGUMENT, which names it. */
TRISTAR_CHECKED tristar_status tsi_method_check(const tsi_env *env, tristar_method method, bool is_complex,
                                                tsi_likeness found, const tsi_unlike *unlike);
/* Does a diagonal entry call for a matching, being this small beside the largest of its column? Sizes. */
static inline bool tsi_diagonal_is_weak(double diagonal, double largest) {
  return !(diagonal >= 1e-3 * largest) || diagonal == 0;
}
/* SINGULAR. */
TRISTAR_CHECKED tristar_status tsi_fail_structure(const tsi_env *env, tsi_index n, tsi_index rank);

/* What a matching finds; all NULL without one. */
struct tsi_matched {
  tsi_index *row_map;            /* LU: row_map[row] = the column whose pivot the row is to be */
  tsi_index *partner;            /* LDLT: pairs to eliminate together (pairs.h) */
  tsi_index pairs;               /* how many */
  bool keeps_pairs;              /* pairs stay adjacent, in one panel: they are the pivots of order 2 */
  double *row_scale, *col_scale; /* as in tristar_analysis_t */
};
void tsi_matched_finish(tsi_matched *matched);

/* What METHOD_AUTO becomes; checks what was asked for. values may be NULL. Errors: ARGUMENT, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_choose_method(tsi_env *env, tristar_analysis_t *an, const void *values);

/* Does the analysis' method hold these values? Each set of them is asked, as the first one may have been
 * symmetric by chance. adjoint: mirror images are conjugates; of a GENERAL matrix with LDLT the values
 * decide. Errors: ARGUMENT (the message names a pair that is not alike), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_check_method(tsi_env *env, const tristar_analysis_t *an,
                                                const void *values, bool *adjoint);

/* Decides on a matching from the values and makes it; out's arrays are the caller's. Errors: SINGULAR
 * (structurally), MEMORY, CANCELLED. watch: may be NULL, also below. */
TRISTAR_CHECKED tristar_status tsi_use_values(tsi_env *env, tristar_analysis_t *an, const void *values,
                                              tsi_matched *out, tsi_watch *watch);

/* Makes a matching for a method, which is not LLT. sizes: of all entries that are not zero, by columns; out's
 * arrays are the caller's. Errors: as above. */
TRISTAR_CHECKED tristar_status tsi_match(tsi_env *env, tristar_method method, const tsi_entries *sizes,
                                         tsi_matched *out, tsi_watch *watch);

/* Without values only the pattern can show a structural singularity. Errors: SINGULAR, ARGUMENT (a matching
 * was asked for), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_use_pattern(tsi_env *env, tristar_analysis_t *an, tsi_watch *watch);
