/* What tristar_analyze or an import leaves behind: orderings, supernodes, panels, and, if the library
 * factors, where every entry of A goes.
 *
 * Final ordering. Final column j is the user's column out_row[j], final row j is the user's row in_row[j];
 * they differ only if a matching permuted the rows, or another solver did. in_place and out_place are the
 * inverse maps. What an import had in the given order are the arrays of symbolic themselves. The factored
 * matrix is B(i,j) = R A(in_row[i], out_row[j]) C with row scaling R and column scaling C; B x' = b' with b'
 * = R b, x = C x'.
 *
 * Assembly lists. Entry (i, j) of B with i >= j goes to the lower list of column j, others (LU only) to the
 * upper list of row i. source >= 0: the user's value p; source < 0: the mirror image of the user's value
 * ~source: minus it (skew-symmetric) or its conjugate (Hermitian). Of a part of a factor (team_factor.h)
 * values lie as the lists do, and there is no source.
 *
 * Invariants (tsi_analysis_check; the last one but for tsi_analyze_pattern): in_row and out_row are
 * permutations; every stored entry of A stands in the lists exactly once (twice for an off-diagonal entry of
 * a symmetric kind under LU; once under LLT, in the lower list). */
#pragma once

#include <stdatomic.h>

#include "codelets/cpu/base/panel.h"
#include "partition/cut/panels.h"
#include "runtime/context/context.h"
#include "runtime/matrix/pattern.h"
#include "tristar_stats.h"

typedef struct tsi_assembly {
  tsi_count *ptr;    /* n + 1 */
  tsi_index *other;  /* lower: row; upper: column */
  tsi_index *place;  /* of `other` in the front of its line; NULL: to be searched (tsi_front_row) */
  tsi_count *source; /* see above; NULL: the value of entry q is first + q */
  tsi_count first;
} tsi_assembly;

static inline tsi_count tsi_assembly_source(const tsi_assembly *list, tsi_count q) {
  return list->source ? list->source[q] : list->first + q;
}

/* Supernodes and panels of a triangular factor, and where each panel's packed values begin (panels + 1). */
typedef struct tsi_structure {
  tsi_symbolic *symbolic;
  tsi_panels *panels;
  tsi_count *panel_values;
} tsi_structure;

struct tristar_analysis_s {
  atomic_int references;
  bool one_order; /* in_row and out_row are the same */
  bool extended;  /* delayed_pivots.c found the order, which pivots follow where they pass the test; they are
                     perturbed only below epsilon */
  bool fallback;  /* METHOD_AUTO chose LLT: LDLT may be tried if that fails */
  char factor_scalar; /* of factors and workspace: pattern->scalar, or its single form */
  bool imported;      /* the factors come from elsewhere: nothing to assemble */
  bool keeps_scaling; /* factorizations take the scaling of the matching wherever it fits */
  tristar_t *ts;
  tsi_pattern *pattern;
  tristar_analysis_options options; /* permutation is NULL here */
  tsi_symbolic *symbolic;           /* of L, and of U unless it has its own */
  tsi_panels *panels;
  tsi_count *panel_values;         /* panels + 1: where each panel's packed values begin */
  tsi_structure other;             /* of U where its rows are not those of L (imported LU); else all NULL */
  tsi_index *in_row, *out_row;     /* n */
  tsi_index *in_place, *out_place; /* n */
  tsi_index *schur;                /* rows that are not eliminated, see tristar_schur.h; NULL: none */
  tsi_index schur_count;
  tsi_index schur_supernode; /* its columns are these, in this order; unused if there are none */
  double *row_scale,
      *col_scale; /* n, of the matching, by user's row and column, powers of two; NULL without one */
  bool *second;   /* n, LDLT: the second columns of pivots of order 2 in that order; NULL unless extended */
  tsi_assembly lower, upper; /* upper: LU only; ptr NULL: not there yet, of a factor that was loaded */
  tristar_analysis_stats stats;
};

/* Frees what says where rows and entries go; columns of supernodes and panels, and figures stay. For one who
 * has the analysis alone, and has told all others what they need. */
void tsi_analysis_forget_rows(tristar_analysis_t *analysis);
/* Frees the entries of the pattern; its sizes stay. */
void tsi_analysis_forget_entries(tristar_analysis_t *analysis);
/* Errors: ARGUMENT (a value that no option has). */
TRISTAR_CHECKED tristar_status tsi_analysis_check_options(const tsi_env *env,
                                                          const tristar_analysis_options *options);

/* The type of the factors of a matrix of type `scalar`, single: in its single form. */
char tsi_factor_scalar(char scalar, bool single);

typedef struct tsi_matched tsi_matched; /* method.h */

/* What somebody else has found in the values, and in the pattern. */
typedef struct tsi_chosen_method {
  tristar_method method;  /* not AUTO */
  bool fallback;          /* as in tristar_analysis_t */
  bool rounded;           /* as in tristar_analysis_stats */
  tsi_matched *matched;   /* whose arrays are taken over; NULL: no matching */
  const tsi_index *order; /* order[k] is the column eliminated as k-th; NULL: ordering says */
  bool whole;             /* the pattern keeps its entries, and there are assembly lists */
} tsi_chosen_method;

/* tristar_analyze of a pattern whose values lie elsewhere, for who assembles by itself:
 * an analysis without assembly lists, whose pattern keeps nothing but sizes, ptr and index being NULL: they
 * are freed as soon as there is the graph. Takes pattern over, whatever the status; options were checked.
 * Errors: ARGUMENT (the permutation), SINGULAR (structurally, with a matching), MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_analyze_pattern(tristar_t *ts, tsi_pattern *pattern,
                                                   const tristar_analysis_options *options,
                                                   const tsi_chosen_method *chosen, tristar_analysis_t **out);

/* Analyzes anew for another method, or, METHOD_AUTO, for the one that these values call for, with all else as
 * it was asked for; values decide on a matching too. */
TRISTAR_CHECKED tristar_status tsi_analysis_again(const tristar_analysis_t *analysis, tristar_method method,
                                                  const void *values, tristar_analysis_t **out);
/* The same with a matching, which these values call for, with its scaling (keeps_scaling), and with
 * SINGULAR_PERTURB. */
TRISTAR_CHECKED tristar_status tsi_analysis_match_again(const tristar_analysis_t *analysis,
                                                        const void *values, tristar_analysis_t **out);
/* Fills analysis->lower and, for LU, ->upper from pattern, in_row and out_row (assembly.c). Errors: MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_assembly_create(tsi_env *env, tristar_analysis_t *analysis);
void tsi_assembly_finish(tsi_env *env, tristar_analysis_t *analysis);
/* The same matrix and method in another order of pivots, with the scalings of the old matching.
 * delayed_pivots.c describes row, column, partner. Takes partner over, NULL unless LDLT. Errors: MEMORY,
 * TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_analysis_reorder(const tristar_analysis_t *analysis, const tsi_index *row,
                                                    const tsi_index *column, tsi_index **partner,
                                                    tristar_analysis_t **out);
TRISTAR_CHECKED tristar_status tsi_analysis_check(tsi_env *env, const tristar_analysis_t *analysis);
tristar_analysis_t *tsi_analysis_share(tristar_analysis_t *analysis);

/* The threshold of PIVOTING_DELAYED for the method of the analysis. */
double tsi_analysis_threshold(const tristar_analysis_t *analysis);

/* Fills in_place and out_place. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_analysis_place_rows(tsi_env *env, tristar_analysis_t *analysis);
/* Sizes of the structure, all but the times; symmetric_pattern: of the matrix, or of given factors. */
void tsi_analysis_fill_stats(tristar_analysis_t *analysis, bool symmetric_pattern);
/* Where the packed values of each panel begin. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_place_panels(tsi_env *env, const tsi_panels *panels, tsi_count **values);

/* Triangular factors of different structure: 1 or 2. */
static inline int tsi_analysis_sides(const tristar_analysis_t *analysis) {
  return analysis->other.symbolic ? 2 : 1;
}
static inline tsi_structure tsi_analysis_structure(const tristar_analysis_t *analysis, int side) {
  return side > 0 ? analysis->other
                  : (tsi_structure){analysis->symbolic, analysis->panels, analysis->panel_values};
}
/* The treatment of diagonal blocks in all panels of its factors. */
static inline tsi_inverse tsi_analysis_inverse(const tristar_analysis_t *analysis) {
  return (tsi_inverse)analysis->options.inverse; /* both enumerations have the same order */
}
static inline bool tsi_analysis_is_schur(const tristar_analysis_t *analysis, tsi_index supernode) {
  return analysis->schur_count > 0 && supernode == analysis->schur_supernode;
}
/* The final index of the first row that is not eliminated; the others follow. */
static inline tsi_index tsi_analysis_schur_first(const tristar_analysis_t *analysis) {
  return analysis->symbolic->start[analysis->schur_supernode];
}
static inline bool tsi_analysis_is_lu(const tristar_analysis_t *analysis) {
  return analysis->stats.method == TRISTAR_METHOD_LU;
}

/* The order that METIS finds for the graph of A + A^T, as tristar_analyze takes it, of a square matrix alone:
 * compressed columns of n, ptr (n + 1) and index, which may list each pair of entries (i, j), (j, i) once and
 * is not checked. position: vertex v comes as position[v]-th. Errors: RUNTIME (METIS), TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dissect(tsi_env *env, tsi_index n, const tsi_count *ptr,
                                           const tsi_index *index, tsi_index *position);
