/* See directory.h. */
#include "runtime/mpi/comm/directory.h"

#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/route.h"

/* Local. start: ranks + 1, the first entry of each rank. */
static tristar_status list_blocks(tsi_env *env, const tsi_transport *transport, const tsi_directory *d,
                                  int64_t **start) {
  const int ranks = tsi_transport_size(transport);
  TSI_TRY(TSI_ALLOC(env, *start, ranks + 1));
  for (int r = 0; r <= ranks; r++) (*start)[r] = tsi_count_min(d->block * r, d->n);
  return TRISTAR_OK;
}

tristar_status tsi_directory_begin(tsi_env *env, const tsi_transport *transport, int64_t n,
                                   tsi_directory **out) {
  const int ranks = tsi_transport_size(transport), rank = tsi_transport_rank(transport);
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  tsi_directory *d = *out;
  d->n = n;
  d->block = n > ranks ? (n + ranks - 1) / ranks : 1;
  d->first = tsi_count_min(d->block * rank, n);
  d->count = tsi_count_min(d->block * (rank + 1), n) - d->first;
  return TSI_ALLOC_IN(d, d->own, d->count);
}

tristar_status tsi_directory_create(tsi_env *env, tsi_transport *transport, int64_t n, const tsi_index *all,
                                    tsi_directory **out) {
  TSI_OWNED tsi_directory *d = NULL;
  TSI_OWNED int64_t *start = NULL;
  *out = NULL;
  tristar_status status = tsi_directory_begin(env, transport, n, &d);
  if (status == TRISTAR_OK) status = list_blocks(env, transport, d, &start);
  TSI_TRY(tsi_transport_agree(transport, status));
  status = tsi_move_blocks(env, tsi_transport_comm(transport), start, sizeof *all, false,
                           (void *)(uintptr_t)all, d->count, d->own);
  TSI_TRY(tsi_transport_agree(transport, status));
  *out = tsi_take(&d);
  return TRISTAR_OK;
}

tristar_status tsi_directory_gather(tsi_env *env, tsi_transport *transport, const tsi_directory *d,
                                    tristar_status mine, tsi_index *all) {
  TSI_OWNED int64_t *start = NULL;
  tristar_status status = mine;
  if (status == TRISTAR_OK) status = list_blocks(env, transport, d, &start);
  TSI_TRY(tsi_transport_agree(transport, status));
  status =
      tsi_move_blocks(env, tsi_transport_comm(transport), start, sizeof *all, true, all, d->count, d->own);
  return tsi_transport_agree(transport, status);
}

/* Requests, sorted by the rank that has the answer. */
typedef struct questions {
  tsi_route route;
  tsi_index *given; /* requests of this rank; then their answers */
  tsi_index *come;  /* requests of other ranks; then the answers to them */
} questions;

static bool is_entry(const tsi_directory *d, tsi_index entry) {
  return entry >= 0 && entry < d->n;
}

/* Local. */
static tristar_status count_questions(tsi_env *env, const tsi_transport *transport, const tsi_directory *d,
                                      tsi_count count, const tsi_index *requested, questions *q) {
  TSI_TRY(tsi_route_begin(env, transport, &q->route));
  for (tsi_count i = 0; i < count; i++)
    if (is_entry(d, requested[i])) q->route.goes[requested[i] / d->block + 1]++;
  return TRISTAR_OK;
}

/* Local. */
static tristar_status list_questions(tsi_env *env, const tsi_directory *d, tsi_count count,
                                     const tsi_index *requested, questions *q) {
  TSI_TRY(TSI_ALLOC(env, q->given, tsi_route_sent(&q->route)));
  TSI_TRY(TSI_ALLOC(env, q->come, tsi_route_received(&q->route)));
  for (tsi_count i = 0; i < count; i++)
    if (is_entry(d, requested[i])) q->given[q->route.next[requested[i] / d->block]++] = requested[i];
  return TRISTAR_OK;
}

/* Local. Copies the answers, which are stored in the order of the requests to each rank. */
static void take_answers(const tsi_directory *d, tsi_count count, const tsi_index *requested,
                         const questions *q, tsi_index *number) {
  const tsi_route *route = &q->route;
  memcpy(route->next, route->goes, (size_t)route->ranks * sizeof *route->next);
  for (tsi_count i = 0; i < count; i++)
    number[i] = is_entry(d, requested[i]) ? q->given[route->next[requested[i] / d->block]++] : TSI_NONE;
}

tristar_status tsi_directory_query(tsi_env *env, tsi_transport *transport, const tsi_directory *d,
                                   tristar_status mine, tsi_count count, const tsi_index *requested,
                                   tsi_index *number) {
  tristar_status status = mine;
  questions q = {.given = NULL};
  if (d == NULL) {
    TSI_TRY_OUT(tsi_transport_agree(transport, mine));
    if (count > 0) memmove(number, requested, (size_t)count * sizeof *number);
    return TRISTAR_OK;
  }
  if (status == TRISTAR_OK) status = count_questions(env, transport, d, count, requested, &q);
  TSI_TRY_OUT(tsi_route_connect(env, transport, status, &q.route));
  TSI_TRY_OUT(tsi_transport_agree(transport, list_questions(env, d, count, requested, &q)));
  TSI_TRY_OUT(tsi_route_pass(env, &q.route, sizeof *q.given, false, q.given, q.come));
  for (tsi_count k = 0; k < tsi_route_received(&q.route); k++) q.come[k] = d->own[q.come[k] - d->first];
  TSI_TRY_OUT(tsi_route_pass(env, &q.route, sizeof *q.come, true, q.come, q.given));
  take_answers(d, count, requested, &q, number);
out:
  tsi_route_finish(&q.route);
  TSI_FREE(env, q.given);
  TSI_FREE(env, q.come);
  return status;
}
