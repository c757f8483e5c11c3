/* What the programs of other solvers share: the matrix, the right-hand sides, the error, the report.
 *
 * Job. `PEER_solve [--on-demand] [--quick] [--uplo L|U] MATRIX [REPEAT [NRHS]]` reads MATRIX (a file or
 * gen:KIND:K) as `tristar solve` does, a pattern as its Laplacian, of which with --uplo only the lower or the
 * upper triangle counts, its diagonal included, makes the right-hand sides that `tristar solve --nrhs NRHS`
 * makes (default: 1), lets the other solver solve for all of them, after a warm-up REPEAT times (default:
 * 11), and prints one line of JSON. With --on-demand each line on standard input asks for a warm-up and
 * REPEAT solves again, and another line of JSON; the end of standard input ends the program. With --quick a
 * line of JSON with an "event" follows the reading of the matrix, and a factorization is timed once. The
 * backward error is the largest over the right-hand sides, measured with the library's own kernels, so that
 * all programs mean the same by it.
 *
 * The fill-reducing order is that of METIS where the other solver can use it. Timed solves are without
 * iterative refinement, which x has had if the other solver has it.
 *
 * A process for each solver, because threads of one would slow a peer in the same one.
 *
 * A peer is one C file that defines peer_solve_real or, compiled with PEER_COMPLEX, peer_solve_complex, which
 * factors, and then solves as long as peer_again says so; the main program is in peer.c. The exit status is 0
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
  tristar_view view; /* square, double, with values; as tristar_matrix_get_view gives it */
  int64_t n;
  bool is_complex;
  char uplo; /* the triangle that view is: 'L' or 'U'; 0: the matrix as it is */
  size_t scalar_bytes;
  int nrhs;
  size_t column_bytes, block_bytes; /* of one right-hand side, of all */
  const void *b;                    /* n x nrhs scalars, column after column */
  void *x;                          /* the same, from the peer */
  int repeat;                       /* timed solves */
  bool on_demand;                   /* --on-demand */
  bool quick;                       /* --quick */
  int rounds;                       /* of timed solves, which have been told */
  double *solves_s;
  double sweeps_s; /* the fastest solve's sweeps alone, where the solver tells them; 0: not */

  /* What the peer tells: */
  char solver[64];      /* its name and version */
  const char *method;   /* LLT, LDLT or LU; static text */
  const char *ordering; /* that was used; static text */
  int status;           /* the other solver's; 0: solved */
  char message[256];    /* where status is not 0 */
  int refinement_steps; /* those that x has had; of several right-hand sides the most that is known */
  int64_t perturbed;    /* pivots that were replaced */
  int64_t iterations;   /* of an iterative solver; 0: it is none */
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
