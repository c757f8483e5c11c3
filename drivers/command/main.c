/* The program `tristar`: finds the subcommand, parses its options, runs it.
 *
 * Exit status: 0 done, 1 failed (a message has the cause), 2 wrong usage. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/session/environment.h"
#include "drivers/session/launcher.h"
#include "drivers/session/wrap.h"
#include "tristar.h"
#include "tristar_machine.h"
#ifdef TSI_HAVE_MPI
#include "tristar_dmatrix_mpi.h"
#endif

#define MATRIX_TEXT                                                                                          \
  "MATRIX is a Matrix Market, Harwell-Boeing or Rutherford-Boeing file, plain or compressed by gzip; or - "  \
  "for standard input; or gen:KIND:K, a model problem of size K (tristar gen --list lists the kinds).\n"
#define MATRIX_OF_BENCH                                                                                      \
  "MATRIX is a Matrix Market, Harwell-Boeing or Rutherford-Boeing file, plain or compressed by gzip; or "    \
  "gen:KIND:K, a model problem of size K (tristar gen --list lists the kinds).\n"

static const tsi_word pictures[] = {
    {"gantt", "workers x time: each task of a solve, the critical path, idle time"},
    {"dag", "the steps of a solve, level by level; areas are bytes"},
    {"levels", "time and number of steps of each level of that graph"},
    {"roofline",
     "GF/s of the sweeps against flops per byte, for 1, 4, 16 and 64 right-hand sides, with the read "
     "bandwidth and DGEMM of this machine"},
    {"rhs",
     "time of a solve, and of each right-hand side, with 1 to 64 right-hand sides, and the limits by read "
     "bandwidth and DGEMM"},
    {"reuse",
     "total time against the number of solves with one factorization; with --from also of other solvers, "
     "and the number of solves from which on TriStar takes less time"},
    {"scaling", "time of a solve with 1, 2, 4, ... workers, and a prediction for 1 to 64 processes"},
    {"refinement", "backward error after each correction and each iteration of FGMRES"},
    {"memory", "memory of the library, and of the process, during analysis, factorization, plan and solves"},
    {"communication", "messages and bytes from process to process in a solve with --layout"},
    {"spy", "positions of the entries of the factor, by chunk, or by process of --layout"},
    {"tree",
     "each supernode as a rectangle below its parent; areas are bytes of factor, chunks differ in colour"},
    {"placement", "the same with the device of each subtree, and the time of each device in a solve: of the "
                  "plan (--place), "
                  "or with --gpu by the cost model"},
    {"study", "times of simulated solves on many processes or GPUs, from a file of study_sc23 --json or "
              "study_zc21 --json (--from)"},
    {NULL, NULL}};

static const tsi_command commands[] = {
    {TSI_SOLVE, "solve", "MATRIX", "Solves A X = B, A^T X = B or A^H X = B",
     MATRIX_TEXT
     "\n"
     "Analyzes and factors A, records the plan of a solve, solves, refines, and reports times and accuracy. "
     "The exit status is 1 if A is singular or X is not accurate.\n"
     "\n"
     "Without --rhs B is pseudo-random. An integer s begins as 1. For each entry, column after column, it "
     "becomes (6364136223846793005 s + 1442695040888963407) mod 2^64, and the entry is "
     "floor(s/2^11)/2^52 - 1; in complex types this gives the real part, then the imaginary part.\n"
     "\n"
     "A lower or upper triangular matrix, also after a permutation of its rows and columns, is not factored, "
     "but solved as by tristar trisolve. It is factored like any other matrix with an option that tristar "
     "trisolve does not have, such as --method or --condition, with --precision sd or cz, and with "
     "--on-demand.\n"
     "\n"
     "In a file of plain text for --rhs each line is a row of B. If the precision is complex, two numbers "
     "are one entry: its real and its imaginary part.\n"
     "\n"
     "Under mpiexec, --layout PXxPYxPZ distributes the factor over PX * PY * PZ processes: PZ grids of PX * "
     "PY processes, each for a leaf of the separator tree and the ancestors of that leaf. The report then "
     "shows how all processes spent their time, and the messages that they sent.\n",
     NULL, 1, tsi_command_solve},
    {TSI_TRISOLVE, "trisolve", "MATRIX", "Solves with a triangle of a matrix, without factoring it",
     MATRIX_TEXT
     "\n"
     "Solves T X = B, T^T X = B or T^H X = B, where T is the lower or the upper triangle of the matrix, or "
     "the product of both: a factor in a file, an incomplete factorization with L and U in one matrix, a "
     "sweep of Gauss-Seidel. Without --rhs B is that of tristar solve.\n"
     "\n"
     "If most columns of a triangle continue the previous column, it is solved by supernodes; otherwise row "
     "by row, or with --partition in blocks. Row by row and in blocks the calling thread does the work, with "
     "the help of StarPU's workers on other cores if that was faster in the latest solves; --engine tasks "
     "submits StarPU tasks instead.\n"
     "\n"
     "Plain solves are timed; then X is refined and its error is checked. With LU this holds for each of the "
     "two solves. The exit status is 1 if the diagonal has a zero or X is not accurate.\n",
     NULL, 1, tsi_command_trisolve},
    {TSI_KRYLOV, "krylov", "MATRIX", "Solves A X = B by a Krylov method with a preconditioner",
     MATRIX_TEXT
     "\n"
     "The method is CG, also pipelined or with blocks of right-hand sides, BiCGSTAB, GMRES or flexible "
     "GMRES. The preconditioner is an incomplete factorization, a sweep of Gauss-Seidel, the diagonal, or a "
     "complete factorization, whose triangles are solved as by tristar trisolve, or a sparse approximate "
     "inverse. Reports the times of set-up and iteration, and the accuracy of X. Without --rhs B is that of "
     "tristar solve.\n"
     "\n"
     "Under mpiexec the matrix is a Matrix Market file that all processes can open, or a model problem. Each "
     "process has a block of rows, and computes the preconditioner of its own diagonal block, or with "
     "--overlap also of some rows of other processes. The blocks have equal sizes. A sparse approximate "
     "inverse is that of all rows. The first process reads B and writes X.\n"
     "\n"
     "The exit status is 1 if a right-hand side has not converged; X is written nevertheless.\n",
     NULL, 1, tsi_command_krylov},
    {TSI_INFO, "info", "MATRIX", "Describes the factors of a matrix and predicts the time of a solve",
     MATRIX_TEXT
     "\n"
     "Analyzes and factors the matrix and records a plan, but does not solve. Reports fill, supernodes, "
     "chunks, the shape of the task graph, and the predicted time of a solve on this machine, whose "
     "read bandwidth it measures. Before it factors, it forecasts the memory and the time of the "
     "factorization and of solves; with --forecast it does only this. For a triangular matrix, which tristar "
     "solve does not factor, it reports the plan of that solve.\n"
     "\n"
     "With --layout it counts the messages of a distributed solve instead. With --ranks it counts the "
     "messages of conjugate gradients with a sparse approximate inverse (tristar krylov). Neither needs "
     "MPI.\n",
     NULL, 1, tsi_command_info},
    {TSI_SIMULATE, "simulate", "MATRIX", "Predicts solves on many processes, or with GPUs, by simulation",
     MATRIX_TEXT
     "\n"
     "With --ranks P or --layout PXxPYxPZ it analyzes the matrix and simulates a distributed solve on the "
     "cluster of --machine: the programs of all processes, step by step, and all of their messages. It needs "
     "neither MPI nor a factorization. The report has the time, how processes spend it, the critical path, "
     "and the messages; it is the same in each run. With --factorization it simulates the factorization "
     "instead of a solve.\n"
     "\n"
     "Without these options StarPU simulates a node with cores and GPUs, and solves on it: with the cores "
     "alone, with as many subtrees on GPUs as fit into their memory, and with those that are predicted to be "
     "faster there. Reports the time on that node, and the bytes on the bus of each GPU, in the first solve, "
     "which transfers the factor, and in each later one. The solves really run on the cores of this machine, "
     "and their results are checked. Times come from the cost model of tristar info --gpu, and are the same "
     "in each run.\n"
     "\n"
     "This needs a StarPU that was built with SimGrid, and a TriStar that was built with this StarPU. The "
     "exit status is 1 otherwise, or if X is not accurate.\n",
     NULL, 1, tsi_command_simulate},
    {TSI_SCHUR, "schur", "MATRIX", "Computes the Schur complement of chosen unknowns",
     MATRIX_TEXT
     "\n"
     "S are the unknowns in the file of --unknowns, I all others. Factors A_II and computes the dense matrix "
     "A_SS - A_SI A_II^-1 A_IS. The exit status is 1 if A_II is singular to working precision.\n"
     "\n"
     "With --rhs B, --reduced G writes the right-hand sides of the complement. Solve with the complement in "
     "any program; then --interface XS --solution X writes the solutions of A X = B whose rows S are XS.\n"
     "\n"
     "mpiexec -n N tristar schur MATRIX --unknowns FILE --layout PXxPYxPZ factors on many processes. The "
     "first process reads FILE and writes the complement.\n",
     NULL, 1, tsi_command_schur},
    {TSI_INVERSE, "inverse", "MATRIX", "Computes chosen entries of the inverse",
     MATRIX_TEXT
     "\n"
     "Factors A and computes the diagonal of its inverse, the entries of the inverse where A has entries, or "
     "the entries that a file lists. If pivots were perturbed, each column needs a refined solve. The exit "
     "status is 1 if A is singular to working precision.\n"
     "\n"
     "mpiexec -n N tristar inverse MATRIX --diagonal --layout PXxPYxPZ factors on many processes, and solves "
     "with a unit vector for each column of the entries. The first process writes the entries.\n",
     NULL, 1, tsi_command_inverse},
    {TSI_BATCH, "batch", "MATRIX VALUES...", "Solves many systems whose matrices have one pattern",
     MATRIX_TEXT
     "\n"
     "Each file of VALUES has the matrix of a system, with the pattern and the symmetry of MATRIX. MATRIX "
     "has typical values: they determine the order of elimination, the scaling and the pivots. Systems are "
     "factored and solved side by side in the lanes of vector registers, and distributed over the cores. "
     "Each solution is checked, and refined if necessary. If the common pivots are not suitable for a "
     "system, it is solved with pivots of its own.\n"
     "\n"
     "With as many columns in --rhs as systems, each system has one of them; otherwise all systems have all "
     "columns. X has the solutions of the first system, then those of the second, and so on. The exit status "
     "is 1 if a system has no solution; it has no columns in X, and all others are solved.\n",
     NULL, INT_MAX, tsi_command_batch},
    {TSI_CALIBRATE, "calibrate", "", "Measures this machine, for the granularity of later plans",
     "Measures the overhead of a StarPU task and the bandwidth of memory, determines the sizes of caches, "
     "and stores the results in the file TRISTAR_CALIBRATION or, without it, in .starpu/tristar below "
     "XDG_CACHE_HOME, STARPU_HOME or HOME, the first of them that is set. Later runs choose the sizes of "
     "chunks by these results, and `tristar info` shows them. Results with other chunks have other rounding "
     "errors. For each GPU it reports what StarPU measured for its bus when it first started here.\n"
     "\n"
     "Run it on an idle machine. If it notices other load, it measures again, and warns if the results are "
     "still unreliable.\n"
     "\n"
     "mpiexec -n N tristar calibrate --cluster FILE measures messages between processes instead, on a node "
     "and between two nodes. FILE describes the cluster for `tristar simulate --machine FILE`.\n",
     NULL, 0, tsi_command_calibrate},
    {TSI_ENV, "env", "", "Lists environment variables, and the workers and schedulers of StarPU",
     "Lists the environment variables of TriStar, and the most important ones of StarPU, the BLAS and MPI: "
     "value, default, meaning. Starts StarPU and lists its version, its workers, the cores that they are "
     "bound to, and its schedulers. Warns of settings that have no effect or probably an unintended effect, "
     "or that make StarPU abort. The exit status is 1 if StarPU cannot start or has no CPU worker.\n",
     NULL, 0, tsi_command_env},
    {TSI_GEN, "gen", "KIND K", "Writes a model problem to a file",
     "tristar gen --list lists the kinds, and the meaning of the size K for each of them.\n", NULL, 2,
     tsi_command_gen},
    {TSI_PLOT, "plot", "MATRIX", "Draws a solve: its tasks and their graph, the factor, its times",
     MATRIX_TEXT "\n"
                 "tristar plot PICTURE MATRIX --out FILE and tristar plot MATRIX --what PICTURE --out FILE "
                 "are the same. With --from, MATRIX may be omitted if the file has only one.\n",
     pictures, 2, tsi_command_plot},
    {TSI_BENCH, "bench", "MATRIX...", "Compares the solve phase with that of other solvers",
     MATRIX_OF_BENCH
     "\n"
     "Every contender runs in a process of its own, in turn, round by round, in double precision; times do "
     "not include refinement. The contenders are TriStar with each number of workers and each scheduler, and "
     "the peers CHOLMOD, UMFPACK, SuperLU, SuperLU_DIST and MUMPS with 1, 2 and all threads of the BLAS, of "
     "which the fastest setting counts.\n"
     "\n"
     "Between its turns a contender is stopped. It keeps its factors for the next round if there is enough "
     "memory; --fresh starts it again in each round. A contender that exceeds --limit is ended.\n"
     "\n"
     "With --quick each table is complete within --limit seconds, by default 60. Each solver runs in one "
     "setting, with all cores, and is prepared once. The table has the order of elimination of each solver, "
     "and the time of the first solution: analysis, factorization and one solve. A peer gets up to two "
     "thirds of the remaining time. Then it is ended, and its row has a lower bound, \"> 13 s\". Rounds of "
     "solves follow as long as there is time.\n"
     "\n"
     "GB/s: exact nonzeros of L and U, without padding. bandwidth: GB/s as a share of the read bandwidth of "
     "all cores; above 100 % the factor stays in the caches. outside: share of the time of StarPU's workers "
     "that is not spent in kernels. DGEMM, tall: GF/s as a share of the rate of DGEMM, with square matrices "
     "and with as many columns as right-hand sides. Both are measured in the same rounds, with the largest "
     "number of workers. error: componentwise backward error after the given number of refinement steps.\n"
     "\n"
     "The programs of the peers, NAME_solve, are in the folder TRISTAR_PEERS or, without it, beside this "
     "program in tools/peers and ../libexec/tristar. Variants of TriStar run with the largest number of "
     "workers and have a table of their own, and so have several schedulers. The items of a LIST are "
     "separated by commas. The row of a contender that fails has the cause; the exit status is 1 if no "
     "TriStar solved.\n"
     "\n"
     "With --triangular nothing is factored: contenders solve with the lower and the upper triangle of each "
     "matrix, in its own order and in that of nested dissection. They are the partitions of TriStar (tristar "
     "trisolve) with each number of workers, and the peers triangle_NAME: a plain sweep row by row, "
     "CXSparse, Eigen, PETSc and KokkosKernels. Times count only with a backward error below 1e-10. Rows are "
     "scaled if substitution with the original values exceeds the range of numbers. Preparation is import "
     "and plan. The summary has geometric means over all triangles and over those with much parallelism, and "
     "the least speed-ups. The exit status is 1 if a matrix could not be measured or the automatic partition "
     "did not solve.\n"
     "\n"
     "With --fsai contenders solve by conjugate gradients, on each number of processes with one thread each "
     "(mpiexec): TriStar with sparse approximate inverses, pipelined as well, and with the diagonal; hypre's "
     "inverses in TriStar's iteration; PETSc with the diagonal and with incomplete Cholesky factors of the "
     "blocks. All end when the norm of the true residual is --tol times that of B. The programs of the peers "
     "are krylov_NAME. The summary has geometric means of ratios for each number of processes. The exit "
     "status is 1 if TriStar's inverses did not solve.\n",
     NULL, INT_MAX, tsi_command_bench},
};
#define COMMANDS (sizeof commands / sizeof commands[0])
#define STARTS_STARPU                                                                                        \
  (TSI_SOLVE | TSI_TRISOLVE | TSI_KRYLOV | TSI_INFO | TSI_CALIBRATE | TSI_ENV | TSI_PLOT | TSI_SCHUR |       \
   TSI_INVERSE | TSI_BATCH)

static int print_help(void) {
  enum { INDENT = 23 };
  const char *name, *description;
  printf("usage: tristar SUBCOMMAND ... [OPTION...]\n\n"
         "Sparse triangular solves as a task graph on StarPU: factor once, solve again and again.\n\n"
         "Subcommands\n");
  for (size_t k = 0; k < COMMANDS; k++) printf("  %-9s %s\n", commands[k].name, commands[k].summary);
  printf("\n  tristar help SUBCOMMAND, or tristar SUBCOMMAND --help, lists the options of a subcommand.\n"
         "  tristar version prints the version, and those of Scotch and PT-Scotch.\n\n"
         "Environment\n");
  tsi_wrap_entry("STARPU_NCPU", "CPU workers (default: all cores)", INDENT);
  tsi_wrap_entry("STARPU_SCHED", "scheduler: lws (the default), eager, prio, dmda, ...", INDENT);
  for (int k = 0; tristar_get_variable(k, &name, NULL, &description); k++)
    tsi_wrap_entry(name, description, INDENT);
  printf("\n  tristar env shows their values and defaults, and more variables.\n\n"
         "Exit status: 0 done, 1 failed, 2 wrong usage.\n");
  return TSI_EXIT_OK;
}

static int print_version(void) {
  const char *scotch = tristar_scotch_version();
  printf("tristar %s\norderings beside METIS and AMD: %s%s\n", tristar_version(), scotch ? "Scotch " : "none",
         scotch ? scotch : "");
#ifdef TSI_HAVE_MPI
  const char *ptscotch = tristar_ptscotch_version();
  printf("orderings by all processes: %s%s\n", ptscotch ? "PT-Scotch " : "none", ptscotch ? ptscotch : "");
#endif
  return TSI_EXIT_OK;
}

/* Returns NULL and prints a message if there is no such subcommand. */
static const tsi_command *find_command(const char *name) {
  for (size_t k = 0; k < COMMANDS; k++)
    if (strcmp(name, commands[k].name) == 0) return &commands[k];
  (void)tsi_usage_error(NULL, "unknown %s '%s'", *name == '-' ? "option" : "subcommand", name);
  return NULL;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c) {
  return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

/* `tristar help [SUBCOMMAND]`, `tristar version` and their options. */
static int help(int argc, char **argv) {
  const bool version = is_one_of(argv[1], "version", "--version", "-V");
  const int most = strcmp(argv[1], "help") == 0 ? 3 : 2;
  if (argc > most) return tsi_usage_error(NULL, "unexpected argument: %s", argv[most]);
  if (version) return print_version();
  if (argc == 2 || is_one_of(argv[2], "help", "--help", "-h")) return print_help();
  if (is_one_of(argv[2], "version", "--version", "-V")) return print_version();
  const tsi_command *command = find_command(argv[2]);
  if (command == NULL) return TSI_EXIT_USAGE;
  tsi_options_help(command);
  return TSI_EXIT_OK;
}

/* Subcommands that share the work among the processes of mpiexec. In the others each process would do all the
 * work and write the same files. */
#define USES_RANKS (TSI_SOLVE | TSI_TRISOLVE | TSI_KRYLOV | TSI_SCHUR | TSI_INVERSE)

/* Refuses several processes for other subcommands, with one message. Returns false with an exit status if
 * this process has nothing to do. `tristar env` reports only on rank 0. */
static bool allow_ranks(const tsi_command *command, const tsi_settings *settings, int *status) {
  const tsi_launch launch = tsi_launched();
  *status = TSI_EXIT_OK;
  if (launch.processes == 1 || (command->bit & USES_RANKS) || settings->cluster != NULL) return true;
  if (command->bit == TSI_ENV) return launch.rank == 0;
  *status = tsi_usage_error(command->name,
                            "runs on one process, but %d were started (%s=%d): start it without mpiexec or "
                            "srun; or unset %s, if each process has work of its own",
                            launch.processes, launch.variable, launch.processes, launch.variable);
  return false;
}

static int run(int argc, char **argv) {
  tsi_settings settings;
  int status;
  if (argc < 2) return tsi_usage_error(NULL, "no subcommand given");
  if (is_one_of(argv[1], "help", "--help", "-h") || is_one_of(argv[1], "version", "--version", "-V"))
    return help(argc, argv);
  const tsi_command *command = find_command(argv[1]);
  if (command == NULL) return TSI_EXIT_USAGE;
  if (!tsi_options_parse(command, argc - 1, argv + 1, &settings, &status)) return status;
  if (command->bit == TSI_SOLVE && settings.unknowns != NULL) { /* --schur means `tristar schur` */
    command = find_command("schur");
    if (!tsi_options_parse(command, argc - 1, argv + 1, &settings, &status)) return status;
  }
  if (!allow_ranks(command, &settings, &status)) return status;
  if (command->bit != TSI_ENV) tsi_environment_restart(argv);              /* env shows the given variables */
  const bool counts = command->bit == TSI_INFO && settings.layout != NULL; /* needs no StarPU */
  if (command->bit & STARTS_STARPU && !counts) tsi_environment_prepare(&settings);
  return command->run(&settings);
}

int main(int argc, char **argv) {
  tsi_console_mute(tsi_launched().rank > 0); /* only rank 0 prints until MPI is initialized */
  int status = run(argc, argv);
  if (status != TSI_EXIT_OK && tsi_console_is_mute())
    sleep(2); /* mpiexec ends all processes at the first failure: rank 0 must print before */
  if ((fflush(stdout) != 0 || ferror(stdout)) && status == TSI_EXIT_OK) {
    tsi_console_error("cannot write to standard output: %s", strerror(errno));
    status = TSI_EXIT_FAILED;
  }
  return status;
}
