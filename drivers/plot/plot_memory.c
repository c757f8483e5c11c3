/* Memory over time, from the analysis to the solves: see plot.h.
 *
 * A thread samples two figures: the memory that the library has allocated through its context, and, if /proc
 * reports it, the resident memory of the process. The latter includes the program, StarPU, the BLAS, and
 * freed memory that the C library keeps. Each phase is also sampled at its start and end, so no phase is
 * without a sample. When the array of samples is full, every second one is dropped, and the interval is
 * doubled. The exact maximum of the library is drawn as a line. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "drivers/draw/chart.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"
#include "drivers/session/rhs.h"

enum { SAMPLES_MOST = 2400, PHASES = 4, FIGURES = 2 };
#define INTERVAL 2e-4    /* seconds between the first samples */
#define SOLVES_SHARE 0.2 /* maximum time for solves, as a share of the time before */
#define SOLVES_MOST 1000 /* maximum number of solves */

typedef enum figure { ALLOCATED, RESIDENT } figure;

typedef struct sampler {
  tsi_session *s;
  pthread_t thread;
  pthread_mutex_t lock; /* guards the following members */
  bool end;
  int64_t count;
  double interval, begin;              /* seconds */
  double at[SAMPLES_MOST];             /* seconds from the beginning */
  double bytes[FIGURES][SAMPLES_MOST]; /* RESIDENT: NaN if the system does not report it */
} sampler;

typedef struct memory {
  sampler in;
  double phase[PHASES + 1]; /* start of each phase, the first at 0; the last entry is the end */
  int64_t solves;
  size_t peak; /* peak of allocated memory */
} memory;

static const char *const phase_names[PHASES] = {"analysis", "factorization", "plan", "solves"};
static const char *const phase_colours[PHASES] = {"#e8f1f8", "#fdf0d5", "#dff3ec", "#f7e9f1"};

/* ---- Samples ------------------------------------------------------------------------------------------ */

/* Returns the resident bytes of this process; NaN: the system does not report them. */
static double resident_bytes(void) {
  long long size, pages = -1;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL) return NAN;
  if (fscanf(file, "%lld %lld", &size, &pages) != 2) pages = -1;
  fclose(file);
  return pages < 0 ? NAN : (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Drops every second sample. The lock is held. */
static void drop_every_second(sampler *in) {
  int64_t kept = 0;
  for (int64_t k = 0; k < in->count; k += 2, kept++) {
    in->at[kept] = in->at[k];
    for (int f = 0; f < FIGURES; f++) in->bytes[f][kept] = in->bytes[f][k];
  }
  in->count = kept;
  in->interval *= 2;
}

static double look(sampler *in) {
  tristar_memory_stats now;
  tristar_get_memory(in->s->ts, &now);
  const double resident = resident_bytes();
  pthread_mutex_lock(&in->lock);
  const double at = tsi_now() - in->begin;
  if (in->count == SAMPLES_MOST) drop_every_second(in);
  in->at[in->count] = at;
  in->bytes[ALLOCATED][in->count] = (double)now.current_bytes;
  in->bytes[RESIDENT][in->count++] = resident;
  pthread_mutex_unlock(&in->lock);
  return at;
}

static void *sample(void *arg) {
  sampler *in = arg;
  for (;;) {
    pthread_mutex_lock(&in->lock);
    const bool end = in->end;
    const double interval = in->interval;
    pthread_mutex_unlock(&in->lock);
    if (end) return NULL;
    (void)look(in);
    nanosleep(&(struct timespec){(time_t)interval, (long)(1e9 * (interval - (double)(time_t)interval))},
              NULL);
  }
}

/* ---- Phases ------------------------------------------------------------------------------------------- */

static bool solve(tsi_session *s, memory *m, const tristar_dense *b, const tristar_dense *x) {
  const double begin = tsi_now(), until = begin + SOLVES_SHARE * (begin - m->in.begin);
  bool ok = true;
  do
    ok = tsi_session_check(
        s, tristar_solve(s->plan, tsi_session_op(s)->op, b->cols, b->values, b->rows, x->values, b->rows),
        s->name);
  while (ok && ++m->solves < SOLVES_MOST && tsi_now() < until);
  return ok;
}

static bool run_phase(tsi_session *s, memory *m, int phase, const tristar_dense *b, const tristar_dense *x) {
  const bool ok = phase == 0   ? tsi_session_analyze(s)
                  : phase == 1 ? tsi_session_factor(s)
                  : phase == 2 ? tsi_session_plan(s, b->cols)
                               : solve(s, m, b, x);
  m->phase[phase + 1] = look(&m->in);
  return ok;
}

static bool run(tsi_session *s, memory *m) {
  tristar_dense b = {0}, x = {0};
  bool ok = tsi_rhs_make(s, &b) && tsi_dense_make(s, b.rows, b.cols, &x);
  m->in.interval = INTERVAL;
  m->in.begin = tsi_now();
  (void)look(&m->in);
  if (ok && pthread_create(&m->in.thread, NULL, sample, &m->in) != 0)
    ok = tsi_session_fail(s, TRISTAR_ERR_RUNTIME, "cannot start a thread to measure the memory");
  else if (ok) {
    for (int phase = 0; phase < PHASES && ok; phase++) ok = run_phase(s, m, phase, &b, &x);
    pthread_mutex_lock(&m->in.lock);
    m->in.end = true;
    pthread_mutex_unlock(&m->in.lock);
    pthread_join(m->in.thread, NULL);
  }
  free(b.values);
  free(x.values);
  return ok;
}

/* ---- Picture ------------------------------------------------------------------------------------------ */

static void write_legend(tsi_picture *p, const memory *m) {
  for (int phase = 0; phase < PHASES; phase++)
    tsi_legend_square(&p->legend, phase_colours[phase], "%s, %s",
                      phase == PHASES - 1 ? tsi_text_many(m->solves, "solve") : phase_names[phase],
                      tsi_text_time(m->phase[phase + 1] - m->phase[phase]));
}

static void write_phases(FILE *file, const memory *m, const tsi_axis *x, const tsi_axis *y) {
  for (int phase = 0; phase < PHASES; phase++) {
    const double left = tsi_axis_at(x, m->phase[phase]), right = tsi_axis_at(x, m->phase[phase + 1]);
    tsi_svg_area(file, "phase", left, y->end, right - left, y->begin - y->end, phase_colours[phase]);
    fprintf(file, "<title>%s, %s</title></rect>\n", phase_names[phase],
            tsi_text_time(m->phase[phase + 1] - m->phase[phase]));
  }
}

static bool draw(tsi_session *s, const memory *m) {
  enum { PEAK = FIGURES, SERIES };
  tsi_picture p;
  char text[80];
  const double peak = (double)m->peak, end = m->phase[PHASES];
  double most = peak;
  for (int64_t k = 0; k < m->in.count; k++) most = fmax(most, m->in.bytes[RESIDENT][k]);
  snprintf(text, sizeof text, "most that the library had allocated, %s", tsi_text_bytes(peak));
  const tsi_series series[SERIES] = {
      [ALLOCATED] = {"allocated by the library", TSI_SERIES_LINE, TSI_BLUE, TSI_DISC, m->in.count, m->in.at,
                     m->in.bytes[ALLOCATED], NULL, NULL},
      [RESIDENT] = {isfinite(m->in.bytes[RESIDENT][0]) ? "in memory, of the whole process" : NULL,
                    TSI_SERIES_DASHED, TSI_VERMILLION, TSI_DISC, m->in.count, m->in.at, m->in.bytes[RESIDENT],
                    NULL, NULL},
      [PEAK] = {.name = text, .kind = TSI_SERIES_LEVEL, .colour = TSI_BLUE, .count = 1, .y = &peak}};
  tsi_axis x = {.to = end > 0 ? end : 1, .name = "time", .quantity = TSI_SECONDS};
  tsi_axis y = {.to = 1.06 * most, .name = "memory", .quantity = TSI_BYTES};
  if (!tsi_chart_begin(&p, s, s->settings->out, "Memory for the analysis, factors and solves")) return false;
  tsi_picture_subtitle(&p, "n = %s, nnz(L) = %s, %s; %s of factor; %s, %s", tsi_text_count(s->a.n),
                       tsi_text_count(s->a.nnz_lower), s->precision->text,
                       tsi_text_bytes((double)s->f.factor_bytes), tsi_text_many(s->p.workers, "worker"),
                       tsi_text_many(tsi_plot_nrhs(s), "right-hand side"));
  tsi_chart_legend(&p, SERIES, series);
  write_legend(&p, m);
  tsi_chart_place(&p, &x, &y, SERIES, series);
  write_phases(p.file, m, &x, &y);
  tsi_chart_draw(&p, &x, &y, SERIES, series);
  return tsi_chart_end(&p, &y);
}

static void add_figures(cJSON *figures, const memory *m) {
  cJSON *phases = cJSON_AddArrayToObject(figures, "phases"),
        *items = cJSON_AddArrayToObject(figures, "items");
  TSI_JSON_NUMBERS(figures, {"solves", (double)m->solves}, {"peak_bytes", (double)m->peak});
  for (int phase = 0; phase < PHASES; phase++) {
    cJSON *object = tsi_json_add_item(phases);
    cJSON_AddStringToObject(object, "name", phase_names[phase]);
    TSI_JSON_NUMBERS(object, {"begin_s", m->phase[phase]}, {"end_s", m->phase[phase + 1]});
  }
  for (int64_t k = 0; k < m->in.count; k++) {
    cJSON *object = tsi_json_add_item(items);
    TSI_JSON_NUMBERS(object, {"at_s", m->in.at[k]}, {"allocated_bytes", m->in.bytes[ALLOCATED][k]});
    if (isfinite(m->in.bytes[RESIDENT][k]))
      cJSON_AddNumberToObject(object, "resident_bytes", m->in.bytes[RESIDENT][k]);
  }
}

bool tsi_plot_memory(const tsi_plot *plot) {
  tsi_session *s = plot->s;
  tristar_memory_stats stats;
  memory *m = calloc(1, sizeof *m);
  if (m == NULL) return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
  m->in.s = s;
  pthread_mutex_init(&m->in.lock, NULL);
  bool ok = run(s, m);
  if (ok) {
    tristar_get_memory(s->ts, &stats);
    m->peak = stats.peak_bytes;
    add_figures(plot->figures, m);
    ok = draw(s, m);
  }
  pthread_mutex_destroy(&m->in.lock);
  free(m);
  return ok;
}
