/* The way from the name of a matrix to a plan, shared by the subcommands.
 *
 * Reads   tsi_settings.
 * Writes  a tsi_session: the objects, their statistics, times in seconds; the first failure.
 * Invariants
 *   - a function that gives false has set status and message; the later functions are not to be called then
 *   - a describes the analysis that the factor was made with, once there is a factor
 *   - tsi_session_close releases everything, whatever was reached */
#pragma once

#include "drivers/session/options.h"
#include "drivers/session/precision.h"
#include "tristar.h"
#include "tristar_forecast.h"
#include "tristar_matrix.h"
#include "tristar_stats.h"

typedef struct tsi_session {
  const tsi_settings *settings;
  const char *path; /* of the matrix, or gen:KIND:K */
  const char *name; /* what messages call it */
  int rank, ranks;  /* of a command on ranks (drivers/command/on_ranks.h) */
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_view view;              /* its values: of the matrix, or `values` */
  void *values;                   /* converted to another precision; NULL: not */
  const tsi_precision *precision; /* of view.values */
  bool single_factors;            /* --precision sd, cz: of a double matrix */
  int leaf_parts;                 /* of the analysis to come; 0: no separator tree */
  int64_t *schur, schur_count;    /* of the analysis to come; not freed with the session */
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  tristar_analysis_stats a;
  tristar_factor_stats f;
  bool saved;    /* plan, factor and matrix are of files (saved.h) */
  bool factored; /* f is there: of factor, or of one on many processes */
  tristar_plan_stats p;
  bool forecasted; /* forecast is there */
  tristar_forecast forecast;
  double read_s, analyze_s, factor_s, plan_s;
  tristar_status status;
  bool usage; /* the failure is a wrong word on the command line */
  char message[640];
} tsi_session;

/* Fails after Ctrl-C that no call of the library has noticed. */
bool tsi_session_goes_on(tsi_session *s);
/* Creates the context. path: of the matrix; or another name, for messages. Fails if a file that is to be
 * written cannot be. */
bool tsi_session_open(tsi_session *s, const tsi_settings *settings, const char *path);
/* Reads or generates the matrix; takes its Laplacian and converts its values if that is asked for. */
bool tsi_session_read(tsi_session *s);
/* Converts `count` values of the type `scalar` to the session's precision. subject: the file that they are
 * from. Fails if imaginary parts would be lost or a value is too large. */
bool tsi_session_convert(tsi_session *s, const char *subject, tristar_scalar scalar, const void *values,
                         int64_t count, void *converted);
/* Fails where the conversion has made zeros of all values of a column that has others. */
bool tsi_session_keep_columns(tsi_session *s, const char *subject, tristar_scalar scalar, const void *values,
                              int64_t rows, int64_t columns, const void *converted);
/* The order of elimination that the analysis took: the number of its word of --ordering, its name in text. */
int tsi_session_taken_ordering(const tsi_session *s);
const char *tsi_session_ordering(const tsi_session *s);
/* Does --ordering come with a separator tree where one is needed? */
bool tsi_session_makes_tree(const tsi_session *s);
/* How it is analyzed, but for a variant. */
tristar_analysis_options tsi_session_analysis_options(const tsi_session *s);
bool tsi_session_analyze(tsi_session *s);
/* After the analysis: what factorization, plan and solves will take. Not required: some options have no
 * forecast. */
bool tsi_session_forecast(tsi_session *s, int64_t nrhs, bool required);
bool tsi_session_factor(tsi_session *s);
/* nrhs: right-hand sides per solve. */
bool tsi_session_plan(tsi_session *s, int64_t nrhs);
/* Warns if StarPU has another number of workers than was asked for. */
void tsi_session_check_workers(const tsi_session *s, int workers);
/* --op: what the library calls it, what is solved, what a report adds to the time. */
typedef struct tsi_op {
  tristar_op op;
  const char *letter, *system, *text;
} tsi_op;
const tsi_op *tsi_session_op(const tsi_session *s);
/* Bytes of an entry of the factor as solves read it. */
double tsi_session_entry_bytes(const tsi_session *s);
/* --tolerance, or --accuracy, or what the precision has. */
double tsi_session_tolerance(const tsi_session *s);
/* Tells the failure, if there is one, on stderr; destroys everything; gives the exit status. */
int tsi_session_close(tsi_session *s);

/* Records a failure that the program itself found; gives false. */
__attribute__((format(printf, 3, 4))) bool tsi_session_fail(tsi_session *s, tristar_status status,
                                                            const char *format, ...);
/* Records the failure of a library call, if status is one. subject: the file or matrix that it is about.
 * Gives true for TRISTAR_OK. */
bool tsi_session_check(tsi_session *s, tristar_status status, const char *subject);
/* The same of a factorization; names the option for singular matrices. */
bool tsi_session_check_factor(tsi_session *s, tristar_status status);

/* Is there a generator of this name (length characters)? If not, says so with the list of the names. */
bool tsi_known_generator(tsi_session *s, const char *name, size_t length);

double tsi_now(void); /* seconds */
/* CPU workers that StarPU will have: --workers, STARPU_NCPU or the cores of this process. */
int tsi_expected_workers(const tsi_settings *settings);
/* Cores that will share work without tasks: the same without the limit that StarPU was compiled with. */
int tsi_expected_cores(const tsi_settings *settings);
