/* The GPU kernels solve as the serial executor does, for the product of scalar types, methods, operations, 1,
 * 3, 17 and 64 right-hand sides and warps of 32 and 64, whole and of one sweep only, on factors of generated
 * and of real matrices; solves with few right-hand sides have the same bits in two schedules.
 *
 * How far two orders of the sums of a real matrix may lie apart is bounded by its condition and by the
 * backward error of the serial executor's own solution before it is refined, which grows with pivots that are
 * chosen inside blocks only. In single precision that may leave no digit: then the bits of two schedules are
 * what is compared.
 *
 * The folder of real matrices: TRISTAR_DATA, or ../shared/data next to the sources. */
#include "tests/support/data.h"
#include "tests/support/gpu/device_problem.h"
#include "tests/support/real_matrices.h"
#include "tests/support/subtests.h"

static const problem generated[] = {
    {"poisson3d7", 4, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 1500},
    {"s2d9pt", 8, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_NONE, 1000},
    {"elasticity3d", 2, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 2000},
    {"kkt3d", 3, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 1500},
    {"maxwell3d", 2, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 1500},
    {"kkt3d", 3, TRISTAR_METHOD_LU, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 2500},
    {"convdiff3d", 4, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_NONE, 2000},
    {"chem3d", 3, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_PARTITIONED, 64e3},
};

static const problem real[] = {
    {.kind = "LFAT5.mtx.gz", .method = TRISTAR_METHOD_LLT, .node_bytes = 200},
    {.kind = "bcsstk01.rsa.gz", .method = TRISTAR_METHOD_LLT, .node_bytes = 1000},
    {.kind = "bcsstk04.mtx.gz", .method = TRISTAR_METHOD_LLT, .node_bytes = 4000},
    {.kind = "bcsstk01.rsa.gz", .method = TRISTAR_METHOD_LDLT, .node_bytes = 1000},
    {.kind = "tumorAntiAngiogenesis_2.mtx.gz", .method = TRISTAR_METHOD_LDLT, .node_bytes = 4000},
    {.kind = "b1_ss.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 200},
    {.kind = "cage3.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 200},
    {.kind = "lfat5b.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 500},
    {.kind = "umf_matrix11.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 1000},
    {.kind = "bfwa62.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 2000},
    {.kind = "west0067.rua.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 1000},
    {.kind = "arc130.rua.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 2000},
    {.kind = "lns__131.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 2000},
    {.kind = "rajat11.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 1000},
    {.kind = "fs_183_1.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 2000},
    {.kind = "impcol_a.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 1000},
    {.kind = "pyamg_recirc_flow.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 5000},
    {.kind = "e05r0500.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 10000},
    {.kind = "utm300.rua.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 10000},
    {.kind = "arrowc.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 1000},
    {.kind = "mathnet_sparse_complex.mtx.gz", .method = TRISTAR_METHOD_LU, .node_bytes = 20000},
};

static int solves;

/* All operations and numbers of right-hand sides, with A and with each sweep alone. */
static void check(const solver *s, unsigned type, double tolerance) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  static const tristar_part parts[] = {TRISTAR_PART_ALL, TRISTAR_PART_L, TRISTAR_PART_U};
  static const int64_t nrhs[] = {1, 3, 17, 64};
  for (unsigned k = 0; k < 3 * 4 * 2; k++) {
    const trial t = {.scalars = types[type].scalars,
                     .user = types[type].type,
                     .tolerance = tolerance,
                     .op = ops[k % 3],
                     .part = k < 12 ? TRISTAR_PART_ALL : parts[1 + k / 3 % 2],
                     .nrhs = nrhs[k / 3 % 4],
                     .warp = k % 2 ? 64 : 32,
                     .first = k,
                     .schedules = nrhs[k / 3 % 4] > 3 ? 1 : 2};
    check_trial(s, &t);
    solves++;
  }
}

static void check_generated(tristar_t *ts, const problem *p) {
  for (unsigned type = 0; type < 4; type++) {
    CLEANUP(solver_close) solver s = solver_open(ts, p, types[type].type, false);
    check(&s, type, types[type].type->is_single ? 1e-3 : 1e-11);
  }
}

/* Returns the backward error of a solution without refinement, at least one roundoff. */
static double unrefined_error(const solver *s, const typed *t) {
  tristar_refine_options options = DEFAULTS(tristar_refine_options);
  tristar_refine_result result;
  const size_t n = (size_t)s->n;
  char *b = xcalloc(2 * n, t->bytes), *x = b + n * t->bytes;
  options.max_steps = 0;
  for (size_t i = 0; i < n; i++) put(t, b, (int64_t)i, 1 + 0.25 * (double)(i % 7));
  CHECK_OK(tristar_solve_refined(s->plan, TRISTAR_N, 1, b, s->n, x, s->n, &options, &result));
  free(b);
  return fmax(result.backward_error, t->roundoff);
}

/* reciprocal: of the condition in double, also for a real matrix in a complex type. */
static void check_type(tristar_t *ts, const problem *p, const tristar_view *from, unsigned type,
                       double *reciprocal) {
  const typed *t = types[type].type;
  tristar_view view = *from;
  if (t->is_complex && from->scalar == TRISTAR_DOUBLE && view.symmetry == TRISTAR_SYMMETRIC)
    view.symmetry = TRISTAR_HERMITIAN;
  OWNED void *values = real_values(t, from, view.symmetry);
  view.scalar = t->scalar;
  view.values = values;
  CLEANUP(solver_close) solver s = solver_of(ts, p, &view, t->bytes, false);
  if (!t->is_single) CHECK_OK(tristar_condition(s.plan, reciprocal));
  const double tolerance = 100 * unrefined_error(&s, t) / *reciprocal;
  printf("%s %s: tolerance %g\n", p->kind, types[type].scalars, tolerance);
  check(&s, type, tolerance);
}

static void check_real(tristar_t *ts, const problem *p) {
  static const unsigned order[] = {1, 0, 3, 2}; /* double types before single ones */
  char path[1024];
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  double reciprocal = NAN;
  snprintf(path, sizeof path, "%s/%s", data_folder(), p->kind);
  tristar_view view = read_view(ts, path, &matrix);
  for (unsigned k = view.scalar == TRISTAR_DOUBLE ? 0 : 2; k < 4; k++)
    check_type(ts, p, &view, order[k], &reciprocal);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  char path[1024];
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  for (size_t k = 0; k < sizeof generated / sizeof *generated; k++) RUN(check_generated(ts, &generated[k]));
  snprintf(path, sizeof path, "%s/INDEX.tsv", data_folder());
  FILE *index = fopen(path, "r");
  if (index == NULL) SKIP("%d solves with generated matrices; no others: %s is not there", solves, path);
  fclose(index);
  for (size_t k = 0; k < sizeof real / sizeof *real; k++) RUN(check_real(ts, &real[k]));
  printf("%d solves\n", solves);
  return 0;
}
