/* Messages through a transport, for its tests: random patterns, sent from several threads, and a token that
 * is passed around. Collective, like transports: all ranks make the same calls. */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <starpu.h>

#include "runtime/mpi/comm/transport.h"
#include "tests/support/check.h"
#include "tests/support/random.h"

enum { THREADS = 3, MOST_BYTES = 300000 };

/* ---- A pattern of messages ----------------------------------------------------------------------------- */

typedef struct traffic {
  int rank;
  tsi_index receives, sends;
  tsi_channel *receive, *send;
  int *arrivals; /* number of arrivals of each receive in this run */
  tsi_mailbox *mailbox;
} traffic;

static inline size_t random_bytes(uint64_t *state) {
  static const size_t usual[] = {0, 1, 8, 100, 4000, 4097, 65536, MOST_BYTES};
  const uint64_t k = next_random(state) % 16;
  return k < 8 ? usual[k] : (size_t)(next_random(state) % (k < 14 ? 2000 : MOST_BYTES));
}

static inline void add_channel(tsi_index *count, tsi_channel *list, int peer, int tag, size_t bytes) {
  void *buffer = bytes > 0 ? malloc(bytes) : NULL;
  list[(*count)++] = (tsi_channel){peer, tag, buffer, bytes};
}

static inline void arrived(void *context, tsi_index receive) {
  traffic *t = context;
  CHECK(receive >= 0 && receive < t->receives);
  __atomic_add_fetch(&t->arrivals[receive], 1, __ATOMIC_RELAXED);
}

/* Makes `count` messages between random ranks, with tags from first_tag on. Every rank draws the same pattern
 * and keeps its own messages. */
static inline void traffic_create(tsi_transport *transport, int count, int first_tag, uint64_t seed,
                                  traffic *t) {
  const int rank = tsi_transport_rank(transport), ranks = tsi_transport_size(transport);
  uint64_t state = seed;
  t->rank = rank;
  t->receives = t->sends = 0;
  t->receive = malloc((size_t)count * sizeof *t->receive);
  t->send = malloc((size_t)count * sizeof *t->send);
  for (int m = 0; m < count; m++) {
    const int from = (int)(next_random(&state) % (uint64_t)ranks);
    const int to = (int)(next_random(&state) % (uint64_t)ranks);
    const size_t bytes = random_bytes(&state);
    if (to == rank) add_channel(&t->receives, t->receive, from, first_tag + m, bytes);
    if (from == rank) add_channel(&t->sends, t->send, to, first_tag + m, bytes);
  }
  t->arrivals = calloc((size_t)t->receives + 1, sizeof *t->arrivals);
  CHECK_OK(
      tsi_mailbox_create(transport, t->receives, t->receive, t->sends, t->send, arrived, t, &t->mailbox));
}

static inline void traffic_destroy(traffic *t) {
  tsi_mailbox_destroy(&t->mailbox);
  CHECK(t->mailbox == NULL);
  for (tsi_index k = 0; k < t->receives; k++) free(t->receive[k].buffer);
  for (tsi_index k = 0; k < t->sends; k++) free(t->send[k].buffer);
  free(t->receive);
  free(t->send);
  free(t->arrivals);
}

static inline unsigned char content(int tag, int from, int run, size_t i) {
  return (unsigned char)((size_t)tag * 31 + (size_t)from * 7 + (size_t)run * 101 + i);
}

static inline void fill_sends(traffic *t, int run) {
  for (tsi_index k = 0; k < t->sends; k++) {
    unsigned char *bytes = t->send[k].buffer;
    for (size_t i = 0; i < t->send[k].bytes; i++) bytes[i] = content(t->send[k].tag, t->rank, run, i);
  }
  for (tsi_index k = 0; k < t->receives; k++) {
    t->arrivals[k] = 0;
    if (t->receive[k].bytes > 0) memset(t->receive[k].buffer, 0xee, t->receive[k].bytes);
  }
}

static inline void check_receives(const traffic *t, int run) {
  for (tsi_index k = 0; k < t->receives; k++) {
    const tsi_channel *c = &t->receive[k];
    const unsigned char *bytes = c->buffer;
    CHECK(__atomic_load_n(&t->arrivals[k], __ATOMIC_RELAXED) == 1);
    for (size_t i = 0; i < c->bytes; i++)
      CHECK_MSG(bytes[i] == content(c->tag, c->peer, run, i), "run %d, tag %d: byte %zu of %zu", run, c->tag,
                i, c->bytes);
  }
}

/* ---- Senders ------------------------------------------------------------------------------------------- */

static inline void send_all(traffic *t, int run) {
  for (tsi_index k = 0; k < t->sends; k++) CHECK_OK(tsi_mailbox_send(t->mailbox, (k + run) % t->sends));
}

typedef struct share {
  traffic *t;
  int first;
} share;

static inline void *send_share(void *arg) {
  const share *s = arg;
  for (tsi_index k = s->first; k < s->t->sends; k += THREADS) {
    CHECK_OK(tsi_mailbox_send(s->t->mailbox, k));
    tsi_mailbox_progress(s->t->mailbox);
  }
  return NULL;
}

static inline void send_from_threads(traffic *t) {
  pthread_t thread[THREADS];
  share shares[THREADS];
  for (int k = 0; k < THREADS; k++) {
    shares[k] = (share){t, k};
    CHECK(pthread_create(&thread[k], NULL, send_share, &shares[k]) == 0);
  }
  for (int k = 0; k < THREADS; k++) CHECK(pthread_join(thread[k], NULL) == 0);
}

static inline void check_runs(tsi_transport *transport, int messages, uint64_t seed, int runs) {
  traffic t;
  traffic_create(transport, messages, 10, seed, &t);
  CHECK(tsi_mailbox_done(t.mailbox));
  CHECK_OK(tsi_mailbox_wait(t.mailbox)); /* there is nothing to wait for */
  for (int run = 0; run < runs; run++) {
    fill_sends(&t, run);
    CHECK_OK(tsi_mailbox_start(t.mailbox, NULL, t.sends));
    if (t.sends > 0) CHECK(!tsi_mailbox_done(t.mailbox));
    if (run % 2 == 0)
      send_all(&t, run);
    else
      send_from_threads(&t);
    if (run % 3 == 0)
      while (!tsi_mailbox_done(t.mailbox)) tsi_mailbox_progress(t.mailbox), sched_yield();
    CHECK_OK(tsi_mailbox_wait(t.mailbox));
    CHECK(tsi_mailbox_done(t.mailbox));
    check_receives(&t, run);
  }
  traffic_destroy(&t);
}

/* Runs two patterns: one starts its sends before its receives are posted, the other one after. */
static inline void check_two(tsi_transport *transport, int messages, int runs) {
  traffic a, b;
  traffic_create(transport, messages, 0, 7, &a);
  traffic_create(transport, messages, 1000, 8, &b);
  for (int run = 0; run < runs; run++) {
    fill_sends(&a, run);
    fill_sends(&b, run);
    CHECK_OK(tsi_mailbox_start(a.mailbox, NULL, a.sends));
    send_all(&a, run);
    CHECK_OK(tsi_mailbox_start(b.mailbox, NULL, b.sends));
    send_all(&b, run);
    traffic *first = (run + a.rank) % 2 == 0 ? &a : &b, *second = first == &a ? &b : &a;
    CHECK_OK(tsi_mailbox_wait(first->mailbox));
    check_receives(first, run);
    CHECK_OK(tsi_mailbox_wait(second->mailbox));
    check_receives(second, run);
  }
  traffic_destroy(&a);
  traffic_destroy(&b);
}

static inline void check_empty(tsi_transport *transport) {
  tsi_mailbox *mailbox;
  CHECK_OK(tsi_mailbox_create(transport, 0, NULL, 0, NULL, NULL, NULL, &mailbox));
  for (int run = 0; run < 3; run++) {
    CHECK_OK(tsi_mailbox_start(mailbox, NULL, 0));
    tsi_mailbox_progress(mailbox);
    CHECK(tsi_mailbox_done(mailbox));
    CHECK_OK(tsi_mailbox_wait(mailbox));
  }
  tsi_mailbox_destroy(&mailbox);
  tsi_mailbox_destroy(&mailbox);
}

/* ---- A token that is passed around --------------------------------------------------------------------- */

enum { ROUNDS = 20 };

/* Arrival k passes message k on, directly or in a StarPU task; rank 0 sends first. The token counts its hops.
 */
typedef struct token token;
typedef struct hop {
  token *token;
  int number;
} hop;

struct token {
  int rank, ranks;
  tsi_mailbox *mailbox;
  int64_t receive[ROUNDS], send[ROUNDS];
  struct starpu_task task[ROUNDS];
  hop hops[ROUNDS];
  struct starpu_codelet codelet;
  bool in_task;
};

static inline void pass_on(token *t, int round) {
  const int next = t->rank == 0 ? round + 1 : round; /* a round ends at rank 0 */
  if (next == ROUNDS) return;
  t->send[next] = t->receive[round] + 1;
  CHECK_OK(tsi_mailbox_send(t->mailbox, next));
}

static inline void pass_on_task(void *buffers[], void *arg) {
  const hop *h = arg;
  (void)buffers;
  pass_on(h->token, h->number);
}

static inline void token_arrived(void *context, tsi_index receive) {
  token *t = context;
  if (t->in_task)
    CHECK(starpu_task_submit(&t->task[receive]) == 0);
  else
    pass_on(t, receive);
}

static inline void token_create(tsi_transport *transport, bool in_task, token *t) {
  const int rank = tsi_transport_rank(transport), ranks = tsi_transport_size(transport);
  tsi_channel receive[ROUNDS], send[ROUNDS];
  memset(t, 0, sizeof *t);
  t->rank = rank;
  t->ranks = ranks;
  t->in_task = in_task;
  for (int k = 0; k < ROUNDS; k++) {
    receive[k] = (tsi_channel){(rank + ranks - 1) % ranks, 5000 + k, &t->receive[k], sizeof t->receive[k]};
    send[k] = (tsi_channel){(rank + 1) % ranks, 5000 + k, &t->send[k], sizeof t->send[k]};
  }
  CHECK_OK(tsi_mailbox_create(transport, ROUNDS, receive, ROUNDS, send, token_arrived, t, &t->mailbox));
  if (!in_task) return;
  t->codelet = (struct starpu_codelet){.cpu_funcs = {pass_on_task}, .nbuffers = 0};
  for (int k = 0; k < ROUNDS; k++) {
    t->hops[k] = (hop){t, k};
    starpu_task_init(&t->task[k]);
    t->task[k].cl = &t->codelet;
    t->task[k].cl_arg = &t->hops[k];
    t->task[k].detach = 0;
    t->task[k].destroy = 0;
  }
}

static inline void check_token(tsi_transport *transport, bool in_task, int runs) {
  token t;
  token_create(transport, in_task, &t);
  for (int run = 0; run < runs; run++) {
    CHECK_OK(tsi_mailbox_start(t.mailbox, NULL, ROUNDS));
    if (t.rank == 0) {
      t.send[0] = run;
      CHECK_OK(tsi_mailbox_send(t.mailbox, 0));
    }
    CHECK_OK(tsi_mailbox_wait(t.mailbox));
    for (int k = 0; k < ROUNDS; k++) {
      CHECK(t.receive[k] == run + k * t.ranks + (t.rank == 0 ? t.ranks : t.rank) - 1);
      if (in_task) CHECK(starpu_task_wait(&t.task[k]) == 0);
    }
  }
  for (int k = 0; k < ROUNDS && in_task; k++) starpu_task_clean(&t.task[k]);
  tsi_mailbox_destroy(&t.mailbox);
}
