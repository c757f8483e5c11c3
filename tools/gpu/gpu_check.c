/* Measures the GPU kernels on the board of this machine, or in the emulator, and compares them with the
 * limits of the board and with other solvers: one line for each case (cases.h), and JSON. See usage below. */
#include "tools/gpu/cases.h"
#include "tools/gpu/peers.h"
#include "tools/gpu/problem.h"

/* ---- A stencil ----------------------------------------------------------------------------------------- */

/* A Hermitian positive definite matrix for measurements, by rows with both triangles. Each point of a grid of
 * k x k x k points is coupled with its six neighbours; all couplings are different pseudo-random numbers. */

/* The coupling of neighbours i > j. */
static number coupling(const typed *t, tsi_index i, tsi_index j) {
  double part[2];
  fill_random(part, 2, (uint64_t)i << 32 | (uint64_t)j);
  number x = -0.75 - 0.25 * (double)(float)part[0];
  if (t->is_complex) __imag__ x = 0.25 * (double)(float)part[1];
  return x;
}

static csr stencil_create(tsi_index k, const typed *t) {
  const tsi_index step[3] = {k * k, k, 1};
  csr a = {.n = k * k * k};
  const size_t most = 7 * (size_t)a.n;
  a.ptr = calloc((size_t)a.n + 1, sizeof *a.ptr);
  a.index = malloc(most * sizeof *a.index);
  a.values = malloc(most * t->bytes);
  CHECK(a.ptr != NULL && a.index != NULL && a.values != NULL);
  for (tsi_index i = 0; i < a.n; i++) {
    const tsi_index at[3] = {i / (k * k), i / k % k, i % k};
    tsi_count e = a.ptr[i], diagonal = 0;
    double sum = 0.01; /* diagonal dominance has a small margin */
    for (int d = 0; d < 7; d++) {
      const int axis = d < 3 ? d : 6 - d;
      if (d == 3) diagonal = e;
      if (d != 3 && at[axis] == (d < 3 ? 0 : k - 1)) continue;
      const tsi_index j = d == 3 ? i : d < 3 ? i - step[axis] : i + step[axis];
      const number x = d == 3 ? 0 : d < 3 ? coupling(t, i, j) : conj(coupling(t, j, i));
      sum += cabs(x);
      a.index[e] = j;
      put(t, a.values, e++, x);
    }
    put(t, a.values, diagonal, sum);
    a.ptr[i + 1] = e;
  }
  return a;
}

static void stencil_free(csr *a) {
  free(a->ptr);
  free(a->index);
  free(a->values);
}

/* ---- The program --------------------------------------------------------------------------------------- */

static const char usage[] =
    "gpu_check_cuda, gpu_check_hip [OPTION...]: measures the GPU kernels; exit status 77 where there is no "
    "GPU\n"
    "  --size K       L of a Poisson matrix on K x K x K points (default: 64, 0.9 GB in double)\n"
    "  --node BYTES   nodes of the device tables (default: 64000)\n"
    "  --repeat N     a time is the median of so many (default: 10)\n"
    "  --nrhs A,B,... right-hand sides, up to eight numbers (default: 1,8,64)\n"
    "  --types A,...  of s, d, c, z, sd, cz (default: all)\n"
    "  --json FILE    the figures for other programs\n";

enum { NUMBERS_MAX = 8 };

typedef struct gpu_settings {
  tsi_index size, repeat;
  double node_bytes;
  tsi_index nrhs[NUMBERS_MAX];
  int numbers;
  const char *types, *json;
} gpu_settings;

/* ---- Vectors and scalar types -------------------------------------------------------------------------- */

/* x of random numbers that the type of x represents exactly; y = L^T x, b = L y. */
static void make_vectors(session *s, const typed *type) {
  const size_t n = (size_t)s->p.a.n;
  s->x = malloc(n * (size_t)s->nrhs * sizeof *s->x);
  s->y = malloc(n * (size_t)s->nrhs * sizeof *s->y);
  s->b = malloc(n * (size_t)s->nrhs * sizeof *s->b);
  CHECK(s->x != NULL && s->y != NULL && s->b != NULL);
  for (tsi_index k = 0; k < s->nrhs; k++) {
    number *x = s->x + (size_t)k * n;
    for (size_t j = 0; j < n; j++) {
      double random[2];
      number kept = 0;
      fill_random(random, 2, (uint64_t)k << 40 | j);
      x[j] = random[0];
      if (type->is_complex) __imag__ x[j] = random[1];
      put(type, &kept, 0, x[j]);
      x[j] = get(type, &kept, 0);
    }
    problem_multiply(&s->p, &s->p.upper, x, s->y + (size_t)k * n);
    problem_multiply(&s->p, &s->p.lower, s->y + (size_t)k * n, s->b + (size_t)k * n);
  }
}
static void free_vectors(session *s) {
  free(s->x);
  free(s->y);
  free(s->b);
}

/* Is the name in the comma-separated list? NULL is the list of all names. */
static bool listed(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strncmp(at, name, length) == 0 && (at[length] == 0 || at[length] == ',')) return true;
  return list == NULL;
}

/* All scalar types for which values of one type are used. */
static void check_stored(session *s, const gpu_settings *settings, const typed *t, const typed *wide,
                         const char *scalars, const char *mixed) {
  const char *names[2] = {scalars, mixed};
  const typed *users[2] = {t, wide};
  if (!listed(settings->types, scalars) && !(mixed && listed(settings->types, mixed))) return;
  problem_open(settings->size, t, settings->node_bytes, &s->p);
  s->stencil = stencil_create(settings->size, t);
  gpu_report_problem(&s->report, settings->size, s->p.a.n, s->p.s.symbolic->nnz_exact);
  if (listed(settings->types, scalars)) {
    s->scalars = scalars;
    gpu_cases_inverse(s);
  }
  for (int k = 0; k < 2; k++)
    for (int number_of = 0; names[k] && listed(settings->types, names[k]) && number_of < settings->numbers;
         number_of++) {
      s->scalars = names[k];
      s->user = users[k];
      s->nrhs = settings->nrhs[number_of];
      make_vectors(s, users[k]);
      gpu_cases_measure(s);
      free_vectors(s);
    }
  stencil_free(&s->stencil);
  problem_close(&s->p);
}

/* Returns the bytes per second of a kernel that only reads. */
static double read_bandwidth(const gpu_board *board) {
  const size_t bytes = (size_t)(board->bytes / board->measured) / 4096 * 4096;
  void *at = board_allocate(bytes);
  double best = 0;
  board_fill(at, 0, bytes);
  for (int k = 0; k < 6; k++) {
    board_start();
    board_read(at, bytes);
    best = fmax(best, (double)bytes / board_stop());
  }
  board_release(at);
  return best;
}

/* ---- Options ------------------------------------------------------------------------------------------- */

static void refuse(const char *text, const char *what) {
  fprintf(stderr, "gpu_check: %s %s\n%s", text, what, usage);
  exit(2);
}

static double number_of(const char *option, const char *text, double least, double most) {
  char *end;
  const double value = text ? strtod(text, &end) : NAN;
  if (text == NULL || end == text || (*end != 0 && *end != ',') || !(value >= least && value <= most))
    refuse("no such number for", option);
  return value;
}

static gpu_settings parse(int argc, char **argv) {
  gpu_settings s = {.size = 64, .repeat = 10, .node_bytes = 64e3, .nrhs = {1, 8, 64}, .numbers = 3};
  for (int k = 1; k < argc; k += 2) {
    const char *option = argv[k], *text = argv[k + 1];
    if (strcmp(option, "--help") == 0) {
      fputs(usage, stdout);
      exit(0);
    }
    if (strcmp(option, "--size") == 0)
      s.size = (tsi_index)number_of(option, text, 1, 400);
    else if (strcmp(option, "--repeat") == 0)
      s.repeat = (tsi_index)number_of(option, text, 1, GPU_TIMES_MAX);
    else if (strcmp(option, "--node") == 0)
      s.node_bytes = number_of(option, text, 100, 1e9);
    else if (strcmp(option, "--types") == 0 && text)
      s.types = text;
    else if (strcmp(option, "--json") == 0 && text)
      s.json = text;
    else if (strcmp(option, "--nrhs") == 0 && text) {
      for (s.numbers = 0; text; text = strchr(text, ',') ? strchr(text, ',') + 1 : NULL) {
        if (s.numbers == NUMBERS_MAX) refuse("too many numbers for", option);
        s.nrhs[s.numbers++] = (tsi_index)number_of(option, text, 1, 1024);
      }
    } else
      refuse("what is", option);
  }
  return s;
}

int main(int argc, char **argv) {
  const gpu_settings settings = parse(argc, argv);
  session s = {.repeat = settings.repeat};
  const char *missing = board_open(&s.board);
  if (missing) SKIP("no GPU to measure on: %s", missing);
  gpu_report_begin(&s.report, s.board.name, read_bandwidth(&s.board), gpu_dgemm());
  check_stored(&s, &settings, &typed_double, NULL, "d", NULL);
  check_stored(&s, &settings, &typed_single, &typed_double, "s", "sd");
  check_stored(&s, &settings, &typed_complex_double, NULL, "z", NULL);
  check_stored(&s, &settings, &typed_complex_single, &typed_complex_double, "c", "cz");
  if (settings.json) gpu_report_write(&s.report, settings.json);
  return gpu_report_end(&s.report);
}
