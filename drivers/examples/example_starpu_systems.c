/* Six linear systems as one graph of tasks: tasks assemble right-hand sides, solves read them and write
 * solutions, tasks read these; and so on, round by round. All of it is submitted before the program waits: a
 * system that is ready for its next round does not wait for the others.
 *
 *   example_starpu_systems [SCALE [ROUNDS]]       defaults: 100 (per cent of the usual sizes), 4
 *
 * In every round a system is assembled by PIECES tasks. Each writes some rows of b, which have their own
 * handle. The load depends on the solution of the round before. The same is then done by synchronous calls;
 * the exit status is 1 unless these give the same bits, and small backward errors. */
#include <math.h>

#include "example_tasks.h"
#include "tristar_matrix.h"

enum { SYSTEMS = 6, PIECES = 4 };

typedef struct report { /* Statistics of the solutions of a system. */
  double norm;          /* The largest entry of the last x. */
  double error;         /* The largest backward error of all rounds. */
  uint64_t bits;        /* Checksum of the solutions of all rounds. */
} report;

typedef struct model {
  const char *kind;
  int size, nrhs;
} model;

typedef struct equations {
  model is;
  int64_t n;
  tristar_matrix_t *matrix;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  double *b, *x; /* n x nrhs */
  report report;
  starpu_data_handle_t rows_of_b[PIECES], handle_of_x, handle_of_report;
} equations;

static const model models[SYSTEMS] = {{"poisson3d7", 18, 1},  {"s2d9pt", 70, 1}, {"convdiff3d", 12, 1},
                                      {"elasticity3d", 7, 4}, {"kkt3d", 7, 2},   {"circuit", 3000, 1}};

static tristar_t *ts;

static void check(tristar_status status) {
  example_check(ts, status);
}

/* ---- The work, without tasks --------------------------------------------------------------------------- */

static int64_t piece_begin(const equations *e, int piece) {
  return e->n * piece / PIECES;
}

/* Computes rows of b: a load plus a term from the solution of the round before. */
static void assemble(const equations *e, int piece, int round) {
  for (int64_t j = 0; j < e->is.nrhs; j++)
    for (int64_t i = piece_begin(e, piece); i < piece_begin(e, piece + 1); i++) {
      const double x = e->x[i + j * e->n];
      e->b[i + j * e->n] = sin(0.01 * (double)(i + 1) * (double)(j + 1) + round) + x / (1 + fabs(x));
    }
}

/* Returns 0 if the backward error could not be computed. */
static int examine(equations *e) {
  const int64_t count = e->n * e->is.nrhs;
  double error;
  if (tristar_residual(e->factor, TRISTAR_N, e->is.nrhs, e->b, e->n, e->x, e->n, NULL, 0, &error)) return 0;
  if (!(error <= e->report.error)) e->report.error = error; /* Keeps a NaN. */
  e->report.norm = 0;
  for (int64_t k = 0; k < count; k++)
    if (!(fabs(e->x[k]) <= e->report.norm)) e->report.norm = fabs(e->x[k]);
  e->report.bits = example_bits(e->report.bits, e->x, (size_t)count * sizeof *e->x);
  return 1;
}

/* ---- Tasks --------------------------------------------------------------------------------------------- */

/* Buffers: a piece of b, x. They are stored in main memory, in the arrays of e. */
static void assemble_task(void *buffers[], void *arg) {
  const equations *e;
  int piece, round;
  (void)buffers;
  starpu_codelet_unpack_args(arg, &e, &piece, &round);
  assemble(e, piece, round);
}
/* Buffers: x, the report, the pieces of b. */
static void examine_task(void *buffers[], void *arg) {
  equations *e;
  (void)buffers;
  starpu_codelet_unpack_args(arg, &e);
  if (!examine(e)) e->report.error = NAN;
}
/* Buffers: the worst backward error, the reports. */
static void collect_task(void *buffers[], void *arg) {
  double *worst = (double *)STARPU_VARIABLE_GET_PTR(buffers[0]);
  (void)arg;
  *worst = 0;
  for (int s = 0; s < SYSTEMS; s++) {
    const report *r = (const report *)STARPU_VARIABLE_GET_PTR(buffers[1 + s]);
    if (!(r->error <= *worst)) *worst = r->error;
  }
}

static struct starpu_codelet assembler = {
    .cpu_funcs = {assemble_task}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}, .name = "assemble"};
static struct starpu_codelet examiner = {
    .cpu_funcs = {examine_task},
    .nbuffers = 2 + PIECES,
    .modes = {STARPU_R, STARPU_RW, STARPU_R, STARPU_R, STARPU_R, STARPU_R},
    .name = "examine"};
static struct starpu_codelet collector = {
    .cpu_funcs = {collect_task},
    .nbuffers = 1 + SYSTEMS,
    .modes = {STARPU_W, STARPU_R, STARPU_R, STARPU_R, STARPU_R, STARPU_R, STARPU_R},
    .name = "collect"};

/* Submits a round of a system; returns at once. */
static void submit_round(equations *e, int round) {
  const starpu_data_handle_t *b = e->rows_of_b;
  for (int piece = 0; piece < PIECES; piece++)
    example_call(starpu_task_insert(&assembler, STARPU_W, b[piece], STARPU_R, e->handle_of_x, STARPU_VALUE,
                                    &e, sizeof e, STARPU_VALUE, &piece, sizeof piece, STARPU_VALUE, &round,
                                    sizeof round, 0));
  check(tristar_solve_insert_pieces(e->plan, NULL, PIECES, b, 1, &e->handle_of_x));
  example_call(starpu_task_insert(&examiner, STARPU_R, e->handle_of_x, STARPU_RW, e->handle_of_report,
                                  STARPU_R, b[0], STARPU_R, b[1], STARPU_R, b[2], STARPU_R, b[3],
                                  STARPU_VALUE, &e, sizeof e, 0));
}

/* ---- The program --------------------------------------------------------------------------------------- */

static void matrix_handle(starpu_data_handle_t *handle, double *array, int64_t ld, int64_t rows,
                          int columns) {
  starpu_matrix_data_register(handle, STARPU_MAIN_RAM, (uintptr_t)array, (uint32_t)ld, (uint32_t)rows,
                              (uint32_t)columns, sizeof *array);
}

static void create(equations *e, const model *is, int scale) {
  tristar_view a;
  *e = (equations){.is = *is};
  check(tristar_matrix_generate(ts, is->kind, 1 + is->size * scale / 100, &e->matrix));
  tristar_matrix_get_view(e->matrix, &a);
  e->n = a.rows;
  check(tristar_analyze(ts, &a, NULL, &e->analysis));
  check(tristar_factor(e->analysis, a.values, &e->factor));
  check(tristar_plan(e->factor, NULL, &e->plan));
  e->b = example_allocate((size_t)(e->n * is->nrhs), sizeof *e->b);
  e->x = example_allocate((size_t)(e->n * is->nrhs), sizeof *e->x);
  for (int p = 0; p < PIECES; p++)
    matrix_handle(&e->rows_of_b[p], e->b + piece_begin(e, p), e->n, piece_begin(e, p + 1) - piece_begin(e, p),
                  is->nrhs);
  matrix_handle(&e->handle_of_x, e->x, e->n, e->n, is->nrhs);
  starpu_variable_data_register(&e->handle_of_report, STARPU_MAIN_RAM, (uintptr_t)&e->report,
                                sizeof e->report);
}

/* Waits for the tasks that use the handles; then the arrays belong to the program again. */
static void take_back(equations *e) {
  for (int p = 0; p < PIECES; p++) starpu_data_unregister(e->rows_of_b[p]);
  starpu_data_unregister(e->handle_of_x);
  starpu_data_unregister(e->handle_of_report);
  check(tristar_plan_wait(e->plan)); /* Reports whether all solves have succeeded. */
}

static void destroy(equations *e) {
  tristar_plan_destroy(&e->plan);
  tristar_factor_destroy(&e->factor);
  tristar_analysis_destroy(&e->analysis);
  tristar_matrix_destroy(&e->matrix);
  free(e->b);
  free(e->x);
}

/* Repeats the rounds by synchronous calls. 1: they give the same bits as the tasks. */
static int synchronous_agrees(equations *e, int rounds) {
  const report by_tasks = e->report;
  const size_t count = (size_t)(e->n * e->is.nrhs);
  memset(e->x, 0, count * sizeof *e->x);
  e->report = (report){0};
  for (int round = 0; round < rounds; round++) {
    for (int piece = 0; piece < PIECES; piece++) assemble(e, piece, round);
    check(tristar_solve(e->plan, TRISTAR_N, e->is.nrhs, e->b, e->n, e->x, e->n));
    if (!examine(e)) return 0;
  }
  return e->report.bits == by_tasks.bits;
}

int main(int argc, char **argv) {
  static equations all[SYSTEMS];
  const int scale = argc > 1 ? example_number(argv[1], 10, 1000) : 100;
  const int rounds = argc > 2 ? example_number(argv[2], 1, 1000) : 4;
  double worst;
  starpu_data_handle_t handle_of_worst, r[SYSTEMS];
  int good = 1;
  example_call(starpu_init(NULL));
  check(tristar_create(NULL, &ts)); /* Uses the running StarPU. */
  for (int s = 0; s < SYSTEMS; s++) create(&all[s], &models[s], scale);
  starpu_variable_data_register(&handle_of_worst, STARPU_MAIN_RAM, (uintptr_t)&worst, sizeof worst);

  const double begin = example_seconds();
  for (int round = 0; round < rounds; round++)
    for (int s = 0; s < SYSTEMS; s++) submit_round(&all[s], round);
  for (int s = 0; s < SYSTEMS; s++) r[s] = all[s].handle_of_report;
  example_call(starpu_task_insert(&collector, STARPU_W, handle_of_worst, STARPU_R, r[0], STARPU_R, r[1],
                                  STARPU_R, r[2], STARPU_R, r[3], STARPU_R, r[4], STARPU_R, r[5], 0));
  const double submitted = example_seconds();
  starpu_data_unregister(handle_of_worst); /* The last task of all. */
  const double end = example_seconds();
  for (int s = 0; s < SYSTEMS; s++) take_back(&all[s]);

  printf("%d systems, %d rounds: submitted in %.2f ms, done after %.2f ms\n", SYSTEMS, rounds,
         1e3 * (submitted - begin), 1e3 * (end - begin));
  for (int s = 0; s < SYSTEMS; s++) {
    const report of = all[s].report;
    const int same = synchronous_agrees(&all[s], rounds);
    printf("%-13s %6lld rows, %d right-hand sides: max |x| %.3e, backward error %.1e, %s\n", all[s].is.kind,
           (long long)all[s].n, all[s].is.nrhs, of.norm, of.error, same ? "same bits" : "OTHER BITS");
    good = good && same && of.norm > 0;
  }
  printf("largest backward error %.1e\n", worst);
  good = good && worst < 1e-11;
  for (int s = 0; s < SYSTEMS; s++) destroy(&all[s]);
  tristar_destroy(&ts);
  starpu_shutdown();
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
