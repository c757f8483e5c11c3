/* mumps_solve [--on-demand] MATRIX [REPEAT [NRHS]]: sequential MUMPS with METIS, otherwise its default
 * options, and iterative refinement. If MUMPS was built without METIS, it silently uses another order. Then
 * this program passes it METIS' order of A, or of A + A^T. See peer.h.
 *
 * Compiled twice: for real matrices and, with PEER_COMPLEX, for complex ones. With PEER_RANKS it becomes
 * ranks_mumps, parallel MUMPS under mpiexec: the first process has the matrix, b and x, and prints.
 *   - symmetric matrices: SYM = 1 if the diagonal is positive, as TriStar tries Cholesky; SYM = 2 if it is
 *     not, or if pivots are negative. Others, complex Hermitian too: SYM = 0.
 *   - the working space is enlarged if MUMPS requests it (ICNTL(14))
 *   - refinement: at most 10 steps, until 4 units of roundoff (CNTL(2)). The default of CNTL(2), which is the
 *     square root of the roundoff, would end it early.
 * Timed solves are one call for all right-hand sides, without refinement. The final solve, with refinement,
 * is a call for each right-hand side, because MUMPS refines only one at a time. Threads are those of the BLAS
 * (OPENBLAS_NUM_THREADS). */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/peers/metis_order.h"
#include "tools/peers/peer.h"
#ifdef PEER_RANKS
#include <mpi.h>

#include "tools/peers/ranks.h"
#endif

#ifdef PEER_COMPLEX
#include <zmumps_c.h>
typedef ZMUMPS_STRUC_C mumps;
typedef ZMUMPS_COMPLEX scalar;
#define call_mumps zmumps_c
#define peer_solve peer_solve_complex
#else
#include <dmumps_c.h>
typedef DMUMPS_STRUC_C mumps;
typedef DMUMPS_COMPLEX scalar;
#define call_mumps dmumps_c
#define peer_solve peer_solve_real
#endif

/* As the manual numbers them. */
#define ICNTL(m, i) ((m)->icntl[(i)-1])
#define INFOG(m, i) ((m)->infog[(i)-1])

enum { INITIALIZE = -1, TERMINATE = -2, ANALYZE = 1, FACTOR = 2, SOLVE = 3 };
enum { GIVEN = 1, METIS = 5, QAMD = 6 };
static const char *const orderings[] = {"AMD", "METIS, given", "AMF", "SCOTCH", "PORD", "METIS", "QAMD"};
enum { COMM_WORLD = -987654, WORKSPACE_SHORT = -9, INTEGERS_SHORT = -8 };

/* Returns the seconds of the job. */
static double run(mumps *m, int job) {
  const double begin = peer_seconds();
  m->job = job;
  call_mumps(m);
  return peer_seconds() - begin;
}

/* Returns METIS' order as PERM_IN, from 1 on; NULL: none. Only the process with the matrix computes it. */
static MUMPS_INT *make_order(const peer *p) {
  peer_compressed columns, rows;
  if (p->n == 0 || p->view.ptr == NULL) return NULL;
  MUMPS_INT *order = peer_allocate(p->n, sizeof *order);
  peer_compress(p, false, &columns);
  peer_compress(p, true, &rows);
  if (peer_metis_order(p->n, PEER_GRAPH_SUM, &columns, &rows, order))
    for (int64_t j = 0; j < p->n; j++) order[j]++;
  else {
    free(order);
    order = NULL;
  }
  peer_compressed_free(&columns);
  peer_compressed_free(&rows);
  return order;
}

static void initialize(mumps *m, int sym) {
  memset(m, 0, sizeof *m);
  m->sym = sym;
  m->par = 1;
  m->comm_fortran = COMM_WORLD;
  run(m, INITIALIZE);
  for (int stream = 1; stream <= 3 && INFOG(m, 1) >= 0; stream++) ICNTL(m, stream) = -1;
  ICNTL(m, 4) = 0; /* silent */
}

/* Was this MUMPS built with METIS? A small grid shows it: without METIS the analysis uses another order. */
static bool has_metis(void) {
  enum { K = 20, N = K * K };
  static MUMPS_INT row[3 * N], column[3 * N];
  mumps m;
  initialize(&m, 1);
  if (INFOG(&m, 1) < 0) return false;
  for (int i = 0; i < N; i++) {
    const int near[] = {i, i % K > 0 ? i - 1 : -1, i - K};
    for (int k = 0; k < 3; k++)
      if (near[k] >= 0) row[m.nnz] = i + 1, column[m.nnz++] = near[k] + 1;
  }
  m.n = N;
  m.irn = row;
  m.jcn = column;
  ICNTL(&m, 7) = METIS;
  run(&m, ANALYZE);
  const bool has = INFOG(&m, 1) >= 0 && INFOG(&m, 7) == METIS;
  run(&m, TERMINATE);
  return has;
}

static void analyze(peer *p, mumps *m) {
  const bool metis = has_metis();
  const double begin = peer_seconds();
  m->perm_in = metis ? NULL : make_order(p);
  ICNTL(m, 7) = m->perm_in != NULL ? GIVEN : METIS;
  run(m, ANALYZE);
  free(m->perm_in);
  m->perm_in = NULL;
  p->analyze_s = peer_seconds() - begin;
}

/* Analysis and factorization; INFOG(1) < 0 if they fail. */
static void factor(peer *p, mumps *m, int sym, const peer_entries *entries) {
  initialize(m, sym);
  if (INFOG(m, 1) < 0) return;
  m->n = (MUMPS_INT)p->n;
  m->nnz = entries->count;
  m->irn = entries->row;
  m->jcn = entries->column;
  m->a = entries->values;
  analyze(p, m);
  if (INFOG(m, 1) < 0) return;
  p->factor_s = run(m, FACTOR);
  while ((INFOG(m, 1) == WORKSPACE_SHORT || INFOG(m, 1) == INTEGERS_SHORT) && ICNTL(m, 14) < 2000) {
    ICNTL(m, 14) *= 2;
    p->factor_s = run(m, FACTOR);
  }
}

/* Solves for nrhs right-hand sides, from number k on; returns the seconds. */
static double solve(peer *p, mumps *m, int k, int nrhs, int refinement_steps) {
  memcpy(peer_x(p, k), peer_b(p, k), (size_t)nrhs * p->column_bytes);
  m->rhs = peer_x(p, k);
  m->nrhs = nrhs;
  m->lrhs = (MUMPS_INT)p->n;
  ICNTL(m, 10) = refinement_steps;
  return run(m, SOLVE);
}

/* In the first round the final solve is refined. */
static void solve_all(peer *p, mumps *m) {
  for (int k = -1; k < p->repeat && INFOG(m, 1) >= 0; k++) {
    const double time = solve(p, m, 0, p->nrhs, 0);
    if (k >= 0) p->solves_s[k] = time;
  }
  m->cntl[1] = 2 * DBL_EPSILON;
  for (int k = 0; k < p->nrhs && INFOG(m, 1) >= 0 && p->rounds == 0; k++) {
    solve(p, m, k, 1, 10);
    if (INFOG(m, 15) > p->refinement_steps) p->refinement_steps = INFOG(m, 15);
  }
  if (INFOG(m, 1) < 0)
    peer_fail(p, INFOG(m, 1), "INFOG(1) = %d, INFOG(2) = %d%s", INFOG(m, 1), INFOG(m, 2),
              INFOG(m, 1) == -6    ? " (structurally singular)"
              : INFOG(m, 1) == -10 ? " (numerically singular)"
                                   : "");
}

/* Sets the results of the factorization. */
static void describe(peer *p, const mumps *m, int sym) {
  snprintf(p->solver, sizeof p->solver, "MUMPS %.20s", m->version_number);
  p->method = sym == 0 ? "LU" : sym == 1 ? "LLT" : "LDLT";
  if (INFOG(m, 7) >= 0 && INFOG(m, 7) <= QAMD) p->ordering = orderings[INFOG(m, 7)];
  p->perturbed = INFOG(m, 25);
  p->nnz_factor = INFOG(m, 29) >= 0 ? INFOG(m, 29) : -1e6 * INFOG(m, 29);
}

#ifdef PEER_RANKS
static bool start_ranks(peer *p) {
  peer_ranks ranks;
  int argc = 0;
  (void)MPI_Init(&argc, NULL);
  if (peer_ranks_join(p, &ranks) && p->on_demand && ranks.ranks > 1)
    peer_fail(p, -1, "--on-demand is for one process");
  return p->status == 0;
}

static void end_ranks(void) {
  (void)MPI_Finalize();
}
#else
static bool start_ranks(const peer *p) {
  return p->status == 0;
}

static void end_ranks(void) {}
#endif

static void use_mumps(peer *p) {
  mumps m;
  peer_entries entries;
  const bool symmetric = p->view.symmetry == TRISTAR_SYMMETRIC;
  int sym = !symmetric ? 0 : !p->is_complex && peer_positive_diagonal(p) ? 1 : 2;
  _Static_assert(sizeof(MUMPS_INT) == sizeof(int32_t), "MUMPS with 32-bit integers");
  peer_entries_make(p, !symmetric, 1, &entries);
  factor(p, &m, sym, &entries);
  if (sym == 1 && (INFOG(&m, 1) < 0 || INFOG(&m, 12) > 0)) { /* INFOG(12): negative pivots */
    run(&m, TERMINATE);
    sym = 2;
    factor(p, &m, sym, &entries);
  }
  describe(p, &m, sym);
  do solve_all(p, &m);
  while (peer_again(p));
  run(&m, TERMINATE);
  peer_entries_free(&entries);
}

void peer_solve(peer *p) {
  if (start_ranks(p)) use_mumps(p);
  end_ranks();
}
