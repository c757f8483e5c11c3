/* `tristar plot`: pictures of a matrix, and of a solve. */
#include "drivers/plot/plot.h"

#include <string.h>

#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/session/layout.h"
#include "drivers/report/report.h"
#include "drivers/plot/tree.h"

static bool draw_tree(const tsi_plot *plot) {
  tsi_session *s = plot->s;
  return tsi_session_factor(s) && tsi_session_plan(s, tsi_plot_nrhs(s)) &&
         tsi_tree_draw(s, s->settings->out, plot->figures);
}

/* Requirements of a picture. */
enum {
  LAYOUT_POSSIBLE = 1, /* accepts --layout */
  LAYOUT_NEEDED = 2,   /* requires --layout */
  EMPTY_POSSIBLE = 4,  /* a matrix without rows can be drawn */
  FROM_POSSIBLE = 8,   /* accepts --from */
  NAME_ONLY = 16,      /* the session needs no matrix */
  MATRIX_ONLY = 32,    /* the session needs no analysis */
  LEAVES = 64,         /* the analysis makes a separator tree, if possible */
  GPU_POSSIBLE = 128,  /* accepts --gpu */
  TIMELINE = 256,      /* viewers of timelines have formats for it */
  STUDY = 512          /* --from is a study of simulated solves, and must be there */
};
#define LEAF_PARTS 16

/* In the order of the choices of --what. */
typedef struct kind {
  const char *word;
  bool (*draw)(const tsi_plot *plot);
  unsigned needs;
  bool (*draw_traced)(const tsi_plot *plot,
                      const tsi_traced *traced); /* for traced solves, instead of draw */
} kind;
static const kind kinds[] = {{"gantt", NULL, TIMELINE, tsi_plot_gantt},
                             {"dag", NULL, 0, tsi_plot_dag},
                             {"spy", tsi_plot_spy, LAYOUT_POSSIBLE, NULL},
                             {"roofline", tsi_plot_roofline, 0, NULL},
                             {"levels", NULL, 0, tsi_plot_levels},
                             {"tree", draw_tree, EMPTY_POSSIBLE, NULL},
                             {"rhs", tsi_plot_rhs, 0, NULL},
                             {"reuse", tsi_plot_reuse, FROM_POSSIBLE | NAME_ONLY, NULL},
                             {"refinement", tsi_plot_refinement, 0, NULL},
                             {"communication", tsi_plot_communication, LAYOUT_POSSIBLE | LAYOUT_NEEDED, NULL},
                             {"memory", tsi_plot_memory, MATRIX_ONLY, NULL},
                             {"scaling", tsi_plot_scaling, LEAVES, NULL},
                             {"placement", tsi_plot_placement, GPU_POSSIBLE, NULL},
                             {"study", tsi_plot_study, FROM_POSSIBLE | NAME_ONLY | STUDY, NULL}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static bool prepare(tsi_session *s, const kind *what, const tristar_layout *layout) {
  if (what->needs & NAME_ONLY) return true;
  if (!tsi_session_read(s)) return false;
  if (s->view.rows == 0 && !(what->needs & EMPTY_POSSIBLE))
    return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED, "%s: an empty matrix: nothing to draw", s->name);
  tsi_plot_check_factors(s);
  if (layout != NULL) s->leaf_parts = layout->pz;
  if ((what->needs & LEAVES) && tsi_session_makes_tree(s)) s->leaf_parts = LEAF_PARTS;
  return (what->needs & MATRIX_ONLY) || tsi_session_analyze(s);
}

/* Lists the words of the kinds with this requirement, separated by commas; need 0: all kinds. */
static const char *list_words(unsigned need, char *text, size_t size) {
  *text = '\0';
  for (int k = 0; k < KINDS; k++)
    if ((kinds[k].needs & need) == need)
      snprintf(text + strlen(text), size - strlen(text), "%s%s", *text ? ", " : "", kinds[k].word);
  return text;
}

static int check_options(const tsi_settings *settings, const kind *what) {
  char words[160];
  if (settings->layout != NULL && !(what->needs & LAYOUT_POSSIBLE))
    return tsi_usage_error("plot", "--layout belongs to --what %s",
                           list_words(LAYOUT_POSSIBLE, words, sizeof words));
  if (settings->layout == NULL && (settings->algo >= 0 || settings->map >= 0 || settings->message_tree >= 0))
    return tsi_usage_error("plot", "--algo and --map need --layout, and so does --message-tree");
  if (settings->layout == NULL && (what->needs & LAYOUT_NEEDED))
    return tsi_usage_error("plot", "--what %s: --layout PXxPYxPZ is missing", what->word);
  if (settings->from != NULL && !(what->needs & FROM_POSSIBLE))
    return tsi_usage_error("plot", "--from belongs to --what %s",
                           list_words(FROM_POSSIBLE, words, sizeof words));
  if (settings->from == NULL && (what->needs & STUDY))
    return tsi_usage_error("plot", "--what %s: --from FILE is missing", what->word);
  if (settings->gpu >= 0 && !(what->needs & GPU_POSSIBLE))
    return tsi_usage_error("plot", "--gpu belongs to --what %s",
                           list_words(GPU_POSSIBLE, words, sizeof words));
  if (settings->gpu >= 0 && settings->place != TRISTAR_PLACE_CPU)
    return tsi_usage_error("plot", "--place is for the GPUs of this machine, --gpu for those of the model");
  if (settings->devices > 0 && settings->gpu < 0) return tsi_usage_error("plot", "--devices needs --gpu");
  if (settings->out == NULL) return tsi_usage_error("plot", "--out FILE is missing");
  return (what->needs & TIMELINE ? tsi_timeline_check : tsi_picture_check)("plot", "out", settings->out);
}

/* Reads `plot WORD MATRIX`, or `plot MATRIX --what WORD`. No MATRIX: NULL; the file of --from may have it. */
static int scan(const tsi_settings *settings, const kind **what, const char **matrix) {
  char valid_names[200];
  int word = settings->what;
  list_words(0, valid_names, sizeof valid_names);
  for (int k = 0; k < KINDS; k++)
    if (settings->operand[0] != NULL && strcmp(settings->operand[0], kinds[k].word) == 0 && word < 0)
      word = k;
  const bool named = settings->what < 0;
  *matrix = settings->operand[named ? 1 : 0];
  if (word < 0)
    return settings->operand[0] == NULL
               ? tsi_usage_error("plot", "no picture given; the pictures are %s", valid_names)
               : tsi_usage_error("plot", "unknown picture '%s'; the pictures are %s", settings->operand[0],
                                 valid_names);
  *what = &kinds[word];
  if (*matrix == NULL && settings->from == NULL && !((*what)->needs & STUDY))
    return tsi_usage_error("plot", "no MATRIX given");
  if (*matrix != NULL && ((*what)->needs & STUDY))
    return tsi_usage_error("plot", "%s: --what %s draws all matrices of --from", *matrix, (*what)->word);
  if (!named && settings->operand[1] != NULL)
    return tsi_usage_error("plot", "unexpected argument: %s", settings->operand[1]);
  return check_options(settings, *what);
}

/* Reads the file of --from. If no matrix is given, takes its only matrix; for a study, the name of the file.
 */
static int read_from(const tsi_settings *settings, const kind *what, cJSON **from, const char **matrix) {
  char message[256];
  *from = NULL;
  if (settings->from == NULL) return TSI_EXIT_OK;
  const bool study = what->needs & STUDY;
  *from = (study ? tsi_plot_read_study : tsi_plot_read_bench)(settings->from, message, sizeof message);
  if (*from == NULL) {
    tsi_console_error("%s", message);
    return TSI_EXIT_FAILED;
  }
  if (*matrix == NULL) *matrix = study ? settings->from : tsi_plot_only_matrix(*from);
  return *matrix != NULL ? TSI_EXIT_OK
                         : tsi_usage_error("plot", "--from %s: no MATRIX given, and the file has several",
                                           settings->from);
}

static cJSON *make_json(const tsi_session *s, const kind *what, cJSON *figures) {
  cJSON *object = tsi_json_session(s);
  cJSON_AddStringToObject(object, "what", what->word);
  cJSON_AddItemToObject(object, "picture", figures);
  return object;
}

static bool draw_traced(const kind *what, const tsi_plot *plot) {
  tsi_traced traced;
  bool ok = tsi_plot_trace(plot->s, &traced);
  if (ok) {
    tsi_plot_add_trace(plot->figures, &traced);
    ok = what->draw_traced(plot, &traced);
  }
  tsi_plot_trace_free(&traced);
  return ok;
}

static int draw(const tsi_settings *settings, const kind *what, const char *matrix, tsi_plot *plot) {
  tsi_session session, *s = &session;
  plot->s = s;
  plot->figures = cJSON_CreateObject();
  if (tsi_session_open(s, settings, matrix) && prepare(s, what, plot->layout) &&
      (what->draw != NULL ? what->draw(plot) : draw_traced(what, plot))) {
    tsi_console_clear();
    if (!settings->to_stdout) printf("%s: written\n", settings->out);
  }
  tsi_json_write(s, make_json(s, what, plot->figures));
  return tsi_session_close(s);
}

int tsi_command_plot(const tsi_settings *settings) {
  tsi_plot plot = {.s = NULL};
  const kind *what = NULL;
  const char *matrix;
  tristar_layout layout;
  int status = scan(settings, &what, &matrix);
  if (status == TSI_EXIT_OK && settings->layout != NULL) {
    status = tsi_layout_read("plot", settings, &layout);
    plot.layout = &layout;
    if (status == TSI_EXIT_OK && layout.px == 0)
      status = tsi_usage_error("plot", "--layout auto works with `tristar solve` under mpiexec only");
  }
  if (status == TSI_EXIT_OK) status = read_from(settings, what, &plot.from, &matrix);
  if (status == TSI_EXIT_OK) status = draw(settings, what, matrix, &plot);
  cJSON_Delete(plot.from);
  return status;
}
