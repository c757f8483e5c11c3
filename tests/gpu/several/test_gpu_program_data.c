/* Distributed solves of several GPUs in one process, of the emulator or on a device (run_program.h).
 *
 * Many solves one after the other, which no barrier separates, so that a GPU may be whole solves ahead: each
 * with other right-hand sides, and another number of them. Each x has the bits that a solve alone gives, also
 * across the largest epoch.
 *
 * Factors of 10 real matrices in each scalar type that can hold the matrix. From factor to factor these
 * alternate: 2, 4 or 8 GPUs and their layout, the tree of messages, sums between grids, op, 1 or 17
 * right-hand sides. Each factor is solved whole, and by one sweep after the other: backward errors are those
 * of a solve in one piece; the bits are the same in other schedules and in repeated solves. The folder of
 * real matrices: TRISTAR_DATA, or ../shared/data next to the sources.
 *
 *   test_gpu_program_data [measure KIND K [FILE]]: times of solves with a model problem on 1 to 8 PEs, on a
 *     device; adds them to FILE, which gpu_check --json has written
 */
#include <math.h>

#include "tests/support/context.h"
#include "tests/support/data.h"
#include "tests/support/gpu/program_solve.h"
#include "tests/support/mpi/process_checks.h"
#include "tests/support/real_matrices.h"
#include "tests/support/subtests.h"
#include "runtime/process/layout_words.h"

#ifdef TSI_FEW /* for builds that test copies, not the kernel */
enum { MANY = 8, REPEATS = 2, TESTED = 2 };
#else
enum { MANY = 200, REPEATS = 2, TESTED = 10 };
#endif

static const struct {
  tsi_index px, py, pz;
} layouts[] = {{2, 1, 1}, {1, 1, 2}, {4, 1, 1}, {2, 1, 2}, {1, 1, 4}, {2, 2, 1},
               {8, 1, 1}, {4, 1, 2}, {2, 1, 4}, {1, 1, 8}, {2, 2, 2}};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static tsi_process_options options_of(const typed *t, int turn) {
  return (tsi_process_options){.layout = {.px = layouts[turn % LAYOUTS].px,
                                          .py = layouts[turn % LAYOUTS].py,
                                          .pz = layouts[turn % LAYOUTS].pz,
                                          .map = turn % 4 < 3 ? TSI_MAP_CYCLIC : TSI_MAP_SUBTREE,
                                          .replicated = turn % 3 < 2,
                                          .floor_bytes = 1000,
                                          .ceiling_bytes = 8000,
                                          .slice_bytes = 2000,
                                          .scalar_bytes = t->bytes},
                               .tree = turn % 2 ? TSI_TREE_FLAT : TSI_TREE_BINARY};
}

/* ---- Many solves in a row ------------------------------------------------------------------------------ */

/* Solve k has the first nrhs[k] columns of the problem's b, times a power of two. So x is multiplied by the
 * same power, exactly. One right-hand side has its own kernel and bits. */
static void check_many(tsi_env *env, const problem *q, int turn) {
  static const tsi_index counts[] = {1, 17, 3, 8, 1, 9};
  static const number factors[] = {1, 2, 0.5, 8, -1};
  const tsi_process_options options = options_of(q->type, turn);
  const int64_t n = q->view.rows, block = n * TYPED_COLUMNS;
  program_solver *v = program_open(env, q->factor, q->type, &options, TYPED_COLUMNS, false);
  OWNED char *b = xcalloc(MANY * (size_t)block, q->type->bytes),
             *x = xcalloc(MANY * (size_t)block, q->type->bytes),
             *right = xcalloc(2 * (size_t)block, q->type->bytes);
  tsi_index nrhs[MANY];
  program_prepare(v, TRISTAR_N, TRISTAR_PART_ALL, q->b, q->x);
  CHECK_OK(tristar_solve(q->plan, TRISTAR_N, TYPED_COLUMNS, q->b, n, q->x, n));
  const run_grid alone = {.blocks = 1, .threads = 32, .seed = 99}, many = {.blocks = 2, .threads = 32};
  for (int one = 0; one < 2; one++) {
    char *to = right + (size_t)one * (size_t)block * q->type->bytes;
    const tsi_index count = one ? 1 : TYPED_COLUMNS;
    const run_outcome got = program_solve_some(v, 1, &count, &alone, q->b, to);
    CHECK_MSG(got.ended, "%s", got.problem);
    const double other = difference(q->type, n, NULL, n, count, to, q->x);
    CHECK_MSG(other < ROUNDING * q->type->roundoff, "%g from the plan's", other);
  }
  for (int k = 0; k < MANY; k++) {
    nrhs[k] = counts[k % 6];
    for (int64_t i = 0; i < n * nrhs[k]; i++)
      put(q->type, b, k * block + i, factors[k % 5] * get(q->type, q->b, i));
  }
  const run_outcome got = program_solve_some(v, MANY, nrhs, &many, b, x);
  CHECK_MSG(got.ended, "%s", got.problem);
  for (int k = 0; k < MANY; k++)
    for (int64_t i = 0; i < n * nrhs[k]; i++)
      CHECK_MSG(get(q->type, x, k * block + i) ==
                    factors[k % 5] * get(q->type, right, (nrhs[k] == 1 ? block : 0) + i),
                "%s: solve %d with %d right-hand sides, entry %d", q->kind, k, (int)nrhs[k], (int)i);
  program_close(&v);
}

static void check_generated(tristar_t *ts, const char *kind, int64_t k, tristar_method method,
                            const typed *type, int turn) {
  CLEANUP(close_problem) problem q = open_problem(ts, kind, k, type, TRISTAR_HERMITIAN);
  factor_problem(ts, &q, method, (int)layouts[turn % LAYOUTS].pz);
  check_many(tsi_context_env(ts), &q, turn);
  release_factor(&q);
}

/* ---- Real matrices ------------------------------------------------------------------------------------- */

static const struct {
  const char *file;
  tristar_method method;
} sources[] = {
    {"bcsstk01.rsa.gz", TRISTAR_METHOD_LLT}, {"arc130.rua.gz", TRISTAR_METHOD_LU},
    {"bcsstk04.mtx.gz", TRISTAR_METHOD_LLT}, {"umf_matrix11.mtx.gz", TRISTAR_METHOD_LU},
    {"arrowc.mtx.gz", TRISTAR_METHOD_LU},    {"lns__131.mtx.gz", TRISTAR_METHOD_LU},
    {"bfwa62.mtx.gz", TRISTAR_METHOD_LU},    {"LFAT5.mtx.gz", TRISTAR_METHOD_LDLT},
    {"rajat11.mtx.gz", TRISTAR_METHOD_LU},   {"mathnet_sparse_complex.mtx.gz", TRISTAR_METHOD_LU},
};
_Static_assert(sizeof sources / sizeof *sources >= TESTED, "");

static int solves;

/* Solves with one part. x has the same bits in several schedules and in consecutive solves. */
static void solve_part(const problem *q, program_solver *v, tristar_op op, tristar_part part, const char *b,
                       char *x) {
  const size_t block = (size_t)q->view.rows * (size_t)v->nrhs * q->type->bytes;
  OWNED char *many = xcalloc(REPEATS, block), *given = xcalloc(REPEATS, block);
  for (int k = 0; k < REPEATS; k++) memcpy(given + (size_t)k * block, b, block);
  program_prepare(v, op, part, given, many);
  for (unsigned runs = 1; runs <= REPEATS; runs++) {
    const run_grid grid = {.blocks = runs, .threads = 32, .seed = 4 * runs};
    memset(many, 0xff, REPEATS * block);
    const run_outcome got = program_solve(v, runs, &grid, given, many);
    CHECK_MSG(got.ended, "%s", got.problem);
    if (runs == 1) memcpy(x, many, block);
    for (unsigned k = 0; k < runs; k++)
      CHECK_MSG(memcmp(x, many + k * block, block) == 0, "%s %c: other bits", q->kind, q->type->scalar);
    solves += (int)runs;
  }
}

static void check_error(const problem *q, tristar_op op, tsi_index nrhs, const char *x, double bound,
                        const typed_weights *weights, const char *what) {
  for (tsi_index c = 0; c < nrhs; c++) {
    const double error = error_of(q->type, &q->view, op, q->b, x, c, DOCUMENTED, weights);
    CHECK_MSG(error < bound, "%s %c %c, %s: backward error %g, not %g", q->kind, q->type->scalar, op, what,
              error, bound);
  }
}

/* A whole solve, and its sweeps one after the other, with D in between. */
static void check_solve(tsi_env *env, const problem *q, tristar_op op, tsi_index nrhs, int turn) {
  const tsi_process_options options = options_of(q->type, turn);
  const int64_t n = q->view.rows;
  program_solver *v = program_open(env, q->factor, q->type, &options, nrhs, false);
  typed_weights weights = make_weights(q->type, &q->view, op, q->factor);
  double bound = 100 * q->type->roundoff;
  CHECK_OK(tristar_solve(q->plan, op, nrhs, q->b, n, q->x, n));
  for (tsi_index c = 0; c < nrhs; c++)
    bound += 10 * error_of(q->type, &q->view, op, q->b, q->x, c, DOCUMENTED, &weights);
  solve_part(q, v, op, TRISTAR_PART_ALL, q->b, q->x);
  check_error(q, op, nrhs, q->x, bound, &weights, "whole");
  solve_part(q, v, op, op == TRISTAR_N ? TRISTAR_PART_L : TRISTAR_PART_U, q->b, q->x);
  tristar_solve_options between = DEFAULTS(tristar_solve_options);
  between.op = op;
  between.part = TRISTAR_PART_D;
  CHECK_OK(tristar_solve_with(q->plan, &between, nrhs, q->x, q->again, NULL));
  solve_part(q, v, op, op == TRISTAR_N ? TRISTAR_PART_U : TRISTAR_PART_L, q->again, q->x);
  check_error(q, op, nrhs, q->x, bound, &weights, "by sweeps");
  free_weights(&weights);
  program_close(&v);
}

static void check_type(tristar_t *ts, const tristar_view *from, const typed *t, int source, int turn) {
  problem q = {.kind = sources[source].file, .type = t, .view = *from};
  if (t->is_complex && from->scalar == TRISTAR_DOUBLE && from->symmetry == TRISTAR_SYMMETRIC)
    q.view.symmetry = TRISTAR_HERMITIAN;
  OWNED void *values = real_values(t, from, q.view.symmetry);
  OWNED char *b = make_rhs(t, from->rows);
  const size_t bytes = TYPED_COLUMNS * (size_t)from->rows * t->bytes;
  OWNED char *x = xcalloc(bytes, 1), *again = xcalloc(bytes, 1);
  q.view.scalar = t->scalar;
  q.values = values;
  q.view.values = values;
  q.b = b, q.x = x, q.again = again;
  factor_problem(ts, &q, sources[source].method, (int)layouts[turn % LAYOUTS].pz);
  check_solve(tsi_context_env(ts), &q, typed_ops[turn % TYPED_OPS], turn / LAYOUTS % 2 ? TYPED_COLUMNS : 1,
              turn);
  release_factor(&q);
}

static void check_source(tristar_t *ts, int source) {
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  char path[1024];
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  snprintf(path, sizeof path, "%s/%s", data_folder(), sources[source].file);
  const tristar_view view = read_view(ts, path, &matrix);
  for (int k = view.scalar == TRISTAR_DOUBLE ? 0 : 2; k < 4; k++)
    check_type(ts, &view, types[k], source, 5 * source + 3 * k);
}

/* ---- Times --------------------------------------------------------------------------------------------- */

typedef struct measured {
  tristar_layout layout;
  tsi_index nrhs;
  double seconds, error; /* seconds of a solve; error relative to the x of the cores */
} measured;

/* Measures solves of m->nrhs right-hand sides with a layout. The chunks are those that the library chooses
 * for GPUs. */
static void measure_layout(tristar_t *ts, problem *q, measured *m) {
  enum { SOLVES = 20 };
  const int64_t n = q->view.rows;
  const tsi_index nrhs = m->nrhs;
  const tristar_layout *layout = &m->layout;
  const size_t block = (size_t)(n * nrhs) * q->type->bytes;
  factor_problem(ts, q, TRISTAR_METHOD_AUTO, layout->pz);
  const tsi_process_options options = {
      .layout = tsi_layout_options_of(layout, TSI_GPU_FLOOR_BYTES, q->factor->analysis->symbolic->nnz_exact,
                                      q->type->bytes),
      .tree = tsi_tree_of(layout)};
  program_solver *v = program_open(tsi_context_env(ts), q->factor, q->type, &options, nrhs, false);
  OWNED char *b = xcalloc(SOLVES, block), *x = xcalloc(SOLVES, block);
  const run_grid grid = {.blocks = 0, .threads = 256};
  program_prepare(v, TRISTAR_N, TRISTAR_PART_ALL, q->b, x);
  for (int k = 0; k < SOLVES; k++) memcpy(b + (size_t)k * block, q->b, block);
  const run_outcome got = program_solve(v, SOLVES, &grid, b, x);
  CHECK_MSG(got.ended, "%s", got.problem);
  CHECK_OK(tristar_solve(q->plan, TRISTAR_N, nrhs, q->b, n, q->x, n));
  m->seconds = got.seconds / SOLVES;
  m->error = difference(q->type, n, NULL, n, nrhs, x + (SOLVES - 1) * block, q->x);
  printf("%dx%dx%d  %3d right-hand sides  %10.1f us a solve  %8.1e from the cores' x\n", layout->px,
         layout->py, layout->pz, (int)nrhs, 1e6 * m->seconds, m->error);
  program_close(&v);
  release_factor(q);
}

/* Opens a JSON file and moves to the end of the last member of its object. */
static FILE *reopen_object(const char *path) {
  static const char end[] = "\n}\n";
  char found[sizeof end] = "";
  FILE *file = fopen(path, "r+");
  CHECK_MSG(file != NULL, "cannot open %s", path);
  const long at = (long)sizeof end - 1;
  CHECK_MSG(fseek(file, -at, SEEK_END) == 0 && fread(found, 1, sizeof end - 1, file) == sizeof end - 1 &&
                strcmp(found, end) == 0 && fseek(file, -at, SEEK_END) == 0,
            "%s: not a file of gpu_check --json", path);
  return file;
}

static void write_number(FILE *file, const char *key, double value) {
  if (isfinite(value))
    fprintf(file, ", \"%s\": %.9g", key, value);
  else
    fprintf(file, ", \"%s\": null", key);
}

static void write_measured(const char *path, const measured *m, int count) {
  FILE *file = reopen_object(path);
  fprintf(file, ",\n  \"distributed\": [");
  for (int k = 0; k < count; k++) {
    fprintf(file, "%s\n    {\"px\": %d, \"py\": %d, \"pz\": %d, \"nrhs\": %d", k ? "," : "", m[k].layout.px,
            m[k].layout.py, m[k].layout.pz, (int)m[k].nrhs);
    write_number(file, "seconds", m[k].seconds);
    write_number(file, "error", m[k].error);
    fputc('}', file);
  }
  fputs("\n  ]\n}\n", file);
  const bool wrong = ferror(file) != 0;
  CHECK_MSG(fclose(file) == 0 && !wrong, "cannot write %s", path);
}

/* The file is written before the results are checked, so it also contains wrong results. */
static void measure(tristar_t *ts, const char *kind, int64_t k, const char *path) {
  CLEANUP(close_problem) problem q = open_problem(ts, kind, k, &typed_double, TRISTAR_SYMMETRIC);
  printf("distributed solves, %s:%d, double precision; GPUs run 20 solves in a row\n", kind, (int)k);
  measured found[2 * (LAYOUTS + 1)];
  int count = 0;
  for (int l = -1; l < LAYOUTS; l++)
    for (int many = 0; many < 2; many++) {
      measured *m = &found[count++];
      tristar_layout_init(&m->layout);
      m->layout.px = l < 0 ? 1 : (int)layouts[l].px;
      m->layout.py = l < 0 ? 1 : (int)layouts[l].py;
      m->layout.pz = l < 0 ? 1 : (int)layouts[l].pz;
      m->nrhs = many ? TYPED_COLUMNS : 1;
      measure_layout(ts, &q, m);
    }
  if (path) write_measured(path, found, count);
  for (const measured *m = found; m < found + count; m++)
    CHECK_MSG(m->error < ROUNDING * q.type->roundoff, "%dx%dx%d, %d right-hand sides: %g from the cores' x",
              m->layout.px, m->layout.py, m->layout.pz, (int)m->nrhs, m->error);
}

int main(int argc, char **argv) {
  if ((argc == 4 || argc == 5) && strcmp(argv[1], "measure") == 0) {
    CLEANUP(close_context) tristar_t *alone = open_without_starpu(false);
    measure(alone, argv[2], atoi(argv[3]), argc == 5 ? argv[4] : NULL);
    return 0;
  }
  subtests_begin(&argc, argv);
  char path[1024];
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  RUN(check_generated(ts, "s2d9pt", 7, TRISTAR_METHOD_LLT, &typed_double, 3));
  RUN(check_generated(ts, "convdiff3d", 3, TRISTAR_METHOD_LU, &typed_complex_single, 10));
  snprintf(path, sizeof path, "%s/INDEX.tsv", data_folder());
  FILE *index = fopen(path, "r");
  if (index == NULL) SKIP("only generated matrices: %s is not there", path);
  fclose(index);
  for (int k = 0; k < TESTED; k++) RUN(check_source(ts, k));
  printf("%d solves with real matrices\n", solves);
  return 0;
}
