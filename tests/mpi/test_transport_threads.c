/* Messages of ranks that are threads, through MPI in memory (memory_mpi.h): the lock of MPI, mailboxes, the
 * hook of idle workers, and failures of MPI. The thread sanitizer sees all of this MPI; without it the test
 * shows that no two threads are in MPI at the same time. Linked with --wrap, see looks.h. */
#include "runtime/mpi/comm/port.h"
#include "tests/support/flow.h"
#include "tests/support/looks.h"
#include "tests/support/mpi/memory_mpi.h"
#include "tests/support/mpi/messages.h"
#include "tests/support/subtests.h"

enum { RANKS = 3, RUNS = TSI_TESTS_RACES ? 4 : 20, TURNS = 10 };

typedef struct world {
  tsi_env env;
  int rank;
  bool workers; /* StarPU runs */
} world;

static tsi_transport *create(world *w) {
  tsi_transport *transport;
  CHECK_OK(
      tsi_transport_create(&w->env, MPI_COMM_WORLD, TSI_TRANSPORT_DIRECT, false, TRISTAR_OK, &transport));
  return transport;
}

/* ---- Ranks that work ----------------------------------------------------------------------------------- */

/* Only idle workers advance the messages. The thread that sees the end of the run frees the mailbox at
 * once. */
static void check_hook(tsi_transport *transport) {
  for (int turn = 0; turn < TURNS; turn++) {
    CLEANUP(traffic_destroy) traffic t;
    traffic_create(transport, 5 * RANKS, 0, (uint64_t)turn, &t);
    fill_sends(&t, turn);
    CHECK_OK(tsi_mailbox_start(t.mailbox, NULL, t.sends));
    send_all(&t, turn);
    while (!tsi_mailbox_done(t.mailbox)) sched_yield();
    check_receives(&t, turn);
  }
}

static void notify_slowly(void *context, tsi_index message) {
  (void)message;
  usleep(3000);
  atomic_store((_Atomic(bool) *)context, true);
}

/* Idle workers report a message by the callback. A wait returns only after the callback has, as the caller
 * may then free the data of the callback. */
static void check_port(world *w, tsi_transport *transport) {
  _Atomic(bool) notified = false;
  int in = 0, out = w->rank;
  const tsi_channel receive = {.peer = (w->rank + RANKS - 1) % RANKS, .buffer = &in, .bytes = sizeof in},
                    send = {.peer = (w->rank + 1) % RANKS, .buffer = &out, .bytes = sizeof out};
  tsi_mailbox_port mailbox = {.env = &w->env, .happen = notify_slowly, .context = &notified};
  CHECK_OK(tsi_mailbox_port_open(&mailbox, transport, 1, &receive, 1, &send));
  const tsi_port port = tsi_mailbox_port_of(&mailbox);
  for (int turn = 0; turn < TURNS; turn++) {
    atomic_store(&notified, false);
    CHECK_OK(port.begin(port.context, NULL, 1));
    CHECK_OK(port.send(port.context, 0));
    usleep(1000); /* workers are first */
    CHECK_OK(port.wait(port.context, 0));
    CHECK(atomic_load(&notified) && in == receive.peer);
    CHECK_OK(port.end(port.context));
  }
  tsi_mailbox_port_close(&mailbox);
}

static void *agree_again_and_again(void *arg) {
  tsi_transport *transport = arg;
  for (int turn = 0; turn < TURNS; turn++) {
    const int64_t value = turn;
    CHECK_OK(tsi_transport_agree(transport, TRISTAR_OK));
    CHECK_OK(tsi_transport_same(transport, TRISTAR_OK, 1, (const char *const[]){"turn"}, &value, 0, NULL));
  }
  return NULL;
}

/* The ranks agree while messages of another transport are in flight. */
static void check_agreement(world *w, tsi_transport *transport) {
  CLEANUP(tsi_transport_destroy) tsi_transport *second = create(w);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, agree_again_and_again, second) == 0);
  check_two(transport, 4 * RANKS, RUNS);
  CHECK(pthread_join(thread, NULL) == 0);
  const bool fails = w->rank == 1;
  tristar_status mine = TRISTAR_OK;
  if (fails) mine = tsi_fail(&w->env, TRISTAR_ERR_SINGULAR, __func__, "here", 1, "a bent grid");
  CHECK_STATUS(tsi_transport_agree(second, mine), TRISTAR_ERR_SINGULAR);
  CHECK(strstr(tsi_error_text(&w->env), fails ? "a bent grid" : "rank 1: a bent grid") != NULL);
}

static void *work(void *arg) {
  world *w = arg;
  memory_mpi_be(w->rank);
  for (int turn = 0; turn < 3; turn++) {
    CLEANUP(tsi_transport_destroy) tsi_transport *transport = create(w);
    CHECK(tsi_transport_rank(transport) == w->rank && tsi_transport_size(transport) == RANKS);
    check_empty(transport);
    check_runs(transport, 6 * RANKS, (uint64_t)turn, RUNS);
    check_token(transport, false, RUNS);
    if (w->workers) check_token(transport, true, RUNS);
    if (w->workers) check_hook(transport);
    if (w->workers) check_port(w, transport);
    check_agreement(w, transport);
  }
  return NULL;
}

static void check_ranks(bool workers) {
  pthread_t thread[RANKS];
  world w[RANKS];
  memory_mpi_init(RANKS);
  for (int r = 0; r < RANKS; r++) {
    w[r] = (world){.rank = r, .workers = workers};
    tsi_env_init(&w[r].env);
    CHECK(pthread_create(&thread[r], NULL, work, &w[r]) == 0);
  }
  for (int r = 0; r < RANKS; r++) {
    CHECK(pthread_join(thread[r], NULL) == 0);
    CHECK(atomic_load(&w[r].env.memory.current) == 0);
  }
  memory_mpi_end();
}

/* ---- Failures of MPI, on one rank that sends to itself ------------------------------------------------ */

typedef struct failure {
  const char *what;
  atomic_int *failing;
  int calls; /* consecutive calls that fail */
  const char *text;
  bool lost; /* a message may be lost: all later runs fail */
} failure;

/* Each message of the run is counted as completed once, and the run reports the failed call. Returns whether
 * a call failed: there may be fewer calls. */
static bool check_failed_run(world *w, traffic *t, const failure *f, int call) {
  fill_sends(t, call);
  atomic_store(f->failing, call);
  CHECK_OK(tsi_mailbox_start(t->mailbox, NULL, t->sends));
  for (tsi_index k = 0; k < t->sends; k++) (void)!tsi_mailbox_send(t->mailbox, k);
  const tristar_status status = tsi_mailbox_wait(t->mailbox);
  const bool failed = atomic_exchange(f->failing, 0) == 0;
  CHECK_MSG(status == (failed ? TRISTAR_ERR_RUNTIME : TRISTAR_OK), "%s, call %d: %s", f->what, call,
            tristar_status_name(status));
  CHECK_MSG(!failed || strstr(tsi_error_text(&w->env), f->text) != NULL, "\"%s\" is not in \"%s\"", f->text,
            tsi_error_text(&w->env));
  for (tsi_index k = 0; k < t->receives; k++)
    CHECK_MSG(__atomic_load_n(&t->arrivals[k], __ATOMIC_RELAXED) == 1, "%s, call %d: receive %d", f->what,
              call, (int)k);
  return failed;
}

static void check_failure(world *w, const failure *f) {
  enum { MESSAGES = 6 };
  for (int call = 1; call <= f->calls; call++) {
    traffic t;
    CLEANUP(tsi_transport_destroy) tsi_transport *transport = create(w);
    traffic_create(transport, MESSAGES, 0, 3, &t);
    CHECK(t.receives == MESSAGES && t.sends == MESSAGES);
    const bool lost = check_failed_run(w, &t, f, call) && f->lost;
    CHECK_OK(tsi_mailbox_start(t.mailbox, NULL, t.sends));
    for (tsi_index k = 0; k < t.sends; k++) (void)!tsi_mailbox_send(t.mailbox, k);
    const tristar_status later = tsi_mailbox_wait(t.mailbox);
    CHECK_MSG(later == (lost ? TRISTAR_ERR_RUNTIME : TRISTAR_OK), "%s, call %d, the next run: %s", f->what,
              call, tristar_status_name(later));
    traffic_destroy(&t);
  }
}

static void check_failures(void) {
  const failure list[] = {
      {"MPI_Start", &memory_mpi_failing_start, 6, "MPI error", true}, /* receives, without a wait */
      {"MPI_Testsome", &memory_mpi_failing_look, 3, "MPI error", true},
      {"a request", &memory_mpi_failing_status, 12, "MPI error", false}};
  world w = {.workers = true};
  memory_mpi_eager_bytes = MOST_BYTES; /* else sends wait for receives that could not be posted */
  memory_mpi_init(1);
  memory_mpi_be(0);
  tsi_env_init(&w.env);
  for (size_t k = 0; k < sizeof list / sizeof list[0]; k++) check_failure(&w, &list[k]);
  CHECK(atomic_load(&w.env.memory.current) == 0);
  memory_mpi_end();
}

/* ---- Sleep --------------------------------------------------------------------------------------------- */

/* Workers stay awake while a transport exists. They find their messages when a transport exists again. */
static void check_sleep(void) {
  CLEANUP(tristar_destroy) tristar_t *ts;
  CLEANUP(flow_destroy) flow f;
  double b[216] = {1};
  world w = {.workers = true};
  tristar_config config = DEFAULTS(tristar_config);
  config.idle_sleep = 1;
  CHECK_OK(tristar_create(&config, &ts));
  flow_create(ts, "poisson3d7", 6, TRISTAR_ENGINE_TASKS, 3000, &f);
  CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 1, b, 216, b, 216)); /* StarPU runs */
  memory_mpi_init(1);
  memory_mpi_be(0);
  tsi_env_init(&w.env);
  for (int turn = 0; turn < 3; turn++) {
    wait_until_asleep();
    CLEANUP(tsi_transport_destroy) tsi_transport *transport = create(&w);
    check_held();
    check_hook(transport);
    check_held();
  }
  memory_mpi_end();
  wait_until_asleep();
  check_ranks(true);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  RUN(check_ranks(false));
  CHECK(starpu_init(NULL) == 0);
  RUN(check_ranks(true));
  RUN(check_failures());
  starpu_shutdown();
  RUN(check_sleep());
  return 0;
}
