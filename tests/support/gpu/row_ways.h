/* Variants of solves with triangles by rows for tests of GPUs: triangle and partition, operation, diagonal,
 * permuted and scaled rows and columns with x = beta x + alpha solution. */
#pragma once

#include "tests/support/triangle_system.h"
#include "tristar_solve.h"

enum { N = 80 };

static const tristar_partition partitions[] = {TRISTAR_PARTITION_WHOLE,  TRISTAR_PARTITION_SUPERSTEPS,
                                               TRISTAR_PARTITION_LEVELS, TRISTAR_PARTITION_COLUMN,
                                               TRISTAR_PARTITION_ROW,    TRISTAR_PARTITION_RECURSIVE};
enum { PARTITIONS = sizeof partitions / sizeof *partitions };

typedef struct way {
  tristar_uplo uplo;
  tristar_partition partition;
  tristar_op op;
  tristar_diag diag;
  bool moved; /* rows and columns are permuted and scaled, x = beta x + alpha solution */
  int64_t nrhs;
} way;

/* Imports the lines as rows of a lower triangle, or as columns of an upper one. */
static inline tristar_factor_t *way_import(tristar_t *ts, const system_of *s, const way *w) {
  int64_t order[2][N];
  double scale[2][N];
  tristar_triangle_options options;
  tristar_factor_t *factor;
  const tristar_view view =
      stored_view(w->uplo == TRISTAR_LOWER ? TRISTAR_CSR : TRISTAR_CSC, TRISTAR_GENERAL, s->t->scalar, N, N,
                  s->pattern[0].ptr, s->pattern[0].index, s->values[0]);
  for (int k = 0; k < N; k++) {
    order[0][k] = (k * 7 + 3) % N;
    order[1][k] = (k * 11 + 5) % N;
    scale[0][k] = 1 << k % 4;
    scale[1][k] = 0.5;
  }
  tristar_triangle_options_init(&options);
  options.uplo = w->uplo;
  options.diag = w->diag;
  options.partition = w->partition;
  if (w->moved) {
    options.row_order = order[0];
    options.column_order = order[1];
    options.row_scale = scale[0];
    options.column_scale = scale[1];
  }
  CHECK_OK(tristar_import_triangle(ts, &view, &options, &factor));
  return factor;
}

static inline tristar_solve_options way_solve_options(const system_of *s, const way *w) {
  static const double alpha[] = {0.5, 0}, beta[] = {-2, 0};
  static const float alpha_single[] = {0.5f, 0}, beta_single[] = {-2, 0};
  tristar_solve_options solve = DEFAULTS(tristar_solve_options);
  solve.op = w->op;
  if (w->moved) {
    solve.alpha = s->t->is_single ? (const void *)alpha_single : alpha;
    solve.beta = s->t->is_single ? (const void *)beta_single : beta;
  }
  return solve;
}
