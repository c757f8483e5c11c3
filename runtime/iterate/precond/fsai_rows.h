/* Computes rows of the factor G of a sparse approximate inverse, by all available threads: see fsai.h and
 * codelets/cpu/fsai/fsai.h.
 *
 * Job. Compute rows of G from rows of a Hermitian A, on patterns that grow from given ones. Or compute rows
 * of G_L and columns of G_U from rows of any A, on patterns that both share (codelets/cpu/fsai/fsai_pair.h).
 *
 * Reads   rows of A, patterns.   Writes  rows of G, or G_L, and columns of G_U, which the caller owns.
 * Invariants
 *   - a row depends only on A, its given pattern and the limits, not on the thread that computes it
 *   - A may lack rows whose column no pattern can contain; then A means its submatrix of the available
 *     rows */
#pragma once

#include "codelets/cpu/fsai/fsai.h"
#include "runtime/context/context.h"
#include "runtime/matrix/entries.h"
#include "runtime/iterate/precond/fsai_nodes.h"
#include "tristar_precond.h"

typedef struct tsi_fsai_job {
  tristar_t *ts;
  char scalar; /* type of A and G */
  bool single; /* G is computed in single precision, and then converted */
  tristar_engine engine;
  const tsi_factor_rows *a;
  tsi_index first, rows;    /* rows of G to compute: first .. first + rows - 1 */
  const tsi_entries *given; /* for each row of A: the initial pattern; NULL: the diagonal */
  tsi_index diagonals;      /* 1: given patterns include the diagonal, as last entry; 0: they do not */
  tsi_fsai_limits limits;
  const tsi_fsai_nodes
      *nodes;   /* The nodes; the rows to compute are whole nodes. NULL: rows are computed one by one. */
  void **upper; /* NULL: one factor. Otherwise written: values of the columns of G_U, in the order of the rows
                   of G_L. Then the pattern of A is symmetric, and there are no nodes. */
  const void *part; /* Two factors: values of the Hermitian matrix from which patterns are computed, in the
                       order of A. NULL: patterns are given. */
} tsi_fsai_job;

/* A job for all rows, with patterns that grow from the diagonal as the options prescribe. */
tsi_fsai_job tsi_fsai_job_of(tristar_t *ts, const tristar_precond_options *options, char scalar,
                             const tsi_factor_rows *a);
/* Is G computed in single precision, and then converted to this type? */
bool tsi_fsai_is_single(const tristar_precond_options *options, char scalar);
/* Uses the patterns of g, existing rows of G. They do not grow. */
void tsi_fsai_keep_patterns(tsi_fsai_job *job, const tsi_entries *g);

/* Computes the static patterns for options.power; for 0 start->ptr is NULL. With nodes: lines as written by
 * tsi_fsai_nodes_spread. pair: for two factors, without nodes. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_start(tsi_env *env, const tristar_precond_options *options,
                                              char scalar, const tsi_factor_rows *a,
                                              const tsi_fsai_nodes *nodes, bool pair, tsi_entries *start);

/* *g: a line for each row of the job, columns as in A, the diagonal last. breakdown: the first row that
 * failed; then *g and *job->upper are not set. Errors: MEMORY, NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_fsai_rows(const tsi_fsai_job *job, tsi_entries *g,
                                             tsi_breakdown *breakdown);

/* Writes to the log how many entries rows have, or, with "at most ", have space for. */
void tsi_fsai_log_entries(const tsi_fsai_job *job, const char *most, const tsi_entries *rows);
