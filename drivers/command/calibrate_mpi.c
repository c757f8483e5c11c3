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

static int check_words(tsi_settings *settings, int ranks, void *state) {
  (void)ranks;
  (void)state;
  if (settings->json == NULL) return TSI_EXIT_OK;
  return tsi_usage_error("calibrate", "--json cannot be combined with --cluster, which writes JSON");
}

static bool measure(tsi_session *s, void *state) {
  tsi_cluster cluster = {.name = ""};
  tristar_calibration calibration;
  const char *out = s->settings->cluster;
  (void)state;
  bool ok =
      tsi_all_ranks_say(s, tsi_session_check(s, tristar_get_calibration(s->ts, &calibration), "calibration"));
  tristar_cluster_init(&cluster.model);
  if (s->settings->workers > 0) cluster.model.cores = (int)s->settings->workers;
  ok = ok &&
       tsi_session_check(s, tristar_mpi_measure_cluster(s->ts, MPI_COMM_WORLD, &cluster.model), "cluster");
  if (!ok || s->rank > 0) return ok;
  name_cluster(&cluster, s->ranks);
  ok = tsi_json_put(out, tsi_cluster_json(&cluster)) ||
       tsi_session_fail(s, TRISTAR_ERR_IO, "cannot write %s: %s", tsi_output_name(out), strerror(errno));
  if (ok && !s->settings->to_stdout) print_report(s, &cluster.model, s->ranks, &calibration);
  return ok;
}

int tsi_calibrate_cluster(const tsi_settings *settings) {
  static const tsi_ranks_command command = {.check = check_words, .run = measure};
  return tsi_run_on_ranks(&command, settings, "calibration", NULL);
}

#endif
