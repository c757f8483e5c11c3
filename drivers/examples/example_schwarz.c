/* Conjugate gradients for -u_xx - u_yy - u_zz = f in a cube, preconditioned by an additive Schwarz method: in
 * every iteration the systems of all subdomains, which overlap, are solved side by side.
 *
 *   example_schwarz [N [PARTS [OVERLAP]]]      defaults: 24 (N^3 points), 2 (PARTS^3 subdomains), 1
 *
 * z = sum_s R_s^T A_s^-1 R_s r, with R_s the restriction to the points of subdomain s and A_s = R_s A R_s^T.
 * For each s a task copies R_s r from r, and tristar_solve_insert solves. One task adds the results in the
 * order of s, so that sums have the same bits in any order of execution. The main thread hands over r and
 * gets z back; it does the rest of an iteration. Then the same is done with synchronous solves. The exit
 * status is 1 unless both give the same bits and a small residual. */
#include <math.h>

#include "example_tasks.h"

#define TOLERANCE 1e-10 /* of the residual, relative to the right-hand side */
#define MOST_ITERATIONS 500

typedef struct box { /* Points from[d] .. to[d] - 1 in each direction. */
  int from[3], to[3];
} box;

typedef struct subdomain {
  box of;
  int64_t n;
  double *r, *z; /* Entries of its points. */
  starpu_data_handle_t handle_of_r, handle_of_z;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
} subdomain;

typedef struct schwarz {
  int n; /* Points in each direction. */
  int count;
  subdomain *part;
  double *r, *z;
  starpu_data_handle_t handle_of_r, handle_of_z;
} schwarz;

static tristar_t *ts;

static void check(tristar_status status) {
  example_check(ts, status);
}

/* ---- Points and subdomains ----------------------------------------------------------------------------- */

static int extent(const box *of, int d) {
  return of->to[d] - of->from[d];
}

/* Copies the entries of the subdomain from a vector of all points. */
static void take(const schwarz *s, const box *of, const double *all, double *local) {
  for (int k = of->from[2]; k < of->to[2]; k++)
    for (int j = of->from[1]; j < of->to[1]; j++, local += extent(of, 0))
      memcpy(local, all + ((int64_t)k * s->n + j) * s->n + of->from[0],
             (size_t)extent(of, 0) * sizeof *local);
}
/* Adds the entries of the subdomain to a vector of all points. */
static void add(const schwarz *s, const box *of, const double *local, double *all) {
  for (int k = of->from[2]; k < of->to[2]; k++)
    for (int j = of->from[1]; j < of->to[1]; j++) {
      double *to = all + ((int64_t)k * s->n + j) * s->n + of->from[0];
      for (int i = 0; i < extent(of, 0); i++) to[i] += *local++;
    }
}

/* A_s: the lower triangle of the seven-point stencil on a box, factored. */
static void factor_box(subdomain *p) {
  const int nx = extent(&p->of, 0), ny = extent(&p->of, 1);
  int64_t *ptr = example_allocate((size_t)p->n + 1, sizeof *ptr), q = 0;
  int32_t *row = example_allocate((size_t)p->n * 4, sizeof *row);
  double *value = example_allocate((size_t)p->n * 4, sizeof *value);
  for (int64_t k = 0; k < p->n; k++) {
    row[q] = (int32_t)k, value[q++] = 6;
    if (k % nx != nx - 1) row[q] = (int32_t)(k + 1), value[q++] = -1;
    if (k / nx % ny != ny - 1) row[q] = (int32_t)(k + nx), value[q++] = -1;
    if (k + nx * ny < p->n) row[q] = (int32_t)(k + nx * ny), value[q++] = -1;
    ptr[k + 1] = q;
  }
  const tristar_view a = {
      TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, p->n, p->n, ptr, row, value, 64, 32, 0};
  check(tristar_analyze(ts, &a, NULL, &p->analysis));
  check(tristar_factor(p->analysis, value, &p->factor));
  check(tristar_plan(p->factor, NULL, &p->plan));
  free(ptr);
  free(row);
  free(value);
}

/* y = A x on all points; returns x^T y. */
static double multiply(int n, const double *x, double *y) {
  const int64_t nn = (int64_t)n * n;
  double product = 0;
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) {
        const int64_t q = k * nn + (int64_t)j * n + i;
        double sum = 6 * x[q];
        if (i > 0) sum -= x[q - 1];
        if (i < n - 1) sum -= x[q + 1];
        if (j > 0) sum -= x[q - n];
        if (j < n - 1) sum -= x[q + n];
        if (k > 0) sum -= x[q - nn];
        if (k < n - 1) sum -= x[q + nn];
        y[q] = sum;
        product += x[q] * sum;
      }
  return product;
}

static double dot(int64_t n, const double *x, const double *y) {
  double sum = 0;
  for (int64_t k = 0; k < n; k++) sum += x[k] * y[k];
  return sum;
}

/* ---- The preconditioner: z from r ---------------------------------------------------------------------- */

/* Buffers: r of the subdomain, r. */
static void take_task(void *buffers[], void *arg) {
  const schwarz *s;
  const subdomain *p;
  starpu_codelet_unpack_args(arg, &s, &p);
  take(s, &p->of, (const double *)STARPU_VECTOR_GET_PTR(buffers[1]),
       (double *)STARPU_VECTOR_GET_PTR(buffers[0]));
}
/* Buffers: z, then z of all subdomains. */
static void add_task(void *buffers[], void *arg) {
  const schwarz *s;
  double *z = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
  starpu_codelet_unpack_args(arg, &s);
  memset(z, 0, STARPU_VECTOR_GET_NX(buffers[0]) * sizeof *z);
  for (int k = 0; k < s->count; k++)
    add(s, &s->part[k].of, (const double *)STARPU_VECTOR_GET_PTR(buffers[1 + k]), z);
}
static struct starpu_codelet taker = {
    .cpu_funcs = {take_task}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}, .name = "take"};
static struct starpu_codelet adder = {
    .cpu_funcs = {add_task}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "add"};

/* Submits everything. To acquire z is to wait for it. */
static void precondition_inserted(schwarz *s, struct starpu_data_descr *add_buffers) {
  for (int k = 0; k < s->count; k++) {
    subdomain *p = &s->part[k];
    example_call(starpu_task_insert(&taker, STARPU_W, p->handle_of_r, STARPU_R, s->handle_of_r, STARPU_VALUE,
                                    &s, sizeof s, STARPU_VALUE, &p, sizeof p, 0));
    check(tristar_solve_insert(p->plan, TRISTAR_N, p->handle_of_r, p->handle_of_z));
  }
  example_call(starpu_task_insert(&adder, STARPU_DATA_MODE_ARRAY, add_buffers, s->count + 1, STARPU_VALUE, &s,
                                  sizeof s, 0));
}

static void precondition_now(schwarz *s) {
  memset(s->z, 0, (size_t)s->n * (size_t)s->n * (size_t)s->n * sizeof *s->z);
  for (int k = 0; k < s->count; k++) {
    subdomain *p = &s->part[k];
    take(s, &p->of, s->r, p->r);
    check(tristar_solve(p->plan, TRISTAR_N, 1, p->r, p->n, p->z, p->n));
    add(s, &p->of, p->z, s->z);
  }
}

/* ---- Conjugate gradients ------------------------------------------------------------------------------- */

/* Solves A u = f; returns the iterations. add_buffers: of the task that adds the results; NULL: synchronous
 * solves. Between iterations r belongs to the main thread, which writes it, and so does z, which it reads. */
static int iterate(schwarz *s, const double *f, double *u, struct starpu_data_descr *add_buffers) {
  const int64_t n = (int64_t)s->n * s->n * s->n;
  double *p = example_allocate((size_t)n, sizeof *p), *q = example_allocate((size_t)n, sizeof *q);
  double before = 0;
  int iterations = 0;
  const double small = TOLERANCE * TOLERANCE * dot(n, f, f);
  example_call(starpu_data_acquire(s->handle_of_r, STARPU_RW));
  memcpy(s->r, f, (size_t)n * sizeof *f);
  memset(u, 0, (size_t)n * sizeof *u);
  while (iterations < MOST_ITERATIONS && dot(n, s->r, s->r) > small) {
    if (add_buffers) {
      starpu_data_release(s->handle_of_r);
      precondition_inserted(s, add_buffers);
      example_call(starpu_data_acquire(s->handle_of_z, STARPU_R));
      example_call(starpu_data_acquire(s->handle_of_r, STARPU_RW));
    } else
      precondition_now(s);
    const double rz = dot(n, s->r, s->z), beta = before > 0 ? rz / before : 0;
    for (int64_t k = 0; k < n; k++) p[k] = s->z[k] + beta * p[k];
    if (add_buffers) starpu_data_release(s->handle_of_z);
    const double alpha = rz / multiply(s->n, p, q);
    for (int64_t k = 0; k < n; k++) {
      u[k] += alpha * p[k];
      s->r[k] -= alpha * q[k];
    }
    before = rz;
    iterations++;
  }
  starpu_data_release(s->handle_of_r);
  free(p);
  free(q);
  return iterations;
}

/* |f - A u| / |f|, computed anew. */
static double residual(const schwarz *s, const double *f, const double *u) {
  const int64_t n = (int64_t)s->n * s->n * s->n;
  double *r = example_allocate((size_t)n, sizeof *r);
  multiply(s->n, u, r);
  for (int64_t k = 0; k < n; k++) r[k] = f[k] - r[k];
  const double norm = sqrt(dot(n, r, r) / dot(n, f, f));
  free(r);
  return norm;
}

/* ---- The program --------------------------------------------------------------------------------------- */

static void create(schwarz *s, int n, int parts, int overlap) {
  const int64_t all = (int64_t)n * n * n;
  *s = (schwarz){.n = n, .count = parts * parts * parts};
  s->part = example_allocate((size_t)s->count, sizeof *s->part);
  s->r = example_allocate((size_t)all, sizeof *s->r);
  s->z = example_allocate((size_t)all, sizeof *s->z);
  s->handle_of_r = example_vector(s->r, all);
  s->handle_of_z = example_vector(s->z, all);
  for (int k = 0; k < s->count; k++) {
    subdomain *p = &s->part[k];
    const int place[3] = {k % parts, k / parts % parts, k / parts / parts};
    p->n = 1;
    for (int d = 0; d < 3; d++) {
      const int from = n * place[d] / parts - overlap, to = n * (place[d] + 1) / parts + overlap;
      p->of.from[d] = from < 0 ? 0 : from;
      p->of.to[d] = to > n ? n : to;
      p->n *= extent(&p->of, d);
    }
    factor_box(p);
    p->r = example_allocate((size_t)p->n, sizeof *p->r);
    p->z = example_allocate((size_t)p->n, sizeof *p->z);
    p->handle_of_r = example_vector(p->r, p->n);
    p->handle_of_z = example_vector(p->z, p->n);
  }
}

static void destroy(schwarz *s) {
  for (int k = 0; k < s->count; k++) {
    subdomain *p = &s->part[k];
    starpu_data_unregister(p->handle_of_r);
    starpu_data_unregister(p->handle_of_z);
    check(tristar_plan_wait(p->plan)); /* Reports whether all solves have succeeded. */
    tristar_plan_destroy(&p->plan);
    tristar_factor_destroy(&p->factor);
    tristar_analysis_destroy(&p->analysis);
    free(p->r);
    free(p->z);
  }
  starpu_data_unregister(s->handle_of_r);
  starpu_data_unregister(s->handle_of_z);
  free(s->r);
  free(s->z);
  free(s->part);
}

/* Solves both ways. 1: they agree and are accurate. */
static int solve(schwarz *s, int overlap) {
  const size_t n = (size_t)s->n * (size_t)s->n * (size_t)s->n, buffers = (size_t)s->count + 1;
  double *f = example_allocate(n, sizeof *f), *u[2];
  struct starpu_data_descr *add_buffers = example_allocate(buffers, sizeof *add_buffers);
  int iterations[2];
  double seconds[2];
  add_buffers[0] = (struct starpu_data_descr){.handle = s->handle_of_z, .mode = STARPU_W};
  for (int k = 0; k < s->count; k++)
    add_buffers[1 + k] = (struct starpu_data_descr){.handle = s->part[k].handle_of_z, .mode = STARPU_R};
  for (size_t k = 0; k < n; k++) f[k] = 1 + sin(0.37 * (double)k); /* A load, and a rough part. */
  for (int how = 0; how < 2; how++) {
    u[how] = example_allocate(n, sizeof *u[how]);
    const double begin = example_seconds();
    iterations[how] = iterate(s, f, u[how], how == 0 ? add_buffers : NULL);
    seconds[how] = example_seconds() - begin;
  }
  const double norm = residual(s, f, u[0]);
  const int same = iterations[0] == iterations[1] && memcmp(u[0], u[1], n * sizeof *u[0]) == 0;
  printf("%d^3 points, %d subdomains, overlap %d: %d iterations, residual %.1e\n", s->n, s->count, overlap,
         iterations[0], norm);
  printf("solves inserted side by side %.1f ms, synchronous ones %.1f ms; %s\n", 1e3 * seconds[0],
         1e3 * seconds[1], same ? "same bits" : "OTHER BITS");
  free(f);
  free(u[0]);
  free(u[1]);
  free(add_buffers);
  return same && norm < 10 * TOLERANCE;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? example_number(argv[1], 2, 400) : 24;
  const int parts = argc > 2 ? example_number(argv[2], 1, n < 8 ? n : 8) : 2;
  const int overlap = argc > 3 ? example_number(argv[3], 0, n) : 1;
  schwarz s;
  example_call(starpu_init(NULL));
  check(tristar_create(NULL, &ts)); /* Uses the running StarPU. */
  create(&s, n, parts, overlap);
  const int good = solve(&s, overlap);
  destroy(&s);
  tristar_destroy(&ts);
  starpu_shutdown();
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
