/* A nonlinear problem on many processes, solved with complete factors; no rank ever has the whole matrix.
 *
 *   mpiexec -n P example_picard_mpi [K]
 *
 * -div((1 + u) grad u) = 1 in the unit cube, u = 0 on its boundary, on K x K x K points (12). The stencil has
 * seven points; between two points 1 + u is their mean. Picard's iteration freezes 1 + u and solves for the
 * next u, until u stays. The matrix has new values in the same pattern each time. Each rank assembles its own
 * planes z = const. The first matrix is analyzed and factored; the same factor receives the other ones.
 *
 * The exit status is 1 unless u stays after a few steps. */
#include <math.h>
#include <tristar_dmatrix_mpi.h>

#include "example_mpi.h"

/* The planes of this rank. u has one more on either side, from the neighbours or the boundary. */
typedef struct slab {
  int k, first, end;
  int64_t plane, rows;
  double *u;
  int64_t *ptr, *index;
  double *value;
} slab;

static slab make_slab(int k) {
  slab s = {.k = k, .first = k * rank / ranks, .end = k * (rank + 1) / ranks, .plane = (int64_t)k * k};
  s.rows = s.plane * (s.end - s.first);
  s.u = allocate(s.rows + 2 * s.plane, sizeof *s.u);
  s.ptr = allocate(s.rows + 1, sizeof *s.ptr);
  s.index = allocate(7 * s.rows, sizeof *s.index);
  s.value = allocate(7 * s.rows, sizeof *s.value);
  return s;
}

static void free_slab(slab *s) {
  free(s->u);
  free(s->ptr);
  free(s->index);
  free(s->value);
}

/* Receives the neighbours' planes next to this rank's. Every rank has a plane. */
static void exchange(const slab *s) {
  const int before = rank > 0 ? rank - 1 : MPI_PROC_NULL, after = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
  const int count = (int)s->plane;
  MPI_Sendrecv(s->u + s->rows, count, MPI_DOUBLE, after, 0, s->u, count, MPI_DOUBLE, before, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(s->u + s->plane, count, MPI_DOUBLE, before, 1, s->u + s->plane + s->rows, count, MPI_DOUBLE,
               after, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The matrix for this u: lower triangle and diagonal of each row, because it is symmetric. */
static tristar_dmatrix_t *assemble(const slab *s) {
  const int64_t stride[3] = {1, s->k, s->plane};
  const double *u = s->u + s->plane;
  tristar_dmatrix_t *matrix;
  int64_t entries = 0;
  for (int64_t i = 0; i < s->rows; i++) {
    const int64_t row = s->plane * s->first + i;
    const int place[3] = {(int)(row % s->k), (int)(row / s->k % s->k), (int)(row / s->plane)};
    const int64_t diagonal = entries++;
    s->index[diagonal] = row;
    s->value[diagonal] = 0;
    for (int side = 0; side < 6; side++) {
      const int d = side / 2, step = side % 2 ? 1 : -1, next = place[d] + step,
                inside = next >= 0 && next < s->k;
      const double between = 1 + (u[i] + (inside ? u[i + step * stride[d]] : 0)) / 2;
      s->value[diagonal] += between;
      if (!inside || step > 0) continue;
      s->index[entries] = row - stride[d];
      s->value[entries++] = -between;
    }
    s->ptr[i + 1] = entries;
  }
  const tristar_view mine =
      view_rows(TRISTAR_SYMMETRIC, s->rows, s->plane * s->k, s->ptr, s->index, s->value);
  check(tristar_dmatrix_create(ts, MPI_COMM_WORLD, &mine, NULL, &matrix));
  return matrix;
}

/* The number of grids is the largest power of two that divides the ranks. Each grid has the remaining factor
 * of ranks. */
static tristar_layout choose_layout(void) {
  tristar_layout layout;
  tristar_layout_init(&layout);
  while (ranks % (2 * layout.pz) == 0) layout.pz *= 2;
  layout.px = ranks / layout.pz;
  return layout;
}

/* One step; returns the largest change of u, relative to the largest u. */
static double step(const slab *s, tristar_distributed_t **factor, const double *b, double *next) {
  double size[2] = {0, 0};
  exchange(s);
  tristar_dmatrix_t *matrix = assemble(s);
  if (*factor == NULL) {
    tristar_distributed_options options;
    tristar_distributed_options_init(&options);
    options.layout = choose_layout();
    check(tristar_dmatrix_factor(matrix, NULL, &options, factor));
  } else
    check(tristar_dmatrix_refactor(matrix, *factor));
  tristar_dmatrix_destroy(&matrix); /* No longer needed by the factor. */
  check(tristar_distributed_solve(*factor, TRISTAR_N, 1, b, s->rows, next, s->rows));
  for (int64_t i = 0; i < s->rows; i++) {
    size[0] = fmax(size[0], fabs(next[i]));
    size[1] = fmax(size[1], fabs(next[i] - s->u[s->plane + i]));
    s->u[s->plane + i] = next[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, size, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return size[1] / size[0];
}

int main(int argc, char **argv) {
  int steps = 0;
  tristar_distributed_t *factor = NULL;
  tristar_distributed_stats stats;
  start_mpi(&argc, &argv);
  const int k = argc > 1 ? atoi(argv[1]) : 12;
  if (k < ranks) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  slab s = make_slab(k);
  double *b = allocate(s.rows, sizeof *b), *next = allocate(s.rows, sizeof *next), change = 1;
  for (int64_t i = 0; i < s.rows; i++) b[i] = 1.0 / ((k + 1) * (k + 1));
  for (; change > 1e-12 && steps < 20; steps++) change = step(&s, &factor, b, next);
  check(tristar_distributed_get_stats(factor, &stats));
  if (rank == 0)
    printf("%lld unknowns on %d ranks: u stays after %d steps; rank 0 has %.3g MB of the factor, and never "
           "had more than "
           "%.3g MB in all\n",
           (long long)(s.plane * k), ranks, steps, stats.factor_bytes / 1e6, stats.peak_bytes / 1e6);
  tristar_distributed_destroy(&factor);
  free(b);
  free(next);
  free_slab(&s);
  return end_mpi(change <= 1e-12);
}
