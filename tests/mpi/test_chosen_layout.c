/* Layouts that the library chooses on ranks are the same on all ranks and within the limits. Factors have the
 * bits of factors for which the same layout was given. */
#include <math.h>

#include "tests/support/mpi/dmatrix_factor.h"
#include "tests/support/subtests.h"

static int most_grids(const world *w, int limit) {
  int grids = 1;
  while (w->ranks % (2 * grids) == 0 && (limit == 0 || 2 * grids <= limit)) grids *= 2;
  return grids;
}

static tristar_layout layout_of(const world *w, const tristar_distributed_t *d, int limit) {
  tristar_distributed_stats stats, all[16];
  CHECK_OK(tristar_distributed_get_stats(d, &stats));
  CHECK_OK(tristar_distributed_gather_stats(d, all));
  CHECK(stats.layout.px * stats.layout.py * stats.layout.pz == w->ranks);
  CHECK(stats.layout.pz <= most_grids(w, limit));
  CHECK(stats.predicted.factor_seconds > 0 && stats.predicted.solve_seconds > 0 &&
        stats.predicted.process_bytes > 0);
  for (int r = 0; w->rank == 0 && r < w->ranks; r++)
    CHECK(memcmp(&all[r].layout, &stats.layout, sizeof stats.layout) == 0);
  return stats.layout;
}

/* Factors by rows of all ranks, by an analysis of rank 0, and by a factor of rank 0. */
static void check_ways(const world *w, const shared_matrix *s, tristar_method method, int64_t solves,
                       int grids) {
  tristar_layout layout = grid(w, 1);
  wish o = wish_of(&layout, method);
  tristar_distributed_t *chosen, *given;
  tristar_analysis_t *analysis = NULL;
  tristar_factor_t *factor = NULL;
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s->rows);
  o.analysis.leaf_parts = most_grids(w, grids);
  for (int way = 0; way < 3; way++) {
    wish fixed = o;
    o.options.layout.px = 0;
    o.options.layout.py = o.options.layout.pz = 9; /* not read */
    o.options.solves = solves;
    o.options.grids = grids;
    if (w->rank == 0 && way > 0) CHECK_OK(tristar_analyze(w->ts, &s->view, &o.analysis, &analysis));
    if (w->rank == 0 && way == 2) CHECK_OK(tristar_factor(analysis, s->values, &factor));
    if (way == 0)
      CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &chosen));
    else if (way == 1)
      CHECK_OK(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, analysis, w->rank == 0 ? s->values : NULL,
                                          &o.options, &chosen));
    else
      CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &o.options, &chosen));
    fixed.options.layout = layout_of(w, chosen, grids);
    CHECK_OK(tristar_dmatrix_factor(matrix, &fixed.analysis, &fixed.options, &given));
    check_same("chosen and given", chosen, given);
    tristar_distributed_destroy(&chosen);
    tristar_distributed_destroy(&given);
    tristar_factor_destroy(&factor);
    tristar_analysis_destroy(&analysis);
  }
}

static void check_limits(const world *w, const shared_matrix *s) {
  const tristar_layout layout = grid(w, 1);
  wish o = wish_of(&layout, TRISTAR_METHOD_LLT);
  tristar_distributed_t *d;
  tristar_distributed_stats stats;
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s->rows);
  o.options.layout.px = 0;
  o.options.process_bytes = 1;
  CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_MEMORY);
  CHECK_ERROR(w->ts, "no layout of");
  o.options.process_bytes = 1e9;
  CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d));
  CHECK_OK(tristar_distributed_get_stats(d, &stats));
  CHECK(stats.predicted.process_bytes <= 1e9);
  tristar_distributed_destroy(&d);
  o.options.process_bytes = -1;
  CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_ARGUMENT);
  o.options.process_bytes = 0;
  o.options.layout.px = -1;
  CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_ARGUMENT);
  o.options.layout.px = 0;
  o.options.solves = w->rank;
  if (w->ranks > 1) {
    CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_ARGUMENT);
    CHECK_ERROR(w->ts, "the number of solves");
  }
}

/* The description of the cluster is the same on all ranks. Known values are right: all ranks are on one
 * node. */
static void check_cluster(const world *w) {
  tristar_cluster cluster = DEFAULTS(tristar_cluster), first;
  cluster.cores = 3;
  CHECK_OK(tristar_mpi_measure_cluster(w->ts, MPI_COMM_WORLD, &cluster));
  first = cluster;
  MPI_Bcast(&first, (int)sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
  CHECK(memcmp(&first, &cluster, sizeof first) == 0);
  const tristar_cluster assumed = DEFAULTS(tristar_cluster);
  CHECK(cluster.ranks_per_node == w->ranks && cluster.cores == 3);
  CHECK(cluster.local_latency_seconds > 0 && cluster.local_latency_seconds < 10);
  CHECK(cluster.local_bytes_per_second > 0 && cluster.core_bytes_per_second > 0);
  CHECK(cluster.dense_flops_per_second > 1e7 &&
        fabs(cluster.dense_flops_per_second - assumed.dense_flops_per_second) > 0);
  CHECK(!(cluster.latency_seconds > assumed.latency_seconds) &&
        !(cluster.latency_seconds < assumed.latency_seconds));
  cluster.cores = w->rank == w->ranks - 1 ? 0 : 1; /* one rank is wrong: all return an error */
  CHECK_STATUS(tristar_mpi_measure_cluster(w->ts, MPI_COMM_WORLD, &cluster), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_mpi_measure_cluster(w->ts, MPI_COMM_WORLD, NULL), TRISTAR_ERR_ARGUMENT);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  CLEANUP(close_world) world w = open_world();
  CLEANUP(release_shared)
  shared_matrix s = share_matrix(&w, "poisson3d7", 8, &typed_double, TRISTAR_SYMMETRIC);
  RUN(check_ways(&w, &s, TRISTAR_METHOD_LLT, 0, 0));
  RUN(check_ways(&w, &s, TRISTAR_METHOD_LDLT, 1, 2));
  RUN(check_limits(&w, &s));
  RUN(check_cluster(&w));
  release_shared(&s);
  s = share_matrix(&w, "convdiff3d", 7, &typed_double, TRISTAR_GENERAL);
  RUN(check_ways(&w, &s, TRISTAR_METHOD_LU, 10, 1));
  return 0;
}
