/* Rows of sparse approximate inverses by the GPU kernels against those of the cores: the same patterns, and
 * values within roundoff, of every scalar type; the same bits with other blocks, threads, warps and
 * schedules, in shared memory and not. G^H. Rows without a pivot, with NaN, without room; faults that are
 * planted are seen. */
#include "runtime/iterate/precond/fsai_state.h"
#include "runtime/iterate/precond/precond.h"
#include "tests/support/context.h"
#include "tests/support/gpu/hermitian.h"
#include "tests/support/gpu/run_fsai.h"
#include "tests/support/gpu/runs.h"
#include "tests/support/subtests.h"

static const typed *const types[] = {&typed_double, &typed_single, &typed_complex_double,
                                     &typed_complex_single};

static run_grid grid_number(unsigned k) {
  return (run_grid){.blocks = 1 + 2 * k,
                    .resident = 1 + k % 3,
                    .threads = k % 2 ? 128 : 64,
                    .warp = run_warp(k % 2 ? 64 : 32),
                    .seed = k};
}

static void launch(const hermitian *a, const device_inverse *d, bool shared, const run_grid *grid) {
  const char scalars[] = {(char)a->t->scalar, 0};
  run_outcome got = run_fsai(scalars, &d->rows, a->n, shared, grid);
  CHECK_MSG(got.ended, "%s", got.problem);
  got = run_fsai_rows(scalars, &d->packed, grid);
  CHECK_MSG(got.ended, "%s", got.problem);
}

/* ---- Like the cores ------------------------------------------------------------------------------------ */

static tristar_precond_options options_of(int64_t steps, int64_t per_step, double reduction) {
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  options.kind = TRISTAR_PRECOND_FSAI;
  options.engine = TRISTAR_ENGINE_SERIAL;
  options.steps = steps;
  options.per_step = per_step;
  options.reduction = reduction;
  return options;
}

static device_inverse device_of(const hermitian *a, const tristar_precond_options *o) {
  const tsi_fsai_limits limits = {.steps = (tsi_index)o->steps,
                                  .per_step = (tsi_index)o->per_step,
                                  .reduction = o->reduction,
                                  .postfilter = o->postfilter};
  return device_inverse_create(a, &limits, o->power > 0 ? &a->lower : NULL);
}

/* Rows of g, computed by the cores, equal those of the device. */
static void compare(const hermitian *a, const tsi_entries *g, const tsi_gpu_fsai_rows *rows) {
  for (tsi_index i = 0; i < a->n; i++) {
    const tsi_count begin = g->ptr[i], entries = g->ptr[i + 1] - begin;
    CHECK_MSG(rows->entries[i] == entries && rows->ptr[i] == begin, "row %d has %d entries for %d", (int)i,
              (int)rows->entries[i], (int)entries);
    const double diagonal = cabs(get(a->t, g->item, begin + entries - 1));
    for (tsi_count e = begin; e < begin + entries; e++) {
      const double differs = cabs(get(a->t, rows->packed_values, e) - get(a->t, g->item, e));
      CHECK_MSG(rows->packed_index[e] == g->index[e], "row %d has column %d for %d", (int)i,
                (int)rows->packed_index[e], (int)g->index[e]);
      CHECK_MSG(differs <= 200 * (double)entries * a->t->roundoff * diagonal, "(%d, %d) differs by %g",
                (int)i, (int)g->index[e], differs);
    }
  }
  CHECK(rows->ptr[a->n] == g->ptr[a->n]);
}

static void check_like_cores(tristar_t *ts, const hermitian *a, const tristar_precond_options *options,
                             unsigned variant) {
  const tristar_view view = hermitian_view(a);
  device_inverse first = device_of(a, options), other = device_of(a, options);
  const run_grid grid = grid_number(variant % 4), another = grid_number((variant + 1) % 4);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, options);
  launch(a, &first, variant % 3 == 0, &grid);
  for (tsi_index i = 0; i < a->n; i++) CHECK(first.rows.kind[i] == TSI_BREAKDOWN_NONE);
  compare(a, &p->fsai->lower, &first.packed);
  launch(a, &other, variant % 3 == 1, &another);
  const size_t entries = (size_t)first.packed.ptr[a->n];
  CHECK(memcmp(first.packed.ptr, other.packed.ptr, ((size_t)a->n + 1) * sizeof(tsi_count)) == 0);
  CHECK(memcmp(first.packed.packed_index, other.packed.packed_index, entries * sizeof(tsi_index)) == 0);
  CHECK(memcmp(first.packed.packed_values, other.packed.packed_values, entries * a->t->bytes) == 0);
  device_inverse_free(&first);
  device_inverse_free(&other);
}

/* Patterns of each kind, rows with more columns than a warp has lanes, static patterns, stopping criteria,
 * filters. */
static void check_patterns(tristar_t *ts) {
  static const int kinds[] = {TRIANGLE_RANDOM, TRIANGLE_ARROW,      TRIANGLE_DIAGONAL, TRIANGLE_DENSE,
                              TRIANGLE_GRID,   TRIANGLE_EMPTY_ROWS, TRIANGLE_BANDED};
  tristar_precond_options options[] = {options_of(4, 3, 0),  options_of(5, 1, 0.8), options_of(0, 1, 0),
                                       options_of(2, 25, 0), options_of(2, 2, 0),   options_of(4, 2, 0)};
  unsigned variant = 0;
  options[2].power = options[4].power = 1;
  options[4].postfilter = 0.05;
  options[5].postfilter = 0.2;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (int type = 0; type < (TSI_TESTS_RACES ? 1 : 4); type++) {
      const int n = kinds[k] == TRIANGLE_ARROW ? 70 : kinds[k] == TRIANGLE_DENSE ? 44 : 30;
      CLEANUP(hermitian_free)
      hermitian a = hermitian_create(triangle_create(kinds[k], n, k), types[type], 0.9, 17 * k);
      const unsigned count = sizeof options / sizeof *options;
      for (unsigned o = (unsigned)k % (type == 0 ? 2 : 3); o < count; o += type == 0 ? 2 : 3, variant++)
        check_like_cores(ts, &a, &options[o], variant);
    }
}

static void check_small(tristar_t *ts) {
  const tristar_precond_options grows = options_of(3, 2, 0), stays = options_of(0, 1, 0);
  for (int n = 1; n < 4; n++) {
    CLEANUP(hermitian_free)
    hermitian a = hermitian_create(triangle_create(TRIANGLE_DENSE, n, 3), &typed_double, 2, 5);
    check_like_cores(ts, &a, &grows, (unsigned)n);
    check_like_cores(ts, &a, &stays, (unsigned)n);
  }
}

/* If entries of the gradient are equal, the smaller columns join. */
static void check_ties(tristar_t *ts) {
  const tristar_precond_options options = options_of(1, 2, 0);
  CLEANUP(hermitian_free)
  hermitian a = hermitian_create(triangle_create(TRIANGLE_DENSE, 40, 3), &typed_double, 2, 5);
  for (tsi_index i = 0; i < a.n; i++)
    for (tsi_index j = 0; j <= i; j++) hermitian_put(&a, i, j, i == j ? 60 : (i + j) % 2 ? 1 : -1);
  check_like_cores(ts, &a, &options, 1);
}

/* ---- G^H ----------------------------------------------------------------------------------------------- */

/* The transpose of the lower triangle of a matrix, with rows of all lengths: each column becomes a row,
 * conjugated. */
static void check_adjoint(int kind, int n, const typed *t, unsigned variant) {
  CLEANUP(hermitian_free) hermitian a = hermitian_create(triangle_create(kind, n, 3), t, 0.9, 5);
  const size_t entries = (size_t)a.lower.ptr[n];
  const run_grid grid = grid_number(variant);
  const char scalars[] = {(char)t->scalar, 0};
  CLEANUP(triangle_free) triangle_pattern right = triangle_transpose(&a.lower);
  const tsi_gpu_fsai_adjoint s = {.g = {a.lower.ptr, a.lower.index, a.lower_values},
                                  .n = n,
                                  .ptr = xmalloc(((size_t)n + 1) * sizeof(tsi_count)),
                                  .index = xmalloc(entries * sizeof(tsi_index) + 1),
                                  .values = xmalloc(entries * t->bytes + 1)};
  CHECK(s.ptr != NULL && s.index != NULL && s.values != NULL);
  const run_outcome got = run_fsai_adjoint(scalars, &s, &grid);
  CHECK_MSG(got.ended, "%s", got.problem);
  CHECK(memcmp(s.ptr, right.ptr, ((size_t)n + 1) * sizeof(tsi_count)) == 0);
  CHECK(memcmp(s.index, right.index, entries * sizeof(tsi_index)) == 0);
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count e = s.ptr[j]; e < s.ptr[j + 1]; e++)
      CHECK(get(t, s.values, e) == conj(hermitian_get(&a, s.index[e], j)));
  free(s.ptr);
  free(s.index);
  free(s.values);
}

static void check_adjoints(void) {
  for (int kind = 0; kind < TRIANGLES; kind++)
    check_adjoint(kind, kind == TRIANGLE_DENSE ? 75 : 140, types[kind % 4], (unsigned)kind % 4);
  check_adjoint(TRIANGLE_DENSE, 1, &typed_double, 0);
}

/* ---- Rows that do not end well ------------------------------------------------------------------------- */

static int kind_of(const hermitian *a, const device_inverse *d, tsi_index i) {
  const run_grid grid = grid_number(1);
  launch(a, d, false, &grid);
  CHECK((d->rows.entries[i] == 0) == (d->rows.kind[i] != TSI_BREAKDOWN_NONE));
  CHECK(d->packed.ptr[i + 1] - d->packed.ptr[i] == d->rows.entries[i]);
  return d->rows.kind[i];
}

static void check_breakdowns(tristar_t *ts, const typed *t) {
  const tristar_precond_options options = options_of(3, 2, 0);
  CLEANUP(hermitian_free) hermitian a = hermitian_create(triangle_create(TRIANGLE_BANDED, 30, 3), t, 0.9, 5);
  CLEANUP(device_inverse_free) device_inverse d = device_of(&a, &options);
  tristar_view view = hermitian_view(&a);
  tristar_precond_t *p;
  const number diagonal = hermitian_get(&a, 20, 20);
  hermitian_put(&a, 20, 20, -1);
  CHECK(kind_of(&a, &d, 20) == TSI_BREAKDOWN_NOT_POSITIVE);
  /* Other rows do not use this column, or detect the failure when it joins, as on the cores. */
  for (tsi_index i = 0; i < 20; i++) CHECK(d.rows.kind[i] == TSI_BREAKDOWN_NONE);
  CHECK_STATUS(tristar_precond(ts, &view, &options, &p), TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  hermitian_put(&a, 20, 20, 1e-3); /* not definite together with its neighbours */
  CHECK(kind_of(&a, &d, 20) == TSI_BREAKDOWN_NOT_POSITIVE);
  hermitian_put(&a, 20, 20, (double)INFINITY);
  CHECK(kind_of(&a, &d, 20) == TSI_BREAKDOWN_NOT_FINITE);
  hermitian_put(&a, 20, 20, diagonal);
  CHECK(kind_of(&a, &d, 20) == TSI_BREAKDOWN_NONE);
}

/* Less memory than all rows need. Rows that fit are the same; the others are reported, and can be computed
 * separately with more memory. */
static void check_space(void) {
  const tristar_precond_options options = options_of(3, 2, 0);
  CLEANUP(hermitian_free)
  hermitian a = hermitian_create(triangle_create(TRIANGLE_POWER_LAW, 64, 3), &typed_double, 0.9, 5);
  device_inverse d = device_of(&a, &options), whole = device_of(&a, &options), rest = device_of(&a, &options);
  const run_grid grid = grid_number(0);
  tsi_index *wanted = xmalloc((size_t)a.n * sizeof *wanted), large = 0;
  d.rows.slots = 40;
  tsi_gpu_fsai_lay_out(&d.rows, a.t->bytes, a.t->bytes);
  launch(&a, &whole, false, &grid);
  launch(&a, &d, true, &grid);
  for (tsi_index i = 0; i < a.n; i++) {
    CHECK(d.rows.kind[i] == TSI_BREAKDOWN_NONE || d.rows.kind[i] == TSI_FSAI_ROW_LARGE);
    if (d.rows.kind[i] == TSI_FSAI_ROW_LARGE) wanted[large++] = i;
  }
  CHECK(large > 0 && large < a.n && d.rows.kind[39] == TSI_BREAKDOWN_NONE);
  rest.rows.row = wanted;
  rest.rows.count = rest.packed.count = large;
  launch(&a, &rest, false, &grid);
  for (tsi_index i = 0, k = 0; i < a.n; i++) {
    const bool again = d.rows.kind[i] == TSI_FSAI_ROW_LARGE;
    const tsi_gpu_fsai *from = again ? &rest.rows : &d.rows;
    const size_t at = (size_t)(again ? k++ : i) * (size_t)whole.rows.stride,
                 to = (size_t)i * (size_t)whole.rows.stride, entries = (size_t)whole.rows.entries[i];
    CHECK(memcmp(from->index + at, whole.rows.index + to, entries * sizeof(tsi_index)) == 0);
    CHECK(memcmp((const double *)from->values + at, (const double *)whole.rows.values + to,
                 entries * sizeof(double)) == 0);
  }
  free(wanted);
  device_inverse_free(&d);
  device_inverse_free(&whole);
  device_inverse_free(&rest);
}

/* The workspace is large enough for all arrays, and blocks use at most the shared memory that is allowed. */
static void check_spaces(void) {
  const tsi_fsai_limits few = {.steps = 5, .per_step = 3}, many = {.steps = 100, .per_step = 20};
  tsi_gpu_fsai s = {.limits = few};
  s.most = tsi_gpu_fsai_most(1000000, 4, &few);
  s.slots = tsi_gpu_fsai_slots(1000000, 7, s.most, &few);
  CHECK(s.most == 19 && s.slots == 19 + 20 * 7);
  CHECK(tsi_gpu_fsai_most(10, 4, &few) == 9 && tsi_gpu_fsai_slots(10, 7, 9, &few) == 10);
  tsi_gpu_fsai_lay_out(&s, 16, 8);
  CHECK(s.homes >= 2 * s.slots && (s.homes & (s.homes - 1)) == 0 && s.stride == 20);
  for (unsigned lanes = 32; lanes <= 64; lanes *= 2) {
    const unsigned threads = tsi_gpu_fsai_shared(&s, lanes, 256);
    CHECK(threads >= lanes && threads % lanes == 0);
    CHECK(threads / lanes * s.space.bytes <= TSI_FSAI_SHARED_BYTES);
  }
  s.limits = many;
  s.most = tsi_gpu_fsai_most(1000000, 0, &many);
  s.slots = tsi_gpu_fsai_slots(1000000, 7, s.most, &many);
  tsi_gpu_fsai_lay_out(&s, 8, 8);
  CHECK(s.at_once == 20 && s.space.bytes > (size_t)8 * 2000 * 1999 / 2);
  CHECK(tsi_gpu_fsai_shared(&s, 32, 256) == 0);
}

/* ---- Faults -------------------------------------------------------------------------------------------- */

static void check_faults(void) {
  /* Only the thread sanitizer detects a missing barrier in the gradient: test_gpu_fsai_races. */
  static const int faults[] = {GPU_NO_FAULT, GPU_FAULT_BARRIER, GPU_FAULT_LANE};
  const tristar_precond_options options = options_of(4, 3, 0);
  CLEANUP(hermitian_free)
  hermitian a = hermitian_create(triangle_create(TRIANGLE_RANDOM, 44, 2), &typed_double, 0.9, 5);
  device_inverse right = device_of(&a, &options), d = device_of(&a, &options);
  run_grid grid = grid_number(0);
  launch(&a, &right, false, &grid);
  for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
    bool seen = false;
    for (unsigned seed = 0; seed < 6 && !seen; seed++) {
      grid = grid_number(seed);
      grid.fault = faults[k];
      const run_outcome got = run_fsai("d", &d.rows, a.n, seed % 2 == 1, &grid);
      seen = !got.ended;
      for (tsi_index i = 0; i < a.n && !seen; i++) {
        const size_t at = (size_t)i * (size_t)d.rows.stride, entries = (size_t)right.rows.entries[i];
        seen = d.rows.entries[i] != right.rows.entries[i] ||
               memcmp(d.rows.index + at, right.rows.index + at, entries * sizeof(tsi_index)) != 0 ||
               memcmp((const double *)d.rows.values + at, (const double *)right.rows.values + at,
                      entries * sizeof(double)) != 0;
      }
    }
    CHECK_MSG(seen == (faults[k] != GPU_NO_FAULT), "fault %d", faults[k]);
  }
  device_inverse_free(&right);
  device_inverse_free(&d);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  RUN(check_patterns(ts));
  RUN(check_small(ts));
  RUN(check_ties(ts));
  for (int k = 0; k < 4; k++) RUN(check_breakdowns(ts, types[k]));
  RUN(check_adjoints());
  RUN(check_space());
  RUN(check_spaces());
  if (run_has_faults()) RUN(check_faults());
  return 0;
}
