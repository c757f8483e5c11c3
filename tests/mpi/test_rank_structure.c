/* Memory of each rank for a factor that all ranks compute from their rows, run by mpiexec. Apart from the
 * values of its share, each rank keeps at most its part of the memory of one process, in all layouts. During
 * the factorization each rank has at most its part of the peak of tristar_factor. Answers of a directory
 * equal those of the whole list.
 *
 *   test_rank_structure */
#include "runtime/mpi/comm/directory.h"
#include "tests/support/mpi/dmatrix_factor.h"
#include "tests/support/subtests.h"

/* ---- What is kept -------------------------------------------------------------------------------------- */

/* Memory that only rank 0 of several has: the pivots of all columns, their order and its inverse; the
 * beginnings of all panels. */
static double root_bytes(const world *w, const tristar_distributed_t *d) {
  if (w->rank > 0 || tsi_transport_size(d->transport) == 1) return 0;
  const double panels = d->source->analysis->panels->count;
  return ((d->process->kind.pivots ? 3 * (double)d->n : 0) + panels) * sizeof(tsi_index);
}

/* Bytes that the library keeps in a communicator in addition to these and the values of the factor. */
static double kept(const world *w, MPI_Comm comm, const char *kind, int64_t k, const wish *o) {
  tristar_dmatrix_t *matrix;
  tristar_distributed_t *d;
  tristar_memory_stats before, after;
  tristar_distributed_stats stats;
  double beside;
  CHECK_OK(tristar_get_memory(w->ts, &before));
  CHECK_OK(tristar_dmatrix_generate(w->ts, comm, kind, k, NULL, &matrix));
  CHECK_OK(tristar_dmatrix_factor(matrix, &o->analysis, &o->options, &d));
  CHECK_OK(tristar_get_memory(w->ts, &after));
  CHECK_OK(tristar_distributed_get_stats(d, &stats));
  beside = stats.factor_bytes + root_bytes(w, d);
  tristar_distributed_destroy(&d);
  tristar_dmatrix_destroy(&matrix);
  return (double)(after.current_bytes - before.current_bytes) - beside;
}

/* shares: upper bound relative to one process. In addition to its share a rank has separators. */
static void check_kept(const world *w, const char *kind, int64_t k, tristar_method method, double shares) {
  tristar_layout one = DEFAULTS(tristar_layout);
  wish o = wish_of(&one, method);
  o.options.engine = TRISTAR_ENGINE_SERIAL;
  o.analysis.ordering = TRISTAR_ORDERING_METIS; /* for its separators */
  const double all = kept(w, MPI_COMM_SELF, kind, k, &o);
  for (int pz = 1; pz <= w->ranks; pz *= 2)
    for (int across = 0; across < (pz < w->ranks ? 2 : 1); across++) {
      tristar_layout layout = grid(w, pz);
      if (across) layout.py = layout.px;
      if (across) layout.px = 1;
      o = wish_of(&layout, method);
      o.options.engine = TRISTAR_ENGINE_SERIAL;
      o.analysis.ordering = TRISTAR_ORDERING_METIS;
      const double own = kept(w, MPI_COMM_WORLD, kind, k, &o);
      fprintf(stderr, "%s:%lld, %dx%dx%d, rank %d: %.0f bytes beside the factor, %.3f of one process\n", kind,
              (long long)k, layout.px, layout.py, layout.pz, w->rank, own, own / all);
      CHECK_MSG(own <= shares * all / w->ranks, "rank %d keeps %.0f bytes, one process %.0f", w->rank, own,
                all);
    }
}

/* ---- The peak ------------------------------------------------------------------------------------------ */

/* Peak of tristar_factor on this process alone. */
static double peak_alone(const world *w, const char *kind, int64_t k) {
  tristar_matrix_t *matrix;
  tristar_factor_stats stats;
  tristar_view view = generated_view(w->ts, kind, k, &matrix);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.ordering = TRISTAR_ORDERING_METIS; /* the same here and on all ranks */
  tristar_analysis_t *analysis = NEW_ANALYSIS(w->ts, &view, &options);
  tristar_factor_t *factor = NEW_FACTOR(analysis, view.values);
  CHECK_OK(tristar_factor_get_stats(factor, &stats));
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  return (double)stats.peak_bytes;
}

/* On two grids (two ranks: on one grid) the peak is at most this fraction of the peak of one process. */
static void check_peak_of(const world *w, const char *kind, int64_t k, int pz, double alone, double most) {
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  tristar_distributed_stats stats;
  const tristar_layout layout = grid(w, pz);
  wish o = wish_of(&layout, TRISTAR_METHOD_AUTO);
  o.options.engine = TRISTAR_ENGINE_SERIAL;
  o.analysis.ordering = TRISTAR_ORDERING_METIS;
  CHECK_OK(tristar_dmatrix_generate(w->ts, MPI_COMM_WORLD, kind, k, NULL, &matrix));
  CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d));
  CHECK_OK(tristar_distributed_get_stats(d, &stats));
  fprintf(stderr, "%s:%lld, %dx%dx%d, rank %d: %.1f MB at the peak, %.3f of one process\n", kind,
          (long long)k, stats.layout.px, stats.layout.py, stats.layout.pz, w->rank,
          stats.factor_peak_bytes / 1e6, stats.factor_peak_bytes / alone);
  CHECK_MSG(stats.factor_peak_bytes <= most * alone, "rank %d: %.0f bytes at the peak, one process %.0f",
            w->rank, stats.factor_peak_bytes, alone);
}

static void check_peak(const world *w, const char *kind, int64_t k) {
  const double alone = peak_alone(w, kind, k), most = w->ranks == 2 ? 0.62 : 0.38;
  for (int pz = w->ranks / 2; pz <= 2; pz++) check_peak_of(w, kind, k, pz, alone, most);
}

/* ---- Directories --------------------------------------------------------------------------------------- */

/* Entry i is n - 1 - i. Each rank requests different entries, some twice, and some that do not exist. */
static void check_directory(const world *w, int64_t n) {
  tsi_env *env = tsi_context_env(w->ts);
  tsi_transport *transport;
  tsi_directory *directory;
  const tsi_count count = 2 * n + 3 + w->rank;
  OWNED tsi_index *all = xmalloc((size_t)(n + 1) * sizeof *all),
                  *requested = xmalloc((size_t)count * sizeof *requested),
                  *answer = xmalloc((size_t)count * sizeof *answer);
  for (int64_t i = 0; i < n; i++) all[i] = (tsi_index)(n - 1 - i);
  for (tsi_count i = 0; i < count; i++) requested[i] = (tsi_index)((i * 7 + w->rank) % (n + 3) - 1);
  CHECK_OK(tsi_transport_create(env, MPI_COMM_WORLD, TSI_TRANSPORT_DIRECT, false, TRISTAR_OK, &transport));
  CHECK_OK(tsi_directory_create(env, transport, n, w->rank == 0 ? all : NULL, &directory));
  CHECK_OK(tsi_directory_query(env, transport, directory, TRISTAR_OK, count, requested, answer));
  for (tsi_count i = 0; i < count; i++)
    CHECK(answer[i] == (requested[i] >= 0 && requested[i] < n ? n - 1 - requested[i] : TSI_NONE));
  CHECK_OK(tsi_directory_query(env, transport, NULL, TRISTAR_OK, count, requested, answer));
  for (tsi_count i = 0; i < count; i++) CHECK(answer[i] == requested[i]);
  /* An error of one rank before the common call. */
  const tristar_status mine = w->rank == w->ranks - 1 ? TRISTAR_ERR_MEMORY : TRISTAR_OK;
  CHECK(tsi_directory_query(env, transport, directory, mine, count, requested, answer) == TRISTAR_ERR_MEMORY);
  TSI_FREE(env, directory);
  tsi_transport_destroy(&transport);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  CLEANUP(close_world) world w = open_world();
  for (int64_t n = 0; n < 12; n++) RUN(check_directory(&w, n));
  RUN(check_directory(&w, 1000));
  RUN(check_kept(&w, "s2d9pt", 80, TRISTAR_METHOD_LLT, 1.5));
  RUN(check_kept(&w, "s2d9pt", 80, TRISTAR_METHOD_LU, 1.5));
  RUN(check_kept(&w, "poisson3d7", 14, TRISTAR_METHOD_LDLT, 2.2));
  RUN(check_peak(&w, "s2d9pt", 300));
  RUN(check_peak(&w, "poisson3d7", 30));
  return 0;
}
