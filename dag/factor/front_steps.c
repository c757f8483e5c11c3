/* Steps of a factorization, their work, and the edges between them: see factorization_builder.h. */
#include "dag/factor/factorization_builder.h"

#define ENTRY_WORK 4   /* Work to clear, assemble and pack an entry, mostly in caches. */
#define FRONT_WORK 1e4 /* Work of all calls for a front. */

typedef tsi_factorization_builder builder;

double tsi_front_flops(const tsi_symbolic *symbolic, tristar_method method, tsi_index s) {
  const double w = symbolic->start[s + 1] - symbolic->start[s];
  const double m = (double)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  return (method == TRISTAR_METHOD_LU ? 2 : 1) * (w * w * w / 3 + w * w * m + w * m * m);
}

double tsi_factorization_work(const builder *b, tsi_index s) {
  const tsi_symbolic *symbolic = b->dag->symbolic;
  const double f =
      (double)(symbolic->start[s + 1] - symbolic->start[s] + symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  return tsi_front_flops(symbolic, b->dag->method, s) + ENTRY_WORK * f * f + FRONT_WORK;
}

tsi_index tsi_factorization_add_step(builder *b, tsi_step_kind kind, tsi_index urgent,
                                     const tsi_front_step *part) {
  const tsi_index number = (tsi_index)b->steps++;
  if (!b->writing) return number;
  b->dag->part[number] = *part;
  /* The work of its tree without the descendants of its front. Inside a front the edges order the steps. */
  const double priority = b->tree[urgent] - b->subtree[urgent] + tsi_factorization_work(b, urgent) + 1;
  b->dag->steps->step[number] = (tsi_step){.kind = kind, .argument = number, .priority = priority};
  return number;
}

void tsi_factorization_add_edge(builder *b, tsi_index item, tsi_index before) {
  if (b->writing) b->dag->steps->edge[b->edges] = (tsi_edge){item, before};
  b->edges++;
}

/* Consecutive children often have the same last step. A received complement has an arrival for each piece. */
void tsi_factorization_wait_for_children(builder *b, tsi_index first, tsi_index last, tsi_index item) {
  const tsi_factorization *dag = b->dag;
  tsi_index before = TSI_NONE;
  for (tsi_index s = first; s <= last; s++)
    for (tsi_index k = dag->child_ptr[s]; k < dag->child_ptr[s + 1] && dag->child[k] < first; k++) {
      const tsi_index child = dag->child[k];
      for (tsi_index q = 0; b->arrivals && q < b->arrivals[child]; q++)
        tsi_factorization_add_edge(b, item, b->arrival[child] + q);
      if (!tsi_factorization_leaves(dag, child) || b->done[child] == before) continue;
      before = b->done[child];
      tsi_factorization_add_edge(b, item, before);
    }
}
