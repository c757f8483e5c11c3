/* State of one multifrontal factorization.
 *
 * Job. B = L L^T or L U, supernode by supernode in postorder. Each supernode assembles a front from the
 * entries of B and from the Schur complements ("c" of codelets/cpu/front.h) of its children, factors its
 * columns, packs the panels into the factor's stream, and leaves its own Schur complement to its parent (Duff
 * and Reid 1983; Liu 1992).
 *
 * Reads   analysis, the user's values, scalings.
 * Writes  lower, upper, pivots of the factor; fronts of its own.
 * Invariants
 *   - front[s] exists from its opening until its parent has assembled it (its c) or until it is closed (p, q)
 *   - status is set once, by the first failure (compare and swap); afterwards tasks return at once
 *   - two tasks that may run at the same time write different tiles */
#ifndef TSI_RUNTIME_NUMERIC_H
#define TSI_RUNTIME_NUMERIC_H

#include "codelets/cpu/front.h"
#include "runtime/analysis.h"

typedef struct tsi_numeric {
  tsi_env *env;
  const tristar_analysis_t *analysis;
  const tsi_front_kernels *kernels;
  const void *values;
  const double *row_scale, *col_scale; /* by final index; NULL: ones */
  char *lower, *upper;                 /* the factor's streams, in bytes; upper NULL for LLT */
  tsi_index *pivots;                   /* n, inside the panel; NULL for LLT */
  char *inverse;                       /* LDLT: D^-1, two scalars a column; else NULL */
  double tiny;                         /* LU: pivots below this are perturbed, */
  double tiny_last;                    /* or below this in the last panel of a root, where nothing can grow */
  tsi_front *front;                    /* by supernode */
  tsi_index *child_ptr, *child;        /* children of every supernode, ascending */
  tsi_index **position; /* by supernode: rows of its front in the front of its parent; while that is open */
  atomic_int status;    /* a tristar_status */
  atomic_llong perturbed;
  atomic_llong done;  /* supernodes */
  atomic_int percent; /* last reported */
} tsi_numeric;

/* Each returns at once if the factorization has failed, and records its own failure. */
void tsi_front_open(tsi_numeric *numeric, tsi_index s);
/* Columns c0 .. c1-1 of the front: zeroes them, adds entries of B and the children's complements. */
void tsi_front_assemble(tsi_numeric *numeric, tsi_index s, tsi_index c0, tsi_index c1);
/* After all columns are assembled: frees what the children left. */
void tsi_front_assembled(tsi_numeric *numeric, tsi_index s);
void tsi_front_diagonal(tsi_numeric *numeric, tsi_index panel);
/* Rows begin .. end-1 below the panel's diagonal block, or (right, LU) columns to the right of it; the
 * diagonal block is done. */
void tsi_front_tile(tsi_numeric *numeric, tsi_index panel, bool right, tsi_index begin, tsi_index end);
void tsi_front_pack(tsi_numeric *numeric, tsi_index panel);
/* After the last use of its columns: frees p and q, keeps c. */
void tsi_front_close(tsi_numeric *numeric, tsi_index s);
/* All of the above on one supernode, one task. */
void tsi_front_whole(tsi_numeric *numeric, tsi_index s);

static inline bool tsi_numeric_failed(tsi_numeric *numeric) {
  return atomic_load_explicit(&numeric->status, memory_order_relaxed) != TRISTAR_OK;
}

/* D^-1 from a column on; NULL unless LDLT. */
static inline void *tsi_numeric_inverse(const tsi_numeric *numeric, tsi_index column) {
  return numeric->inverse ? numeric->inverse + 2 * (size_t)column * numeric->kernels->scalar_bytes : NULL;
}

#endif
