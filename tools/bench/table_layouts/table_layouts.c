/* table_layouts [--most RANKS] [--within SHARE] [KIND:K...]: compares the choice of tristar_layout_choose
 * (`--layout auto`) with simulations of all layouts: all shapes Px x Py of 1, 2, 4, ... 64 grids.
 *
 * A case is a matrix, a number of processes, and the measured time: solves alone, or a factorization and a
 * number of solves. Prints a line for each case: the chosen layout, the fastest one, the ratio of their
 * times, and the number of layouts that the choice simulated. The exit status is 1 if a choice takes more
 * than 1 + SHARE (default 0.05) times as long as the fastest. --most omits cases with more processes. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tristar_layout.h"
#include "tristar_matrix.h"

#define GRIDS_MOST 64

typedef struct setting {
  int ranks;
  int64_t solves, nrhs; /* solves 0: the time of solves alone */
  tristar_map map;
} setting;

static const setting settings[] = {{16, 0, 1, TRISTAR_MAP_SUBTREE},
                                   {48, 0, 10, TRISTAR_MAP_SUBTREE},
                                   {64, 10, 1, TRISTAR_MAP_SUBTREE},
                                   {64, 0, 1, TRISTAR_MAP_CYCLIC},
                                   {256, 0, 1, TRISTAR_MAP_SUBTREE}};
static const char *const families[] = {"s2d9pt:100",  "kkt3d:10",  "elasticity3d:10",
                                       "maxwell3d:8", "chem3d:12", "poisson3d7:20"};

static void check(tristar_t *ts, tristar_status status) {
  char message[512];
  if (status == TRISTAR_OK) return;
  (void)tristar_get_error(ts, message, sizeof message);
  fprintf(stderr, "table_layouts: %s\n", message);
  exit(1);
}

typedef struct work {
  tristar_t *ts;
  const tristar_analysis_t *analysis;
  const setting *set;
  const tristar_cluster *cluster;
} work;

/* Returns the measured time of one layout. */
static double seconds_of(const work *w, const tristar_layout *layout) {
  tristar_simulated solve, factorization = {.seconds = 0};
  const double solves = w->set->solves > 0 ? (double)w->set->solves : 1;
  check(w->ts, tristar_layout_predict(w->analysis, layout, w->set->nrhs, w->cluster, &solve));
  if (w->set->solves > 0)
    check(w->ts, tristar_layout_predict_factor(w->analysis, layout, w->cluster, &factorization));
  return factorization.seconds + solves * solve.seconds;
}

/* Finds the fastest of all layouts; returns its time. */
static double find_fastest(const work *w, int grids, tristar_layout *fastest, int *layouts) {
  tristar_layout layout = *fastest;
  double least = 0;
  *layouts = 0;
  for (layout.pz = 1; layout.pz <= grids && w->set->ranks % layout.pz == 0; layout.pz *= 2)
    for (layout.px = 1; layout.px * layout.pz <= w->set->ranks; layout.px++) {
      layout.py = w->set->ranks / layout.pz / layout.px;
      if (layout.px * layout.py * layout.pz != w->set->ranks) continue;
      const double seconds = seconds_of(w, &layout);
      if (++*layouts > 1 && seconds >= least) continue;
      least = seconds;
      *fastest = layout;
    }
  return least;
}

static double compare(const work *w, const char *name, int grids) {
  const setting *s = w->set;
  tristar_layout chosen, fastest;
  tristar_layout_costs costs;
  tristar_layout_prediction predicted;
  char what[64];
  int layouts;
  tristar_layout_init(&chosen);
  tristar_layout_costs_init(&costs);
  chosen.map = s->map;
  fastest = chosen;
  costs.solves = s->solves;
  costs.nrhs = s->nrhs;
  costs.cluster = w->cluster;
  check(w->ts, tristar_layout_choose(w->analysis, s->ranks, &costs, &chosen, &predicted));
  const double least = find_fastest(w, grids, &fastest, &layouts), ratio = seconds_of(w, &chosen) / least;
  if (s->solves > 0)
    snprintf(what, sizeof what, "a factorization, %d solves", (int)s->solves);
  else
    snprintf(what, sizeof what, "solves, %d column%s%s", (int)s->nrhs, s->nrhs > 1 ? "s" : "",
             s->map == TRISTAR_MAP_CYCLIC ? ", cyclic map" : "");
  printf("| `%s` | %d | %s | %dx%dx%d | %dx%dx%d | %.3f | %d of %d |\n", name, s->ranks, what, chosen.px,
         chosen.py, chosen.pz, fastest.px, fastest.py, fastest.pz, ratio, (int)predicted.simulated, layouts);
  fflush(stdout);
  return ratio;
}

/* Compares all settings of a matrix KIND:K; returns the largest ratio. */
static double compare_all(tristar_t *ts, const char *name, int most, const tristar_cluster *cluster,
                          int *cases) {
  tristar_matrix_t *matrix;
  tristar_view view;
  tristar_analysis_t *analysis;
  tristar_analysis_options options;
  const char *colon = strchr(name, ':');
  char kind[64];
  double worst = 0;
  if (colon == NULL || colon - name >= (int)sizeof kind) {
    fprintf(stderr, "table_layouts: %s is not KIND:K\n", name);
    exit(2);
  }
  snprintf(kind, sizeof kind, "%.*s", (int)(colon - name), name);
  check(ts, tristar_matrix_generate(ts, kind, strtoll(colon + 1, NULL, 10), &matrix));
  check(ts, tristar_matrix_get_view(matrix, &view));
  tristar_analysis_options_init(&options);
  options.leaf_parts = GRIDS_MOST;
  check(ts, tristar_analyze(ts, &view, &options, &analysis));
  for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
    const work w = {ts, analysis, &settings[k], cluster};
    if (settings[k].ranks > most) continue;
    const double ratio = compare(&w, name, GRIDS_MOST);
    worst = ratio > worst ? ratio : worst;
    ++*cases;
  }
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  return worst;
}

int main(int argc, char **argv) {
  tristar_t *ts;
  tristar_config config;
  tristar_cluster cluster;
  double within = 0.05, worst = 0;
  int most = 1 << 20, first = 1, cases = 0;
  for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2) {
    if (strcmp(argv[first], "--most") == 0) most = atoi(argv[first + 1]);
    if (strcmp(argv[first], "--within") == 0) within = atof(argv[first + 1]);
  }
  const int given = argc - first, count = given > 0 ? given : (int)(sizeof families / sizeof *families);
  tristar_config_init(&config);
  config.use_starpu = 0;
  check(NULL, tristar_create(&config, &ts));
  tristar_cluster_init(&cluster);
  puts("| matrix | processes | what counts | chosen | fastest | chosen / fastest | simulated |\n"
       "|---|---|---|---|---|---|---|");
  for (int k = 0; k < count; k++) {
    const double ratio = compare_all(ts, given > 0 ? argv[first + k] : families[k], most, &cluster, &cases);
    worst = ratio > worst ? ratio : worst;
  }
  printf("\n%d cases; the choice takes at most %.3f times as long as the fastest layout\n", cases, worst);
  tristar_destroy(&ts);
  return worst <= 1 + within ? 0 : 1;
}
