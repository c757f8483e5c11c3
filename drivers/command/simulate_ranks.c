/* `tristar simulate MATRIX --ranks P`: the time of a distributed solve on a cluster, by simulation of all of
 * its processes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/command/simulate_ranks.h"
#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/session/files.h"
#include "drivers/session/layout.h"
#include "drivers/report/report.h"

typedef struct simulated {
  tsi_session session;
  tristar_layout layout;
  tsi_cluster cluster;
  int64_t nrhs, tried; /* layouts that were simulated */
  tristar_simulated best;
} simulated;

/* ---- What is wanted ----------------------------------------------------------------------------------- */

static bool read_machine(simulated *m) {
  tsi_session *s = &m->session;
  const char *path = s->settings->machine;
  char wrong[120];
  cJSON *file = path != NULL ? tsi_json_load(path) : NULL;
  const int problem = errno;
  if (path != NULL && file == NULL)
    return problem != 0 ? tsi_session_fail(s, TRISTAR_ERR_IO, "cannot read %s: %s", tsi_input_name(path),
                                           strerror(problem))
                        : tsi_session_fail(s, TRISTAR_ERR_FORMAT, "%s: not JSON", tsi_input_name(path));
  tsi_cluster_read(file, &m->cluster, wrong, sizeof wrong);
  cJSON_Delete(file);
  return *wrong == '\0' || tsi_session_fail(s, TRISTAR_ERR_FORMAT, "%s: %s", tsi_input_name(path), wrong);
}

static int read_layout(const tsi_settings *settings, tristar_layout *layout) {
  tsi_settings with = *settings;
  if (with.layout == NULL) with.layout = "auto";
  const int status = tsi_layout_read("simulate", &with, layout);
  if (status != TSI_EXIT_OK) return status;
  if (layout->px == 0 && settings->ranks == 0)
    return tsi_usage_error("simulate", "--layout auto needs --ranks");
  if (layout->px > 0 && settings->ranks > 0 &&
      (int64_t)layout->px * layout->py * layout->pz != settings->ranks)
    return tsi_usage_error("simulate", "--layout %s is not one of %lld processes", settings->layout,
                           (long long)settings->ranks);
  if (layout->px == 0 && settings->algo == 2)
    return tsi_usage_error("simulate", "--algo 2d needs a layout such as --layout 2x3x1");
  return TSI_EXIT_OK;
}

/* ---- Simulations -------------------------------------------------------------------------------------- */

static tristar_status simulate(simulated *m, tristar_layout layout) {
  tristar_simulated now;
  const tristar_status status =
      tristar_layout_predict(m->session.analysis, &layout, m->nrhs, &m->cluster.model, &now);
  if (status != TRISTAR_OK || (m->tried++ > 0 && now.seconds >= m->best.seconds)) return status;
  m->best = now;
  m->layout = layout;
  return TRISTAR_OK;
}

/* The best layout again, for its files or by SimGrid. */
static bool simulate_again(simulated *m) {
  tsi_session *s = &m->session;
  const tsi_settings *settings = s->settings;
  tsi_predicted p = {NULL, NULL};
  if (settings->goal != NULL && m->cluster.model.cores > 1)
    return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED, "--goal: processes have one core in this format");
  if (settings->network == 0 && settings->gantt == NULL && settings->goal == NULL) return true;
  bool ok = tsi_session_check(
      s,
      settings->network == 1
          ? tsi_simulate_by_simgrid(s->analysis, &m->layout, m->nrhs, &m->cluster, &m->best, &p)
          : tsi_layout_simulate(s->analysis, &m->layout, m->nrhs, &m->cluster.model, NULL, &m->best, &p),
      s->name);
  if (ok && settings->gantt != NULL && !tsi_simulate_write_gantt(&p, s->name, settings->gantt))
    ok = tsi_session_fail(s, TRISTAR_ERR_IO, "cannot write %s: %s", settings->gantt, strerror(errno));
  if (ok && settings->goal != NULL && !tsi_simulate_write_goal(&p, settings->goal))
    ok = tsi_session_fail(s, TRISTAR_ERR_IO, "cannot write %s: %s", settings->goal, strerror(errno));
  tsi_predicted_release(s->analysis, &p);
  return ok;
}

/* All shapes of so many processes; more grids than the separator tree has leaves are refused. */
static tristar_status simulate_all(simulated *m, int ranks, int grids) {
  tristar_layout layout = m->layout;
  for (layout.pz = 1; layout.pz <= grids; layout.pz *= 2)
    for (layout.px = 1; layout.px * layout.pz <= ranks; layout.px++) {
      layout.py = ranks / layout.px / layout.pz;
      if (layout.px * layout.py * layout.pz != ranks) continue;
      const tristar_status status = simulate(m, layout);
      if (status == TRISTAR_ERR_ARGUMENT && m->tried > 0) return TRISTAR_OK;
      if (status != TRISTAR_OK) return status;
    }
  return TRISTAR_OK;
}

static bool run(simulated *m) {
  enum { GRIDS_MOST = 64 };
  tsi_session *s = &m->session;
  const bool given = m->layout.px > 0;
  if (!read_machine(m) || !tsi_session_read(s)) return false;
  for (s->leaf_parts = 1; s->leaf_parts < GRIDS_MOST && s->settings->ranks % (2 * s->leaf_parts) == 0;)
    s->leaf_parts *= 2;
  if (given) s->leaf_parts = m->layout.pz;
  return tsi_session_analyze(s) &&
         tsi_session_check(
             s, given ? simulate(m, m->layout) : simulate_all(m, (int)s->settings->ranks, s->leaf_parts),
             s->name) &&
         simulate_again(m);
}

/* ---- The report --------------------------------------------------------------------------------------- */

static void print_share(const simulated *m, const char *label, const tristar_range *seconds) {
  const double whole = m->best.seconds * m->cluster.model.cores;
  tsi_report("", "%-28s %6.1f %%   %s to %s", label, whole > 0 ? 100 * seconds->mean / whole : 0.0,
             tsi_text_seconds(seconds->min), tsi_text_seconds(seconds->max));
}

static void print_report(const simulated *m) {
  const tristar_simulated *b = &m->best;
  const tristar_cluster *c = &m->cluster.model;
  const tristar_layout *layout = &m->layout;
  tsi_console_clear();
  tsi_report_matrix(&m->session);
  tsi_report_analysis(&m->session);
  tsi_report("cluster", "%s: %d process%s a node, %s each", m->cluster.name, c->ranks_per_node,
             c->ranks_per_node == 1 ? "" : "es", tsi_text_many(c->cores, "core"));
  tsi_report("layout", "%d x %d x %d: %s processes, %s algorithm, %s map, %s trees", layout->px, layout->py,
             layout->pz, tsi_text_count(b->ranks), tsi_algorithm_name(m->session.settings),
             tsi_map_name(layout->map), tsi_tree_name(layout->message_tree));
  if (m->tried > 1) tsi_report("", "the fastest of %s", tsi_text_many(m->tried, "layout"));
  tsi_report("network", "%s",
             m->session.settings->network == 1 ? "SimGrid: processes share memory and links"
                                               : "LogGP: messages do not disturb each other");
  tsi_report("solve", "%s with %s; %s", tsi_text_seconds(b->seconds),
             tsi_text_many(m->nrhs, "right-hand side"), tsi_text_many(b->steps, "step"));
  tsi_report("", "a process spends on average, and from the least to the most:");
  print_share(m, "arithmetic", &b->arithmetic);
  print_share(m, "messages inside its grid", &b->inside);
  print_share(m, "messages between grids", &b->between);
  print_share(m, "waiting", &b->waiting);
  tsi_report("balance", "%.2f: the most arithmetic of a process over the mean", b->balance);
  tsi_report("path", "%s of arithmetic, %s and %s of messages inside grids and between them: %s",
             tsi_text_seconds(b->path_arithmetic_seconds), tsi_text_seconds(b->path_inside_seconds),
             tsi_text_seconds(b->path_between_seconds), tsi_text_many(b->path_messages, "message"));
  tsi_report("messages", "%s, %s; a process sends %.0f to %.0f",
             tsi_text_many((int64_t)b->all.sent.total, "message"), tsi_text_bytes(b->all.sent_bytes.total),
             b->all.sent.min, b->all.sent.max);
}

static cJSON *make_json(const simulated *m) {
  const tristar_simulated *b = &m->best;
  cJSON *object = tsi_json_session(&m->session), *o;
  if (b->ranks == 0) return object; /* it failed */
  cJSON_AddStringToObject(object, "cluster", m->cluster.name);
  cJSON_AddStringToObject(object, "network", m->session.settings->network == 1 ? "simgrid" : "loggp");
  o = tsi_json_add_layout(object, &m->session, &m->layout);
  TSI_JSON_NUMBERS(o, {"nrhs", (double)m->nrhs}, {"ranks", (double)b->ranks}, {"tried", (double)m->tried},
                   {"steps", (double)b->steps}, {"balance", b->balance});
  tsi_json_add_messages(o, "broadcast", &b->broadcast);
  tsi_json_add_messages(o, "reduction", &b->reduction);
  tsi_json_add_messages(o, "grids", &b->grids);
  tsi_json_add_messages(o, "all", &b->all);
  TSI_JSON_NUMBERS(object, {"simulated_s", b->seconds}, {"path_arithmetic_s", b->path_arithmetic_seconds},
                   {"path_inside_s", b->path_inside_seconds}, {"path_between_s", b->path_between_seconds},
                   {"path_messages", (double)b->path_messages});
  tsi_json_add_range(object, "arithmetic_s", &b->arithmetic);
  tsi_json_add_range(object, "inside_s", &b->inside);
  tsi_json_add_range(object, "between_s", &b->between);
  tsi_json_add_range(object, "waiting_s", &b->waiting);
  return object;
}

int tsi_simulate_ranks(const tsi_settings *settings) {
  simulated m = {.nrhs = settings->nrhs > 0 ? settings->nrhs : 1};
  if (settings->gantt != NULL && tsi_file_is_standard(settings->gantt))
    return tsi_usage_error("simulate", "--gantt cannot be -");
  const int status = read_layout(settings, &m.layout);
  if (status != TSI_EXIT_OK) return status;
  const bool ok = tsi_session_open(&m.session, settings, settings->operand[0]) && run(&m);
  if (ok && !settings->to_stdout) print_report(&m);
  tsi_json_write(&m.session, make_json(&m));
  return tsi_session_close(&m.session);
}
