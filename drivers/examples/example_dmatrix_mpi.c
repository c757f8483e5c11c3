/* Conjugate gradients on many processes, none of which ever has the whole matrix.
 *
 *   mpiexec -n P example_dmatrix_mpi [K]
 *
 * -div(c grad u) = 1 in the unit cube, u = 0 on its boundary, on K x K x K points (16). The coefficient c is
 * 1000 in a ball and 1 elsewhere. The stencil has seven points; between two points c is their harmonic mean.
 * Each rank assembles its own planes z = const, block by block. TriStar determines which ranks exchange which
 * values.
 *
 * The system is solved with the diagonal as preconditioner, with one incomplete factorization of each rank's
 * own rows, and with a sparse approximate inverse of the whole matrix. Then c in the ball becomes smaller:
 * the matrix and the inverse take new values in the same pattern. The exit status is 1 unless all solves
 * converge, and those with the first c to the same u. */
#include <math.h>
#include <tristar_dmatrix_mpi.h>

#include "example_mpi.h"

/* The coefficient at point (x, y, z) of K^3 or of the boundary. ball: its value in the ball. */
static double coefficient(int k, double ball, const int place[3]) {
  double square = 0;
  for (int d = 0; d < 3; d++) square += pow((place[d] + 1.0) / (k + 1) - 0.5, 2);
  return square < 0.1 ? ball : 1;
}

/* The rows of the planes first .. end - 1, each in full: the matrix is symmetric, but need not be declared
 * so. */
static tristar_view assemble(int k, int first, int end, double ball) {
  const int64_t plane = (int64_t)k * k, rows = plane * (end - first), n = plane * k;
  const int64_t stride[3] = {1, k, plane};
  int64_t *ptr = allocate(rows + 1, sizeof *ptr), *index = allocate(7 * rows, sizeof *index), entries = 0;
  double *value = allocate(7 * rows, sizeof *value);
  for (int64_t i = 0; i < rows; i++) {
    const int64_t row = plane * first + i;
    const int place[3] = {(int)(row % k), (int)(row / k % k), (int)(row / plane)};
    const double here = coefficient(k, ball, place);
    const int64_t diagonal = entries++;
    index[diagonal] = row;
    for (int side = 0; side < 6; side++) {
      int other[3] = {place[0], place[1], place[2]};
      const int d = side / 2, step = side % 2 ? 1 : -1;
      other[d] += step;
      const double there = coefficient(k, ball, other), between = 2 * here * there / (here + there);
      value[diagonal] += between;
      if (other[d] < 0 || other[d] == k) continue; /* u = 0 */
      index[entries] = row + step * stride[d];
      value[entries++] = -between;
    }
    ptr[i + 1] = entries;
  }
  return view_rows(TRISTAR_GENERAL, rows, n, ptr, index, value);
}

static void release(const tristar_view *rows) {
  free((void *)rows->ptr);
  free((void *)rows->index);
  free((void *)rows->values);
}

static tristar_krylov_result solve_with(tristar_dmatrix_t *matrix, tristar_precond_t *precond, int64_t rows,
                                        const double *b, double *u) {
  tristar_krylov_options options;
  tristar_krylov_t *krylov;
  tristar_krylov_result result;
  tristar_krylov_options_init(&options);
  options.tolerance = 1e-10;
  check(tristar_dmatrix_krylov(matrix, &options, &krylov));
  check(tristar_krylov_solve(krylov, precond, 1, b, rows, u, rows, &result));
  tristar_krylov_destroy(&krylov);
  return result;
}

/* Solves with a preconditioner of each rank's own rows. */
static tristar_krylov_result solve(tristar_dmatrix_t *matrix, tristar_precond_kind kind, const double *b,
                                   double *u) {
  tristar_precond_options m;
  tristar_precond_t *precond;
  tristar_view block;
  tristar_precond_options_init(&m);
  m.kind = kind;
  check(tristar_dmatrix_get_diagonal(matrix, &block));
  check(tristar_precond(ts, &block, &m, &precond)); /* Local. */
  const tristar_krylov_result result = solve_with(matrix, precond, block.rows, b, u);
  tristar_precond_destroy(&precond);
  return result;
}

/* The largest of |u| and of |u - v| on all ranks. */
static void compare(int64_t rows, const double *u, const double *v, double size[2]) {
  size[0] = size[1] = 0;
  for (int64_t i = 0; i < rows; i++) {
    size[0] = fmax(size[0], fabs(u[i]));
    size[1] = fmax(size[1], fabs(u[i] - v[i]));
  }
  MPI_Allreduce(MPI_IN_PLACE, size, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  tristar_dmatrix_stats stats;
  start_mpi(&argc, &argv);
  const int k = argc > 1 ? atoi(argv[1]) : 16;
  const int first = k * rank / ranks, end = k * (rank + 1) / ranks;
  tristar_view rows = assemble(k, first, end, 1000);
  tristar_dmatrix_t *matrix;
  check(tristar_dmatrix_create(ts, MPI_COMM_WORLD, &rows, NULL, &matrix));
  release(&rows);
  tristar_dmatrix_get_stats(matrix, &stats);
  double *b = allocate(stats.rows, sizeof *b), *u = allocate(stats.rows, sizeof *u);
  double *again = allocate(stats.rows, sizeof *again);
  for (int64_t i = 0; i < stats.rows; i++) b[i] = 1.0 / ((k + 1) * (k + 1));
  const tristar_krylov_result plain = solve(matrix, TRISTAR_PRECOND_JACOBI, b, u);
  const tristar_krylov_result blocks = solve(matrix, TRISTAR_PRECOND_IC, b, again);
  double size[2];
  compare(stats.rows, u, again, size);
  int good = plain.converged && blocks.converged && size[1] < 1e-6 * size[0];

  tristar_precond_t *inverse;
  check(tristar_dmatrix_fsai(matrix, NULL, 3, &inverse));
  const tristar_krylov_result whole = solve_with(matrix, inverse, stats.rows, b, again);
  compare(stats.rows, u, again, size);
  good = good && whole.converged && size[1] < 1e-6 * size[0];

  rows = assemble(k, first, end, 10);
  check(tristar_dmatrix_update(matrix, &rows));
  check(tristar_dmatrix_fsai_update(matrix, inverse));
  release(&rows);
  const tristar_krylov_result next = solve_with(matrix, inverse, stats.rows, b, again);
  good = good && next.converged;
  if (rank == 0) {
    printf("%lld rows on %d ranks; rank 0 sends %lld messages of %lld bytes in all for a product\n",
           (long long)stats.n, ranks, (long long)stats.product.messages, (long long)stats.product.bytes);
    printf(
        "%lld iterations with the diagonal, %lld with incomplete factors of each rank's rows; u up to %.3g\n",
        (long long)plain.iterations, (long long)blocks.iterations, size[0]);
    printf("%lld with a sparse approximate inverse, %lld after new values\n", (long long)whole.iterations,
           (long long)next.iterations);
  }
  free(b);
  free(u);
  free(again);
  tristar_precond_destroy(&inverse);
  tristar_dmatrix_destroy(&matrix);
  return end_mpi(good);
}
