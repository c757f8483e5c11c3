/* Matrix, right-hand side, error and report of the programs of other solvers: see peer.h. */
#include "tools/peers/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codelets/cpu/sparse.h"

double peer_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static _Noreturn void end(const char *subject, const char *why) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, subject, why);
  exit(1);
}

void *peer_allocate(int64_t count, size_t size) {
  size_t bytes;
  void *memory = NULL;
  if (!__builtin_mul_overflow((size_t)(count > 0 ? count : 1), size, &bytes)) memory = malloc(bytes);
  if (memory == NULL) end("memory", "exhausted");
  return memory;
}

void peer_fail(peer *p, int status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(p->message, sizeof p->message, format, args);
  va_end(args);
  p->status = status;
}

/* ---- Matrix and right-hand side ----------------------------------------------------------------------- */

static void need(const peer *p, tristar_status status, const char *subject) {
  char message[512] = "";
  if (status == TRISTAR_OK) return;
  if (p->ts != NULL) tristar_error(p->ts, message, sizeof message);
  end(subject, *message ? message : tristar_status_name(status));
}

static void read_matrix(peer *p, const char *name) {
  need(p, tristar_matrix_read(p->ts, name, &p->matrix), name);
  tristar_matrix_view(p->matrix, &p->view);
  if (p->view.values == NULL) {
    tristar_matrix_t *laplacian;
    need(p, tristar_matrix_laplacian(p->ts, &p->view, &laplacian), name);
    tristar_matrix_destroy(&p->matrix);
    p->matrix = laplacian;
    tristar_matrix_view(p->matrix, &p->view);
  }
  if (p->view.rows != p->view.cols) end(name, "the matrix is not square");
  p->n = p->view.rows;
  p->is_complex = p->view.scalar == TRISTAR_COMPLEX_DOUBLE;
  p->scalar_bytes = p->is_complex ? 2 * sizeof(double) : sizeof(double);
}

/* Pseudo-random numbers in [-1, 1), the same as `tristar solve` makes without --rhs. */
static void *make_rhs(const peer *p) {
  const int64_t count = p->is_complex ? 2 * p->n : p->n;
  double *b = peer_allocate(count, sizeof *b);
  uint64_t state = 1;
  for (int64_t k = 0; k < count; k++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    b[k] = (double)(state >> 11) * 0x1p-52 - 1.0;
  }
  return b;
}

/* The mirror image of an entry of one or two parts. */
static void reflect(tristar_symmetry symmetry, int parts, const double *entry, double *image) {
  const double sign = symmetry == TRISTAR_SKEW_SYMMETRIC ? -1 : 1;
  image[0] = sign * entry[0];
  if (parts == 2) image[1] = symmetry == TRISTAR_HERMITIAN ? -entry[1] : sign * entry[1];
}

void peer_entries_make(const peer *p, bool full, int base, peer_entries *entries) {
  const int64_t *ptr = p->view.ptr, stored = ptr[p->n], room = full ? 2 * stored : stored;
  const int32_t *index = p->view.index;
  const double *from = p->view.values;
  const int parts = p->is_complex ? 2 : 1;
  const bool mirror = full && p->view.symmetry != TRISTAR_GENERAL;
  double *to = peer_allocate(room * parts, sizeof *to);
  int64_t count = 0;
  entries->row = peer_allocate(room, sizeof *entries->row);
  entries->column = peer_allocate(room, sizeof *entries->column);
  for (int32_t j = 0; j < (int32_t)p->n; j++)
    for (int64_t e = ptr[j]; e < ptr[j + 1]; e++)
      for (int image = 0; image <= (mirror && index[e] != j); image++, count++) {
        entries->row[count] = base + (image ? j : index[e]);
        entries->column[count] = base + (image ? index[e] : j);
        if (image)
          reflect(p->view.symmetry, parts, &from[parts * e], &to[parts * count]);
        else
          memcpy(&to[parts * count], &from[parts * e], p->scalar_bytes);
      }
  entries->values = to;
  entries->count = count;
}

void peer_entries_free(peer_entries *entries) {
  free(entries->row);
  free(entries->column);
  free(entries->values);
  *entries = (peer_entries){0};
}

bool peer_positive_diagonal(const peer *p) {
  const int64_t *ptr = p->view.ptr;
  const int32_t *index = p->view.index;
  const double *values = p->view.values;
  const int parts = p->is_complex ? 2 : 1;
  int64_t positive = 0;
  for (int32_t j = 0; j < (int32_t)p->n; j++)
    for (int64_t e = ptr[j]; e < ptr[j + 1]; e++)
      if (index[e] == j && values[parts * e] > 0 && (parts == 1 || values[parts * e + 1] == 0)) positive++;
  return positive == p->n;
}

/* ---- Report ------------------------------------------------------------------------------------------- */

/* As tristar_solve_refined measures it. */
static double backward_error(const peer *p) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)p->view.scalar);
  const tsi_sparse a = {(tsi_index)p->n, false, p->view.symmetry, p->view.ptr, p->view.index, p->view.values};
  double *bound = peer_allocate(p->n, sizeof *bound), *row_sum = peer_allocate(p->n, sizeof *row_sum);
  void *residual = peer_allocate(p->n, p->scalar_bytes);
  kernels->residual(&a, TRISTAR_N, p->b, p->x, residual);
  kernels->bound(&a, TRISTAR_N, p->x, bound);
  kernels->bound(&a, TRISTAR_N, NULL, row_sum);
  const double error = kernels->backward_error(a.n, p->b, p->x, residual, bound, row_sum);
  free(bound);
  free(row_sum);
  free(residual);
  return error;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_number(const char *key, double value) {
  if (isfinite(value))
    printf(", \"%s\": %.6g", key, value);
  else
    printf(", \"%s\": null", key); /* JSON has no NaN */
}

static void print_text(const char *key, const char *text) {
  printf("\"%s\": \"", key);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') putchar('\\');
    putchar((unsigned char)*text < ' ' ? ' ' : *text);
  }
  putchar('"');
}

static void print_report(const peer *p) {
  putchar('{');
  print_text("peer", p->solver);
  printf(", \"n\": %" PRId64 ", \"status\": %d, ", p->n, p->status);
  if (p->status != 0)
    print_text("message", p->message);
  else {
    qsort(p->solves_s, (size_t)p->repeat, sizeof *p->solves_s, ascending);
    print_text("method", p->method);
    printf(", \"perturbed_pivots\": %" PRId64 ", \"refinement_steps\": %d", p->perturbed,
           p->refinement_steps);
    if (p->nnz_factor > 0) print_number("nnz_factor", p->nnz_factor);
    print_number("analyze_s", p->analyze_s);
    print_number("factor_s", p->factor_s);
    print_number("solve_s", (p->solves_s[(p->repeat - 1) / 2] + p->solves_s[p->repeat / 2]) / 2);
    print_number("solve_min_s", p->solves_s[0]);
    print_number("backward_error", backward_error(p));
  }
  puts("}");
}

int main(int argc, char **argv) {
  tristar_config config;
  peer p = {.method = ""};
  p.repeat = argc > 2 ? atoi(argv[2]) : 11;
  if (argc < 2 || argc > 3 || p.repeat < 1) end("usage", "MATRIX [REPEAT]");
  tristar_config_init(&config);
  config.use_starpu = 0;
  need(&p, tristar_create(&config, &p.ts), "cannot start");
  read_matrix(&p, argv[1]);
  void *b = make_rhs(&p);
  p.b = b;
  p.x = peer_allocate(p.n, p.scalar_bytes);
  p.solves_s = peer_allocate(p.repeat, sizeof *p.solves_s);
  (p.is_complex ? peer_solve_complex : peer_solve_real)(&p);
  print_report(&p);
  free(b);
  free(p.x);
  free(p.solves_s);
  tristar_matrix_destroy(&p.matrix);
  tristar_destroy(&p.ts);
  return p.status != 0;
}
