/* From the name of a matrix to a plan: see session.h. */
#include "drivers/session/session.h"

#include <stdarg.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drivers/session/console.h"
#include "drivers/session/files.h"
#include "drivers/session/signals.h"
#include "drivers/session/variant.h"
#include "runtime/context/context.h"

double tsi_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int tsi_expected_workers(const tsi_settings *settings) {
  return settings->engine == TRISTAR_ENGINE_SERIAL ? 1 : tsi_expected_cpu_workers((int)settings->workers);
}

int tsi_expected_cores(const tsi_settings *settings) {
  return settings->engine == TRISTAR_ENGINE_SERIAL ? 1 : tsi_expected_helping_cores((int)settings->workers);
}

bool tsi_session_fail(tsi_session *s, tristar_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(s->message, sizeof s->message, format, args);
  va_end(args);
  s->status = status;
  return false;
}

/* Does the message contain the subject, as in `FILE:...`, `cannot open FILE: ...`, `"gen:..."`? */
static bool names(const char *message, const char *subject) {
  const size_t length = strlen(subject);
  for (const char *at = strstr(message, subject); at != NULL; at = strstr(at + 1, subject))
    if (at == message || at[-1] == ' ' ? at[length] == ':' : at[-1] == '"' && at[length] == '"') return true;
  return false;
}

bool tsi_session_check(tsi_session *s, tristar_status status, const char *subject) {
  char text[512] = "";
  if (status == TRISTAR_OK) return true;
  if (status == TRISTAR_ERR_CANCELLED && tsi_interrupted())
    return tsi_session_fail(s, status, "%s: interrupted", subject);
  tristar_get_error(s->ts, text, sizeof text); /* without a context: the error of its creation */
  if (*text == '\0') snprintf(text, sizeof text, "%s", tristar_status_name(status));
  char *place = strstr(text, " [TRISTAR_ERR_"); /* for developers: function, file and line */
  if (place != NULL && !s->settings->verbose) *place = '\0';
  char *of_library = strstr(text, "(tristar_limit_memory)");
  if (of_library != NULL) {
    static const char option[] = "(--memory-limit)";
    char *rest = of_library + strlen("(tristar_limit_memory)");
    memcpy(of_library, option, sizeof option - 1);
    memmove(of_library + sizeof option - 1, rest, strlen(rest) + 1);
  }
  if (names(text, subject)) return tsi_session_fail(s, status, "%s", text);
  return tsi_session_fail(s, status, "%s: %s", subject, text);
}

/* Checks that the output files are writable, before the work begins. */
static bool try_outputs(tsi_session *s) {
  for (int k = 0; k < s->settings->output_count; k++) {
    const char *path = s->settings->outputs[k];
    const int problem = tsi_output_problem(path);
    if (problem != 0)
      return tsi_session_fail(s, TRISTAR_ERR_IO, "cannot write %s: %s", path, strerror(problem));
  }
  return true;
}

bool tsi_session_open(tsi_session *s, const tsi_settings *settings, const char *path) {
  tristar_config config;
  memset(s, 0, sizeof *s);
  s->settings = settings;
  s->path = path;
  s->name = tsi_input_name(path);
  if (!try_outputs(s)) return false;
  tristar_config_init(&config);
  config.use_starpu = settings->engine != TRISTAR_ENGINE_SERIAL;
  config.workers = (int)settings->workers;
  config.first_core = settings->first_core;
  config.first_device = settings->first_device;
  config.devices = settings->rank_devices;
  config.scheduler = settings->scheduler;
  config.log = tsi_console_log;
  config.log_arg = (void *)&settings->verbose;
  config.log_level = tsi_console_level(settings->verbose);
  return tsi_session_check(s, tristar_create(&config, &s->ts), "cannot start") &&
         tsi_session_check(s, tristar_limit_memory(s->ts, (size_t)settings->memory_limit), "cannot start");
}

bool tsi_is_generator(tsi_session *s, const char *name, size_t length) {
  const char *generator;
  char list[400] = "";
  for (int i = 0; tristar_get_generator(i, &generator, NULL); i++) {
    const size_t used = strlen(list);
    if (strlen(generator) == length && strncmp(generator, name, length) == 0) return true;
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", generator);
  }
  s->usage = true;
  return tsi_session_fail(s, TRISTAR_ERR_ARGUMENT, "unknown kind '%.*s'; the kinds are %s",
                          (int)(length < 40 ? length : 40), name, list);
}

/* Replaces the matrix by its Laplacian. */
static bool take_laplacian(tsi_session *s) {
  tristar_matrix_t *laplacian;
  if (!tsi_session_check(s, tristar_matrix_laplacian(s->ts, &s->view, &laplacian), s->name)) return false;
  tristar_matrix_destroy(&s->matrix);
  s->matrix = laplacian;
  tristar_matrix_get_view(s->matrix, &s->view);
  return true;
}

bool tsi_session_convert(tsi_session *s, const char *subject, tristar_scalar scalar, const void *values,
                         int64_t count, void *converted) {
  const tsi_precision *from = tsi_precision_of(scalar);
  if (from->width > s->precision->width)
    return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED,
                            "%s: complex values, but the precision is %s, which is real; --precision c and z "
                            "are complex",
                            subject, s->precision->text);
  const int64_t fitting = tsi_precision_convert(from, values, s->precision, converted, count);
  return fitting == count || tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED,
                                              "%s: stored value %lld (counted from 1) is too large for the "
                                              "precision, which is %s",
                                              subject, (long long)fitting + 1, s->precision->text);
}

bool tsi_session_keep_columns(tsi_session *s, const char *subject, tristar_scalar scalar, const void *values,
                              int64_t rows, int64_t columns, const void *converted) {
  const tsi_precision *from = tsi_precision_of(scalar);
  for (int64_t c = 0; c < columns; c++) {
    bool lost = false, kept = false;
    for (int64_t k = c * rows; k < (c + 1) * rows && !kept; k++) {
      kept = !tsi_precision_is_zero(s->precision, converted, k);
      lost = lost || !tsi_precision_is_zero(from, values, k);
    }
    if (lost && !kept)
      return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED,
                              "%s: the values of column %" PRId64
                              " are too small for the precision, which is %s",
                              subject, c + 1, s->precision->text);
  }
  return true;
}

/* Fails if all entries of a row or a column underflow to zero in the new precision: the matrix would then be
 * reported as singular. */
static bool keep_lines(tsi_session *s, const void *given) {
  enum { GIVEN = 1, KEPT = 2 };
  const tsi_precision *from = tsi_precision_of(s->view.scalar);
  const int64_t *ptr = s->view.ptr, rows = s->view.rows, columns = s->view.cols;
  const int32_t *index = s->view.index;
  unsigned char *line = calloc((size_t)(rows + columns) + 1, 1);
  int64_t lost = 0;
  if (line == NULL) return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory", s->name);
  for (int64_t j = 0; j < columns; j++)
    for (int64_t k = ptr[j]; k < ptr[j + 1]; k++) {
      const int what = (tsi_precision_is_zero(from, given, k) ? 0 : GIVEN) |
                       (tsi_precision_is_zero(s->precision, s->values, k) ? 0 : KEPT);
      line[index[k]] |= (unsigned char)what;
      line[rows + j] |= (unsigned char)what;
      if (s->view.symmetry == TRISTAR_GENERAL) continue;
      line[j] |= (unsigned char)what;
      line[rows + index[k]] |= (unsigned char)what;
    }
  while (lost < rows + columns && line[lost] != GIVEN) lost++;
  free(line);
  if (lost == rows + columns) return true;
  return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED,
                          "%s: the values of %s %" PRId64 " are too small for the precision, which is %s",
                          s->name, lost < rows ? "row" : "column", (lost < rows ? lost : lost - rows) + 1,
                          s->precision->text);
}

/* Converts the values to --precision. */
static bool take_precision(tsi_session *s) {
  const tristar_scalar held = s->view.scalar;
  const int64_t *ptr = s->view.ptr, entries = ptr[s->view.cols];
  s->single_factors = s->settings->precision >= 4; /* sd, cz */
  s->precision =
      tsi_precision_of(s->settings->precision < 0 ? held : (tristar_scalar) "sdczdz"[s->settings->precision]);
  if (s->precision->scalar != held) {
    s->values = calloc(entries > 0 ? (size_t)entries : 1, s->precision->bytes);
    if (s->values == NULL)
      return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory for converted values", s->name);
    if (!tsi_session_convert(s, s->name, held, s->view.values, entries, s->values) ||
        !keep_lines(s, s->view.values))
      return false;
    s->view.values = s->values;
    s->view.scalar = s->precision->scalar;
  }
  /* Cholesky needs a Hermitian matrix. A complex symmetric matrix with only real values is also Hermitian. It
   * is declared Hermitian, so that it has the same factorization as in real arithmetic. */
  if (s->precision->width == 2 && s->view.symmetry == TRISTAR_SYMMETRIC &&
      tsi_precision_all_real(s->precision, s->view.values, entries))
    s->view.symmetry = TRISTAR_HERMITIAN;
  return true;
}

bool tsi_session_read(tsi_session *s) {
  const double begin = tsi_now();
  const bool generated = strncmp(s->path, "gen:", 4) == 0;
  if (generated && !tsi_is_generator(s, s->path + 4, strcspn(s->path + 4, ":"))) return false;
  if (!tsi_session_check(s, tristar_matrix_read(s->ts, s->path, &s->matrix), s->name)) {
    s->usage = generated && s->status == TRISTAR_ERR_ARGUMENT;
    return false;
  }
  tristar_matrix_get_view(s->matrix, &s->view);
  if (s->settings->laplacian && !take_laplacian(s)) return false;
  if (s->view.rows != s->view.cols) /* reported before all other defects */
    return tsi_session_fail(s, TRISTAR_ERR_RECTANGULAR,
                            "%s: the matrix is not square: %lld rows, %lld columns", s->name,
                            (long long)s->view.rows, (long long)s->view.cols);
  if (s->view.values == NULL && s->view.rows > 0)
    return tsi_session_fail(
        s, TRISTAR_ERR_UNSUPPORTED,
        "%s: the file holds a pattern without values; --laplacian solves with the Laplacian "
        "of its graph",
        s->name);
  if (!take_precision(s)) return false;
  s->read_s = tsi_now() - begin;
  return true;
}

/* In the order of the words of --ordering. */
static const struct {
  tristar_ordering ordering;
  const char *title;
} orderings[] = {{TRISTAR_ORDERING_AUTO, "automatic"},        {TRISTAR_ORDERING_AMD, "AMD"},
                 {TRISTAR_ORDERING_DISSECTION, "dissection"}, {TRISTAR_ORDERING_METIS, "METIS"},
                 {TRISTAR_ORDERING_NATURAL, "natural"},       {TRISTAR_ORDERING_PTSCOTCH, "PT-Scotch"},
                 {TRISTAR_ORDERING_SCOTCH, "Scotch"}};
#define ORDERINGS (int)(sizeof orderings / sizeof *orderings)

int tsi_session_taken_ordering(const tsi_session *s) {
  for (int k = 0; k < ORDERINGS; k++)
    if (orderings[k].ordering == s->a.ordering) return k;
  return s->settings->ordering;
}

const char *tsi_session_ordering(const tsi_session *s) {
  return orderings[tsi_session_taken_ordering(s)].title;
}

bool tsi_session_makes_tree(const tsi_session *s) {
  const tristar_ordering ordering = orderings[s->settings->ordering].ordering;
  return ordering == TRISTAR_ORDERING_METIS || ordering == TRISTAR_ORDERING_DISSECTION ||
         ordering == TRISTAR_ORDERING_AUTO;
}

tristar_analysis_options tsi_session_analysis_options(const tsi_session *s) {
  tristar_analysis_options options;
  tristar_analysis_options_init(&options);
  options.method = (tristar_method)s->settings->method;
  options.ordering = orderings[s->settings->ordering].ordering;
  options.matching = (tristar_matching)s->settings->matching;
  options.pivoting = (tristar_pivoting)s->settings->pivoting;
  if (s->settings->pivot_threshold > 0) options.pivot_threshold = s->settings->pivot_threshold;
  options.singular = (tristar_singular)s->settings->singular;
  options.place = (tristar_place)s->settings->factor_place;
  options.device_bytes = s->settings->device_bytes;
  options.solves = s->settings->solves;
  options.factorizations = s->settings->factorizations;
  options.single_factors = s->single_factors;
  options.leaf_parts = s->leaf_parts;
  options.schur = s->schur;
  options.schur_count = s->schur_count;
  return options;
}

/* Ctrl-C cancels calls of the library. With this function the library also writes progress during long calls
 * of METIS. */
static int stop(void *arg, const tristar_progress_point *point) {
  (void)arg;
  (void)point;
  return tsi_interrupted();
}

bool tsi_session_goes_on(tsi_session *s) {
  return !tsi_interrupted() || tsi_session_fail(s, TRISTAR_ERR_CANCELLED, "%s: interrupted", s->name);
}

static bool follow(tsi_session *s) {
  if (tsi_console_level(s->settings->verbose) != TRISTAR_LOG_PROGRESS) return true;
  tsi_note_interrupts();
  return tsi_session_check(s, tristar_set_progress(s->ts, stop, NULL), s->name);
}

bool tsi_session_analyze(tsi_session *s) {
  tristar_analysis_options options = tsi_session_analysis_options(s);
  tristar_plan_options ignored;
  const double begin = tsi_now();
  tsi_variant_apply(s->settings->variant, &options, &ignored);
  if (!follow(s) || !tsi_session_check(s, tristar_analyze(s->ts, &s->view, &options, &s->analysis), s->name))
    return false;
  tristar_analysis_get_stats(s->analysis, &s->a);
  s->analyze_s = tsi_now() - begin;
  return true;
}

bool tsi_session_check_factor(tsi_session *s, tristar_status status) {
  const size_t size = sizeof s->message;
  if (tsi_session_check(s, status, s->name)) return true;
  if (status != TRISTAR_ERR_SINGULAR || !strstr(s->message, "singular to working precision")) return false;
  const size_t used = strlen(s->message);
  snprintf(s->message + used, size - used, "; --singular perturb solves with it nevertheless");
  return false;
}

bool tsi_session_factor(tsi_session *s) {
  const double begin = tsi_now();
  if (!tsi_session_check_factor(s, tristar_factor(s->analysis, s->view.values, &s->factor))) return false;
  tristar_factor_get_stats(s->factor, &s->f);
  s->factored = true;
  s->factor_s = tsi_now() - begin - s->f.start_seconds;
  tsi_console_clear();
  /* METHOD_AUTO may replace Cholesky by LU; the factor then has its own analysis. */
  tristar_analysis_get_stats(tristar_factor_get_analysis(s->factor), &s->a);
  return true;
}

/* Does anything read the entries of the factor once there is a plan? */
static bool needs_factor(const tsi_settings *settings) {
  return settings->save != NULL || settings->null_space != NULL || settings->inverse_diagonal != NULL;
}

static tristar_plan_options plan_options(const tsi_session *s, int64_t nrhs) {
  tristar_plan_options options;
  tristar_analysis_options ignored;
  tristar_plan_options_init(&options);
  options.engine = (tristar_engine)s->settings->engine;
  options.nrhs = nrhs;
  options.chunk_bytes_max = s->settings->chunk_bytes;
  options.order_seed = (unsigned)s->settings->order_seed;
  options.place = (tristar_place)s->settings->place;
  options.device_bytes = s->settings->device_bytes;
  options.fuse_columns = s->settings->fuse;
  options.accuracy = s->settings->accuracy;
  options.storage = s->settings->store >= 0     ? (tristar_storage)s->settings->store
                    : s->settings->accuracy > 0 ? TRISTAR_STORAGE_AUTO
                                                : TRISTAR_STORAGE_FULL;
  options.compress = s->settings->compress > 0 ? s->settings->compress : 0;
  options.release_factor = s->settings->compress > 0 && !needs_factor(s->settings);
  tsi_variant_apply(s->settings->variant, &ignored, &options);
  return options;
}

bool tsi_session_forecast(tsi_session *s, int64_t nrhs, bool required) {
  const tristar_plan_options options = plan_options(s, nrhs);
  const tristar_status status = tristar_analysis_forecast(s->analysis, &options, &s->forecast);
  s->forecasted = status == TRISTAR_OK;
  if (status == TRISTAR_ERR_UNSUPPORTED && !required) return true;
  return tsi_session_check(s, status, s->name);
}

bool tsi_session_plan(tsi_session *s, int64_t nrhs) {
  const tristar_plan_options options = plan_options(s, nrhs);
  const double begin = tsi_now();
  if (!tsi_session_check(s, tristar_plan(s->factor, &options, &s->plan), s->name)) return false;
  tristar_plan_get_stats(s->plan, &s->p);
  s->plan_s = tsi_now() - begin;
  if (s->p.tasks > 0) tsi_session_check_workers(s, s->p.workers);
  return true;
}

void tsi_session_check_workers(const tsi_session *s, int workers) {
  char text[160];
  if (s->settings->workers <= 0 || s->settings->workers == workers) return;
  snprintf(text, sizeof text,
           "--workers %lld: StarPU made %d, all that it is built for or that other variables allow",
           (long long)s->settings->workers, workers);
  tsi_console_log((void *)&s->settings->verbose, TRISTAR_LOG_WARNING, text);
}

const tsi_op *tsi_session_op(const tsi_session *s) {
  static const tsi_op ops[] = {{TRISTAR_N, "N", "A X = B", ""},
                               {TRISTAR_T, "T", "A^T X = B", " with A^T"},
                               {TRISTAR_C, "C", "A^H X = B", " with A^H"}};
  return &ops[s->settings->op];
}

double tsi_session_entry_bytes(const tsi_session *s) {
  static const double shares[] = {1, 0.5, 0.25};
  const double all = s->p.storage_bytes + s->p.storage_saved;
  const double share = s->p.compress > 0 && all > 0 ? s->p.storage_bytes / all : shares[s->p.storage];
  return share * (double)s->precision->bytes;
}

double tsi_session_tolerance(const tsi_session *s) {
  return s->settings->tolerance >= 0 ? s->settings->tolerance
         : s->settings->accuracy > 0 ? s->settings->accuracy
                                     : s->precision->tolerance;
}

int tsi_session_close(tsi_session *s) {
  tsi_console_clear();
  tristar_plan_destroy(&s->plan);
  tristar_factor_destroy(&s->factor);
  tristar_analysis_destroy(&s->analysis);
  tristar_matrix_destroy(&s->matrix);
  free(s->values);
  tristar_destroy(&s->ts);
  if (s->status == TRISTAR_OK) return TSI_EXIT_OK;
  tsi_console_error("%s", s->message);
  return s->usage ? TSI_EXIT_USAGE : TSI_EXIT_FAILED;
}
