/* What each rank keeps of the structure of a factor that all ranks make of their rows, run by mpiexec: beside
 * the values of its share no rank but rank 0 has more than its part of what one process has, in all layouts;
 * answers of a directory are those of the whole list.
 *
 *   test_rank_structure */
#include "runtime/mpi/directory.h"
#include "tests/dmatrix_factor.h"

/* ---- What is kept --------------------------------------------------------------------------------------
 */

/* Bytes that the library has beside the values of the factor, in a communicator. */
static double kept(const world *w, MPI_Comm comm, const char *kind, int64_t k, const wish *o) {
  tristar_dmatrix_t *matrix;
  tristar_distributed_t *d;
  tristar_memory_stats before, after;
  tristar_distributed_stats stats;
  CHECK_OK(tristar_get_memory(w->ts, &before));
  CHECK_OK(tristar_dmatrix_generate(w->ts, comm, kind, k, NULL, &matrix));
  CHECK_OK(tristar_dmatrix_factor(matrix, &o->analysis, &o->options, &d));
  CHECK_OK(tristar_get_memory(w->ts, &after));
  CHECK_OK(tristar_distributed_get_stats(d, &stats));
  tristar_distributed_destroy(&d);
  tristar_dmatrix_destroy(&matrix);
  return (double)(after.current_bytes - before.current_bytes) - stats.factor_bytes;
}

/* shares: of what one process has, at most; above the share of a rank there are separators. */
static void check_kept(const world *w, const char *kind, int64_t k, tristar_method method, double shares) {
  tristar_layout one;
  tristar_layout_init(&one);
  wish o = wish_of(&one, method);
  o.options.engine = TRISTAR_ENGINE_SERIAL;
  const double all = kept(w, MPI_COMM_SELF, kind, k, &o);
  for (int pz = 1; pz <= w->ranks; pz *= 2)
    for (int across = 0; across < (pz < w->ranks ? 2 : 1); across++) {
      tristar_layout layout = grid(w, pz);
      if (across) layout.py = layout.px;
      if (across) layout.px = 1;
      o = wish_of(&layout, method);
      o.options.engine = TRISTAR_ENGINE_SERIAL;
      const double own = kept(w, MPI_COMM_WORLD, kind, k, &o);
      fprintf(stderr, "%s:%lld, %dx%dx%d, rank %d: %.0f bytes beside the factor, %.3f of one process\n", kind,
              (long long)k, layout.px, layout.py, layout.pz, w->rank, own, own / all);
      CHECK_MSG(w->rank == 0 || own <= shares * all / w->ranks, "rank %d keeps %.0f bytes, one process %.0f",
                w->rank, own, all);
    }
}

/* ---- Directories ---------------------------------------------------------------------------------------
 */

/* Entry i is n - 1 - i; each rank asks for others, some twice, and for some that are none. */
static void check_directory(const world *w, int64_t n) {
  tsi_env *env = tsi_context_env(w->ts);
  tsi_transport *transport;
  tsi_directory *directory;
  const tsi_count count = 2 * n + 3 + w->rank;
  tsi_index *all = malloc((size_t)(n + 1) * sizeof *all), *asked = malloc((size_t)count * sizeof *asked),
            *answer = malloc((size_t)count * sizeof *answer);
  CHECK(all != NULL && asked != NULL && answer != NULL);
  for (int64_t i = 0; i < n; i++) all[i] = (tsi_index)(n - 1 - i);
  for (tsi_count i = 0; i < count; i++) asked[i] = (tsi_index)((i * 7 + w->rank) % (n + 3) - 1);
  CHECK_OK(tsi_transport_create(env, MPI_COMM_WORLD, TSI_TRANSPORT_DIRECT, TRISTAR_OK, &transport));
  CHECK_OK(tsi_directory_create(env, transport, n, w->rank == 0 ? all : NULL, &directory));
  CHECK_OK(tsi_directory_ask(env, transport, directory, TRISTAR_OK, count, asked, answer));
  for (tsi_count i = 0; i < count; i++)
    CHECK(answer[i] == (asked[i] >= 0 && asked[i] < n ? n - 1 - asked[i] : TSI_NONE));
  CHECK_OK(tsi_directory_ask(env, transport, NULL, TRISTAR_OK, count, asked, answer));
  for (tsi_count i = 0; i < count; i++) CHECK(answer[i] == asked[i]);
  /* what one rank has found before all have */
  const tristar_status mine = w->rank == w->ranks - 1 ? TRISTAR_ERR_MEMORY : TRISTAR_OK;
  CHECK(tsi_directory_ask(env, transport, directory, mine, count, asked, answer) == TRISTAR_ERR_MEMORY);
  tsi_directory_destroy(env, &directory);
  tsi_transport_destroy(&transport);
  free(all);
  free(asked);
  free(answer);
}

int main(void) {
  world w = open_world();
  for (int64_t n = 0; n < 12; n++) check_directory(&w, n);
  check_directory(&w, 1000);
  check_kept(&w, "s2d9pt", 80, TRISTAR_METHOD_LLT, 1.5);
  check_kept(&w, "s2d9pt", 80, TRISTAR_METHOD_LU, 1.5);
  check_kept(&w, "poisson3d7", 14, TRISTAR_METHOD_LDLT, 2.2);
  close_world(&w);
  return 0;
}
