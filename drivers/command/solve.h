/* What the files of `tristar solve` share: systems that are solved with complete factors, of one process or
 * of many (solve_system.c); the command on many processes (distributed.c, on_ranks.h); solves with triangles
 * (trisolve.c, trisolve_mpi.c); Schur complements (schur.c, schur_mpi.c); entries of the inverse (inverse.c,
 * inverse_mpi.c).
 *
 * Reads   B, the options of solves.   Writes  X, times in seconds, the accuracy; the session's failure.
 * Invariants
 *   - of many processes rank 0 has B and X, and all ranks call the same functions
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
  tristar_distributed_t *distributed; /* NULL: the plan of the session solves */
#endif
  int64_t nrhs;
  tristar_dense b, x;
  tsi_paths paths;
  tsi_repeated plain; /* solves; in flight: the time from start to start, and no fastest one */
  double latency_s;   /* of one of the solves in flight; 0: they were made one by one */
  tsi_accuracy accuracy;
  tsi_traced traced; /* with --gantt */
} tsi_solved_system;

/* Makes B and room for X. */
bool tsi_solved_system_make(tsi_solved_system *z);
/* One plain solve, of the given rows of B and the wanted rows of X. */
bool tsi_solved_system_solve(tsi_solved_system *z);
/* Of the wanted rows of X. */
uint64_t tsi_solved_system_checksum(const tsi_solved_system *z);
/* --repeat solves, --in-flight at a time, after a warm-up of as many as are in flight. A solve starts when
 * the one as many places before it has ended; every request is waited for, also after a failure. */
bool tsi_solved_system_solve_in_flight(tsi_solved_system *z);
/* With --gantt: --repeat traced solves. */
bool tsi_solved_system_trace(tsi_solved_system *z);
/* Solves once more, refines and measures. condition: estimates that, too. */
bool tsi_solved_system_refine(tsi_solved_system *z, bool condition);
/* With --out, after the accuracy is judged. */
bool tsi_solved_system_write(tsi_solved_system *z);
/* The figures that solves of one process and of many have. */
void tsi_solved_system_json(const tsi_solved_system *z, cJSON *object);
void tsi_solved_system_free(tsi_solved_system *z);

/* ---- Many processes ------------------------------------------------------------------------------------ */

int tsi_solve_distributed(const tsi_settings *settings);

/* ---- Triangles ----------------------------------------------------------------------------------------- */

/* Solves with the triangle that was found, or, found NULL, with the one that --uplo names, or with the one
 * that all entries are in. Closes the session, frees what was found, and returns the exit status. read: false
 * if the matrix could not be read, which is reported then. */
int tsi_trisolve(tsi_session *s, bool read, const tsi_found_triangle *found);
/* The triangle that all entries are in, of --uplo: 0 lower, 1 upper, 2: both have some. */
int tsi_triangle_of(const tristar_view *view);
/* `tristar trisolve` under mpiexec: the triangle is spread over the GPUs of all processes. */
int tsi_trisolve_spread(const tsi_settings *settings);
/* `tristar info` of such a matrix: the plan of a solve, without one. Closes the session, frees *found,
 * returns the exit status. */
int tsi_trisolve_info(tsi_session *s, const tsi_found_triangle *found);

/* ---- Schur complements, of one process or of many ------------------------------------------------------ */

/* The unknowns of --unknowns, into the session. */
bool tsi_schur_read_unknowns(tsi_session *s);
/* With --out. */
bool tsi_schur_write(tsi_session *s, const tristar_dense *complement);
void tsi_schur_report(const tsi_session *s);
/* Vectors of --rhs, --reduced, --interface and --solution; values NULL: not asked for. */
typedef struct tsi_schur_vectors {
  tristar_dense b, g, x_s, x;
} tsi_schur_vectors;
/* Is there anything to condense? The session knows the unknowns, and the rows of the matrix. */
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
/* Those of --entries. */
bool tsi_inverse_entries_read(tsi_session *s, tsi_inverse_entries *e);
void tsi_inverse_entries_free(tsi_inverse_entries *e);
/* With --out: a column of values; with --pattern a matrix as the one of the session. */
bool tsi_inverse_write(tsi_session *s, const tristar_dense *values);
/* Lines of the report. solves: refined ones that computed the entries. */
void tsi_inverse_report(const tsi_session *s, int64_t values, double seconds, int64_t solves);
/* `tristar inverse --layout`. */
int tsi_inverse_distributed(const tsi_settings *settings);
