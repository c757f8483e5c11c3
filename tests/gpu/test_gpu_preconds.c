/* Preconditioners that an emulated device applies, by public calls: FSAI and pairs by products, incomplete
 * factors by sweeps. They apply as those of the cores do, within roundoff, with the same bits in every call,
 * also from several threads; updates reach the device; CG converges with them. What cannot be is refused. */
#include <pthread.h>

#include "runtime/matrix/view.h"
#include "tests/support/context.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tristar_device.h"
#include "tristar_krylov.h"
#include "tristar_matrix.h"

enum { MOST = 11 };

typedef struct system_of {
  tristar_matrix_t *matrix;
  tristar_view view; /* its values belong to this struct */
  void *values;
  int64_t n, entries;
  size_t part; /* bytes of a real number */
  int parts;   /* reals in a scalar */
} system_of;

/* Sets entry `at` of an array of scalars. */
static void put(const system_of *s, int64_t at, double real, double imaginary) {
  for (int k = 0; k < s->parts; k++)
    if (s->part == 4)
      ((float *)s->values)[at * s->parts + k] = (float)(k ? imaginary : real);
    else
      ((double *)s->values)[at * s->parts + k] = k ? imaginary : real;
}

/* Generates a model problem. A symmetric one becomes Hermitian in a complex type. */
static system_of generate(tristar_t *ts, const char *name, int64_t points, tristar_scalar scalar) {
  system_of s = {.part = scalar == TRISTAR_SINGLE || scalar == TRISTAR_COMPLEX_SINGLE ? 4 : 8,
                 .parts = scalar == TRISTAR_COMPLEX_SINGLE || scalar == TRISTAR_COMPLEX_DOUBLE ? 2 : 1};
  s.view = generated_view(ts, name, points, &s.matrix);
  s.n = s.view.rows;
  s.entries = tsi_view_begin(&s.view, s.n);
  s.values = xmalloc((size_t)(s.entries * s.parts) * s.part);
  for (int64_t j = 0; j < s.n; j++)
    for (int64_t e = tsi_view_begin(&s.view, j); e < tsi_view_begin(&s.view, j + 1); e++)
      put(&s, e, ((const double *)s.view.values)[e], tsi_view_index(&s.view, e) != j ? 0.05 : 0);
  s.view.values = s.values;
  s.view.scalar = scalar;
  if (s.parts == 2 && s.view.symmetry == TRISTAR_SYMMETRIC) s.view.symmetry = TRISTAR_HERMITIAN;
  return s;
}

static void release(system_of *s) {
  free(s->values);
  tristar_matrix_destroy(&s->matrix);
}

/* Makes a right-hand side of MOST columns. */
static void *fill(const system_of *s) {
  const int64_t count = s->n * MOST * s->parts;
  double *values = xmalloc((size_t)count * sizeof *values);
  fill_random(values, count, 5);
  for (int64_t i = 0; i < count && s->part == 4; i++) ((float *)values)[i] = (float)values[i];
  return values;
}

static double part_of(const system_of *s, const void *x, int64_t i) {
  return s->part == 4 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static tristar_precond_options options_of(tristar_precond_kind kind, tristar_place place) {
  tristar_precond_options o = DEFAULTS(tristar_precond_options);
  o.kind = kind;
  o.place = place;
  o.pair = TRISTAR_PAIR_AUTO;
  o.partition = TRISTAR_PARTITION_LEVELS;
  o.nrhs = 3;
  return o;
}

static tristar_precond_t *make(tristar_t *ts, const system_of *s, tristar_precond_kind kind,
                               tristar_place place) {
  const tristar_precond_options o = options_of(kind, place);
  tristar_precond_stats stats;
  tristar_precond_t *m = NEW_PRECOND(ts, &s->view, &o);
  CHECK_OK(tristar_precond_get_stats(m, &stats));
  CHECK(stats.on_device == (place == TRISTAR_PLACE_GPU));
  return m;
}

/* Cores and device give the same x for one and several right-hand sides, in place or not. Repeated
 * applications on the device have the same bits. */
static void compare(const system_of *s, tristar_precond_t *cores, tristar_precond_t *device, tristar_op op) {
  const int64_t nrhs[] = {1, 3, MOST};
  const size_t all = (size_t)(s->n * MOST * s->parts) * s->part;
  OWNED void *b = fill(s), *x = xmalloc(all), *y = xmalloc(all), *z = xmalloc(all);
  for (int k = 0; k < 3; k++) {
    const size_t bytes = (size_t)(s->n * nrhs[k] * s->parts) * s->part;
    memcpy(z, b, bytes);
    CHECK_OK(tristar_precond_apply(cores, op, nrhs[k], b, s->n, x, s->n));
    CHECK_OK(tristar_precond_apply(device, op, nrhs[k], b, s->n, y, s->n));
    CHECK_OK(tristar_precond_apply(device, op, nrhs[k], z, s->n, z, s->n));
    CHECK(memcmp(y, z, bytes) == 0);
    for (int64_t i = 0; i < s->n * nrhs[k] * s->parts; i++) {
      const double expected = part_of(s, x, i), found = part_of(s, y, i);
      CHECK_MSG(fabs(expected - found) <= (s->part == 4 ? 1e-5 : 1e-13) * (1 + fabs(expected)), "%g and %g",
                expected, found);
    }
  }
}

static void check_kind(tristar_t *ts, const char *name, int64_t points, tristar_scalar scalar,
                       tristar_precond_kind kind) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  CLEANUP(release) system_of s = generate(ts, name, points, scalar);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *cores = make(ts, &s, kind, TRISTAR_PLACE_CPU);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *device = make(ts, &s, kind, TRISTAR_PLACE_GPU);
  for (int k = 0; k < 3; k++) compare(&s, cores, device, ops[k]);
  for (int64_t k = 0; k < s.entries && scalar == TRISTAR_DOUBLE; k++) ((double *)s.values)[k] *= 2;
  CHECK_OK(tristar_precond_update(cores, &s.view));
  CHECK_OK(tristar_precond_update(device, &s.view));
  compare(&s, cores, device, TRISTAR_N);
}

static void check_kinds(tristar_t *ts) {
  check_kind(ts, "poisson3d7", 5, TRISTAR_DOUBLE, TRISTAR_PRECOND_FSAI);
  check_kind(ts, "poisson3d7", 4, TRISTAR_SINGLE, TRISTAR_PRECOND_FSAI);
  check_kind(ts, "poisson3d7", 4, TRISTAR_COMPLEX_DOUBLE, TRISTAR_PRECOND_FSAI);
  check_kind(ts, "poisson3d7", 4, TRISTAR_COMPLEX_SINGLE, TRISTAR_PRECOND_ILU);
  check_kind(ts, "convdiff3d", 4, TRISTAR_DOUBLE, TRISTAR_PRECOND_FSAI);
  check_kind(ts, "convdiff3d", 5, TRISTAR_DOUBLE, TRISTAR_PRECOND_ILU);
  check_kind(ts, "poisson3d7", 5, TRISTAR_DOUBLE, TRISTAR_PRECOND_IC);
  check_kind(ts, "poisson3d7", 5, TRISTAR_DOUBLE, TRISTAR_PRECOND_SSOR);
}

/* ---- Threads ------------------------------------------------------------------------------------------- */

typedef struct caller {
  tristar_precond_t *m;
  const double *b;
  double *x;
  int64_t n;
} caller;

static void *apply(void *arg) {
  const caller *c = arg;
  for (int k = 0; k < 5; k++) CHECK_OK(tristar_precond_apply(c->m, TRISTAR_N, 1, c->b, c->n, c->x, c->n));
  return NULL;
}

static void check_threads(tristar_t *ts) {
  CLEANUP(release) system_of s = generate(ts, "poisson3d7", 5, TRISTAR_DOUBLE);
  CLEANUP(tristar_precond_destroy)
  tristar_precond_t *m = make(ts, &s, TRISTAR_PRECOND_FSAI, TRISTAR_PLACE_GPU);
  OWNED double *b = fill(&s), *x = xmalloc((size_t)(2 * s.n) * sizeof *x),
               *right = xmalloc((size_t)(2 * s.n) * sizeof *right);
  CHECK_OK(tristar_precond_apply(m, TRISTAR_N, 2, b, s.n, right, s.n));
  pthread_t thread[2];
  caller c[2];
  for (int t = 0; t < 2; t++) {
    c[t] = (caller){m, b + t * s.n, x + t * s.n, s.n};
    CHECK(pthread_create(&thread[t], NULL, apply, &c[t]) == 0);
  }
  for (int t = 0; t < 2; t++) CHECK(pthread_join(thread[t], NULL) == 0);
  CHECK(memcmp(x, right, (size_t)(2 * s.n) * sizeof *x) == 0);
}

/* ---- CG, and what is refused --------------------------------------------------------------------------- */

static void check_cg(tristar_t *ts) {
  CLEANUP(release) system_of s = generate(ts, "poisson3d7", 6, TRISTAR_DOUBLE);
  OWNED double *b = fill(&s), *x = xmalloc((size_t)s.n * sizeof *x);
  tristar_krylov_t *krylov;
  int64_t iterations[2];
  CHECK_OK(tristar_krylov_create(ts, &s.view, NULL, &krylov));
  for (int k = 0; k < 2; k++) {
    CLEANUP(tristar_precond_destroy)
    tristar_precond_t *m = make(ts, &s, TRISTAR_PRECOND_FSAI, k ? TRISTAR_PLACE_GPU : TRISTAR_PLACE_CPU);
    tristar_krylov_result result;
    CHECK_OK(tristar_krylov_solve(krylov, m, 1, b, s.n, x, s.n, &result));
    CHECK(result.converged);
    iterations[k] = result.iterations;
  }
  CHECK(iterations[0] == iterations[1]);
  tristar_krylov_destroy(&krylov);
}

static void refuse(tristar_t *ts, const system_of *s, const tristar_precond_options *o, tristar_status status,
                   const char *cause) {
  tristar_precond_t *m;
  char text[500];
  CHECK_STATUS(tristar_precond(ts, &s->view, o, &m), status);
  CHECK(m == NULL && tristar_get_error(ts, text, sizeof text) > 0);
  CHECK_MSG(strstr(text, cause) != NULL, "%s", text);
}

static void check_refused(tristar_t *ts) {
  CLEANUP(release) system_of s = generate(ts, "poisson3d7", 4, TRISTAR_DOUBLE);
  tristar_precond_options o = options_of(TRISTAR_PRECOND_JACOBI, TRISTAR_PLACE_GPU);
  refuse(ts, &s, &o, TRISTAR_ERR_UNSUPPORTED, "PLACE_GPU: JACOBI has neither sweeps nor products");
  o = options_of(TRISTAR_PRECOND_FSAI, TRISTAR_PLACE_GPU);
  o.engine = TRISTAR_ENGINE_SERIAL;
  refuse(ts, &s, &o, TRISTAR_ERR_UNSUPPORTED, "PLACE_GPU: there are no tasks");
  o = options_of(TRISTAR_PRECOND_FSAI, TRISTAR_PLACE_GPU);
  o.device_bytes = 1000;
  refuse(ts, &s, &o, TRISTAR_ERR_MEMORY, "it has room for 1e+03 bytes");
  o.place = (tristar_place)3;
  refuse(ts, &s, &o, TRISTAR_ERR_ARGUMENT, "place is 3");
  CLEANUP(tristar_precond_destroy)
  tristar_precond_t *m =
      make(ts, &s, TRISTAR_PRECOND_FSAI, TRISTAR_PLACE_AUTO); /* a device is not worth its transfers */
  CHECK(m != NULL);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts = open_with_starpu(0, true);
  RUN(check_kinds(ts));
  RUN(check_threads(ts));
  RUN(check_cg(ts));
  RUN(check_refused(ts));
  return 0;
}
