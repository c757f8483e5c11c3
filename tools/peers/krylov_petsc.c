/* krylov_petsc [--on-demand] MATRIX [REPEAT [NRHS]]: KSPSolve of PETSc, a program of peer.h for an iterative
 * solver. Under mpirun each process reads the matrix and keeps its rows; the first process prints.
 *
 * The environment variable PETSC_OPTIONS selects method, preconditioner and tests, as in any program of
 * PETSc. "factor_s" is the time of the preconditioner. x begins with zeros. One option belongs to this
 * program:
 *   -perturb EPS,SEED   multiplies each right-hand side, entry by entry, by 1 + EPS u, with u in [-1, 1)
 * With several right-hand sides the largest number of iterations is reported. */
#include <petscksp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/peers/ranks.h"

typedef struct solver {
  peer_ranks part;
  peer_compressed rows;
  Mat matrix;
  KSP ksp;
  Vec b, x;
  double *given; /* the right-hand sides, which may be perturbed */
} solver;

/* Returns whether PETSc succeeded; it prints details on standard error. */
static bool good(peer *p, PetscErrorCode code) {
  if (code != 0 && p->status == 0) peer_fail(p, (int)code, "PETSc error %d", (int)code);
  return p->status == 0;
}

/* PETSc copies the rows of one process; it uses the arrays of a whole matrix in place. */
static bool make_matrix(peer *p, solver *s) {
  const PetscInt n = (PetscInt)p->n;
  if (s->part.ranks == 1)
    return good(p, MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, s->rows.ptr, s->rows.index,
                                             s->rows.values, &s->matrix));
  PetscInt *ptr = peer_allocate((int64_t)s->part.own + 1, sizeof *ptr);
  const PetscInt begin = s->rows.ptr[s->part.first];
  for (PetscInt i = 0; i <= s->part.own; i++) ptr[i] = s->rows.ptr[s->part.first + i] - begin;
  const bool ok =
      good(p, MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, s->part.own, s->part.own, n, n, ptr,
                                        s->rows.index + begin, (double *)s->rows.values + begin, &s->matrix));
  free(ptr);
  return ok;
}

static bool make_vector(peer *p, const solver *s, Vec *out) {
  const PetscInt n = (PetscInt)p->n;
  return good(p, s->part.ranks == 1 ? VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, NULL, out)
                                    : VecCreateMPIWithArray(PETSC_COMM_WORLD, 1, s->part.own, n, NULL, out));
}

/* KSPSetUp and KSPSetUpOnBlocks compute the preconditioner. They or the first solve report a zero pivot. */
static bool set_up(peer *p, solver *s) {
  const double begin = peer_seconds();
  peer_compress(p, true, &s->rows);
  bool ok = make_matrix(p, s) && good(p, KSPCreate(PetscObjectComm((PetscObject)s->matrix), &s->ksp)) &&
            good(p, KSPSetOperators(s->ksp, s->matrix, s->matrix)) && good(p, KSPSetFromOptions(s->ksp));
  p->analyze_s = peer_seconds() - begin;
  ok = ok && good(p, KSPSetUp(s->ksp)) && good(p, KSPSetUpOnBlocks(s->ksp));
  p->factor_s = peer_seconds() - begin - p->analyze_s;
  return ok && make_vector(p, s, &s->b) && make_vector(p, s, &s->x);
}

static bool take_rhs(peer *p, solver *s) {
  PetscReal perturb[2] = {0, 0};
  PetscInt count = 2;
  PetscBool given = PETSC_FALSE;
  if (!good(p, PetscOptionsGetRealArray(NULL, NULL, "-perturb", perturb, &count, &given))) return false;
  if (given && count < 2) peer_fail(p, 1, "-perturb EPS,SEED: two numbers are needed");
  uint64_t state = (uint64_t)perturb[1];
  s->given = peer_allocate(p->nrhs, p->column_bytes);
  memcpy(s->given, p->b, p->block_bytes);
  for (int64_t k = 0; k < p->nrhs * p->n && perturb[0] != 0; k++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    s->given[k] *= 1 + perturb[0] * ((double)(state >> 11) * 0x1p-52 - 1.0);
  }
  return p->status == 0;
}

/* Solves for all right-hand sides; returns the seconds. */
static double solve(peer *p, solver *s) {
  const double begin = peer_seconds();
  p->iterations = 0;
  for (int k = 0; k < p->nrhs && p->status == 0; k++) {
    PetscInt iterations = 0;
    KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
    const char *text = "";
    if (!good(p, VecPlaceArray(s->b, s->given + k * p->n + s->part.first)) ||
        !good(p, VecPlaceArray(s->x, (double *)peer_x(p, k) + s->part.first)) ||
        !good(p, KSPSolve(s->ksp, s->b, s->x)) || !good(p, VecResetArray(s->b)) ||
        !good(p, VecResetArray(s->x)) || !good(p, KSPGetIterationNumber(s->ksp, &iterations)) ||
        !good(p, KSPGetConvergedReason(s->ksp, &reason)) ||
        !good(p, KSPGetConvergedReasonString(s->ksp, &text)))
      break;
    if (iterations > p->iterations) p->iterations = iterations;
    if (reason <= 0) peer_fail(p, (int)reason, "%s after %d iterations", text, (int)iterations);
  }
  return peer_seconds() - begin;
}

void peer_solve_real(peer *p) {
  solver s = {.ksp = NULL};
  snprintf(p->solver, sizeof p->solver, "PETSc %d.%d.%d", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
           PETSC_VERSION_SUBMINOR);
  p->method = "KSP";
  p->ordering = "as given";
  if (!good(p, PetscInitializeNoArguments())) return;
  if (peer_ranks_join(p, &s.part) && take_rhs(p, &s) && set_up(p, &s)) do {
      for (int turn = -1; turn < p->repeat && p->status == 0; turn++) {
        const double seconds = solve(p, &s);
        if (turn >= 0) p->solves_s[turn] = seconds;
      }
      peer_ranks_share_x(p, &s.part);
    } while (peer_again(p));
  (void)VecDestroy(&s.b);
  (void)VecDestroy(&s.x);
  (void)KSPDestroy(&s.ksp);
  (void)MatDestroy(&s.matrix);
  peer_compressed_free(&s.rows);
  free(s.given);
  (void)PetscFinalize();
}

void peer_solve_complex(peer *p) {
  peer_fail(p, 1, "it is compared for real matrices only");
}
