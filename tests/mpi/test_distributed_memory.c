/* The memory of a factor that all ranks compute together. Run by mpiexec with 2 and 4 ranks, with one step at
 * a time, so that it is the same in each run.
 *   - the peak of a rank is a fraction of the peak of one process
 *   - no rank but the first has an array as long as the number of entries of the matrix
 *   - if an allocation fails while contributions are sent in several parcels, all ranks return the error and
 *     none waits
 *   - repeated new values need no more memory
 *   - forecasts are near the peaks; if the forecast of one rank exceeds its limit, the call fails on all
 *     ranks
 *
 *   test_distributed_memory [CYCLES|direct|starpu_mpi]
 *     CYCLES: only this many cycles of new values and a solve. A transport: only the failures, with
 *     StarPU. */
#include <math.h>

#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/factor/team_factor.h"
#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/subtests.h"
#include "tristar_dmatrix_mpi.h"
#include "tristar_forecast.h"
#include "tristar_machine.h"
#include "tristar_mpi.h"

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
  tristar_transport transport;
} world;

/* A matrix on all ranks, and its analysis on rank 0. */
typedef struct problem {
  tristar_matrix_t *matrix;
  tristar_view view;
  tristar_analysis_t *analysis;
  tristar_dmatrix_t *rows; /* the same matrix; NULL: not needed */
} problem;

static tristar_analysis_options options_of(const world *w) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.leaf_parts = w->ranks;
  return options;
}

static void analyze(const world *w, problem *q) {
  const tristar_analysis_options options = options_of(w);
  q->analysis = NULL;
  q->rows = NULL;
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &q->view, &options, &q->analysis));
}

static void generate(const world *w, const char *kind, int64_t k, problem *q) {
  q->view = generated_view(w->ts, kind, k, &q->matrix);
  analyze(w, q);
}

static void release(problem *q) {
  tristar_dmatrix_destroy(&q->rows);
  tristar_analysis_destroy(&q->analysis);
  tristar_matrix_destroy(&q->matrix);
}

static tristar_status factor(const world *w, const problem *q, const tristar_layout *layout,
                             tristar_distributed_t **d) {
  tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
  options.layout = *layout;
  options.transport = w->transport;
  return tristar_distributed_factor(w->ts, MPI_COMM_WORLD, q->analysis, w->rank == 0 ? q->view.values : NULL,
                                    &options, d);
}

static tristar_layout grids(const world *w) {
  tristar_layout layout = DEFAULTS(tristar_layout);
  layout.pz = w->ranks;
  return layout;
}

/* ---- The peak ------------------------------------------------------------------------------------------ */

/* Peak of one process with its own choice of the ordering, not the choice for several processes. */
static double peak_of_one(const world *w, const problem *q) {
  double peak = 0;
  if (w->rank == 0) {
    tristar_factor_stats stats;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(w->ts, &q->view, NULL);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *alone = NEW_FACTOR(analysis, q->view.values);
    CHECK_OK(tristar_factor_get_stats(alone, &stats));
    peak = (double)stats.peak_bytes;
  }
  MPI_Bcast(&peak, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return peak;
}

/* The forecast is most of the peak, and not more. */
static void check_prediction(const world *w, const problem *q, const tristar_layout *layout, double peak) {
  tristar_traffic t;
  double most = 0;
  MPI_Reduce(&peak, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (w->rank > 0) return;
  CHECK_OK(tristar_layout_traffic(q->analysis, layout, 1, &t));
  const double counted = t.factor_bytes.max + t.front_bytes.max;
  CHECK_MSG(counted <= most && counted > 0.8 * most, "%.0f bytes at the peak, %.0f counted", most, counted);
  CHECK(t.factor_path_flops >= t.factor_flops.max && t.factor_path_flops < t.factor_flops.total);
}

/* The peak of each rank is at most this fraction of the peak of one process. */
static void check_peak_of(const world *w, const problem *q, double alone, int px, int py, int pz,
                          double most) {
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  tristar_distributed_stats stats;
  tristar_layout layout = grids(w);
  layout.px = px;
  layout.py = py;
  layout.pz = pz;
  CHECK_OK(factor(w, q, &layout, &d));
  tristar_distributed_get_stats(d, &stats);
  fprintf(stderr, "%dx%dx%d, rank %d: %.1f MB of the factor, %.1f MB at the peak, %.3f of one process\n", px,
          py, pz, w->rank, stats.factor_bytes / 1e6, stats.factor_peak_bytes / 1e6,
          stats.factor_peak_bytes / alone);
  CHECK_MSG(stats.factor_peak_bytes <= most * alone, "rank %d: %.0f bytes at the peak, one process %.0f",
            w->rank, stats.factor_peak_bytes, alone);
  check_prediction(w, q, &layout, stats.factor_peak_bytes);
}

static void check_peaks(const world *w, const char *kind, int64_t k) {
  CLEANUP(release) problem q;
  generate(w, kind, k, &q);
  const double alone = peak_of_one(w, &q);
  if (w->ranks == 2) {
    check_peak_of(w, &q, alone, 2, 1, 1, 0.62);
    check_peak_of(w, &q, alone, 1, 1, 2, 0.62);
  } else {
    check_peak_of(w, &q, alone, 2, 2, 1, 0.38);
    check_peak_of(w, &q, alone, 4, 1, 1, 0.38);
    check_peak_of(w, &q, alone, 1, 2, 2, 0.38);
    check_peak_of(w, &q, alone, 1, 1, 4, 0.45); /* with replicas of the ancestors */
  }
}

/* ---- Forecast and limit -------------------------------------------------------------------------------- */

/* Factors a matrix whose rows are on all ranks. */
static tristar_status factor_rows(const world *w, const problem *q, const tristar_layout *layout,
                                  tristar_distributed_t **d) {
  const tristar_analysis_options analysis = options_of(w);
  tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
  options.layout = *layout;
  options.transport = w->transport;
  return tristar_dmatrix_factor(q->rows, &analysis, &options, d);
}

/* Late ranks need more memory, as messages wait for them. */
static bool is_near(double forecast, double bytes) {
  return forecast <= 1.1 * bytes && forecast >= 0.85 * bytes;
}

/* Compares the peaks of the ranks, and the largest one, with the forecast, which all ranks get. */
static tristar_ranks_forecast check_forecast(const world *w, const problem *q, const tristar_layout *layout) {
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  tristar_ranks_forecast f;
  tristar_distributed_stats stats;
  double most, sum;
  if (w->rank == 0) CHECK_OK(tristar_layout_forecast(q->analysis, layout, 1, NULL, &f));
  MPI_Bcast(&f, (int)sizeof f, MPI_BYTE, 0, MPI_COMM_WORLD);
  CHECK_OK(factor_rows(w, q, layout, &d));
  tristar_distributed_get_stats(d, &stats);
  MPI_Allreduce(&stats.factor_peak_bytes, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&stats.factor_peak_bytes, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  fprintf(stderr, "%dx%dx%d: %.0f bytes at the peak, forecast %.3f of that, of all %.3f\n", layout->px,
          layout->py, layout->pz, most, f.factor_peak_bytes.max / most, f.factor_peak_bytes.total / sum);
  CHECK(f.ranks == w->ranks && is_near(f.factor_peak_bytes.max, most) &&
        is_near(f.factor_peak_bytes.total, sum));
  MPI_Allreduce(&stats.factor_bytes, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CHECK_MSG(f.factor_bytes.total == sum, "%.0f bytes of panels, forecast %.0f", sum, f.factor_bytes.total);
  CHECK(f.factor_seconds > 0 && f.solve_seconds > 0 && f.peak_bytes.max >= f.factor_peak_bytes.max);
  return f;
}

/* Factors with a limit of rank `who` this many bytes above its present memory; others have no limit. */
static tristar_status factor_within(const world *w, const problem *q, const tristar_layout *layout, int who,
                                    double bytes, size_t *took, tristar_distributed_t **d) {
  tsi_env *env = tsi_context_env(w->ts);
  const size_t before = tsi_memory_watch(env);
  CHECK_OK(tristar_limit_memory(w->ts, w->rank == who ? before + (size_t)bytes : 0));
  const tristar_status status = factor_rows(w, q, layout, d);
  *took = atomic_load(&env->memory.recent) - before;
  CHECK_OK(tristar_limit_memory(w->ts, 0));
  CHECK(w->rank != who || *took <= (size_t)bytes);
  return status;
}

/* If the forecast of one rank exceeds its limit, all ranks refuse before they allocate panels and fronts. */
static void check_limits(const world *w, const problem *q, const tristar_layout *layout,
                         const tristar_ranks_forecast *f) {
  for (int who = 0; who < w->ranks; who++) {
    tristar_distributed_t *d = NULL;
    size_t took;
    CHECK_STATUS(factor_within(w, q, layout, who, 0.8 * f->factor_peak_bytes.min, &took, &d),
                 TRISTAR_ERR_MEMORY);
    CHECK(d == NULL);
    CHECK_ERROR(w->ts, "(forecast)");
    CHECK_MSG((double)took < 0.8 * f->factor_peak_bytes.min, "%zu bytes before it was refused", took);
    CHECK_OK(factor_within(w, q, layout, who, 1.1 * f->factor_peak_bytes.max, &took, &d));
    tristar_distributed_destroy(&d);
  }
}

static void check_forecasts(const world *w, const char *kind, int64_t k) {
  CLEANUP(release) problem q;
  char name[40];
  generate(w, kind, k, &q);
  snprintf(name, sizeof name, "gen:%s:%d", kind, (int)k);
  CHECK_OK(tristar_dmatrix_read(w->ts, MPI_COMM_WORLD, name, NULL, &q.rows));
  for (int grids_count = 1; grids_count <= w->ranks; grids_count *= 2) {
    tristar_layout layout = DEFAULTS(tristar_layout);
    layout.px = w->ranks / grids_count;
    layout.pz = grids_count;
    const tristar_ranks_forecast f = check_forecast(w, &q, &layout);
    if (grids_count > 1) check_limits(w, &q, &layout, &f);
  }
}

/* ---- Blocks -------------------------------------------------------------------------------------------- */

enum { LINKS = 64, WIDTH = 40, ORDER = LINKS * WIDTH, ENTRIES = (3 * LINKS - 2) * WIDTH * WIDTH };

/* A chain of dense blocks, unsymmetric: many entries, small fronts, a short structure. */
typedef struct chain {
  int64_t ptr[ORDER + 1];
  int32_t *index;
  double *values;
} chain;

static void make_chain(const world *w, chain *c, problem *q) {
  int64_t at = 0;
  c->index = xmalloc(ENTRIES * sizeof *c->index);
  c->values = xmalloc(ENTRIES * sizeof *c->values);
  c->ptr[0] = 0;
  for (int32_t j = 0; j < ORDER; j++) {
    const int32_t link = j / WIDTH, first = link > 0 ? link - 1 : 0,
                  last = link < LINKS - 1 ? link + 1 : link;
    for (int32_t i = first * WIDTH; i < (last + 1) * WIDTH; i++) {
      c->index[at] = i;
      c->values[at++] = i == j ? 4 * WIDTH : 1 - 0.25 * (i > j) / (1 + abs(i - j));
    }
    c->ptr[j + 1] = at;
  }
  CHECK(at == ENTRIES);
  q->matrix = NULL;
  q->view =
      stored_view(TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, ORDER, ORDER, c->ptr, c->index, c->values);
  analyze(w, q);
}

/* Other ranks do not even have an index for each entry of A or of L. */
static void check_blocks(const world *w) {
  problem q;
  OWNED chain *c = xmalloc(sizeof *c);
  tristar_distributed_t *d;
  tristar_analysis_stats analysis = {.nnz_lower = 0};
  const tristar_layout layout = grids(w);
  make_chain(w, c, &q);
  CHECK_OK(factor(w, &q, &layout, &d));
  const size_t largest = atomic_load(&tsi_context_env(w->ts)->memory.largest);
  if (w->rank == 0) CHECK_OK(tristar_analysis_get_stats(q.analysis, &analysis));
  MPI_Bcast(&analysis, (int)sizeof analysis, MPI_BYTE, 0, MPI_COMM_WORLD);
  const size_t entries = (size_t)(analysis.nnz_lower < ENTRIES ? analysis.nnz_lower : ENTRIES);
  fprintf(stderr, "rank %d: a block of %zu bytes, %zu entries\n", w->rank, largest, entries);
  CHECK_MSG(w->rank == 0 || largest < entries * sizeof(tsi_index), "rank %d: a block of %zu bytes", w->rank,
            largest);
  CHECK_OK(tristar_distributed_refactor(d, w->rank == 0 ? c->values : NULL));
  tristar_distributed_destroy(&d);
  release(&q);
  free(c->index);
  free(c->values);
}

/* ---- Failures ------------------------------------------------------------------------------------------ */

/* Returns the solution on rank 0. */
static void solve(const world *w, const problem *q, tristar_distributed_t *d, double *x) {
  const int64_t n = q->view.rows;
  OWNED double *b = xmalloc((size_t)n * sizeof *b);
  for (int64_t i = 0; i < n; i++) b[i] = 1 + (double)(i % 7);
  CHECK_OK(tristar_distributed_set_rows(d, w->rank == 0 ? 0 : n, w->rank == 0 ? n : 0));
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, n, x, n));
}

/* Each allocation of one rank fails in turn; of many, some. */
static void check_failures(const world *w) {
  problem q;
  tristar_distributed_t *d;
  tristar_layout layout = grids(w);
  generate(w, "poisson3d7", 23, &q); /* a separator of 529 rows: two parcels */
  const int64_t n = q.view.rows;
  OWNED double *x = xmalloc((size_t)n * sizeof *x), *y = xmalloc((size_t)n * sizeof *y);
  layout.pz = w->ranks / 2;
  layout.px = 2;
  CHECK_OK(factor(w, &q, &layout, &d));
  if (w->ranks > 1) CHECK(d->stats.fan_in.messages > 0 || w->rank > 0);
  solve(w, &q, d, x);
  for (int who = 0; who < w->ranks; who++) {
    allocation_failures failing = fail_allocations_on(who, w->ts);
    failing.sparse = 2;
    while (next_failure(&failing))
      end_failure_everywhere(&failing, tristar_distributed_refactor(d, w->rank == 0 ? q.view.values : NULL));
    CHECK_MSG(failing.count > 3, "%d failures", (int)failing.count);
  }
  CHECK_OK(tristar_distributed_refactor(d, w->rank == 0 ? q.view.values : NULL));
  solve(w, &q, d, y);
  CHECK(w->rank > 0 || memcmp(x, y, (size_t)n * sizeof *x) == 0);
  tristar_distributed_destroy(&d);
  release(&q);
}

/* ---- Messages ------------------------------------------------------------------------------------------ */

/* Sends more items than one message holds to the next rank; each rank sends another number of items. */
static void check_swaps(const world *w) {
  enum { MOST = 7, BYTES = 12 };
  const int next = (w->rank + 1) % w->ranks, former = (w->rank + w->ranks - 1) % w->ranks;
  for (int round = 0; round < 30; round++) {
    const int given = round * (w->rank + 1), taken = round * (former + 1);
    OWNED char *gives = xmalloc((size_t)given * BYTES + 1), *takes = xmalloc((size_t)taken * BYTES + 1);
    for (int k = 0; k < given * BYTES; k++) gives[k] = (char)(w->rank + k % 101);
    CHECK_OK(tsi_swap_items(tsi_context_env(w->ts), MPI_COMM_WORLD, TSI_TAG_BYTES, BYTES, MOST,
                            (tsi_items_way){gives, given, next}, (tsi_items_way){takes, taken, former}));
    for (int k = 0; k < taken * BYTES; k++) CHECK(takes[k] == (char)(former + k % 101));
    CHECK(tsi_item_messages(given, MOST) == (given + MOST - 1) / MOST);
  }
}

/* ---- Cycles -------------------------------------------------------------------------------------------- */

/* After each cycle the library uses as much memory as after the first one. */
static void check_cycles(const world *w, int cycles) {
  problem q;
  tristar_distributed_t *d;
  tristar_memory_stats first = {.current_bytes = 0}, now;
  const tristar_layout layout = grids(w);
  generate(w, "s2d9pt", 40, &q);
  const int64_t n = q.view.rows, entries = ((const int64_t *)q.view.ptr)[n];
  OWNED double *values = xmalloc((size_t)entries * sizeof *values), *x = xmalloc((size_t)n * sizeof *x),
               *y = xmalloc((size_t)n * sizeof *y);
  CHECK_OK(factor(w, &q, &layout, &d));
  solve(w, &q, d, x);
  for (int k = 0; k < cycles; k++) {
    for (int64_t p = 0; p < entries; p++) values[p] = (k % 2 ? 1 : 4) * ((const double *)q.view.values)[p];
    CHECK_OK(tristar_distributed_refactor(d, w->rank == 0 ? values : NULL));
    solve(w, &q, d, y);
    for (int64_t i = 0; w->rank == 0 && i < n; i++)
      CHECK_MSG(y[i] == (k % 2 ? 1 : 0.25) * x[i], "cycle %d: x[%d]", k, (int)i); /* exact: powers of two */
    tristar_get_memory(w->ts, &now);
    if (k == 0) first = now;
    CHECK_MSG(now.current_bytes == first.current_bytes && now.peak_bytes == first.peak_bytes,
              "%zu bytes after %d cycles, at most %zu; %zu and %zu after the first", now.current_bytes, k + 1,
              now.peak_bytes, first.current_bytes, first.peak_bytes);
  }
  tristar_distributed_destroy(&d);
  release(&q);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  world w = {.ts = NULL, .transport = TRISTAR_TRANSPORT_DIRECT};
  tristar_config config = DEFAULTS(tristar_config);
  tristar_memory_stats memory;
  int level;
  CHECK(argc <= 2);
  const bool tasks = argc > 1 && atoi(argv[1]) == 0;
  if (!tasks) config.use_starpu = 0;
  if (tasks && strcmp(argv[1], "starpu_mpi") == 0) w.transport = TRISTAR_TRANSPORT_STARPU_MPI;
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  CHECK_OK(tristar_create(&config, &w.ts));
  if (tasks) {
    RUN(check_failures(&w));
  } else if (argc > 1) {
    RUN(check_cycles(&w, atoi(argv[1])));
  } else {
    RUN(check_swaps(&w));
    RUN(check_peaks(&w, "poisson3d7", 40));
    RUN(check_forecasts(&w, "poisson3d7", 24));
    RUN(check_forecasts(&w, "convdiff3d", 18));
    RUN(check_forecasts(&w, "elasticity3d", 9));
    if (w.ranks >= 4) RUN(check_blocks(&w));
    RUN(check_failures(&w));
    RUN(check_cycles(&w, 20));
  }
  tristar_get_memory(w.ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "rank %d: %zu bytes leaked", w.rank, memory.current_bytes);
  tristar_destroy(&w.ts);
  MPI_Finalize();
  return 0;
}
