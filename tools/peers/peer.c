/* Matrix, right-hand sides, error and report of the programs of other solvers: see peer.h. */
#include "tools/peers/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codelets/cpu/rows/sparse.h"

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

/* ---- Matrix and right-hand sides ---------------------------------------------------------------------- */

static void need(const peer *p, tristar_status status, const char *subject) {
  char message[512] = "";
  if (status == TRISTAR_OK) return;
  if (p->ts != NULL) tristar_get_error(p->ts, message, sizeof message);
  end(subject, *message ? message : tristar_status_name(status));
}

static void read_matrix(peer *p, const char *name) {
  need(p, tristar_matrix_read(p->ts, name, &p->matrix), name);
  tristar_matrix_get_view(p->matrix, &p->view);
  if (p->view.values == NULL) {
    tristar_matrix_t *laplacian;
    need(p, tristar_matrix_laplacian(p->ts, &p->view, &laplacian), name);
    tristar_matrix_destroy(&p->matrix);
    p->matrix = laplacian;
    tristar_matrix_get_view(p->matrix, &p->view);
  }
  if (p->view.rows != p->view.cols) end(name, "the matrix is not square");
  p->n = p->view.rows;
  p->is_complex = p->view.scalar == TRISTAR_COMPLEX_DOUBLE;
  p->scalar_bytes = p->is_complex ? 2 * sizeof(double) : sizeof(double);
  p->column_bytes = (size_t)p->n * p->scalar_bytes;
  p->block_bytes = (size_t)p->nrhs * p->column_bytes;
}

/* Arrays of a triangle, which replaces the matrix in p->view. */
typedef struct triangle {
  int64_t *ptr;
  peer_compressed columns;
} triangle;

/* Replaces the matrix by its triangle p->uplo. */
static void take_triangle(peer *p, const char *name, triangle *t) {
  if (p->uplo == 0) return;
  t->ptr = peer_allocate(p->n + 1, sizeof *t->ptr);
  peer_compress(p, false, &t->columns);
  int32_t *index = t->columns.index;
  char *values = t->columns.values;
  int64_t kept = 0;
  for (int32_t j = 0; j < (int32_t)p->n; j++) {
    bool diagonal = false;
    t->ptr[j] = kept;
    for (int32_t e = t->columns.ptr[j]; e < t->columns.ptr[j + 1]; e++) {
      const int32_t i = index[e];
      const double *value = (const double *)(values + (size_t)e * p->scalar_bytes);
      if (p->uplo == 'U' ? i > j : i < j) continue;
      diagonal = diagonal || (i == j && (value[0] != 0 || (p->is_complex && value[1] != 0)));
      index[kept] = i;
      memmove(values + (size_t)kept++ * p->scalar_bytes, value, p->scalar_bytes);
    }
    if (!diagonal) end(name, "a diagonal entry is zero or missing");
  }
  t->ptr[p->n] = kept;
  p->view.symmetry = TRISTAR_GENERAL;
  p->view.ptr = t->ptr;
  p->view.index = index;
  p->view.values = values;
}

/* Pseudo-random numbers in [-1, 1), the same as in `tristar solve` without --rhs. */
static void *make_rhs(const peer *p) {
  const int64_t count = (p->is_complex ? 2 : 1) * p->nrhs * p->n;
  double *b = peer_allocate(count, sizeof *b);
  uint64_t state = 1;
  for (int64_t k = 0; k < count; k++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    b[k] = (double)(state >> 11) * 0x1p-52 - 1.0;
  }
  return b;
}

/* Computes the mirror image of an entry of one or two parts. */
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

void peer_compress(const peer *p, bool by_rows, peer_compressed *compressed) {
  peer_entries entries;
  peer_entries_make(p, true, 0, &entries);
  if (entries.count > INT32_MAX) end("matrix", "more than 2^31 - 1 entries");
  const int32_t *line = by_rows ? entries.row : entries.column;
  const int32_t *index = by_rows ? entries.column : entries.row;
  char *values = peer_allocate(entries.count, p->scalar_bytes);
  int32_t *ptr = peer_allocate(p->n + 2, sizeof *ptr);
  compressed->ptr = ptr;
  compressed->index = peer_allocate(entries.count, sizeof *compressed->index);
  compressed->values = values;
  memset(ptr, 0, (size_t)(p->n + 2) * sizeof *ptr);
  for (int64_t e = 0; e < entries.count; e++) ptr[line[e] + 2]++;
  for (int64_t k = 0; k < p->n; k++) ptr[k + 2] += ptr[k + 1];
  for (int64_t e = 0; e < entries.count; e++) { /* ptr[k + 1] moves from the start of line k to its end */
    const size_t to = (size_t)ptr[line[e] + 1]++;
    compressed->index[to] = index[e];
    memcpy(values + to * p->scalar_bytes, (const char *)entries.values + (size_t)e * p->scalar_bytes,
           p->scalar_bytes);
  }
  peer_entries_free(&entries);
}

void peer_compressed_free(peer_compressed *compressed) {
  free(compressed->ptr);
  free(compressed->index);
  free(compressed->values);
  *compressed = (peer_compressed){0};
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

/* Returns the error of tristar_solve_refined; NaN if one error is NaN. */
static double backward_error(const peer *p) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)p->view.scalar);
  const tsi_sparse a = {(tsi_index)p->n, false, p->view.symmetry, p->view.ptr, p->view.index, p->view.values};
  double *bound = peer_allocate(p->n, sizeof *bound), *row_sum = peer_allocate(p->n, sizeof *row_sum);
  void *residual = peer_allocate(p->n, p->scalar_bytes);
  double largest = 0;
  kernels->weigh(&a, TRISTAR_N, NULL, row_sum);
  for (int k = 0; k < p->nrhs && !isnan(largest); k++) {
    kernels->residual(&a, TRISTAR_N, peer_b(p, k), peer_x(p, k), residual);
    kernels->bound(&a, TRISTAR_N, peer_x(p, k), bound);
    tsi_sizes sizes = {.n = a.n};
    kernels->sizes(a.n, peer_x(p, k), NULL, &sizes.weighted, &sizes.plain);
    const double error = kernels->backward_error(a.n, peer_b(p, k), residual, bound, row_sum, &sizes);
    if (!(error <= largest)) largest = error;
  }
  free(bound);
  free(row_sum);
  free(residual);
  return largest;
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

static void print_report(peer *p) {
  if (p->status == 0 && p->rounds == 0) p->backward_error = backward_error(p);
  putchar('{');
  print_text("solver", p->solver);
  printf(", \"n\": %" PRId64 ", \"nrhs\": %d, \"repeat\": %d, \"status\": %d, ", p->n, p->nrhs, p->repeat,
         p->status);
  if (p->status != 0)
    print_text("message", p->message);
  else {
    qsort(p->solves_s, (size_t)p->repeat, sizeof *p->solves_s, ascending);
    print_text("method", p->method);
    fputs(", ", stdout);
    print_text("ordering", p->ordering);
    printf(", \"perturbed_pivots\": %" PRId64 ", \"refinement_steps\": %d", p->perturbed,
           p->refinement_steps);
    if (p->iterations > 0) print_number("iterations", (double)p->iterations);
    print_number("nnz_factor", p->nnz_factor);
    print_number("analyze_s", p->analyze_s);
    print_number("factor_s", p->factor_s);
    print_number("solve_s", (p->solves_s[(p->repeat - 1) / 2] + p->solves_s[p->repeat / 2]) / 2);
    print_number("solve_min_s", p->solves_s[0]);
    if (p->sweeps_s > 0) print_number("sweeps_min_s", p->sweeps_s);
    print_number("backward_error", p->backward_error);
  }
  puts("}");
  fflush(stdout);
}

bool peer_again(peer *p) {
  int c;
  if (p->status != 0) return false; /* the main program reports it */
  print_report(p);
  p->rounds++;
  while (p->on_demand && (c = getchar()) != EOF)
    if (c == '\n') return true;
  return false;
}

/* Returns the number in argv[k], from 1 to a million, or `otherwise` if there is none. */
static int count_argument(int argc, char **argv, int k, int otherwise) {
  char *rest = NULL;
  const long count = k < argc ? strtol(argv[k], &rest, 10) : otherwise;
  if (count < 1 || count > 1000000 || (k < argc && (rest == argv[k] || *rest != '\0')))
    end(argv[k], "not a number from 1 to 1000000");
  return (int)count;
}

/* Reads the options before the other words. The matrix is argv[1 + the return value]. */
static int take_options(peer *p, int argc, char **argv) {
  static const char usage[] = "[--on-demand] [--quick] [--uplo L|U] MATRIX [REPEAT [NRHS]]";
  int taken = 0;
  for (; taken + 1 < argc && strncmp(argv[taken + 1], "--", 2) == 0; taken++) {
    const char *word = argv[taken + 1], *value = taken + 2 < argc ? argv[taken + 2] : "";
    if (strcmp(word, "--on-demand") == 0)
      p->on_demand = true;
    else if (strcmp(word, "--quick") == 0)
      p->quick = true;
    else if (strcmp(word, "--uplo") == 0 && (strcmp(value, "L") == 0 || strcmp(value, "U") == 0))
      p->uplo = *value, taken++;
    else
      end("usage", usage);
  }
  if (argc - taken < 2 || argc - taken > 4) end("usage", usage);
  return taken;
}

int main(int argc, char **argv) {
  tristar_config config;
  triangle t = {.ptr = NULL};
  peer p = {.method = "", .ordering = "unknown"};
  const int taken = take_options(&p, argc, argv);
  argc -= taken;
  argv += taken;
  p.repeat = count_argument(argc, argv, 2, 11);
  p.nrhs = count_argument(argc, argv, 3, 1);
  tristar_config_init(&config);
  config.use_starpu = 0;
  need(&p, tristar_create(&config, &p.ts), "cannot start");
  read_matrix(&p, argv[1]);
  take_triangle(&p, argv[1], &t);
  if (p.quick) {
    puts("{\"event\": \"the matrix is read\"}");
    fflush(stdout);
  }
  void *b = make_rhs(&p);
  p.b = b;
  p.x = peer_allocate(p.nrhs, p.column_bytes);
  p.solves_s = peer_allocate(p.repeat, sizeof *p.solves_s);
  (p.is_complex ? peer_solve_complex : peer_solve_real)(&p);
  if (p.status != 0) print_report(&p);
  free(b);
  free(p.x);
  free(p.solves_s);
  free(t.ptr);
  peer_compressed_free(&t.columns);
  tristar_matrix_destroy(&p.matrix);
  tristar_destroy(&p.ts);
  return p.status != 0;
}
