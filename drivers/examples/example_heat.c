/* A time stepper that overlaps: while step k is solved, tasks assemble the part of step k + 1 that does not
 * depend on it (sources, data on the border) and write the snapshot of step k - 1. See example_heat.h for the
 * equation.
 *
 *   example_heat [--serial] [--whole] [--compare] [--gantt FILE] [N [STEPS]]
 *
 * N x N points (256), STEPS steps (20).
 *
 * Each step consists of
 *
 *   source    f_k, in BLOCKS tasks        waits only for a free buffer
 *   sum       b = u_(k-1) + f_k           waits for the source and for step k - 1
 *   solve     u_k = (I + dt K)^-1 b       tristar_solve_insert; the factor is the same in all steps
 *   output    statistics, compression and writing of u_k, in the order of the steps
 *
 * f and u have two buffers each; StarPU derives the dependencies from the handles. --serial runs one part
 * after the other instead, each on all cores as far as it is parallel, with synchronous solves. Without it
 * both are run and must give the same bits. --compare prints the times of both. --gantt draws the tasks of
 * some steps. The exit status is 1 also if errors are too large, or decrease too slowly with finer grids.
 *
 * The time saved by overlapping depends on how much of the parts can use all cores alone. --whole assembles
 * each source in one task, as in a program whose assembly is sequential. */
#include "example_heat.h"
#include "example_tasks.h"
#include "example_watch.h"

enum { BLOCKS = 4, SOURCE = 0, SUM, SOLVE, OUTPUT, PARTS };
static const char *const part_name[PARTS] = {"source", "sum", "solve", "output"};

typedef struct simulation {
  heat p;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  double *u[2], *f[2], *b;
  heat_film film;
  starpu_data_handle_t hu[2], hf[2][BLOCKS], hb, hfilm;
  int whole;             /* One task for each source. */
  double seconds[PARTS]; /* Of the parts, if they run one after the other. */
} simulation;

static tristar_t *ts;

static void check(tristar_status status) {
  example_check(ts, status);
}

/* ---- Tasks --------------------------------------------------------------------------------------------- */

static int first_row(const simulation *s, int block) {
  return (int)((int64_t)s->p.n * block / BLOCKS);
}

/* Buffers: a block of f. */
static void source_task(void *buffers[], void *arg) {
  const simulation *s;
  int step, block;
  starpu_codelet_unpack_args(arg, &s, &step, &block);
  heat_assemble(&s->p, step * s->p.dt, first_row(s, block), first_row(s, block + 1),
                (double *)STARPU_VECTOR_GET_PTR(buffers[0]));
}
/* Buffers: all blocks of f. */
static void whole_source_task(void *buffers[], void *arg) {
  const simulation *s;
  int step;
  starpu_codelet_unpack_args(arg, &s, &step);
  for (int block = 0; block < BLOCKS; block++)
    heat_assemble(&s->p, step * s->p.dt, first_row(s, block), first_row(s, block + 1),
                  (double *)STARPU_VECTOR_GET_PTR(buffers[block]));
}
/* Buffers: b, u, the blocks of f. */
static void sum_task(void *buffers[], void *arg) {
  double *b = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
  const double *u = (const double *)STARPU_VECTOR_GET_PTR(buffers[1]);
  int64_t k = 0;
  (void)arg;
  for (int block = 0; block < BLOCKS; block++) {
    const double *f = (const double *)STARPU_VECTOR_GET_PTR(buffers[2 + block]);
    for (int64_t q = 0; q < STARPU_VECTOR_GET_NX(buffers[2 + block]); q++, k++) b[k] = u[k] + f[q];
  }
}
/* Buffers: u, the film. */
static void output_task(void *buffers[], void *arg) {
  const simulation *s;
  int step;
  starpu_codelet_unpack_args(arg, &s, &step);
  heat_film_add(&s->p, step * s->p.dt, (const double *)STARPU_VECTOR_GET_PTR(buffers[0]),
                (heat_film *)STARPU_VARIABLE_GET_PTR(buffers[1]));
}

static struct starpu_codelet source = {
    .cpu_funcs = {source_task}, .nbuffers = 1, .modes = {STARPU_W}, .name = "source"};
static struct starpu_codelet whole_source = {.cpu_funcs = {whole_source_task},
                                             .nbuffers = BLOCKS,
                                             .modes = {STARPU_W, STARPU_W, STARPU_W, STARPU_W},
                                             .name = "source"};
static struct starpu_codelet sum = {.cpu_funcs = {sum_task},
                                    .nbuffers = 2 + BLOCKS,
                                    .modes = {STARPU_W, STARPU_R, STARPU_R, STARPU_R, STARPU_R, STARPU_R},
                                    .name = "sum"};
static struct starpu_codelet output = {
    .cpu_funcs = {output_task}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "output"};

static void submit_source(simulation *s, int k) {
  const starpu_data_handle_t *f = s->hf[k % 2];
  if (s->whole) {
    example_call(starpu_task_insert(&whole_source, STARPU_W, f[0], STARPU_W, f[1], STARPU_W, f[2], STARPU_W,
                                    f[3], STARPU_VALUE, &s, sizeof s, STARPU_VALUE, &k, sizeof k, 0));
    return;
  }
  for (int block = 0; block < BLOCKS; block++)
    example_call(starpu_task_insert(&source, STARPU_W, f[block], STARPU_VALUE, &s, sizeof s, STARPU_VALUE, &k,
                                    sizeof k, STARPU_VALUE, &block, sizeof block, 0));
}
static void submit_sum(simulation *s, int k) {
  const starpu_data_handle_t *f = s->hf[k % 2];
  example_call(starpu_task_insert(&sum, STARPU_W, s->hb, STARPU_R, s->hu[(k + 1) % 2], STARPU_R, f[0],
                                  STARPU_R, f[1], STARPU_R, f[2], STARPU_R, f[3], 0));
}
static void submit_solve(simulation *s, int k) {
  tristar_insert_options options;
  tristar_insert_options_init(&options);
  options.in_flight = 2; /* Largest number of steps submitted ahead. */
  check(tristar_solve_insert_with(s->plan, &options, s->hb, s->hu[k % 2]));
}
static void submit_output(simulation *s, int k) {
  example_call(starpu_task_insert(&output, STARPU_R, s->hu[k % 2], STARPU_RW, s->hfilm, STARPU_VALUE, &s,
                                  sizeof s, STARPU_VALUE, &k, sizeof k, 0));
}

/* ---- All steps ----------------------------------------------------------------------------------------- */

/* Returns the seconds. */
static double run_overlapped(simulation *s) {
  const double begin = example_seconds();
  submit_source(s, 1);
  for (int k = 1; k <= s->p.steps; k++) {
    if (k < s->p.steps) submit_source(s, k + 1);
    submit_sum(s, k);
    submit_solve(s, k);
    submit_output(s, k);
  }
  example_call(starpu_task_wait_for_all());
  const double seconds = example_seconds() - begin;
  check(tristar_plan_wait(s->plan)); /* Reports whether all solves have succeeded. */
  return seconds;
}

static void solve_now(simulation *s, int k) {
  const int64_t n = heat_points(&s->p);
  example_call(starpu_data_acquire(s->hb, STARPU_R));
  example_call(starpu_data_acquire(s->hu[k % 2], STARPU_W));
  check(tristar_solve(s->plan, TRISTAR_N, 1, s->b, n, s->u[k % 2], n));
  starpu_data_release(s->hu[k % 2]);
  starpu_data_release(s->hb);
}

static void run_serially(simulation *s) {
  static void (*const submit[PARTS])(simulation *, int) = {submit_source, submit_sum, solve_now,
                                                           submit_output};
  for (int part = 0; part < PARTS; part++) s->seconds[part] = 0;
  for (int k = 1; k <= s->p.steps; k++)
    for (int part = 0; part < PARTS; part++) {
      const double before = example_seconds();
      submit[part](s, k);
      example_call(starpu_task_wait_for_all());
      s->seconds[part] += example_seconds() - before;
    }
}

static void create(simulation *s, int n, int steps) {
  int64_t *ptr;
  int32_t *row;
  double *value;
  *s = (simulation){.p = heat_of(n, steps)};
  const int64_t count = heat_points(&s->p);
  const tristar_view a = heat_matrix(&s->p, &ptr, &row, &value);
  check(tristar_analyze(ts, &a, NULL, &s->analysis));
  check(tristar_factor(s->analysis, value, &s->factor));
  check(tristar_plan(s->factor, NULL, &s->plan));
  free(ptr);
  free(row);
  free(value);
  s->b = example_allocate((size_t)count, sizeof *s->b);
  s->hb = example_vector(s->b, count);
  for (int i = 0; i < 2; i++) {
    s->u[i] = example_allocate((size_t)count, sizeof *s->u[i]);
    s->f[i] = example_allocate((size_t)count, sizeof *s->f[i]);
    s->hu[i] = example_vector(s->u[i], count);
    for (int block = 0; block < BLOCKS; block++) {
      const int64_t from = (int64_t)first_row(s, block) * n, to = (int64_t)first_row(s, block + 1) * n;
      s->hf[i][block] = example_vector(s->f[i] + from, to - from);
    }
  }
  starpu_variable_data_register(&s->hfilm, STARPU_MAIN_RAM, (uintptr_t)&s->film, sizeof s->film);
}

/* Restarts at time 0, with a new film. */
static void restart(simulation *s) {
  example_call(starpu_data_acquire(s->hu[0], STARPU_W));
  heat_begin(&s->p, 0, s->p.n, s->u[0]);
  starpu_data_release(s->hu[0]);
  example_call(starpu_data_acquire(s->hfilm, STARPU_W));
  heat_film_open(&s->p, &s->film);
  starpu_data_release(s->hfilm);
}

/* Returns the film after closing it. */
static heat_film finish(simulation *s, const char *how) {
  example_call(starpu_data_acquire(s->hfilm, STARPU_RW));
  const heat_film film = s->film;
  heat_film_close(&s->film);
  starpu_data_release(s->hfilm);
  if (film.failed) example_die(how, "a snapshot could not be written");
  return film;
}

static void destroy(simulation *s) {
  starpu_data_unregister(s->hb);
  starpu_data_unregister(s->hfilm);
  for (int i = 0; i < 2; i++) {
    starpu_data_unregister(s->hu[i]);
    for (int block = 0; block < BLOCKS; block++) starpu_data_unregister(s->hf[i][block]);
    free(s->u[i]);
    free(s->f[i]);
  }
  free(s->b);
  tristar_plan_destroy(&s->plan);
  tristar_factor_destroy(&s->factor);
  tristar_analysis_destroy(&s->analysis);
}

/* ---- The program --------------------------------------------------------------------------------------- */

/* Error at the end on a small grid. */
static double small_error(int n, int steps) {
  simulation s;
  create(&s, n, steps);
  restart(&s);
  run_serially(&s);
  const heat_film film = finish(&s, "small grid");
  destroy(&s);
  return film.error;
}

/* Half the distance and a quarter of the time step should give a quarter of the error. */
static int converges(void) {
  const double coarse = small_error(11, 6), fine = small_error(23, 24);
  printf("convergence: error %.2e on 11 x 11 points, %.2e on 23 x 23: ratio %.2f\n", coarse, fine,
         coarse / fine);
  return coarse / fine > 3.5 && coarse / fine < 4.5;
}

static void report_times(const simulation *s, double overlapped) {
  double parts = 0;
  for (int part = 0; part < PARTS; part++) parts += s->seconds[part];
  for (int part = 0; part < PARTS; part++)
    printf("%-10s %8.3f ms a step\n", part_name[part], 1e3 * s->seconds[part] / s->p.steps);
  printf("on %u workers: sum of the parts %.1f ms, overlapped %.1f ms, saved: %.1f %%\n",
         starpu_cpu_worker_get_count(), 1e3 * parts, 1e3 * overlapped, 100 * (1 - overlapped / parts));
}

/* ---- The chart ----------------------------------------------------------------------------------------- */

enum { K_SOURCE, K_OUTPUT, K_SUM, K_FORWARD, K_BACKWARD, K_OTHER, KINDS };
static const char *const kind_name[KINDS] = {"source",
                                             "output",
                                             "sum",
                                             "TriStar: forward",
                                             "TriStar: backward",
                                             "TriStar: several steps, whole solves"};

static int kind_of(const example_note *note) {
  if (note->codelet == &source || note->codelet == &whole_source) return K_SOURCE;
  if (note->codelet == &sum) return K_SUM;
  if (note->codelet == &output) return K_OUTPUT;
  return strncmp(note->name, "forward", 7) == 0    ? K_FORWARD
         : strncmp(note->name, "backward", 8) == 0 ? K_BACKWARD
                                                   : K_OTHER;
}

static int earlier(const void *a, const void *b) {
  const double x = ((const tsi_gantt_item *)a)->start, y = ((const tsi_gantt_item *)b)->start;
  return (x > y) - (x < y);
}

/* Draws three steps in the middle, from sum to sum, or fewer if there are fewer. begin: start of the first
 * step. */
static void draw(const simulation *s, const char *path, double begin, double seconds) {
  char text[160];
  int64_t count;
  tsi_gantt_item *item = example_watch_items(begin, kind_of, &count);
  const int first = s->p.steps / 2, end = first + 3;
  double from = 0, to = seconds;
  qsort(item, (size_t)count, sizeof *item, earlier);
  for (int64_t k = 0, step = 0; k < count && end <= s->p.steps; k++)
    if (item[k].kind == K_SUM && ++step == first)
      from = item[k].start;
    else if (item[k].kind == K_SUM && step == end)
      to = item[k].start;
  for (int64_t k = 0; k < count; k++) item[k].start -= from, item[k].end -= from;
  snprintf(text, sizeof text,
           "%d x %d points, scheduler %s: from the sum of a step to that of the third after it", s->p.n,
           s->p.n, example_policy.policy_name);
  const tsi_gantt_chart chart = {"Steps of the heat equation, overlapped",
                                 text,
                                 (int)starpu_worker_get_count(),
                                 to - from,
                                 KINDS,
                                 kind_name,
                                 count,
                                 item};
  if (!tsi_gantt_write(path, &chart)) example_die(path, "cannot be written");
  free(item);
}

/* ---- The program --------------------------------------------------------------------------------------- */

typedef struct settings {
  int serial, whole, compare, n, steps;
  const char *gantt;
} settings;

static settings read_arguments(int argc, char **argv) {
  settings set = {.n = 256, .steps = 20};
  int numbers = 0;
  for (int k = 1; k < argc; k++) {
    if (strcmp(argv[k], "--serial") == 0)
      set.serial = 1;
    else if (strcmp(argv[k], "--whole") == 0)
      set.whole = 1;
    else if (strcmp(argv[k], "--compare") == 0)
      set.compare = 1;
    else if (strcmp(argv[k], "--gantt") == 0 && k + 1 < argc)
      set.gantt = argv[++k];
    else if (numbers++ == 0)
      set.n = example_number(argv[k], BLOCKS, 10000);
    else
      set.steps = example_number(argv[k], 1, 1000000);
  }
  if (numbers > 2 || (set.serial && (set.compare || set.gantt)))
    example_die(argv[0], "[--serial] [--whole] [--compare] [--gantt FILE] [N [STEPS]]");
  return set;
}

/* Runs overlapped, after the serial run. Returns 1 if both give the same bits. */
static int overlap(simulation *s, const settings *set, const heat_film *expected) {
  restart(s);
  if (set->gantt) example_watch_begin();
  const double begin = example_seconds(), overlapped = run_overlapped(s);
  if (set->gantt) {
    example_watch_end();
    draw(s, set->gantt, begin, overlapped);
    example_watch_free();
  }
  const heat_film film = finish(s, "overlapped");
  const int same =
      film.bits == expected->bits && film.bytes == expected->bytes && film.error == expected->error;
  printf("overlapped: %s\n", same ? "same bits" : "OTHER BITS");
  if (set->compare) report_times(s, overlapped);
  return same;
}

static int simulate(const settings *set) {
  simulation s;
  create(&s, set->n, set->steps);
  s.whole = set->whole;
  if (set->compare) { /* Once before, so that memory and caches are in the same state in both runs. */
    restart(&s);
    run_serially(&s);
    finish(&s, "first run");
  }
  restart(&s);
  run_serially(&s);
  const heat_film film = finish(&s, "serial");
  printf("%d x %d points, %d steps: error %.2e, heat %.6f, %.1f MB of snapshots\n", s.p.n, s.p.n, s.p.steps,
         film.error, film.content, 1e-6 * (double)film.bytes);
  int good = film.error < 2 * (s.p.dt + s.p.h * s.p.h);
  if (!set->serial && !overlap(&s, set, &film)) good = 0;
  destroy(&s);
  return good;
}

int main(int argc, char **argv) {
  const settings set = read_arguments(argc, argv);
  struct starpu_conf conf;
  example_call(starpu_conf_init(&conf));
  if (set.gantt) example_watch(&conf);
  example_call(starpu_init(&conf));
  check(tristar_create(NULL, &ts)); /* Uses the running StarPU. */
  int good = converges();
  if (!simulate(&set)) good = 0;
  tristar_destroy(&ts);
  starpu_shutdown();
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
