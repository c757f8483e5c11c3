/* Ping-pong between two ranks through recorded StarPU tasks: the cost of a hop, which is a message and a
 * task.
 *
 * A run sends ROUNDS messages in each direction, each once, as a solve does: the arrival of a message submits
 * a recorded task, which sends the answer. Time of a hop = time of a run / (2 ROUNDS). For each transport and
 * size: the smallest, the median and the largest of --runs runs, after a warm-up. Ranks other than the first
 * two are idle. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>

#include "runtime/mpi/comm/transport.h"

enum { ROUNDS = 64, RUNS_MOST = 1000 };

static const char usage[] =
    "usage: mpiexec -n 2 mpi_pingpong [--transport direct|starpu_mpi] [--runs N] [--help]\n"
    "\n"
    "Sends messages of 8 B to 512 KB to and fro between two ranks through recorded StarPU tasks, and prints "
    "the\n"
    "microseconds of a hop (message and task): smallest, median, largest of N runs (21) of 64 rounds.\n"
    "Both transports unless one is named. One worker for each rank: STARPU_NCPU=1; each on a core of its "
    "own:\n"
    "  mpiexec -n 1 env STARPU_WORKERS_CPUID=0 mpi_pingpong : -n 1 env STARPU_WORKERS_CPUID=1 mpi_pingpong\n";

typedef struct game game;
typedef struct ball {
  game *game;
  int round;
} ball;

struct game {
  tsi_mailbox *mailbox;
  int rank, status; /* status: the first failure of a send, 0: none */
  ball ball[ROUNDS];
  struct starpu_task task[ROUNDS];
  char *in, *out; /* one message each: only one is in flight at a time */
};

/* Rank 1 answers in the same round, rank 0 in the next one. */
static void answer(void *buffers[], void *arg) {
  const ball *b = arg;
  const int next = b->game->rank == 0 ? b->round + 1 : b->round;
  (void)buffers;
  if (next == ROUNDS) return;
  const tristar_status status = tsi_mailbox_send(b->game->mailbox, next);
  if (status != TRISTAR_OK) b->game->status = (int)status;
}

static void arrived(void *context, tsi_index receive) {
  game *g = context;
  if (starpu_task_submit(&g->task[receive]) != 0) g->status = TRISTAR_ERR_RUNTIME;
}

static struct starpu_codelet codelet = {.cpu_funcs = {answer}, .nbuffers = 0, .name = "answer"};

static tristar_status game_create(tsi_transport *transport, size_t bytes, game *g) {
  tsi_channel receive[ROUNDS], send[ROUNDS];
  memset(g, 0, sizeof *g);
  g->rank = tsi_transport_rank(transport);
  const bool plays = g->rank < 2;
  g->in = calloc(bytes, 1);
  g->out = calloc(bytes, 1);
  if (g->in == NULL || g->out == NULL) return TRISTAR_ERR_MEMORY;
  for (int k = 0; k < ROUNDS; k++) {
    receive[k] = (tsi_channel){1 - g->rank, k, g->in, bytes};
    send[k] = (tsi_channel){1 - g->rank, k, g->out, bytes};
    g->ball[k] = (ball){g, k};
    starpu_task_init(&g->task[k]);
    g->task[k].cl = &codelet;
    g->task[k].cl_arg = &g->ball[k];
    g->task[k].detach = 0;
    g->task[k].destroy = 0;
  }
  const tsi_index messages = plays ? ROUNDS : 0;
  return tsi_mailbox_create(transport, messages, receive, messages, send, arrived, g, &g->mailbox);
}

static void game_destroy(game *g) {
  tsi_mailbox_destroy(&g->mailbox);
  for (int k = 0; k < ROUNDS; k++) starpu_task_clean(&g->task[k]);
  free(g->in);
  free(g->out);
}

/* Seconds of a run. */
static tristar_status game_run(game *g, MPI_Comm comm, double *seconds) {
  if (MPI_Barrier(comm) != MPI_SUCCESS) return TRISTAR_ERR_RUNTIME;
  tristar_status status = tsi_mailbox_start(g->mailbox, NULL, g->rank < 2 ? ROUNDS : 0);
  if (status != TRISTAR_OK) return status;
  if (MPI_Barrier(comm) != MPI_SUCCESS) return TRISTAR_ERR_RUNTIME;
  const double start = MPI_Wtime();
  if (g->rank == 0) status = tsi_mailbox_send(g->mailbox, 0);
  if (status == TRISTAR_OK) status = tsi_mailbox_wait(g->mailbox);
  *seconds = MPI_Wtime() - start;
  for (int k = 0; k < ROUNDS && g->rank < 2 && status == TRISTAR_OK; k++)
    if (starpu_task_wait(&g->task[k]) != 0) status = TRISTAR_ERR_RUNTIME;
  return status != TRISTAR_OK ? status : (tristar_status)g->status;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static tristar_status play(tsi_transport *transport, tsi_transport_kind kind, size_t bytes, int runs) {
  static game g;
  static double hop[RUNS_MOST];
  double seconds = 0;
  MPI_Comm comm = tsi_transport_comm(transport);
  tristar_status status = game_create(transport, bytes, &g);
  for (int run = -3; run < runs && status == TRISTAR_OK; run++) {
    status = game_run(&g, comm, &seconds);
    if (run >= 0) hop[run] = 1e6 * seconds / (2 * ROUNDS);
  }
  if (status == TRISTAR_OK && g.rank == 0) {
    qsort(hop, (size_t)runs, sizeof *hop, compare);
    printf("%-12s %9zu %12.2f %12.2f %12.2f\n", tsi_transport_kind_name(kind), bytes, hop[0], hop[runs / 2],
           hop[runs - 1]);
    fflush(stdout);
  }
  game_destroy(&g);
  return status;
}

static void measure(tsi_env *env, tsi_transport_kind kind, int runs) {
  tsi_transport *transport;
  tristar_status status = tsi_transport_create(env, MPI_COMM_WORLD, kind, false, TRISTAR_OK, &transport);
  if (status == TRISTAR_OK && tsi_transport_size(transport) < 2)
    status = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "two ranks are needed");
  for (size_t bytes = 8; bytes <= (size_t)1 << 20 && status == TRISTAR_OK; bytes *= bytes == 8 ? 16 : 8)
    status = play(transport, kind, bytes, runs);
  if (status != TRISTAR_OK) {
    fprintf(stderr, "mpi_pingpong: %s: %s\n", tristar_status_name(status), tsi_error_text(env));
    MPI_Abort(MPI_COMM_WORLD, 1); /* the other rank would wait */
  }
  tsi_transport_destroy(&transport);
}

int main(int argc, char **argv) {
  const char *wanted = NULL;
  int runs = 21, level, rank;
  tsi_env env;
  for (int k = 1; k < argc; k++) {
    if (strcmp(argv[k], "--help") == 0) return fputs(usage, stdout) < 0;
    if (strcmp(argv[k], "--transport") == 0 && k + 1 < argc)
      wanted = argv[++k];
    else if (strcmp(argv[k], "--runs") == 0 && k + 1 < argc)
      runs = (int)strtol(argv[++k], NULL, 10);
    else
      return fputs(usage, stderr), 2;
  }
  if (runs < 1 || runs > RUNS_MOST) return fputs(usage, stderr), 2;
  tsi_env_init(&env);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (starpu_init(NULL) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%-12s %9s %12s %12s %12s\n", "transport", "bytes", "us/hop min", "median", "max");
  for (int kind = 0; kind < TSI_TRANSPORT_KINDS; kind++)
    if (wanted == NULL || strcmp(wanted, tsi_transport_kind_name((tsi_transport_kind)kind)) == 0)
      measure(&env, (tsi_transport_kind)kind, runs);
  starpu_shutdown();
  MPI_Finalize();
  return 0;
}
