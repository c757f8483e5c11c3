/* Fronts shared by teams of ranks. With small tiles and a cost model of free messages, small matrices have
 * many of them on all layouts. For all methods, scalar types and treatments of diagonal blocks the share of
 * each rank has the bits of a factor that rank 0 computes alone. This holds for a matrix on rank 0, for rows
 * on all ranks, and for new values. The messages are those that tristar_layout_traffic counts. A failure is
 * returned by all ranks, and no memory is lost.
 *
 *   test_shared_fronts tasks|serial|starpu_mpi [MATRIX]: with starpu_mpi only the bits are compared */
#include "runtime/process/predict.h"
#include "tests/support/mpi/dmatrix_factor.h"
#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/mpi/simulated_messages.h"
#include "tests/support/subtests.h"

static const tsi_factorization_options small = {16, 1e4, 1e5, 0};

/* Transport of the messages for factors of the matrix of rank 0. */
static tristar_transport transport = TRISTAR_TRANSPORT_DIRECT;

/* Number of shared fronts, by method. */
static int shared[4];

static wish fine_wish(const tristar_layout *layout, tristar_method method) {
  wish o = wish_of(layout, method);
  o.options.transport = TRISTAR_TRANSPORT_DIRECT;
  o.analysis.merge = TRISTAR_MERGE_NONE; /* panels of 8 columns */
  o.analysis.matching = TRISTAR_MATCHING_OFF;
  return o;
}

static void note_teams(const tristar_distributed_t *d) {
  if (d->team_factor->fronts.teams != NULL) shared[d->team_factor->analysis.stats.method]++;
}

/* ---- The same bits ------------------------------------------------------------------------------------- */

static void check_counts(const world *w, const char *what, tristar_analysis_t *analysis, const wish *o,
                         const tristar_distributed_t *d) {
  tristar_traffic traffic;
  OWNED tristar_distributed_stats *all = xcalloc((size_t)w->ranks, sizeof *all);
  double messages = 0, bytes = 0;
  CHECK_OK(tristar_distributed_gather_stats(d, all));
  for (int r = 0; w->rank == 0 && r < w->ranks; r++) {
    messages += (double)all[r].fan_in.messages;
    bytes += (double)all[r].fan_in.bytes;
  }
  if (w->rank == 0) {
    CHECK_OK(tristar_layout_traffic(analysis, &o->options.layout, 1, &traffic));
    CHECK_MSG(traffic.fan_in.sent.total == messages && traffic.fan_in.received.total == messages &&
                  traffic.fan_in.sent_bytes.total == bytes && traffic.fan_in.received_bytes.total == bytes,
              "%s: %g messages, %g bytes, counted %g and %g", what, messages, bytes,
              traffic.fan_in.sent.total, traffic.fan_in.sent_bytes.total);
    check_simulated_messages(what, analysis, &o->options.layout, w->ranks, all);
  }
}

static void *scaled(const shared_matrix *s, double factor) {
  const int64_t entries = ((const int64_t *)s->view.ptr)[s->n];
  void *values = xmalloc((size_t)entries * s->t->bytes + 1);
  for (int64_t p = 0; p < entries; p++) put(s->t, values, p, factor * get(s->t, s->values, p));
  return values;
}

static void check_layout(const world *w, const char *kind, const shared_matrix *s, const wish *o) {
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *alone, *one, *two;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s->rows);
  tristar_distributed_options options = o->options;
  OWNED void *values = scaled(s, 1.5);
  char what[200];
  const tristar_layout *l = &o->options.layout;
  snprintf(what, sizeof what, "%s %c, %dx%dx%d, method %d", kind, s->t->scalar, l->px, l->py, l->pz,
           (int)o->analysis.method);
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &s->view, &o->analysis, &analysis));
  if (w->rank == 0) CHECK_OK(tristar_factor(analysis, s->values, &factor));
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &o->options, &alone));
  options.transport = transport; /* only one starpu_mpi can exist */
  CHECK_OK(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, analysis, w->rank == 0 ? s->values : NULL,
                                      &options, &one));
  CHECK_OK(tristar_dmatrix_factor(matrix, &o->analysis, &o->options, &two));
  note_teams(one);
  check_same(what, alone, one);
  check_same(what, alone, two);
  check_counts(w, what, analysis, o, one);
  CHECK_OK(tristar_distributed_set_rows(one, s->first, s->end - s->first));
  same_solutions(what, s, one, two);
  if (w->rank == 0) CHECK_OK(tristar_refactor(factor, values));
  CHECK_OK(tristar_distributed_update(alone, factor));
  CHECK_OK(tristar_distributed_refactor(one, w->rank == 0 ? values : NULL));
  check_same(what, alone, one);
}

/* Every `every`-th layout of the ranks. */
static void check_matrix(const world *w, const char *only, const char *kind, int64_t k, const typed *t,
                         tristar_method method, bool single, int every) {
  int turn = 0;
  if (only != NULL && strcmp(only, kind) != 0) return;
  if (w->rank == 0) fprintf(stderr, "%s %c, method %d\n", kind, t->scalar, (int)method);
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, kind, k, t, TRISTAR_HERMITIAN);
  for (int pz = 1; pz <= w->ranks; pz *= 2)
    for (int px = 1; px * pz <= w->ranks; px++) {
      tristar_layout layout = grid(w, pz);
      layout.px = px;
      layout.py = w->ranks / px / pz;
      layout.map = turn % 2 ? TRISTAR_MAP_CYCLIC : TRISTAR_MAP_SUBTREE;
      if (px * layout.py * pz != w->ranks || turn++ % every != 0) continue;
      wish o = fine_wish(&layout, method);
      o.analysis.single_factors = single;
      o.analysis.inverse = turn % 3 ? TRISTAR_INVERSE_DIAGONAL : TRISTAR_INVERSE_NONE;
      check_layout(w, kind, &s, &o);
    }
}

static void check_bits(const world *w, const char *only) {
  const tristar_method llt = TRISTAR_METHOD_LLT, ldlt = TRISTAR_METHOD_LDLT, lu = TRISTAR_METHOD_LU;
  check_matrix(w, only, "poisson3d7", 9, &typed_double, llt, false, 1);
  check_matrix(w, only, "poisson3d7", 8, &typed_single, llt, false, 2);
  check_matrix(w, only, "poisson3d7", 7, &typed_complex_double, llt, false, 2);
  check_matrix(w, only, "s2d9pt", 30, &typed_complex_single, llt, false, 2);
  check_matrix(w, only, "poisson3d7", 8, &typed_double, ldlt, true, 2);
  check_matrix(w, only, "maxwell3d", 5, &typed_complex_double, ldlt, false, 2); /* L D L^H */
  check_matrix(w, only, "kkt3d", 5, &typed_double, ldlt, false, 1);
  check_matrix(w, only, "convdiff3d", 8, &typed_double, lu, false, 1);
  check_matrix(w, only, "convdiff3d", 7, &typed_single, lu, false, 2);
  check_matrix(w, only, "convdiff3d", 6, &typed_complex_double, lu, true, 2);
  check_matrix(w, only, "convdiff3d", 7, &typed_complex_single, lu, false, 2);
  for (int k = 1; k < 4 && w->ranks > 1 && only == NULL; k++)
    CHECK_MSG(shared[k] > 0, "no front of method %d was shared", k);
}

/* ---- Failures ------------------------------------------------------------------------------------------ */

static tristar_status factor(const world *w, const shared_matrix *s, tristar_analysis_t *analysis,
                             const wish *o, tristar_distributed_t **d) {
  return tristar_distributed_factor(w->ts, MPI_COMM_WORLD, analysis, w->rank == 0 ? s->values : NULL,
                                    &o->options, d);
}

/* A pivot that is not positive in every 30th row, also in stripes of all ranks. */
static void check_indefinite(const world *w) {
  const tristar_layout layout = some_grid(w);
  const wish o = fine_wish(&layout, TRISTAR_METHOD_LLT);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  CLEANUP(release_shared)
  shared_matrix s = share_matrix(w, "poisson3d7", 7, &typed_double, TRISTAR_SYMMETRIC);
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &s.view, &o.analysis, &analysis));
  for (int64_t row = 0; row < s.n; row += 30) {
    double *values = (double *)s.values + ((const int64_t *)s.view.ptr)[row];
    const double before = *values; /* diagonal entry in the lower triangle */
    char text[60];
    *values = -6;
    snprintf(text, sizeof text, "pivot of row %d ", (int)row);
    CHECK_STATUS(factor(w, &s, analysis, &o, &d), TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
    CHECK_ERROR(w->ts, text);
    *values = before;
  }
  CHECK_OK(factor(w, &s, analysis, &o, &d));
  note_teams(d);
}

enum { ORDER = 264 }; /* two panels */

/* A dense matrix is one front, which two ranks share. */
typedef struct dense {
  int64_t ptr[ORDER + 1];
  int32_t index[ORDER * ORDER];
  double a[ORDER][ORDER]; /* by columns */
  char values[ORDER * ORDER * sizeof(double)];
  shared_matrix s;
} dense;

static void set_values(dense *m, const typed *t) {
  for (int32_t j = 0; j < ORDER; j++)
    for (int32_t i = 0; i < ORDER; i++) {
      m->index[j * ORDER + i] = i;
      put(t, m->values, j * ORDER + i, m->a[j][i]);
    }
  for (int64_t j = 0; j <= ORDER; j++) m->ptr[j] = j * ORDER;
  m->s = (shared_matrix){.t = t,
                         .values = m->values,
                         .n = ORDER,
                         .view = {.format = TRISTAR_CSC,
                                  .scalar = (tristar_scalar)t->scalar,
                                  .rows = ORDER,
                                  .cols = ORDER,
                                  .ptr = m->ptr,
                                  .index = m->index,
                                  .values = m->values,
                                  .ptr_bits = 64,
                                  .index_bits = 32}};
}

/* Compares with rank 0 alone: the same failure, or the same bits. Returns whether the factorization
 * succeeded. */
static bool check_dense(const world *w, dense *m, tristar_method method) {
  const tristar_layout layout = grid(w, 1);
  wish o = wish_of(&layout, method);
  tristar_analysis_t *analysis = NULL;
  tristar_factor_t *factored = NULL;
  tristar_distributed_t *alone, *d;
  char text[600] = "", message[600];
  int status = TRISTAR_OK;
  o.analysis.matching = TRISTAR_MATCHING_OFF;
  o.options.layout.map = TRISTAR_MAP_CYCLIC;
  o.analysis.ordering = TRISTAR_ORDERING_NATURAL;
  if (w->rank == 0) {
    CHECK_OK(tristar_analyze(w->ts, &m->s.view, &o.analysis, &analysis));
    status = (int)tristar_factor(analysis, m->s.values, &factored);
    tristar_get_error(w->ts, text, sizeof text);
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(text, sizeof text, MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK_STATUS(factor(w, &m->s, analysis, &o, &d), (tristar_status)status);
  if (status != TRISTAR_OK) {
    const char *row = strstr(text, "row ");
    tristar_get_error(w->ts, message, sizeof message);
    CHECK_MSG(row != NULL && strstr(message, row) != NULL, "\"%s\" is not in \"%s\"", text, message);
  } else {
    CHECK(w->ranks == 1 || d->team_factor->fronts.teams != NULL);
    CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, factored, &o.options, &alone));
    check_same("a dense matrix", alone, d);
    tristar_distributed_destroy(&alone);
    tristar_distributed_destroy(&d);
  }
  tristar_factor_destroy(&factored);
  tristar_analysis_destroy(&analysis);
  return status == TRISTAR_OK;
}

/* L L^T, where L has entries zero and one, and its last entry is zero: all numbers are integers. LU: with
 * pairs of rows exchanged, so that a second factorization, without interchanges, is tried. */
static void check_singular(const world *w, tristar_method method) {
  const bool lu = method == TRISTAR_METHOD_LU;
  OWNED dense *m = xcalloc(1, sizeof *m);
  for (int j = 0; j < ORDER; j++)
    for (int i = 0; i < ORDER; i++)
      for (int k = 0; k <= (i < j ? i : j); k++) {
        const bool first = i == k ? k < ORDER - 1 : (i * 7 + k * 3) % 5 == 0,
                   second = j == k ? k < ORDER - 1 : (j * 7 + k * 3) % 5 == 0;
        m->a[j][lu ? i ^ 1 : i] += first && second;
      }
  set_values(m, &typed_double);
  CHECK_MSG(!check_dense(w, m, method), "method %d", (int)method);
}

/* Allocations of one rank fail in turn (of many, some): the status is the same on all ranks. */
static void check_memory(const world *w, tristar_method method) {
  const tristar_layout layout = some_grid(w);
  const wish o = fine_wish(&layout, method);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  tristar_distributed_t *kept, *d;
  CLEANUP(release_shared)
  shared_matrix s = share_matrix(w, method == TRISTAR_METHOD_LU ? "convdiff3d" : "poisson3d7", 7,
                                 &typed_double, TRISTAR_SYMMETRIC);
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &s.view, &o.analysis, &analysis));
  CHECK_OK(factor(w, &s, analysis, &o, &kept));
  note_teams(kept);
  for (int again = 0; again < 2; again++)
    for (int who = 0; who<w->ranks; who += w->ranks> 1 ? w->ranks - 1 : 1) {
      allocation_failures failing = fail_allocations_on(who, w->ts);
      failing.sparse = 10;
      failing.recovers = true;
      failing.keeps_memory = again;
      while (next_failure(&failing)) {
        end_failure_everywhere(&failing,
                               again ? tristar_distributed_refactor(kept, w->rank == 0 ? s.values : NULL)
                                     : factor(w, &s, analysis, &o, &d));
        if (!again) tristar_distributed_destroy(&d);
      }
      CHECK_MSG(failing.count > 10, "%d failures", (int)failing.count);
    }
  CHECK_OK(tristar_distributed_refactor(kept, w->rank == 0 ? s.values : NULL));
  CHECK_OK(factor(w, &s, analysis, &o, &d));
  check_same("after failures", kept, d);
  tristar_distributed_destroy(&d);
  tristar_distributed_destroy(&kept);
}

static void check_failures(const world *w) {
  for (int k = 0; k < 4; k++) shared[k] = 0;
  check_indefinite(w);
  check_singular(w, TRISTAR_METHOD_LLT);
  check_singular(w, TRISTAR_METHOD_LDLT);
  check_singular(w, TRISTAR_METHOD_LU);
  check_memory(w, TRISTAR_METHOD_LLT);
  check_memory(w, TRISTAR_METHOD_LU);
  CHECK_MSG(w->ranks == 1 || (shared[TRISTAR_METHOD_LLT] > 1 && shared[TRISTAR_METHOD_LU] > 0),
            "%d and %d fronts are shared", shared[TRISTAR_METHOD_LLT], shared[TRISTAR_METHOD_LU]);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  CHECK(argc == 2 || argc == 3);
  CLEANUP(close_world) world w = open_world_of(strcmp(argv[1], "serial") != 0);
  w.ts->fronts = small;
  if (strcmp(argv[1], "starpu_mpi") == 0) transport = TRISTAR_TRANSPORT_STARPU_MPI;
  RUN(check_bits(&w, argc > 2 ? argv[2] : NULL));
  if (transport == TRISTAR_TRANSPORT_DIRECT) RUN(check_failures(&w));
  return 0;
}
