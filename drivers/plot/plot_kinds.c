/* Colours, names and texts of the items of a trace: see plot.h. */
#include "drivers/plot/plot.h"

#include "drivers/report/report.h"

static const struct {
  const char *name;
  int colour;
  bool forward;
} kinds[TRISTAR_STEP_KINDS] = {
    [TRISTAR_STEP_FORWARD_CHUNK] = {"forward chunk", TSI_BLUE, true},
    [TRISTAR_STEP_FORWARD_SLICE] = {"forward slice", TSI_SKY, true},
    [TRISTAR_STEP_FORWARD_PUSH] = {"forward push", TSI_GREEN, true},
    [TRISTAR_STEP_BACKWARD_CHUNK] = {"backward chunk", TSI_VERMILLION, false},
    [TRISTAR_STEP_BACKWARD_SLICE] = {"backward slice", TSI_ORANGE, false},
    [TRISTAR_STEP_BACKWARD_PUSH] = {"backward push", TSI_PURPLE, false},
    [TRISTAR_STEP_READ] = {"read b", TSI_GREEN, true},
    [TRISTAR_STEP_FORWARD_ROWS] = {"forward product", TSI_BLUE, true},
    [TRISTAR_STEP_DIAGONAL] = {"solve with D", TSI_YELLOW, true},
    [TRISTAR_STEP_BACKWARD_ROWS] = {"backward product", TSI_VERMILLION, false},
    [TRISTAR_STEP_WRITE] = {"write x", TSI_PURPLE, false},
    [TRISTAR_STEP_ARRIVAL] = {"message", TSI_BLACK, true},
    [TRISTAR_STEP_FORWARD_SUM] = {"forward sum", TSI_GREEN, true},
    [TRISTAR_STEP_FORWARD_RECEIVE] = {"x received, forward", TSI_YELLOW, true},
    [TRISTAR_STEP_BACKWARD_SUM] = {"backward sum", TSI_PURPLE, false},
    [TRISTAR_STEP_BACKWARD_RECEIVE] = {"x received, backward", TSI_YELLOW, false},
    [TRISTAR_STEP_EXCHANGE] = {"sum over the grids", TSI_GREEN, true},
    [TRISTAR_STEP_GRID_FORWARD] = {"to the grid below", TSI_GREEN, true},
    [TRISTAR_STEP_GRID_BACKWARD] = {"to the grid above", TSI_PURPLE, false},
    [TRISTAR_STEP_FORWARD_BORDER] = {"from a device", TSI_GREEN, true},
    [TRISTAR_STEP_BACKWARD_BORDER] = {"to a device", TSI_PURPLE, false},
    [TRISTAR_STEP_BUNDLE] = {"bundle", TSI_GREY, false},
    [TRISTAR_STEP_BARRIER] = {"barrier", TSI_GREY, false},
};

const char *tsi_plot_colour(tristar_step_kind kind) {
  return tsi_svg_colour[kinds[kind].colour];
}
const char *tsi_plot_name(tristar_step_kind kind) {
  return kinds[kind].name;
}
bool tsi_plot_is_forward(tristar_step_kind kind) {
  return kinds[kind].forward;
}

void tsi_plot_legend(tsi_legend *legend, const tristar_trace_t *trace) {
  bool there[TRISTAR_STEP_KINDS] = {false};
  for (int64_t k = 0; k < trace->steps.count; k++) there[trace->steps.item[k].kind] = true;
  for (int64_t k = 0; k < trace->tasks.count; k++)
    if (trace->tasks.item[k].kind == TRISTAR_STEP_BARRIER) there[TRISTAR_STEP_BARRIER] = true;
  for (int k = 0; k < TRISTAR_STEP_KINDS; k++)
    if (there[k]) tsi_legend_square(legend, tsi_svg_colour[kinds[k].colour], "%s", kinds[k].name);
}

const char *tsi_plot_item_text(const tristar_trace_item *item, char *text, size_t size) {
  const char *name = tsi_plot_name(item->kind);
  switch (item->kind) {
  case TRISTAR_STEP_FORWARD_SLICE:
  case TRISTAR_STEP_BACKWARD_SLICE:
    snprintf(text, size, "%s %lld of chunk %lld", name, (long long)item->number, (long long)item->chunk);
    break;
  case TRISTAR_STEP_BUNDLE:
    snprintf(text, size, "bundle of %s from chunk %lld on", tsi_text_many(item->steps, "step"),
             (long long)item->chunk);
    break;
  case TRISTAR_STEP_BARRIER:
    snprintf(text, size, "%s", name);
    break;
  default:
    snprintf(text, size, "%s %lld", name, (long long)item->number);
  }
  return text;
}

static const tristar_trace_list *list_of(const tristar_trace_t *trace, const tristar_trace_item *item) {
  const tristar_trace_list *steps = &trace->steps;
  return item >= steps->item && item < steps->item + steps->count ? steps : &trace->tasks;
}

void tsi_plot_tip(FILE *file, const tristar_trace_t *trace, const tristar_trace_item *item) {
  const double seconds = item->end - item->start;
  char text[96];
  fprintf(file, "<title>%s", tsi_plot_item_text(item, text, sizeof text));
  if (trace->ranks > 1) fprintf(file, "\nrank %d", item->rank);
  fprintf(file, "\nworker %d, from %s on for %s", item->worker, tsi_text_time(item->start),
          tsi_text_time(seconds));
  if (item->device >= 0)
    fprintf(file, "\na subtree on GPU %d: %s up, %s down its bus", item->device,
            tsi_text_bytes(item->up_bytes), tsi_text_bytes(item->down_bytes));
  if (item->bytes > 0) fprintf(file, "\n%s", tsi_text_bytes(item->bytes));
  if (item->bytes > 0 && seconds > 0) fprintf(file, ", %.1f GB/s", item->bytes / seconds / 1e9);
  if (item->critical)
    fprintf(file, "\non the critical path of %s", tsi_text_time(list_of(trace, item)->critical_seconds));
  fputs("</title>", file);
}
