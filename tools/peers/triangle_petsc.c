/* triangle_petsc [--on-demand] --uplo L|U MATRIX [REPEAT [NRHS]]: MatSolve of PETSc, by rows. See triangle.h.
 *
 * PETSc solves only with factors, so it factors the triangle T by ILU(0) in the natural order, without fill
 * or loss. For a lower T with diagonal D this gives L = T D^-1 and U = D, for an upper T it gives L = I and U
 * = T. The time is that of MatSolve: one sweep through all entries of T, and one through the rows of the
 * other factor, which contain only the diagonal. */
#include <petscmat.h>
#include <stdio.h>

#include "tools/peers/triangle.h"

typedef struct solver {
  peer_compressed rows;
  Mat entries, factor;
  Vec b, x;
} solver;

/* Returns whether PETSc succeeded; it prints details on standard error. */
static bool good(peer *p, PetscErrorCode code) {
  if (code != 0 && p->status == 0) peer_fail(p, (int)code, "PETSc error %d", (int)code);
  return p->status == 0;
}

static bool factor(peer *p, solver *s) {
  MatFactorInfo info;
  IS rows = NULL, columns = NULL;
  const PetscInt n = (PetscInt)p->n;
  const double begin = peer_seconds();
  peer_compress(p, true, &s->rows);
  const bool ok = good(p, MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, s->rows.ptr, s->rows.index,
                                                    s->rows.values, &s->entries)) &&
                  good(p, MatGetFactor(s->entries, MATSOLVERPETSC, MAT_FACTOR_ILU, &s->factor)) &&
                  good(p, MatGetOrdering(s->entries, MATORDERINGNATURAL, &rows, &columns)) &&
                  good(p, MatFactorInfoInitialize(&info)) && (info.fill = 1, info.zeropivot = 0, true) &&
                  good(p, MatILUFactorSymbolic(s->factor, s->entries, rows, columns, &info)) &&
                  good(p, MatLUFactorNumeric(s->factor, s->entries, &info));
  p->factor_s = peer_seconds() - begin;
  (void)ISDestroy(&rows);
  (void)ISDestroy(&columns);
  return ok;
}

static void solve(void *context, const double *b, double *x) {
  solver *s = context;
  (void)VecPlaceArray(s->b, b);
  (void)VecPlaceArray(s->x, x);
  (void)MatSolve(s->factor, s->b, s->x);
  (void)VecResetArray(s->b);
  (void)VecResetArray(s->x);
}

void triangle_solve_real(peer *p) {
  solver s = {.factor = NULL};
  const PetscInt n = (PetscInt)p->n;
  snprintf(p->solver, sizeof p->solver, "PETSc %d.%d.%d", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
           PETSC_VERSION_SUBMINOR);
  p->method = "ILU(0) of the triangle";
  if (!good(p, PetscInitializeNoArguments())) return;
  if (factor(p, &s) && good(p, VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, NULL, &s.b)) &&
      good(p, VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, NULL, &s.x))) {
    p->nnz_factor = (double)s.rows.ptr[p->n];
    triangle_rounds(p, false, solve, &s);
  }
  (void)VecDestroy(&s.b);
  (void)VecDestroy(&s.x);
  (void)MatDestroy(&s.factor);
  (void)MatDestroy(&s.entries);
  peer_compressed_free(&s.rows);
  (void)PetscFinalize();
}
