/* Measures the GPU kernels on the board of this machine, or in the emulator, beside what the board can do at
 * all and beside others: one line a case, and JSON. See usage below.
 *
 * A case is a solve, or a sweep of one, of one scalar type and number of right-hand sides. It runs once
 * without being measured, then as often as it is asked for; its time is the median. x is compared with the
 * one that the right-hand side was made from; TriStar's kernels, except those of published solvers that add
 * atomically, have to give the same bits with other blocks and threads.
 *
 * Bytes are those of L without padding, flops two for each entry and right-hand side. */
#include "codelets/gpu/row_choice.h"
#include "runtime/base/clock.h"
#include "runtime/execute/device_rows.h"
#include "runtime/execute/device_variants.h"
#include "tools/gpu/board.h"
#include "tools/gpu/cores.h"
#include "tools/gpu/peers.h"
#include "tools/gpu/report.h"
#include "tools/gpu/solve.h"

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

typedef struct session {
  const gpu_settings *settings;
  gpu_board board;
  gpu_report report;
  problem p;           /* of the stored type of the cases under way */
  const char *scalars; /* of these cases */
  const typed *user;   /* of b and x */
  tsi_index nrhs;
  number *x, *y, *b;   /* n nrhs in the order of the factor: L y = b, L^T x = y */
  double core_seconds; /* of a solve by one core; 0: there is none */
} session;

/* ---- Cases --------------------------------------------------------------------------------------------- */

typedef struct candidate {
  const char *what;
  void (*run)(void *solver, unsigned threads);
  void (*fetch)(const void *solver, void *x);
  void *solver;
  double bytes;  /* that it moves beside L */
  double sweeps; /* how often it reads L */
  const number *expected;
  const tsi_index *rows; /* where the rows of the factor are in what is fetched; NULL: there */
  bool on_core, repeats; /* it runs here; it gives the same bits whatever blocks and threads are */
} candidate;

/* The largest difference, by the largest entry; NaN where there is one. */
static double largest_error(const session *s, const candidate *c, const void *x) {
  const tsi_index n = s->p.a.n;
  double largest = 0, worst = 0;
  for (tsi_index k = 0; k < s->nrhs; k++)
    for (tsi_index j = 0; j < n; j++) {
      const number right = c->expected[(ptrdiff_t)k * n + j];
      const double d = cabs(get(s->user, x, (int64_t)k * n + (c->rows ? c->rows[j] : j)) - right);
      largest = fmax(largest, cabs(right));
      worst = larger_error(worst, d);
    }
  return worst / largest;
}

static double run_once(const candidate *c, unsigned threads) {
  if (c->on_core) {
    const double start = tsi_clock();
    c->run(c->solver, threads);
    return tsi_clock() - start;
  }
  board_start();
  c->run(c->solver, threads);
  return board_stop();
}

static double measure(session *s, const candidate *c) {
  const size_t bytes = (size_t)s->p.a.n * (size_t)s->nrhs * s->user->bytes;
  void *x = malloc(bytes + 1), *again = malloc(bytes + 1);
  gpu_case out = {.what = c->what, .scalars = s->scalars, .nrhs = s->nrhs};
  CHECK(x != NULL && again != NULL);
  c->run(c->solver, s->board.warp);
  c->fetch(c->solver, x);
  for (int k = 0; k < s->settings->repeat; k++) gpu_case_add(&out, run_once(c, s->board.threads));
  c->fetch(c->solver, again);
  out.error = largest_error(s, c, again);
  out.right = out.error <= (s->p.t->is_single ? 1e-4 : 1e-11);
  out.same_bits = memcmp(x, again, bytes) == 0;
  out.has_bits = c->repeats;
  out.bytes = c->bytes + c->sweeps * problem_bytes(&s->p);
  out.flops = c->sweeps * 2 * (double)s->p.s.symbolic->nnz_exact * s->nrhs * (s->p.t->is_complex ? 4 : 1);
  out.of_core = c->sweeps == 2 ? s->core_seconds : 0;
  free(x);
  free(again);
  return gpu_report_add(&s->report, &out);
}

/* ---- TriStar's kernels --------------------------------------------------------------------------------- */

/* Vectors for a solver, in the user's type; rows: where the rows of the factor go. */
static void *vectors_of(const session *s, const number *from, const tsi_index *rows) {
  const tsi_index n = s->p.a.n;
  void *to = calloc((size_t)n * (size_t)s->nrhs + 1, s->user->bytes);
  CHECK(to != NULL);
  for (tsi_index k = 0; k < s->nrhs; k++)
    for (tsi_index j = 0; j < n; j++)
      put(s->user, to, (int64_t)k * n + (rows ? rows[j] : j), from[(ptrdiff_t)k * n + j]);
  return to;
}

static tsi_device_call call_of(const session *s, const tsi_index *rows, const void *b, void *x) {
  return (tsi_device_call){.wide = s->user->bytes > s->p.t->bytes,
                           .in_row = rows,
                           .out_row = rows,
                           .b = b,
                           .x = x,
                           .b_row = 1,
                           .b_column = s->p.a.n,
                           .x_row = 1,
                           .x_column = s->p.a.n,
                           .nrhs = s->nrhs,
                           .stride = tsi_workspace_stride(s->nrhs)};
}

/* A solve or a sweep of one: what it reads, writes and has to give. */
typedef struct part {
  const char *sweeps, *sc23, *kk20;
  bool forward, backward;
} part;
static const part parts[] = {{"sweep forward", "SC23 forward", "KK20 forward", true, false},
                             {"sweep backward", "SC23 backward", "KK20 backward", false, true},
                             {"solve by sweeps", "solve by SC23", "solve by KK20", true, true}};

static void run_sweeps(void *arg, unsigned threads) {
  board_sweeps_run(arg, false, 0, threads);
  board_sweeps_run(arg, true, 0, threads);
}
static void fetch_sweeps(const void *arg, void *x) {
  board_fetch(&((const board_sweeps *)arg)->arrays, x);
}
static void run_sc23(void *arg, unsigned threads) {
  board_variant_sc23(arg, false, threads);
  board_variant_sc23(arg, true, threads);
}
static void run_kk20(void *arg, unsigned threads) {
  board_variant_kk20(arg, false, threads);
  board_variant_kk20(arg, true, threads);
}
static void fetch_variant(const void *arg, void *x) {
  board_fetch(&((const board_variant *)arg)->arrays, x);
}

static void check_part(session *s, const part *which, const tsi_variant_tables *variants) {
  const tsi_index *perm = s->p.s.symbolic->perm;
  const tsi_device_values values = {s->p.stream, NULL};
  void *b = vectors_of(s, which->forward ? s->b : s->y, perm), *x = vectors_of(s, s->x, perm);
  tsi_device_call call = call_of(s, perm, b, x);
  candidate c = {.what = which->sweeps,
                 .sweeps = which->forward + which->backward,
                 .expected = which->backward ? s->x : s->y,
                 .rows = perm};
  board_sweeps sweeps;
  board_variant variant;
  memset(x, 0, (size_t)s->p.a.n * (size_t)s->nrhs * s->user->bytes);
  if (which->forward) call.forward = values;
  if (which->backward) call.backward = values;
  board_sweeps_open(s->scalars, &s->p.device, &s->p.device, &call, &sweeps);
  c.run = run_sweeps, c.fetch = fetch_sweeps, c.solver = &sweeps, c.repeats = true;
  measure(s, &c);
  board_close(&sweeps.arrays);
  if (sweeps.kernels->sc23) {
    board_variant_open(s->scalars, variants, variants, &call, &variant);
    c.fetch = fetch_variant, c.solver = &variant, c.repeats = false;
    c.what = which->sc23, c.run = run_sc23;
    measure(s, &c);
    c.what = which->kk20, c.run = run_kk20;
    measure(s, &c);
    board_close(&variant.arrays);
  }
  free(b);
  free(x);
}

static void run_columns(void *arg, unsigned threads) {
  board_columns *s = arg;
  board_columns_run(s, (unsigned)(s->columns.n / (tsi_index)threads) + 1, threads);
}
static void fetch_columns(const void *arg, void *x) {
  board_fetch(&((const board_columns *)arg)->arrays, x);
}

/* x = D^-1 b, D = 1.5 I. */
static void check_columns(session *s) {
  const tsi_index n = s->p.a.n, *perm = s->p.s.symbolic->perm;
  const size_t entries = (size_t)n * (size_t)s->nrhs;
  void *b = vectors_of(s, s->b, perm), *x = vectors_of(s, s->x, perm),
       *inverse = calloc((size_t)n, 2 * s->p.t->bytes);
  number *expected = malloc(entries * sizeof *expected);
  CHECK(inverse != NULL && expected != NULL);
  for (tsi_index j = 0; j < n; j++) put(s->p.t, inverse, 2 * (int64_t)j, 1 / 1.5);
  for (size_t i = 0; i < entries; i++) expected[i] = s->b[i] / 1.5;
  tsi_gpu_columns host = {.call = call_of(s, perm, b, x), .n = n, .reads = true, .writes = true};
  host.call.inverse = inverse;
  board_columns solver;
  board_columns_open(s->scalars, &host, &solver);
  const candidate c = {.what = "columns, D^-1",
                       .run = run_columns,
                       .fetch = fetch_columns,
                       .solver = &solver,
                       .bytes = 2 * (double)entries * (double)s->user->bytes + (double)n * sizeof(tsi_index),
                       .expected = expected,
                       .rows = perm,
                       .repeats = true};
  measure(s, &c);
  board_close(&solver.arrays);
  free(b);
  free(x);
  free(inverse);
  free(expected);
}

static void run_rows(void *arg, unsigned threads) {
  board_rows_run(arg, true, 0, threads);
}
static void run_phases(void *arg, unsigned threads) {
  board_rows_run(arg, false, 0, threads);
}
static void fetch_rows(const void *arg, void *x) {
  board_fetch(&((const board_rows *)arg)->arrays, x);
}

/* L by rows, without supernodes. */
static void check_rows(session *s, tsi_device_row_way way, bool one_launch, const char *what) {
  const csr *m = &s->p.lower;
  const tsi_lines lines = {m->n, m->ptr, m->index, false};
  const tsi_device_row_options options = {way, (tsi_index)s->board.warp};
  tsi_row_options rows;
  tsi_row_cut *cut;
  tsi_device_row_plan plan;
  tsi_row_options_init(&rows, TSI_ROWS_WHOLE, 1, s->p.t->bytes);
  CHECK_OK(tsi_row_cut_create(&s->p.env, &lines, &rows, NULL, 0, &cut));
  CHECK_OK(tsi_device_rows_create(&s->p.env, &lines, false, cut, &options, &plan));
  void *values = malloc(((size_t)plan.tables.entries + 1) * s->p.t->bytes),
       *inverse = malloc(((size_t)m->n + 1) * s->p.t->bytes), *b = vectors_of(s, s->b, NULL),
       *x = vectors_of(s, s->b, NULL);
  CHECK(values != NULL && inverse != NULL);
  tsi_device_rows_fill(&plan, s->p.t->bytes, m->values, values);
  tsi_device_rows_place(&plan, s->p.t->bytes, s->p.inverse, inverse);
  const tsi_gpu_rows host = {
      .tables = plan.tables, .call = call_of(s, plan.order, b, x), .values = values, .inverse = inverse};
  board_rows solver;
  board_rows_open(s->scalars, &host, &solver);
  const candidate c = {.what = what,
                       .run = one_launch ? run_rows : run_phases,
                       .fetch = fetch_rows,
                       .solver = &solver,
                       .sweeps = 1,
                       .expected = s->y,
                       .repeats = true};
  measure(s, &c);
  board_close(&solver.arrays);
  tsi_device_rows_destroy(&s->p.env, &plan);
  tsi_row_cut_destroy(&s->p.env, &cut);
  free(values);
  free(inverse);
  free(b);
  free(x);
}

/* ---- Others -------------------------------------------------------------------------------------------- */

typedef struct core_candidate {
  core_solve solve;
  const void *x;
  size_t bytes;
} core_candidate;

static void run_core(void *arg, unsigned threads) {
  (void)threads;
  core_solve_run(&((core_candidate *)arg)->solve);
}
static void fetch_core(const void *arg, void *x) {
  const core_candidate *c = arg;
  memcpy(x, c->x, c->bytes);
}

static void check_core(session *s) {
  const tsi_index *perm = s->p.s.symbolic->perm;
  void *b = vectors_of(s, s->b, perm), *x = vectors_of(s, s->b, perm);
  core_candidate core = {.x = x, .bytes = (size_t)s->p.a.n * (size_t)s->nrhs * s->user->bytes};
  core_solve_open(&s->p, s->nrhs, b, x, &core.solve);
  const candidate c = {.what = "solve by one core",
                       .run = run_core,
                       .fetch = fetch_core,
                       .solver = &core,
                       .sweeps = 2,
                       .expected = s->x,
                       .rows = perm,
                       .on_core = true,
                       .repeats = true};
  s->core_seconds = measure(s, &c);
  core_solve_close(&core.solve);
  free(b);
  free(x);
}

typedef struct peer_candidate {
  const gpu_peer *peer;
  void *solver;
} peer_candidate;

static void run_peer(void *arg, unsigned threads) {
  const peer_candidate *c = arg;
  (void)threads;
  c->peer->solve(c->solver);
}
static void fetch_peer(const void *arg, void *x) {
  const peer_candidate *c = arg;
  c->peer->fetch(c->solver, x);
}

static void check_peer(session *s, const gpu_peer *peer) {
  void *b = vectors_of(s, s->b, NULL), *x = vectors_of(s, s->x, NULL);
  peer_candidate solver = {peer, peer->open(&s->p, s->nrhs, b, x)};
  const candidate c = {.what = peer->name,
                       .run = run_peer,
                       .fetch = fetch_peer,
                       .solver = &solver,
                       .sweeps = 2,
                       .expected = s->x};
  if (solver.solver) {
    measure(s, &c);
    peer->close(solver.solver);
  } else
    printf("%s cannot solve with this factor\n", peer->name);
  free(b);
  free(x);
}

/* ---- All cases ----------------------------------------------------------------------------------------- */

/* x of random numbers, which the type of x holds; y = L^T x, b = L y. */
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

static void check_vectors(session *s) {
  const bool mixed = s->scalars[1] != 0;
  tsi_variant_tables variants;
  CHECK_OK(tsi_variant_tables_create(&s->p.env, &s->p.device, &variants));
  s->core_seconds = 0;
  if (!mixed) check_core(s);
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) check_part(s, &parts[k], &variants);
  check_columns(s);
  if (!mixed) {
    check_rows(s, TSI_DEVICE_ROWS_LEVELS, false, "rows forward, levels");
    check_rows(s, TSI_DEVICE_ROWS_LEVELS, true, "rows forward, levels in one launch");
    check_rows(s, TSI_DEVICE_ROWS_FREE, true, "rows forward, sync-free");
    for (int k = 0; gpu_peers[k]; k++) check_peer(s, gpu_peers[k]);
  }
  tsi_variant_tables_destroy(&s->p.env, &variants);
}

/* Is the name between commas of the list? NULL: of all. */
static bool listed(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strncmp(at, name, length) == 0 && (at[length] == 0 || at[length] == ',')) return true;
  return list == NULL;
}

/* All scalar types that the values of one type serve. */
static void check_stored(session *s, const typed *t, const typed *wide, const char *scalars,
                         const char *mixed) {
  const char *names[2] = {scalars, mixed};
  const typed *users[2] = {t, wide};
  if (!listed(s->settings->types, scalars) && !(mixed && listed(s->settings->types, mixed))) return;
  problem_open(s->settings->size, t, s->settings->node_bytes, &s->p);
  gpu_report_problem(&s->report, s->settings->size, s->p.a.n, s->p.s.symbolic->nnz_exact);
  for (int k = 0; k < 2; k++)
    for (int number_of = 0;
         names[k] && listed(s->settings->types, names[k]) && number_of < s->settings->numbers; number_of++) {
      s->scalars = names[k];
      s->user = users[k];
      s->nrhs = s->settings->nrhs[number_of];
      make_vectors(s, users[k]);
      check_vectors(s);
      free_vectors(s);
    }
  problem_close(&s->p);
}

/* Bytes a second of a kernel that only reads. */
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
  session s = {.settings = &settings};
  const char *missing = board_open(&s.board);
  if (missing) SKIP("no GPU to measure on: %s", missing);
  gpu_report_begin(&s.report, s.board.name, read_bandwidth(&s.board), gpu_dgemm());
  check_stored(&s, &typed_double, NULL, "d", NULL);
  check_stored(&s, &typed_single, &typed_double, "s", "sd");
  check_stored(&s, &typed_complex_double, NULL, "z", NULL);
  check_stored(&s, &typed_complex_single, &typed_complex_double, "c", "cz");
  if (settings.json) gpu_report_write(&s.report, settings.json);
  return gpu_report_end(&s.report);
}
