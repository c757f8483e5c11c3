/* The steps from the name of a matrix to a plan, shared by the subcommands.
 *
 * Reads   tsi_settings.
 * Writes  a tsi_session: the objects, their statistics, times in seconds; the first failure.
 * Invariants
 *   - a function that returns false has set status and message; do not call the later functions then
 *   - once there is a factor, field a has the statistics of the factor's analysis
 *   - tsi_session_close releases everything, also after a failure */
#pragma once

#include "drivers/session/options.h"
#include "drivers/session/precision.h"
#include "tristar.h"
#include "tristar_forecast.h"
#include "tristar_matrix.h"
#include "tristar_stats.h"

typedef struct tsi_session {
  const tsi_settings *settings;
  const char *path; /* file of the matrix, or gen:KIND:K */
  const char *name; /* name of the matrix in messages */
  int rank, ranks;  /* rank and number of ranks of a command on ranks (drivers/command/on_ranks.h) */
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_view view;              /* view of the matrix; its values may be `values` */
  void *values;                   /* values converted to another precision; NULL: not converted */
  const tsi_precision *precision; /* type of view.values */
  bool single_factors;            /* --precision sd, cz: single factors of a double matrix */
  int leaf_parts;                 /* option of the next analysis; 0: no separator tree */
  int64_t *schur, schur_count;    /* options of the next analysis; not freed with the session */
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  tristar_analysis_stats a;
  tristar_factor_stats f;
  bool saved;    /* plan, factor and matrix were loaded from files (saved.h) */
  bool factored; /* f is set: statistics of `factor` or of a factor on many processes */
  tristar_plan_stats p;
  bool forecasted; /* forecast is set */
  tristar_forecast forecast;
  double read_s, analyze_s, factor_s, plan_s;
  tristar_status status;
  bool usage; /* the failure is a wrong word on the command line */
  char message[640];
} tsi_session;

/* Fails if the user pressed Ctrl-C but no call of the library noticed it. */
bool tsi_session_goes_on(tsi_session *s);
/* Creates the context. path: file of the matrix, or another name for messages. Fails if an output file is not
 * writable. */
bool tsi_session_open(tsi_session *s, const tsi_settings *settings, const char *path);
/* Reads or generates the matrix. Replaces it by its Laplacian and converts its values, if options request it.
 */
bool tsi_session_read(tsi_session *s);
/* Converts `count` values of the type `scalar` to the session's precision. subject: their file, for messages.
 * Fails if imaginary parts would be lost or a value is too large. */
bool tsi_session_convert(tsi_session *s, const char *subject, tristar_scalar scalar, const void *values,
                         int64_t count, void *converted);
/* Fails if the conversion turned all values of a column into zeros, but not all were zeros before. */
bool tsi_session_keep_columns(tsi_session *s, const char *subject, tristar_scalar scalar, const void *values,
                              int64_t rows, int64_t columns, const void *converted);
/* Return the ordering that the analysis used: the number of its word in --ordering; its name for reports. */
int tsi_session_taken_ordering(const tsi_session *s);
const char *tsi_session_ordering(const tsi_session *s);
/* Does the ordering of --ordering return a separator tree? */
bool tsi_session_makes_tree(const tsi_session *s);
/* Returns the options of the analysis without those of a variant. */
tristar_analysis_options tsi_session_analysis_options(const tsi_session *s);
bool tsi_session_analyze(tsi_session *s);
/* After the analysis: forecasts the cost of factorization, plan and solves. Some options have no forecast;
 * this is a failure only if required is true. */
bool tsi_session_forecast(tsi_session *s, int64_t nrhs, bool required);
bool tsi_session_factor(tsi_session *s);
/* nrhs: right-hand sides per solve. */
bool tsi_session_plan(tsi_session *s, int64_t nrhs);
/* Warns if StarPU has another number of workers than --workers. */
void tsi_session_check_workers(const tsi_session *s, int workers);
/* --op: the enumerator, the letter, the system as text, the addition to the time in reports. */
typedef struct tsi_op {
  tristar_op op;
  const char *letter, *system, *text;
} tsi_op;
const tsi_op *tsi_session_op(const tsi_session *s);
/* Returns the bytes that a solve reads per entry of the factor. */
double tsi_session_entry_bytes(const tsi_session *s);
/* Returns --tolerance, or else --accuracy, or else the default of the precision. */
double tsi_session_tolerance(const tsi_session *s);
/* Prints the failure, if any, on stderr; destroys everything; returns the exit status. */
int tsi_session_close(tsi_session *s);

/* Records a failure that the program itself found; returns false. */
__attribute__((format(printf, 3, 4))) bool tsi_session_fail(tsi_session *s, tristar_status status,
                                                            const char *format, ...);
/* Records the failure of a library call, if status is one. subject: the file or matrix, for the message.
 * Returns true for TRISTAR_OK. */
bool tsi_session_check(tsi_session *s, tristar_status status, const char *subject);
/* Does the same for a factorization; the message names the option for singular matrices. */
bool tsi_session_check_factor(tsi_session *s, tristar_status status);

/* Is there a generator of this name (length characters)? If not, records a failure that lists the names. */
bool tsi_is_generator(tsi_session *s, const char *name, size_t length);

double tsi_now(void); /* seconds */
/* Returns the number of CPU workers that StarPU will have: --workers, STARPU_NCPU or the cores of this
 * process. */
int tsi_expected_workers(const tsi_settings *settings);
/* Returns the number of cores that will share work without tasks: the same, but without StarPU's compiled
 * limit. */
int tsi_expected_cores(const tsi_settings *settings);
