/* A contender's process in `tristar bench`: it runs on request, prints JSON, and is halted otherwise.
 *
 * Reads   the output of the process.   Writes  a line on its standard input for each further object.
 * Invariants
 *   - the process ends when this program ends: it dies with its parent (prctl), and signals that end this
 *     program end all processes of its group first. So no process is left that occupies a core.
 *   - a halted process uses no core: all processes of its group are stopped (SIGSTOP)
 *   - a process that has ended has no open descriptor here, and no process of its group runs
 *   - after tsi_bench_process_unguard no process left by a contender runs or waits to be reaped, and the
 *     folder of temporary files is removed */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct tsi_bench_process {
  pid_t pid; /* pid of the process and its group; 0: there is none */
  bool halted;
  int input, output; /* our ends of its standard input and output */
  double begin; /* time of tsi_now when it started, or, if it reports this, when it had read the matrix */
  FILE *errors; /* its standard error */
  char *text;   /* its output since the latest object */
  size_t used, capacity; /* bytes of text, and of its memory */
} tsi_bench_process;

/* From now on signals that end this program also end all processes. Makes a folder for their temporary files,
 * which is removed however this program ends: killed contenders may leave files there. */
void tsi_bench_process_guard(void);
/* Call it when all processes have ended: ends processes that they left, and removes the folder. */
void tsi_bench_process_unguard(void);
/* Returns the folder, for TMPDIR of the processes; "": there is none. */
const char *tsi_bench_process_folder(void);

/* Starts arguments[0]. *p is all zero. Returns 0 if it runs, else an errno. */
int tsi_bench_process_start(tsi_bench_process *p, char *const *arguments, char *const *environment);

/* Continues a halted process and requests another object. */
void tsi_bench_process_request(tsi_bench_process *p);

/* Waits for the next object that the process prints; it begins on a new line. An object with an "event" only
 * sets begin. Calls tick(arg) about once a second. until: a time of tsi_now; 0: no limit. Returns NULL if
 * there is none; then *late is true if the time was over, false if the process has ended. */
cJSON *tsi_bench_process_read(tsi_bench_process *p, double until, void (*tick)(void *), void *arg,
                              bool *late);

/* Stops all processes of its group until tsi_bench_process_request. */
void tsi_bench_process_halt(tsi_bench_process *p);

/* Closes its input, so that it ends, and kills the processes that still run after `grace` seconds. Returns
 * its wait status. Its standard error stays readable until tsi_bench_process_free. */
int tsi_bench_process_end(tsi_bench_process *p, double grace);

/* Returns the last line of its standard error that is not empty, without "tristar: "; false: there is none.
 */
bool tsi_bench_process_last_line(const tsi_bench_process *p, char *line, size_t size);

/* Ends it at once, if it runs, and sets all of *p to zero. */
void tsi_bench_process_free(tsi_bench_process *p);
