/* Memory over time, from the analysis on to solves: see plot.h.
 *
 * A thread looks at two figures again and again: what the library has allocated through its context, and,
 * where /proc tells it, what the process has in memory: that has the program itself, StarPU and the BLAS in
 * it, and what freed memory the C library keeps. Where a phase begins and ends, it is looked at in any case,
 * so no phase is without a sample. When there is no more room for samples every second one is dropped, and
 * half as many are taken from then on. The largest value of all is known exactly, and is a line. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "drivers/draw/chart.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"
#include "drivers/session/rhs.h"

enum { SAMPLES_MOST = 2400, PHASES = 4, HEIGHT = 460, FIGURES = 2 };
#define INTERVAL 2e-4    /* seconds between the first samples */
#define SOLVES_SHARE 0.2 /* of the time before them: solves go on for so long, */
#define SOLVES_MOST 1000 /* or are so many */

typedef enum figure { ALLOCATED, RESIDENT } figure;

typedef struct sampler {
  tsi_session *s;
  pthread_t thread;
  pthread_mutex_t lock; /* guards what follows */
  bool end;
  int64_t count;
  double interval, begin;              /* seconds */
  double at[SAMPLES_MOST];             /* seconds from the beginning */
  double bytes[FIGURES][SAMPLES_MOST]; /* RESIDENT: NaN where it is not told */
} sampler;

typedef struct memory {
  sampler in;
  double phase[PHASES + 1]; /* when each begins, the first at 0; the last entry: the end */
  int64_t solves;
  size_t peak; /* of what was allocated */
} memory;

static const char *const phase_names[PHASES] = {"analysis", "factorization", "plan", "solves"};
static const char *const phase_colours[PHASES] = {"#e8f1f8", "#fdf0d5", "#dff3ec", "#f7e9f1"};

/* ---- Samples ------------------------------------------------------------------------------------------ */

/* Bytes of this process that are in memory; negative: the system does not tell. */
static double resident_bytes(void) {
  long long size, pages = -1;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL) return -1;
  if (fscanf(file, "%lld %lld", &size, &pages) != 2) pages = -1;
  fclose(file);
  return pages < 0 ? -1 : (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Under the lock. */
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

/* ---- What is looked at -------------------------------------------------------------------------------- */

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
    ok = tsi_session_fail(s, TRISTAR_ERR_RUNTIME, "cannot start a thread to look at the memory");
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

/* Gives its last base line. file: NULL: it is only measured. */
static double write_legend(FILE *file, const memory *m, const tsi_series series[FIGURES]) {
  tsi_legend legend = tsi_legend_begin(file, TSI_CHART_LEFT, TSI_CHART_WIDTH - 16, TSI_CHART_LEGEND);
  char text[80];
  for (int f = 0; f < FIGURES; f++) tsi_series_legend(&legend, &series[f]);
  snprintf(text, sizeof text, "most that the library had allocated, %s", tsi_text_bytes((double)m->peak));
  tsi_legend_line(&legend, "stroke=\"#0072b2\" stroke-dasharray=\"2 3\"", text);
  for (int phase = 0; phase < PHASES; phase++) {
    const char *seconds = tsi_text_time(m->phase[phase + 1] - m->phase[phase]);
    if (phase == PHASES - 1)
      snprintf(text, sizeof text, "%s, %s", tsi_text_many(m->solves, "solve"), seconds);
    else
      snprintf(text, sizeof text, "%s, %s", phase_names[phase], seconds);
    tsi_legend_square(&legend, phase_colours[phase], text);
  }
  return legend.y;
}

static void write_phases(FILE *file, const memory *m, const tsi_axis *x, const tsi_axis *y, double unit) {
  for (int phase = 0; phase < PHASES; phase++) {
    const double left = tsi_axis_at(x, unit * m->phase[phase]),
                 right = tsi_axis_at(x, unit * m->phase[phase + 1]);
    fprintf(file,
            "<rect class=\"phase\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" "
            "fill=\"%s\"><title>%s, %s</title></rect>\n",
            left, y->end, right - left, y->begin - y->end, phase_colours[phase], phase_names[phase],
            tsi_text_time(m->phase[phase + 1] - m->phase[phase]));
  }
}

/* Values in the units of the axes. */
static void scale(memory *m, double time_unit, double byte_unit) {
  for (int64_t k = 0; k < m->in.count; k++) {
    m->in.at[k] *= time_unit;
    for (int f = 0; f < FIGURES; f++)
      m->in.bytes[f][k] = m->in.bytes[f][k] >= 0 ? m->in.bytes[f][k] / byte_unit : NAN;
  }
}

static bool draw(tsi_session *s, memory *m) {
  tsi_picture p;
  const char *time_name, *byte_name;
  char x_name[32], y_name[32];
  double most = (double)m->peak;
  for (int64_t k = 0; k < m->in.count; k++) most = fmax(most, m->in.bytes[RESIDENT][k]);
  const double end = m->phase[PHASES], time_unit = tsi_axis_time_unit(end, &time_name);
  const double byte_unit = tsi_axis_byte_unit(most, &byte_name);
  scale(m, time_unit, byte_unit);
  snprintf(x_name, sizeof x_name, "time (%s)", time_name);
  snprintf(y_name, sizeof y_name, "memory (%s)", byte_name);
  const tsi_series series[FIGURES] = {
      {"allocated by the library", TSI_SERIES_LINE, TSI_BLUE, TSI_DISC, m->in.count, m->in.at,
       m->in.bytes[ALLOCATED], NULL, NULL},
      {m->in.bytes[RESIDENT][0] >= 0 ? "in memory, of the whole process" : NULL, TSI_SERIES_DASHED,
       TSI_VERMILLION, TSI_DISC, m->in.count, m->in.at, m->in.bytes[RESIDENT], NULL, NULL}};
  const double top = write_legend(NULL, m, series) + TSI_CHART_ABOVE;
  const tsi_axis x = {
      .to = end > 0 ? end * time_unit : 1, .begin = TSI_CHART_LEFT, .end = TSI_CHART_WIDTH - TSI_CHART_RIGHT};
  const tsi_axis y = {.to = 1.06 * most / byte_unit, .begin = top + HEIGHT, .end = top};
  if (!tsi_picture_begin(&p, s, s->settings->out, TSI_CHART_WIDTH, y.begin + TSI_CHART_BELOW)) return false;
  tsi_picture_title(&p, TSI_CHART_LEFT, "Memory for the analysis, factors and solves");
  tsi_picture_subtitle(&p, TSI_CHART_LEFT, "n = %s, nnz(L) = %s, %s; %s of factor; %s, %s",
                       tsi_text_count(s->a.n), tsi_text_count(s->a.nnz_lower), s->precision->text,
                       tsi_text_bytes((double)s->f.factor_bytes), tsi_text_many(s->p.workers, "worker"),
                       tsi_text_many(tsi_plot_nrhs(s), "right-hand side"));
  (void)write_legend(p.file, m, series);
  write_phases(p.file, m, &x, &y, time_unit);
  tsi_axis_x(p.file, &x, y.begin, y.end, x_name);
  tsi_axis_y(p.file, &y, x.begin, x.end, y_name);
  fprintf(p.file, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#0072b2\" stroke-dasharray=\"2 3\"/>\n", x.begin,
          tsi_axis_at(&y, (double)m->peak / byte_unit), x.end);
  for (int f = FIGURES; f-- > 0;) tsi_series_write(p.file, &x, &y, &series[f], x_name, y_name);
  return tsi_picture_end(&p);
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
    if (m->in.bytes[RESIDENT][k] >= 0)
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
