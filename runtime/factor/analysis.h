/* Result of tristar_analyze or of an import: orderings, supernodes, panels and, if the library factors, the
 * position of every entry of A in the fronts.
 *
 * Final ordering. Final column j is the user's column out_row[j]. Final row j is the user's row in_row[j].
 * The two differ only if a matching or another solver permuted the rows. in_place and out_place are the
 * inverse maps. If rows (columns) are in the given order of an import, in_row and in_place (out_row and
 * out_place) are the arrays symbolic->perm and symbolic->inverse themselves. The factored matrix is B(i,j) =
 * R A(in_row[i], out_row[j]) C with row scaling R and column scaling C; B x' = b' with b' = R b, x = C x'.
 *
 * Assembly lists. The lower list of column j has the entries (i, j) of B with i >= j. The upper list of row i
 * has its other entries (LU only). source >= 0: the user's value p. source < 0: the mirror image of the
 * user's value ~source, which is minus this value (skew-symmetric) or its conjugate (Hermitian). A part of a
 * factor (team_factor.h) stores its values in the order of the lists and has no sources.
 *
 * Invariants (tsi_analysis_check; the last one does not hold for tsi_analyze_pattern): in_row and out_row are
 * permutations; the lists have every stored entry of A exactly once (twice for an off-diagonal entry of a
 * symmetric kind under LU; once under LLT, in the lower list). */
#pragma once

#include <stdatomic.h>

#include "codelets/cpu/base/panel.h"
#include "partition/cut/panels.h"
#include "runtime/context/context.h"
#include "runtime/matrix/pattern.h"
#include "tristar_stats.h"

typedef struct tsi_assembly {
  tsi_count *ptr;    /* n + 1. */
  tsi_index *other;  /* Lower: row. Upper: column. */
  tsi_index *place;  /* Row of `other` in the front of the line; NULL: tsi_front_row searches it. */
  tsi_count *source; /* See above; NULL: entry q has the value first + q. */
  tsi_count first;
} tsi_assembly;

static inline tsi_count tsi_assembly_source(const tsi_assembly *list, tsi_count q) {
  return list->source ? list->source[q] : list->first + q;
}

/* Supernodes and panels of a triangular factor, and the first packed value of each panel (panels + 1). */
typedef struct tsi_structure {
  tsi_symbolic *symbolic;
  tsi_panels *panels;
  tsi_count *panel_values;
} tsi_structure;

struct tristar_analysis_s {
  atomic_int references;
  bool one_order;     /* in_row and out_row are equal. */
  bool extended;      /* delayed_pivots.c found the order. Pivots follow it where they pass the test, and are
                         perturbed only below epsilon. */
  bool fallback;      /* METHOD_AUTO chose LLT; if that fails, LDLT may be tried. */
  char factor_scalar; /* Type of factors and workspace: pattern->scalar, or its single form. */
  bool imported;      /* The factors were imported: nothing is assembled. */
  bool keeps_scaling; /* Factorizations use the scaling of the matching wherever it fits. */
  tristar_t *ts;
  tsi_pattern *pattern;
  tristar_analysis_options options; /* permutation is NULL here. */
  tsi_symbolic *symbolic;           /* Structure of L, and of U unless U has its own. */
  tsi_panels *panels;
  tsi_count *panel_values;     /* First packed value of each panel; panels + 1. */
  tsi_structure other;         /* Structure of U if its rows differ from L (imported LU); else all NULL. */
  tsi_index *in_row, *out_row; /* n */
  tsi_index *in_place, *out_place; /* n */
  tsi_index *schur;                /* Rows that are not eliminated (tristar_schur.h); NULL: none. */
  tsi_index schur_count;
  tsi_index schur_supernode; /* Its columns are these rows, in this order; unused if there are none. */
  double *row_scale,
      *col_scale; /* Scaling of the matching by user's row and column, n powers of two; NULL: none. */
  bool *second;   /* n, LDLT: second columns of pivots of order 2 in that order; NULL unless extended. */
  tsi_assembly lower, upper; /* upper: LU only. ptr NULL: not made yet (a loaded factor). */
  tristar_analysis_stats stats;
};

/* Frees the arrays with the positions of rows and entries. The columns of supernodes and panels stay, and so
 * do the statistics. For the only owner of an analysis, after all other processes have received their parts
 * of it. */
void tsi_analysis_discard_rows(tristar_analysis_t *analysis);
/* Frees the entries of the pattern; its sizes stay. */
void tsi_analysis_discard_entries(tristar_analysis_t *analysis);
/* Errors: ARGUMENT (a value that no option has). */
TRISTAR_CHECKED tristar_status tsi_analysis_check_options(const tsi_env *env,
                                                          const tristar_analysis_options *options);

/* Type of the factors of a matrix of type `scalar`. single: its single-precision form. */
char tsi_factor_scalar(char scalar, bool single);

typedef struct tsi_matched tsi_matched; /* method.h */

/* Choices that were already made from the values and the pattern. */
typedef struct tsi_chosen_method {
  tristar_method method;  /* Not AUTO. */
  bool fallback;          /* As in tristar_analysis_t. */
  bool rounded;           /* As in tristar_analysis_stats. */
  tsi_matched *matched;   /* Its arrays are taken over. NULL: no matching. */
  const tsi_index *order; /* order[k]: column eliminated as k-th. NULL: options->ordering decides. */
  bool whole;             /* The pattern keeps its entries, and assembly lists are made. */
} tsi_chosen_method;

/* tristar_analyze of a pattern without values, for callers that assemble by themselves. The analysis has no
 * assembly lists. Its pattern keeps only its sizes: ptr and index are freed as soon as the graph exists, and
 * are NULL. Takes pattern over, also after a failure. The options must be checked. Errors: ARGUMENT (the
 * permutation), SINGULAR (structurally, with a matching), MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_analyze_pattern(tristar_t *ts, tsi_pattern *pattern,
                                                   const tristar_analysis_options *options,
                                                   const tsi_chosen_method *chosen, tristar_analysis_t **out);

/* Analyzes the matrix again for another method. METHOD_AUTO: for the method that these values need. All other
 * options stay. The values decide on a matching, too. */
TRISTAR_CHECKED tristar_status tsi_analysis_again(const tristar_analysis_t *analysis, tristar_method method,
                                                  const void *values, tristar_analysis_t **out);
/* Analyzes the matrix again for the same method with a matching of these values and its scaling
 * (keeps_scaling), with SINGULAR_PERTURB and GROWTH_WARN. full: without single_factors, and not by
 * Cholesky. */
TRISTAR_CHECKED tristar_status tsi_analysis_match_again(const tristar_analysis_t *analysis,
                                                        const void *values, bool full,
                                                        tristar_analysis_t **out);
/* Fills analysis->lower and, for LU, ->upper from pattern, in_row and out_row (assembly.c). Errors: MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_assembly_create(tsi_env *env, tristar_analysis_t *analysis);
void tsi_assembly_finish(tsi_env *env, tristar_analysis_t *analysis);
/* Analyzes the same matrix with the same method for another order of pivots. The scalings of the old matching
 * stay. delayed_pivots.c describes row, column and partner. Takes partner over, which is NULL unless LDLT.
 * Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_analysis_reorder(const tristar_analysis_t *analysis, const tsi_index *row,
                                                    const tsi_index *column, tsi_index **partner,
                                                    tristar_analysis_t **out);
TRISTAR_CHECKED tristar_status tsi_analysis_check(tsi_env *env, const tristar_analysis_t *analysis);
tristar_analysis_t *tsi_analysis_share(tristar_analysis_t *analysis);

/* Threshold of PIVOTING_DELAYED for the method of the analysis. */
double tsi_analysis_threshold(const tristar_analysis_t *analysis);

/* Fills in_place and out_place. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_analysis_place_rows(tsi_env *env, tristar_analysis_t *analysis);
/* Sets all statistics of the structure except the times. symmetric_pattern: of the matrix, or of given
 * factors. */
void tsi_analysis_fill_stats(tristar_analysis_t *analysis, bool symmetric_pattern);
/* Computes the first packed value of each panel. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_place_panels(tsi_env *env, const tsi_panels *panels, tsi_count **values);

/* Number of triangular factors with different structures: 1 or 2. */
static inline int tsi_analysis_sides(const tristar_analysis_t *analysis) {
  return analysis->other.symbolic ? 2 : 1;
}
static inline tsi_structure tsi_analysis_structure(const tristar_analysis_t *analysis, int side) {
  return side > 0 ? analysis->other
                  : (tsi_structure){analysis->symbolic, analysis->panels, analysis->panel_values};
}
/* Treatment of the diagonal blocks in all panels of its factors. */
static inline tsi_inverse tsi_analysis_inverse(const tristar_analysis_t *analysis) {
  return (tsi_inverse)analysis->options.inverse; /* both enumerations have the same order */
}
static inline bool tsi_analysis_is_schur(const tristar_analysis_t *analysis, tsi_index supernode) {
  return analysis->schur_count > 0 && supernode == analysis->schur_supernode;
}
/* Final index of the first row that is not eliminated. The others follow it. */
static inline tsi_index tsi_analysis_schur_first(const tristar_analysis_t *analysis) {
  return analysis->symbolic->start[analysis->schur_supernode];
}
static inline bool tsi_analysis_is_lu(const tristar_analysis_t *analysis) {
  return analysis->stats.method == TRISTAR_METHOD_LU;
}

/* Computes the METIS ordering of the graph of A + A^T, as tristar_analyze does, for a square matrix alone.
 * The matrix has n compressed columns, ptr (n + 1) and index. It may list each pair of entries (i, j), (j, i)
 * once; this is not checked. position[v]: place of vertex v in the order. Errors: RUNTIME (METIS), TOO_LARGE,
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dissect(tsi_env *env, tsi_index n, const tsi_count *ptr,
                                           const tsi_index *index, tsi_index *position);
