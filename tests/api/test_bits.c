/* Same plan, same bits: schedulers x workers x serial replay x repeated solves (their number is the
 * argument), 1 and 17 right-hand sides, five matrices, each analyzed and factored anew under every
 * configuration. */
#include "tests/support/flow.h"
#include "tests/support/subtests.h"

static int repeats;

static uint64_t hash(const double *x, int64_t count) {
  uint64_t h = 14695981039346656037u;
  const unsigned char *bytes = (const unsigned char *)x;
  for (size_t i = 0; i < (size_t)count * sizeof *x; i++) h = (h ^ bytes[i]) * 1099511628211u;
  return h;
}

/* Computes hashes for 1 and for 17 right-hand sides. Every repetition must agree with the first one. */
static void solve(tristar_t *ts, const char *kind, int64_t k, tristar_engine engine, uint64_t result[2]) {
  CLEANUP(flow_destroy) flow f;
  flow_create(ts, kind, k, engine, 20000, &f);
  const int64_t n = f.view.rows;
  OWNED double *b = xmalloc(17 * (size_t)n * sizeof *b), *x = xmalloc(17 * (size_t)n * sizeof *x);
  fill_random(b, 17 * n, 11);
  for (int r = 0; r < 2; r++)
    for (int repeat = 0; repeat < repeats; repeat++) {
      CHECK_OK(tristar_solve(f.plan, TRISTAR_N, r ? 17 : 1, b, n, x, n));
      const uint64_t h = hash(x, (r ? 17 : 1) * n);
      if (repeat == 0) result[r] = h;
      CHECK_MSG(h == result[r], "%s, %d right-hand sides: solve %d gives other bits", kind, r ? 17 : 1,
                repeat);
    }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const struct {
    const char *kind;
    int64_t k;
  } matrices[] = {{"s2d9pt", 60}, {"poisson3d7", 13}, {"elasticity3d", 5}, {"convdiff3d", 12}, {"kkt3d", 6}};
  static const char *const schedulers[] = {"serial", "eager", "lws", "prio", "dmda", "dmdas"};
  static const char *const workers[] = {"1", "2"};
  uint64_t reference[5][2], now[2];
  CHECK(argc == 2 && (repeats = atoi(argv[1])) > 1);
  for (size_t s = 0; s < sizeof schedulers / sizeof *schedulers; s++)
    for (int w = 0; w < 2; w++) {
      tristar_t *ts;
      tristar_config config = DEFAULTS(tristar_config);
      if (s == 0 && w == 1) continue;
      if (TSI_TESTS_RACES && s > 0 && w == 0) continue;
      setenv("STARPU_SCHED", schedulers[s], 1); /* set by an environment variable, as users do */
      setenv("STARPU_NCPU", workers[w], 1);
      config.use_starpu = s > 0;
      CHECK_OK(tristar_create(&config, &ts));
      for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) {
        RUN(solve(ts, matrices[m].kind, matrices[m].k, s > 0 ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_SERIAL,
                  now));
        if (s == 0) memcpy(reference[m], now, sizeof now);
        CHECK_MSG(memcmp(reference[m], now, sizeof now) == 0, "%s: %s with %s workers gives other bits",
                  matrices[m].kind, schedulers[s], workers[w]);
      }
      tristar_destroy(&ts);
    }
  return 0;
}
