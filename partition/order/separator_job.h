/* What METIS does with one part of a dissection: a pure function of the part.
 *
 * A header of its own because a job needs nothing else of this library.
 *
 * Reads   the graph of a part.
 * Writes  one integer for each vertex. */
#ifndef TSI_PARTITION_ORDER_SEPARATOR_JOB_H
#define TSI_PARTITION_ORDER_SEPARATOR_JOB_H

#include <metis.h>
#include <stdbool.h>

typedef struct tsi_separator_job {
  bool separate; /* find a separator; else order the part */
  int seed;
  idx_t n;
  idx_t *xadj, *adj; /* the neighbours of v are adj[xadj[v] .. xadj[v+1]-1] */
  idx_t *weight;     /* of each vertex; NULL: all are equal */
  idx_t *result;     /* n, written: separate: 0 or 1, the part of the vertex, or 2, in the separator; else
                        result[k] is the vertex eliminated as k-th */
  idx_t *scratch;    /* n */
} tsi_separator_job;

/* Returns METIS's code. One call at a time in a process: it uses rand(). */
int tsi_separator_job_run(const tsi_separator_job *job);

#endif
