/* Distributed factors on any number of ranks: errors that all ranks return, values of another structure,
 * options that differ between ranks. Argument: "tasks" or "serial" (without StarPU). */
#include <math.h>

#include "runtime/mpi/solve/distributed.h"
#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/subtests.h"
#include "tristar_mpi.h"

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
  tristar_engine engine;
} world;

/* An error of one rank is returned by all ranks. */
static void check_errors(const world *w) {
  tristar_distributed_options options;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix = NULL;
  tristar_view view;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  char text[512];
  double b[64] = {0};
  if (w->rank == 0) {
    view = generated_view(w->ts, "s2d9pt", 8, &matrix);
    CHECK_OK(tristar_analyze(w->ts, &view, NULL, &an));
    CHECK_OK(tristar_factor(an, view.values, &factor));
  }
  tristar_distributed_options_init(&options);
  options.engine = w->engine;
  options.layout.px = w->ranks + 1;
  CHECK_STATUS(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d), TRISTAR_ERR_ARGUMENT);
  tristar_get_error(w->ts, text, sizeof text);
  CHECK(strstr(text, "layout") != NULL && d == NULL);
  options.layout.px = w->ranks;
  CHECK_STATUS(tristar_distribute(w->ts, MPI_COMM_WORLD, NULL, &options, &d), TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(w->ts, "rank 0");
  if (w->ranks > 1 && (w->ranks & (w->ranks - 1)) == 0) { /* no separator tree */
    options.layout.px = 1;
    options.layout.pz = w->ranks;
    CHECK_STATUS(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d), TRISTAR_ERR_ARGUMENT);
    options.layout.pz = 1;
    options.layout.px = w->ranks;
  }
  /* An allocation fails on the last rank. */
  allocation_failures failing = fail_allocations_on(w->ranks - 1, w->ts);
  failing.stride = 7;
  while (next_failure(&failing)) {
    const tristar_status status = tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d);
    end_failure_everywhere(&failing, status);
    CHECK(status == TRISTAR_OK || d == NULL);
    tristar_distributed_destroy(&d);
  }
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d));
  CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, w->rank == 0 ? -1 : 1, b, 64, b, 64),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, 1, w->rank == 0 ? NULL : b, 64, b, 64),
               TRISTAR_ERR_ARGUMENT);
  if (w->ranks > 1)
    CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, w->rank == 0 ? 2 : 1, b, 64, b, 64),
                 TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_distributed_set_rows(d, 0, 64 - w->rank),
               w->ranks > 1 ? TRISTAR_ERR_ARGUMENT : TRISTAR_OK);
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 0, b, 64, b, 64));
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, 64, b, 64));
}

/* On rank 0 the factor of a diagonal matrix of order 8 with these options; NULL elsewhere. */
static tristar_factor_t *make_diagonal(const world *w, tristar_scalar scalar, tristar_method method,
                                       bool reversed, tristar_inverse inverse) {
  static const int32_t ptr[] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, index[] = {0, 1, 2, 3, 4, 5, 6, 7};
  static const double value[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const float single[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const int64_t backwards[] = {7, 6, 5, 4, 3, 2, 1, 0}, forwards[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const void *values = scalar == TRISTAR_SINGLE ? (const void *)single : value;
  const tristar_view view = {TRISTAR_CSC, TRISTAR_SYMMETRIC, scalar, 8, 8, ptr, index, values, 32, 32, 0};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  tristar_factor_t *factor = NULL;
  if (w->rank > 0) return NULL;
  options.method = method;
  options.ordering = TRISTAR_ORDERING_USER;
  options.permutation = reversed ? backwards : forwards;
  options.inverse = inverse;
  CHECK_OK(tristar_analyze(w->ts, &view, &options, &an));
  CHECK_OK(tristar_factor(an, values, &factor));
  return factor;
}

/* A distributed factor accepts new values only from a factor of the same structure, order and kind. */
static void check_update(const world *w) {
  static const struct {
    tristar_scalar scalar;
    tristar_method method;
    bool reversed;
    tristar_inverse inverse;
    const char *text;
  } others[] = {{TRISTAR_SINGLE, TRISTAR_METHOD_LLT, false, TRISTAR_INVERSE_DIAGONAL, "scalar type"},
                {TRISTAR_DOUBLE, TRISTAR_METHOD_LDLT, false, TRISTAR_INVERSE_DIAGONAL, "method"},
                {TRISTAR_DOUBLE, TRISTAR_METHOD_LLT, true, TRISTAR_INVERSE_DIAGONAL, "permutation"},
                {TRISTAR_DOUBLE, TRISTAR_METHOD_LLT, false, TRISTAR_INVERSE_NONE, "diagonal blocks"}};
  tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  CLEANUP(tristar_factor_destroy)
  tristar_factor_t *first =
      make_diagonal(w, TRISTAR_DOUBLE, TRISTAR_METHOD_LLT, false, TRISTAR_INVERSE_DIAGONAL);
  char text[512];
  options.engine = w->engine;
  options.layout.px = w->ranks;
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, first, &options, &d));
  for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
    double b[8] = {1, 1, 1, 1, 1, 1, 1, 1}, x[8];
    CLEANUP(tristar_factor_destroy)
    tristar_factor_t *other =
        make_diagonal(w, others[k].scalar, others[k].method, others[k].reversed, others[k].inverse);
    CHECK_STATUS(tristar_distributed_update(d, other), TRISTAR_ERR_ARGUMENT);
    tristar_get_error(w->ts, text, sizeof text);
    CHECK_MSG(strstr(text, others[k].text) != NULL, "\"%s\" is not in \"%s\"", others[k].text, text);
    CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, 8, x, 8)); /* the old values are kept */
    for (int i = 0; w->rank == 0 && i < 8; i++) CHECK(fabs(x[i] * (i + 1) - 1) < 1e-14);
  }
  CHECK_OK(tristar_distributed_update(d, first));
}

/* An argument that differs between ranks is an error on all ranks. The message names it. */
static void check_agreement(const world *w) {
  tristar_distributed_t *d;
  CLEANUP(tristar_factor_destroy)
  tristar_factor_t *factor =
      make_diagonal(w, TRISTAR_DOUBLE, TRISTAR_METHOD_LLT, false, TRISTAR_INVERSE_DIAGONAL);
  const bool last = w->rank == w->ranks - 1;
  char text[512];
  for (int k = 0; k < 8 && w->ranks > 1; k++) {
    static const char *const texts[] = {"px",     "algorithm", "map",       "tree",
                                        "engine", "nrhs",      "transport", "atomic_sums"};
    tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
    options.engine = w->engine;
    options.layout.px = k == 0 && last ? 1 : w->ranks;
    options.layout.py = k == 0 && last ? w->ranks : 1;
    if (k == 1 && last) options.layout.algorithm = TRISTAR_ALGORITHM_LEVELWISE;
    if (k == 2 && last) options.layout.map = TRISTAR_MAP_CYCLIC;
    if (k == 3 && last) options.layout.message_tree = TRISTAR_MESSAGE_TREE_FLAT;
    if (k == 4 && last) options.engine = TRISTAR_ENGINE_SERIAL;
    if (k == 5 && last) options.nrhs = 2;
    if (k == 7 && last) options.atomic_sums = 1;
    if (k == 6 && w->engine != TRISTAR_ENGINE_TASKS) continue; /* starpu_mpi needs StarPU */
    if (k == 6 && last) CHECK(setenv("TRISTAR_TRANSPORT", "starpu_mpi", 1) == 0);
    CHECK_STATUS(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d), TRISTAR_ERR_ARGUMENT);
    CHECK(unsetenv("TRISTAR_TRANSPORT") == 0);
    tristar_get_error(w->ts, text, sizeof text);
    CHECK_MSG(strstr(text, texts[k]) != NULL, "\"%s\" is not in \"%s\"", texts[k], text);
  }
}

/* TRISTAR_ISA also applies to distributed solves. */
static void check_isa(const world *w) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_distributed_options options;
  tristar_distributed_t *d;
  world own = *w;
  const bool plain = tsi_kernels_select('d', TSI_INVERSE_DIAGONAL, "base") != NULL; /* built */
  const char *isa = plain ? "base" : tsi_kernels_select('d', TSI_INVERSE_DIAGONAL, NULL)->isa;
  config.use_starpu = w->engine == TRISTAR_ENGINE_TASKS;
  CHECK(setenv("TRISTAR_ISA", isa, 1) == 0);
  CHECK_OK(tristar_create(&config, &own.ts));
  CHECK(unsetenv("TRISTAR_ISA") == 0);
  tristar_factor_t *factor =
      make_diagonal(&own, TRISTAR_DOUBLE, TRISTAR_METHOD_LLT, false, TRISTAR_INVERSE_DIAGONAL);
  tristar_distributed_options_init(&options);
  options.layout.px = w->ranks;
  CHECK_OK(tristar_distribute(own.ts, MPI_COMM_WORLD, factor, &options, &d));
  CHECK(strcmp(d->process->data.kernels->isa, isa) == 0);
  tristar_distributed_destroy(&d);
  tristar_factor_destroy(&factor);
  tristar_destroy(&own.ts);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  world w = {.engine = TRISTAR_ENGINE_TASKS};
  tristar_config config = DEFAULTS(tristar_config);
  tristar_memory_stats memory;
  int level;
  CHECK(argc == 2);
  config.check = 1;
  if (strcmp(argv[1], "serial") == 0) {
    w.engine = TRISTAR_ENGINE_AUTO;
    config.use_starpu = 0;
  }
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  CHECK_OK(tristar_create(&config, &w.ts));
  RUN(check_update(&w)); /* First: StarPU keeps running, and need not start again for each failing call. */
  RUN(check_errors(&w));
  RUN(check_agreement(&w));
  RUN(check_isa(&w));
  tristar_get_memory(w.ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "rank %d: %zu bytes leaked", w.rank, memory.current_bytes);
  tristar_destroy(&w.ts);
  MPI_Finalize();
  return 0;
}
