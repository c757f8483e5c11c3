/* See directory.h. */
#include "runtime/mpi/comm/directory.h"

#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"

/* Entries of a rank: how many, and the first one. */
static int64_t entries_of(const tsi_directory *d, int rank, int64_t *first) {
  *first = tsi_count_min(d->block * rank, d->n);
  return tsi_count_min(d->n - *first, d->block);
}

/* Rank 0 to all others. */
static tristar_status hand_out(tsi_env *env, const tsi_transport *transport, const tsi_index *all,
                               const tsi_directory *d) {
  tristar_status status = TRISTAR_OK;
  MPI_Comm comm = tsi_transport_comm(transport);
  const int rank = tsi_transport_rank(transport);
  int64_t first;
  const size_t own = (size_t)d->count * sizeof *d->own;
  if (rank > 0) return tsi_receive_bytes(env, comm, d->own, own, 0);
  if (own > 0) memcpy(d->own, all, own);
  for (int r = 1; r < tsi_transport_size(transport); r++) {
    const size_t bytes = (size_t)entries_of(d, r, &first) * sizeof *all;
    TSI_TRY(tsi_send_bytes(env, comm, all + first, bytes, r));
  }
out:
  return status;
}

tristar_status tsi_directory_create(tsi_env *env, tsi_transport *transport, int64_t n, const tsi_index *all,
                                    tsi_directory **out) {
  tristar_status status = TRISTAR_OK;
  const int ranks = tsi_transport_size(transport);
  tsi_directory *d = NULL;
  *out = NULL;
  status = TSI_ALLOC_ZERO(env, d, 1);
  if (status == TRISTAR_OK) {
    d->n = n;
    d->block = n > ranks ? (n + ranks - 1) / ranks : 1;
    d->count = entries_of(d, tsi_transport_rank(transport), &d->first);
    status = TSI_ALLOC(env, d->own, d->count);
  }
  TSI_TRY(tsi_transport_agree(transport, status));
  TSI_TRY(tsi_transport_agree(transport, hand_out(env, transport, all, d)));
out:
  if (status != TRISTAR_OK) tsi_directory_destroy(env, &d);
  *out = d;
  return status;
}

void tsi_directory_destroy(tsi_env *env, tsi_directory **directory) {
  if (*directory == NULL) return;
  TSI_FREE(env, (*directory)->own);
  TSI_FREE(env, *directory);
}

/* Questions on their way, by the rank that has the answer. */
typedef struct questions {
  int *goes, *goes_first, *comes,
      *comes_first; /* ranks: how many go to or come from each, where they begin */
  tsi_count given_count, come_count;
  tsi_index *given,
      *come;        /* entries that are asked for, here and by others; come: then the answers to these */
  tsi_index *place; /* of each question, where it is in given; TSI_NONE */
} questions;

static bool is_entry(const tsi_directory *d, tsi_index entry) {
  return entry >= 0 && entry < d->n;
}

static tristar_status count_questions(tsi_env *env, int ranks, const tsi_directory *d, tsi_count count,
                                      const tsi_index *asked, questions *q) {
  tristar_status status = TRISTAR_OK;
  tsi_index fits;
  if (!tsi_to_index(count, &fits))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld questions at once", (long long)count);
  TSI_TRY(TSI_ALLOC_ZERO(env, q->goes, ranks));
  TSI_TRY(TSI_ALLOC(env, q->goes_first, ranks));
  TSI_TRY(TSI_ALLOC(env, q->comes, ranks));
  TSI_TRY(TSI_ALLOC(env, q->comes_first, ranks));
  for (tsi_count i = 0; i < count; i++)
    if (is_entry(d, asked[i])) q->goes[asked[i] / d->block]++;
out:
  return status;
}

/* Counts become places; their sum. */
static tsi_count place_all(int ranks, const int *count, int *first) {
  tsi_count sum = 0;
  for (int r = 0; r < ranks; r++) {
    first[r] = (int)sum;
    sum += count[r];
  }
  return sum;
}

static tristar_status list_questions(tsi_env *env, int ranks, const tsi_directory *d, tsi_count count,
                                     const tsi_index *asked, questions *q) {
  tristar_status status = TRISTAR_OK;
  tsi_index fits;
  q->given_count = place_all(ranks, q->goes, q->goes_first);
  q->come_count = place_all(ranks, q->comes, q->comes_first);
  if (!tsi_to_index(q->come_count, &fits))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld questions come at once", (long long)q->come_count);
  TSI_TRY(TSI_ALLOC(env, q->given, q->given_count));
  TSI_TRY(TSI_ALLOC(env, q->come, q->come_count));
  TSI_TRY(TSI_ALLOC(env, q->place, count));
  for (tsi_count i = 0; i < count; i++) {
    q->place[i] = is_entry(d, asked[i]) ? q->goes_first[asked[i] / d->block]++ : TSI_NONE;
    if (q->place[i] != TSI_NONE) q->given[q->place[i]] = asked[i];
  }
  (void)place_all(ranks, q->goes, q->goes_first);
out:
  return status;
}

tristar_status tsi_directory_ask(tsi_env *env, tsi_transport *transport, const tsi_directory *d,
                                 tristar_status mine, tsi_count count, const tsi_index *asked,
                                 tsi_index *number) {
  tristar_status status = mine;
  const int ranks = tsi_transport_size(transport);
  MPI_Comm comm = tsi_transport_comm(transport);
  questions q = {.goes = NULL};
  if (d == NULL) {
    TSI_TRY(tsi_transport_agree(transport, mine));
    if (count > 0) memmove(number, asked, (size_t)count * sizeof *number);
    return TRISTAR_OK;
  }
  if (status == TRISTAR_OK) status = count_questions(env, ranks, d, count, asked, &q);
  TSI_TRY(tsi_transport_agree(transport, status));
  TSI_TRY(TSI_MPI(env, "MPI_Alltoall", MPI_Alltoall(q.goes, 1, MPI_INT, q.comes, 1, MPI_INT, comm)));
  TSI_TRY(tsi_transport_agree(transport, list_questions(env, ranks, d, count, asked, &q)));
  const tsi_items goes = {q.goes, q.goes_first}, comes = {q.comes, q.comes_first};
  TSI_TRY(tsi_exchange_items(env, comm, sizeof *q.given, q.given, goes, q.come, comes));
  for (tsi_count k = 0; k < q.come_count; k++) q.come[k] = d->own[q.come[k] - d->first];
  TSI_TRY(tsi_exchange_items(env, comm, sizeof *q.come, q.come, comes, q.given, goes));
  for (tsi_count i = 0; i < count; i++) number[i] = q.place[i] == TSI_NONE ? TSI_NONE : q.given[q.place[i]];
out:
  TSI_FREE(env, q.goes);
  TSI_FREE(env, q.goes_first);
  TSI_FREE(env, q.comes);
  TSI_FREE(env, q.comes_first);
  TSI_FREE(env, q.given);
  TSI_FREE(env, q.come);
  TSI_FREE(env, q.place);
  return status;
}
