/* Processes of a distributed solve with subtrees on emulated devices, beside others on the cores: what
 * test_process.c checks of processes holds, on layouts of each kind, with the same bits under every
 * scheduler; which subtrees are on devices; new values reach the devices. */
#include "tests/support/context.h"
#include "tests/support/mpi/process_checks.h"
#include "tests/support/subtests.h"

enum { DEVICES = 2 };

static const struct {
  tsi_index px, py, pz;
  bool replicated;
} layouts[] = {{1, 1, 2, true},  {2, 1, 1, true}, {1, 2, 1, true},
               {1, 1, 4, false}, {2, 1, 2, true}, {1, 1, 2, false}};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static tristar_t *create(const char *scheduler) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_t *ts;
  config.scheduler = scheduler;
  config.calibration = "off";
  config.check = 1;
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

static tsi_process_options options_of(int l) {
  return (tsi_process_options){.layout = {.px = layouts[l].px,
                                          .py = layouts[l].py,
                                          .pz = layouts[l].pz,
                                          .map = TSI_MAP_SUBTREE,
                                          .replicated = layouts[l].replicated,
                                          .floor_bytes = 400,
                                          .ceiling_bytes = 4000,
                                          .slice_bytes = 1000,
                                          .scalar_bytes = 8},
                               .workers = 2};
}

/* Chooses supernodes for the devices of all processes. part: memory of each device, relative to an even
 * share of the factor. Returns the number of supernodes on devices. */
static tsi_index choose(tristar_t *ts, const tristar_factor_t *f, tsi_process_options *options, double part,
                        tsi_index *device) {
  const tsi_factor_kind kind = tsi_factor_kind_of(f);
  const tristar_analysis_t *an = f->analysis;
  const tsi_layout_options *l = &options->layout;
  const tsi_index ranks = l->px * l->py * l->pz;
  const double factor = (double)an->panel_values[an->panels->count] * (double)f->scalar_bytes,
               bytes = 3 * factor; /* more than enough for tables and workspace */
  const tsi_process_wishes wishes = {TRISTAR_PLACE_GPU, part * bytes / (ranks * DEVICES), 1, 1};
  tsi_index placed = 0;
  for (tsi_index s = 0; s < an->symbolic->count; s++) device[s] = TSI_NONE;
  for (tsi_index r = 0; r < ranks; r++) {
    tsi_device_split_options places;
    options->rank = r;
    CHECK_OK(tsi_process_places(ts, &kind, an->symbolic, an->panels, options, &wishes, &places));
    if (places.device) options->cut = places.cut;
    for (tsi_index s = 0; places.device && s < an->symbolic->count; s++) {
      if (places.device[s] == TSI_NONE) continue;
      CHECK(device[s] == TSI_NONE && places.device[s] >= 0 && places.device[s] < DEVICES);
      device[s] = places.device[s];
      placed++;
    }
    tsi_device_split_options_finish(&ts->env, &places);
  }
  options->layout.device = device;
  return placed;
}

static void add_bits(const problem *q, tsi_index nrhs, uint64_t *bits) {
  for (size_t i = 0; i < (size_t)q->view.rows * (size_t)nrhs * q->type->bytes; i++)
    *bits = *bits * 1099511628211u + ((unsigned char *)q->again)[i];
}

/* Twice the matrix gives half the solution; in a new world. */
static void check_values(tristar_t *ts, problem *q, const tsi_process_options *options, const void *values) {
  const int64_t entries = ((const int64_t *)q->view.ptr)[q->view.cols];
  OWNED void *twice = xmalloc((size_t)entries * q->type->bytes);
  const tsi_process_call call = {.op = TRISTAR_N};
  world w;
  for (int64_t e = 0; e < entries; e++) put(q->type, twice, e, 2 * get(q->type, values, e));
  world_create(tsi_context_env(ts), q->factor, options, 1, &w);
  world_solve(&w, q->factor, &call, q->b, q->x); /* devices have the old values */
  CHECK_OK(tristar_refactor(q->factor, twice));
  for (tsi_index r = 0; r < w.ranks; r++) {
    fill_values(q->factor, w.member[r].process);
    CHECK_OK(tsi_process_renew(w.member[r].process));
  }
  world_solve(&w, q->factor, &call, q->b, q->again);
  for (int64_t i = 0; i < q->view.rows; i++) {
    const number whole = get(q->type, q->x, i), half = get(q->type, q->again, i);
    CHECK(magnitude(whole - 2 * half) <= 1e-3 * magnitude(whole));
  }
  world_destroy(&w);
  CHECK_OK(tristar_refactor(q->factor, values));
}

static void check_matrix(tristar_t *ts, const char *kind, int64_t k, const typed *t, tristar_method method,
                         int turn, uint64_t *bits) {
  problem q = open_problem(ts, kind, k, t, TRISTAR_SYMMETRIC);
  factor_problem(ts, &q, method, 4);
  tsi_index *device = xmalloc((size_t)q.analysis->symbolic->count * sizeof *device);
  for (int l = 0; l < LAYOUTS; l++) {
    const tsi_index nrhs = (l + turn) % 3 == 0 ? 5 : 1;
    tsi_process_options options = options_of(l);
    CHECK(choose(ts, q.factor, &options, l % 2 ? 3 : 8, device) > 0);
    check_layout(tsi_context_env(ts), &q, &options, nrhs, l + turn);
    add_bits(&q, nrhs, bits);
    if (l == turn % LAYOUTS) check_values(ts, &q, &options, q.values);
  }
  free(device);
  release_factor(&q);
  close_problem(&q);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const char *const schedulers[] = {"lws", "eager", "dmdas"};
  uint64_t expected = 0;
  for (int k = 0; k < 3; k++) {
    CLEANUP(close_context) tristar_t *ts = create(schedulers[k]);
    uint64_t bits = 0, others = 0;
    RUN(check_matrix(ts, "s2d9pt", 12, &typed_double, TRISTAR_METHOD_AUTO, 0, &bits));
    if (k == 0) {
      RUN(check_matrix(ts, "convdiff3d", 4, &typed_complex_double, TRISTAR_METHOD_LU, 1, &others));
      RUN(check_matrix(ts, "kkt3d", 3, &typed_single, TRISTAR_METHOD_LDLT, 2, &others));
    }
    CHECK_TOTAL(k == 0 || bits == expected, "scheduler %s gives other bits", schedulers[k]);
    expected = bits;
  }
  return 0;
}
