/* Factorizations with fronts on emulated devices: L L^T, L D L^T and L U of the four scalar types solve as
 * well as those of the cores, with the same bits under three schedulers, with one device or two, and again;
 * new values; pivots that fail, or are perturbed, as on the cores; devices without enough memory; devices
 * that fail at any call, or allocations that do; where the schedule puts fronts; what is refused. */
#include "runtime/factor/front_places.h"
#include "tests/support/allocations.h"
#include "tests/support/factor_bits.h"
#include "tests/gpu/emulator/emulated_dense.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"

/* Limits so small that any matrix has fronts with tiles. */
static const tsi_factorization_options small = {16, 2e4, 2e5, 0}, large = {64, 1e5, 1e6, 0};

typedef struct wish {
  const char *kind;
  int64_t size;
  const typed *type;
  tristar_method method;
  tristar_symmetry symmetry; /* declared symmetry of a symmetric kind in a complex type */
  tristar_merge merge;       /* MERGE_NONE: panels of 8 columns, so a front has many */
  const tsi_factorization_options *fronts;
} wish;

typedef struct problem {
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_view view;
  void *values;
  tristar_analysis_t *analysis;
} problem;

static tristar_t *create(const tsi_factorization_options *fronts, int use_starpu) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_t *ts;
  config.use_starpu = use_starpu;
  config.check = 1;
  CHECK_OK(tristar_create(&config, &ts));
  ts->fronts = *fronts;
  return ts;
}

static tristar_analysis_t *analyze(tristar_t *ts, const tristar_view *view, const wish *w,
                                   tristar_place place, int64_t device_bytes) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.method = w->method;
  options.merge = w->merge;
  options.place = place;
  options.device_bytes = device_bytes;
  tristar_analysis_t *analysis = NEW_ANALYSIS(ts, view, &options);
  return analysis;
}

static problem begin(const wish *w, tristar_place place, int64_t device_bytes) {
  problem p = {.ts = create(w->fronts, 1)};
  p.values = typed_matrix(p.ts, w->kind, w->size, w->type, w->symmetry, &p.matrix, &p.view);
  p.analysis = analyze(p.ts, &p.view, w, place, device_bytes);
  return p;
}

static void end(problem *p) {
  tristar_memory_stats memory;
  tristar_analysis_destroy(&p->analysis);
  tristar_matrix_destroy(&p->matrix);
  tristar_get_memory(p->ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "%zu bytes leaked", memory.current_bytes);
  CHECK(emulated_dense_open() == 0);
  tristar_destroy(&p->ts);
  free(p->values);
}

static tristar_factor_stats stats_of(const tristar_factor_t *factor) {
  tristar_factor_stats stats;
  CHECK_OK(tristar_factor_get_stats(factor, &stats));
  return stats;
}

static bool same_bits(const tristar_factor_t *factor, const char *expected, size_t size) {
  size_t other;
  OWNED char *bits = bits_of(factor, &other);
  const bool same = other == size && memcmp(bits, expected, size) == 0;
  return same;
}

/* ---- Right factors, and their bits --------------------------------------------------------------------- */

static void check_solution(const wish *w, const problem *p, tristar_factor_t *factor) {
  OWNED void *b = make_rhs(w->type, p->view.rows);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  const typed_errors worst = worst_errors(w->type, &p->view, NULL, plan, b, COMPONENTWISE);
  CHECK_MSG(worst.recomputed < 100 * w->type->roundoff, "%s %c, method %d: backward error %g", w->kind,
            w->type->scalar, (int)w->method, worst.recomputed);
}

/* Returns the largest difference from the factors of the cores, relative to the largest entry of L (and U).
 * Both do the same operations, grouped differently. */
static double distance(const tristar_factor_t *a, const tristar_factor_t *b, const typed *t) {
  const tristar_analysis_t *an = a->analysis;
  const tsi_count size = an->panel_values[an->panels->count];
  double largest = 0, worst = 0;
  for (int side = 0; side < (a->upper ? 2 : 1); side++)
    for (tsi_count k = 0; k < size; k++) {
      const number x = get(t, side ? a->upper : a->lower, k), y = get(t, side ? b->upper : b->lower, k);
      largest = fmax(largest, magnitude(y));
      worst = larger_error(worst, magnitude(x - y));
    }
  return worst / largest;
}

/* Returns the bits of a factor with fronts on devices, computed in a new context. */
static char *factor_bits(const wish *w, bool verify, size_t *size) {
  problem p = begin(w, TRISTAR_PLACE_GPU, 0);
  tristar_factor_t *factor, *cores;
  CHECK_OK(tristar_factor(p.analysis, p.view.values, &factor));
  const tristar_factor_stats stats = stats_of(factor);
  CHECK_MSG(stats.device_fronts > 0 && stats.device_unfit_fronts == 0 && stats.device_flops > 0 &&
                stats.device_bus_bytes > 0,
            "%s: %lld fronts on devices", w->kind, (long long)stats.device_fronts);
  if (verify) {
    CLEANUP(tristar_analysis_destroy)
    tristar_analysis_t *analysis = analyze(p.ts, &p.view, w, TRISTAR_PLACE_CPU, 0);
    CHECK_OK(tristar_factor(analysis, p.view.values, &cores));
    CHECK(stats_of(cores).device_fronts == 0 && stats_of(cores).device_bus_bytes == 0);
    CHECK(stats_of(cores).perturbed_pivots == stats.perturbed_pivots);
    check_solution(w, &p, factor);
    if (w->method != TRISTAR_METHOD_LDLT) { /* with LDLT rounding errors may change the order of pivots */
      const double far = distance(factor, cores, w->type);
      CHECK_MSG(far < 1e5 * w->type->roundoff, "%s %c: factors differ by %g", w->kind, w->type->scalar, far);
    }
    tristar_factor_destroy(&cores);
  }
  char *bits = bits_of(factor, size);
  CHECK_OK(tristar_refactor(factor, p.view.values));
  CHECK_MSG(same_bits(factor, bits, *size), "%s: other bits the second time", w->kind);
  tristar_factor_destroy(&factor);
  end(&p);
  return bits;
}

static void check_schedulers(const wish *w) {
  static const struct {
    const char *scheduler, *workers;
  } runs[] = {{"lws", "2"}, {"eager", "2"}, {"dmda", "3"}, {"prio", "1"}};
  size_t size = 0, other;
  OWNED char *expected = NULL;
  for (int k = 0; k < 4; k++) {
    setenv("STARPU_SCHED", runs[k].scheduler, 1);
    setenv("STARPU_NCPU", runs[k].workers, 1);
    char *bits = factor_bits(w, false, &other);
    if (k == 0) size = other;
    CHECK_MSG(k == 0 || (other == size && memcmp(bits, expected, size) == 0),
              "%s: other bits with %s, %s workers", w->kind, runs[k].scheduler, runs[k].workers);
    free(expected);
    expected = bits;
  }
}

static void check_type(const typed *t, tristar_symmetry symmetry) {
  const wish wishes[] = {
      {"poisson3d7", 9, t, TRISTAR_METHOD_LLT, symmetry, TRISTAR_MERGE_NONE, &small},
      {"poisson3d27", 8, t, TRISTAR_METHOD_LLT, symmetry, TRISTAR_MERGE_RELAXED, &large},
      {"convdiff3d", 9, t, TRISTAR_METHOD_LU, symmetry, TRISTAR_MERGE_NONE, &small},
      {"fusion2d", 6, t, TRISTAR_METHOD_LU, symmetry, TRISTAR_MERGE_RELAXED, &large},
      {"kkt3d", 6, t, TRISTAR_METHOD_LDLT, symmetry, TRISTAR_MERGE_NONE, &small},
      {"maxwell3d", 6, t, TRISTAR_METHOD_LDLT, symmetry, TRISTAR_MERGE_RELAXED, &large},
  };
  const bool plain = t->is_complex && symmetry == TRISTAR_SYMMETRIC; /* Cholesky does not apply to these */
  for (int k = plain ? 4 : 0; k < 6; k++) {
    size_t size;
    free(factor_bits(&wishes[k], true, &size));
  }
}

static void check_table(void) {
  static const typed *const types[] = {&typed_double, &typed_single, &typed_complex_single,
                                       &typed_complex_double};
  for (int t = 0; t < 4; t++) check_type(types[t], TRISTAR_SYMMETRIC);
  for (int t = 2; t < 4; t++) check_type(types[t], TRISTAR_HERMITIAN);
}

/* ---- New values ---------------------------------------------------------------------------------------- */

static void check_refactor(const wish *w) {
  problem p = begin(w, TRISTAR_PLACE_GPU, 0);
  const int64_t entries = ((const int64_t *)p.view.ptr)[p.view.cols];
  tristar_factor_t *factor, *fresh;
  size_t size;
  CHECK_OK(tristar_factor(p.analysis, p.view.values, &factor));
  for (int64_t k = 0; k < entries; k++) put(w->type, p.values, k, 1.25 * get(w->type, p.values, k));
  CHECK_OK(tristar_refactor(factor, p.values));
  CHECK_OK(tristar_factor(p.analysis, p.values, &fresh));
  char *bits = bits_of(fresh, &size);
  CHECK(same_bits(factor, bits, size) && stats_of(factor).device_fronts == stats_of(fresh).device_fronts);
  free(bits);
  tristar_factor_destroy(&factor);
  tristar_factor_destroy(&fresh);
  end(&p);
}

/* ---- Pivots -------------------------------------------------------------------------------------------- */

/* Returns the status of a factorization, its message, and the statistics of its pivots. */
static tristar_status outcome_of(problem *p, const wish *w, tristar_place place, char text[512],
                                 tristar_factor_stats *stats) {
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = analyze(p->ts, &p->view, w, place, 0);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  const tristar_status status = tristar_factor(analysis, p->values, &factor);
  text[0] = 0;
  memset(stats, 0, sizeof *stats);
  if (status == TRISTAR_OK)
    *stats = stats_of(factor);
  else
    CHECK(tristar_get_error(p->ts, text, 512) > 0);
  return status;
}

/* Multiplies one diagonal entry by `change`, and compares the device with the cores. */
static void check_pivots(const wish *w, double change, tristar_status expected, bool perturbs) {
  problem p = begin(w, TRISTAR_PLACE_GPU, 0);
  const int64_t *ptr = p.view.ptr, n = p.view.rows;
  const int32_t *index = p.view.index;
  tristar_factor_stats device, cores;
  char there[512], here[512];
  /* the last column in the elimination order is in the root front, which is on a device */
  const tsi_index row = p.analysis->out_row[n - 1];
  for (int64_t k = ptr[row]; k < ptr[row + 1]; k++)
    if (index[k] == row) put(w->type, p.values, k, change * get(w->type, p.values, k));
  const tristar_status status = outcome_of(&p, w, TRISTAR_PLACE_GPU, there, &device);
  CHECK_MSG(outcome_of(&p, w, TRISTAR_PLACE_CPU, here, &cores) == status && status == expected,
            "%s: status %d, %s; on the cores: %s", w->kind, (int)status, there, here);
  CHECK_MSG(strcmp(there, here) == 0, "%s: %s; on the cores: %s", w->kind, there, here);
  CHECK_MSG(device.perturbed_pivots == cores.perturbed_pivots && (device.perturbed_pivots > 0) == perturbs,
            "%s: %lld perturbed pivots, on the cores %lld", w->kind, (long long)device.perturbed_pivots,
            (long long)cores.perturbed_pivots);
  end(&p);
}

/* Some rows and columns have tiny values. */
static void check_perturbed(const wish *w) {
  problem p = begin(w, TRISTAR_PLACE_GPU, 0);
  const int64_t *ptr = p.view.ptr, n = p.view.cols;
  const int32_t *index = p.view.index;
  tristar_factor_stats device, cores;
  char there[512], here[512];
  for (int64_t j = 0; j < n; j++)
    for (int64_t k = ptr[j]; k < ptr[j + 1]; k++)
      if (p.analysis->out_place[j] >= n - 3 || p.analysis->out_place[index[k]] >= n - 3)
        put(w->type, p.values, k, 1e-30 * get(w->type, p.values, k));
  CHECK(outcome_of(&p, w, TRISTAR_PLACE_GPU, there, &device) ==
        outcome_of(&p, w, TRISTAR_PLACE_CPU, here, &cores));
  CHECK_MSG(strcmp(there, here) == 0 && device.perturbed_pivots == cores.perturbed_pivots, "%s; %s", there,
            here);
  end(&p);
}

/* ---- Memory -------------------------------------------------------------------------------------------- */

static void check_memory(const wish *w) {
  problem p = begin(w, TRISTAR_PLACE_CPU, 0);
  int64_t before = INT64_MAX, all = 0;
  size_t size;
  tristar_factor_t *factor = NEW_FACTOR(p.analysis, p.view.values);
  char *bits = bits_of(factor, &size);
  tristar_factor_destroy(&factor);
  for (int64_t room = INT64_C(1) << 22; room > 0; room /= 2) {
    CLEANUP(tristar_analysis_destroy)
    tristar_analysis_t *analysis = analyze(p.ts, &p.view, w, TRISTAR_PLACE_GPU, room);
    CHECK_OK(tristar_factor(analysis, p.view.values, &factor));
    const tristar_factor_stats stats = stats_of(factor);
    if (all == 0) all = stats.device_fronts;
    CHECK_MSG(stats.device_fronts <= before && stats.device_fronts + stats.device_unfit_fronts == all,
              "%lld bytes: %lld fronts, %lld do not fit", (long long)room, (long long)stats.device_fronts,
              (long long)stats.device_unfit_fronts);
    before = stats.device_fronts;
    check_solution(w, &p, factor);
    CHECK(before > 0 || same_bits(factor, bits, size));
    tristar_factor_destroy(&factor);
  }
  CHECK(all > 1 && before == 0);
  free(bits);
  end(&p);
}

/* ---- Devices that fail --------------------------------------------------------------------------------- */

static void check_failures(const wish *w) {
  problem p = begin(w, TRISTAR_PLACE_GPU, 0);
  char text[512];
  emulated_dense_fail(0);
  tristar_factor_t *factor = NEW_FACTOR(p.analysis, p.view.values);
  tristar_factor_destroy(&factor);
  const long long calls = emulated_dense_calls(), step = calls / 12 + 1;
  CHECK(calls > 20);
  for (long long k = 1; k <= calls; k += k < 12 ? 1 : step) {
    emulated_dense_fail(k);
    CHECK_STATUS(tristar_factor(p.analysis, p.view.values, &factor), TRISTAR_ERR_RUNTIME);
    CHECK(factor == NULL && tristar_get_error(p.ts, text, sizeof text) > 0);
    CHECK_MSG(strstr(text, "the emulator gave error 77 in the factorization of a front"), "%s", text);
    CHECK(emulated_dense_open() == 0);
  }
  emulated_dense_fail(0);
  end(&p);
}

/* PLACE_AUTO uses devices for fronts that are worth it. If a device fails, the cores compute all fronts. */
static void check_fallback(const wish *w) {
  problem p = begin(w, TRISTAR_PLACE_CPU, 0);
  size_t size;
  tristar_factor_t *factor = NEW_FACTOR(p.analysis, p.view.values);
  char *bits = bits_of(factor, &size);
  tristar_factor_destroy(&factor);
  tristar_analysis_t *analysis = analyze(p.ts, &p.view, w, TRISTAR_PLACE_AUTO, 0);
  emulated_dense_fail(0); /* starts counting calls */
  CHECK_OK(tristar_factor(analysis, p.view.values, &factor));
  CHECK(stats_of(factor).device_fronts > 0);
  tristar_factor_destroy(&factor);
  emulated_dense_fail(emulated_dense_calls() / 2);
  CHECK_OK(tristar_factor(analysis, p.view.values, &factor));
  CHECK(stats_of(factor).device_fronts == 0 && same_bits(factor, bits, size));
  emulated_dense_fail(0);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  free(bits);
  end(&p);
}

/* Each allocation fails in turn: the status is MEMORY, and no memory is lost. */
static void check_allocations(const wish *w) {
  problem p = begin(w, TRISTAR_PLACE_GPU, 0);
  tristar_factor_t *factor;
  allocation_failures failing = fail_allocations_of(p.ts);
  failing.keeps_memory = true; /* StarPU's data is kept */
  failing.sparse = 16;         /* later allocations are alike, so they are sampled */
  while (next_failure(&failing)) {
    const tristar_status status = tristar_factor(p.analysis, p.view.values, &factor);
    end_failure(&failing, status);
    CHECK((status == TRISTAR_OK) == (factor != NULL));
  }
  CHECK_MSG(failing.count > 20, "%d", (int)failing.count);
  tristar_factor_destroy(&factor);
  end(&p);
}

/* ---- Where fronts go ----------------------------------------------------------------------------------- */

static void check_schedule(const wish *w) {
  problem p = begin(w, TRISTAR_PLACE_CPU, 0);
  const tristar_analysis_t *an = p.analysis;
  const tsi_symbolic *symbolic = an->symbolic;
  tsi_env *env = &p.ts->env;
  const size_t count = (size_t)symbolic->count;
  tsi_index *device = xmalloc(count * sizeof *device);
  bool *tiled = xmalloc(count * sizeof *tiled);
  int64_t fronts = 0;
  CHECK_OK(tsi_factorization_find_tiled(env, symbolic, an->stats.method, &p.ts->fronts, tiled));
  for (size_t s = 0; s < count; s++) fronts += tiled[s];
  for (int devices = 0; devices <= 3; devices++)
    for (int first = 0; first < 2; first++)
      for (int speed = 0; speed < 3; speed++) {
        const tsi_front_costs costs = {.scalar_bytes = 8,
                                       .scale = 1,
                                       .cores_flops = 1e9,
                                       .devices = devices,
                                       .device_flops = speed == 0   ? 1e3
                                                       : speed == 1 ? 2e9
                                                                    : 1e15,
                                       .device_memory = 1e12,
                                       .bus_bandwidth = speed == 1 ? 1e10 : 1e15,
                                       .devices_first = first};
        tsi_front_places places = {.fronts = 0};
        int64_t on[3] = {0, 0, 0}, placed = 0;
        CHECK_OK(
            tsi_fronts_place(env, symbolic, an->panels, an->stats.method, tiled, &costs, device, &places));
        for (size_t s = 0; s < count; s++) {
          CHECK(device[s] < devices && (tiled[s] || device[s] == TSI_NONE));
          if (device[s] != TSI_NONE) on[device[s]]++, placed++;
        }
        CHECK(placed == places.fronts && places.unfit == 0 && (placed > 0) == (places.flops > 0));
        if (devices == 0 || (speed == 0 && !first)) CHECK(placed == 0);
        if (devices > 0 && (first || speed == 2)) CHECK(placed == fronts);
        if (devices == 2 && speed == 0 && first) CHECK(on[0] > 0 && on[1] > 0); /* both share a heavy load */
      }
  CHECK(fronts > 2);
  free(device);
  free(tiled);
  end(&p);
}

static void check_refusals(const wish *w) {
  tristar_t *without = create(&small, 0);
  tristar_matrix_t *matrix;
  tristar_view view;
  tristar_analysis_options options;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  char text[512];
  OWNED void *values = typed_matrix(without, w->kind, w->size, w->type, w->symmetry, &matrix, &view);
  analysis = analyze(without, &view, w, TRISTAR_PLACE_GPU, 0);
  CHECK_STATUS(tristar_factor(analysis, values, &factor), TRISTAR_ERR_UNSUPPORTED);
  CHECK(tristar_get_error(without, text, sizeof text) > 0 &&
        strstr(text, "PLACE_GPU for the factorization: there are no tasks"));
  tristar_analysis_destroy(&analysis);
  analysis = analyze(without, &view, w, TRISTAR_PLACE_AUTO, 0);
  CHECK_OK(tristar_factor(analysis, values, &factor));
  CHECK(stats_of(factor).device_fronts == 0);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_analysis_options_init(&options);
  options.place = (tristar_place)3;
  CHECK_STATUS(tristar_analyze(without, &view, &options, &analysis), TRISTAR_ERR_ARGUMENT);
  options.place = TRISTAR_PLACE_GPU;
  options.device_bytes = -1;
  CHECK_STATUS(tristar_analyze(without, &view, &options, &analysis), TRISTAR_ERR_ARGUMENT);
  tristar_matrix_destroy(&matrix);
  tristar_destroy(&without);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_factorization_options usual;
  const wish llt = {"poisson3d7",       7,     &typed_double, TRISTAR_METHOD_LLT, TRISTAR_SYMMETRIC,
                    TRISTAR_MERGE_NONE, &small},
             ldlt = {"kkt3d", 6, &typed_double, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC, TRISTAR_MERGE_NONE,
                     &small},
             lu = {"convdiff3d",       7,     &typed_double, TRISTAR_METHOD_LU, TRISTAR_SYMMETRIC,
                   TRISTAR_MERGE_NONE, &small},
             many = {"poisson3d7",       10,    &typed_double, TRISTAR_METHOD_LLT, TRISTAR_SYMMETRIC,
                     TRISTAR_MERGE_NONE, &small},
             heavy = {
                 "poisson3d27",         16,    &typed_complex_double, TRISTAR_METHOD_LU, TRISTAR_HERMITIAN,
                 TRISTAR_MERGE_RELAXED, &usual};
  tsi_factorization_options_init(&usual);
  usual.tiled_flops = 2e7;
  RUN(check_schedule(&many));
  RUN(check_refusals(&llt));
  RUN(check_schedulers(&llt));
  RUN(check_schedulers(&ldlt));
  RUN(check_schedulers(&lu));
  setenv("STARPU_SCHED", "lws", 1);
  setenv("STARPU_NCPU", "2", 1);
  CLEANUP(tristar_destroy)
  tristar_t *keeps = create(&small, 1); /* keeps StarPU running, whose start is slow */
  tristar_starpu_info info;
  CHECK_OK(tristar_get_starpu(keeps, &info));
  RUN(check_table());
  RUN(check_refactor(&llt));
  RUN(check_refactor(&ldlt));
  RUN(check_refactor(&lu));
  RUN(check_pivots(&llt, -1, TRISTAR_ERR_NOT_POSITIVE_DEFINITE, false));
  RUN(check_perturbed(&ldlt));
  RUN(check_perturbed(&lu));
  RUN(check_memory(&llt));
  RUN(check_memory(&lu));
  if (!TSI_TESTS_RACES) { /* until a failure they do what the other tests do */
    RUN(check_failures(&llt));
    RUN(check_failures(&ldlt));
    RUN(check_allocations(&lu));
    RUN(check_fallback(&heavy));
  }
  RUN(check_failures(&lu));
  return 0;
}
