/* The program `tristar`: finds the subcommand, parses its options, runs it.
 *
 * Exit status: 0 done, 1 failed (a message says why), 2 wrong usage. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "drivers/commands.h"
#include "drivers/console.h"
#include "tristar.h"

#define MATRIX_TEXT                                                                                          \
  "MATRIX is a Matrix Market, Harwell-Boeing or Rutherford-Boeing file, plain or compressed by gzip, or\n"   \
  "gen:KIND:K, a model problem of size K (the kinds: tristar gen --list).\n"

static const tsi_command commands[] = {
    {TSI_SOLVE, "solve", "MATRIX", "Solves A X = B, A^T X = B or A^H X = B",
     MATRIX_TEXT
     "\n"
     "Analyzes and factors A, records the plan of a solve, solves, refines, and tells times and "
     "accuracy. Without\n"
     "--rhs the entries of B are floor(s/2^11)/2^52 - 1 for s = 6364136223846793005 s + "
     "1442695040888963407 mod\n"
     "2^64, starting from s = 1, column after column; in complex types real and imaginary part of "
     "each entry in turn.\n"
     "The exit status is 1 if A is singular or X not accurate.\n"
     "\n"
     "Under mpiexec, --layout PXxPYxPZ spreads the factor over PX * PY * PZ processes: PZ grids, each for a "
     "leaf of "
     "the\n"
     "separator tree and its ancestors. The report then tells for all processes where their time went and "
     "what they "
     "sent.\n",
     1, tsi_command_solve},
    {TSI_INFO, "info", "MATRIX", "Tells what a solve with a matrix consists of",
     MATRIX_TEXT "\n"
                 "Analyzes and factors the matrix and records a plan, but does not solve. Tells fill, "
                 "supernodes, chunks, the\n"
                 "shape of the task graph, and the time that a solve should take on this machine, whose read "
                 "bandwidth it\n"
                 "measures.\n",
     1, tsi_command_info},
    {TSI_CALIBRATE, "calibrate", "", "Measures this machine, for the granularity of later plans",
     "Measures what a StarPU task costs and how fast memory is read, tells the caches, and keeps the figures "
     "in the\n"
     "file TRISTAR_CALIBRATION or, without it, in .starpu/tristar below XDG_CACHE_HOME, STARPU_HOME or "
     "HOME, the first\n"
     "that is set. Later runs cut factors into chunks by these figures (other chunks: results with other "
     "roundings), and\n"
     "`tristar info` tells them. Best run on an idle machine.\n",
     0, tsi_command_calibrate},
    {TSI_ENV, "env", "", "Tells environment variables, and what StarPU has here",
     "Lists the environment variables of TriStar and those of StarPU, the BLAS and MPI that matter most: "
     "value, "
     "default,\n"
     "meaning. Starts StarPU and tells its version, workers, the cores that they are bound to, and its "
     "schedulers. Warns\n"
     "of what cannot be meant. The exit status is 1 if StarPU does not start or has no CPU worker.\n",
     0, tsi_command_env},
    {TSI_GEN, "gen", "KIND K", "Writes a model problem to a file",
     "The kinds, and what the size K means for them: tristar gen --list.\n", 2, tsi_command_gen},
    {TSI_PLOT, "plot", "MATRIX",
     "Draws a solve: its tasks in time, their graph, the factor, its assembly tree",
     MATRIX_TEXT "\n"
                 "gantt     workers x time: each task of a solve, the critical path, idle time\n"
                 "dag       the steps of a solve, level by level; areas are bytes\n"
                 "levels    time and number of steps of each level of that graph\n"
                 "roofline  GF/s of the sweeps against flops per byte, for 1, 4, 16 and 64 right-hand sides, "
                 "with the read\n"
                 "          bandwidth and DGEMM of this machine\n"
                 "spy       where the entries of the factor are, by chunk, or by process of --layout\n"
                 "tree      each supernode as a rectangle below its parent; areas are bytes of factor, "
                 "colours tell chunks\n"
                 "          apart. tristar plot tree MATRIX is the same\n",
     2, tsi_command_plot},
    {TSI_BENCH, "bench", "MATRIX...", "Compares the solve phase with that of other solvers",
     MATRIX_TEXT
     "\n"
     "Every contender runs in a process of its own, in turn, round by round, in double precision "
     "and without\n"
     "refinement in its time: TriStar with each number of workers and each scheduler; the peers "
     "CHOLMOD, UMFPACK,\n"
     "SuperLU, SuperLU_DIST and MUMPS with 1, 2 and all threads of the BLAS, of which the "
     "fastest setting counts.\n"
     "\n"
     "GB/s: exact nonzeros of L and U, without padding. bandwidth: GB/s as a share of what all "
     "cores can read; above\n"
     "100 % the factor stays in the caches. outside: share of the time of StarPU's workers that is not "
     "spent in kernels.\n"
     "DGEMM, tall: GF/s as a share of DGEMM's, with square matrices and with as many columns as "
     "right-hand sides. Both\n"
     "are measured in the same rounds, with the largest number of workers. error: componentwise backward "
     "error after so\n"
     "many steps of refinement.\n"
     "\n"
     "The programs of the peers, NAME_solve, are looked for in the folder TRISTAR_PEERS or, "
     "without it, beside this\n"
     "program in tools/peers and ../libexec/tristar. Variants of TriStar run with the largest number of "
     "workers and are\n"
     "told in a table of their own, and so are several schedulers. A LIST has commas. A contender that fails "
     "is told in its row; the\n"
     "exit status is 1 if no TriStar solved.\n",
     INT_MAX, tsi_command_bench},
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(void) {
  const char *name, *description;
  printf("usage: tristar SUBCOMMAND ... [OPTION...]\n\n"
         "Sparse triangular solves as a task graph on StarPU: factor once, solve again and again.\n\n"
         "Subcommands\n");
  for (size_t k = 0; k < COMMANDS; k++) printf("  %-9s %s\n", commands[k].name, commands[k].summary);
  printf("\n  tristar SUBCOMMAND --help tells the options of each; tristar --version the version.\n\n"
         "Environment\n"
         "  STARPU_NCPU          CPU workers (default: all cores)\n"
         "  STARPU_SCHED         scheduler: lws (the default), eager, prio, dmda, ...\n");
  for (int k = 0; tristar_variable(k, &name, NULL, &description); k++)
    printf("  %-20s %s\n", name, description);
  printf("\n  tristar env tells their values and defaults, and more of StarPU's.\n\n"
         "Exit status: 0 done, 1 failed, 2 wrong usage.\n");
}

static int run(int argc, char **argv) {
  tsi_settings settings;
  int status;
  if (argc < 2) return tsi_usage_error(NULL, "no subcommand given");
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_help();
    return TSI_EXIT_OK;
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("tristar %s\n", tristar_version());
    return TSI_EXIT_OK;
  }
  for (size_t k = 0; k < COMMANDS; k++)
    if (strcmp(argv[1], commands[k].name) == 0)
      return tsi_options_parse(&commands[k], argc - 1, argv + 1, &settings, &status)
                 ? commands[k].run(&settings)
                 : status;
  return tsi_usage_error(NULL, "unknown %s '%s'", argv[1][0] == '-' ? "option" : "subcommand", argv[1]);
}

int main(int argc, char **argv) {
  int status = run(argc, argv);
  if ((fflush(stdout) != 0 || ferror(stdout)) && status == TSI_EXIT_OK) {
    tsi_console_error("cannot write to standard output: %s", strerror(errno));
    status = TSI_EXIT_FAILED;
  }
  return status;
}
