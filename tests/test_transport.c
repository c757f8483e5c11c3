/* Messages between ranks, all ways: run by mpiexec with 1, 2, 4 and 8 ranks.
 *
 *   test_transport direct|starpu_mpi    everything
 *   test_transport funneled             MPI initialized with a thread level that does not suffice
 *
 * Every rank makes up the same random pattern of messages, and takes its part of it. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <starpu.h>

#include "runtime/mpi/transport.h"
#include "tests/check.h"
#include "tests/random.h"

enum { THREADS = 3, MOST_BYTES = 300000 };

static tsi_env env;
static int rank, ranks;
static tsi_transport_kind kind;

/* Where four ranks share two cores a message by StarPU-MPI takes many milliseconds. */
static int runs(void) {
  return kind == TSI_TRANSPORT_DIRECT ? (ranks <= 4 ? 50 : 10) : (ranks <= 2 ? 50 : 5);
}

static void expect_message(const char *part) {
  CHECK_MSG(strstr(tsi_error_text(&env), part) != NULL, "\"%s\" is not in \"%s\"", part,
            tsi_error_text(&env));
}

/* ---- A pattern of messages -------------------------------------------------------------------------------
 */

typedef struct traffic {
  tsi_index receives, sends;
  tsi_channel *receive, *send;
  int *arrivals; /* of each receive in this run */
  tsi_mailbox *mailbox;
} traffic;

static size_t random_bytes(uint64_t *state) {
  static const size_t usual[] = {0, 1, 8, 100, 4000, 4097, 65536, MOST_BYTES};
  const uint64_t k = next_random(state) % 16;
  return k < 8 ? usual[k] : (size_t)(next_random(state) % (k < 14 ? 2000 : MOST_BYTES));
}

static void add_channel(tsi_index *count, tsi_channel *list, int peer, int tag, size_t bytes) {
  void *buffer = bytes > 0 ? malloc(bytes) : NULL;
  list[(*count)++] = (tsi_channel){peer, tag, buffer, bytes};
}

static void arrived(void *context, tsi_index receive) {
  traffic *t = context;
  CHECK(receive >= 0 && receive < t->receives);
  __atomic_add_fetch(&t->arrivals[receive], 1, __ATOMIC_RELAXED);
}

/* `count` messages between random ranks, tags from first_tag on. */
static void traffic_create(tsi_transport *transport, int count, int first_tag, uint64_t seed, traffic *t) {
  uint64_t state = seed;
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

static void traffic_destroy(traffic *t) {
  tsi_mailbox_destroy(&t->mailbox);
  CHECK(t->mailbox == NULL);
  for (tsi_index k = 0; k < t->receives; k++) free(t->receive[k].buffer);
  for (tsi_index k = 0; k < t->sends; k++) free(t->send[k].buffer);
  free(t->receive);
  free(t->send);
  free(t->arrivals);
}

static unsigned char content(int tag, int from, int run, size_t i) {
  return (unsigned char)((size_t)tag * 31 + (size_t)from * 7 + (size_t)run * 101 + i);
}

static void fill_sends(traffic *t, int run) {
  for (tsi_index k = 0; k < t->sends; k++) {
    unsigned char *bytes = t->send[k].buffer;
    for (size_t i = 0; i < t->send[k].bytes; i++) bytes[i] = content(t->send[k].tag, rank, run, i);
  }
  for (tsi_index k = 0; k < t->receives; k++) {
    t->arrivals[k] = 0;
    if (t->receive[k].bytes > 0) memset(t->receive[k].buffer, 0xee, t->receive[k].bytes);
  }
}

static void check_receives(const traffic *t, int run) {
  for (tsi_index k = 0; k < t->receives; k++) {
    const tsi_channel *c = &t->receive[k];
    const unsigned char *bytes = c->buffer;
    CHECK(__atomic_load_n(&t->arrivals[k], __ATOMIC_RELAXED) == 1);
    for (size_t i = 0; i < c->bytes; i++)
      CHECK_MSG(bytes[i] == content(c->tag, c->peer, run, i), "run %d, tag %d: byte %zu of %zu", run, c->tag,
                i, c->bytes);
  }
}

/* ---- Who sends -------------------------------------------------------------------------------------------
 */

static void send_all(traffic *t, int run) {
  for (tsi_index k = 0; k < t->sends; k++) CHECK_OK(tsi_mailbox_send(t->mailbox, (k + run) % t->sends));
}

typedef struct share {
  traffic *t;
  int first;
} share;

static void *send_share(void *arg) {
  const share *s = arg;
  for (tsi_index k = s->first; k < s->t->sends; k += THREADS) {
    CHECK_OK(tsi_mailbox_send(s->t->mailbox, k));
    tsi_mailbox_progress(s->t->mailbox);
  }
  return NULL;
}

static void send_from_threads(traffic *t) {
  pthread_t thread[THREADS];
  share shares[THREADS];
  for (int k = 0; k < THREADS; k++) {
    shares[k] = (share){t, k};
    CHECK(pthread_create(&thread[k], NULL, send_share, &shares[k]) == 0);
  }
  for (int k = 0; k < THREADS; k++) CHECK(pthread_join(thread[k], NULL) == 0);
}

static void check_runs(tsi_transport *transport, int messages, uint64_t seed) {
  traffic t;
  traffic_create(transport, messages, 10, seed, &t);
  CHECK(tsi_mailbox_done(t.mailbox));
  CHECK_OK(tsi_mailbox_wait(t.mailbox)); /* there is nothing to wait for */
  for (int run = 0; run < runs(); run++) {
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

/* The sends of one start before, and those of the other after its receives are posted. */
static void check_two(tsi_transport *transport, int messages) {
  traffic a, b;
  traffic_create(transport, messages, 0, 7, &a);
  traffic_create(transport, messages, 1000, 8, &b);
  for (int run = 0; run < runs(); run++) {
    fill_sends(&a, run);
    fill_sends(&b, run);
    CHECK_OK(tsi_mailbox_start(a.mailbox, NULL, a.sends));
    send_all(&a, run);
    CHECK_OK(tsi_mailbox_start(b.mailbox, NULL, b.sends));
    send_all(&b, run);
    traffic *first = (run + rank) % 2 == 0 ? &a : &b, *second = first == &a ? &b : &a;
    CHECK_OK(tsi_mailbox_wait(first->mailbox));
    check_receives(first, run);
    CHECK_OK(tsi_mailbox_wait(second->mailbox));
    check_receives(second, run);
  }
  traffic_destroy(&a);
  traffic_destroy(&b);
}

static void check_empty(tsi_transport *transport) {
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

/* ---- A token that goes around
 * ------------------------------------------------------------------------------ */

enum { ROUNDS = 20 };

/* Arrival k sends message k on, by itself or in a StarPU task; rank 0 starts it. The token counts its hops.
 */
typedef struct token {
  tsi_mailbox *mailbox;
  int64_t receive[ROUNDS], send[ROUNDS];
  struct starpu_task task[ROUNDS];
  struct starpu_codelet codelet;
  bool in_task;
} token;

typedef struct hop {
  token *token;
  int number;
} hop;
static hop hops[ROUNDS];

static void pass_on(token *t, int round) {
  const int next = rank == 0 ? round + 1 : round; /* a round ends at rank 0 */
  if (next == ROUNDS) return;
  t->send[next] = t->receive[round] + 1;
  CHECK_OK(tsi_mailbox_send(t->mailbox, next));
}

static void pass_on_task(void *buffers[], void *arg) {
  const hop *h = arg;
  (void)buffers;
  pass_on(h->token, h->number);
}

static void token_arrived(void *context, tsi_index receive) {
  token *t = context;
  if (t->in_task)
    CHECK(starpu_task_submit(&t->task[receive]) == 0);
  else
    pass_on(t, receive);
}

static void token_create(tsi_transport *transport, bool in_task, token *t) {
  tsi_channel receive[ROUNDS], send[ROUNDS];
  memset(t, 0, sizeof *t);
  t->in_task = in_task;
  for (int k = 0; k < ROUNDS; k++) {
    receive[k] = (tsi_channel){(rank + ranks - 1) % ranks, 5000 + k, &t->receive[k], sizeof t->receive[k]};
    send[k] = (tsi_channel){(rank + 1) % ranks, 5000 + k, &t->send[k], sizeof t->send[k]};
  }
  CHECK_OK(tsi_mailbox_create(transport, ROUNDS, receive, ROUNDS, send, token_arrived, t, &t->mailbox));
  if (!in_task) return;
  t->codelet = (struct starpu_codelet){.cpu_funcs = {pass_on_task}, .nbuffers = 0};
  for (int k = 0; k < ROUNDS; k++) {
    hops[k] = (hop){t, k};
    starpu_task_init(&t->task[k]);
    t->task[k].cl = &t->codelet;
    t->task[k].cl_arg = &hops[k];
    t->task[k].detach = 0;
    t->task[k].destroy = 0;
  }
}

static void check_token(tsi_transport *transport, bool in_task) {
  static token t;
  token_create(transport, in_task, &t);
  for (int run = 0; run < (kind == TSI_TRANSPORT_DIRECT ? runs() : 1); run++) {
    CHECK_OK(tsi_mailbox_start(t.mailbox, NULL, ROUNDS));
    if (rank == 0) {
      t.send[0] = run;
      CHECK_OK(tsi_mailbox_send(t.mailbox, 0));
    }
    CHECK_OK(tsi_mailbox_wait(t.mailbox));
    for (int k = 0; k < ROUNDS; k++) {
      CHECK(t.receive[k] == run + k * ranks + (rank == 0 ? ranks : rank) - 1);
      if (in_task) CHECK(starpu_task_wait(&t.task[k]) == 0);
    }
  }
  for (int k = 0; k < ROUNDS && in_task; k++) starpu_task_clean(&t.task[k]);
  tsi_mailbox_destroy(&t.mailbox);
}

/* ---- Agreement and failures
 * -------------------------------------------------------------------------------- */

static tristar_status fail_here(tristar_status status) {
  return tsi_fail(&env, status, __func__, "here", 1, "the grid of rank %d is bent", rank);
}

static void check_agreement(tsi_transport *transport) {
  char part[64];
  for (int run = 0; run < 5; run++) CHECK_OK(tsi_transport_agree(transport, TRISTAR_OK));
  for (int bad = 0; bad < ranks; bad++) { /* one fails */
    const tristar_status mine = rank == bad ? fail_here(TRISTAR_ERR_SINGULAR) : TRISTAR_OK;
    CHECK_STATUS(tsi_transport_agree(transport, mine), TRISTAR_ERR_SINGULAR);
    snprintf(part, sizeof part, "the grid of rank %d is bent", bad);
    expect_message(part);
    if (rank != bad) {
      snprintf(part, sizeof part, "rank %d: ", bad);
      expect_message(part);
    }
  }
  /* all but the last fail, the first in the worst way */
  tristar_status mine = rank == 0 ? TRISTAR_ERR_NOT_FINITE : TRISTAR_ERR_IO;
  mine = rank == ranks - 1 && rank > 0 ? TRISTAR_OK : fail_here(mine);
  CHECK_STATUS(tsi_transport_agree(transport, mine), TRISTAR_ERR_NOT_FINITE);
  expect_message("the grid of rank 0 is bent");
  CHECK_OK(tsi_transport_agree(transport, TRISTAR_OK));
}

static void check_refused(tsi_transport *transport, tsi_channel channel, tristar_status expected,
                          const char *part) {
  tsi_mailbox *mailbox = (tsi_mailbox *)&channel;
  CHECK_STATUS(tsi_mailbox_create(transport, 1, &channel, 0, NULL, arrived, NULL, &mailbox), expected);
  CHECK(mailbox == NULL);
  expect_message(part);
  CHECK_STATUS(tsi_mailbox_create(transport, 0, NULL, 1, &channel, NULL, NULL, &mailbox), expected);
  CHECK(mailbox == NULL);
}

static void check_arguments(tsi_transport *transport) {
  char byte;
  tsi_channel two[2] = {{0, 3, &byte, 1}, {0, 3, &byte, 1}};
  tsi_mailbox *mailbox;
  check_refused(transport, (tsi_channel){ranks, 0, &byte, 1}, TRISTAR_ERR_ARGUMENT, "no rank");
  check_refused(transport, (tsi_channel){-1, 0, &byte, 1}, TRISTAR_ERR_ARGUMENT, "no rank -1");
  check_refused(transport, (tsi_channel){0, -1, &byte, 1}, TRISTAR_ERR_ARGUMENT, "tag -1");
  check_refused(transport, (tsi_channel){0, 0, NULL, 1}, TRISTAR_ERR_ARGUMENT, "no buffer");
  check_refused(transport, (tsi_channel){0, 0, &byte, (size_t)1 << 31}, TRISTAR_ERR_TOO_LARGE, "2147483648");
  CHECK_STATUS(tsi_mailbox_create(transport, 2, two, 0, NULL, arrived, NULL, &mailbox), TRISTAR_ERR_ARGUMENT);
  expect_message("two receives with rank 0 have tag 3");
  CHECK_STATUS(tsi_mailbox_create(transport, 1, two, 0, NULL, NULL, NULL, &mailbox), TRISTAR_ERR_ARGUMENT);
}

/* A message that is longer or shorter than its receiver expects: told there, and nothing hangs. (Open MPI
 * does not tell of a longer one that a rank sends to itself.) */
static void check_lengths(tsi_transport *transport) {
  const int next = (rank + 1) % ranks, former = (rank + ranks - 1) % ranks;
  static char in[200], out[200];
  for (size_t sent = 50; sent <= (ranks > 1 ? 150 : 100); sent += 50) {
    traffic t = {.receives = 1, .arrivals = (int[1]){0}};
    const tsi_channel receive = {former, 77, in, 100}, send = {next, 77, out, sent};
    CHECK_OK(tsi_mailbox_create(transport, 1, &receive, 1, &send, arrived, &t, &t.mailbox));
    for (int run = 0; run < 2; run++) {
      CHECK_OK(tsi_mailbox_start(t.mailbox, NULL, 1));
      if (sent == 100)
        CHECK_STATUS(tsi_mailbox_start(t.mailbox, NULL, 1), TRISTAR_ERR_INTERNAL); /* a run is in flight */
      CHECK_OK(tsi_mailbox_send(t.mailbox, 0));
      CHECK_STATUS(tsi_mailbox_wait(t.mailbox), sent == 100 ? TRISTAR_OK : TRISTAR_ERR_RUNTIME);
      CHECK(t.arrivals[0] == run + 1);
      if (sent != 100) expect_message("tag 77");
    }
    tsi_mailbox_destroy(&t.mailbox);
  }
}

/* The k-th allocation fails on the last rank only: all are told. */
static void check_allocations(void) {
  tsi_transport *transport;
  tristar_status status = TRISTAR_ERR_MEMORY;
  const size_t before = atomic_load(&env.memory.current);
  for (int64_t k = 1; status != TRISTAR_OK; k++) {
    if (rank == ranks - 1) env.memory.fail_at = atomic_load(&env.memory.calls) + k;
    status = tsi_transport_create(&env, MPI_COMM_WORLD, kind, TRISTAR_OK, &transport);
    env.memory.fail_at = 0;
    CHECK((transport != NULL) == (status == TRISTAR_OK));
    CHECK(status == TRISTAR_OK || status == TRISTAR_ERR_MEMORY);
    CHECK(k > 1 || status == TRISTAR_ERR_MEMORY);
  }
  char byte;
  const tsi_channel channel = {rank, 5, &byte, 1};
  tsi_mailbox *mailbox;
  const size_t with = atomic_load(&env.memory.current);
  status = TRISTAR_ERR_MEMORY;
  for (int64_t k = 1; status != TRISTAR_OK; k++) {
    env.memory.fail_at = atomic_load(&env.memory.calls) + k;
    status = tsi_mailbox_create(transport, 1, &channel, 1, &channel, arrived, NULL, &mailbox);
    env.memory.fail_at = 0;
    CHECK(status == TRISTAR_OK || (status == TRISTAR_ERR_MEMORY && mailbox == NULL));
    CHECK(k > 4 || status == TRISTAR_ERR_MEMORY);
    CHECK(status == TRISTAR_OK || atomic_load(&env.memory.current) == with);
  }
  tsi_mailbox_destroy(&mailbox);
  tsi_transport_destroy(&transport);
  CHECK(transport == NULL);
  CHECK(atomic_load(&env.memory.current) == before);
}

/* Before MPI_Init_thread or after MPI_Finalize. */
static void check_no_mpi(const char *part) {
  tsi_transport *transport;
  CHECK_STATUS(tsi_transport_create(&env, MPI_COMM_WORLD, TSI_TRANSPORT_DIRECT, TRISTAR_OK, &transport),
               TRISTAR_ERR_RUNTIME);
  CHECK(transport == NULL);
  expect_message(part);
}

static void check_creation(void) {
  tsi_transport *transport;
  CHECK_STATUS(tsi_transport_create(&env, MPI_COMM_NULL, kind, TRISTAR_OK, &transport), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tsi_transport_create(&env, MPI_COMM_WORLD, TSI_TRANSPORT_KINDS, TRISTAR_OK, &transport),
               TRISTAR_ERR_ARGUMENT);
  CHECK(transport == NULL);
  tsi_transport_destroy(&transport);
}

/* StarPU-MPI serves one transport at a time; the other kind works beside it. */
static void check_second(void) {
  tsi_transport *second;
  CHECK_STATUS(tsi_transport_create(&env, MPI_COMM_WORLD, kind, TRISTAR_OK, &second),
               TRISTAR_ERR_UNSUPPORTED);
  CHECK(second == NULL);
  expect_message("has StarPU-MPI already");
  CHECK_OK(tsi_transport_create(&env, MPI_COMM_WORLD, TSI_TRANSPORT_DIRECT, TRISTAR_OK, &second));
  check_runs(second, 4 * ranks, 5);
  tsi_transport_destroy(&second);
}

static void check_traffic(tsi_transport *transport, bool tasks) {
  CHECK(tsi_transport_rank(transport) == rank && tsi_transport_size(transport) == ranks);
  check_empty(transport);
  for (uint64_t seed = 1; seed <= (kind == TSI_TRANSPORT_DIRECT ? 3 : 1); seed++)
    check_runs(transport, ranks > 4 ? 20 : 6 * ranks, seed);
  check_two(transport, 4 * ranks);
  check_token(transport, false);
  if (tasks) check_token(transport, true);
  check_agreement(transport);
}

static void check_all(void) {
  tsi_transport *transport;
  check_creation();
  if (kind == TSI_TRANSPORT_DIRECT) { /* without StarPU */
    CHECK_OK(tsi_transport_create(&env, MPI_COMM_WORLD, kind, TRISTAR_OK, &transport));
    check_traffic(transport, false);
    tsi_transport_destroy(&transport);
  }
  CHECK(starpu_init(NULL) == 0);
  check_allocations();
  for (int turn = 0; turn < (kind == TSI_TRANSPORT_DIRECT ? 2 : 1); turn++) {
    CHECK_OK(tsi_transport_create(&env, MPI_COMM_WORLD, kind, TRISTAR_OK, &transport));
    check_traffic(transport, true);
    check_arguments(transport);
    if (kind == TSI_TRANSPORT_DIRECT) check_lengths(transport);
    if (kind == TSI_TRANSPORT_STARPU_MPI) check_second();
    tsi_transport_destroy(&transport);
  }
  starpu_shutdown();
  if (kind == TSI_TRANSPORT_STARPU_MPI) {
    CHECK_STATUS(tsi_transport_create(&env, MPI_COMM_WORLD, kind, TRISTAR_OK, &transport),
                 TRISTAR_ERR_UNSUPPORTED);
    expect_message("needs StarPU");
  }
}

static void check_funneled(void) {
  int level;
  tsi_transport *transport;
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) == MPI_SUCCESS);
  if (level == MPI_THREAD_FUNNELED) {
    CHECK_STATUS(tsi_transport_create(&env, MPI_COMM_WORLD, TSI_TRANSPORT_DIRECT, TRISTAR_OK, &transport),
                 TRISTAR_ERR_UNSUPPORTED);
    CHECK(transport == NULL);
    expect_message("MPI_THREAD_FUNNELED");
  }
  MPI_Finalize();
  if (level != MPI_THREAD_FUNNELED) SKIP("this MPI gives thread level %d where FUNNELED is asked for", level);
}

int main(int argc, char **argv) {
  int level;
  CHECK(argc == 2);
  tsi_env_init(&env);
  if (strcmp(argv[1], "funneled") == 0) {
    check_funneled();
  } else {
    while (kind < TSI_TRANSPORT_KINDS && strcmp(argv[1], tsi_transport_kind_name(kind)) != 0) kind++;
    CHECK(kind < TSI_TRANSPORT_KINDS);
    const int wanted = kind == TSI_TRANSPORT_DIRECT ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
    check_no_mpi("not initialized");
    CHECK(MPI_Init_thread(NULL, NULL, wanted, &level) == MPI_SUCCESS);
    if (level < wanted) SKIP("this MPI gives thread level %d, %d is needed", level, wanted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check_all();
    MPI_Finalize();
    check_no_mpi("finalized");
  }
  CHECK(atomic_load(&env.memory.current) == 0);
  return 0;
}
