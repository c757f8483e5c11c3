/* See separators.h. */
#include "partition/order/separators.h"

#include "partition/order/order_part.h"

static void push(tsi_order_part **list, tsi_order_part *p) {
  p->next = *list;
  *list = p;
}

static tsi_order_part *pop(tsi_order_part **list) {
  tsi_order_part *p = *list;
  if (p != NULL) *list = p->next;
  return p;
}

void tsi_separators_place(const tsi_order_part *p, idx_t *order) {
  for (idx_t k = 0; k < p->n; k++) order[p->at + k] = p->vertex[p->result[k]];
}

tristar_status tsi_separators_divide(tsi_env *env, const tsi_order_part *p, idx_t *order,
                                     tsi_order_part **list, bool *divided) {
  idx_t count[3] = {0, 0, 0};
  for (idx_t v = 0; v < p->n; v++) count[p->result[v]]++;
  *divided = count[TSI_SIDE_LEFT] > 0 && count[TSI_SIDE_RIGHT] > 0;
  if (!*divided) return TRISTAR_OK;
  idx_t at = p->at + count[TSI_SIDE_LEFT] + count[TSI_SIDE_RIGHT];
  for (idx_t v = 0; v < p->n; v++)
    if (p->result[v] == TSI_SIDE_SEPARATOR) order[at++] = p->vertex[v];
  for (idx_t side = TSI_SIDE_LEFT; side <= TSI_SIDE_RIGHT; side++) {
    tsi_order_part *q;
    TSI_TRY(tsi_order_part_take_side(env, p, side, side == TSI_SIDE_LEFT ? p->at : p->at + count[0], &q));
    push(list, q);
  }
  return TRISTAR_OK;
}

/* Divides a part into two on the list, or orders it. */
static tristar_status treat(tsi_env *env, tsi_order_part *p, int seed, idx_t *order, tsi_order_part **list) {
  bool divided = false;
  if (p->n > p->leaf) {
    TSI_TRY(tsi_order_part_separate(env, p, seed));
    TSI_TRY(tsi_separators_divide(env, p, order, list, &divided));
  }
  if (divided) return TRISTAR_OK;
  TSI_TRY(tsi_order_part_eliminate(env, p));
  tsi_separators_place(p, order);
  return TRISTAR_OK;
}

tristar_status tsi_separators_order(tsi_env *env, tsi_order_part *part, int seed, idx_t *order) {
  tristar_status status = TRISTAR_OK;
  tsi_order_part *list = NULL;
  TSI_TRY_OUT(treat(env, part, seed, order, &list));
  for (tsi_order_part *p; (p = pop(&list)) != NULL;) {
    status = treat(env, p, seed, order, &list);
    TSI_FREE(env, p);
    if (status != TRISTAR_OK) goto out;
  }
out:
  tsi_separators_release(env, &list);
  return status;
}

void tsi_separators_release(tsi_env *env, tsi_order_part **list) {
  for (tsi_order_part *p; (p = pop(list)) != NULL;) TSI_FREE(env, p);
}
