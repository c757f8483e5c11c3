/* Factors that all ranks compute together. For all layouts with that many processes, methods and scalar types
 * the share of each rank has the bits of the same share of a factor that rank 0 computes alone. So do all
 * solutions, also after new values. A failure is returned by all ranks, as by one process, and no memory is
 * lost.
 *
 *   test_distributed_factor direct|starpu_mpi|serial [MATRIX] */
#include <malloc.h>
#include "runtime/mpi/comm/bytes.h"
#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/mpi/same_factor.h"
#include "tests/support/mpi/simulated_messages.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_mpi.h"

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
  const char *matrix; /* NULL: all */
  tristar_distributed_options options;
} world;

typedef struct problem {
  const char *kind;
  const typed *type;
  tristar_view view;
  tristar_analysis_t *analysis; /* rank 0 */
  void *values;
  int64_t n;
} problem;

static void solve(const world *w, const problem *q, tristar_distributed_t *d, char *x) {
  const size_t bytes = (size_t)q->n * q->type->bytes;
  OWNED char *b = make_rhs(q->type, q->n);
  tristar_refine_result result;
  CHECK_OK(tristar_distributed_set_rows(d, w->rank == 0 ? 0 : q->n, w->rank == 0 ? q->n : 0));
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, q->n, x, q->n));
  CHECK_OK(tristar_distributed_solve_refined(d, TRISTAR_T, 1, b, q->n, x + bytes, q->n, NULL, &result));
}

/* Values that keep the method and the symmetry. */
static void *new_values(const problem *q) {
  const int64_t *ptr = q->view.ptr;
  void *values = xmalloc((size_t)ptr[q->n] * q->type->bytes);
  for (int64_t p = 0; p < ptr[q->n]; p++) put(q->type, values, p, 1.5 * get(q->type, q->values, p));
  return values;
}

static tristar_message_count handed_on; /* Sent by this rank to others. */

int MPI_Sendrecv(const void *from, int sent, MPI_Datatype type, int to, int tag, void *taken, int received,
                 MPI_Datatype other, int source, int other_tag, MPI_Comm comm, MPI_Status *status) {
  int own, bytes;
  MPI_Comm_rank(comm, &own);
  MPI_Type_size(type, &bytes);
  if (tag == TSI_TAG_PANELS && to != own && to != MPI_PROC_NULL) {
    handed_on.messages++;
    handed_on.bytes += (int64_t)sent * bytes;
  }
  return PMPI_Sendrecv(from, sent, type, to, tag, taken, received, other, source, other_tag, comm, status);
}

/* Messages between fronts are as many as tristar_layout_traffic counts. The statistics of panels that change
 * their process equal the messages sent. */
static void check_counts(const world *w, const char *what, const problem *q, const tristar_layout *layout,
                         const tristar_distributed_t *d) {
  tristar_traffic traffic;
  tristar_distributed_stats stats, *all = xcalloc((size_t)w->ranks, sizeof *all);
  double messages = 0, bytes = 0, most = 0;
  tristar_distributed_get_stats(d, &stats);
  CHECK(stats.factor_seconds > 0 && stats.factor_peak_bytes > stats.factor_bytes);
  CHECK_OK(tristar_distributed_gather_stats(d, all));
  for (int r = 0; w->rank == 0 && r < w->ranks; r++) {
    messages += (double)all[r].fan_in.messages;
    bytes += (double)all[r].fan_in.bytes;
    most = fmax(most, (double)all[r].fan_in.bytes);
  }
  if (w->rank == 0) check_simulated_messages(what, q->analysis, layout, w->ranks, all);
  free(all);
  CHECK(w->ranks > 1 || messages == 0);
  CHECK_MSG(stats.hand_on.messages == handed_on.messages && stats.hand_on.bytes == handed_on.bytes,
            "%s: %lld messages handed on, %lld bytes, reported are %lld and %lld", what,
            (long long)handed_on.messages, (long long)handed_on.bytes, (long long)stats.hand_on.messages,
            (long long)stats.hand_on.bytes);
  if (w->rank > 0) return;
  CHECK_OK(tristar_layout_traffic(q->analysis, layout, 1, &traffic));
  CHECK_MSG(traffic.fan_in.sent.total == messages && traffic.fan_in.sent_bytes.total == bytes &&
                traffic.fan_in.sent_bytes.max == most &&
                traffic.fan_in.received_bytes.total == traffic.fan_in.sent_bytes.total,
            "%s: %g messages, %g bytes, counted %g and %g", what, messages, bytes, traffic.fan_in.sent.total,
            traffic.fan_in.sent_bytes.total);
}

/* A factor that rank 0 computes alone replaces a factor of all ranks, including its statistics. */
static void check_update(const world *w, const char *what, tristar_distributed_t *d,
                         tristar_factor_t *factor) {
  tristar_distributed_stats stats;
  tristar_factor_stats expected, reported;
  CHECK_OK(tristar_distributed_update(d, factor));
  tristar_distributed_get_stats(d, &stats);
  CHECK_MSG(stats.factor_seconds == 0 && stats.factor_peak_bytes == 0 && stats.fan_in.messages == 0 &&
                stats.fan_in.bytes == 0 && stats.hand_on.messages == 0 && stats.hand_on.bytes == 0,
            "%s: figures of an older factorization", what);
  if (w->rank > 0) return;
  CHECK_OK(tristar_factor_get_stats(factor, &expected));
  CHECK_OK(tristar_distributed_get_factor_stats(d, &reported, NULL));
  CHECK_MSG(memcmp(&expected, &reported, sizeof reported) == 0 &&
                stats.perturbed_pivots == expected.perturbed_pivots,
            "%s: other figures of the factor", what);
}

static void check_layout(const world *w, const problem *q, const tristar_layout *layout) {
  tristar_distributed_options options = w->options;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *alone, *together;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  const size_t bytes = 2 * (size_t)q->n * q->type->bytes;
  char what[200], *x = xmalloc(bytes), *y = xmalloc(bytes);
  OWNED void *values = new_values(q);
  options.layout = *layout;
  snprintf(what, sizeof what, "%s %c, %dx%dx%d, algorithm %d, map %d", q->kind, q->type->scalar, layout->px,
           layout->py, layout->pz, (int)layout->algorithm, (int)layout->map);
  options.transport = TRISTAR_TRANSPORT_DIRECT; /* only one starpu_mpi can exist */
  if (w->rank == 0) CHECK_OK(tristar_factor(q->analysis, q->values, &factor));
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &alone));
  options.transport = w->options.transport;
  handed_on = (tristar_message_count){0, 0};
  CHECK_OK(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, q->analysis, w->rank == 0 ? q->values : NULL,
                                      &options, &together));
  check_same(what, alone, together);
  check_counts(w, what, q, layout, together);
  solve(w, q, alone, x);
  solve(w, q, together, y);
  CHECK_MSG(w->rank > 0 || memcmp(x, y, bytes) == 0, "%s: other bits in x", what);
  CHECK_STATUS(tristar_distributed_refactor(alone, w->rank == 0 ? values : NULL), TRISTAR_ERR_UNSUPPORTED);
  if (w->rank == 0) CHECK_OK(tristar_refactor(factor, values));
  CHECK_OK(tristar_distributed_update(alone, factor));
  CHECK_OK(tristar_distributed_refactor(together, w->rank == 0 ? values : NULL));
  check_same(what, alone, together);
  solve(w, q, alone, x);
  solve(w, q, together, y);
  CHECK_MSG(w->rank > 0 || memcmp(x, y, bytes) == 0, "%s: other bits in x after new values", what);
  check_update(w, what, together, factor);
  solve(w, q, together, y);
  CHECK_MSG(w->rank > 0 || memcmp(x, y, bytes) == 0, "%s: other bits in x after an update", what);
  free(x);
  free(y);
}

/* Every `every`-th layout of the ranks, with alternating algorithm and map. */
static void check_layouts(const world *w, const problem *q, int every) {
  int turn = 0;
  for (int pz = 1; pz <= w->ranks; pz *= 2)
    for (int px = 1; px * pz <= w->ranks; px++) {
      const tristar_layout layout = {.px = px,
                                     .py = w->ranks / px / pz,
                                     .pz = pz,
                                     .algorithm = turn % 2 ? TRISTAR_ALGORITHM_LEVELWISE
                                                           : TRISTAR_ALGORITHM_REPLICATED,
                                     .map = turn % 3 == 2 ? TRISTAR_MAP_CYCLIC : TRISTAR_MAP_SUBTREE};
      if (px * layout.py * pz != w->ranks) continue;
      if (turn++ % every == 0) check_layout(w, q, &layout);
    }
}

static void check_matrix(const world *w, const char *kind, int64_t k, const typed *t, tristar_method method,
                         bool single, int every) {
  tristar_matrix_t *matrix;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  problem q = {.kind = kind, .type = t};
  if (w->matrix != NULL && strcmp(w->matrix, kind) != 0) return;
  if (w->rank == 0) fprintf(stderr, "%s %c, method %d\n", kind, t->scalar, (int)method);
  q.values = typed_matrix(w->ts, kind, k, t, TRISTAR_HERMITIAN, &matrix, &q.view);
  q.n = q.view.rows;
  options.method = method;
  options.single_factors = single;
  while (options.leaf_parts < w->ranks) options.leaf_parts = options.leaf_parts ? 2 * options.leaf_parts : 1;
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &q.view, &options, &q.analysis));
  check_layouts(w, &q, every);
  tristar_analysis_destroy(&q.analysis);
  free(q.values);
  tristar_matrix_destroy(&matrix);
}

/* ---- Failures ---- */

enum { N = 200 };

/* A tridiagonal matrix with a given diagonal. */
typedef struct chain {
  int64_t ptr[N + 1];
  int32_t index[3 * N];
  double values[3 * N];
  tristar_view view;
} chain;

static void make_chain(chain *c, tristar_symmetry symmetry) {
  int64_t at = 0;
  c->ptr[0] = 0;
  for (int32_t j = 0; j < N; j++) {
    for (int32_t i = symmetry == TRISTAR_GENERAL && j > 0 ? j - 1 : j; i <= j + 1 && i < N; i++) {
      c->index[at] = i;
      c->values[at++] = i == j ? 4 : -1 - (i > j && symmetry == TRISTAR_GENERAL);
    }
    c->ptr[j + 1] = at;
  }
  c->view = stored_view(TRISTAR_CSC, symmetry, TRISTAR_DOUBLE, N, N, c->ptr, c->index, c->values);
}

static double *diagonal_of(chain *c, int32_t j) {
  int64_t p = c->ptr[j];
  while (c->index[p] != j) p++;
  return &c->values[p];
}

static tristar_status factor(const world *w, tristar_analysis_t *an, const chain *c,
                             tristar_distributed_t **d) {
  return tristar_distributed_factor(w->ts, MPI_COMM_WORLD, an, w->rank == 0 ? c->values : NULL, &w->options,
                                    d);
}

/* The message on each rank names the row, whichever rank has its front. */
static void expect_text(const world *w, const char *text) {
  CHECK_ERROR(w->ts, text);
}

/* Negative or zero pivots in each region of the chain: Cholesky fails, METHOD_AUTO continues with another
 * method. */
static void check_indefinite(const world *w) {
  chain c;
  tristar_analysis_options options;
  tristar_distributed_t *d;
  make_chain(&c, TRISTAR_SYMMETRIC);
  for (int automatic = 0; automatic < 2; automatic++)
    for (int32_t row = 0; row < N; row += 91) {
      CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
      char text[40];
      tristar_analysis_options_init(&options);
      options.method = automatic ? TRISTAR_METHOD_AUTO : TRISTAR_METHOD_LLT;
      options.leaf_parts = w->options.layout.pz;
      if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &c.view, &options, &an));
      *diagonal_of(&c, row) = -9;
      const tristar_status status = factor(w, an, &c, &d);
      snprintf(text, sizeof text, "pivot of row %d ", row);
      CHECK_STATUS(status, automatic ? TRISTAR_OK : TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
      if (!automatic) expect_text(w, text);
      if (automatic) CHECK(d->process->kind.indefinite);
      tristar_distributed_destroy(&d);
      *diagonal_of(&c, row) = 4;
      CHECK_OK(factor(w, an, &c, &d)); /* the analysis is still valid */
      if (!automatic) {
        *diagonal_of(&c, row) = -9;
        CHECK_STATUS(tristar_distributed_refactor(d, w->rank == 0 ? c.values : NULL),
                     TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
        expect_text(w, text);
        double b[N] = {1}, x[N];
        CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, 1, b, N, x, N), TRISTAR_ERR_STALE);
        *diagonal_of(&c, row) = 4;
        CHECK_OK(tristar_distributed_refactor(d, w->rank == 0 ? c.values : NULL));
        CHECK_OK(tristar_distributed_set_rows(d, w->rank == 0 ? 0 : N, w->rank == 0 ? N : 0));
        CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, N, x, N));
      }
      tristar_distributed_destroy(&d);
    }
}

/* Returns on all ranks the status and message of tristar_factor for these values. */
static tristar_status factor_alone(const world *w, tristar_analysis_t *an, const chain *c, char text[512]) {
  int status = TRISTAR_OK;
  if (w->rank == 0) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *alone;
    status = (int)tristar_factor(an, c->values, &alone);
    tristar_get_error(w->ts, text, 512);
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(text, 512, MPI_CHAR, 0, MPI_COMM_WORLD);
  return (tristar_status)status;
}

/* A small matrix of ones. */
static void make_ones(chain *c) {
  enum { ORDER = 8 };
  make_chain(c, TRISTAR_SYMMETRIC);
  int64_t at = 0;
  for (int32_t j = 0; j < ORDER; j++) {
    for (int32_t i = j; i < ORDER; i++) {
      c->index[at] = i;
      c->values[at++] = 1;
    }
    c->ptr[j + 1] = at;
  }
  c->view.rows = c->view.cols = ORDER;
}

/* Dependent rows, and values that are not finite: status and message are those of tristar_factor. */
static void check_singular(const world *w) {
  static const tristar_method methods[] = {TRISTAR_METHOD_LLT, TRISTAR_METHOD_LDLT, TRISTAR_METHOD_LU};
  chain c;
  tristar_distributed_t *d;
  tristar_analysis_options options;
  char text[512] = "";
  world whole = *w;
  whole.options.layout.px = w->ranks;
  whole.options.layout.pz = 1;
  for (int k = 0; k < 6; k++) {
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
    make_ones(&c);
    tristar_analysis_options_init(&options);
    options.method = methods[k / 2];
    options.matching = TRISTAR_MATCHING_OFF;
    if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &c.view, &options, &an));
    if (k % 2) *diagonal_of(&c, 5) = NAN;
    const tristar_status expected = factor_alone(w, an, &c, text);
    CHECK(expected == (k % 2   ? TRISTAR_ERR_NOT_FINITE
                       : k > 0 ? TRISTAR_ERR_SINGULAR
                               : TRISTAR_ERR_NOT_POSITIVE_DEFINITE));
    CHECK_STATUS(factor(&whole, an, &c, &d), expected);
    if (strstr(text, "of row ")) expect_text(w, strstr(text, "of row "));
    CHECK(d == NULL);
  }
}

/* Failing allocations on the last rank in factor and refactor; wrong arguments. */
static void check_memory(const world *w) {
  chain c;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  make_chain(&c, TRISTAR_GENERAL);
  options.leaf_parts = w->options.layout.pz;
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &c.view, &options, &an));
  for (int again = 0; again < 2; again++) {
    if (again) CHECK_OK(factor(w, an, &c, &d));
    allocation_failures failing = fail_allocations_on(w->ranks - 1, w->ts);
    failing.stride = 41;
    failing.keeps_memory = again;
    failing.recovers = true;
    while (next_failure(&failing)) {
      end_failure_everywhere(&failing, again ? tristar_distributed_refactor(d, w->rank == 0 ? c.values : NULL)
                                             : factor(w, an, &c, &d));
      if (!again) tristar_distributed_destroy(&d);
    }
    tristar_distributed_destroy(&d);
    CHECK_MSG(again || failing.count > 2, "%d allocations", (int)failing.count);
  }
  CHECK_STATUS(factor(w, NULL, &c, &d), TRISTAR_ERR_ARGUMENT);
  expect_text(w, "rank 0");
  CHECK_STATUS(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, an, NULL, &w->options, &d),
               TRISTAR_ERR_ARGUMENT);
  expect_text(w, "values");
  CHECK_OK(factor(w, an, &c, &d));
  CHECK_STATUS(tristar_distributed_refactor(d, NULL), TRISTAR_ERR_ARGUMENT); /* The values stay. */
  double b[N] = {1};
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, N, b, N));
}

/* Repeated new values: each solution is right, and no memory is lost. */
static void check_cycles(const world *w) {
  chain c;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_memory_stats memory;
  size_t before = 0;
  make_chain(&c, TRISTAR_SYMMETRIC);
  options.leaf_parts = w->options.layout.pz;
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &c.view, &options, &an));
  CHECK_OK(factor(w, an, &c, &d));
  CHECK_OK(tristar_distributed_set_rows(d, w->rank == 0 ? 0 : N, w->rank == 0 ? N : 0));
  for (int k = 0; k < 12; k++) {
    double b[N], x[N];
    for (int i = 0; i < N; i++) *diagonal_of(&c, i) = 3 + k;
    for (int i = 0; i < N; i++) b[i] = 3 + k - (i > 0) - (i < N - 1); /* the solution is ones */
    CHECK_OK(tristar_distributed_refactor(d, w->rank == 0 ? c.values : NULL));
    CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, N, x, N));
    for (int i = 0; w->rank == 0 && i < N; i++) CHECK(fabs(x[i] - 1) < 1e-13);
    tristar_get_memory(w->ts, &memory);
    if (k == 0) before = memory.current_bytes;
    CHECK_MSG(memory.current_bytes == before, "%zu bytes after %d cycles, %zu before", memory.current_bytes,
              k, before);
  }
}

/* A matrix without rows. Fresh memory has no zeros, so reads behind its arrays are noticed (the address
 * sanitizer, whose mallopt does nothing, notices them by itself). */
static void check_no_rows(const world *w) {
  static const tristar_method methods[] = {TRISTAR_METHOD_LLT, TRISTAR_METHOD_LDLT, TRISTAR_METHOD_LU};
  chain c;
  (void)mallopt(M_PERTURB, 90);
  make_chain(&c, TRISTAR_SYMMETRIC);
  c.view.rows = c.view.cols = 0;
  for (int k = 0; k < 3; k++) {
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
    CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    double x = 7;
    options.method = methods[k];
    options.leaf_parts = w->options.layout.pz;
    if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &c.view, &options, &an));
    CHECK_OK(factor(w, an, &c, &d));
    CHECK_OK(tristar_distributed_refactor(d, w->rank == 0 ? c.values : NULL));
    CHECK_OK(tristar_distributed_solve(d, TRISTAR_T, 1, &x, 1, &x, 1));
    CHECK(x == 7);
  }
  (void)mallopt(M_PERTURB, 0);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  world w = {.ts = NULL};
  tristar_config config = DEFAULTS(tristar_config);
  tristar_memory_stats memory;
  int level;
  CHECK(argc == 2 || argc == 3);
  w.matrix = argc > 2 ? argv[2] : NULL;
  config.check = 1;
  if (strcmp(argv[1], "serial") == 0) config.use_starpu = 0;
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  CHECK_OK(tristar_create(&config, &w.ts));
  tristar_distributed_options_init(&w.options);
  w.options.transport =
      strcmp(argv[1], "starpu_mpi") == 0 ? TRISTAR_TRANSPORT_STARPU_MPI : TRISTAR_TRANSPORT_DIRECT;
  RUN(check_matrix(&w, "s2d9pt", 30, &typed_double, TRISTAR_METHOD_AUTO, false, 1));
  RUN(check_matrix(&w, "poisson3d7", 9, &typed_single, TRISTAR_METHOD_AUTO, false, 3));
  RUN(check_matrix(&w, "poisson3d7", 10, &typed_double, TRISTAR_METHOD_LDLT, true, 3));
  RUN(check_matrix(&w, "convdiff3d", 9, &typed_double, TRISTAR_METHOD_AUTO, false, 3));
  if (w.matrix == NULL && w.options.transport == TRISTAR_TRANSPORT_STARPU_MPI) goto failures;
  RUN(check_matrix(&w, "poisson3d7", 6, &typed_complex_double, TRISTAR_METHOD_AUTO, false, 3));
  RUN(check_matrix(&w, "maxwell3d", 4, &typed_complex_double, TRISTAR_METHOD_AUTO, false, 3)); /* L D L^H */
  RUN(check_matrix(&w, "convdiff3d", 6, &typed_complex_single, TRISTAR_METHOD_LU, false, 3));
  RUN(check_matrix(&w, "kkt3d", 4, &typed_double, TRISTAR_METHOD_AUTO, false, 3));
failures:
  w.options.layout.pz = w.ranks % 2 == 0 ? 2 : 1;
  w.options.layout.px = w.ranks / w.options.layout.pz;
  RUN(check_indefinite(&w));
  RUN(check_singular(&w));
  RUN(check_memory(&w));
  RUN(check_cycles(&w));
  RUN(check_no_rows(&w));
  tristar_get_memory(w.ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "rank %d: %zu bytes leaked", w.rank, memory.current_bytes);
  tristar_destroy(&w.ts);
  MPI_Finalize();
  return 0;
}
