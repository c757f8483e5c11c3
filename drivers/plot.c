/* `tristar plot`: pictures of a matrix, and of a solve. */
#include "drivers/plot.h"

#include <stdlib.h>
#include <string.h>

#include "drivers/commands.h"
#include "drivers/console.h"
#include "drivers/layout.h"
#include "drivers/rhs.h"
#include "drivers/tree.h"

/* In the order of the choices of --what. */
typedef enum plot_what { GANTT, DAG, SPY, ROOFLINE, LEVELS, TREE, WHATS } plot_what;
static const char *const words[WHATS] = {"gantt", "dag", "spy", "roofline", "levels", "tree"};

static bool make_plan(tsi_session *s) {
  return tsi_session_factor(s) && tsi_session_plan(s, s->settings->nrhs > 0 ? s->settings->nrhs : 1);
}

static bool draw_trace(tsi_session *s, plot_what what, const tristar_trace_t *trace) {
  if (trace->tasks.count == 0)
    return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED, "%s: a solve has no task: nothing to draw", s->name);
  return what == GANTT ? tsi_plot_gantt(s, trace)
         : what == DAG ? tsi_plot_dag(s, trace)
                       : tsi_plot_levels(s, trace);
}

static bool trace_and_draw(tsi_session *s, plot_what what) {
  tristar_dense b = {0}, x = {0};
  tristar_trace_t *trace = NULL;
  const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const bool ok =
      make_plan(s) && tsi_rhs_make(s, &b) && tsi_dense_make(s, b.rows, b.cols, &x) &&
      tsi_session_check(
          s, tristar_trace(s->plan, ops[s->settings->op], b.cols, b.values, b.rows, x.values, b.rows, &trace),
          s->name) &&
      draw_trace(s, what, trace);
  tristar_trace_destroy(&trace);
  free(b.values);
  free(x.values);
  return ok;
}

/* layout: NULL without --layout. */
static bool draw(tsi_session *s, plot_what what, const tristar_layout *layout) {
  if (s->a.n == 0 && what != TREE)
    return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED, "%s: an empty matrix: nothing to draw", s->name);
  switch (what) {
  case SPY:
    return (layout != NULL || make_plan(s)) && tsi_plot_spy(s, layout);
  case ROOFLINE:
    return tsi_plot_roofline(s);
  case TREE:
    return make_plan(s) && tsi_tree_draw(s, s->settings->out);
  default:
    return trace_and_draw(s, what);
  }
}

/* `plot WORD MATRIX`, or `plot MATRIX --what WORD`. */
static int scan(const tsi_settings *settings, plot_what *what, const char **matrix) {
  char known[80] = "";
  int word = settings->what;
  for (int k = 0; k < WHATS; k++) {
    snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", k ? ", " : "", words[k]);
    if (settings->operand[0] != NULL && strcmp(settings->operand[0], words[k]) == 0 && word < 0) word = k;
  }
  const bool named = settings->what < 0;
  *matrix = settings->operand[named ? 1 : 0];
  if (word < 0)
    return settings->operand[0] == NULL
               ? tsi_usage_error("plot", "nothing to plot given; known is: %s", known)
               : tsi_usage_error("plot", "unknown plot '%s'; known is: %s", settings->operand[0], known);
  if (*matrix == NULL) return tsi_usage_error("plot", "no MATRIX given");
  if (!named && settings->operand[1] != NULL)
    return tsi_usage_error("plot", "one word too many: %s", settings->operand[1]);
  *what = (plot_what)word;
  if (settings->layout != NULL && *what != SPY)
    return tsi_usage_error("plot", "--layout belongs to --what spy");
  if (settings->layout == NULL && (settings->algo >= 0 || settings->map >= 0))
    return tsi_usage_error("plot", "--algo and --map need --layout");
  return settings->out != NULL ? TSI_EXIT_OK : tsi_usage_error("plot", "--out FILE is missing");
}

int tsi_command_plot(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  plot_what what = GANTT;
  const char *matrix;
  tristar_layout layout;
  int status = scan(settings, &what, &matrix);
  if (status == TSI_EXIT_OK && settings->layout != NULL)
    status = tsi_layout_read("plot", settings, false, &layout);
  if (status != TSI_EXIT_OK) return status;
  if (settings->layout != NULL && layout.px == 0)
    return tsi_usage_error("plot", "--layout auto: of `tristar solve` under mpiexec only");
  const bool ok = tsi_session_open(s, settings, matrix) && tsi_session_read(s);
  if (settings->layout != NULL) s->leaf_parts = layout.pz;
  if (ok && tsi_session_analyze(s) && draw(s, what, settings->layout != NULL ? &layout : NULL)) {
    tsi_console_clear();
    printf("%s: written\n", settings->out);
  }
  return tsi_session_close(s);
}
