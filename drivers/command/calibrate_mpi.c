/* `mpiexec -n N tristar calibrate --cluster FILE`: describes the cluster that the processes run on, for
 * `tristar simulate --machine FILE`.
 *
 * Reads   the calibration of rank 0, messages of rank 0.   Writes  the file, on rank 0. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "drivers/command/solve.h"
#include "drivers/report/report.h"
#include "drivers/session/cluster.h"
#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/session/files.h"
#include "drivers/session/launcher.h"

#ifndef TSI_HAVE_MPI

int tsi_calibrate_cluster(const tsi_settings *settings) {
  (void)settings;
  return tsi_fail_without_mpi("calibrate", "--cluster");
}

#else

#include "tristar_mpi.h"

static void name_cluster(tsi_cluster *cluster, int ranks) {
  char host[40] = "";
  (void)gethostname(host, sizeof host - 1);
  cluster->topology = cluster->model.ranks_per_node < ranks ? TSI_TOPOLOGY_CROSSBAR : TSI_TOPOLOGY_NONE;
  snprintf(cluster->name, sizeof cluster->name, "%s, measured by %d process%s",
           host[0] != '\0' ? host : "this machine", ranks, ranks == 1 ? "" : "es");
}

static void print_messages(const char *label, const char *where, double latency, double overhead,
                           double rate) {
  tsi_report(label, "%s: %s, of which %s on each core; %.2f GB/s", where,
             tsi_text_seconds(latency + 2 * overhead), tsi_text_seconds(overhead), 1e-9 * rate);
}

static void print_report(const tsi_session *s, const tristar_cluster *c, int ranks,
                         const tristar_calibration *calibration) {
  tsi_console_clear();
  tsi_report("processes", "%d, of which %d on the node of the first; %s each", ranks, c->ranks_per_node,
             tsi_text_many(c->cores, "core"));
  tsi_report("reading", "%.1f GB/s by one core%s", 1e-9 * c->core_bytes_per_second,
             calibration->source == TRISTAR_CALIBRATION_DEFAULTS
                 ? ": assumed, as this machine has not been calibrated (tristar calibrate)"
                 : "");
  tsi_report("products", "%.1f GF/s by one core", 1e-9 * c->dense_flops_per_second);
  if (c->ranks_per_node > 1)
    print_messages("messages", "on a node", c->local_latency_seconds, c->local_overhead_seconds,
                   c->local_bytes_per_second);
  if (c->ranks_per_node < ranks)
    print_messages(c->ranks_per_node > 1 ? "" : "messages", "between nodes", c->latency_seconds,
                   c->overhead_seconds, c->bytes_per_second);
  else
    tsi_report(c->ranks_per_node > 1 ? "" : "messages",
               "between nodes: assumed, as all processes are on one");
  tsi_report("written", "%s", tsi_output_name(s->settings->cluster));
}

/* Called after MPI_Init: if a process ends before, mpiexec may end rank 0 before it prints the error. */
static int check_words(const tsi_settings *settings, int rank) {
  if (settings->json == NULL) return TSI_EXIT_OK;
  tsi_console_mute(rank > 0); /* rank 0 says the same */
  const int wrong =
      tsi_usage_error("calibrate", "--json cannot be combined with --cluster, which writes JSON");
  tsi_console_mute(false);
  return wrong;
}

static int measure(const tsi_settings *given, const void *none) {
  (void)none;
  tsi_session session, *s = &session;
  tsi_cluster cluster = {.name = ""};
  tristar_calibration calibration;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int wrong = check_words(given, rank);
  if (wrong != TSI_EXIT_OK) return wrong;
  tsi_settings settings = tsi_settings_of_rank(given, rank);
  bool ok = tsi_session_open(s, &settings, "calibration") &&
            tsi_session_check(s, tristar_get_calibration(s->ts, &calibration), "calibration");
  const bool all = tsi_all_ranks_say(ok);
  tristar_cluster_init(&cluster.model);
  if (settings.workers > 0) cluster.model.cores = (int)settings.workers;
  if (all)
    ok = tsi_session_check(s, tristar_mpi_measure_cluster(s->ts, MPI_COMM_WORLD, &cluster.model), "cluster");
  if (all && ok && rank == 0) {
    name_cluster(&cluster, ranks);
    ok = tsi_json_put(settings.cluster, tsi_cluster_json(&cluster)) ||
         tsi_session_fail(s, TRISTAR_ERR_IO, "cannot write %s: %s", tsi_output_name(settings.cluster),
                          strerror(errno));
    if (ok && !settings.to_stdout) print_report(s, &cluster.model, ranks, &calibration);
  }
  return tsi_close_on_rank(s, rank, tsi_rank_0_says(all && ok));
}

int tsi_calibrate_cluster(const tsi_settings *settings) {
  return tsi_run_mpi(measure, settings, NULL);
}

#endif
