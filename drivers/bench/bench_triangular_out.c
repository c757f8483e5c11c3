/* Output of `tristar bench --triangular`: see bench_triangular.h.
 *
 * The picture has a mark for each triangle. x: its parallelism; y: the speed-up of the automatic partition
 * over the plain sweep and over the best peer. */
#include "drivers/bench/bench_triangular.h"

#include <stdio.h>
#include <stdlib.h>

#include "drivers/draw/chart.h"
#include "drivers/report/report.h"
#include "drivers/session/console.h"

/* ---- Tables ------------------------------------------------------------------------------------------ */

#define NAME_WIDTH 24

/* Returns the choice of the automatic partition. */
static const char *chosen_partition(const tsi_triangular_case *c, int k) {
  const tsi_bench_setup *setup = c->bench.setup;
  const char *word = cJSON_GetStringValue(
      cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(c->bench.results[k].rounds, 0), "partition"));
  return setup->contenders[k].peer < 0 && !tsi_bench_is_variant(setup, k) ? word : NULL;
}

static void print_row(const tsi_triangular_case *c, int k) {
  const tsi_bench_contender *contender = &c->bench.setup->contenders[k];
  const tsi_bench_result *r = &c->bench.results[k];
  const char *partition = chosen_partition(c, k);
  if (!r->ok) {
    printf("  %-*s failed: %s\n", NAME_WIDTH, contender->name, r->message);
    return;
  }
  const double preparation = tsi_triangular_preparation(r);
  printf("  %-*s %9s %9s", NAME_WIDTH, contender->name, tsi_text_seconds(r->solve_s),
         tsi_text_seconds(r->fastest_s));
  tsi_bench_print_number(10, 2, tsi_triangular_speed_up(c, tsi_triangular_plain(c), k));
  tsi_bench_print_number(10, 2, tsi_triangular_speed_up(c, c->bench.best_peer, k));
  printf(" %11s %8.0f %9.1e", tsi_text_seconds(preparation), preparation / r->solve_s, r->backward_error);
  if (partition != NULL) printf("  %s", partition);
  tsi_bench_print_end(&c->bench, r);
}

void tsi_triangular_print(const tsi_triangular_case *c) {
  const tsi_settings *settings = c->bench.setup->settings;
  const tsi_bench_triangle *t = &c->triangle;
  printf("%s: %s, %s entries, %s, %.1f rows each; %s; medians of %s, each of %s\n", c->title,
         tsi_text_many(t->n, "row"), tsi_text_count(t->nnz), tsi_text_many(t->levels, "level set"),
         tsi_triangular_parallelism(c), t->scaled ? "rows scaled" : "its own values",
         tsi_text_many(settings->rounds, "round"), tsi_text_many(c->bench.repeat, "solve"));
  printf("  %-*s %9s %9s %21s %20s\n", NAME_WIDTH, "", "", "", "speed-up over", "preparation");
  printf("  %-*s %9s %9s %10s %10s %11s %8s %9s\n", NAME_WIDTH, "contender", "solve", "fastest", "plain",
         "best peer", "time", "solves", "error");
  for (int k = 0; k < c->bench.setup->count; k++) print_row(c, k);
  putchar('\n');
  fflush(stdout);
}

/* ---- Summary ------------------------------------------------------------------------------------------- */

/* of NULL: all sources. */
static void print_means(const tsi_triangular *t, bool parallel, const char *of) {
  const tsi_triangular_means means = tsi_triangular_find_means(t, parallel, of);
  char what[96];
  snprintf(what, sizeof what, "%s%s", of != NULL ? "  of " : "all", of != NULL ? of : "");
  if (parallel)
    snprintf(what, sizeof what, "over %.0f rows a level set, over %s entries", TSI_PARALLEL_ROWS,
             tsi_text_count(TSI_PARALLEL_ENTRIES));
  printf("  %-48s %6d", what, means.cases);
  tsi_bench_print_number(10, 2, means.plain);
  tsi_bench_print_number(10, 2, means.peer);
  tsi_bench_print_number(15, 2, means.fixed);
  putchar('\n');
}

static void print_worst(const tsi_triangular *t) {
  int worst[TSI_TRIANGULAR_WORST];
  const int count = tsi_triangular_find_worst(t, worst);
  if (count > 0) puts("\n  Least speed-ups over the best peer");
  for (int k = 0; k < count; k++) {
    const tsi_triangular_case *c = &t->cases[worst[k]];
    printf("  %6.2f  %s: %s, %s\n", tsi_triangular_speed_up(c, c->bench.best_peer, tsi_triangular_own(c)),
           c->title, c->bench.setup->contenders[c->bench.best_peer].name,
           tsi_text_seconds(c->bench.results[c->bench.best_peer].solve_s));
  }
}

void tsi_triangular_print_summary(const tsi_triangular *t) {
  int measured = 0;
  const int all = tsi_triangular_find_means(t, false, NULL).cases;
  for (int k = 0; k < t->count; k++) {
    measured += t->cases[k].message[0] == '\0';
    if (t->cases[k].message[0] != '\0') printf("Not measured: %s\n", t->cases[k].message);
  }
  if (measured == 0) return;
  const char *own = t->setup.contenders[tsi_triangular_default(&t->setup)].variant;
  printf("Geometric means of the speed-ups of the %s partition with %s\n", *own ? own : "automatic",
         tsi_text_many(t->setup.workers_most, "worker"));
  printf("  %-48s %6s %10s %10s %15s\n", "triangles", "number", "plain", "best peer", "best partition");
  print_means(t, true, NULL);
  print_means(t, false, NULL);
  for (int k = 0; tsi_triangular_sources[k] != NULL; k++) {
    const int some = tsi_triangular_find_means(t, false, tsi_triangular_sources[k]).cases;
    if (some > 0 && some < all) print_means(t, false, tsi_triangular_sources[k]);
  }
  print_worst(t);
}

/* ---- JSON -------------------------------------------------------------------------------------------- */

static void add_figures(cJSON *object, const tsi_triangular_case *c, int k) {
  const tsi_bench_result *r = &c->bench.results[k];
  const double preparation = tsi_triangular_preparation(r);
  TSI_JSON_NUMBERS(object, {"solve_s", r->solve_s}, {"solve_least_s", r->least_s},
                   {"solve_most_s", r->most_s}, {"solve_min_s", r->fastest_s}, {"preparation_s", preparation},
                   {"preparation_solves", preparation / r->solve_s}, {"backward_error", r->backward_error});
  TSI_JSON_PRESENT(object, {"speed_up_plain", tsi_triangular_speed_up(c, tsi_triangular_plain(c), k)},
                   {"speed_up_peer", tsi_triangular_speed_up(c, c->bench.best_peer, k)});
}

static cJSON *make_contender(const tsi_triangular_case *c, int k) {
  const tsi_bench_contender *contender = &c->bench.setup->contenders[k];
  const tsi_bench_result *r = &c->bench.results[k];
  cJSON *object = tsi_bench_begin_contender(&c->bench, k, r->ok);
  if (contender->peer < 0) {
    cJSON_AddStringToObject(object, "partition",
                            *contender->variant ? contender->variant : tsi_options_word("partition", 0));
    cJSON_AddNumberToObject(object, "workers", contender->threads);
    cJSON_AddStringToObject(object, "scheduler", contender->scheduler);
  }
  cJSON_AddBoolToObject(object, "kept", r->kept);
  if (r->ok) add_figures(object, c, k);
  cJSON_AddItemToObject(object, "rounds", cJSON_Duplicate(r->rounds, true));
  return object;
}

static cJSON *make_case(const tsi_triangular_case *c) {
  const tsi_bench_setup *setup = c->bench.setup;
  const int own = tsi_triangular_own(c), fixed = tsi_triangular_fixed(c);
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "matrix", c->name);
  if (*c->of) cJSON_AddStringToObject(object, "of", c->of);
  cJSON_AddBoolToObject(object, "broken", c->broken);
  if (c->message[0] != '\0') {
    cJSON_AddStringToObject(object, "message", c->message);
    return object;
  }
  cJSON_AddStringToObject(object, "order", c->order);
  cJSON_AddStringToObject(object, "uplo", c->matrix.uplo);
  TSI_JSON_NUMBERS(object, {"n", (double)c->triangle.n}, {"nnz", (double)c->triangle.nnz},
                   {"repeat", (double)c->bench.repeat}, {"levels", (double)c->triangle.levels},
                   {"parallelism", tsi_triangular_parallelism(c)});
  cJSON_AddBoolToObject(object, "scaled", c->triangle.scaled);
  if (fixed >= 0) cJSON_AddStringToObject(object, "best_partition", setup->contenders[fixed].variant);
  if (c->bench.best_peer >= 0)
    cJSON_AddStringToObject(object, "best_peer", setup->contenders[c->bench.best_peer].name);
  TSI_JSON_PRESENT(object, {"speed_up_plain", tsi_triangular_speed_up(c, tsi_triangular_plain(c), own)},
                   {"speed_up_peer", tsi_triangular_speed_up(c, c->bench.best_peer, own)},
                   {"speed_up_partition", tsi_triangular_speed_up(c, fixed, own)});
  cJSON *list = cJSON_AddArrayToObject(object, "contenders");
  for (int k = 0; k < setup->count; k++) cJSON_AddItemToArray(list, make_contender(c, k));
  return object;
}

static void add_means(cJSON *object, const char *key, const tsi_triangular_means *means) {
  cJSON *to = cJSON_AddObjectToObject(object, key);
  cJSON_AddNumberToObject(to, "cases", means->cases);
  TSI_JSON_PRESENT(to, {"speed_up_plain", means->plain}, {"speed_up_peer", means->peer},
                   {"speed_up_partition", means->fixed});
}

bool tsi_triangular_write_json(const tsi_triangular *t) {
  const tsi_triangular_means all = tsi_triangular_find_means(t, false, NULL);
  const tsi_triangular_means parallel = tsi_triangular_find_means(t, true, NULL);
  int worst[TSI_TRIANGULAR_WORST];
  cJSON *object = tsi_bench_begin_json(&t->setup);
  cJSON_AddNumberToObject(object, "cores", t->setup.workers_most);
  add_means(object, "means", &all);
  add_means(object, "parallel_means", &parallel);
  cJSON *list = cJSON_AddArrayToObject(object, "worst");
  for (int k = 0, count = tsi_triangular_find_worst(t, worst); k < count; k++)
    cJSON_AddItemToArray(list, cJSON_CreateString(t->cases[worst[k]].title));
  list = cJSON_AddArrayToObject(object, "triangles");
  for (int k = 0; k < t->count; k++)
    if (t->cases[k].bench.results != NULL || t->cases[k].message[0] != '\0')
      cJSON_AddItemToArray(list, make_case(&t->cases[k]));
  return tsi_bench_put_json(&t->setup, object);
}

/* ---- Picture ----------------------------------------------------------------------------------------- */

enum { SERIES = 2 };

/* Arrays of count values; 0: none. */
typedef struct values {
  double *x, *y[SERIES];
  int64_t count;
} values;

static bool find_values(const tsi_triangular *t, values *v) {
  v->count = t->count;
  v->x = calloc((size_t)t->count + 1, sizeof *v->x);
  for (int d = 0; d < SERIES; d++) v->y[d] = calloc((size_t)t->count + 1, sizeof *v->y[d]);
  if (v->x == NULL || v->y[0] == NULL || v->y[1] == NULL) return false;
  for (int k = 0; k < t->count; k++) {
    const tsi_triangular_case *c = &t->cases[k];
    const int own = tsi_triangular_own(c);
    v->x[k] = tsi_triangular_parallelism(c);
    v->y[0][k] = tsi_triangular_speed_up(c, tsi_triangular_plain(c), own);
    v->y[1][k] = tsi_triangular_speed_up(c, c->bench.best_peer, own);
  }
  return true;
}

bool tsi_triangular_write_svg(const tsi_triangular *t) {
  tsi_picture p;
  values v = {.count = 0};
  tsi_axis x = {.name = "rows of a level set, on average", .logarithmic = true};
  tsi_axis y = {.name = "speed-up", .logarithmic = true};
  bool ok = find_values(t, &v);
  if (!ok) tsi_console_error("bench: out of memory for the picture");
  const tsi_series series[] = {
      {"over the plain sweep", TSI_SERIES_ALONE, TSI_BLUE, TSI_DISC, v.count, v.x, v.y[0], NULL, NULL},
      {"over the best peer", TSI_SERIES_ALONE, TSI_ORANGE, TSI_DIAMOND, v.count, v.x, v.y[1], NULL, NULL},
      tsi_bench_even};
  ok = ok && tsi_chart_begin(&p, NULL, t->setup.settings->svg,
                             "Triangular solves of TriStar and of other libraries");
  if (ok) {
    tsi_picture_subtitle(&p, "%s; automatic partition, %s; above 1 TriStar is the faster one",
                         tsi_text_many(t->count, "triangle"), tsi_text_many(t->setup.workers_most, "worker"));
    tsi_chart_legend(&p, SERIES, series);
    tsi_chart_draw(&p, &x, &y, SERIES + 1, series);
    ok = tsi_chart_end(&p, &y);
  }
  free(v.x);
  for (int d = 0; d < SERIES; d++) free(v.y[d]);
  return ok;
}
