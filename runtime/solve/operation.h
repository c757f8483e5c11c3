/* Chooses for an operation the sweeps, their factors and pivots, and where numbers are conjugated and scaled.
 * All solves, of plans and of processes, use it.
 *
 * Sweeps. Forward solves with F, backward with F' (transposed). F is a stored factor: L, or for LU the
 * transpose of U, which is stored like an L.
 *
 *                   op N              op T, C
 *   LU              L, then U         U, then L
 *   L L^T, L D L^T  L, then L         L, then L
 *   part L          forward L         backward L
 *   part U          backward U        forward U      (L instead of U unless LU)
 *   part D          neither
 *
 * Rows and columns. With op N, b belongs to the rows of A and x to its columns; with op T and C it is the
 * other way round. An imported L L^T may have other orders and scales of rows than of columns: A is not
 * symmetric then.
 *
 * Conjugates. For a complex symmetric factorization, or LU, A^H x = b is A^T conj(x) = conj(b). A Hermitian
 * L L^H is its own conjugate transpose, so the backward sweep uses conj(L), and A^T x = b is A^H conj(x) =
 * conj(b).
 *
 * Reads   properties of the factors.   Writes  its result, and members of a call. */
#pragma once

#include "codelets/cpu/node.h"
#include "runtime/base/env.h"
#include "tristar_solve.h"

/* The sweeps of a solve. */
typedef enum tsi_sweeps { TSI_BOTH, TSI_FORWARD, TSI_BACKWARD, TSI_SWEEPS } tsi_sweeps;

/* The factors of a matrix, or the share of a process; members as in factor.h. */
typedef struct tsi_factor_parts {
  bool lu, adjoint, is_complex;
  bool imported;             /* factor order differs from the final order even without interchanges */
  const void *lower, *upper; /* upper: LU; one of them NULL: a single triangular matrix */
  const tsi_index *pivots;   /* NULL: no interchange happened */
  const void *inverse;       /* L D L^T: D^-1; else NULL */
  const double *row_scale, *col_scale; /* NULL: ones */
} tsi_factor_parts;

typedef struct tsi_operation {
  tsi_sweeps sweeps;
  bool diagonal;                      /* no sweep: D only */
  bool forward_upper, backward_upper; /* the sweep uses U of LU instead of L */
  bool by_rows;                       /* b belongs to the rows of A, x to its columns; false: vice versa */
  bool in_user, out_user;             /* b, x are in the user's order, and scaled */
  bool in_moved, out_moved;           /* otherwise: in a factor order that may differ from the final order */
} tsi_operation;

/* factor_order: b and x are in factor order (factor.h). Sets in *call: values, pivots, inverse, scalings,
 * conjugates, read_backward and write_forward. */
tsi_operation tsi_operation_choose(const tsi_factor_parts *parts, tristar_op op, tristar_part part,
                                   bool factor_order, tsi_solve_call *call);
