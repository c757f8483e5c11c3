/* The table of operations: see operation.h. */
#include "runtime/solve/operation.h"

static tsi_sweeps sweeps_of(tristar_op op, tristar_part part) {
  if (part == TRISTAR_PART_ALL || part == TRISTAR_PART_D) return TSI_BOTH;
  return (part == TRISTAR_PART_L) == (op == TRISTAR_N) ? TSI_FORWARD : TSI_BACKWARD;
}

static void choose_values(const tsi_factor_parts *parts, const tsi_operation *o, tristar_part part,
                          tsi_solve_call *call) {
  call->forward_values = o->forward_upper ? parts->upper : parts->lower;
  call->backward_values = o->backward_upper ? parts->upper : parts->lower;
  call->forward_pivots = o->forward_upper ? NULL : parts->pivots;
  call->backward_pivots = o->backward_upper ? NULL : parts->pivots;
  call->inverse = part == TRISTAR_PART_ALL || part == TRISTAR_PART_D ? parts->inverse : NULL;
  call->read_backward = o->sweeps == TSI_BACKWARD;
  call->write_forward = o->sweeps == TSI_FORWARD;
}

static void choose_conjugates(const tsi_factor_parts *parts, tristar_op op, tristar_part part,
                              tsi_solve_call *call) {
  const bool hermitian = !parts->lu && parts->adjoint;
  call->adjoint = parts->adjoint;
  if (!parts->is_complex) return;
  if (part == TRISTAR_PART_L || (part == TRISTAR_PART_U && !hermitian))
    call->conjugate_in = op == TRISTAR_C;
  else if (part == TRISTAR_PART_U)
    call->conjugate_in = op != TRISTAR_C;
  else
    call->conjugate_in = op == (hermitian ? TRISTAR_T : TRISTAR_C);
  call->conjugate_backward = part == TRISTAR_PART_ALL && hermitian;
  call->conjugate_out = call->conjugate_in != call->conjugate_backward;
}

tsi_operation tsi_operation_choose(const tsi_factor_parts *parts, tristar_op op, tristar_part part,
                                   bool factor_order, tsi_solve_call *call) {
  const bool plain = op == TRISTAR_N, whole = part == TRISTAR_PART_ALL;
  if (part == TRISTAR_PART_ALL && parts->lu && (parts->lower == NULL || parts->upper == NULL))
    part = parts->lower ? TRISTAR_PART_L : TRISTAR_PART_U;
  const bool all = part == TRISTAR_PART_ALL, forward_first = plain == (part == TRISTAR_PART_L);
  const bool user = !factor_order && part != TRISTAR_PART_D;
  tsi_operation o = {
      .sweeps = sweeps_of(op, part),
      .diagonal = part == TRISTAR_PART_D,
      .forward_upper = parts->lu && (part == TRISTAR_PART_U || (all && !plain)),
      .backward_upper = parts->lu && (part == TRISTAR_PART_U || (all && plain)),
      .by_rows = plain,
      .in_user = user && (whole || forward_first),
      .out_user = user && (whole || !forward_first),
  };
  choose_values(parts, &o, part, call);
  /* The workspace is in factor order after the interchanges of a panel, until they are undone. */
  o.in_moved = parts->imported || (!o.diagonal && o.sweeps != TSI_BACKWARD && call->forward_pivots);
  o.out_moved = parts->imported || (!o.diagonal && o.sweeps != TSI_FORWARD && call->backward_pivots);
  choose_conjugates(parts, op, part, call);
  call->in_scale = !o.in_user ? NULL : o.by_rows ? parts->row_scale : parts->col_scale;
  call->out_scale = !o.out_user ? NULL : o.by_rows ? parts->col_scale : parts->row_scale;
  return o;
}
