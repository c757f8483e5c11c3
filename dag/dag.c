/* Combines two sweeps to the DAG of a solve: see dag.h. */
#include "dag/dag.h"

static double heaviest(const double *priority, const tsi_count *ptr, const tsi_index *list, tsi_index v) {
  double most = 0;
  for (tsi_count e = ptr[v]; e < ptr[v + 1]; e++)
    if (priority[list[e]] > most) most = priority[list[e]];
  return most;
}

/* Priority: bytes on the heaviest path to the end. A task counts at least one byte, so priorities strictly
 * decrease along edges. order: scratch for as many entries as the larger sweep has nodes. */
static void set_priorities(tsi_dag *dag, tsi_index *order) {
  const tsi_sweep *f = dag->forward, *b = dag->backward;
  double *forward = dag->priority, *backward = dag->priority + f->nodes;
  dag->critical_bytes = 0;
  tsi_sweep_order(b, order);
  for (tsi_index q = 0; q < b->nodes; q++) /* backward tasks end at the leaves */
    backward[order[q]] = heaviest(backward, b->prev_ptr, b->prev, order[q]) + b->bytes[order[q]] + 1;
  tsi_sweep_order(f, order);
  for (tsi_index q = f->nodes; q-- > 0;) {
    const tsi_index v = order[q];
    forward[v] = heaviest(forward, f->next_ptr, f->next, v);
    const tsi_index turn = tsi_dag_turn(dag, v);
    if (turn != TSI_NONE && backward[turn] > forward[v]) forward[v] = backward[turn];
    forward[v] += f->bytes[v] + 1;
    if (forward[v] > dag->critical_bytes) dag->critical_bytes = forward[v];
  }
}

tristar_status tsi_dag_create(tsi_env *env, const tsi_sweep *forward, const tsi_sweep *backward,
                              tsi_dag **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_dag, dag, 1);
  dag->forward = forward;
  dag->backward = backward;
  dag->tasks = forward->nodes + backward->nodes;
  TSI_TRY(TSI_ALLOC_IN(dag, dag->priority, dag->tasks));
  TSI_SCRATCH(env, tsi_index, order, tsi_index_max(forward->nodes, backward->nodes));
  set_priorities(dag, order);
  if (env->check) TSI_TRY(tsi_dag_check(env, dag));
  *out = tsi_take(&dag);
  return TRISTAR_OK;
}
