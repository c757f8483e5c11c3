/* `tristar bench --triangular`: makes the cases of each matrix, measures them one after the other, prints and
 * writes the results: see bench_triangular.h. */
#include "drivers/bench/bench_triangular.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/session/console.h"
#include "drivers/draw/picture.h"
#include "drivers/report/report.h"

enum { TRIANGLES = 2 };
static const char *const uplos[TRIANGLES + 1] = {"L", "U", NULL};

/* The orders of a matrix before triangles are extracted. */
static const char *const orders[] = {"natural", "metis", NULL};
static const char *const order_titles[] = {"natural order", "METIS order"};
enum { ORDERS = sizeof order_titles / sizeof order_titles[0] };

/* The sources of triangles: the matrix, in its order, or its incomplete factors. */
const char *const tsi_triangular_sources[] = {"matrix", "ilu0", "ic0", NULL};
static const struct {
  const char *titles[TRIANGLES];
  tristar_precond_kind kind; /* NONE: the matrix itself */
} kinds[] = {{{"lower triangle", "upper triangle"}, TRISTAR_PRECOND_NONE},
             {{"L of ILU(0)", "U of ILU(0)"}, TRISTAR_PRECOND_ILU},
             {{"L of IC(0)", "U of IC(0)"}, TRISTAR_PRECOND_IC}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* The words of the command line. */
typedef struct choice {
  bool order[ORDERS], kind[KINDS], uplo[TRIANGLES];
} choice;

/* ---- Figures of a case --------------------------------------------------------------------------------- */

int tsi_triangular_default(const tsi_bench_setup *setup) {
  int first = -1;
  for (int k = 0; k < setup->count; k++) {
    if (setup->contenders[k].peer >= 0 || setup->contenders[k].threads != setup->workers_most) continue;
    if (!tsi_bench_is_variant(setup, k)) return k;
    if (first < 0) first = k;
  }
  return first;
}

int tsi_triangular_own(const tsi_triangular_case *c) {
  const int own = tsi_triangular_default(c->bench.setup);
  return own >= 0 && c->bench.results != NULL && c->bench.results[own].ok ? own : -1;
}

int tsi_triangular_fixed(const tsi_triangular_case *c) {
  const tsi_bench_setup *setup = c->bench.setup;
  const tsi_bench_result *results = c->bench.results;
  int best = -1;
  for (int k = 0; k < setup->count && results != NULL; k++)
    if (setup->contenders[k].peer < 0 && tsi_bench_is_variant(setup, k) &&
        setup->contenders[k].threads == setup->workers_most && results[k].ok &&
        (best < 0 || results[k].solve_s < results[best].solve_s))
      best = k;
  return best;
}

int tsi_triangular_plain(const tsi_triangular_case *c) {
  const tsi_bench_setup *setup = c->bench.setup;
  for (int k = 0; k < setup->count && c->bench.results != NULL; k++)
    if (setup->contenders[k].peer == 0 && c->bench.results[k].ok) return k;
  return -1;
}

double tsi_triangular_speed_up(const tsi_triangular_case *c, int other, int k) {
  const tsi_bench_result *results = c->bench.results;
  if (results == NULL || other < 0 || k < 0 || !results[other].ok || !results[k].ok) return 0;
  return results[other].solve_s / results[k].solve_s;
}

double tsi_triangular_parallelism(const tsi_triangular_case *c) {
  return c->triangle.levels > 0 ? (double)c->triangle.n / (double)c->triangle.levels : 0;
}

double tsi_triangular_preparation(const tsi_bench_result *r) {
  return r->analyze_s + r->factor_s + r->plan_s;
}

/* ---- Means --------------------------------------------------------------------------------------------- */

static bool is_parallel(const tsi_triangular_case *c) {
  return tsi_triangular_parallelism(c) > TSI_PARALLEL_ROWS && c->triangle.nnz > TSI_PARALLEL_ENTRIES;
}

static double mean(double logarithms, int count) {
  return count > 0 ? exp(logarithms / count) : 0;
}

tsi_triangular_means tsi_triangular_find_means(const tsi_triangular *t, bool parallel, const char *of) {
  enum { PLAIN, PEER, FIXED, MEANS };
  double sum[MEANS] = {0};
  int count[MEANS] = {0}, cases = 0;
  for (int k = 0; k < t->count; k++) {
    const tsi_triangular_case *c = &t->cases[k];
    const int own = tsi_triangular_own(c);
    if (own < 0 || (parallel && !is_parallel(c)) || (of != NULL && c->of != of)) continue;
    const int others[MEANS] = {tsi_triangular_plain(c), c->bench.best_peer, tsi_triangular_fixed(c)};
    cases++;
    for (int m = 0; m < MEANS; m++) {
      const double speed_up = tsi_triangular_speed_up(c, others[m], own);
      if (speed_up <= 0) continue;
      sum[m] += log(speed_up);
      count[m]++;
    }
  }
  return (tsi_triangular_means){cases, mean(sum[PLAIN], count[PLAIN]), mean(sum[PEER], count[PEER]),
                                mean(sum[FIXED], count[FIXED])};
}

static double over_best_peer(const tsi_triangular *t, int k) {
  return tsi_triangular_speed_up(&t->cases[k], t->cases[k].bench.best_peer, tsi_triangular_own(&t->cases[k]));
}

int tsi_triangular_find_worst(const tsi_triangular *t, int worst[TSI_TRIANGULAR_WORST]) {
  int count = 0;
  for (int k = 0; k < t->count; k++) {
    const double speed_up = over_best_peer(t, k);
    int at = count;
    if (speed_up <= 0) continue;
    if (count < TSI_TRIANGULAR_WORST) count++;
    for (; at > 0 && speed_up < over_best_peer(t, worst[at - 1]); at--)
      if (at < TSI_TRIANGULAR_WORST) worst[at] = worst[at - 1];
    if (at < TSI_TRIANGULAR_WORST) worst[at] = k;
  }
  return count;
}

/* ---- Cases --------------------------------------------------------------------------------------------- */

static tsi_triangular_case *add_case(tsi_triangular *t, const char *name, const char *order, const char *of) {
  tsi_triangular_case *c = &t->cases[t->count++]; /* there is space for all */
  c->name = name;
  c->order = order;
  c->of = of;
  c->bench.setup = &t->setup;
  c->bench.best_tristar = c->bench.best_peer = -1;
  c->bench.number = t->count;
  c->bench.all = t->expected;
  return c;
}

/* Removes the name of the unnamed file from messages of contenders: the case has the name of the matrix. */
static void rename_file(tsi_triangular_case *c) {
  const size_t length = strlen(c->triangle.path);
  for (int k = 0; k < c->bench.setup->count; k++) {
    char *at = strstr(c->bench.results[k].message, c->triangle.path);
    if (at != NULL && strncmp(at + length, ": ", 2) == 0)
      memmove(at, at + length + 2, strlen(at + length + 2) + 1);
  }
}

/* Arguments of the functions that measure the cases of a matrix. */
typedef struct place {
  tsi_session *s;
  tsi_triangular *t;
  const choice *chosen;
  int order, kind;
} place;

#define ENTRY_SECONDS 1e-9 /* minimum seconds per entry of a sweep */
#define CALL_SECONDS 1e-6
#define SOLVES_MOST 1000

/* Returns the number of solves of a run. Short solves are repeated until caches and clock frequency are in
 * the state of many repeated solves. The number is the same for all contenders. */
static int64_t solves_of_run(const tsi_settings *settings, int64_t entries) {
  const double fit = 1e-3 * (double)settings->run_ms / (CALL_SECONDS + ENTRY_SECONDS * (double)entries);
  const int64_t solves = fit < SOLVES_MOST ? (int64_t)fit : SOLVES_MOST;
  return solves > settings->repeat ? solves : settings->repeat;
}

/* Measures a triangle. Returns false if there is no memory for its results. */
static bool measure(const place *at, const tsi_square *a, int triangle) {
  tsi_session *s = at->s;
  tsi_triangular *t = at->t;
  tsi_triangular_case *c = add_case(t, s->name, orders[at->order], tsi_triangular_sources[at->kind]);
  snprintf(c->title, sizeof c->title, "%.500s, %s, %s", c->name, kinds[at->kind].titles[triangle],
           order_titles[at->order]);
  if (!tsi_bench_triangle_make(s, a, triangle == 1, &c->triangle)) {
    snprintf(c->message, sizeof c->message, "%.300s", s->message);
    return true; /* tsi_session_close prints the message */
  }
  c->matrix = (tsi_bench_matrix){.name = c->title,
                                 .path = c->triangle.path,
                                 .uplo = uplos[triangle],
                                 .n = c->triangle.n,
                                 .nnz = c->triangle.nnz};
  c->bench.matrix = &c->matrix;
  c->bench.nrhs = 1;
  c->bench.repeat = solves_of_run(t->setup.settings, c->triangle.nnz);
  const bool measured = tsi_bench_case_measure(&c->bench);
  if (measured) rename_file(c);
  if (measured && !t->setup.settings->to_stdout) tsi_triangular_print(c);
  tsi_bench_triangle_close(&c->triangle);
  return measured;
}

/* Reads the matrix. A pattern is accepted: its values are ones. */
static bool read_matrix(tsi_session *s, const tsi_settings *settings, const char *name) {
  if (!tsi_session_open(s, settings, name)) return false;
  if (!tsi_session_read(s)) {
    if (s->status != TRISTAR_ERR_UNSUPPORTED || s->matrix == NULL || s->view.values != NULL) return false;
    s->status = TRISTAR_OK;
  }
  return s->view.rows > 0 || tsi_session_fail(s, TRISTAR_ERR_ARGUMENT, "%s: it has no rows", s->name);
}

static int count(const bool *chosen, int words) {
  int found = 0;
  for (int k = 0; k < words; k++) found += chosen[k];
  return found;
}

static bool measure_triangles(const place *at, const tsi_square *a) {
  bool going_on = true;
  for (int u = 0; u < TRIANGLES && going_on && at->s->status == TRISTAR_OK; u++)
    if (at->chosen->uplo[u]) going_on = measure(at, a, u);
  return going_on;
}

/* Makes a case that reports the breakdown of an incomplete factorization; then the program continues. */
static void report_breakdown(const place *at) {
  tsi_session *s = at->s;
  if (s->status != TRISTAR_ERR_SINGULAR && s->status != TRISTAR_ERR_NOT_POSITIVE_DEFINITE &&
      s->status != TRISTAR_ERR_NOT_FINITE)
    return;
  tsi_triangular_case *c = add_case(at->t, s->name, orders[at->order], tsi_triangular_sources[at->kind]);
  at->t->expected -= count(at->chosen->uplo, TRIANGLES) - 1;
  c->broken = true;
  snprintf(c->message, sizeof c->message, "%.200s (%s, %s)", s->message, tsi_triangular_sources[at->kind],
           order_titles[at->order]);
  s->status = TRISTAR_OK;
}

/* Measures triangles of incomplete factors; IC only if the matrix is stored as a symmetric one. */
static bool measure_factors(const place *at, const tsi_square *a) {
  const tristar_symmetry symmetry = at->s->view.symmetry;
  tsi_square factors = {0};
  bool going_on = true;
  if (kinds[at->kind].kind == TRISTAR_PRECOND_IC && symmetry != TRISTAR_SYMMETRIC &&
      symmetry != TRISTAR_HERMITIAN) {
    at->t->expected -= count(at->chosen->uplo, TRIANGLES);
    return true;
  }
  if (tsi_square_factor(at->s, a, kinds[at->kind].kind, &factors))
    going_on = measure_triangles(at, &factors);
  else
    report_breakdown(at);
  tsi_square_free(&factors);
  return going_on;
}

/* Measures all cases of a matrix. Returns false if the program must end. */
static bool measure_matrix(tsi_triangular *t, const choice *chosen, const char *name) {
  tsi_session session, *s = &session;
  tsi_settings serial = *t->setup.settings;
  place at = {.s = s, .t = t, .chosen = chosen};
  serial.engine = TRISTAR_ENGINE_SERIAL;
  bool going_on = true;
  const bool found = read_matrix(s, &serial, name);
  for (; at.order < ORDERS && found && going_on && s->status == TRISTAR_OK; at.order++) {
    tsi_square a = {0};
    if (!chosen->order[at.order]) continue;
    if (tsi_square_make(s, &a) && at.order == 1) (void)tsi_square_dissect(s, &a);
    for (at.kind = 0; at.kind < KINDS && going_on && s->status == TRISTAR_OK; at.kind++)
      if (chosen->kind[at.kind])
        going_on = kinds[at.kind].kind == TRISTAR_PRECOND_NONE ? measure_triangles(&at, &a)
                                                               : measure_factors(&at, &a);
    tsi_square_free(&a);
  }
  const tsi_triangular_case *last = t->count > 0 ? &t->cases[t->count - 1] : NULL;
  if (s->status != TRISTAR_OK && (last == NULL || last->broken || last->message[0] == '\0'))
    snprintf(add_case(t, name, "", "")->message, sizeof t->cases[0].message, "%.300s", s->message);
  (void)tsi_session_close(s);
  return going_on;
}

/* ---- The command --------------------------------------------------------------------------------------- */

/* Marks the words in the list of an option; without the option all words are chosen. */
static int choose(const char *option, const char *text, const char *const *words, bool *chosen) {
  tsi_list list = {.count = 0};
  char all[80] = "";
  for (int k = 0; words[k] != NULL; k++) {
    chosen[k] = text == NULL;
    snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", k > 0 ? ", " : "", words[k]);
  }
  const int status = text != NULL ? tsi_list_split("bench", option, text, &list) : TSI_EXIT_OK;
  for (int w = 0; w < list.count && status == TSI_EXIT_OK; w++) {
    int k = 0;
    while (words[k] != NULL && strcmp(words[k], list.word[w]) != 0) k++;
    if (words[k] == NULL)
      return tsi_usage_error("bench", "--%s %s: '%s' is not one of %s", option, text, list.word[w], all);
    chosen[k] = true;
  }
  return status;
}

/* Reports wrong names before anything is measured. */
static int check_names(const tsi_settings *settings) {
  int status = TSI_EXIT_OK;
  for (int k = 0; k < settings->operand_count && status == TSI_EXIT_OK; k++) {
    const char *name = settings->operands[k];
    tsi_session session, *s = &session;
    tsi_settings serial = *settings;
    serial.engine = TRISTAR_ENGINE_SERIAL;
    if (tsi_session_open(s, &serial, name)) {
      if (strncmp(name, "gen:", 4) == 0)
        (void)tsi_is_generator(s, name + 4, strcspn(name + 4, ":"));
      else if (access(name, R_OK) != 0)
        (void)tsi_session_fail(s, TRISTAR_ERR_IO, "cannot open %s: %s", name, strerror(errno));
    }
    status = tsi_session_close(s);
  }
  return status;
}

/* Returns the exit status: fails if a matrix could not be measured, or the default of TriStar did not solve.
 */
static int judge(const tsi_triangular *t) {
  for (int k = 0; k < t->count; k++)
    if (!t->cases[k].broken && tsi_triangular_own(&t->cases[k]) < 0) return TSI_EXIT_FAILED;
  return t->count > 0 ? TSI_EXIT_OK : TSI_EXIT_FAILED;
}

static int run(tsi_triangular *t, const choice *chosen) {
  const tsi_settings *settings = t->setup.settings;
  bool going_on = true;
  tsi_bench_process_guard();
  if (!settings->to_stdout) tsi_bench_print_missing(&t->setup);
  for (int k = 0; k < settings->operand_count && going_on; k++)
    going_on = measure_matrix(t, chosen, settings->operands[k]);
  if (!settings->to_stdout) tsi_triangular_print_summary(t);
  int status = going_on ? judge(t) : TSI_EXIT_FAILED;
  if (settings->json != NULL && !tsi_triangular_write_json(t)) status = TSI_EXIT_FAILED;
  if (settings->svg != NULL && !tsi_triangular_write_svg(t)) status = TSI_EXIT_FAILED;
  return status;
}

static int check_words(const tsi_settings *settings, choice *chosen) {
  if (settings->nrhs_list != NULL || settings->variants_list != NULL || settings->compress_list != NULL ||
      settings->store_list != NULL || settings->reuse)
    return tsi_usage_error("bench",
                           "--triangular goes without --nrhs, --variants, --compress, --store and --reuse");
  if (settings->repeat < 2) /* a single solve has no warm-up */
    return tsi_usage_error("bench", "--triangular needs --repeat 2 or more");
  int status = choose("orders", settings->orders_list, orders, chosen->order);
  if (status == TSI_EXIT_OK) status = choose("of", settings->of_list, tsi_triangular_sources, chosen->kind);
  if (status == TSI_EXIT_OK) status = choose("uplo", settings->uplo_list, uplos, chosen->uplo);
  if (status == TSI_EXIT_OK) status = tsi_picture_check("bench", "svg", settings->svg);
  return status;
}

int tsi_bench_triangular(const tsi_settings *settings) {
  choice chosen;
  int status = check_words(settings, &chosen);
  if (status != TSI_EXIT_OK) return status;
  const int space = settings->operand_count * (ORDERS * KINDS * TRIANGLES + 1);
  tsi_triangular *t = calloc(1, sizeof *t);
  if (t != NULL) t->cases = calloc((size_t)space, sizeof *t->cases);
  if (t == NULL || t->cases == NULL) {
    tsi_console_error("bench: out of memory");
    free(t);
    return TSI_EXIT_FAILED;
  }
  t->expected = settings->operand_count * count(chosen.order, ORDERS) * count(chosen.kind, KINDS) *
                count(chosen.uplo, TRIANGLES);
  status = tsi_bench_setup_make(&t->setup, settings);
  if (status == TSI_EXIT_OK) status = check_names(settings);
  if (status == TSI_EXIT_OK) status = run(t, &chosen);
  for (int k = 0; k < t->count; k++) tsi_bench_case_free(&t->cases[k].bench);
  free(t->cases);
  free(t);
  return status;
}
