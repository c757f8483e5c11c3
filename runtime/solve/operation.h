/* What an operation does with the triangular factors: which sweeps, with which factor and pivots, and where
 * numbers are conjugated and scaled. All solves, of plans and of processes, ask here.
 *
 * Sweeps. Forward works with F, backward with F' (transposed), where F is a stored factor: L, or the
 * transpose of U for LU, which is stored like an L.
 *
 *                   op N              op T, C
 *   LU              L, then U         U, then L
 *   L L^T, L D L^T  L, then L         L, then L
 *   part L          forward L         backward L
 *   part U          backward U        forward U      (L in the place of U but for LU)
 *   part D          neither
 *
 * Rows and columns. With op N, b belongs to the rows of A and x to its columns; with op T and C it is the
 * other way round. An imported L L^T may have other orders and scales of rows than of columns: A is not
 * symmetric then.
 *
 * Conjugates. Of a complex symmetric factorization, or LU, A^H x = b is A^T conj(x) = conj(b). Of a Hermitian
 * one L L^H is its own conjugate transpose, the backward sweep works with conj(L), and A^T x = b is A^H
 * conj(x) = conj(b).
 *
 * Reads   what is known of the factors.   Writes  its result, and members of a call. */
#pragma once

#include "codelets/cpu/node.h"
#include "runtime/base/env.h"
#include "tristar_solve.h"

/* Which sweeps run. */
typedef enum tsi_sweeps { TSI_BOTH, TSI_FORWARD, TSI_BACKWARD, TSI_SWEEPS } tsi_sweeps;

/* The factors of a matrix, or the part of them that a process has; as in factor.h. */
typedef struct tsi_factor_parts {
  bool lu, adjoint, is_complex;
  bool imported;             /* factor order is another than the final one, also without interchanges */
  const void *lower, *upper; /* upper: LU; one of them NULL: a triangular matrix alone */
  const tsi_index *pivots;   /* NULL: no interchange happened */
  const void *inverse;       /* NULL but for L D L^T */
  const double *row_scale, *col_scale; /* NULL: ones */
} tsi_factor_parts;

typedef struct tsi_operation {
  tsi_sweeps sweeps;
  bool diagonal;                      /* neither: D alone */
  bool forward_upper, backward_upper; /* the sweep works with U of LU, not with L */
  bool by_rows;                       /* b belongs to the rows of A, x to its columns; else the other way */
  bool in_user, out_user;             /* b, x are in the user's order, and scaled */
  bool in_moved, out_moved;           /* else: in a factor order that may be another than the final one */
} tsi_operation;

/* factor_order: b and x are in that order (factor.h). call: gets values, pivots, inverse, scalings,
 * conjugates, read_backward and write_forward. */
tsi_operation tsi_operation_choose(const tsi_factor_parts *parts, tristar_op op, tristar_part part,
                                   bool factor_order, tsi_solve_call *call);
