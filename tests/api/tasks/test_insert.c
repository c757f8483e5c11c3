/* Inserted solves give the bits of tristar_solve for every kind of handle, scalar type, op, number of
 * right-hand sides; handles that do not fit are refused with a message that says why. */
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_starpu.h"

/* ---- Arrays and handles -------------------------------------------------------------------------------- */

/* A column-major array and the handles that represent it. */
enum { VECTOR, MATRIX, BLOCK, FLAT_BLOCK, ROWS, COLUMNS, SCATTERED, PARTITIONED, PLANNED, KINDS };
enum { PIECES = 3 };

typedef struct data {
  int kind;
  int64_t n, nrhs, ld;
  size_t scalar;
  char *array;
  char *apart[PIECES]; /* pieces of SCATTERED */
  starpu_data_handle_t whole, piece[PIECES];
  int64_t pieces;
  const starpu_data_handle_t *handle;
} data;

static char *at(const data *d, int64_t i, int64_t j) {
  return d->array + (size_t)(i + j * d->ld) * d->scalar;
}

static void register_rows(data *d) {
  for (int64_t k = 0, row = 0; k < PIECES; k++) {
    const int64_t rows = k + 1 < PIECES ? d->n / 4 + k : d->n - row;
    uintptr_t place = (uintptr_t)at(d, row, 0);
    int64_t ld = d->ld;
    if (d->kind == SCATTERED) {
      ld = rows + 3;
      d->apart[k] = xcalloc((size_t)(ld * d->nrhs), d->scalar);
      place = (uintptr_t)d->apart[k];
      for (int64_t j = 0; j < d->nrhs; j++)
        memcpy(d->apart[k] + (size_t)(j * ld) * d->scalar, at(d, row, j), (size_t)rows * d->scalar);
    }
    starpu_matrix_data_register(&d->piece[k], STARPU_MAIN_RAM, place, (uint32_t)ld, (uint32_t)rows,
                                (uint32_t)d->nrhs, d->scalar);
    row += rows;
  }
}

static void register_columns(data *d) {
  for (int64_t k = 0, column = 0; k < PIECES; k++) {
    const int64_t columns = k + 1 < PIECES ? d->nrhs / 4 : d->nrhs - column;
    starpu_matrix_data_register(&d->piece[k], STARPU_MAIN_RAM, (uintptr_t)at(d, 0, column), (uint32_t)d->ld,
                                (uint32_t)d->n, (uint32_t)columns, d->scalar);
    column += columns;
  }
}

static struct starpu_data_filter by_rows = {.filter_func = starpu_matrix_filter_block, .nchildren = PIECES};

/* BLOCK: nrhs = 5 x rest. FLAT_BLOCK: the planes have gaps, so there is no single stride between columns. */
static void register_data(data *d) {
  d->handle = &d->whole;
  d->pieces = 1;
  const uintptr_t place = (uintptr_t)d->array;
  const uint32_t ld = (uint32_t)d->ld, n = (uint32_t)d->n, nrhs = (uint32_t)d->nrhs;
  switch (d->kind) {
  case VECTOR:
    starpu_vector_data_register(&d->whole, STARPU_MAIN_RAM, place, n, d->scalar);
    return;
  case BLOCK:
  case FLAT_BLOCK: {
    const uint32_t ny = nrhs % 5 == 0 ? 5 : 1;
    starpu_block_data_register(&d->whole, STARPU_MAIN_RAM, place, ld, ld * ny, n, ny, nrhs / ny, d->scalar);
    return;
  }
  case ROWS:
  case SCATTERED:
  case COLUMNS:
    (d->kind == COLUMNS ? register_columns : register_rows)(d);
    d->handle = d->piece;
    d->pieces = PIECES;
    return;
  default:
    starpu_matrix_data_register(&d->whole, STARPU_MAIN_RAM, place, ld, n, nrhs, d->scalar);
  }
  if (d->kind == PARTITIONED) starpu_data_partition(d->whole, &by_rows);
  if (d->kind == PLANNED) {
    starpu_data_partition_plan(d->whole, &by_rows, d->piece);
    starpu_data_partition_submit(d->whole, PIECES, d->piece);
    d->handle = d->piece;
    d->pieces = PIECES;
  }
}

static void unregister_data(data *d) {
  if (d->kind == PARTITIONED) starpu_data_unpartition(d->whole, STARPU_MAIN_RAM);
  if (d->kind == PLANNED) {
    starpu_data_unpartition_submit(d->whole, PIECES, d->piece, STARPU_MAIN_RAM);
    starpu_data_partition_clean(d->whole, PIECES, d->piece);
  }
  for (int64_t k = 0, row = 0; k < d->pieces && d->pieces > 1 && d->kind != PLANNED; k++) {
    starpu_data_unregister(d->piece[k]);
    if (d->kind != SCATTERED) continue;
    const int64_t rows = k + 1 < PIECES ? d->n / 4 + k : d->n - row;
    for (int64_t j = 0; j < d->nrhs; j++)
      memcpy(at(d, row, j), d->apart[k] + (size_t)(j * (rows + 3)) * d->scalar, (size_t)rows * d->scalar);
    free(d->apart[k]);
    row += rows;
  }
  if (d->pieces == 1 || d->kind == PLANNED) starpu_data_unregister(d->whole);
}

/* ---- Every kind, type, op ------------------------------------------------------------------------------ */

typedef struct system_of {
  const typed *t;
  tristar_view view;
  void *values;
  tristar_matrix_t *matrix;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
} system_of;

static void system_create(tristar_t *ts, const typed *t, tristar_engine engine, system_of *s) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  s->t = t;
  s->view = generated_view(ts, "convdiff3d", 5, &s->matrix);
  s->values = typed_values(t, &s->view);
  s->view.values = s->values;
  s->view.scalar = t->scalar;
  CHECK_OK(tristar_analyze(ts, &s->view, NULL, &s->analysis));
  CHECK_OK(tristar_factor(s->analysis, s->values, &s->factor));
  options.engine = engine;
  options.chunk_bytes_max = 6000;
  CHECK_OK(tristar_plan(s->factor, &options, &s->plan));
}

static void system_destroy(system_of *s) {
  tristar_plan_destroy(&s->plan);
  tristar_factor_destroy(&s->factor);
  tristar_analysis_destroy(&s->analysis);
  tristar_matrix_destroy(&s->matrix);
  free(s->values);
}

static data data_create(const system_of *s, int kind, int64_t nrhs, int64_t gap, uint64_t seed) {
  data d = {.kind = kind, .n = s->view.rows, .nrhs = nrhs, .scalar = s->t->bytes};
  d.ld = d.n + gap;
  d.array = xcalloc((size_t)(d.ld * nrhs), d.scalar);
  for (int64_t j = 0; j < nrhs; j++)
    for (int64_t i = 0; i < d.n; i++) {
      double value[2];
      fill_random(value, 2, seed + (uint64_t)(i + d.n * j));
      number z = value[0];
      __imag__ z = value[1];
      put(s->t, d.array, i + j * d.ld, z);
    }
  return d;
}

/* Solves with x of kind x_kind and b of kind b_kind. in_place: x is b. */
static void check_kinds(const system_of *s, tristar_op op, int64_t nrhs, int b_kind, int x_kind,
                        bool in_place) {
  data b = data_create(s, b_kind, nrhs, b_kind == VECTOR ? 0 : 5, 1);
  data x = data_create(s, x_kind, nrhs, x_kind == VECTOR ? 0 : 2, 77);
  data *to = in_place ? &b : &x;
  OWNED char *expected = xmalloc((size_t)(b.n * nrhs) * b.scalar);
  tristar_insert_options options = DEFAULTS(tristar_insert_options);
  CHECK_OK(tristar_solve(s->plan, op, nrhs, b.array, b.ld, expected, b.n));
  register_data(&b);
  if (!in_place) register_data(&x);
  options.op = op;
  CHECK_OK(tristar_solve_insert_pieces(s->plan, &options, b.pieces, b.handle, to->pieces, to->handle));
  CHECK_OK(tristar_plan_wait(s->plan));
  unregister_data(&b);
  if (!in_place) unregister_data(&x);
  for (int64_t j = 0; j < nrhs; j++)
    CHECK_MSG(memcmp(at(to, 0, j), expected + (size_t)(j * b.n) * b.scalar, (size_t)b.n * b.scalar) == 0,
              "type %c, op %c, %d right-hand sides, kinds %d and %d%s: other bits", (char)s->t->scalar,
              (char)op, (int)nrhs, b_kind, x_kind, in_place ? ", in place" : "");
  free(b.array);
  free(x.array);
}

static void check_type(tristar_t *ts, const typed *t, tristar_engine engine, bool all) {
  static const int64_t counts[] = {1, 5, 70, 200};
  CLEANUP(system_destroy) system_of s;
  system_create(ts, t, engine, &s);
  for (int c = 0; c < (all ? 4 : 2); c++)
    for (int kind = counts[c] == 1 ? VECTOR : MATRIX; kind < KINDS; kind++) {
      if (kind == COLUMNS && counts[c] < 4) continue;
      check_kinds(&s, typed_ops[(kind + c) % 3], counts[c], kind, kind, false);
      check_kinds(&s, typed_ops[(kind + c + 1) % 3], counts[c], kind, kind, true);
      check_kinds(&s, TRISTAR_N, counts[c], kind, MATRIX, false);
      check_kinds(&s, TRISTAR_N, counts[c], MATRIX, kind, false);
    }
}

/* ---- What does not fit --------------------------------------------------------------------------------- */

static void check_refused(tristar_t *ts, tristar_plan_t *plan, starpu_data_handle_t b, starpu_data_handle_t x,
                          const char *part) {
  CHECK_STATUS(tristar_solve_insert(plan, TRISTAR_N, b, x), TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(ts, part);
  CHECK_OK(tristar_plan_wait(plan)); /* no solve is in flight */
}

static void check_bad_handles(tristar_t *ts) {
  CLEANUP(system_destroy) system_of s;
  char given[64], wanted[64];
  tristar_insert_options options;
  starpu_data_handle_t void_handle, small, floats;
  system_create(ts, &typed_double, TRISTAR_ENGINE_TASKS, &s);
  data b = data_create(&s, MATRIX, 2, 0, 1), x = data_create(&s, MATRIX, 2, 0, 1),
       one = data_create(&s, VECTOR, 1, 0, 1);
  register_data(&b);
  register_data(&x);
  register_data(&one);
  starpu_void_data_register(&void_handle);
  starpu_matrix_data_register(&small, STARPU_MAIN_RAM, (uintptr_t)b.array, 100, 100, 2, sizeof(double));
  starpu_matrix_data_register(&floats, STARPU_MAIN_RAM, (uintptr_t)b.array, (uint32_t)s.view.rows,
                              (uint32_t)s.view.rows, 2, sizeof(float));
  check_refused(ts, s.plan, NULL, x.whole, "a handle of b is NULL");
  check_refused(ts, s.plan, b.whole, NULL, "a handle of x is NULL");
  check_refused(ts, s.plan, b.whole, void_handle, "x is neither a matrix");
  snprintf(given, sizeof given, "b has %d rows", 100);
  snprintf(wanted, sizeof wanted, "the system has %d", (int)s.view.rows);
  check_refused(ts, s.plan, small, x.whole, given);
  check_refused(ts, s.plan, small, x.whole, wanted);
  check_refused(ts, s.plan, b.whole, floats, "x has elements of 4 bytes");
  check_refused(ts, s.plan, one.whole, x.whole, "b has 1 right-hand sides, but x has 2");
  const starpu_data_handle_t twice[] = {small, small};
  CHECK_STATUS(tristar_solve_insert_pieces(s.plan, NULL, 1, &b.whole, 2, twice), TRISTAR_ERR_ARGUMENT);
  const starpu_data_handle_t columns[] = {one.whole,
                                          one.whole}; /* a handle may be read twice, but not written */
  CHECK_STATUS(tristar_solve_insert_pieces(s.plan, NULL, 1, &b.whole, 2, columns), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_solve_insert_pieces(s.plan, NULL, 2, columns, 1, &x.whole));
  CHECK_STATUS(tristar_solve_insert_pieces(s.plan, NULL, 0, columns, 1, &x.whole), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_solve_insert_pieces(s.plan, NULL, 1, NULL, 1, &x.whole), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_solve_insert(NULL, TRISTAR_N, b.whole, x.whole), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_solve_insert(s.plan, (tristar_op)'Q', b.whole, x.whole), TRISTAR_ERR_ARGUMENT);
  tristar_insert_options_init(&options);
  options.in_flight = -1;
  CHECK_STATUS(tristar_solve_insert_with(s.plan, &options, b.whole, x.whole), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_plan_wait(NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_plan_wait(s.plan));
  starpu_data_unregister(void_handle);
  starpu_data_unregister(small);
  starpu_data_unregister(floats);
  unregister_data(&b);
  unregister_data(&x);
  unregister_data(&one);
  free(b.array);
  free(x.array);
  free(one.array);
}

/* Blocks with gaps between their planes, of one column or several. */
static void check_planes(tristar_t *ts) {
  CLEANUP(system_destroy) system_of s;
  system_create(ts, &typed_double, TRISTAR_ENGINE_TASKS, &s);
  const int64_t n = s.view.rows, ld = n + 2;
  for (int64_t ny = 1; ny <= 3; ny += 2) {
    enum { PLANES = 4 };
    const int64_t plane = ld * ny + 5, columns = ny * PLANES;
    OWNED double *b = xmalloc((size_t)(plane * PLANES) * sizeof *b),
                 *x = xmalloc((size_t)(plane * PLANES) * sizeof *x),
                 *packed = xmalloc((size_t)(n * columns) * sizeof *packed);
    starpu_data_handle_t b_handle, x_handle;
    fill_random(b, plane * PLANES, 8);
    for (int64_t i = 0; i < plane * PLANES; i++) x[i] = 7;
    for (int64_t j = 0; j < columns; j++)
      memcpy(packed + j * n, b + j / ny * plane + j % ny * ld, (size_t)n * sizeof *b);
    CHECK_OK(tristar_solve(s.plan, TRISTAR_N, columns, packed, n, packed, n));
    starpu_block_data_register(&b_handle, STARPU_MAIN_RAM, (uintptr_t)b, (uint32_t)ld, (uint32_t)plane,
                               (uint32_t)n, (uint32_t)ny, PLANES, sizeof *b);
    starpu_block_data_register(&x_handle, STARPU_MAIN_RAM, (uintptr_t)x, (uint32_t)ld, (uint32_t)plane,
                               (uint32_t)n, (uint32_t)ny, PLANES, sizeof *x);
    CHECK_OK(tristar_solve_insert(s.plan, TRISTAR_N, b_handle, x_handle));
    CHECK_OK(tristar_plan_wait(s.plan));
    starpu_data_unregister(b_handle);
    starpu_data_unregister(x_handle);
    for (int64_t j = 0; j < columns; j++) {
      const double *at_j = x + j / ny * plane + j % ny * ld;
      CHECK_MSG(memcmp(at_j, packed + j * n, (size_t)n * sizeof *x) == 0, "%d columns a plane: column %d",
                (int)ny, (int)j);
      CHECK(at_j[n] >= 7 && at_j[n] <= 7);
    }
  }
}

/* x overlaps a part of b and is registered separately: b is read before x is written. */
static void check_overlap(tristar_t *ts) {
  CLEANUP(system_destroy) system_of s;
  system_create(ts, &typed_double, TRISTAR_ENGINE_TASKS, &s);
  const int64_t n = s.view.rows;
  data b = data_create(&s, MATRIX, 4, 0, 1), x = b;
  double *expected = xmalloc((size_t)(2 * n) * sizeof *expected);
  x.nrhs = b.nrhs = 2;
  x.array = b.array + (size_t)n * sizeof(double); /* the second column of b is the first column of x */
  CHECK_OK(tristar_solve(s.plan, TRISTAR_N, 2, b.array, n, expected, n));
  register_data(&b);
  register_data(&x);
  CHECK_OK(tristar_solve_insert(s.plan, TRISTAR_N, b.whole, x.whole));
  unregister_data(&x); /* unregistering waits for the solve */
  unregister_data(&b);
  CHECK(memcmp(x.array, expected, (size_t)(2 * n) * sizeof *expected) == 0);
  free(expected);
  free(b.array);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  tristar_t *ts;
  tristar_config config = DEFAULTS(tristar_config);
  CHECK(starpu_init(NULL) == 0);
  CHECK_OK(tristar_create(NULL, &ts));
  RUN(check_type(ts, &typed_double, TRISTAR_ENGINE_TASKS, true));
  RUN(check_type(ts, &typed_double, TRISTAR_ENGINE_SERIAL, false));
  for (int k = 0; k < 3; k++) RUN(check_type(ts, types[k], TRISTAR_ENGINE_TASKS, false));
  RUN(check_bad_handles(ts));
  RUN(check_planes(ts));
  RUN(check_overlap(ts));
  tristar_destroy(&ts);
  config.use_starpu = 0; /* a context without StarPU cannot insert tasks */
  CHECK_OK(tristar_create(&config, &ts));
  system_of s;
  system_create(ts, &typed_double, TRISTAR_ENGINE_AUTO, &s);
  data x = data_create(&s, VECTOR, 1, 0, 1);
  register_data(&x);
  CHECK_STATUS(tristar_solve_insert(s.plan, TRISTAR_N, x.whole, x.whole), TRISTAR_ERR_UNSUPPORTED);
  unregister_data(&x);
  free(x.array);
  system_destroy(&s);
  tristar_destroy(&ts);
  starpu_shutdown();
  return 0;
}
