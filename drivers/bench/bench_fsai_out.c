/* Output of `tristar bench --fsai`: see bench_fsai.h.
 *
 * The picture has a mark for each matrix and contender that solved. x: entries of the matrix; y: its time of
 * set-up and solve divided by the time of TriStar's FSAI on as many processes. */
#include "drivers/bench/bench_fsai.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/draw/chart.h"
#include "drivers/report/report.h"
#include "drivers/session/console.h"

/* ---- Tables ------------------------------------------------------------------------------------------ */

#define NAME_WIDTH 38

static void print_row(const tsi_bench_case *c, int k) {
  const tsi_bench_contender *contender = &c->setup->contenders[k];
  const tsi_bench_result *r = &c->results[k];
  tsi_fsai_figures f;
  if (!tsi_fsai_find(c, k, &f)) {
    printf("  %-*s failed: %s\n", NAME_WIDTH, contender->name, r->message);
    return;
  }
  printf("  %-*s %10.0f %9s %9s %9s %9s", NAME_WIDTH, contender->name, f.iterations,
         tsi_text_seconds(f.setup_s), tsi_text_seconds(f.iteration_s), tsi_text_seconds(f.solve_s),
         tsi_text_seconds(f.total_s));
  tsi_bench_print_share(9, f.product_share, 1);
  printf(" %12s %9.1e", f.entries > 0 ? tsi_text_count((int64_t)f.entries) : "-", f.backward_error);
  tsi_bench_print_end(c, r);
}

void tsi_fsai_print(const tsi_bench_case *c) {
  tsi_bench_print_matrix(c->setup, c->matrix);
  printf("  %-*s %10s %9s %9s %9s %9s %9s %12s %9s\n", NAME_WIDTH, "contender", "iterations", "set-up",
         "iteration", "solve", "total", "products", "entries", "error");
  for (int k = 0; k < c->setup->count; k++) print_row(c, k);
  putchar('\n');
  fflush(stdout);
}

/* Prints a line for each claim, with a column for each number of processes. */
void tsi_fsai_print_summary(const tsi_fsai_bench *b) {
  int ranks[TSI_LIST_MAX];
  const int count = tsi_fsai_ranks(&b->setup, ranks);
  printf("Geometric means over %s; processes:", b->count == 1 ? "1 matrix" : "the matrices");
  for (int r = 0; r < count; r++) printf(" %d", ranks[r]);
  putchar('\n');
  for (int k = 0; k < tsi_fsai_claim_count; k++) {
    printf("  %-54s", tsi_fsai_claims[k].title);
    for (int r = 0; r < count; r++)
      tsi_bench_print_number(7, 2, tsi_fsai_mean(b, &tsi_fsai_claims[k], ranks[r]));
    putchar('\n');
  }
}

/* ---- JSON -------------------------------------------------------------------------------------------- */

static cJSON *make_contender(const tsi_bench_case *c, int k) {
  const tsi_bench_contender *contender = &c->setup->contenders[k];
  const tsi_bench_result *r = &c->results[k];
  tsi_fsai_figures f;
  const bool solved = tsi_fsai_find(c, k, &f);
  cJSON *object = tsi_bench_begin_contender(c, k, solved);
  cJSON_AddStringToObject(object, "method", contender->krylov->method);
  cJSON_AddStringToObject(object, "precond", contender->krylov->precond);
  cJSON_AddNumberToObject(object, "ranks", contender->ranks);
  if (solved) {
    TSI_JSON_NUMBERS(object, {"iterations", f.iterations}, {"setup_s", f.setup_s}, {"solve_s", f.solve_s},
                     {"solve_least_s", r->least_s}, {"solve_most_s", r->most_s},
                     {"iteration_s", f.iteration_s}, {"total_s", f.total_s}, {"nnz_factor", f.entries},
                     {"backward_error", f.backward_error});
    TSI_JSON_PRESENT(object, {"product_gbps", f.product_gbps}, {"product_bandwidth_share", f.product_share});
  }
  cJSON_AddItemToObject(object, "rounds", cJSON_Duplicate(r->rounds, true));
  return object;
}

/* Makes an object with a member for each known ratio; c NULL: means over the cases. */
static cJSON *make_ratios(const tsi_fsai_bench *b, const tsi_bench_case *c, int ranks) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddNumberToObject(object, "ranks", ranks);
  for (int k = 0; k < tsi_fsai_claim_count; k++) {
    const tsi_fsai_claim *claim = &tsi_fsai_claims[k];
    const double ratio = c != NULL ? tsi_fsai_ratio(c, claim, ranks) : tsi_fsai_mean(b, claim, ranks);
    TSI_JSON_PRESENT(object, {claim->key, ratio});
  }
  return object;
}

static void add_ratios(cJSON *object, const char *key, const tsi_fsai_bench *b, const tsi_bench_case *c) {
  int ranks[TSI_LIST_MAX];
  const int count = tsi_fsai_ranks(&b->setup, ranks);
  cJSON *list = cJSON_AddArrayToObject(object, key);
  for (int r = 0; r < count; r++) cJSON_AddItemToArray(list, make_ratios(b, c, ranks[r]));
}

static cJSON *make_case(const tsi_fsai_bench *b, const tsi_bench_case *c) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "matrix", c->matrix->name);
  TSI_JSON_NUMBERS(object, {"n", (double)c->matrix->n}, {"nnz", (double)c->matrix->nnz},
                   {"bandwidth_one_core_gbps", tsi_fsai_bandwidth(c, 1)},
                   {"bandwidth_gbps", c->rates.bandwidth});
  add_ratios(object, "ratios", b, c);
  cJSON *list = cJSON_AddArrayToObject(object, "contenders");
  for (int k = 0; k < c->setup->count; k++) cJSON_AddItemToArray(list, make_contender(c, k));
  return object;
}

bool tsi_fsai_write_json(const tsi_fsai_bench *b) {
  cJSON *object = tsi_bench_begin_json(&b->setup);
  add_ratios(object, "means", b, NULL);
  cJSON *list = cJSON_AddArrayToObject(object, "cases");
  for (int m = 0; m < b->count; m++) cJSON_AddItemToArray(list, make_case(b, &b->cases[m]));
  return tsi_bench_put_json(&b->setup, object);
}

/* ---- Picture ----------------------------------------------------------------------------------------- */

enum { COLOURS = 8 };

/* Values of all contenders except the one that they are compared with. */
typedef struct values {
  const tsi_fsai_bench *bench;
  int count;                               /* number of contenders */
  double *x, *y[TSI_BENCH_CONTENDERS_MAX]; /* by matrix; 0: it did not solve */
  tsi_series series[TSI_BENCH_CONTENDERS_MAX + 1];
} values;

static void describe(values *v, int k) {
  static const int colours[COLOURS] = {TSI_SKY,    TSI_BLUE,  TSI_ORANGE, TSI_VERMILLION,
                                       TSI_PURPLE, TSI_GREEN, TSI_GREY,   TSI_BLUE};
  const tsi_bench_setup *setup = &v->bench->setup;
  int first = 0; /* contenders of one kind have one colour */
  while (setup->contenders[first].krylov != setup->contenders[k].krylov) first++;
  v->series[v->count] = (tsi_series){.name = setup->contenders[k].name,
                                     .kind = TSI_SERIES_ALONE,
                                     .colour = colours[first % COLOURS],
                                     .shape = setup->contenders[k].ranks > 1 ? TSI_DIAMOND : TSI_DISC,
                                     .count = v->bench->count,
                                     .x = v->x,
                                     .y = v->y[v->count]};
  v->count++;
}

static bool find_values(values *v) {
  const tsi_fsai_bench *b = v->bench;
  v->x = calloc((size_t)b->count + 1, sizeof *v->x);
  if (v->x == NULL) return false;
  for (int m = 0; m < b->count; m++) v->x[m] = (double)b->matrices[m].nnz;
  for (int k = 0; k < b->setup.count; k++) {
    const int ranks = b->setup.contenders[k].ranks;
    const int own = tsi_fsai_contender(&b->setup, "TriStar, FSAI", ranks);
    if (k == own) continue;
    v->y[v->count] = calloc((size_t)b->count + 1, sizeof *v->x);
    if (v->y[v->count] == NULL) return false;
    for (int m = 0; m < b->count; m++) {
      tsi_fsai_figures one, base;
      if (tsi_fsai_find(&b->cases[m], k, &one) && tsi_fsai_find(&b->cases[m], own, &base))
        v->y[v->count][m] = one.total_s / base.total_s;
    }
    describe(v, k);
  }
  return true;
}

bool tsi_fsai_write_svg(const tsi_fsai_bench *b) {
  tsi_picture p;
  values v = {.bench = b};
  tsi_axis x = {.name = "entries of the matrix", .logarithmic = true};
  tsi_axis y = {.name = "set-up and solve, over TriStar's FSAI", .logarithmic = true};
  bool ok = find_values(&v);
  if (!ok) tsi_console_error("bench: out of memory for the picture");
  ok =
      ok && tsi_chart_begin(&p, NULL, b->setup.settings->svg,
                            "Conjugate gradients with sparse approximate inverses and other preconditioners");
  if (ok) {
    tsi_picture_subtitle(&p,
                         "set-up and solve, divided by those of TriStar's FSAI on as many processes; above "
                         "1 that is the faster one");
    tsi_chart_legend(&p, v.count, v.series);
    v.series[v.count] = tsi_bench_even;
    tsi_chart_draw(&p, &x, &y, v.count + 1, v.series);
    ok = tsi_chart_end(&p, &y);
  }
  free(v.x);
  for (int k = 0; k < TSI_BENCH_CONTENDERS_MAX; k++) free(v.y[k]);
  return ok;
}
