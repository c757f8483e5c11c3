/* Checks that two distributed factors have the same bits. */
#pragma once

#include "runtime/mpi/factor/team_factor.h"
#include "tests/support/check.h"

static inline void same_bytes(const char *what, const char *part, const void *a, const void *b,
                              size_t bytes) {
  CHECK_MSG((a == NULL) == (b == NULL) && (a == NULL || memcmp(a, b, bytes) == 0), "%s: other bits in %s",
            what, part);
}

/* Compares all data of two factors on this process. */
static inline void check_same(const char *what, const tristar_distributed_t *one,
                              const tristar_distributed_t *two) {
  const tsi_process *p = one->process, *q = two->process;
  const size_t panels = (size_t)p->share->panels->count, columns = (size_t)p->share->panels->start[panels];
  const size_t first = (size_t)p->begin[0] * p->scalar_bytes;
  const size_t bytes = (size_t)p->begin[panels] * p->scalar_bytes - first;
  same_bytes(what, "L", (char *)p->lower + first, (char *)q->lower + first, bytes);
  if (p->kind.lu) same_bytes(what, "U", (char *)p->upper + first, (char *)q->upper + first, bytes);
  same_bytes(what, "the pivots", p->pivots, q->pivots, columns * sizeof *p->pivots);
  same_bytes(what, "D", p->inverse, q->inverse, 2 * columns * p->scalar_bytes);
  same_bytes(what, "the row scaling", p->row_scale, q->row_scale, columns * sizeof *p->row_scale);
  same_bytes(what, "the column scaling", p->col_scale, q->col_scale, columns * sizeof *p->col_scale);
  const tsi_directory *order = one->pivot_order, *other = two->pivot_order;
  same_bytes(what, "the order", order ? order->own : NULL, other ? other->own : NULL,
             order ? (size_t)order->count * sizeof *order->own : 0);
  CHECK_MSG(p->pivoted == q->pivoted && p->kind.adjoint == q->kind.adjoint &&
                one->perturbed == two->perturbed,
            "%s: another kind", what);
}
