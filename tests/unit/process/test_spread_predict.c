/* Predicted solves with a triangle whose rows are spread over GPUs: a chain takes a get more for each GPU
 * that comes in; left sums are those of the tables; bits are the same again; managed memory is no faster;
 * each allocation may fail. */
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

/* Row i waits for row i - 1, and with `tree` for row i / 2. */
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
  const tsi_spread_model model = {tsi_device_find("V100"), pes, tasks, 8, unified};
  tsi_spread_predicted p;
  CHECK_OK(tsi_spread_predict(env, &t->lines, &model, &p));
  return p;
}

static bool near(double a, double b) {
  return a <= b + 1e-9 * b && b <= a + 1e-9 * b;
}

/* GPUs take a task each of the chain, one after the other: three left sums are waited for. */
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
    const tsi_spread_model model = {tsi_device_get(0), pes, 1, 8, false};
    CHECK_STATUS(tsi_spread_predict(env, &t.lines, &model, &p), TRISTAR_ERR_ARGUMENT);
  }
}

static void check_memory(void) {
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  const tsi_spread_model model = {tsi_device_get(0), 3, 2, 8, false};
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
  RUN(check_memory());
  return 0;
}
