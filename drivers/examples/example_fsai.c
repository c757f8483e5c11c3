/* Conjugate gradients with factorized sparse approximate inverses, on diffusion in three dimensions through a
 * medium whose coefficient jumps and spans six orders of magnitude.
 *
 * example_fsai [K]: on K x K x K cells (default 12). Prints iterations, density and times with Jacobi, with
 * static and adaptive patterns, and with an inverse in single precision. Ends with status 1 if one does not
 * converge. */
#include <inttypes.h>
#include <tristar_krylov.h>
#include <tristar_matrix.h>

#include "example.h"

enum { KINDS = 5 };

/* The preconditioner of a row of the table. */
static const char *choose(int row, tristar_precond_options *o) {
  static const char *const names[KINDS] = {"Jacobi", "lower triangle of A", "lower triangle of A^2, filtered",
                                           "15 steps of 1 column", "the same in single precision"};
  tristar_precond_options_init(o);
  o->kind = row == 0 ? TRISTAR_PRECOND_JACOBI : TRISTAR_PRECOND_FSAI;
  o->steps = row >= 3 ? 15 : 0;
  o->per_step = 1;
  o->power = row == 1 || row == 2 ? row : 0;
  o->prefilter = 0.01;
  o->single = row == 4;
  return names[row];
}

int main(int argc, char **argv) {
  char name[64];
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_view a;
  tristar_krylov_t *cg;
  tristar_krylov_options options;
  int all = 1;
  snprintf(name, sizeof name, "gen:diffusion3d:%d", argc > 1 ? example_number(argv[1], 1, 200) : 12);
  example_check(NULL, tristar_create(NULL, &ts));
  example_check(ts, tristar_matrix_read(ts, name, &matrix));
  example_check(ts, tristar_matrix_get_view(matrix, &a));
  tristar_krylov_options_init(&options);
  options.norm = TRISTAR_NORM_RESIDUAL; /* the same for all preconditioners */
  options.tolerance = 1e-8;
  example_check(ts, tristar_krylov_create(ts, &a, &options, &cg));
  double *b = example_allocate((size_t)a.rows, sizeof *b), *x = example_allocate((size_t)a.rows, sizeof *x);
  for (int64_t i = 0; i < a.rows; i++) b[i] = 1;
  for (int row = 0; row < KINDS; row++) {
    tristar_precond_options how;
    tristar_precond_t *m;
    tristar_precond_stats stats;
    tristar_krylov_result result;
    const char *text = choose(row, &how);
    example_check(ts, tristar_precond(ts, &a, &how, &m));
    example_check(ts, tristar_precond_get_stats(m, &stats));
    example_check(ts, tristar_krylov_solve(cg, m, 1, b, a.rows, x, a.rows, &result));
    printf("%-32s %5" PRId64 " iterations, density %.2f, set up in %.3f s, solved in %.3f s, residual %.1e\n",
           text, result.iterations, stats.fill, stats.setup_seconds, result.seconds, result.true_residual);
    all = all && result.converged;
    tristar_precond_destroy(&m);
  }
  tristar_krylov_destroy(&cg);
  tristar_matrix_destroy(&matrix);
  tristar_destroy(&ts);
  free(b);
  free(x);
  return all ? EXIT_SUCCESS : EXIT_FAILURE;
}
