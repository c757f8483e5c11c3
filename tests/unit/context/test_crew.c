/* Work on blocks that several threads share: each run calls each block once, and a member makes one call at a
 * time. Runs are made by the caller alone, with helpers that arrive, sleep or are late, and in tasks; in
 * direct succession, with different work, by two crews at a time. Crews may end right after a run. The choice
 * between help and none tries both ways, takes the faster one, and changes when the other has become
 * faster. */
#include <pthread.h>

#include "runtime/context/crew.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"

enum { BLOCKS = 500, RUNS = TSI_TESTS_SANITIZED ? 60 : 400, MEMBERS = TSI_HELPERS + 1 };

typedef struct work {
  atomic_int calls[BLOCKS];
  atomic_int inside[MEMBERS];
  int members;
} work;

static void count(void *context, tsi_index block, int member) {
  work *w = context;
  CHECK(block >= 0 && block < BLOCKS && member >= 0 && member < w->members);
  CHECK(atomic_fetch_add(&w->inside[member], 1) == 0);
  atomic_fetch_add(&w->calls[block], 1);
  atomic_fetch_sub(&w->inside[member], 1);
}

static void check_runs(tristar_t *ts, tristar_engine engine, tsi_crew_runs runs, double bytes) {
  double start;
  tsi_crew crew;
  OWNED work *w = xcalloc(2, sizeof *w); /* two works, alternating */
  CHECK_OK(tsi_crew_begin(ts, "krylov_rows", engine, runs, BLOCKS, 1e9, &start, &crew));
  CHECK((crew.tasks != NULL) == (engine == TRISTAR_ENGINE_TASKS || runs == TSI_RUNS_LONG));
  for (int k = 0; k < 2; k++) w[k].members = crew.members;
  for (int r = 0; r < RUNS; r++)
    CHECK_OK(tsi_crew_run(&crew, r % 3 == 0 ? TSI_CREW_MATRIX : TSI_CREW_VECTORS, bytes, count, &w[r % 2]));
  for (int k = 0; k < 2; k++)
    for (int b = 0; b < BLOCKS; b++) CHECK(atomic_load(&w[k].calls[b]) == RUNS / 2);
  tsi_crew_finish(&crew);
}

static void *runs_with_help(void *ts) {
  check_runs(ts, TRISTAR_ENGINE_AUTO, TSI_RUNS_SHORT, 1e9);
  return NULL;
}

static void check_crews(void) {
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(2, false);
  pthread_t other;
  check_runs(ts, TRISTAR_ENGINE_AUTO, TSI_RUNS_SHORT, 1e9);
  check_runs(ts, TRISTAR_ENGINE_AUTO, TSI_RUNS_SHORT, 1); /* too little work for helpers */
  check_runs(ts, TRISTAR_ENGINE_AUTO, TSI_RUNS_LONG, 1e9);
  check_runs(ts, TRISTAR_ENGINE_TASKS, TSI_RUNS_SHORT, 1e9);
  CHECK(pthread_create(&other, NULL, runs_with_help, ts) == 0);
  runs_with_help(ts);
  CHECK(pthread_join(other, NULL) == 0);
}

static void check_alone(void) {
  double start;
  tristar_t *ts;
  tsi_crew crew, none = {.ts = NULL};
  OWNED work *w = xcalloc(1, sizeof *w);
  CHECK_OK(tristar_create(NULL, &ts));
  CHECK_OK(
      tsi_crew_begin(ts, "krylov_rows", TRISTAR_ENGINE_SERIAL, TSI_RUNS_LONG, BLOCKS, 1e9, &start, &crew));
  CHECK(crew.workers == 1 && crew.members == 1);
  w->members = 1;
  CHECK_OK(tsi_crew_run(&crew, TSI_CREW_MATRIX, 1e9, count, w));
  for (int b = 0; b < BLOCKS; b++) CHECK(atomic_load(&w->calls[b]) == 1);
  tsi_crew_finish(&crew);
  tsi_crew_finish(&none);
  tristar_destroy(&ts);
}

/* Runs with these durations, alone and with help. Returns the number of runs with help. */
static int choose(tsi_help_choice *choice, int runs, double alone, double helped) {
  int had = 0;
  for (int r = 0; r < runs; r++) {
    const bool help = tsi_help_choose(choice);
    had += help;
    tsi_help_note(choice, help ? helped : alone, help);
  }
  return had;
}

static void check_choice(void) {
  tsi_help_choice faster = {.runs = 0}, slower = {.runs = 0}, busy = {.runs = 0}, late = {.runs = 0},
                  never = {.runs = 0};
  int had = 0;
  const int tried = choose(&slower, 20, 1, 2);
  CHECK(tried > 0 && tried < 6);
  CHECK(choose(&slower, 2000, 1, 2) < 40);
  CHECK(choose(&slower, 6000, 1, 0.5) >
        1500); /* help has become faster, which is detected although it is rarely tried */
  CHECK(choose(&slower, 100, 0.5, 0.5) > 90);
  CHECK(choose(&faster, 20, 1, 0.6) > 14);
  CHECK(choose(&faster, 20, 1, 3) < 10); /* another process needs the core, which is detected at once */
  CHECK(choose(&faster, 1000, 1, 3) < 40);
  CHECK(choose(&busy, 10, 1, 100) < 6);
  CHECK(choose(&busy, 100000, 1, 100) <
        40); /* the cores have other work: one run per trial, and few trials */
  CHECK(choose(&busy, 10000, 1, 0.5) > 5000); /* the cores are free again */
  CHECK(choose(&busy, 1000, 1, 1.5) < 100);   /* the next trial is earlier, as the times differ less */
  CHECK(choose(&busy, 2000, 1, 0.5) > 1400);
  for (int r = 0; r < 5; r++) { /* the helper sleeps, which does not count at first */
    CHECK(tsi_help_choose(&late));
    tsi_help_note(&late, 1, false);
  }
  CHECK(choose(&late, 20, 1, 0.6) > 13);
  for (int r = 0; r < 40; r++) had += tsi_help_choose(&never), tsi_help_note(&never, 1, false);
  CHECK(had < 30);
}

typedef struct calls {
  int begin, work, alone;
} calls;

static void note_begin(void *arg) {
  calls *c = arg;
  CHECK(c->work == c->begin); /* `begin` is called before the work */
  c->begin++;
}
static void note_work(void *arg, int number, int worker) {
  CHECK(number == 0 && worker == -1);
  ((calls *)arg)->work++;
}
static void note_alone(void *arg, int number, int worker) {
  CHECK(number == 0 && worker == -1);
  ((calls *)arg)->alone++;
}

/* If the caller is alone and there is another way, it is used, and `begin` is not called. */
static void check_other_way(void) {
  enum { WITHOUT = 5, WITH = 7 };
  calls c = {0, 0, 0};
  tsi_helpers helpers;
  tsi_helpers_init(&helpers, NULL);
  tsi_shared shared = {.work = note_work, .arg = &c, .begin = note_begin, .amount = 1};
  for (int k = 0; k < WITHOUT + WITH; k++) {
    tsi_help_choice choice = {.seconds = {1, 1}, .helped = k >= WITHOUT, .runs = 1, .next = 1000};
    tsi_helpers_share(&helpers, &choice, 0, &shared);
  }
  CHECK(c.begin == WITHOUT + WITH && c.work == WITHOUT + WITH && c.alone == 0);
  c = (calls){0, 0, 0};
  shared.alone = note_alone;
  shared.alone_arg = &c;
  for (int k = 0; k < WITHOUT + WITH; k++) {
    tsi_help_choice choice = {.seconds = {1, 1}, .helped = k >= WITHOUT, .runs = 1, .next = 1000};
    tsi_helpers_share(&helpers, &choice, 0, &shared);
  }
  CHECK(c.begin == WITH && c.work == WITH && c.alone == WITHOUT);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(check_choice());
  RUN(check_other_way());
  RUN(check_alone());
  RUN(check_crews());
  return 0;
}
