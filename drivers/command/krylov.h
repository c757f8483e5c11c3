/* `tristar krylov`: declarations that its files share.
 *
 * Reads   the command line.   Writes  the history of norms, a picture of it. */
#pragma once

#include "drivers/report/repeat.h"
#include "drivers/report/report.h"
#include "tristar_krylov.h"
#include "tristar_matrix.h"

/* The norms of a solve in the order of their computation. The norms of a column begin with iteration 0. */
typedef struct tsi_norms {
  int64_t count, capacity;
  tristar_krylov_point *point;
  bool full; /* out of memory: later norms are lost */
} tsi_norms;

/* A tristar_krylov_progress_fn; arg: a tsi_norms. The first point of the first column clears the list. */
int tsi_norms_add(void *arg, const tristar_krylov_point *point);

#define TSI_KRYLOV_LEVELS 3

/* --precond. */
typedef struct tsi_krylov_precond {
  const char *word;
  bool automatic;    /* chosen for the matrix: tsi_krylov_next_precond sets the other fields */
  int attempt;       /* number of the current automatic choice */
  bool none, factor; /* no preconditioner; complete factors. Neither: `options` describe it */
  tristar_precond_options options;
  int levels; /* levels of fsai on many processes */
} tsi_krylov_precond;

/* A solve from the command line to figures. On many processes all have the figures, but only rank 0 has B and
 * X. */
typedef struct tsi_krylov_solution {
  tristar_krylov_options options;
  tsi_krylov_precond words;
  tristar_precond_t *precond; /* NULL: none */
  tristar_precond_stats m;
  tristar_krylov_t *krylov;
  tristar_krylov_stats k;
  tristar_dense b, x;
  tristar_krylov_result *result; /* one per column of B */
  tsi_norms norms;
  tsi_repeated times;
  bool solved;   /* result is set by the latest solve */
  bool written;  /* X was written to the file of --out */
  bool switched; /* GMRES replaced the automatic choice of CG */
  double setup_s, create_s, backward_error;
  char method[32];
} tsi_krylov_solution;

/* Is the diagonal of a square view real and positive? */
bool tsi_krylov_has_positive_diagonal(const tristar_view *view);
/* Sets options and method for a matrix of the session's symmetry and precision. positive: its diagonal is
 * positive. */
void tsi_krylov_choose_options(const tsi_session *s, bool positive, tsi_krylov_solution *z);
/* Makes M of the session's view. If StarPU starts meanwhile, its start is not counted in setup_s. */
bool tsi_krylov_make_precond(tsi_session *s, tsi_krylov_solution *z);
/* Makes one attempt. Returns its status, but records no failure in the session. */
tristar_status tsi_krylov_try_precond(tsi_session *s, tsi_krylov_solution *z);
/* Does the status mean that a preconditioner had bad pivots? */
bool tsi_krylov_broke_down(tristar_status status);
/* If automatic: sets the first choice for the method. */
void tsi_krylov_begin_precond(tsi_krylov_solution *z);
/* If automatic: sets the next choice after a breakdown. Returns false if no choice is left. */
bool tsi_krylov_next_precond(tsi_krylov_solution *z);
/* Makes the solver with its preconditioner and solves --repeat times. If the automatic choice was CG and the
 * matrix proves indefinite, starts again with GMRES. make: makes preconditioner and solver, on this process
 * or on all. */
bool tsi_krylov_run(tsi_session *s, tsi_krylov_solution *z, bool (*make)(void *), tsi_solve_once *solve,
                    void *context);
/* Allocates the results of the columns of B. */
bool tsi_krylov_make_results(tsi_session *s, tsi_krylov_solution *z);
/* Have all columns converged? Fails otherwise. */
bool tsi_krylov_judge_columns(tsi_session *s, const tsi_krylov_solution *z);
/* Draws the file of --svg. all: the results of all columns together; norm: text for the tested norm. */
bool tsi_krylov_draw(tsi_session *s, const tsi_krylov_solution *z, const tristar_krylov_result *all,
                     const char *norm);
/* Writes the files of --out and --svg. */
bool tsi_krylov_write(tsi_session *s, tsi_krylov_solution *z);
void tsi_krylov_report(const tsi_session *s, const tsi_krylov_solution *z);
cJSON *tsi_krylov_json(const tsi_session *s, const tsi_krylov_solution *z);
/* Frees all members, but not the session. */
void tsi_krylov_release(tsi_krylov_solution *z);

/* Solves on the processes that mpiexec started. words: the value of --precond. Returns the exit status. */
int tsi_krylov_distributed(const tsi_settings *settings, const tsi_krylov_precond *words);

/* Reads the value of --fsai. Prints an error if it is wrong; returns an exit status. */
int tsi_krylov_fsai_read(const char *command, const char *text, tsi_krylov_precond *precond);
/* Reads --precond and the options of preconditioners in the same way. */
int tsi_krylov_precond_read(const tsi_settings *settings, tsi_krylov_precond *precond);
