/* `tristar simulate MATRIX --ranks P`: the time of a distributed solve or factorization on a cluster, by
 * simulation of all processes. --ranks P,Q,...: curves. */
#include <errno.h>
#include <stdio.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/command/simulate_ranks.h"
#include "drivers/draw/picture.h"
#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/session/files.h"
#include "drivers/session/layout.h"
#include "drivers/session/lists.h"
#include "drivers/report/report.h"
#include "runtime/process/layout_words.h"

#define RANKS_MOST (1 << 20)
/* Well-known layouts, for a comparison with the fastest one. */
enum { EACH_A_GRID, ONE_GRID, SIXTEEN_GRIDS, RIVALS };
static const char *const rivals[RIVALS] = {
    [EACH_A_GRID] = "each process a grid", [ONE_GRID] = "a single grid", [SIXTEEN_GRIDS] = "16 grids"};

typedef struct simulated {
  tsi_session session;
  tristar_layout layout;
  tsi_cluster cluster;
  int64_t ranks[TSI_LIST_MAX]; /* numbers of --ranks */
  int numbers;                 /* length of ranks */
  int64_t nrhs;                /* 0: a factorization */
  int64_t tried;               /* number of simulated layouts */
  tristar_simulated best;
  tsi_simulate_point rival[RIVALS]; /* used if --ranks has one number; seconds 0: none */
  tsi_simulate_curves curves;       /* used if --ranks has several numbers */
} simulated;

/* ---- Options ------------------------------------------------------------------------------------------ */

static bool read_machine(simulated *m) {
  tsi_session *s = &m->session;
  const char *path = s->settings->machine;
  char wrong[120], found[PATH_MAX];
  tristar_calibration here;
  if (path != NULL && strcmp(path, "here") == 0) {
    if (!tsi_session_check(s, tristar_get_calibration(s->ts, &here), "this machine")) return false;
    tsi_cluster_of_calibration(&here, &m->cluster);
    return true;
  }
  if (path != NULL && access(path, F_OK) != 0 && tsi_cluster_find(path, found, sizeof found)) path = found;
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

static int compare_numbers(const void *a, const void *b) {
  const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
  return (one > other) - (one < other);
}

static int read_layout(const tsi_settings *settings, simulated *m) {
  tristar_layout *layout = &m->layout;
  tsi_settings with = *settings;
  const char *ranks = settings->ranks_list;
  const bool shape = ranks != NULL && strchr(ranks, 'x') != NULL && strchr(ranks, ',') == NULL;
  if (shape && with.layout != NULL)
    return tsi_usage_error("simulate", "--ranks %s is a layout: without --layout", ranks);
  if (with.layout == NULL) with.layout = shape ? ranks : "auto";
  int status = tsi_layout_read("simulate", &with, layout);
  if (status == TSI_EXIT_OK && ranks != NULL && !shape)
    status = tsi_list_numbers("simulate", "ranks", ranks, RANKS_MOST, 0, m->ranks, &m->numbers);
  if (status != TSI_EXIT_OK) return status;
  qsort(m->ranks, (size_t)m->numbers, sizeof *m->ranks, compare_numbers);
  if (layout->px > 0 && settings->square)
    return tsi_usage_error("simulate", "--square needs numbers in --ranks, not the layout %s", with.layout);
  if (layout->px == 0 && m->numbers == 0) return tsi_usage_error("simulate", "--layout auto needs --ranks");
  if (layout->px > 0 && m->numbers > 0 &&
      (m->numbers > 1 || (int64_t)layout->px * layout->py * layout->pz != m->ranks[0]))
    return tsi_usage_error("simulate", "--layout %s is not one of %s processes", settings->layout, ranks);
  if (m->numbers > 1 && (settings->network == 1 || settings->gantt != NULL || settings->goal != NULL))
    return tsi_usage_error("simulate", "--network simgrid, --gantt and --goal go with one number in --ranks");
  if (m->numbers <= 1 && settings->svg != NULL)
    return tsi_usage_error("simulate",
                           "--svg draws curves: it needs several numbers, such as --ranks 16,32,64");
  return settings->svg != NULL ? tsi_picture_check("simulate", "svg", settings->svg) : TSI_EXIT_OK;
}

/* ---- Simulations -------------------------------------------------------------------------------------- */

static tristar_status simulate(const simulated *m, const tristar_layout *layout, tsi_simulate_point *out) {
  out->layout = *layout;
  if (m->nrhs == 0)
    return tristar_layout_predict_factor(m->session.analysis, layout, &m->cluster.model, &out->figures);
  return tristar_layout_predict(m->session.analysis, layout, m->nrhs, &m->cluster.model, &out->figures);
}

static void keep_faster(tsi_simulate_point *kept, const tsi_simulate_point *now) {
  if (kept->figures.ranks == 0 || now->figures.seconds < kept->figures.seconds) *kept = *now;
}

static void note_rival(simulated *m, const tsi_simulate_point *now) {
  const tristar_layout *layout = &now->layout;
  if (m->numbers > 1 || !tsi_layout_is_squarest(layout)) return;
  if (layout->px * layout->py == 1 && layout->pz > 1) keep_faster(&m->rival[EACH_A_GRID], now);
  if (layout->pz == 1) keep_faster(&m->rival[ONE_GRID], now);
  if (layout->pz == 16) keep_faster(&m->rival[SIXTEEN_GRIDS], now);
}

/* Simulates all shapes of so many processes in layout.pz grids. */
static tristar_status simulate_shapes(simulated *m, int ranks, tristar_layout layout,
                                      tsi_simulate_point *best) {
  *best = (tsi_simulate_point){.figures.ranks = 0};
  for (layout.px = 1; layout.px * layout.pz <= ranks; layout.px++) {
    tsi_simulate_point now;
    layout.py = ranks / layout.px / layout.pz;
    if (layout.px * layout.py * layout.pz != ranks) continue;
    if (m->session.settings->square && (layout.px > layout.py || !tsi_layout_is_squarest(&layout))) continue;
    const tristar_status status = simulate(m, &layout, &now);
    if (status != TRISTAR_OK) return status;
    m->tried++;
    keep_faster(best, &now);
    note_rival(m, &now);
  }
  return TRISTAR_OK;
}

/* Simulates all layouts of so many processes with at most `grids` grids: the leaves of the separator tree. */
static tristar_status simulate_all(simulated *m, int ranks, int grids, tsi_simulate_point *best) {
  tristar_layout layout = m->layout;
  *best = (tsi_simulate_point){.figures.ranks = 0};
  for (layout.pz = 1; layout.pz <= grids && ranks % layout.pz == 0; layout.pz *= 2) {
    tsi_simulate_point now;
    const tristar_status status = simulate_shapes(m, ranks, layout, &now);
    if (status == TRISTAR_ERR_ARGUMENT && layout.pz > 1) return TRISTAR_OK;
    if (status != TRISTAR_OK) return status;
    keep_faster(best, &now);
    if (m->curves.point != NULL) m->curves.point[m->curves.count++] = now;
  }
  return TRISTAR_OK;
}

static tristar_status simulate_requested(simulated *m) {
  tsi_simulate_point best;
  tristar_status status = TRISTAR_OK;
  if (m->layout.px > 0) {
    status = simulate(m, &m->layout, &best);
    m->tried = 1;
  }
  for (int k = 0; k < m->numbers && m->layout.px == 0 && status == TRISTAR_OK; k++)
    status = simulate_all(m, (int)m->ranks[k], m->session.leaf_parts, &best);
  if (status != TRISTAR_OK) return status;
  m->best = best.figures;
  m->layout = best.layout;
  return TRISTAR_OK;
}

/* Simulates the best layout again, for its files or by SimGrid. */
static bool simulate_again(simulated *m) {
  tsi_session *s = &m->session;
  const tsi_settings *settings = s->settings;
  tsi_predicted p = {NULL, NULL};
  if (settings->goal != NULL && !tsi_cluster_in_order(&m->cluster.model))
    return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED,
                            "--goal: processes run their steps in order in this format, with one core");
  if (settings->network == 0 && settings->gantt == NULL && settings->goal == NULL) return true;
  bool ok = tsi_session_check(
      s,
      settings->network == 1
          ? tsi_simulate_by_simgrid(s->analysis, &m->layout, m->nrhs, &m->cluster, &m->best, &p)
          : tsi_layout_simulate(s->analysis, &m->layout, m->nrhs, &m->cluster.model, NULL, &m->best, &p),
      s->name);
  if (ok && settings->gantt != NULL && !tsi_simulate_write_gantt(&p, m->nrhs == 0, s->name, settings->gantt))
    ok = tsi_session_fail(s, TRISTAR_ERR_IO, "cannot write %s: %s", settings->gantt, strerror(errno));
  if (ok && settings->goal != NULL && !tsi_simulate_write_goal(&p, settings->goal))
    ok = tsi_session_fail(s, TRISTAR_ERR_IO, "cannot write %s: %s", settings->goal, strerror(errno));
  tsi_predicted_release(s->analysis, &p);
  return ok;
}

/* Returns the leaves of the separator tree: the maximum number of grids of any number of processes. */
static int choose_leaves(const simulated *m) {
  int most = 1;
  if (m->layout.px > 0) return m->layout.pz;
  for (int k = 0; k < m->numbers && m->session.settings->algo != 2; k++) {
    int grids = 1;
    while (grids < TSI_SIMULATE_GRIDS && m->ranks[k] % (2 * grids) == 0) grids *= 2;
    if (grids > most) most = grids;
  }
  return most;
}

static bool run(simulated *m) {
  tsi_session *s = &m->session;
  if (!read_machine(m) || !tsi_session_read(s)) return false;
  s->leaf_parts = choose_leaves(m);
  if (m->numbers > 1) {
    m->curves.point = calloc((size_t)m->numbers * TSI_SIMULATE_POWERS, sizeof *m->curves.point);
    if (m->curves.point == NULL) return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory");
  }
  return tsi_session_analyze(s) && tsi_session_check(s, simulate_requested(m), s->name) &&
         simulate_again(m) &&
         (s->settings->svg == NULL || tsi_curves_draw(s, &m->curves, m->cluster.name, m->nrhs));
}

/* ---- The report --------------------------------------------------------------------------------------- */

static void print_share(const simulated *m, const char *label, const tristar_range *seconds) {
  const double whole = m->best.seconds * m->cluster.model.cores;
  tsi_report("", "%-28s %6.1f %%   %s to %s", label, whole > 0 ? 100 * seconds->mean / whole : 0.0,
             tsi_text_seconds(seconds->min), tsi_text_seconds(seconds->max));
}

/* Prints how much longer well-known layouts take. */
static void print_rivals(const simulated *m) {
  for (int k = 0; k < RIVALS; k++) {
    const tristar_layout *layout = &m->rival[k].layout;
    const double seconds = m->rival[k].figures.seconds;
    if (seconds > m->best.seconds)
      tsi_report("", "%.2f times as fast as %d x %d x %d, %s", seconds / m->best.seconds, layout->px,
                 layout->py, layout->pz, rivals[k]);
  }
}

static void print_head(const simulated *m) {
  const tristar_cluster *c = &m->cluster.model;
  tsi_console_clear();
  tsi_report_matrix(&m->session);
  tsi_report_analysis(&m->session);
  if (m->cluster.device != NULL)
    tsi_report("cluster", "%s: %s a node, a process each, with %s", m->cluster.name,
               tsi_text_many(c->ranks_per_node, "GPU"), tsi_text_many(c->cores, "resident block"));
  else
    tsi_report("cluster", "%s: %d process%s a node, %s each", m->cluster.name, c->ranks_per_node,
               c->ranks_per_node == 1 ? "" : "es", tsi_text_many(c->cores, "core"));
}

static void print_report(const simulated *m) {
  const tristar_simulated *b = &m->best;
  const tristar_layout *layout = &m->layout;
  print_head(m);
  tsi_report("layout", "%d x %d x %d: %s processes, %s algorithm, %s map, %s trees", layout->px, layout->py,
             layout->pz, tsi_text_count(b->ranks), tsi_algorithm_name(m->session.settings),
             tsi_map_name(layout->map), tsi_tree_name(layout->message_tree));
  if (m->tried > 1) tsi_report("", "the fastest of %s", tsi_text_many(m->tried, "layout"));
  tsi_report("network", "%s",
             m->session.settings->network == 1 ? "SimGrid: processes share memory and links"
                                               : "LogGP: messages do not disturb each other");
  if (m->nrhs == 0)
    tsi_report("factoring", "%s; %s", tsi_text_seconds(b->seconds), tsi_text_many(b->steps, "step"));
  else
    tsi_report("solve", "%s with %s; %s", tsi_text_seconds(b->seconds),
               tsi_text_many(m->nrhs, "right-hand side"), tsi_text_many(b->steps, "step"));
  print_rivals(m);
  tsi_report("", "a process spends on average, and from the least to the most:");
  print_share(m, "arithmetic", &b->arithmetic);
  print_share(m, "messages inside its grid", &b->inside);
  print_share(m, "messages between grids", &b->between);
  print_share(m, "waiting", &b->waiting);
  tsi_report("balance", "%.2f: the most arithmetic of a process over the mean", b->balance);
  tsi_report("path", "%s of arithmetic, %s and %s of messages inside grids and between them: %s",
             tsi_text_seconds(b->path_arithmetic_seconds), tsi_text_seconds(b->path_inside_seconds),
             tsi_text_seconds(b->path_between_seconds), tsi_text_many(b->path_messages, "message"));
  tsi_report("", "its arithmetic: %s with diagonal blocks, %s with other rows, in %s",
             tsi_text_seconds(b->path_diagonal_seconds), tsi_text_seconds(b->path_rows_seconds),
             tsi_text_many(b->path_steps, "step"));
  tsi_report("messages", "%s, %s; a process sends %.0f to %.0f",
             tsi_text_many((int64_t)b->all.sent.total, "message"), tsi_text_bytes(b->all.sent_bytes.total),
             b->all.sent.min, b->all.sent.max);
}

static void print_curves(const simulated *m) {
  print_head(m);
  tsi_report("layouts", "the fastest of each number of processes and grids: %s algorithm, %s map, %s trees",
             tsi_algorithm_name(m->session.settings), tsi_map_name(m->layout.map),
             tsi_tree_name(m->layout.message_tree));
  tsi_report("", "%s simulated, each with %s", tsi_text_many(m->tried, "layout"),
             m->nrhs == 0 ? "a factorization" : tsi_text_many(m->nrhs, "right-hand side"));
  tsi_curves_print(m->nrhs == 0 ? "factoring" : "solves", &m->curves);
}

static void add_rivals(cJSON *object, const simulated *m) {
  cJSON *list = cJSON_AddArrayToObject(object, "rivals");
  for (int k = 0; k < RIVALS; k++) {
    const tristar_layout *layout = &m->rival[k].layout;
    if (m->rival[k].figures.ranks == 0) continue;
    cJSON *o = tsi_json_add_item(list);
    cJSON_AddStringToObject(o, "what", rivals[k]);
    TSI_JSON_NUMBERS(o, {"px", layout->px}, {"py", layout->py}, {"pz", layout->pz},
                     {"simulated_s", m->rival[k].figures.seconds});
  }
}

static cJSON *make_json(const simulated *m) {
  const tristar_simulated *b = &m->best;
  cJSON *object = tsi_json_session(&m->session), *o;
  if (b->ranks == 0) return object; /* it failed */
  cJSON_AddStringToObject(object, "cluster", m->cluster.name);
  cJSON_AddStringToObject(object, "network", m->session.settings->network == 1 ? "simgrid" : "loggp");
  cJSON_AddBoolToObject(object, "factorization", m->nrhs == 0);
  if (m->numbers > 1) {
    cJSON_AddStringToObject(object, "algorithm", tsi_algorithm_name(m->session.settings));
    TSI_JSON_NUMBERS(object, {"nrhs", (double)m->nrhs}, {"tried", (double)m->tried});
    tsi_curves_add_json(object, &m->curves);
    return object;
  }
  o = tsi_json_add_layout(object, &m->session, &m->layout);
  TSI_JSON_NUMBERS(o, {"nrhs", (double)m->nrhs}, {"ranks", (double)b->ranks}, {"tried", (double)m->tried},
                   {"steps", (double)b->steps}, {"balance", b->balance});
  tsi_json_add_messages(o, "broadcast", &b->broadcast);
  tsi_json_add_messages(o, "reduction", &b->reduction);
  tsi_json_add_messages(o, "grids", &b->grids);
  tsi_json_add_messages(o, "all", &b->all);
  TSI_JSON_NUMBERS(object, {m->nrhs == 0 ? "predicted_factor_s" : "predicted_solve_s", b->seconds},
                   {"messages", b->all.sent.total}, {"bytes", b->all.sent_bytes.total},
                   {"path_arithmetic_s", b->path_arithmetic_seconds},
                   {"path_inside_s", b->path_inside_seconds}, {"path_between_s", b->path_between_seconds},
                   {"path_messages", (double)b->path_messages}, {"path_diagonal_s", b->path_diagonal_seconds},
                   {"path_rows_s", b->path_rows_seconds}, {"path_steps", (double)b->path_steps});
  tsi_json_add_range(object, "compute_s", &b->arithmetic);
  tsi_json_add_range(object, "intra_grid_s", &b->inside);
  tsi_json_add_range(object, "inter_grid_s", &b->between);
  tsi_json_add_range(object, "waiting_s", &b->waiting);
  tsi_json_add_range(object, "active_s", &b->active);
  if (m->nrhs > 0) tsi_json_add_range(object, "forward_s", &b->forward);
  if (m->nrhs > 0) tsi_json_add_range(object, "backward_s", &b->backward);
  add_rivals(object, m);
  return object;
}

int tsi_simulate_ranks(const tsi_settings *settings) {
  simulated m = {.nrhs = settings->factorization ? 0 : settings->nrhs > 0 ? settings->nrhs : 1};
  if (settings->factorization && settings->nrhs > 0)
    return tsi_usage_error("simulate", "--nrhs is of solves, --factorization simulates none");
  if (settings->gantt != NULL && tsi_file_is_standard(settings->gantt))
    return tsi_usage_error("simulate", "--gantt cannot be -");
  const int status = read_layout(settings, &m);
  if (status != TSI_EXIT_OK) return status;
  const bool ok = tsi_session_open(&m.session, settings, settings->operand[0]) && run(&m);
  if (ok && !settings->to_stdout) (m.numbers > 1 ? print_curves : print_report)(&m);
  tsi_json_write(&m.session, make_json(&m));
  free(m.curves.point);
  return tsi_session_close(&m.session);
}
