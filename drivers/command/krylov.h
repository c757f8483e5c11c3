/* `tristar krylov`: what its files share.
 *
 * Reads   the command line.   Writes  the history of norms, a picture of it. */
#pragma once

#include "drivers/report/repeat.h"
#include "drivers/report/report.h"
#include "tristar_krylov.h"
#include "tristar_matrix.h"

/* The norms of a solve, told one after the other; those of a column begin with iteration 0. */
typedef struct tsi_norms {
  int64_t count, capacity;
  tristar_krylov_point *point;
  bool full; /* no memory for more */
} tsi_norms;

/* A tristar_krylov_progress_fn; arg: a tsi_norms. The first point of the first column begins anew. */
int tsi_norms_add(void *arg, const tristar_krylov_point *point);

#define TSI_KRYLOV_LEVELS 3

/* --precond. */
typedef struct tsi_krylov_precond {
  const char *word;
  bool automatic;    /* chosen for the matrix: tsi_krylov_next_precond fills the rest */
  int attempt;       /* automatic: the number of the present choice */
  bool none, factor; /* neither: options */
  tristar_precond_options options;
  int levels; /* fsai on many processes */
} tsi_krylov_precond;

/* From the command line to figures. On many processes all have the figures, rank 0 alone B and X. */
typedef struct tsi_krylov_solution {
  tristar_krylov_options options;
  tsi_krylov_precond words;
  tristar_precond_t *precond; /* NULL: none */
  tristar_precond_stats m;
  tristar_krylov_t *krylov;
  tristar_krylov_stats k;
  tristar_dense b, x;
  tristar_krylov_result *result; /* of the columns */
  tsi_norms norms;
  tsi_repeated times;
  bool solved;   /* result is of the latest solve */
  bool written;  /* X is where --out names */
  bool switched; /* from CG, chosen for the matrix, to GMRES */
  double setup_s, create_s, backward_error;
  char method[32];
} tsi_krylov_solution;

/* Is the diagonal of a square view real and positive? */
bool tsi_krylov_has_positive_diagonal(const tristar_view *view);
/* Fills options and method in, for a matrix of the session's symmetry and precision. positive: its diagonal
 * is. */
void tsi_krylov_choose_options(const tsi_session *s, bool positive, tsi_krylov_solution *z);
/* M, of the session's view. StarPU may start on the way, which is no part of its time. */
bool tsi_krylov_make_precond(tsi_session *s, tsi_krylov_solution *z);
/* One attempt of it, without a failure of the session: the status. */
tristar_status tsi_krylov_try_precond(tsi_session *s, tsi_krylov_solution *z);
/* Is this the status of a preconditioner whose pivots have broken down? */
bool tsi_krylov_broke_down(tristar_status status);
/* automatic: the first choice for the method. */
void tsi_krylov_begin_precond(tsi_krylov_solution *z);
/* automatic: the choice after one that has broken down. False: there is none left. */
bool tsi_krylov_next_precond(tsi_krylov_solution *z);
/* Makes the solver with its preconditioner, and solves --repeat times; the same by GMRES where the automatic
 * choice of CG has met an indefinite matrix. make: the preconditioner and the solver, of this process or of
 * all. */
bool tsi_krylov_run(tsi_session *s, tsi_krylov_solution *z, bool (*make)(void *), tsi_solve_once *solve,
                    void *context);
/* Room for the results of the columns of B. */
bool tsi_krylov_make_results(tsi_session *s, tsi_krylov_solution *z);
/* Have all columns converged? Fails otherwise. */
bool tsi_krylov_judge_columns(tsi_session *s, const tsi_krylov_solution *z);
/* --svg. all: the results of all columns together; norm: what is tested, in words. */
bool tsi_krylov_draw(tsi_session *s, const tsi_krylov_solution *z, const tristar_krylov_result *all,
                     const char *norm);
/* --out, --svg. */
bool tsi_krylov_write(tsi_session *s, tsi_krylov_solution *z);
void tsi_krylov_report(const tsi_session *s, const tsi_krylov_solution *z);
cJSON *tsi_krylov_json(const tsi_session *s, const tsi_krylov_solution *z);
/* Frees all but the session. */
void tsi_krylov_release(tsi_krylov_solution *z);

/* On the processes that mpiexec has started. words: of --precond. Gives the exit status. */
int tsi_krylov_distributed(const tsi_settings *settings, const tsi_krylov_precond *words);

/* An exit status: what is wrong with the words of --fsai. */
int tsi_krylov_fsai_read(const char *command, const char *text, tsi_krylov_precond *precond);
/* An exit status: what is wrong with --precond and the options of preconditioners. */
int tsi_krylov_precond_read(const tsi_settings *settings, tsi_krylov_precond *precond);
