/* Iterations that PETSc 3.18 takes (KSPCG, KSPBCGS, KSPGMRES, KSPFGMRES with their defaults; PCJACOBI, PCILU
 * and PCICC in natural order; relative tolerance 1e-8) are those that TriStar takes, within 2 %: norms, tests
 * and preconditioners are the same. Left out are long runs of BiCGSTAB, which go other ways after other
 * roundings. */
#include "tests/support/context.h"
#include "tests/support/data.h"
#include "tests/support/krylov.h"
#include "tests/support/subtests.h"

typedef struct count {
  const char *matrix;
  tristar_krylov_method method;
  tristar_precond_kind kind;
  int level, petsc;
} count;

#define CG TRISTAR_KRYLOV_CG
#define BICGSTAB TRISTAR_KRYLOV_BICGSTAB
#define GMRES TRISTAR_KRYLOV_GMRES
#define FGMRES TRISTAR_KRYLOV_FGMRES
#define NONE TRISTAR_PRECOND_NONE
#define JACOBI TRISTAR_PRECOND_JACOBI
#define ILU TRISTAR_PRECOND_ILU
#define IC TRISTAR_PRECOND_IC

static const count generated[] = {
    {"gen:poisson3d7:30", CG, NONE, 0, 113},       {"gen:poisson3d7:30", CG, IC, 0, 39},
    {"gen:elasticity3d:10", CG, JACOBI, 0, 136},   {"gen:elasticity3d:10", CG, IC, 0, 37},
    {"gen:convdiff3d:24", BICGSTAB, ILU, 0, 36},   {"gen:convdiff3d:24", BICGSTAB, ILU, 1, 25},
    {"gen:convdiff3d:24", GMRES, JACOBI, 0, 384},  {"gen:convdiff3d:24", GMRES, ILU, 0, 72},
    {"gen:convdiff3d:24", FGMRES, JACOBI, 0, 384}, {"gen:convdiff3d:24", FGMRES, ILU, 1, 38},
};

static const count real[] = {
    {"gr_30_30.mtx.gz", CG, NONE, 0, 67},       {"gr_30_30.mtx.gz", CG, IC, 0, 24},
    {"1138_bus.mtx.gz", CG, JACOBI, 0, 974},    {"1138_bus.mtx.gz", CG, IC, 0, 142},
    {"bcsstk16.mtx.gz", CG, NONE, 0, 487},      {"jpwh_991.mtx.gz", BICGSTAB, NONE, 0, 39},
    {"jpwh_991.mtx.gz", BICGSTAB, ILU, 0, 12},  {"cage10.mtx.gz", BICGSTAB, JACOBI, 0, 10},
    {"orsirr_1.rua.gz", GMRES, JACOBI, 0, 592}, {"orsirr_1.rua.gz", GMRES, ILU, 0, 53},
    {"orsreg_1.mtx.gz", FGMRES, ILU, 0, 62},    {"ani4.mtx.gz", GMRES, ILU, 1, 48},
    {"bfwa62.mtx.gz", FGMRES, NONE, 0, 287},    {"cage10.mtx.gz", FGMRES, JACOBI, 0, 16},
};

static void check(tristar_t *ts, const char *path, const count *c) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_precond_options m = DEFAULTS(tristar_precond_options);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *precond = NULL;
  tristar_krylov_options options = krylov_options(c->method);
  tristar_view v = read_view(ts, path, &matrix);
  OWNED double *b = xmalloc((size_t)v.rows * sizeof *b), *x = xmalloc((size_t)v.rows * sizeof *x);
  fill_random(b, v.rows, 1);
  m.kind = c->kind;
  m.level = c->level;
  if (c->kind != NONE) CHECK_OK(tristar_precond(ts, &v, &m, &precond));
  options.tolerance = 1e-8;
  const tristar_krylov_result r = krylov_solve_once(ts, &v, &options, precond, b, x);
  CHECK_MSG(r.converged && fabs((double)r.iterations - c->petsc) <= fmax(1, 0.02 * c->petsc),
            "%s, method %d, preconditioner %d: %s after %lld iterations, not %d", c->matrix, (int)c->method,
            (int)c->kind, tristar_krylov_reason_text(r.reason), (long long)r.iterations, c->petsc);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  char path[512];
  for (size_t k = 0; k < sizeof generated / sizeof *generated && !TSI_TESTS_SANITIZED; k++)
    RUN(check(ts, generated[k].matrix, &generated[k]));
  for (size_t k = 0; k < sizeof real / sizeof *real; k++) {
    snprintf(path, sizeof path, "%s/%s", data_folder(), real[k].matrix);
    FILE *file = fopen(path, "rb");
    if (file == NULL) SKIP("no real matrices: %s is not there", path);
    fclose(file);
    RUN(check(ts, path, &real[k]));
  }
  return 0;
}
