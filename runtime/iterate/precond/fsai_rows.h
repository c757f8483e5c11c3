/* Rows of the factor G of a sparse approximate inverse, by whoever works: see fsai.h and
 * codelets/cpu/fsai/fsai.h.
 *
 * Job. Compute rows of G from rows of a Hermitian A, on patterns that grow from what they begin with; or rows
 * of G_L and columns of G_U from rows of any A, on patterns that both share (codelets/cpu/fsai/fsai_pair.h).
 *
 * Reads   rows of A, patterns.   Writes  rows of G, or G_L, and columns of G_U, which are the caller's.
 * Invariants
 *   - a row depends on A, on its pattern's beginning and on the limits alone, not on who computes it
 *   - rows may be missing from A where no pattern can have their column: A is its part on those that are
 * there */
#pragma once

#include "codelets/cpu/fsai/fsai.h"
#include "runtime/context/context.h"
#include "runtime/matrix/entries.h"
#include "runtime/iterate/precond/fsai_nodes.h"
#include "tristar_precond.h"

typedef struct tsi_fsai_job {
  tristar_t *ts;
  char scalar; /* of A and G */
  bool single; /* G is computed in single precision, and then converted */
  tristar_engine engine;
  const tsi_factor_rows *a;
  tsi_index first, rows;    /* rows first .. first + rows - 1 of G are wanted */
  const tsi_entries *given; /* by row of A: the pattern to begin with; NULL: the diagonal */
  tsi_index diagonals;      /* 1: given patterns end with the diagonal */
  tsi_fsai_limits limits;
  const tsi_fsai_nodes *nodes; /* rows are computed node by node; those wanted are nodes; NULL: row by row */
  void **upper;     /* NULL: one factor; else written: values of the columns of G_U, at the places of G_L's;
                       the pattern of A is symmetric then, and there are no nodes */
  const void *part; /* of two factors: the values of the Hermitian matrix that patterns adapt to, at the
                       places of A's; NULL: they are as given */
} tsi_fsai_job;

/* All rows, patterns that begin as the diagonal and grow as the options say. */
tsi_fsai_job tsi_fsai_job_of(tristar_t *ts, const tristar_precond_options *options, char scalar,
                             const tsi_factor_rows *a);
/* Is G of these scalars to be computed in single precision, and then converted? */
bool tsi_fsai_is_single(const tristar_precond_options *options, char scalar);
/* The patterns are those of g, rows of G that there are, and do not grow. */
void tsi_fsai_keep_patterns(tsi_fsai_job *job, const tsi_entries *g);

/* The patterns that options.power asks for; 0: start->ptr is NULL. Of nodes: lines as tsi_fsai_nodes_spread
 * leaves them. pair: of two factors, which have no nodes. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_start(tsi_env *env, const tristar_precond_options *options,
                                              char scalar, const tsi_factor_rows *a,
                                              const tsi_fsai_nodes *nodes, bool pair, tsi_entries *start);

/* *g: a line for each row that is wanted, columns as in A, its diagonal last. breakdown: the first row that
 * is none; then there is no g, and no *job->upper. Errors: MEMORY, NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_fsai_rows(const tsi_fsai_job *job, tsi_entries *g,
                                             tsi_breakdown *breakdown);

/* Tells the log how many entries rows have, or, with "at most ", have room for. */
void tsi_fsai_tell_entries(const tsi_fsai_job *job, const char *most, const tsi_entries *rows);
