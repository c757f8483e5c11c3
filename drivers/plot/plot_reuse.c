/* The time of a number of solves including all preparations: see plot.h.
 *
 * Total time against the number of solves k: analysis + factorization + plan + k solves, each solver in the
 * setting that is best for k. With --from FILE the figures are from `tristar bench --json FILE`, for all
 * solvers in it. They were measured in turn, so they can be compared. Without --from only TriStar is measured
 * here.
 *
 * The totals of two solvers are equal at most once: at the number of solves from which, or up to which,
 * TriStar takes less. If there is only TriStar, another number is shown: of solves that take as long as the
 * preparations. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bench/bench.h"
#include "drivers/draw/chart.h"
#include "drivers/session/console.h"
#include "drivers/session/files.h"
#include "drivers/draw/labels.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"
#include "drivers/session/rhs.h"
#include "drivers/session/triangle.h"

void tsi_plot_check_factors(const tsi_session *s) {
  tsi_found_triangle found;
  char text[640];
  if (!tsi_goes_without_factors(s, &found)) return;
  snprintf(text, sizeof text,
           "%s: %s by tristar solve; the picture is of a solve with factors, as --method lu makes them",
           s->name, tsi_triangle_text(&found));
  tsi_console_log((void *)&s->settings->verbose, TRISTAR_LOG_WARNING, text);
  tsi_triangle_free(&found);
}

enum {
  SOLVERS_MOST = 1 + TSI_BENCH_PEERS,
  A_DECADE = 24,
  DECADES_LEAST = 3,
  DECADES_MOST = 9,
  SAMPLES_MOST = A_DECADE * DECADES_MOST + 1
};

typedef struct setting {
  double before, solve; /* seconds: analysis, factorization and plan; one solve */
} setting;

/* Numbers of solves for which TriStar takes less time than a peer. */
typedef enum verdict { ALWAYS, NEVER, FROM, UP_TO } verdict;

typedef struct solver {
  const char *name, *title; /* name in the file; title in the picture */
  int count;
  setting setting[TSI_BENCH_CONTENDERS_MAX];
  verdict verdict; /* for a peer */
  int64_t even;    /* FROM, UP_TO: the number of solves; only TriStar: solves as long as the preparations */
} solver;

typedef struct reuse {
  int count, decades; /* number of solvers, TriStar first; decades of the axis */
  solver solver[SOLVERS_MOST];
  int64_t nrhs;
  double n; /* rows */
} reuse;

static double total(const solver *s, double solves) {
  double least = INFINITY;
  for (int k = 0; k < s->count; k++) least = fmin(least, s->setting[k].before + solves * s->setting[k].solve);
  return least;
}

/* ---- Figures of a file -------------------------------------------------------------------------------- */

static double number(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static const char *text(const cJSON *object, const char *key) {
  const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
  return value != NULL ? value : "";
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* Is it the case of this matrix? Compares whole names, or names without folders. */
static bool is_of(const cJSON *one, const char *name, bool whole) {
  const char *matrix = text(one, "matrix");
  return whole ? strcmp(matrix, name) == 0 : strcmp(base_name(matrix), base_name(name)) == 0;
}

/* "gen:a:1 with 1, gen:a:1 with 8" */
static void list_cases(const cJSON *cases, char *valid_names, size_t size) {
  const cJSON *one;
  *valid_names = '\0';
  cJSON_ArrayForEach(one, cases) {
    const size_t used = strlen(valid_names);
    snprintf(valid_names + used, size - used, "%s%.60s with %.0f", used > 0 ? ", " : "", text(one, "matrix"),
             number(one, "nrhs"));
  }
}

/* Returns the case of the session's matrix and --nrhs; NULL with a message that lists the cases if there is
 * none. */
static const cJSON *find_case(tsi_session *s, const cJSON *cases) {
  const cJSON *one;
  const int64_t nrhs = s->settings->nrhs;
  char valid_names[240], requested[64] = "";
  for (int whole = 1; whole >= 0; whole--)
    cJSON_ArrayForEach(one, cases) if (is_of(one, s->name, whole) &&
                                       (nrhs == 0 || number(one, "nrhs") == (double)nrhs)) return one;
  list_cases(cases, valid_names, sizeof valid_names);
  if (nrhs > 0) snprintf(requested, sizeof requested, " with %s", tsi_text_many(nrhs, "right-hand side"));
  s->usage = true;
  (void)tsi_session_fail(s, TRISTAR_ERR_ARGUMENT,
                         "%.120s: nothing about %.80s%s; there is (matrix, right-hand sides): %s",
                         s->settings->from, s->name, requested, valid_names);
  return NULL;
}

static solver *solver_of(reuse *r, const char *name) {
  for (int k = 0; k < r->count; k++)
    if (strcmp(r->solver[k].name, name) == 0) return &r->solver[k];
  return NULL;
}

/* Lists TriStar, then the peers. */
static void list_solvers(reuse *r) {
  r->solver[r->count++] = (solver){.name = "tristar", .title = "TriStar"};
  for (int k = 0; k < TSI_BENCH_PEERS; k++)
    r->solver[r->count++] =
        (solver){.name = tsi_bench_solvers.peers[k].name, .title = tsi_bench_solvers.peers[k].title};
}

static void drop_empty(reuse *r) {
  int kept = 0;
  for (int k = 0; k < r->count; k++)
    if (k == 0 || r->solver[k].count > 0) r->solver[kept++] = r->solver[k];
  r->count = kept;
}

static bool take_file(tsi_session *s, const cJSON *file, reuse *r) {
  const cJSON *one = find_case(s, cJSON_GetObjectItemCaseSensitive(file, "cases")), *contender;
  if (one == NULL) return false;
  r->nrhs = (int64_t)number(one, "nrhs");
  r->n = number(one, "n");
  list_solvers(r);
  cJSON_ArrayForEach(contender, cJSON_GetObjectItemCaseSensitive(one, "contenders")) {
    solver *to = solver_of(r, text(contender, "solver"));
    const setting found = {number(contender, "analyze_s") + number(contender, "factor_s") +
                               number(contender, "plan_s"),
                           number(contender, "solve_s")};
    if (to != NULL && *text(contender, "variant") == '\0' && isfinite(found.before) && found.solve > 0 &&
        to->count < TSI_BENCH_CONTENDERS_MAX)
      to->setting[to->count++] = found;
  }
  drop_empty(r);
  return r->solver[0].count > 0 ||
         tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED, "%.120s: TriStar did not solve with %.80s there",
                          s->settings->from, s->name);
}

cJSON *tsi_plot_read_bench(const char *path, char *message, size_t size) {
  cJSON *object = tsi_json_load(path);
  const int problem = errno;
  const cJSON *cases = cJSON_GetObjectItemCaseSensitive(object, "cases");
  if (cJSON_GetArraySize(cases) > 0 && *text(cJSON_GetArrayItem(cases, 0), "matrix") != '\0') return object;
  if (problem != 0)
    snprintf(message, size, "cannot open %s: %s", path, strerror(problem));
  else
    snprintf(message, size, "%s: not a file of `tristar bench --json`", tsi_input_name(path));
  cJSON_Delete(object);
  return NULL;
}

const char *tsi_plot_only_matrix(const cJSON *file) {
  const cJSON *cases = cJSON_GetObjectItemCaseSensitive(file, "cases"), *one;
  const char *name = text(cJSON_GetArrayItem(cases, 0), "matrix");
  cJSON_ArrayForEach(one, cases) if (strcmp(text(one, "matrix"), name) != 0) return NULL;
  return name;
}

/* ---- Figures measured here ---------------------------------------------------------------------------- */

static bool measure(tsi_session *s, reuse *r) {
  tristar_dense b = {0}, x = {0};
  tsi_timed timed;
  r->nrhs = tsi_plot_nrhs(s);
  if (!tsi_session_read(s)) return false;
  if (s->view.rows == 0)
    return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED, "%s: an empty matrix: nothing to draw", s->name);
  tsi_plot_check_factors(s);
  const bool ok = tsi_session_analyze(s) && tsi_session_factor(s) && tsi_session_plan(s, r->nrhs) &&
                  tsi_dense_make(s, s->a.n, r->nrhs, &b) && tsi_dense_make(s, s->a.n, r->nrhs, &x) &&
                  tsi_plot_time(s, TRISTAR_PART_ALL, r->nrhs, &b, &x, &timed);
  free(b.values);
  free(x.values);
  if (!ok) return false;
  r->n = (double)s->a.n;
  r->count = 1;
  r->solver[0] = (solver){.name = "tristar", .title = "TriStar", .count = 1};
  r->solver[0].setting[0] = (setting){s->analyze_s + s->factor_s + s->plan_s, timed.seconds};
  return true;
}

/* ---- Where totals meet -------------------------------------------------------------------------------- */

static bool takes_less(const void *of, double solves) {
  const solver *const *pair = of; /* TriStar, a peer */
  return total(pair[0], solves) < total(pair[1], solves);
}

static void compare(const reuse *r, solver *peer) {
  const int64_t most = INT64_C(1) << 40;
  const solver *const pair[] = {&r->solver[0], peer};
  const bool first = takes_less(pair, 1);
  const int64_t few = tsi_bench_changes(takes_less, pair, most);
  peer->verdict = few == most ? (first ? ALWAYS : NEVER) : first ? UP_TO : FROM;
  if (few < most) peer->even = first ? few : few + 1;
}

static void find_even(reuse *r) {
  solver *tristar = &r->solver[0];
  int64_t farthest = 1;
  for (int k = 1; k < r->count; k++) {
    compare(r, &r->solver[k]);
    if (r->solver[k].even > farthest) farthest = r->solver[k].even;
  }
  if (r->count == 1) {
    const double even = ceil(tristar->setting[0].before / tristar->setting[0].solve);
    tristar->even = farthest = even < 1e12 ? (int64_t)even : INT64_C(1000000000000);
    if (tristar->even < 1) tristar->even = 1;
  }
  for (r->decades = DECADES_LEAST; r->decades < DECADES_MOST && pow(10, r->decades) < 3 * (double)farthest;)
    r->decades++;
}

/* ---- Picture ------------------------------------------------------------------------------------------ */

static void describe(const reuse *r, int k, char *out, size_t size) {
  static const char *const verdicts[] = {[ALWAYS] = "TriStar always takes less time",
                                         [NEVER] = "TriStar never takes less time",
                                         [FROM] = "TriStar takes less time from",
                                         [UP_TO] = "TriStar takes less time up to"};
  const solver *s = &r->solver[k];
  if (k == 0 && r->count > 1)
    snprintf(out, size, "%s", s->title);
  else if (k == 0)
    snprintf(out, size, "%s: %s take as long as all before them", s->title, tsi_text_many(s->even, "solve"));
  else if (s->verdict == ALWAYS || s->verdict == NEVER)
    snprintf(out, size, "%s: %s", s->title, verdicts[s->verdict]);
  else
    snprintf(out, size, "%s: %s %s%s", s->title, verdicts[s->verdict], tsi_text_many(s->even, "solve"),
             s->verdict == FROM ? " on" : "");
}

/* A smooth line, and a mark at each power of ten. */
typedef struct curve {
  double x[2][SAMPLES_MOST], y[2][SAMPLES_MOST]; /* points of the marks, of the line */
} curve;

/* series: two for each solver. */
static void list_curve(const reuse *r, int k, curve *c, tsi_series *series) {
  static const int colours[SOLVERS_MOST] = {TSI_BLUE,       TSI_ORANGE, TSI_GREEN,
                                            TSI_VERMILLION, TSI_PURPLE, TSI_GREY};
  static const tsi_shape shapes[] = {TSI_DISC, TSI_SQUARE, TSI_TRIANGLE, TSI_DIAMOND, TSI_CROSS, TSI_DOWN};
  int which = 0; /* fixed for a peer, independent of other peers */
  for (int p = 0; p < TSI_BENCH_PEERS; p++)
    if (strcmp(r->solver[k].name, tsi_bench_solvers.peers[p].name) == 0) which = 1 + p;
  for (int line = 0; line < 2; line++) {
    int64_t count = 0;
    for (int i = 0; i <= A_DECADE * r->decades; i += line ? 1 : A_DECADE, count++) {
      c->x[line][count] = pow(10, (double)i / A_DECADE);
      c->y[line][count] = total(&r->solver[k], c->x[line][count]);
    }
    series[2 * k + line] = (tsi_series){.name = line ? NULL : r->solver[k].title,
                                        .kind = line ? TSI_SERIES_LINE : TSI_SERIES_ALONE,
                                        .colour = colours[which],
                                        .shape = shapes[which],
                                        .count = count,
                                        .x = c->x[line],
                                        .y = c->y[line]};
  }
}

static void write_legend(tsi_picture *p, const reuse *r, const tsi_series *series) {
  char text[120];
  bool even = false;
  for (int k = 0; k < r->count; k++) {
    describe(r, k, text, sizeof text);
    tsi_legend_mark(&p->legend, series[2 * k].shape, tsi_svg_colour[series[2 * k].colour], "%s", text);
    even = even || r->solver[k].even > 0;
  }
  if (!even) return;
  const double x =
      tsi_legend_place(&p->legend, 14, r->count > 1 ? "break-even" : "half of the time is in solves");
  fprintf(p->file,
          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"none\" stroke=\"#111\" stroke-width=\"2\"/>\n",
          x + 7, p->legend.y - 4);
}

static void write_even(FILE *file, const reuse *r, const tsi_axis *x, const tsi_axis *y) {
  tsi_labels labels = {.frame = {x->begin, y->end, x->end, y->begin}};
  for (int k = 0; k < r->count; k++) {
    const solver *s = &r->solver[k];
    if (s->even < 1 || (double)s->even > x->to) continue;
    const double px = tsi_axis_at(x, (double)s->even),
                 py = tsi_axis_at(y, total(&r->solver[0], (double)s->even));
    fprintf(file,
            "<circle class=\"even\" cx=\"%.1f\" cy=\"%.1f\" r=\"8\" fill=\"none\" stroke=\"#111\" "
            "stroke-width=\"2\" pointer-events=\"all\"><title>%s: %s</title></circle>\n",
            px, py, s->title, tsi_text_many(s->even, "solve"));
    tsi_labels_take(&labels, px, py, 9);
  }
  for (int k = 0; k < r->count; k++) {
    const solver *s = &r->solver[k];
    char text[80];
    if (s->even < 1 || (double)s->even > x->to) continue;
    snprintf(text, sizeof text, "%s%s%s", k > 0 ? s->title : "", k > 0 ? ", " : "",
             tsi_text_many(s->even, "solve"));
    (void)tsi_labels_write(file, &labels, tsi_axis_at(x, (double)s->even),
                           tsi_axis_at(y, total(&r->solver[0], (double)s->even)), false, text);
  }
}

static bool draw(tsi_session *s, const reuse *r) {
  tsi_picture p;
  tsi_series series[2 * SOLVERS_MOST];
  tsi_axis x = {.from = 1 / 1.2,
                .to = pow(10, r->decades) * 1.2,
                .name = "solves",
                .logarithmic = true,
                .integer = true};
  tsi_axis y = {.name = "total time (s)", .logarithmic = true};
  curve *curves = malloc(SOLVERS_MOST * sizeof *curves);
  if (curves == NULL) return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
  for (int k = 0; k < r->count; k++) list_curve(r, k, &curves[k], series);
  bool ok = tsi_chart_begin(&p, s, s->settings->out, "Solves with one factorization");
  if (ok) {
    tsi_picture_subtitle(&p,
                         "n = %s, %s; analysis + factorization + plan + so many solves, each solver in the "
                         "setting that is best for them%s",
                         tsi_text_count((int64_t)r->n), tsi_text_many(r->nrhs, "right-hand side"),
                         s->settings->from != NULL ? "; measured by tristar bench" : "");
    write_legend(&p, r, series);
    tsi_chart_draw(&p, &x, &y, 2 * r->count, series);
    write_even(p.file, r, &x, &y);
    ok = tsi_chart_end(&p, &y);
  }
  free(curves);
  return ok;
}

static void add_figures(cJSON *figures, const reuse *r) {
  static const char *const words[] = {
      [ALWAYS] = "always", [NEVER] = "never", [FROM] = "from", [UP_TO] = "up to"};
  cJSON *items = cJSON_AddArrayToObject(figures, "items");
  cJSON_AddNumberToObject(figures, "nrhs", (double)r->nrhs);
  for (int k = 0; k < r->count; k++) {
    const solver *s = &r->solver[k];
    cJSON *object = tsi_json_add_item(items), *totals = cJSON_AddArrayToObject(object, "totals");
    cJSON_AddStringToObject(object, "solver", s->name);
    if (k > 0) cJSON_AddStringToObject(object, "tristar_takes_less", words[s->verdict]);
    if (s->even > 0) cJSON_AddNumberToObject(object, "break_even_solves", (double)s->even);
    for (int d = 0; d <= r->decades; d++) {
      cJSON *one = tsi_json_add_item(totals);
      TSI_JSON_NUMBERS(one, {"solves", pow(10, d)}, {"total_s", total(s, pow(10, d))});
    }
  }
}

bool tsi_plot_reuse(const tsi_plot *plot) {
  tsi_session *s = plot->s;
  reuse *r = calloc(1, sizeof *r);
  if (r == NULL) return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
  bool ok = plot->from != NULL ? take_file(s, plot->from, r) : measure(s, r);
  if (ok) {
    find_even(r);
    add_figures(plot->figures, r);
    ok = draw(s, r);
  }
  free(r);
  return ok;
}
