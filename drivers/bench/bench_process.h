/* A contender's process in `tristar bench`: it works when it is asked to, tells JSON, and is halted
 * otherwise.
 *
 * Reads   what the process prints. Writes  a line on its standard input for each further answer.
 * Invariants
 *   - whatever ends this program ends the process: it dies with its parent (prctl), and signals that end this
 *     program end all processes of its group first. So no process is left that keeps a core busy.
 *   - a halted process takes no core: all of its group are stopped (SIGSTOP)
 *   - one that has ended has no descriptor open here, and nothing of its group runs
 *   - after tsi_bench_process_unguard no process that a contender left behind runs or waits to be reaped, and
 *     the folder of temporary files is gone */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct tsi_bench_process {
  pid_t pid; /* and number of its group; 0: there is none */
  bool halted;
  int input, output; /* our ends of its standard input and output */
  double begin;      /* time of tsi_now at which it started or, if it reports that, had read the matrix */
  FILE *errors;      /* its standard error */
  char *text;        /* what it has printed since the latest object */
  size_t used, room; /* bytes of text, and of its memory */
} tsi_bench_process;

/* From now on signals that end this program end all processes too. Makes a folder for their temporary files,
 * which is removed whatever ends this program: libraries of contenders that are killed leave some there. */
void tsi_bench_process_guard(void);
/* When all processes have ended: ends what they have left behind, and removes the folder. */
void tsi_bench_process_unguard(void);
/* The folder, for TMPDIR of the processes; "": there is none. */
const char *tsi_bench_process_folder(void);

/* Starts arguments[0]. *p is all zero. Gives an errno; 0: it runs. */
int tsi_bench_process_start(tsi_bench_process *p, char *const *arguments, char *const *environment);

/* Lets a halted process go on, and asks it for another object. */
void tsi_bench_process_ask(tsi_bench_process *p);

/* Waits for the next object that the process prints, which begins with a line; one with an "event" only sets
 * begin. Calls tick(arg) about once a second. until: a time of tsi_now, or 0: for ever. NULL: none came;
 * *late: not until then, else it has ended.
 */
cJSON *tsi_bench_process_read(tsi_bench_process *p, double until, void (*tick)(void *), void *arg,
                              bool *late);

/* Stops all of its group, until it is asked again. */
void tsi_bench_process_halt(tsi_bench_process *p);

/* Ends its input, which asks it to end, and kills what is still there after `grace` seconds. Gives its wait
 * status. What it has printed on its standard error stays readable until tsi_bench_process_free. */
int tsi_bench_process_end(tsi_bench_process *p, double grace);

/* The last line of its standard error that holds something, without "tristar: "; false: there is none. */
bool tsi_bench_process_last_line(const tsi_bench_process *p, char *line, size_t size);

/* Ends it at once, if it runs, and sets all of *p to zero. */
void tsi_bench_process_free(tsi_bench_process *p);
