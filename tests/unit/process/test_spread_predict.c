/* Predicted solves with a triangle whose rows are spread over GPUs: a chain takes a get more for each GPU
 * that comes in; left sums are those of the tables; bits are the same again; managed memory is no faster;
 * each allocation may fail. Of the published solver: what loads, faults and missing links add to a chain;
 * tasks and GPUs make rows that do not wait for each other faster, within bounds. */
#include <math.h>

#include "runtime/exec/device/spread_rows.h"
#include "runtime/process/predict_spread.h"
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"

enum { ROWS = 400 };

typedef struct triangle {
  tsi_count ptr[ROWS + 1];
  tsi_index index[3 * ROWS];
  tsi_lines lines;
} triangle;

/* Row i depends on row i - 1, and with `tree` also on row i / 2. */
static void make(triangle *t, bool tree) {
  tsi_count at = 0;
  for (tsi_index i = 0; i < ROWS; i++) {
    t->ptr[i] = at;
    if (tree && i > 3) t->index[at++] = i / 2;
    if (i > 0 && !(tree && i % 8 == 0)) t->index[at++] = i - 1;
    t->index[at++] = i;
  }
  t->ptr[ROWS] = at;
  t->lines = (tsi_lines){ROWS, t->ptr, t->index, false};
}

static tsi_spread_predicted predict(tsi_env *env, const triangle *t, tsi_index pes, tsi_index tasks,
                                    bool unified) {
  const tsi_spread_model model = {tsi_device_find("V100"), pes, tasks, 8, unified, false};
  tsi_spread_predicted p;
  CHECK_OK(tsi_spread_predict(env, &t->lines, &model, &p));
  return p;
}

static bool near(double a, double b) {
  return a <= b + 1e-9 * b && b <= a + 1e-9 * b;
}

/* Each GPU has one task of the chain. The tasks run one after the other, so three left sums are awaited. */
static void check_chain(tsi_env *env) {
  triangle t;
  make(&t, false);
  const tsi_spread_predicted one = predict(env, &t, 1, 1, false), four = predict(env, &t, 4, 1, false),
                             unified = predict(env, &t, 4, 1, true);
  CHECK(one.gets == 0 && four.gets == 3 && unified.gets == 3);
  CHECK_MSG(four.seconds > one.seconds && unified.seconds > four.seconds, "%g s, %g s, %g s", one.seconds,
            four.seconds, unified.seconds);
  const double fault = (unified.seconds - four.seconds) / 3;
  CHECK_MSG(fault > 30e-6 && fault < 40e-6, "a fault more: %g s", fault);
  const tsi_spread_predicted more = predict(env, &t, 4, 2, false), most = predict(env, &t, 4, 2, true);
  CHECK(more.gets == 7 && near((most.seconds - more.seconds) / 7, fault));
}

static void check_gets(tsi_env *env) {
  triangle t;
  tsi_index owner[ROWS];
  make(&t, true);
  for (tsi_index pes = 1; pes <= TSI_SPREAD_PES; pes += 4)
    for (tsi_index tasks = 0; tasks < 3; tasks++) {
      const tsi_spread_predicted p = predict(env, &t, pes, tasks, false),
                                 again = predict(env, &t, pes, tasks, false);
      tsi_count gets = 0;
      CHECK(memcmp(&p, &again, sizeof p) == 0);
      CHECK_OK(tsi_spread_place(env, &t.lines, pes, tasks, owner));
      for (tsi_index pe = 0; pe < pes; pe++) {
        const tsi_spread_options options = {.pe = pe, .pes = pes, .owner = owner};
        tsi_spread_plan plan;
        CHECK_OK(tsi_spread_create(env, &t.lines, &options, &plan));
        gets += plan.gets;
        tsi_spread_destroy(env, &plan);
      }
      CHECK_MSG(p.gets == gets, "%d GPUs: %d left sums of %d", pes, (int)p.gets, (int)gets);
      CHECK(p.active.max <= p.seconds && p.seconds > 0);
      CHECK(predict(env, &t, pes, tasks, true).seconds >= p.seconds);
    }
}

static void check_errors(tsi_env *env) {
  triangle t;
  tsi_spread_predicted p;
  make(&t, true);
  for (tsi_index pes = 0; pes <= TSI_SPREAD_PES + 1; pes += TSI_SPREAD_PES + 1) {
    const tsi_spread_model model = {tsi_device_get(0), pes, 1, 8, false, false};
    CHECK_STATUS(tsi_spread_predict(env, &t.lines, &model, &p), TRISTAR_ERR_ARGUMENT);
  }
}

static double seconds_of(tsi_env *env, const tsi_lines *lines, const char *device, tsi_index pes,
                         tsi_index tasks, bool unified, bool published) {
  const tsi_spread_model model = {tsi_device_find(device), pes, tasks, 8, unified, published};
  tsi_spread_predicted p;
  CHECK_OK(tsi_spread_predict(env, lines, &model, &p));
  return p.seconds;
}

static bool differ_by(double a, double b, double seconds) {
  return fabs(a - b - seconds) < 1e-9;
}

/* Each row of the chain causes a load. The tasks of the GPUs run one after the other. */
static void check_published_chain(tsi_env *env) {
  triangle t;
  make(&t, false);
  const tsi_spread_model model = {tsi_device_find("V100"), 4, 1, 8, false, true};
  tsi_spread_predicted p;
  CHECK_OK(tsi_spread_predict(env, &t.lines, &model, &p));
  CHECK(p.gets == 3);
  const double one = seconds_of(env, &t.lines, "V100", 1, 1, false, true);
  CHECK(differ_by(p.seconds, one, (ROWS + 3) * TSI_SPREAD_LOAD_SECONDS));
  const double unified = seconds_of(env, &t.lines, "V100", 4, 1, true, true);
  CHECK(differ_by(unified, one, 6 * TSI_SPREAD_FAULT_SECONDS));
  /* GPUs 3 and 4 of a DGX-1 have no link. */
  const double loads = TSI_SPREAD_BUS_SECONDS - TSI_SPREAD_LOAD_SECONDS;
  for (int published = 0; published < 2; published++)
    CHECK(differ_by(seconds_of(env, &t.lines, "V100", 8, 1, false, published),
                    seconds_of(env, &t.lines, "V100-SXM3", 8, 1, false, published),
                    published ? (ROWS + 1) * loads : 2 * loads));
  const tsi_device *mesh = tsi_device_find("V100"), *full = tsi_device_find("A100");
  /* A node of A100 has 4 GPUs. More GPUs count as if each pair had a link. */
  CHECK(tsi_spread_linked(full, 0, 3) && tsi_spread_linked(full, 0, 5));
  CHECK(tsi_spread_linked(mesh, 0, 4) && !tsi_spread_linked(mesh, 0, 5) && !tsi_spread_linked(mesh, 0, 8));
}

/* A chain in 16 tasks. The first row of a task causes a fault, and so does the last row of the previous
 * task. */
static void check_published_faults(tsi_env *env) {
  triangle t;
  make(&t, false);
  const double one = seconds_of(env, &t.lines, "V100", 1, 1, false, true);
  for (tsi_index pes = 2; pes <= 16; pes *= 2) {
    const double unified = seconds_of(env, &t.lines, "V100-SXM3", pes, 16 / pes, true, true);
    CHECK_MSG(differ_by(unified, one, 2 * 15 * TSI_SPREAD_FAULT_SECONDS), "%d GPUs: %g s, %g s on one", pes,
              unified, one);
  }
}

/* Chains of CHAIN rows. The chains of a section depend on those of the previous section. */
enum { CHAIN = 100, SECTION = 100 * CHAIN, SECTIONS = 8, MANY = SECTIONS * SECTION };

static void check_published_shape(tsi_env *env) {
  OWNED tsi_count *ptr = xcalloc(MANY + 1, sizeof *ptr);
  OWNED tsi_index *index = xcalloc(2 * MANY, sizeof *index);
  tsi_count at = 0;
  for (tsi_index i = 0; i < MANY; i++) {
    if (i % CHAIN > 0) index[at++] = i - 1;
    if (i % CHAIN == 0 && i >= SECTION) index[at++] = i - SECTION;
    index[at++] = i;
    ptr[i + 1] = at;
  }
  const tsi_lines lines = {MANY, ptr, index, false};
  const double one = seconds_of(env, &lines, "V100", 1, 1, false, true);
  double before = INFINITY;
  for (tsi_index tasks = 1; tasks <= SECTIONS; tasks *= 2) {
    const double now = seconds_of(env, &lines, "V100", 4, tasks, false, true);
    CHECK_MSG(now < before, "%d tasks: %g s after %g s", tasks, now, before);
    before = now;
  }
  CHECK_MSG(one > 2 * before && one < 4 * before, "%g s, %g s on one GPU", before, one);
  before = INFINITY;
  for (tsi_index pes = 2; pes <= 16; pes *= 2) {
    const double now = seconds_of(env, &lines, "V100-SXM3", pes, 2 * SECTIONS, false, true);
    CHECK_MSG(now <= before && pes * now > one, "%d GPUs: %g s after %g s", pes, now, before);
    before = now;
  }
}

static void check_memory(bool published) {
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  const tsi_spread_model model = {tsi_device_get(0), 3, 2, 8, false, published};
  triangle t;
  make(&t, true);
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    tsi_spread_predicted p;
    end_failure(&failing, tsi_spread_predict(tsi_context_env(ts), &t.lines, &model, &p));
  }
  CHECK(failing.count >= 10);
}

int test_spread_predict(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  tsi_env *env = tsi_context_env(ts);
  RUN(check_chain(env));
  RUN(check_gets(env));
  RUN(check_errors(env));
  RUN(check_published_chain(env));
  RUN(check_published_faults(env));
  RUN(check_published_shape(env));
  RUN(check_memory(false));
  RUN(check_memory(true));
  return 0;
}
