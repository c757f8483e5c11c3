/* Saved plans whose records a wrong writer has changed, with right checksums: a load fails, or gives an
 * object that can be solved with, refactored and destroyed. Values may be any; no structure may lead out of
 * an array.
 */
#include <limits.h>

#include "runtime/save/records.h"
#include "tests/support/context.h"
#include "tests/support/given_factors.h"
#include "tests/support/saved_bytes.h"
#include "tests/support/subtests.h"
#include "tristar_matrix.h"

enum { RECORDS_MOST = 64, HEADER = 56 };

typedef struct record {
  tsi_record head;
  unsigned char *data; /* in the saved bytes */
} record;

static int split(const saved_bytes *bytes, record *records) {
  int count = 0;
  for (size_t at = HEADER; at < bytes->size; count++) {
    CHECK(count < RECORDS_MOST);
    record *r = &records[count];
    memcpy(&r->head, bytes->data + at, sizeof r->head);
    r->data = bytes->data + at + sizeof r->head;
    at += sizeof r->head + (size_t)(r->head.bytes * r->head.count) + sizeof(uint64_t);
  }
  return count;
}

/* A number for a field or an index: near by, at the edges, anything. */
static int64_t forged(int64_t old) {
  static const int64_t edges[] = {0, -1, 1, 2, 7, 255, 256, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  switch (below(4)) {
  case 0:
    return (int64_t)((uint64_t)old + 1);
  case 1:
    return (int64_t)((uint64_t)old - 1);
  case 2:
    return edges[below(sizeof edges / sizeof *edges)];
  default:
    return below(100);
  }
}

static void forge_element(const record *r, unsigned char *data) {
  int64_t word = 0;
  const size_t size = r->head.bytes < sizeof word ? (size_t)r->head.bytes : sizeof word;
  unsigned char *at = data + (size_t)below((int)r->head.count) * r->head.bytes;
  int32_t half;
  memcpy(&word, at, size);
  if (size == sizeof half) {
    memcpy(&half, at, sizeof half);
    word = half;
  }
  word = forged(word);
  memcpy(at, &word, size);
}

/* Writes the records to `to`, one of them changed. */
static void forge(tsi_env *env, const record *records, int count, saved_bytes *to) {
  const int chosen = below(count), way = below(12), times = 1 + below(3);
  tsi_sink sink = {env, keep_bytes, to};
  to->size = to->at = 0;
  CHECK_OK(tsi_sink_begin(&sink, "plan"));
  for (int k = 0; k < count; k++) {
    const record *r = &records[k];
    const size_t size = (size_t)(r->head.bytes * r->head.count);
    tsi_count elements = (tsi_count)r->head.count;
    OWNED unsigned char *data = xcalloc(1, size + 64);
    memcpy(data, r->data, size);
    if (k == chosen && way == 0) continue; /* missing */
    if (k == chosen && way == 1) elements += 1 + below(3);
    if (k == chosen && way == 2 && elements > 0) elements--;
    for (int t = 0; k == chosen && way > 2 && elements > 0 && t < times; t++) forge_element(r, data);
    CHECK_OK(tsi_put(&sink, r->head.name, r->head.bytes, elements, data));
    if (k == chosen && way == 3) CHECK_OK(tsi_put(&sink, r->head.name, r->head.bytes, elements, data));
  }
}

static void use(tristar_plan_t *plan, tristar_factor_t *factor) {
  tristar_view v;
  OWNED double *x = xcalloc(3 * 400, sizeof *x);
  const bool matrix = tristar_factor_get_matrix(factor, &v) == TRISTAR_OK;
  const int64_t n = matrix ? v.rows : 60;
  CHECK(n <= 400);
  for (int64_t i = 0; i < 3 * n; i++) x[i] = 1;
  (void)!tristar_solve(plan, TRISTAR_N, 1, x, n, x, n);
  (void)!tristar_solve(plan, TRISTAR_T, 3, x, n, x, n);
  if (matrix) (void)!tristar_refactor(factor, v.values);
}

static void check_forged(tristar_t *ts, const saved_bytes *bytes, int rounds) {
  record records[RECORDS_MOST];
  CLEANUP(free_saved_bytes) saved_bytes changed = {.fail_after = -1};
  const int count = split(bytes, records);
  int loaded = 0;
  CHECK(count > 8);
  for (int k = 0; k < rounds; k++) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
    forge(tsi_context_env(ts), records, count, &changed);
    const tristar_status status = tristar_plan_read(ts, give_bytes, &changed, &factor, &plan);
    CHECK_MSG(status != TRISTAR_ERR_INTERNAL && (status == TRISTAR_OK) == (plan != NULL), "%s",
              tristar_status_name(status));
    loaded += status == TRISTAR_OK;
    if (status == TRISTAR_OK) use(plan, factor);
  }
  CHECK_MSG(loaded > rounds / 100 && loaded < rounds, "%d of %d were loaded", loaded, rounds);
}

static const int rounds = TSI_TESTS_SANITIZED ? 1500 : 8000;

/* Factors that the library made. */
static void check_made(tristar_t *ts, const char *kind, int64_t k, tristar_method method, int leaf_parts) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  CLEANUP(free_saved_bytes) saved_bytes bytes = {.fail_after = -1};
  tristar_analysis_options options;
  tristar_plan_options cut;
  tristar_view v;
  CHECK_OK(tristar_matrix_generate(ts, kind, k, &matrix));
  tristar_matrix_get_view(matrix, &v);
  tristar_analysis_options_init(&options);
  options.method = method;
  options.leaf_parts = leaf_parts;
  tristar_plan_options_init(&cut);
  cut.chunk_bytes_max = 2000;
  CHECK_OK(tristar_analyze(ts, &v, &options, &an));
  CHECK_OK(tristar_factor(an, v.values, &factor));
  CHECK_OK(tristar_plan(factor, &cut, &plan));
  CHECK_OK(tristar_plan_write(plan, keep_bytes, &bytes));
  check_forged(ts, &bytes, rounds);
}

/* Imported ones, with two structures. */
static void check_given(tristar_t *ts, tristar_method method) {
  CLEANUP(release) dense m = draw(60, false, method, false);
  CLEANUP(release_view) given_view given;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  CLEANUP(free_saved_bytes) saved_bytes bytes = {.fail_after = -1};
  make_view(&m, 0, false, &given);
  CHECK_OK(tristar_import_supernodal(ts, &given.factors, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  CHECK_OK(tristar_plan_write(plan, keep_bytes, &bytes));
  check_forged(ts, &bytes, rounds);
}

int test_forged(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_without_starpu(false);
  RUN(check_made(ts, "s2d9pt", 12, TRISTAR_METHOD_LLT, 4));
  RUN(check_made(ts, "kkt3d", 3, TRISTAR_METHOD_LDLT, 0));
  RUN(check_made(ts, "circuit", 150, TRISTAR_METHOD_LU, 0));
  RUN(check_given(ts, TRISTAR_METHOD_LU));
  RUN(check_given(ts, TRISTAR_METHOD_LDLT));
  close_context(&ts);
  return 0;
}
