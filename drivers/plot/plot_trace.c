/* The traced solves behind pictures: see plot.h. */
#include <stdlib.h>

#include "drivers/plot/plot.h"
#include "drivers/report/report.h"
#include "drivers/session/rhs.h"

static int by_seconds(const void *a, const void *b) {
  const double x = (*(const tristar_trace_t *const *)a)->seconds,
               y = (*(const tristar_trace_t *const *)b)->seconds;
  return (x > y) - (x < y);
}

bool tsi_traced_allocate(tsi_session *s, tsi_traced *traced) {
  *traced = (tsi_traced){.all = calloc((size_t)s->settings->repeat, sizeof(tristar_trace_t *))};
  return traced->all != NULL || tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
}

bool tsi_traced_choose(tsi_session *s, tsi_traced *traced) {
  qsort(traced->all, (size_t)traced->solves, sizeof *traced->all, by_seconds);
  traced->trace = traced->all[(traced->solves - 1) / 2];
  traced->least = traced->all[0]->seconds;
  traced->most = traced->all[traced->solves - 1]->seconds;
  return traced->trace->tasks.count > 0 ||
         tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED, "%s: a solve has no task: nothing to draw", s->name);
}

/* Traces solves with the session's plan. Free *traced even after a failure. */
static bool trace_solves(tsi_session *s, const tristar_dense *b, const tristar_dense *x, tsi_traced *traced) {
  if (!tsi_traced_allocate(s, traced)) return false;
  for (; traced->solves < s->settings->repeat; traced->solves++)
    if (!tsi_session_check(s,
                           tristar_trace(s->plan, tsi_session_op(s)->op, b->cols, b->values, b->rows,
                                         x->values, b->rows, &traced->all[traced->solves]),
                           s->name))
      return false;
  return tsi_traced_choose(s, traced);
}

bool tsi_plot_trace(tsi_session *s, tsi_traced *traced) {
  tristar_dense b = {0}, x = {0};
  *traced = (tsi_traced){.trace = NULL};
  const bool ok = tsi_session_factor(s) && tsi_session_plan(s, tsi_plot_nrhs(s)) && tsi_rhs_make(s, &b) &&
                  tsi_dense_make(s, b.rows, b.cols, &x) && trace_solves(s, &b, &x, traced);
  free(b.values);
  free(x.values);
  return ok;
}

void tsi_plot_trace_free(tsi_traced *traced) {
  for (int64_t k = 0; k < traced->solves; k++) tristar_trace_destroy(&traced->all[k]);
  free(traced->all);
  traced->all = NULL;
}

static double busy_share(const tristar_trace_t *trace) {
  const double all = trace->workers * trace->seconds;
  double busy = 0;
  for (int64_t k = 0; k < trace->tasks.count; k++)
    busy += trace->tasks.item[k].end - trace->tasks.item[k].start;
  return all > 0 ? busy / all : 0;
}

static double gbps(const tristar_trace_t *trace) {
  double bytes = 0;
  for (int64_t k = 0; k < trace->tasks.count; k++) bytes += trace->tasks.item[k].bytes;
  return trace->seconds > 0 ? bytes / trace->seconds / 1e9 : 0;
}

void tsi_plot_subtitle(const tsi_picture *p, const tsi_traced *traced) {
  const tsi_session *s = p->s;
  const tristar_trace_t *trace = traced->trace;
  char times[120], processes[40] = "";
  if (traced->solves > 1)
    snprintf(times, sizeof times, "median of %s, %s (%s to %s)", tsi_text_many(traced->solves, "solve"),
             tsi_text_time(trace->seconds), tsi_text_time(traced->least), tsi_text_time(traced->most));
  else
    snprintf(times, sizeof times, "one solve, %s", tsi_text_time(trace->seconds));
  if (trace->ranks > 1) snprintf(processes, sizeof processes, " in %d processes", trace->ranks);
  tsi_picture_subtitle(p, "n = %s, nnz(L) = %s; %s of %s on %s%s, scheduler %s; %s, %.1f %% busy, %.1f GB/s",
                       tsi_text_count(s->a.n), tsi_text_count(s->a.nnz_lower),
                       tsi_text_many(trace->tasks.count, "task"), tsi_text_many(trace->steps.count, "step"),
                       tsi_text_many(trace->workers, "worker"), processes, trace->scheduler, times,
                       100 * busy_share(trace), gbps(trace));
}

tsi_lane tsi_plot_lane(const tristar_trace_t *trace, int worker) {
  const int workers = trace->workers / trace->ranks; /* approximate, for lanes without a task */
  tsi_lane lane = {.rank = workers > 0 ? worker / workers : worker};
  snprintf(lane.name, sizeof lane.name, "worker %d", worker);
  for (const tristar_trace_item *k = trace->tasks.item; k < trace->tasks.item + trace->tasks.count; k++) {
    if (k->worker != worker) continue;
    lane.busy += k->end - k->start;
    lane.rank = k->rank;
    if (k->device >= 0) snprintf(lane.name, sizeof lane.name, "GPU %d", k->device);
  }
  return lane;
}

/* ---- Levels ------------------------------------------------------------------------------------------- */

const tristar_trace_list *tsi_plot_list(const tristar_trace_t *trace) {
  return trace->steps.edges > 0 || trace->tasks.edges == 0 ? &trace->steps : &trace->tasks;
}

/* Returns the level above the last item that item k waits for. */
static int64_t lowest(const tristar_trace_list *list, int64_t k, const int64_t *level) {
  const tristar_trace_item *item = &list->item[k];
  int64_t least = 0;
  for (int64_t e = item->first_before; e < item->first_before + item->befores; e++)
    if (level[list->before[e]] >= least) least = level[list->before[e]] + 1;
  return least;
}

/* Raises forward items that others wait for as far as possible. Visits items from the last to the first, so
 * that space[k], the lowest level of items that wait for k, is complete when k is visited. */
static void raise_forward(const tristar_trace_list *list, int64_t *level, int64_t none, int64_t *space) {
  for (int64_t k = 0; k < list->count; k++) space[k] = none;
  for (int64_t k = list->count; k-- > 0;) {
    const tristar_trace_item *item = &list->item[k];
    if (tsi_plot_is_forward(item->kind) && space[k] != none) level[k] = space[k] - 1;
    for (int64_t e = item->first_before; e < item->first_before + item->befores; e++)
      if (level[k] < space[list->before[e]]) space[list->before[e]] = level[k];
  }
}

int64_t tsi_plot_rank(const tristar_trace_list *list, int64_t *level) {
  int64_t count = 0;
  for (int64_t k = 0; k < list->count; k++) {
    level[k] = lowest(list, k, level);
    if (level[k] >= count) count = level[k] + 1;
  }
  int64_t *space = calloc((size_t)list->count + 1, sizeof *space);
  if (space != NULL) raise_forward(list, level, count, space); /* out of memory: they are not raised */
  free(space);
  return count;
}

/* ---- JSON --------------------------------------------------------------------------------------------- */

void tsi_plot_add_trace(cJSON *figures, const tsi_traced *traced) {
  TSI_JSON_NUMBERS(figures, {"solves", (double)traced->solves}, {"solve_s", traced->trace->seconds},
                   {"solve_least_s", traced->least}, {"solve_most_s", traced->most},
                   {"traced_workers", traced->trace->workers}, {"busy_share", busy_share(traced->trace)},
                   {"read_gbps", gbps(traced->trace)});
}

static cJSON *make_item(const tristar_trace_list *list, const tristar_trace_item *item) {
  cJSON *object = cJSON_CreateObject(), *before = cJSON_AddArrayToObject(object, "before");
  cJSON_AddStringToObject(object, "kind", tsi_plot_name(item->kind));
  TSI_JSON_NUMBERS(object, {"worker", item->worker}, {"rank", item->rank}, {"device", item->device},
                   {"start_s", item->start}, {"end_s", item->end}, {"bytes", item->bytes},
                   {"up_bytes", item->up_bytes}, {"down_bytes", item->down_bytes},
                   {"chunk", (double)item->chunk}, {"number", (double)item->number});
  cJSON_AddBoolToObject(object, "critical", item->critical);
  for (int64_t e = item->first_before; e < item->first_before + item->befores; e++)
    cJSON_AddItemToArray(before, cJSON_CreateNumber((double)list->before[e]));
  return object;
}

void tsi_plot_add_items(cJSON *figures, const char *key, const tristar_trace_list *list) {
  cJSON *array = cJSON_AddArrayToObject(figures, key);
  for (int64_t k = 0; k < list->count; k++) cJSON_AddItemToArray(array, make_item(list, &list->item[k]));
}
