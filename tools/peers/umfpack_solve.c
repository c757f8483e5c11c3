/* umfpack_solve [--on-demand] MATRIX [REPEAT [NRHS]]: UMFPACK with METIS if it was built with METIS, else
 * with its own choice of the order; otherwise its default options, among them iterative refinement. See
 * peer.h.
 *
 * Compiled twice: for real matrices and, with PEER_COMPLEX, for complex ones. Symmetric matrices are passed
 * in full. Timed solves are without refinement and keep their workspace. UMFPACK solves for one right-hand
 * side at a time. Threads are those of the BLAS (OPENBLAS_NUM_THREADS). */
#include <stdio.h>
#include <stdlib.h>
#include <umfpack.h>

#include "tools/peers/peer.h"

#ifdef PEER_COMPLEX
#define TYPED(name) umfpack_zi_##name
#define SPLIT(values) values, NULL /* complex parts are interleaved */
#define peer_solve peer_solve_complex
#else
#define TYPED(name) umfpack_di_##name
#define SPLIT(values) values
#define peer_solve peer_solve_real
#endif

typedef struct solver {
  peer_compressed a;
  void *numeric;
  double control[UMFPACK_CONTROL], info[UMFPACK_INFO];
  int *integers; /* workspace */
  double *reals;
} solver;

static void fail(peer *p, int status) {
  peer_fail(p, status, "UMFPACK status %d%s", status,
            status == UMFPACK_WARNING_singular_matrix ? " (singular)"
            : status == UMFPACK_ERROR_out_of_memory   ? " (out of memory)"
                                                      : "");
}

static bool factor(peer *p, solver *s) {
  void *symbolic = NULL;
  const int n = (int)p->n;
  double begin = peer_seconds();
  int status =
      TYPED(symbolic)(n, n, s->a.ptr, s->a.index, SPLIT(s->a.values), &symbolic, s->control, s->info);
  p->analyze_s = peer_seconds() - begin;
  if (status == UMFPACK_OK) {
    begin = peer_seconds();
    status =
        TYPED(numeric)(s->a.ptr, s->a.index, SPLIT(s->a.values), symbolic, &s->numeric, s->control, s->info);
    p->factor_s = peer_seconds() - begin;
  }
#ifdef UMFPACK_ORDERING_METIS
  p->ordering = s->info[UMFPACK_ORDERING_USED] == UMFPACK_ORDERING_METIS ? "METIS" : "not METIS";
#endif
  TYPED(free_symbolic)(&symbolic);
  if (status != UMFPACK_OK) fail(p, status);
  return status == UMFPACK_OK;
}

/* Counts the entries of L and U, with the diagonal only once. */
static void count_factors(peer *p, const solver *s) {
  int lower, upper, rows, columns, diagonal;
  if (TYPED(get_lunz)(&lower, &upper, &rows, &columns, &diagonal, s->numeric) == UMFPACK_OK)
    p->nnz_factor = (double)lower + (double)upper - (double)p->n;
}

static void solve(peer *p, solver *s) {
  for (int k = 0; k < p->nrhs && p->status == 0; k++) {
    const int status =
        TYPED(wsolve)(UMFPACK_A, s->a.ptr, s->a.index, SPLIT(s->a.values), SPLIT(peer_x(p, k)),
                      SPLIT(peer_b(p, k)), s->numeric, s->control, s->info, s->integers, s->reals);
    const int steps = (int)s->info[UMFPACK_IR_TAKEN];
    if (status != UMFPACK_OK) fail(p, status);
    if (steps > p->refinement_steps) p->refinement_steps = steps;
  }
}

static void solve_all(peer *p, solver *s) {
  const double refinement_steps = s->control[UMFPACK_IRSTEP];
  s->control[UMFPACK_IRSTEP] = 0;
  for (int k = -1; k < p->repeat && p->status == 0; k++) {
    const double begin = peer_seconds();
    solve(p, s);
    if (k >= 0) p->solves_s[k] = peer_seconds() - begin;
  }
  s->control[UMFPACK_IRSTEP] = refinement_steps;
  if (p->rounds == 0) solve(p, s);
}

void peer_solve(peer *p) {
  solver s = {.numeric = NULL};
  snprintf(p->solver, sizeof p->solver, "UMFPACK %d.%d.%d", UMFPACK_MAIN_VERSION, UMFPACK_SUB_VERSION,
           UMFPACK_SUBSUB_VERSION);
  p->method = "LU";
  TYPED(defaults)(s.control);
#ifdef UMFPACK_ORDERING_METIS
  s.control[UMFPACK_ORDERING] = UMFPACK_ORDERING_METIS;
#endif
  s.integers = peer_allocate(p->n, sizeof *s.integers);
  s.reals = peer_allocate(10 * p->n, sizeof *s.reals); /* for refinement of complex vectors */
  peer_compress(p, false, &s.a);
  if (factor(p, &s)) {
    count_factors(p, &s);
    do solve_all(p, &s);
    while (peer_again(p));
  }
  TYPED(free_numeric)(&s.numeric);
  peer_compressed_free(&s.a);
  free(s.integers);
  free(s.reals);
}
