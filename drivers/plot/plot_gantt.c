/* The tasks of a solve, workers over time: see plot.h.
 *
 * A task is a rectangle (class "task"). The steps of a bundle are drawn on it (class "step"), unless they are
 * too thin. Messages between processes are lines (class "message"). Tasks on the critical path have a dark
 * frame (class "critical"), tasks that bound the time have a dark line below (class "binding"). The visible
 * background is idle time. Tasks on GPUs are hatched (class "device"); the lane of their worker has the name
 * of the GPU. */
#include "drivers/draw/gantt.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"

#define MESSAGES_MOST 400
#define THIN 0.6 /* pixels: narrower steps are not drawn */

typedef struct gantt {
  tsi_gantt in;
  const tristar_trace_t *trace;
} gantt;

static double seconds_of(const tristar_trace_item *item) {
  return item->end - item->start;
}

static double wide(const gantt *g, const tristar_trace_item *item) {
  return tsi_gantt_wide(&g->in, seconds_of(item));
}

static void write_rect(const gantt *g, const char *class, const tristar_trace_item *item, double top,
                       double height, const char *style) {
  tsi_gantt_rect(&g->in, class, item->worker, item->start, item->end, top, height, style);
}

static void write_item(const gantt *g, const char *class, const tristar_trace_item *item,
                       tristar_step_kind kind) {
  char style[64];
  snprintf(style, sizeof style, "fill=\"%s\"%s>", tsi_plot_colour(kind),
           wide(g, item) < TSI_GANTT_FRAME ? " stroke=\"none\"" : "");
  write_rect(g, class, item, 0, g->in.bar, style);
  tsi_plot_tip(g->in.file, g->trace, item);
  fputs("</rect>\n", g->in.file);
}

static void write_task(const gantt *g, const tristar_trace_item *task) {
  const tristar_trace_item *steps = &g->trace->steps.item[task->first_step];
  write_item(g, "task", task, task->steps > 0 ? steps->kind : task->kind);
  if (task->steps < 2) return;
  for (int64_t k = 0; k < task->steps; k++)
    if (wide(g, &steps[k]) >= THIN) write_item(g, "step", &steps[k], steps[k].kind);
}

static void write_marks(const gantt *g) {
  const tristar_trace_list *tasks = &g->trace->tasks;
  fputs("<g fill=\"none\" stroke=\"#111\" stroke-width=\"1.6\" pointer-events=\"none\">\n", g->in.file);
  for (int64_t k = 0; k < tasks->count; k++)
    if (tasks->item[k].critical)
      write_rect(g, "critical", &tasks->item[k], 0, g->in.bar,
                 wide(g, &tasks->item[k]) < 2 * TSI_GANTT_FRAME ? "stroke-width=\".8\"/>\n" : "/>\n");
  fputs("</g>\n<g fill=\"#111\" pointer-events=\"none\">\n", g->in.file);
  for (int64_t k = 0; k < tasks->count; k++)
    if (tasks->item[k].binding)
      write_rect(g, "binding", &tasks->item[k], g->in.bar + 0.3 * g->in.gap, 0.6 * g->in.gap, "/>\n");
  fputs("</g>\n", g->in.file);
}

/* Writes the tasks on GPUs. */
static void write_devices(const gantt *g) {
  const tristar_trace_list *tasks = &g->trace->tasks;
  fputs("<g fill=\"url(#device)\" stroke=\"none\" pointer-events=\"none\">\n", g->in.file);
  for (int64_t k = 0; k < tasks->count; k++)
    if (tasks->item[k].device >= 0) write_rect(g, "device", &tasks->item[k], 0, g->in.bar, "/>\n");
  fputs("</g>\n", g->in.file);
}

static bool has_devices(const tristar_trace_t *trace) {
  for (int64_t k = 0; k < trace->tasks.count; k++)
    if (trace->tasks.item[k].device >= 0) return true;
  return false;
}

static void write_lanes(const gantt *g) {
  for (int w = 0; w < g->trace->workers; w++) {
    tsi_lane lane = tsi_plot_lane(g->trace, w);
    if (g->trace->ranks > 1) snprintf(lane.name, sizeof lane.name, "rank %d", lane.rank);
    tsi_gantt_lane(&g->in, w, lane.name, lane.busy);
  }
}

/* Writes messages from the end of the task that sent them to their arrival. If there are many, only messages
 * on the critical path are drawn, as they would hide the rest. */
static void write_messages(const gantt *g) {
  const tristar_trace_list *tasks = &g->trace->tasks;
  int64_t messages = 0;
  for (int64_t k = 0; k < tasks->count; k++) messages += tasks->item[k].kind == TRISTAR_STEP_ARRIVAL;
  if (messages == 0) return;
  fputs("<style>#time line { vector-effect: non-scaling-stroke }</style>\n<g stroke=\"#111\" "
        "pointer-events=\"none\">\n",
        g->in.file);
  for (int64_t k = 0; k < tasks->count; k++) {
    const tristar_trace_item *item = &tasks->item[k];
    if (item->kind != TRISTAR_STEP_ARRIVAL || item->befores == 0) continue;
    if (messages > MESSAGES_MOST && !item->critical) continue;
    const tristar_trace_item *from = &tasks->item[tasks->before[item->first_before]];
    const double sent = from->end < item->start ? from->end : item->start;
    fprintf(g->in.file,
            "<line class=\"message\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" "
            "stroke-width=\"%s\"/>\n",
            tsi_gantt_wide(&g->in, sent), tsi_gantt_middle(&g->in, from->worker),
            tsi_gantt_wide(&g->in, item->start), tsi_gantt_middle(&g->in, item->worker),
            item->critical ? "1.6" : ".5");
  }
  fputs("</g>\n", g->in.file);
}

static void write_device_legend(tsi_legend *legend, const tristar_trace_t *trace) {
  double up = 0, down = 0;
  for (int64_t k = 0; k < trace->tasks.count; k++) {
    up += trace->tasks.item[k].up_bytes;
    down += trace->tasks.item[k].down_bytes;
  }
  const double at = tsi_legend_place(legend, 14, "on a GPU; buses: %s up, %s down", tsi_text_bytes(up),
                                     tsi_text_bytes(down));
  fprintf(legend->file,
          "<defs><pattern id=\"device\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(45)\"><path d=\"M0 0V6\" stroke=\"#000\" stroke-opacity=\".45\" "
          "stroke-width=\"2\"/></pattern></defs>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" "
          "height=\"14\" fill=\"url(#device)\"/>\n",
          at, legend->y - 11);
}

static void write_legend(tsi_legend *legend, const tristar_trace_t *trace) {
  tsi_plot_legend(legend, trace);
  tsi_legend_square(legend, TSI_GANTT_IDLE, "idle");
  if (has_devices(trace)) write_device_legend(legend, trace);
  double x = tsi_legend_place(legend, 14, "critical path, %s", tsi_text_time(trace->tasks.critical_seconds));
  tsi_svg_rect(legend->file, NULL, x + 1, legend->y - 10, 12, 12);
  fputs("fill=\"none\" stroke=\"#111\" stroke-width=\"1.6\"/>\n", legend->file);
  x = tsi_legend_place(legend, 14, "tasks of the critical path");
  tsi_svg_rect(legend->file, NULL, x, legend->y - 6, 14, 4);
  fputs("fill=\"#111\"/>\n", legend->file);
}

bool tsi_gantt_draw(tsi_session *s, const char *path, const tsi_traced *traced) {
  tsi_picture p;
  const tristar_trace_t *trace = traced->trace;
  gantt g = {.trace = trace};
  if (tsi_picture_format(path) >= TSI_FORMAT_CHROME) return tsi_timeline_write(s, path, trace);
  if (!tsi_picture_begin(&p, s, path, "The tasks of a solve", TSI_GANTT_WIDTH, TSI_GANTT_LEFT)) return false;
  tsi_plot_subtitle(&p, traced);
  write_legend(&p.legend, trace);
  const double height = tsi_gantt_init(&g.in, p.file, trace->workers, trace->seconds, p.legend.y);
  write_lanes(&g);
  tsi_gantt_begin(&g.in);
  fputs("<g stroke=\"#fff\" stroke-width=\".5\">\n", p.file);
  for (int64_t k = 0; k < trace->tasks.count; k++) write_task(&g, &trace->tasks.item[k]);
  fputs("</g>\n", p.file);
  if (has_devices(trace)) write_devices(&g);
  write_marks(&g);
  write_messages(&g);
  tsi_gantt_end(&g.in);
  return tsi_picture_end(&p, height);
}

bool tsi_plot_gantt(const tsi_plot *plot, const tsi_traced *traced) {
  const bool ok = tsi_gantt_draw(plot->s, plot->s->settings->out, traced);
  if (ok) tsi_plot_add_items(plot->figures, "items", &traced->trace->tasks);
  return ok;
}
