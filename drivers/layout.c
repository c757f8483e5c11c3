/* `tristar info MATRIX --layout PXxPYxPZ`: what the processes of a distributed solve would send and hold,
 * from the analysis alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/commands.h"
#include "drivers/console.h"
#include "drivers/layout.h"
#include "drivers/report.h"

#define EXTENT_MOST (1 << 20) /* of px, py, pz: what the library takes together */

static const char *const algorithm_names[] = {"replicated", "levelwise", "2d"};
static const char *const map_names[] = {"subtree", "cyclic"};
static const char *const tree_names[] = {"binary", "flat"};

static int given(int choice) {
  return choice < 0 ? 0 : choice;
}

/* Reads digits up to `end`; 0: there are none, or the number is too large. */
static int scan_extent(const char **at, char end) {
  long long value = 0;
  const char *c = *at;
  for (; *c >= '0' && *c <= '9' && value <= EXTENT_MOST; c++) value = 10 * value + (*c - '0');
  if (*c != end || value > EXTENT_MOST) return 0;
  *at = c + 1;
  return (int)value;
}

const char *tsi_algorithm_name(const tsi_settings *settings) {
  return algorithm_names[given(settings->algo)];
}
const char *tsi_map_name(tristar_map map) {
  return map_names[map];
}
const char *tsi_tree_name(tristar_message_tree tree) {
  return tree_names[tree];
}

/* What is wrong with the words; "": nothing. */
static void scan_layout(const tsi_settings *settings, tristar_layout *layout, char *wrong, size_t size) {
  const char *at = settings->layout;
  *wrong = '\0';
  tristar_layout_init(layout);
  layout->algorithm = settings->algo == 1 ? TRISTAR_ALGORITHM_LEVELWISE : TRISTAR_ALGORITHM_REPLICATED;
  layout->map = (tristar_map)given(settings->map);
  layout->message_tree = (tristar_message_tree)given(settings->message_tree);
  layout->px = 0;
  if (strcmp(at, "auto") == 0) return;
  layout->px = scan_extent(&at, 'x');
  layout->py = layout->px > 0 ? scan_extent(&at, 'x') : 0;
  layout->pz = layout->py > 0 ? scan_extent(&at, '\0') : 0;
  if (layout->pz == 0)
    snprintf(wrong, size, "--layout %.64s: not three numbers PXxPYxPZ from 1 to %d", settings->layout,
             EXTENT_MOST);
  else if ((layout->pz & (layout->pz - 1)) != 0)
    snprintf(wrong, size, "--layout %.64s: the last number is not a power of two", settings->layout);
  else if (settings->algo == 2 && layout->pz > 1)
    snprintf(wrong, size, "--algo 2d needs one grid, such as --layout %dx%dx1", layout->px, layout->py);
}

int tsi_layout_read(const char *command, const tsi_settings *settings, tristar_layout *layout) {
  char wrong[160];
  scan_layout(settings, layout, wrong, sizeof wrong);
  if (*wrong == '\0') return TSI_EXIT_OK;
  return tsi_usage_error(command, "%s", wrong);
}

static void print_row(const char *label, const tristar_range *messages, const tristar_range *bytes) {
  printf("  %-10s %9.0f %11.1f %9.0f   %9s %9s %9s   %9s\n", label, messages->min, messages->mean,
         messages->max, tsi_text_bytes(bytes->min), tsi_text_bytes(bytes->mean), tsi_text_bytes(bytes->max),
         tsi_text_bytes(bytes->total));
}

static void print_report(const tsi_session *s, const tristar_layout *layout, int64_t nrhs,
                         const tristar_traffic *t) {
  tsi_console_clear();
  tsi_report_matrix(s);
  tsi_report_analysis(s);
  tsi_report("layout", "%d x %d x %d: %s process%s, %s algorithm, %s map, %s trees", layout->px, layout->py,
             layout->pz, tsi_text_count(t->ranks), t->ranks == 1 ? "" : "es",
             algorithm_names[given(s->settings->algo)], map_names[layout->map],
             tree_names[layout->message_tree]);
  tsi_report("", "%s, %s of them spread over a grid; %s between grids", tsi_text_many(t->chunks, "chunk"),
             tsi_text_count(t->spread_chunks), tsi_text_many(t->grid_steps, "step"));
  tsi_report("", "each process holds %s to %s of a triangular factor, %s on average: balance %.2f",
             tsi_text_bytes(t->factor_bytes.min), tsi_text_bytes(t->factor_bytes.max),
             tsi_text_bytes(t->factor_bytes.mean), t->balance);
  printf("\nWhat a process sends in a solve with %s\n", tsi_text_many(nrhs, "right-hand side"));
  printf("  %-10s %9s %11s %9s   %9s %9s %9s   %9s\n", "", "messages:", "", "", "bytes:", "", "", "");
  printf("  %-10s %9s %11s %9s   %9s %9s %9s   %9s\n", "", "least", "mean", "most", "least", "mean", "most",
         "of all");
  print_row("broadcast", &t->broadcast.sent, &t->broadcast.sent_bytes);
  print_row("reduction", &t->reduction.sent, &t->reduction.sent_bytes);
  print_row("grids", &t->grids.sent, &t->grids.sent_bytes);
  print_row("together", &t->all.sent, &t->all.sent_bytes);
  print_row("received", &t->all.received, &t->all.received_bytes);
  printf("\nWhat a process sends in the factorization, of %s to %s\n", tsi_text_flops(t->factor_flops.min),
         tsi_text_flops(t->factor_flops.max));
  print_row("fan-in", &t->fan_in.sent, &t->fan_in.sent_bytes);
  printf("  fronts take %s to %s of a process at the peak, beside the factor\n",
         tsi_text_bytes(t->front_bytes.min), tsi_text_bytes(t->front_bytes.max));
}

static void add_messages(cJSON *object, const char *key, const tristar_messages *messages) {
  cJSON *o = cJSON_AddObjectToObject(object, key);
  tsi_json_add_range(o, "sent", &messages->sent);
  tsi_json_add_range(o, "received", &messages->received);
  tsi_json_add_range(o, "sent_bytes", &messages->sent_bytes);
  tsi_json_add_range(o, "received_bytes", &messages->received_bytes);
}

static cJSON *make_json(const tsi_session *s, const tristar_layout *layout, int64_t nrhs,
                        const tristar_traffic *t) {
  cJSON *object = tsi_json_session(s), *o;
  if (t->ranks == 0) return object; /* it failed */
  o = cJSON_AddObjectToObject(object, "layout");
  tsi_json_add_number(o, "px", layout->px);
  tsi_json_add_number(o, "py", layout->py);
  tsi_json_add_number(o, "pz", layout->pz);
  cJSON_AddStringToObject(o, "algorithm", algorithm_names[given(s->settings->algo)]);
  cJSON_AddStringToObject(o, "map", map_names[layout->map]);
  cJSON_AddStringToObject(o, "message_tree", tree_names[layout->message_tree]);
  tsi_json_add_number(o, "nrhs", (double)nrhs);
  tsi_json_add_number(o, "ranks", (double)t->ranks);
  tsi_json_add_number(o, "chunks", (double)t->chunks);
  tsi_json_add_number(o, "spread_chunks", (double)t->spread_chunks);
  tsi_json_add_number(o, "grid_steps", t->grid_steps);
  tsi_json_add_number(o, "balance", t->balance);
  tsi_json_add_range(o, "factor_bytes", &t->factor_bytes);
  add_messages(o, "broadcast", &t->broadcast);
  add_messages(o, "reduction", &t->reduction);
  add_messages(o, "grids", &t->grids);
  add_messages(o, "all", &t->all);
  add_messages(o, "fan_in", &t->fan_in);
  tsi_json_add_range(o, "factor_flops", &t->factor_flops);
  tsi_json_add_number(o, "factor_path_flops", t->factor_path_flops);
  tsi_json_add_range(o, "front_bytes", &t->front_bytes);
  return object;
}

int tsi_info_layout(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  tristar_layout layout;
  tristar_traffic traffic = {0};
  const int64_t nrhs = settings->nrhs > 0 ? settings->nrhs : 1;
  const int status = tsi_layout_read("info", settings, &layout);
  if (status != TSI_EXIT_OK) return status;
  if (layout.px == 0)
    return tsi_usage_error("info", "--layout auto works with `tristar solve` under mpiexec only");
  if (settings->tree != NULL || settings->dot != NULL)
    return tsi_usage_error("info", "--tree and --dot cannot be combined with --layout");
  bool ok = tsi_session_open(s, settings, settings->operand[0]) && tsi_session_read(s);
  s->leaf_parts = layout.pz;
  ok = ok && tsi_session_analyze(s) &&
       tsi_session_check(s, tristar_layout_traffic(s->analysis, &layout, nrhs, &traffic), s->name);
  if (ok && !settings->to_stdout) print_report(s, &layout, nrhs, &traffic);
  tsi_json_write(s, make_json(s, &layout, nrhs, &traffic));
  return tsi_session_close(s);
}
