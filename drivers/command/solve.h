/* Declarations that the files of `tristar solve` and its relatives share: systems solved with complete
 * factors, on one process or many (solve_system.c); the command on many processes (distributed.c,
 * on_ranks.h); solves with triangles (trisolve.c, trisolve_mpi.c); Schur complements (schur.c, schur_mpi.c);
 * entries of the inverse (inverse.c, inverse_mpi.c).
 *
 * Reads   B, the options of solves.   Writes  X, times in seconds, the accuracy; the session's failure.
 * Invariants
 *   - on many processes rank 0 has B and X, and all ranks call the same functions
 *   - all plain solves have the same bits, also in flight */
#pragma once

#include "drivers/command/on_ranks.h"
#include "drivers/plot/plot.h"
#include "drivers/report/accuracy.h"
#include "drivers/report/repeat.h"
#include "drivers/session/triangle.h"

/* ---- Systems ------------------------------------------------------------------------------------------- */

typedef struct tsi_solved_system {
  tsi_session *s;
#ifdef TSI_HAVE_MPI
  tristar_distributed_t *distributed; /* NULL: the session's plan is used */
#endif
  int64_t nrhs;
  tristar_dense b, x;
  tsi_paths paths;
  tsi_repeated plain; /* plain solves; in flight: time from start to start, and no fastest one */
  double latency_s;   /* latency of a solve in flight; 0: solves ran one by one */
  tsi_accuracy accuracy;
  tsi_traced traced; /* with --gantt */
} tsi_solved_system;

/* Makes B and allocates X. */
bool tsi_solved_system_make(tsi_solved_system *z);
/* Runs one plain solve with the given rows of B and the wanted rows of X. */
bool tsi_solved_system_solve(tsi_solved_system *z);
/* Returns the checksum of the wanted rows of X. */
uint64_t tsi_solved_system_checksum(const tsi_solved_system *z);
/* Runs --repeat solves, at most F = --in-flight at a time, after a warm-up of F solves. Solve k starts when
 * solve k - F has ended. Waits for every request, also after a failure. */
bool tsi_solved_system_solve_in_flight(tsi_solved_system *z);
/* With --gantt: runs --repeat traced solves. */
bool tsi_solved_system_trace(tsi_solved_system *z);
/* Solves once more, refines, and measures the accuracy. condition: also estimates the condition. */
bool tsi_solved_system_refine(tsi_solved_system *z, bool condition);
/* Writes the file of --out. Call it after the accuracy is checked. */
bool tsi_solved_system_write(tsi_solved_system *z);
/* Adds the figures that solves on one process and on many have in common. */
void tsi_solved_system_json(const tsi_solved_system *z, cJSON *object);
void tsi_solved_system_free(tsi_solved_system *z);

/* ---- Many processes ------------------------------------------------------------------------------------ */

int tsi_solve_distributed(const tsi_settings *settings);

/* ---- Triangles ----------------------------------------------------------------------------------------- */

/* Solves with the triangle *found. If found is NULL, uses the triangle of --uplo, or without --uplo the one
 * with all entries. Closes the session, frees *found, and returns the exit status. read: false if reading the
 * matrix failed; this is then reported. */
int tsi_trisolve(tsi_session *s, bool read, const tsi_found_triangle *found);
/* Returns the triangle with all entries, as a number of --uplo: 0 lower, 1 upper, 2: both have entries. */
int tsi_triangle_of(const tristar_view *view);
/* `tristar trisolve` under mpiexec: the triangle is spread over the GPUs of all processes. */
int tsi_trisolve_spread(const tsi_settings *settings);
/* `tristar info` of such a matrix: reports the plan of a solve, but does not solve. Closes the session, frees
 * *found, returns the exit status. */
int tsi_trisolve_info(tsi_session *s, const tsi_found_triangle *found);

/* ---- Schur complements, of one process or of many ------------------------------------------------------ */

/* Reads the file of --unknowns into the session. */
bool tsi_schur_read_unknowns(tsi_session *s);
/* Writes the file of --out, if given. */
bool tsi_schur_write(tsi_session *s, const tristar_dense *complement);
void tsi_schur_report(const tsi_session *s);
/* Vectors of --rhs, --reduced, --interface and --solution; values NULL: option not given. */
typedef struct tsi_schur_vectors {
  tristar_dense b, g, x_s, x;
} tsi_schur_vectors;
/* Reads and allocates the vectors. The session has read the unknowns and the rows of the matrix. */
bool tsi_schur_vectors_read(tsi_session *s, tsi_schur_vectors *v);
bool tsi_schur_vectors_write(tsi_session *s, const tsi_schur_vectors *v);
void tsi_schur_vectors_free(tsi_schur_vectors *v);
/* `tristar schur --layout`. */
int tsi_schur_distributed(const tsi_settings *settings);

/* ---- Entries of the inverse, of one process or of many ------------------------------------------------- */

/* Rows and columns of entries, counted from 0. */
typedef struct tsi_inverse_entries {
  int64_t count, *row, *column;
} tsi_inverse_entries;
/* Reads the file of --entries. */
bool tsi_inverse_entries_read(tsi_session *s, tsi_inverse_entries *e);
void tsi_inverse_entries_free(tsi_inverse_entries *e);
/* Writes the file of --out: a column of values; with --pattern a matrix with the pattern of the session's. */
bool tsi_inverse_write(tsi_session *s, const tristar_dense *values);
/* Prints lines of the report. solves: number of refined solves that computed the entries. */
void tsi_inverse_report(const tsi_session *s, int64_t values, double seconds, int64_t solves);
/* `tristar inverse --layout`. */
int tsi_inverse_distributed(const tsi_settings *settings);
