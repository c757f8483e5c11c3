/* Shared by the programs of other solvers: the matrix, the right-hand sides, the error, the report.
 *
 * Job. `PEER_solve [--on-demand] [--quick] [--uplo L|U] MATRIX [REPEAT [NRHS]]`
 *   - reads MATRIX (a file or gen:KIND:K) as `tristar solve` does; a pattern becomes its Laplacian. --uplo
 *     keeps only the lower or upper triangle with the diagonal.
 *   - creates the right-hand sides of `tristar solve --nrhs NRHS` (default: 1)
 *   - calls the other solver for all of them, once as a warm-up and then REPEAT times (default: 11)
 *   - prints one line of JSON
 * With --on-demand each line on standard input requests another warm-up, REPEAT solves and a line of JSON;
 * the end of standard input ends the program. With --quick a line of JSON with an "event" follows the reading
 * of the matrix, and a factorization is timed once. The backward error is the largest over the right-hand
 * sides. Kernels of TriStar compute it, so that it is the same for all programs.
 *
 * The fill-reducing order is that of METIS if the other solver can use it. Timed solves are without iterative
 * refinement; x is refined if the other solver supports it.
 *
 * Each solver is a process of its own, because threads of one solver would slow down another one in the same
 * process.
 *
 * A peer is one C file that defines peer_solve_real or, compiled with PEER_COMPLEX, peer_solve_complex. It
 * factors, and then solves as long as peer_again returns true; the main program is in peer.c. Exit status: 0
 * if the other solver solved; 1 if not, with its error code as "status" in the JSON; 1 without JSON if there
 * is nothing to solve. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tristar.h"
#include "tristar_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct peer {
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_view view; /* square, double, with values; from tristar_matrix_get_view */
  int64_t n;
  bool is_complex;
  char uplo; /* the triangle in view: 'L' or 'U'; 0: the matrix itself */
  size_t scalar_bytes;
  int nrhs;
  size_t column_bytes, block_bytes; /* of one right-hand side, of all */
  const void *b;                    /* n x nrhs scalars, column-major */
  void *x;                          /* solution of the peer, in the same layout */
  int repeat;                       /* timed solves */
  bool on_demand;                   /* --on-demand */
  bool quick;                       /* --quick */
  int rounds;                       /* reported rounds of timed solves */
  double *solves_s;
  double sweeps_s; /* seconds of the sweeps in the fastest solve; 0: not measured */

  /* Set by the peer: */
  char solver[64];      /* its name and version */
  const char *method;   /* LLT, LDLT or LU; static text */
  const char *ordering; /* the order used; static text */
  int status;           /* of the other solver; 0: solved */
  char message[256];    /* if status is not 0 */
  int refinement_steps; /* of x; for several right-hand sides the largest known */
  int64_t perturbed;    /* perturbed pivots */
  int64_t iterations;   /* of an iterative solver; 0: a direct solver */
  double nnz_factor;    /* of L and D, or L and U, as the solver counts or stores them */
  double analyze_s, factor_s;

  double backward_error; /* of x after the first round, which peer_again measures */
} peer;

/* Reads p->view and p->b, sets the rest. */
void peer_solve_real(peer *p);
void peer_solve_complex(peer *p);

/* After a round of timed solves, p->x being the solution: prints the report, if they succeeded. Is another
 * round to follow? x is then only to be solved for again, not refined. */
bool peer_again(peer *p);

double peer_seconds(void);

/* The entries of the matrix: the stored ones alone, or (full) their mirror images too. Numbers count from
 * base. values: count scalars. */
typedef struct peer_entries {
  int64_t count;
  int32_t *row, *column;
  void *values;
} peer_entries;
/* Ends the program if there is no memory for it. */
void peer_entries_make(const peer *p, bool full, int base, peer_entries *entries);
void peer_entries_free(peer_entries *entries);

/* The full matrix by columns, or by rows: the row (column) numbers of column (row) k, ascending, are
 * index[ptr[k]] to index[ptr[k + 1] - 1]. */
typedef struct peer_compressed {
  int32_t *ptr, *index;
  void *values;
} peer_compressed;
/* Ends the program if there is no memory for it or if 32 bits do not count the entries. */
void peer_compress(const peer *p, bool by_rows, peer_compressed *compressed);
void peer_compressed_free(peer_compressed *compressed);

/* Right-hand side and solution number k. */
static inline const void *peer_b(const peer *p, int k) {
  return (const char *)p->b + (size_t)k * p->column_bytes;
}
static inline void *peer_x(const peer *p, int k) {
  return (char *)p->x + (size_t)k * p->column_bytes;
}

/* malloc that ends the program instead of failing. */
void *peer_allocate(int64_t count, size_t size);

/* Is every diagonal entry there, real and positive? */
bool peer_positive_diagonal(const peer *p);

/* Sets status and message. */
__attribute__((format(printf, 3, 4))) void peer_fail(peer *p, int status, const char *format, ...);

#ifdef __cplusplus
}
#endif
