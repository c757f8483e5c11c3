/* Messages between ranks with each transport. Run by mpiexec with 1, 2, 4 and 8 ranks.
 *
 *   test_transport direct|starpu_mpi    everything
 *   test_transport funneled             MPI initialized with an insufficient thread level */
#include "tests/support/mpi/messages.h"
#include "tests/support/subtests.h"

static tsi_env env;
static int rank, ranks;
static tsi_transport_kind kind;

/* If four ranks share two cores, a message of StarPU-MPI takes many milliseconds. */
static int runs(void) {
  return kind == TSI_TRANSPORT_DIRECT ? (ranks <= 4 ? 50 : 10) : (ranks <= 2 ? 50 : 5);
}

static void expect_message(const char *part) {
  CHECK_MSG(strstr(tsi_error_text(&env), part) != NULL, "\"%s\" is not in \"%s\"", part,
            tsi_error_text(&env));
}

/* ---- Agreement and failures ---------------------------------------------------------------------------- */

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
  /* All but the last rank fail, the first one with the worst status. */
  tristar_status mine = rank == 0 ? TRISTAR_ERR_ACCURACY : TRISTAR_ERR_IO;
  mine = rank == ranks - 1 && rank > 0 ? TRISTAR_OK : fail_here(mine);
  CHECK_STATUS(tsi_transport_agree(transport, mine), TRISTAR_ERR_ACCURACY);
  expect_message("the grid of rank 0 is bent");
  /* Numbers leave the range on other ranks because the last one fails. */
  mine = fail_here(rank == ranks - 1 ? TRISTAR_ERR_MEMORY : TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(tsi_transport_agree(transport, mine), TRISTAR_ERR_MEMORY);
  snprintf(part, sizeof part, "the grid of rank %d is bent", ranks - 1);
  expect_message(part);
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

/* A message that is longer or shorter than its receiver expects is an error of the receiver, and no rank
 * hangs. (Open MPI does not report a longer message that a rank sends to itself.) */
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

/* ---- Buffers that come with the messages --------------------------------------------------------------- */

enum { LATE = 6, LATE_BYTES = 100000 };

typedef struct late {
  char *in[LATE], *out[LATE];
  int arrivals[LATE], departures[LATE];
} late;

static void late_arrived(void *context, tsi_index receive) {
  late *l = context;
  for (int k = 0; k < LATE_BYTES; k++) CHECK(l->in[receive][k] == (char)(receive + 1));
  __atomic_add_fetch(&l->arrivals[receive], 1, __ATOMIC_RELAXED);
}

static void late_departed(void *context, tsi_index send) {
  late *l = context;
  __atomic_add_fetch(&l->departures[send], 1, __ATOMIC_RELAXED);
  free(l->out[send]);
}

/* Messages around the ring: some are sent before the receive is posted, others afterwards. The sender
 * frees. */
static void check_late(tsi_transport *transport) {
  late l = {.arrivals = {0}};
  tsi_channel receive[LATE], send[LATE], early = {rank, 1, &l, sizeof l};
  CLEANUP(tsi_mailbox_destroy) tsi_mailbox *mailbox;
  for (int k = 0; k < LATE; k++) {
    receive[k] = (tsi_channel){(rank + ranks - 1) % ranks, 900 + k, NULL, LATE_BYTES};
    send[k] = (tsi_channel){(rank + 1) % ranks, 900 + k, NULL, LATE_BYTES};
  }
  CHECK_STATUS(
      tsi_mailbox_create_late(transport, 0, NULL, 1, &early, late_arrived, late_departed, &l, &mailbox),
      TRISTAR_ERR_ARGUMENT);
  expect_message("before it is due");
  CHECK_OK(tsi_mailbox_create_late(transport, LATE, receive, LATE, send, late_arrived, late_departed, &l,
                                   &mailbox));
  CHECK_OK(tsi_mailbox_start(mailbox, NULL, LATE));
  for (int half = 0; half < 2; half++) {
    for (int k = half; k < LATE; k += 2) {
      l.out[k] = memset(xmalloc(LATE_BYTES), k + 1, LATE_BYTES);
      CHECK_OK(tsi_mailbox_send_from(mailbox, k, l.out[k]));
    }
    CHECK(!tsi_mailbox_done(mailbox));
    tsi_mailbox_progress(mailbox);
    for (int k = 0; k < LATE; k++) {
      if ((k < LATE / 2) != (half == 0)) continue;
      l.in[k] = xmalloc(LATE_BYTES);
      CHECK_OK(tsi_mailbox_expect(mailbox, k, l.in[k]));
    }
  }
  CHECK_OK(tsi_mailbox_wait(mailbox));
  for (int k = 0; k < LATE; k++) {
    CHECK(l.arrivals[k] == 1 && l.departures[k] == 1);
    free(l.in[k]);
  }
}

/* The k-th allocation fails on the last rank only: all ranks return the error. */
static void check_allocations(void) {
  tsi_transport *transport;
  tristar_status status = TRISTAR_ERR_MEMORY;
  const size_t before = atomic_load(&env.memory.current);
  for (int64_t k = 1; status != TRISTAR_OK; k++) {
    if (rank == ranks - 1) env.memory.fail_at = atomic_load(&env.memory.calls) + k;
    status = tsi_transport_create(&env, MPI_COMM_WORLD, kind, false, TRISTAR_OK, &transport);
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
  CHECK_STATUS(
      tsi_transport_create(&env, MPI_COMM_WORLD, TSI_TRANSPORT_DIRECT, false, TRISTAR_OK, &transport),
      TRISTAR_ERR_RUNTIME);
  CHECK(transport == NULL);
  expect_message(part);
}

static void check_creation(void) {
  CLEANUP(tsi_transport_destroy) tsi_transport *transport;
  CHECK_STATUS(tsi_transport_create(&env, MPI_COMM_NULL, kind, false, TRISTAR_OK, &transport),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tsi_transport_create(&env, MPI_COMM_WORLD, TSI_TRANSPORT_KINDS, false, TRISTAR_OK, &transport),
               TRISTAR_ERR_ARGUMENT);
  CHECK(transport == NULL);
}

/* StarPU-MPI serves one transport at a time; a transport of the other kind works at the same time. */
static void check_second(void) {
  CLEANUP(tsi_transport_destroy) tsi_transport *second;
  CHECK_STATUS(tsi_transport_create(&env, MPI_COMM_WORLD, kind, false, TRISTAR_OK, &second),
               TRISTAR_ERR_UNSUPPORTED);
  CHECK(second == NULL);
  expect_message("has StarPU-MPI already");
  CHECK_OK(tsi_transport_create(&env, MPI_COMM_WORLD, TSI_TRANSPORT_DIRECT, false, TRISTAR_OK, &second));
  check_runs(second, 4 * ranks, 5, runs());
}

static void check_traffic(tsi_transport *transport, bool tasks) {
  const int token_runs = kind == TSI_TRANSPORT_DIRECT ? runs() : 1;
  CHECK(tsi_transport_rank(transport) == rank && tsi_transport_size(transport) == ranks);
  check_empty(transport);
  check_late(transport);
  for (uint64_t seed = 1; seed <= (kind == TSI_TRANSPORT_DIRECT ? 3 : 1); seed++)
    check_runs(transport, ranks > 4 ? 20 : 6 * ranks, seed, runs());
  check_two(transport, 4 * ranks, runs());
  check_token(transport, false, token_runs);
  if (tasks) check_token(transport, true, token_runs);
  check_agreement(transport);
}

static void check_all(void) {
  tsi_transport *transport;
  check_creation();
  if (kind == TSI_TRANSPORT_DIRECT) { /* without StarPU */
    CHECK_OK(tsi_transport_create(&env, MPI_COMM_WORLD, kind, false, TRISTAR_OK, &transport));
    check_traffic(transport, false);
    tsi_transport_destroy(&transport);
  }
  CHECK(starpu_init(NULL) == 0);
  check_allocations();
  for (int turn = 0; turn < (kind == TSI_TRANSPORT_DIRECT ? 2 : 1); turn++) {
    CHECK_OK(tsi_transport_create(&env, MPI_COMM_WORLD, kind, false, TRISTAR_OK, &transport));
    check_traffic(transport, true);
    check_arguments(transport);
    if (kind == TSI_TRANSPORT_DIRECT) check_lengths(transport);
    if (kind == TSI_TRANSPORT_STARPU_MPI) check_second();
    tsi_transport_destroy(&transport);
  }
  starpu_shutdown();
  if (kind == TSI_TRANSPORT_STARPU_MPI) {
    CHECK_STATUS(tsi_transport_create(&env, MPI_COMM_WORLD, kind, false, TRISTAR_OK, &transport),
                 TRISTAR_ERR_UNSUPPORTED);
    expect_message("needs StarPU");
  }
}

static void check_funneled(void) {
  int level;
  tsi_transport *transport;
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) == MPI_SUCCESS);
  if (level == MPI_THREAD_FUNNELED) {
    CHECK_STATUS(
        tsi_transport_create(&env, MPI_COMM_WORLD, TSI_TRANSPORT_DIRECT, false, TRISTAR_OK, &transport),
        TRISTAR_ERR_UNSUPPORTED);
    CHECK(transport == NULL);
    expect_message("MPI_THREAD_FUNNELED");
    ranks = 1;
    CHECK_OK(tsi_transport_create(&env, MPI_COMM_WORLD, TSI_TRANSPORT_DIRECT, true, TRISTAR_OK, &transport));
    check_traffic(transport, false);
    tsi_transport_destroy(&transport);
  }
  MPI_Finalize();
  if (level != MPI_THREAD_FUNNELED) SKIP("this MPI gives thread level %d where FUNNELED is asked for", level);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  int level;
  CHECK(argc == 2);
  tsi_env_init(&env);
  if (strcmp(argv[1], "funneled") == 0) {
    RUN(check_funneled());
  } else {
    while (kind < TSI_TRANSPORT_KINDS && strcmp(argv[1], tsi_transport_kind_name(kind)) != 0) kind++;
    CHECK(kind < TSI_TRANSPORT_KINDS);
    const int wanted = kind == TSI_TRANSPORT_DIRECT ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
    RUN(check_no_mpi("not initialized"));
    CHECK(MPI_Init_thread(NULL, NULL, wanted, &level) == MPI_SUCCESS);
    if (level < wanted) SKIP("this MPI gives thread level %d, %d is needed", level, wanted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    RUN(check_all());
    MPI_Finalize();
    RUN(check_no_mpi("finalized"));
  }
  CHECK(atomic_load(&env.memory.current) == 0);
  return 0;
}
