/* Products by rows by the GPU kernel: alpha A X + beta Y against sums in double, for every scalar type, 2 to
 * 32 threads a row, one right-hand side and several. The same bits with other blocks, threads, warps and
 * schedules; several right-hand sides are those of each. Entries are loaded in whole sectors; faults that are
 * planted are seen. */
#include "tests/support/gpu/run_spmv.h"
#include "tests/support/subtests.h"
#include "tests/support/triangles.h"
#include "tests/support/typed.h"

enum { PADDING = 3, NRHS_MAX = 11 };

typedef struct scalar_pair {
  const char *scalars;
  const typed *stored, *work;
} scalar_pair;
static const scalar_pair pairs[] = {{"d", &typed_double, &typed_double},
                                    {"s", &typed_single, &typed_single},
                                    {"z", &typed_complex_double, &typed_complex_double},
                                    {"c", &typed_complex_single, &typed_complex_single},
                                    {"sd", &typed_single, &typed_double},
                                    {"cz", &typed_complex_single, &typed_complex_double}};
enum { PAIRS = sizeof pairs / sizeof *pairs };

/* A product with a lower triangle or its transpose. */
typedef struct problem {
  const scalar_pair *types;
  triangle_pattern pattern;
  void *values, *x, *y; /* x and y: n + PADDING rows or columns of length NRHS_MAX + PADDING */
  size_t bytes;         /* of y */
  tsi_gpu_spmv product;
} problem;

static void *random_array(const typed *t, int64_t count, uint64_t seed) {
  char *out = aligned_alloc(64, ((size_t)count * t->bytes + 64) / 64 * 64);
  CHECK(out != NULL);
  for (int64_t i = 0; i < count; i++) put(t, out, i, random_value(seed + (uint64_t)i));
  return out;
}

static problem problem_open(int kind, int n, bool transposed, const scalar_pair *types) {
  problem p = {.types = types, .pattern = triangle_create(kind, n, (uint64_t)kind)};
  const int64_t places = (int64_t)(n + PADDING) * (NRHS_MAX + PADDING);
  if (transposed) {
    const triangle_pattern t = triangle_transpose(&p.pattern);
    triangle_free(&p.pattern);
    p.pattern = t;
  }
  const int64_t entries = p.pattern.ptr[n];
  p.values = random_array(types->stored, entries + 1, 5);
  p.x = random_array(types->work, places, 70);
  p.y = random_array(types->work, places, 900);
  p.bytes = (size_t)places * types->work->bytes;
  p.product = (tsi_gpu_spmv){.a = {p.pattern.ptr, p.pattern.index, p.values},
                             .rows = n,
                             .threads = tsi_gpu_spmv_threads(n, entries),
                             .x = p.x,
                             .alpha = {1, 0}};
  return p;
}
static void problem_close(problem *p) {
  triangle_free(&p->pattern);
  free(p->values);
  free(p->x);
  free(p->y);
}

/* Stores right-hand sides one after the other, or by rows. */
static void set_columns(problem *p, tsi_index nrhs, bool by_rows) {
  tsi_gpu_spmv *s = &p->product;
  s->nrhs = nrhs;
  s->x_row = s->y_row = by_rows ? NRHS_MAX + PADDING : 1;
  s->x_column = s->y_column = by_rows ? 1 : s->rows + PADDING;
  if (!by_rows) s->y_column++;
}

static run_outcome run(const problem *p, void *y, const run_grid *grid) {
  tsi_gpu_spmv s = p->product;
  memcpy(y, p->y, p->bytes);
  s.y = y;
  return run_spmv(p->types->scalars, &s, s.rows, grid);
}

static run_grid grid_number(unsigned k) {
  return (run_grid){.blocks = 1 + 2 * k,
                    .resident = 1 + k % 3,
                    .threads = k % 2 ? 128 : 64,
                    .warp = run_warp(k % 2 ? 64 : 32),
                    .seed = k};
}

/* y is right up to the rounding errors of its sums, and padding is unchanged. */
static void compare(const problem *p, const void *y) {
  const tsi_gpu_spmv *s = &p->product;
  const typed *t = p->types->work;
  OWNED char *rest = xmalloc(p->bytes);
  number alpha = s->alpha[0], beta = s->beta[0];
  memcpy(rest, y, p->bytes);
  if (t->is_complex) {
    __imag__ alpha = s->alpha[1];
    __imag__ beta = s->beta[1];
  }
  for (tsi_index i = 0; i < s->rows; i++)
    for (tsi_index c = 0; c < s->nrhs; c++) {
      const int64_t at = i * s->y_row + c * s->y_column;
      number sum = 0;
      double size = 0;
      for (int64_t e = p->pattern.ptr[i]; e < p->pattern.ptr[i + 1]; e++) {
        const number a = get(p->types->stored, p->values, e),
                     x = get(t, p->x, p->pattern.index[e] * s->x_row + c * s->x_column);
        sum += a * x;
        size += cabs(a) * cabs(x);
      }
      const number before = get(t, p->y, at), wanted = alpha * sum + beta * before;
      const double entries = (double)(p->pattern.ptr[i + 1] - p->pattern.ptr[i]) + 4;
      const double differs = cabs(get(t, y, at) - wanted);
      CHECK_MSG(differs <= 2 * entries * t->roundoff * (cabs(alpha) * size + cabs(beta) * cabs(before)),
                "%s, row %d, right-hand side %d: differs by %g", p->types->scalars, (int)i, (int)c, differs);
      put(t, rest, at, before);
    }
  CHECK(memcmp(rest, p->y, p->bytes) == 0);
}

/* Mixed types only support warps of 32 lanes. */
static run_grid grid_for(const problem *p, unsigned k) {
  run_grid grid = grid_number(k);
  if (p->types->stored != p->types->work) grid.warp = run_warp(32);
  return grid;
}

static void check_case(problem *p, unsigned variant) {
  OWNED char *first = xmalloc(p->bytes), *y = xmalloc(p->bytes);
  for (unsigned k = 0; k < 2; k++) {
    const run_grid grid = grid_for(p, (variant + k) % 5);
    const run_outcome got = run(p, k == 0 ? first : y, &grid);
    CHECK_MSG(got.ended, "%s", got.problem);
  }
  CHECK_MSG(memcmp(first, y, p->bytes) == 0, "variant %u: other bits", variant);
  compare(p, first);
}

/* A column has the same bits alone and among others. */
static void check_columns(problem *p) {
  const tsi_gpu_spmv *s = &p->product;
  const typed *t = p->types->work;
  const run_grid grid = grid_for(p, 2);
  OWNED char *all = xmalloc(p->bytes), *y = xmalloc(p->bytes);
  set_columns(p, NRHS_MAX, false);
  CHECK(run(p, all, &grid).ended);
  for (tsi_index c = 0; c < NRHS_MAX; c++) {
    problem one = *p;
    one.product.nrhs = 1;
    one.product.x = (const char *)s->x + (size_t)(c * s->x_column) * t->bytes;
    one.y = (char *)p->y + (size_t)(c * s->y_column) * t->bytes;
    one.bytes = (size_t)s->rows * t->bytes;
    CHECK(run(&one, y, &grid).ended);
    CHECK(memcmp(y, all + (size_t)(c * s->y_column) * t->bytes, one.bytes) == 0);
  }
}

/* All patterns with the numbers of threads per row that the library would choose, and with others. */
static void check_patterns(void) {
  unsigned variant = 0;
  for (int kind = 0; kind < TRIANGLES; kind++)
    for (int type = 0; type < PAIRS; type++) {
      CLEANUP(problem_close)
      problem p = problem_open(kind, kind == TRIANGLE_DENSE ? 75 : 130, (kind + type) % 2, &pairs[type]);
      const int chosen = p.product.threads;
      CHECK(chosen >= 2 && chosen <= 32);
      for (int threads = 2; threads <= 32; threads *= 2, variant++) {
        if (threads != chosen && (variant + (unsigned)type) % 3 != 0) continue;
        p.product.threads = threads;
        p.product.alpha[0] = variant % 2 ? -1.5 : 1;
        p.product.alpha[1] = variant % 4 == 3 ? 0.5 : 0;
        p.product.beta[0] = variant % 3 == 1 ? 0.75 : 0;
        p.product.beta[1] = variant % 3 == 2 && pairs[type].work->is_complex ? 2 : 0;
        set_columns(&p, variant % 4 == 0 ? 1 : variant % 4 == 1 ? NRHS_MAX : 3, variant % 5 < 2);
        check_case(&p, variant);
      }
      if (kind == TRIANGLE_RANDOM) check_columns(&p);
    }
}

/* most: maximum ratio of the bytes of sectors to the bytes that lanes read. */
static void check_loads(int kind, const scalar_pair *types, double most) {
  CLEANUP(problem_close) problem p = problem_open(kind, 300, false, types);
  OWNED char *y = xmalloc(p.bytes);
  run_grid grid = grid_number(0);
  grid.count_loads = true;
  set_columns(&p, 1, false);
  const run_outcome got = run(&p, y, &grid);
  CHECK_MSG(got.ended, "%s", got.problem);
  CHECK_MSG(got.sectors * 32 <= most * got.bytes, "%s, %s: %g sectors for %g bytes", triangle_names[kind],
            types->scalars, got.sectors, got.bytes);
}

static void check_faults(void) {
  static const int faults[] = {GPU_FAULT_LANE, GPU_FAULT_TAIL, GPU_FAULT_TILE};
  CLEANUP(problem_close) problem p = problem_open(TRIANGLE_RANDOM, 100, false, &pairs[0]);
  OWNED char *right = xmalloc(p.bytes), *y = xmalloc(p.bytes);
  run_grid grid = grid_number(1);
  set_columns(&p, 3, false);
  CHECK(run(&p, right, &grid).ended);
  for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
    grid.fault = faults[k];
    CHECK(run(&p, y, &grid).ended && memcmp(right, y, p.bytes) != 0);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CHECK(tsi_gpu_spmv_threads(0, 0) == 2 && tsi_gpu_spmv_threads(10, 10) == 2);
  CHECK(tsi_gpu_spmv_threads(10, 21) == 4 && tsi_gpu_spmv_threads(10, 70) == 8);
  CHECK(tsi_gpu_spmv_threads(10, 160) == 16 && tsi_gpu_spmv_threads(10, 1000) == 32);
  RUN(check_patterns());
  if (!run_has_faults()) return 0;
  RUN(check_loads(TRIANGLE_DENSE, &pairs[0], 1.3));
  RUN(check_loads(TRIANGLE_BANDED, &pairs[0], 1.5));
  RUN(check_loads(TRIANGLE_GRID, &pairs[2], 1.5));
  RUN(check_faults());
  return 0;
}
