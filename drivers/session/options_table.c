/* Every option of every subcommand, and the words that options take: see options_table.h. */
#include "drivers/session/options_table.h"

#include <string.h>

static const char *const methods[] = {"auto", "llt", "lu", "ldlt", NULL};
static const char *const orderings[] = {"auto",    "amd",      "dissection", "metis",
                                        "natural", "ptscotch", "scotch",     NULL};
static const char *const bench_orderings[] = {
    "metis", "auto" /* of --quick */, "amd", "dissection", "natural", "scotch", NULL};
static const char *const matchings[] = {"auto", "off", "on", NULL};
static const char *const pivotings[] = {"static", "delayed", NULL};
static const char *const singulars[] = {"refuse", "perturb", NULL};
static const char *const precisions[] = {"s", "d", "c", "z", "sd", "cz", NULL};
static const char *const plain_precisions[] = {"s", "d", "c", "z", NULL};
static const char *const krylov_methods[] = {"auto",   "cg",           "bicgstab", "gmres",
                                             "fgmres", "pipelined-cg", "block-cg", NULL};
static const char *const norms[] = {"preconditioned", "residual", NULL};
static const char *const sides[] = {"left", "right", NULL};
static const char *const splits[] = {"blocks", "metis", NULL};
static const char *const uplos[] = {"L", "U", "LU", NULL};
static const char *const diags[] = {"nonunit", "unit", NULL};
static const char *const partitions[] = {"auto",          "supernodes", "levels",    "supersteps", "whole",
                                         "column-blocks", "row-blocks", "recursive", NULL};
static const char *const ops[] = {"N", "T", "C", NULL};
static const char *const algorithms[] = {"replicated", "levelwise", "2d", NULL};
static const char *const maps[] = {"subtree", "cyclic", NULL};
static const char *const trees[] = {"binary", "flat", NULL};
static const char *const transports[] = {"auto", "direct", "starpu_mpi", "one_sided", NULL};
static const char *const gpus[] = {"A100",      "H100", "GH200", "H200", "MI250X",
                                   "V100-SXM3", "V100", NULL}; /* in the order of runtime/machine/devices.c */
static const char *const platforms[] = {"a100", "h100", "gh200", "mi250x",
                                        NULL}; /* in the order of drivers/session/platform.c */
static const char *const networks[] = {"loggp", "simgrid", NULL};
static const char *const engines[] = {"auto", "serial", "tasks", NULL};
static const char *const polls[] = {"open", "all", NULL};
static const char *const sums[] = {"slots", "atomic", NULL};
static const char *const stores[] = {"d", "s", "b", "auto", NULL};
static const char *const places[] = {"cpu", "auto", "gpu", NULL};

static const char *const pictures[] = {"gantt",  "dag",     "spy",       "roofline",   "levels",
                                       "tree",   "rhs",     "reuse",     "refinement", "communication",
                                       "memory", "scaling", "placement", "study",      NULL};

#define FIELD(name) offsetof(tsi_settings, name)
#define MATRIX (TSI_SOLVE | TSI_INFO | TSI_PLOT)
#define SOLVES (TSI_SOLVE | TSI_TRISOLVE)
#define SYSTEMS (SOLVES | TSI_KRYLOV)
#define ALL                                                                                                  \
  (SYSTEMS | TSI_GEN | TSI_INFO | TSI_PLOT | TSI_BENCH | TSI_CALIBRATE | TSI_ENV | TSI_SIMULATE |            \
   TSI_SCHUR | TSI_INVERSE | TSI_BATCH)

/* clang-format off */
const tsi_option_row tsi_option_rows[] = {
  {"uplo", CHOICE, FIELD(uplo), TSI_TRISOLVE, "L|U|LU", "the lower triangle, the upper one, or their product L U, which needs two solves (default: the triangle that contains all entries)", 0, 0, uplos},
  {"partition", CHOICE, FIELD(partition), TSI_TRISOLVE, "WORD", "how rows are divided: supernodes (columns of similar structure); row by row in levels (of independent rows), supersteps (several levels at a time) or whole (one core); in triangles on the diagonal with rectangles beside them: column-blocks, row-blocks or recursive; auto: supernodes, supersteps or whole, depending on the matrix (default auto)", 0, 0, partitions},
  {"diag", CHOICE, FIELD(diag), TSI_TRISOLVE, "unit|nonunit", "unit: use ones instead of the stored diagonal; with --uplo LU instead of that of L (default nonunit)", 0, 0, diags},
  {"rhs", INPUT, FIELD(rhs), SYSTEMS | TSI_BATCH, "FILE", "right-hand sides, a Matrix Market file or plain text with one row per line; -: standard input (default: pseudo-random)", 0, 0, NULL},
  {"rows", INPUT, FIELD(rows), TSI_SOLVE, "FILE", "compute only the rows of X whose numbers are in this file, starting at 1 and separated by white space; -: standard input", 0, 0, NULL},
  {"unknowns", INPUT, FIELD(unknowns), TSI_SCHUR, "FILE", "numbers of the unknowns that are not eliminated, starting at 1 and separated by white space; -: standard input", 0, 0, NULL},
  {"diagonal", FLAG, FIELD(diagonal), TSI_INVERSE, NULL, "compute the diagonal of the inverse", 0, 0, NULL},
  {"pattern", FLAG, FIELD(pattern), TSI_INVERSE, NULL, "compute the entries of the inverse where A has entries", 0, 0, NULL},
  {"rhs", INPUT, FIELD(rhs), TSI_SCHUR, "FILE", "right-hand sides of A for --reduced and --interface, a Matrix Market file or plain text with one row per line; -: standard input", 0, 0, NULL},
  {"reduced", OUTPUT, FIELD(reduced), TSI_SCHUR, "FILE", "write the right-hand sides of the Schur complement, b_S - A_SI A_II^-1 b_I, for the right-hand sides of --rhs: a Matrix Market array file", 0, 0, NULL},
  {"interface", INPUT, FIELD(interface), TSI_SCHUR, "FILE", "the values x_S of the unknowns, a column for each one of --rhs, from a solve with the Schur complement by another program; needs --solution", 0, 0, NULL},
  {"solution", OUTPUT, FIELD(solution), TSI_SCHUR, "FILE", "write the solutions of A X = B from --rhs and --interface: a Matrix Market array file", 0, 0, NULL},
  {"entries", INPUT, FIELD(entries), TSI_INVERSE, "FILE", "compute the entries whose row and column numbers are in this file, starting at 1 and separated by white space; -: standard input", 0, 0, NULL},
  {"nrhs", NUMBER, FIELD(nrhs), SYSTEMS | TSI_SIMULATE | TSI_BATCH, "N", "number of pseudo-random right-hand sides (default 1)", 1, 1000000, NULL},
  {"nrhs", NUMBER, FIELD(nrhs), TSI_INFO, "N", "with --layout: number of right-hand sides (default 1)", 1, 1000000, NULL},
  {"what", CHOICE, FIELD(what), TSI_PLOT, "PICTURE", "what to draw: one of the pictures above", 0, 0, pictures},
  {"repeat", NUMBER, FIELD(repeat), TSI_PLOT, "N", "time N solves, after one that is not timed, and draw the median (default 9)", 1, 1000, NULL},
  {"nrhs", NUMBER, FIELD(nrhs), TSI_PLOT, "N", "number of pseudo-random right-hand sides (default 1); reuse: of the case in --from", 1, 1000000, NULL},
  {"laplacian", FLAG, FIELD(laplacian), MATRIX | TSI_TRISOLVE | TSI_KRYLOV | TSI_SIMULATE | TSI_SCHUR | TSI_INVERSE, NULL, "replace the matrix by the graph Laplacian of its pattern plus the identity", 0, 0, NULL},
  {"precision", CHOICE, FIELD(precision), MATRIX | TSI_SCHUR | TSI_INVERSE | TSI_INVERSE, "s|d|c|z|sd|cz", "single, double, complex single or complex double (default: d or z, depending on the file); sd and cz: factors in single, solution in double precision", 0, 0, precisions},
  {"precision", CHOICE, FIELD(precision), TSI_TRISOLVE | TSI_KRYLOV | TSI_SIMULATE | TSI_BATCH, "s|d|c|z", "single, double, complex single or complex double (default: d or z, depending on the file)", 0, 0, plain_precisions},
  {"op", CHOICE, FIELD(op), SOLVES | TSI_PLOT | TSI_BATCH, "N|T|C", "solve with A, with A^T, or with A^H (default N)", 0, 0, ops},
  {"method", CHOICE, FIELD(method), MATRIX | TSI_SIMULATE | TSI_SCHUR | TSI_INVERSE, "auto|llt|lu|ldlt", "factorization (default auto: Cholesky or L D L^T if the matrix is symmetric, else LU)", 0, 0, methods},
  {"method", CHOICE, FIELD(batch_method), TSI_BATCH, "auto|llt|lu|ldlt", "factors of the systems: L U (lu); L D L^T with pivots on the diagonal, of symmetric matrices (ldlt), or the same of positive definite ones (llt); auto: ldlt if the typical values have their pivots on the diagonal, else lu (default lu)", 0, 0, methods},
  {"method", CHOICE, FIELD(krylov_method), TSI_KRYLOV, "WORD", "the method: auto, cg, pipelined-cg (whose sums are exchanged during the next product), block-cg (several right-hand sides at once), bicgstab, gmres or fgmres; auto: cg if the matrix is symmetric or Hermitian with a positive diagonal, and gmres if cg finds it indefinite; else gmres (default auto)", 0, 0, krylov_methods},
  {"precond", TEXT, FIELD(precond), TSI_KRYLOV, "WORD", "the preconditioner: auto (ic0 with the variants of cg, else ilu0, with a shift if pivots break down, then jacobi or none; --side right with gmres), none, jacobi, ssor, ilu0, ilu1, ... (incomplete LU with the given level of fill), milu0, ... (the same row sums), ilut (dropping by size), ic0, ic1, ..., mic0, ..., ict (incomplete Cholesky), fsai (a sparse approximate inverse), factor (complete factors; default auto)", 0, 0, NULL},
  {"tol", REAL, FIELD(tolerance), TSI_KRYLOV, "T", "end when the norm of the residual, or of the preconditioned residual if the method tests that, is T times that of B (default 1e-8; in single precision 1e-5)", 0, 0, NULL},
  {"max-iterations", NUMBER, FIELD(max_iterations), TSI_KRYLOV, "N", "maximum number of iterations for each right-hand side (default 10000)", 0, INT64_C(1) << 40, NULL},
  {"restart", NUMBER, FIELD(restart), TSI_KRYLOV, "M", "gmres, fgmres: iterations between restarts (default 30)", 1, 10000, NULL},
  {"norm", CHOICE, FIELD(norm), TSI_KRYLOV, "preconditioned|residual", "cg, pipelined-cg, block-cg: the norm that is tested, of the preconditioned residual or of the true residual (default preconditioned)", 0, 0, norms},
  {"block", NUMBER, FIELD(block), TSI_KRYLOV, "N", "block-cg: number of right-hand sides in a block (default 8)", 1, 32, NULL},
  {"overlap", NUMBER, FIELD(overlap), TSI_KRYLOV, "N", "under mpiexec: additive Schwarz: each process applies the preconditioner to its own rows and to those of others that are connected to them by up to N entries of the matrix (default 0: only to its own); with cg the results are added, else each row is taken from its owner", 0, 1000000, NULL},
  {"split", CHOICE, FIELD(split), TSI_KRYLOV, "blocks|metis", "under mpiexec: how rows are distributed; blocks: in their order; metis: in parts with few entries between them (default blocks)", 0, 0, splits},
  {"side", CHOICE, FIELD(side), TSI_KRYLOV, "left|right", "bicgstab, gmres: the side of the preconditioner; right: the norm of the true residual is tested (default left; fgmres: right)", 0, 0, sides},
  {"drop", REAL, FIELD(drop), TSI_KRYLOV, "D", "ilut, ict: drop entries that are smaller than D times the norm of their row (default 1e-3)", 0, 0, NULL},
  {"fill", NUMBER, FIELD(fill), TSI_KRYLOV, "N", "ilut, ict: maximum number of additional entries in each row (default 10)", 0, INT32_MAX, NULL},
  {"fsai", TEXT, FIELD(fsai), TSI_KRYLOV, "NAME=NUMBER,...", "fsai: how the pattern of the inverse's factor grows. steps=N: add columns to a row at most N times (default 5); per_step=N: N columns at a time (default 3); reduction=E: until the row is that accurate (default 1e-3); power=N: begin with the lower triangle of that power of the matrix (default 0: with the diagonal), prefilter=T: without entries of at most T times the root of the product of both diagonal entries; postfilter=T: drop entries below T times the norm of their row; block=N|auto: N neighbouring rows share a pattern, such as the unknowns of a point, auto: rows of the matrix with the same columns (default 0: no rows); single=1: compute it in single precision; pair=0: one factor, for a symmetric (complex: Hermitian) matrix, 1: two factors, for any matrix, without block, 2: depending on the matrix (default 2); levels=N: on many processes rows may have columns of other processes that are connected by up to N entries (default 3; 0: none)", 0, 0, NULL},
  {"omega", REAL, FIELD(omega), TSI_KRYLOV, "W", "ssor: relaxation, between 0 and 2 (default 1)", 0, 0, NULL},
  {"shift", REAL, FIELD(shift), TSI_KRYLOV, "S", "incomplete factors, fsai: multiply the diagonal by 1 + S before the factorization, so that pivots do not break down (default 0)", 0, 0, NULL},
  {"ordering", CHOICE, FIELD(ordering), MATRIX | TSI_SIMULATE | TSI_SCHUR | TSI_INVERSE | TSI_BATCH, "WORD", "order of elimination: amd (approximate minimum degree), dissection (nested dissection in parts, by METIS), metis (METIS_NodeND), natural (as in the file), scotch (nested dissection by Scotch), ptscotch (nested dissection by all processes, for solve --layout PXxPYxPZ under mpiexec) or auto: amd, or dissection if the predicted time of analysis, factorizations and solves (see --factorizations, --solves) is less with it (default auto)", 0, 0, orderings},
  {"ordering", CHOICE, FIELD(bench_ordering), TSI_BENCH, "WORD", "order of elimination of TriStar: metis, as in most peers, auto, amd, dissection, natural or scotch (default metis; with --quick auto)", 0, 0, bench_orderings},
  {"matching", CHOICE, FIELD(matching), MATRIX | TSI_SIMULATE | TSI_SCHUR | TSI_INVERSE | TSI_BATCH, "auto|on|off", "permute large entries to the diagonal or, for L D L^T, next to it (default auto: if the diagonal has zeros or small entries, or if the matrix is badly scaled)", 0, 0, matchings},
  {"pivoting", CHOICE, FIELD(pivoting), TSI_SOLVE | TSI_INFO | TSI_INVERSE, "static|delayed", "pivots of LU and L D L^T; static: only within the diagonal block; delayed: if a pivot was perturbed or fails the threshold test, search for an order in which such columns are delayed to an ancestor, and factor again; with --layout the first process searches (default static)", 0, 0, pivotings},
  {"pivot-threshold", REAL, FIELD(pivot_threshold), TSI_SOLVE | TSI_INFO | TSI_INVERSE, "U", "with --pivoting delayed: a pivot is at least U times the largest entry of its column (default 0.1; L D L^T 0.01)", 0, 0, NULL},
  {"singular", CHOICE, FIELD(singular), MATRIX | TSI_SIMULATE | TSI_SCHUR | TSI_INVERSE, "refuse|perturb", "for a matrix that is singular to working precision: fail, or perturb pivots, as consistent systems such as Neumann problems require; a system without a solution fails in either case (default refuse)", 0, 0, singulars},
  {"engine", CHOICE, FIELD(engine), MATRIX | TSI_KRYLOV | TSI_BATCH, "auto|serial|tasks", "tasks: StarPU; serial: one thread without StarPU (default auto: tasks, or the calling thread alone if that is predicted to be faster)", 0, 0, engines},
  {"engine", CHOICE, FIELD(engine), TSI_TRISOLVE, "auto|serial|tasks", "tasks: StarPU; serial: one thread without StarPU (default auto: as for tristar solve if there are supernodes, else the calling thread, with StarPU's workers as helpers if that is faster)", 0, 0, engines},
  {"place", CHOICE, FIELD(place), MATRIX | TSI_TRISOLVE, "cpu|auto|gpu", "where subtrees, or all rows of a triangle without supernodes, are solved: on the cores (default), or on GPUs with a StarPU worker: those that are predicted to be faster there (auto), or as many as fit into memory (gpu)", 0, 0, places},
  {"place", CHOICE, FIELD(place), TSI_KRYLOV, "cpu|auto|gpu", "where the preconditioner is applied, its sweeps or its products: on the cores (default), or on a GPU with a StarPU worker, if it is predicted to be faster there (auto), or always (gpu); products with the matrix and vectors are on the cores", 0, 0, places},
  {"device-bytes", NUMBER, FIELD(device_bytes), TSI_KRYLOV, "N", "maximum number of bytes on a GPU, for each sweep or for both products (default: nine tenths of its memory)", 1, INT64_C(1) << 50, NULL},
  {"factor-place", CHOICE, FIELD(factor_place), MATRIX, "cpu|auto|gpu", "where large fronts are factored: on the cores (default), or on GPUs with a StarPU worker: those that are predicted to be faster there (auto), or all that fit into memory (gpu); not on many processes", 0, 0, places},
  {"device-bytes", NUMBER, FIELD(device_bytes), MATRIX | TSI_TRISOLVE | TSI_SIMULATE, "N", "maximum number of bytes on a GPU: factor, tables, workspace; with --factor-place: of a front (default: nine tenths of its memory)", 1, INT64_C(1) << 50, NULL},
  {"memory-limit", BYTES, FIELD(memory_limit), TSI_SOLVE | TSI_TRISOLVE | TSI_INFO, "BYTES", "memory limit of the library, with K, M, G or T for powers of 1024: on one process a factorization fails before it starts if the forecast exceeds the limit; all other steps fail when they exceed it; one thread factors if all workers together would exceed it (default: no limit)", 1, INT64_C(1) << 50, NULL},
  {"forecast", FLAG, FIELD(forecast), TSI_INFO, NULL, "forecast the memory and time of factorization and solves from the analysis, without factoring; with --layout also for more than 256 processes", 0, 0, NULL},
  {"order-seed", NUMBER, FIELD(order_seed), TSI_SOLVE, "N", "with --engine serial: seed of a random valid order of the steps (default 0: the natural order)", 0, UINT32_MAX, NULL},
  {"workers", NUMBER, FIELD(workers), MATRIX | TSI_SCHUR | TSI_INVERSE | TSI_BATCH | TSI_TRISOLVE | TSI_KRYLOV | TSI_CALIBRATE | TSI_ENV, "N", "number of CPU workers, and of cores that help without tasks (default: STARPU_NCPU, or all cores)", 1, 4096, NULL},
  {"sched", SCHEDULER, FIELD(scheduler), SYSTEMS | TSI_PLOT | TSI_SIMULATE, "NAME", "scheduler of StarPU, one of those that tristar env lists (default: STARPU_SCHED, or lws)", 0, 0, NULL},
  {"chunk-bytes", NUMBER, FIELD(chunk_bytes), MATRIX | TSI_TRISOLVE | TSI_SIMULATE, "N", "maximum number of bytes of a chunk, unless it is a single panel (default: depends on the size of the factor and the calibration)", 1, INT64_C(1) << 40, NULL},
  {"variant", VARIANT, FIELD(variant), TSI_SOLVE | TSI_INFO | TSI_PLOT, "WORD[+WORD...]", "solve in another way, for comparison: see the variants below", 0, 0, NULL},
  {"layout", TEXT, FIELD(layout), TSI_INFO, "PXxPYxPZ|auto", "count the messages of a solve on these processes, from the analysis alone; with --gpu each process is a GPU, and the time of a solve is predicted; auto: the fastest layout of --ranks GPUs", 0, 0, NULL},
  {"layout", TEXT, FIELD(layout), TSI_SOLVE, "PXxPYxPZ|auto", "under mpiexec: distribute the factor over these processes; auto: use the layout with the least predicted time", 0, 0, NULL},
  {"layout", TEXT, FIELD(layout), TSI_SCHUR, "PXxPYxPZ|auto", "under mpiexec: factor A_II, and solve with it, on these processes; auto: the library chooses", 0, 0, NULL},
  {"layout", TEXT, FIELD(layout), TSI_INVERSE, "PXxPYxPZ|auto", "under mpiexec: factor, and solve with unit vectors, on these processes; auto: the library chooses", 0, 0, NULL},
  {"factorizations", NUMBER, FIELD(factorizations), TSI_SOLVE | TSI_INFO, "N", "with --ordering auto: expected number of factorizations with one analysis, as of a program that factors new values again and again (default 1)", 1, INT64_C(1) << 40, NULL},
  {"solves", NUMBER, FIELD(solves), TSI_SOLVE, "N", "expected number of solves with one factorization, for the predictions of --ordering auto (default 10) and of --layout auto (default: the factorization does not count)", 1, INT64_C(1) << 40, NULL},
  {"solves", NUMBER, FIELD(solves), TSI_INFO | TSI_PLOT | TSI_SIMULATE, "N", "with --ordering auto: expected number of solves with one factorization (default 10)", 1, INT64_C(1) << 40, NULL},
  {"process-bytes", NUMBER, FIELD(process_bytes), TSI_SOLVE, "N", "with --layout auto: only layouts in which no process is expected to need more than N bytes (default: no limit)", 1, INT64_C(1) << 50, NULL},
  {"layout", TEXT, FIELD(layout), TSI_PLOT, "PXxPYxPZ", "spy, communication: of a solve on these processes, from the analysis alone", 0, 0, NULL},
  {"from", INPUT, FIELD(from), TSI_PLOT, "FILE", "reuse: take the times, also those of other solvers, from a file of tristar bench --json; study: draw a file of study_sc23 --json or study_zc21 --json; -: standard input", 0, 0, NULL},
  {"ranks", NUMBER, FIELD(ranks), TSI_INFO, "N", "count the messages of conjugate gradients with a sparse approximate inverse on N processes; the inverse is computed on this process; a model problem on a cube is divided into a grid of boxes, any other matrix into blocks of rows; with --gpu and --layout auto: the number of GPUs", 1, 1000000, NULL},
  {"fsai", TEXT, FIELD(fsai), TSI_INFO, "NAME=NUMBER,...", "with --ranks: the pattern of the sparse approximate inverse, with one factor; the names are those of tristar krylov --fsai", 0, 0, NULL},
  {"algo", CHOICE, FIELD(algo), TSI_INFO | TSI_SOLVE | TSI_PLOT | TSI_SIMULATE | TSI_SCHUR | TSI_INVERSE, "replicated|levelwise|2d", "with --layout: grids have copies of the upper levels and exchange sums once (replicated, the default), or sums at every level of the separator tree (levelwise); 2d: there is one grid, PZ = 1", 0, 0, algorithms},
  {"map", CHOICE, FIELD(map), TSI_INFO | TSI_SOLVE | TSI_PLOT | TSI_SIMULATE | TSI_SCHUR | TSI_INVERSE, "subtree|cyclic", "with --layout: a process has whole balanced subtrees (subtree, the default), or all panels are distributed (cyclic)", 0, 0, maps},
  {"tree", CHOICE, FIELD(message_tree), TSI_SOLVE, "binary|flat", NULL, 0, 0, trees},
  {"transport", CHOICE, FIELD(transport), TSI_SOLVE, "auto|direct|starpu_mpi|one_sided", "with --layout: how messages are sent (default auto: TRISTAR_TRANSPORT, or direct)", 0, 0, transports},
  {"sums", CHOICE, FIELD(atomic_sums), TSI_SOLVE, "slots|atomic", "with --transport one_sided --place gpu: each process stores its part of a sum in a slot of its own (slots, the default), or all add to one number (atomic), so that the last bits differ between solves", 0, 0, sums},
  {"transport", CHOICE, FIELD(transport), TSI_TRISOLVE, "one_sided", "under mpiexec, with --place gpu: distribute the rows over the GPUs of all processes of a node, which read sums from each other's memory", 0, 0, transports},
  {"tasks-per-gpu", NUMBER, FIELD(tasks_per_gpu), TSI_TRISOLVE, "N", "with --transport one_sided: assign N tasks of consecutive rows to each GPU, round robin (default: a row is on the GPU that has most of the rows that it depends on)", 1, 1000000, NULL},
  {"poll", CHOICE, FIELD(polls_all), TSI_TRISOLVE, "open|all", "with --transport one_sided: a waiting row polls the in-degrees of the GPUs that it still waits for (open, the default), or of all", 0, 0, polls},
  {"svg", OUTPUT, FIELD(svg), TSI_SOLVE, "FILE", "with --layout: draw how each process spent its time (.svg, .html, .png, .pdf); -: SVG to standard output", 0, 0, NULL},
  {"gantt", OUTPUT, FIELD(gantt), TSI_SOLVE, "FILE", "draw when each task ran, on each worker of each process, for the median of --repeat further solves (.svg, .html, .png, .pdf; .json: Chrome trace events for Perfetto; .trace: Paje for ViTE); -: SVG to standard output", 0, 0, NULL},
  {"message-tree", CHOICE, FIELD(message_tree), TSI_INFO | TSI_SOLVE | TSI_PLOT | TSI_SIMULATE | TSI_SCHUR | TSI_INVERSE, "binary|flat", "with --layout: the shape of the trees along which a grid broadcasts and sums (default binary)", 0, 0, trees},
  {"refine", NUMBER, FIELD(refine), TSI_PLOT, "N", "refinement: at most N corrections before FGMRES (default 5)", 0, 1000, NULL},
  {"refine", NUMBER, FIELD(refine), SOLVES, "N", "at most N steps of iterative refinement (default 5; 0: only measure the error)", 0, 1000, NULL},
  {"tolerance", REAL, FIELD(tolerance), SOLVES, "T", "fail if the backward error of X is larger (default 1e-12; in single precision 1e-5)", 0, 0, NULL},
  {"tolerance", REAL, FIELD(tolerance), TSI_BATCH, "T", "largest backward error that is accepted before a system is solved with pivots of its own (default 1.8e-12; in single precision 6.4e-6)", 0, 0, NULL},
  {"store", CHOICE, FIELD(store), TSI_SOLVE, "d|s|b|auto", "what solves read if the factors have double precision: the factors (d), a copy in single precision with half the bytes (s), or in bfloat16 with a quarter (b); refinement restores the digits; auto: the narrowest that reaches --accuracy without refinement (default d; with --accuracy auto)", 0, 0, stores},
  {"compress", REAL, FIELD(compress), TSI_SOLVE, "TOL", "compress the factor for solves: off-diagonal blocks of low rank, with errors of TOL (0 < TOL < 1) relative to the panel, replace the entries, whose memory is released; for 3D problems; refinement restores the digits", 0, 0, NULL},
  {"accuracy", REAL, FIELD(accuracy), TSI_SOLVE, "A", "refine until the backward error of X is at most A, and fail if it stays larger: implies --tolerance A and --store auto, unless these are given", 0, 0, NULL},
  {"condition", FLAG, FIELD(condition), TSI_SOLVE, NULL, "estimate the condition number; the factorization does so without this option if pivots are small or were perturbed", 0, 0, NULL},
  {"inertia", FLAG, FIELD(inertia), TSI_SOLVE, NULL, "count the positive, negative and zero eigenvalues of a symmetric or Hermitian matrix", 0, 0, NULL},
  {"determinant", FLAG, FIELD(determinant), TSI_SOLVE, NULL, "compute the determinant from the factors", 0, 0, NULL},
  {"save", OUTPUT, FIELD(save), TSI_SOLVE, "FILE", "write the plan to a file, with its matrix and its factors; `tristar solve FILE` solves with it later, without analysis and factorization. With --layout: each process writes its share of the factor to FILE.RANK; `tristar solve FILE` with the same layout loads them", 0, 0, NULL},
  {"load", TEXT, FIELD(load), TSI_SOLVE, "FILE", "solve with a file of --save, instead of MATRIX", 0, 0, NULL},
  {"null-space", OUTPUT, FIELD(null_space), TSI_SOLVE, "FILE", "write an orthonormal basis of the null space, at most 100 vectors, as a Matrix Market file; a singular matrix needs --singular perturb; without --rhs, right-hand sides are made consistent", 0, 0, NULL},
  {"inverse-diagonal", OUTPUT, FIELD(inverse_diagonal), TSI_SOLVE, "FILE", "write the diagonal of the inverse, a Matrix Market array file; `tristar inverse` computes other entries", 0, 0, NULL},
  {"schur", INPUT, FIELD(unknowns), TSI_SOLVE, "ROWS", "do not solve, but write to --out the Schur complement of the unknowns in the file ROWS: the same as `tristar schur MATRIX --unknowns ROWS`, with its options", 0, 0, NULL},
  {"schur", INPUT, FIELD(unknowns), TSI_SCHUR, "ROWS", NULL, 0, 0, NULL},
  {"forward-error", FLAG, FIELD(forward_error), TSI_SOLVE, NULL, "compute a bound of the error of X itself; this needs 8 to 24 more solves, mostly 10", 0, 0, NULL},
  {"repeat", NUMBER, FIELD(repeat), SYSTEMS, "N", "time N solves, after one that is not timed, and report the median (default 1)", 1, 1000000, NULL},
  {"fuse", NUMBER, FIELD(fuse), TSI_SOLVE, "N", "solves of --in-flight share passes over the factor, with up to N columns (default 0: no sharing)", 0, 64, NULL},
  {"in-flight", NUMBER, FIELD(in_flight), TSI_SOLVE, "N", "keep N of the timed solves in flight, and report the number of solves per second (default 1)", 1, 1000, NULL},
  {"checksum", FLAG, FIELD(checksum), SOLVES, NULL, "print a checksum of the bits of X before refinement", 0, 0, NULL},
  {"checksum", FLAG, FIELD(checksum), TSI_KRYLOV, NULL, "print a checksum of the bits of X", 0, 0, NULL},
  {"explain", FLAG, FIELD(explain), SOLVES, NULL, "report what runs the solves (the calling thread, lanes, StarPU tasks, or GPUs beside them), and why", 0, 0, NULL},
  {"report", FLAG, FIELD(report), SOLVES, NULL, "measure the read bandwidth and report the share of it that the solve reaches, and the activity of StarPU's workers", 0, 0, NULL},
  {"nrhs", TEXT, FIELD(nrhs_list), TSI_BENCH, "LIST", "numbers of right-hand sides, with a table for each (default 1)", 0, 0, NULL},
  {"workers", TEXT, FIELD(workers_list), TSI_BENCH, "LIST", "numbers of StarPU CPU workers; all: every core (default 1,all; with --quick all)", 0, 0, NULL},
  {"sched", TEXT, FIELD(sched_list), TSI_BENCH, "LIST", "schedulers of StarPU; all: each of them, with all cores (default lws)", 0, 0, NULL},
  {"peers", TEXT, FIELD(peers_list), TSI_BENCH, "LIST", "peers: cholmod, umfpack, superlu, superlu_dist, mumps, eigen; with --triangular plain, cxsparse, eigen, petsc, kokkos; with --fsai hypre, petsc; none; or all that are installed (default all)", 0, 0, NULL},
  {"quick", FLAG, FIELD(quick), TSI_BENCH, NULL, "make each table within --limit seconds: each solver with all cores, prepared once; the first solution is compared, too, and a peer that takes too long is ended", 0, 0, NULL},
  {"triangular", FLAG, FIELD(triangular), TSI_BENCH, NULL, "solve with both triangles of each matrix, without factoring it", 0, 0, NULL},
  {"uplo", TEXT, FIELD(uplo_list), TSI_BENCH, "LIST", "with --triangular: the triangles, L and U (default L,U)", 0, 0, NULL},
  {"orders", TEXT, FIELD(orders_list), TSI_BENCH, "LIST", "with --triangular: the orders, natural (as in the file) and metis (nested dissection; default natural,metis)", 0, 0, NULL},
  {"of", TEXT, FIELD(of_list), TSI_BENCH, "LIST", "with --triangular: triangles of matrix (the matrix itself), ilu0 (its incomplete LU factors) and ic0 (its incomplete Cholesky factors, if it is symmetric; default matrix,ilu0,ic0)", 0, 0, NULL},
  {"partitions", TEXT, FIELD(partitions_list), TSI_BENCH, "LIST", "with --triangular: the partitions, as for tristar trisolve --partition (default: all)", 0, 0, NULL},
  {"fsai", FLAG, FIELD(bench_fsai), TSI_BENCH, NULL, "solve by conjugate gradients with sparse approximate inverses and other preconditioners, of symmetric positive definite matrices", 0, 0, NULL},
  {"ranks", TEXT, FIELD(ranks_list), TSI_BENCH, "LIST", "with --fsai: numbers of processes of each contender (default 1,2; without MPI 1)", 0, 0, NULL},
  {"steps", NUMBER, FIELD(steps), TSI_BENCH, "N", "with --fsai: steps that add columns to a row of the inverses (default 5)", 1, 1000, NULL},
  {"per-step", NUMBER, FIELD(per_step), TSI_BENCH, "N", "with --fsai: columns that a step adds (default 3)", 1, 1000, NULL},
  {"tol", REAL, FIELD(tolerance), TSI_BENCH, "T", "with --fsai: end when the norm of the residual is T times that of B (default 1e-8)", 0, 0, NULL},
  {"variants", TEXT, FIELD(variants_list), TSI_BENCH, "LIST", "variants of TriStar, WORD[+WORD...]; all: each word alone (default: none)", 0, 0, NULL},
  {"compress", TEXT, FIELD(compress_list), TSI_BENCH, "LIST", "tolerances: a further variant of TriStar with a compressed factor for each (default: none)", 0, 0, NULL},
  {"store", TEXT, FIELD(store_list), TSI_BENCH, "LIST", "formats, s (single precision) and b (bfloat16): a further variant of TriStar for each, whose solves read a copy of the factor in this format (default: none)", 0, 0, NULL},
  {"rounds", NUMBER, FIELD(rounds), TSI_BENCH, "N", "runs of each contender (default 5; with --quick as many as there is time for)", 1, 1000, NULL},
  {"repeat", NUMBER, FIELD(repeat), TSI_BENCH, "N", "timed solves of a run, after a warm-up (default 11; with --quick 3)", 1, 1000000, NULL},
  {"milliseconds", NUMBER, FIELD(run_ms), TSI_BENCH, "N", "with --triangular: make more solves in a run, at most 1000, if they fit into N milliseconds (default 20)", 0, 1000000, NULL},
  {"limit", NUMBER, FIELD(limit), TSI_BENCH, "N", "time limit of a contender for a table, in seconds (default 600; 0: no limit); with --quick of all contenders together (default 60)", 0, 1000000000, NULL},
  {"fresh", FLAG, FIELD(fresh), TSI_BENCH, NULL, "analyze and factor again in each round (default: once)", 0, 0, NULL},
  {"reuse", FLAG, FIELD(reuse), TSI_BENCH, NULL, "report the time of 1, 10, 1000 solves with analysis and factorization", 0, 0, NULL},
  {"svg", OUTPUT, FIELD(svg), TSI_KRYLOV, "FILE", "draw the norm of the residual, iteration by iteration (.svg, .html, .png, .pdf); -: SVG to standard output", 0, 0, NULL},
  {"svg", OUTPUT, FIELD(svg), TSI_BENCH, "FILE", "draw the tables (.svg, .html, .png, .pdf)", 0, 0, NULL},
  {"json", OUTPUT, FIELD(json), TSI_BENCH, "FILE", "write all numbers of every round as JSON; -: to standard output instead of the tables", 0, 0, NULL},
  {"list", FLAG, FIELD(list), TSI_GEN, NULL, "list the kinds", 0, 0, NULL},
  {"gpu", CHOICE, FIELD(gpu), TSI_INFO, "A100|H100|GH200|H200|MI250X|V100-SXM3|V100", "predict a solve on this GPU by a cost model: how the factor would be cut, the time, and what limits it; with --layout: on several GPUs that solve with each other", 0, 0, gpus},
  {"devices", NUMBER, FIELD(devices), TSI_INFO, "N", "with --gpu: place subtrees on N of these GPUs beside the cores, and predict the bytes on their buses and the time by a cost model; for a triangle: a solve with its rows on N GPUs, at most 33", 1, 64, NULL},
  {"tasks-per-gpu", NUMBER, FIELD(tasks_per_gpu), TSI_INFO, "N", "for a triangle, with --gpu and --devices: assign N tasks of consecutive rows to each GPU, round robin (default: a row is on the GPU that has most of the rows that it depends on)", 1, 1000000, NULL},
  {"gpu", CHOICE, FIELD(gpu), TSI_PLOT, "A100|H100|GH200|H200|MI250X|V100-SXM3|V100", "placement: on GPUs of this kind, by a cost model, instead of those of this machine", 0, 0, gpus},
  {"devices", NUMBER, FIELD(devices), TSI_PLOT, "N", "with --gpu: number of these GPUs (default 1)", 1, 64, NULL},
  {"ranks", TEXT, FIELD(ranks_list), TSI_SIMULATE, "P,...|PXxPYxPZ", "simulate a distributed solve on P processes, in the layout of --layout or the fastest one, or in this layout; with several numbers, on each of them, with the fastest layout for each number of grids", 0, 0, NULL},
  {"layout", TEXT, FIELD(layout), TSI_SIMULATE, "PXxPYxPZ|auto", "simulate a distributed solve on these processes; auto, with --ranks: simulate all layouts, and report the fastest", 0, 0, NULL},
  {"factorization", FLAG, FIELD(factorization), TSI_SIMULATE, NULL, "with --ranks or --layout: simulate the factorization instead of a solve", 0, 0, NULL},
  {"square", FLAG, FIELD(square), TSI_SIMULATE, NULL, "with --ranks: simulate only the grids that are nearest to squares, with PX <= PY", 0, 0, NULL},
  {"svg", OUTPUT, FIELD(svg), TSI_SIMULATE, "FILE", "with several numbers in --ranks: draw the time over processes, a curve for each number of grids (.svg, .html, .png, .pdf); -: SVG to standard output", 0, 0, NULL},
  {"machine", INPUT, FIELD(machine), TSI_SIMULATE, "NAME|FILE", "with --ranks or --layout: the cluster: cori, perlmutter or frontier; perlmutter_gpu, frontier_gpu, dgx1 or dgx2, whose processes are GPUs; here, this machine by its calibration; or a JSON file as in share/tristar/machines (default: a common cluster)", 0, 0, NULL},
  {"network", CHOICE, FIELD(network), TSI_SIMULATE, "loggp|simgrid", "with --ranks or --layout: messages do not affect each other (loggp, the default), or processes share memory and links, simulated by SimGrid (simgrid, if TriStar was built with it); with --layout auto the layout is chosen by loggp", 0, 0, networks},
  {"engine", CHOICE, FIELD(network), TSI_SIMULATE, "loggp|simgrid", NULL, 0, 0, networks}, /* the same as --network */
  {"gantt", OUTPUT, FIELD(gantt), TSI_SIMULATE, "FILE", "with --ranks or --layout: draw when the steps of up to 64 processes run (.svg)", 0, 0, NULL},
  {"goal", OUTPUT, FIELD(goal), TSI_SIMULATE, "FILE", "with --ranks or --layout: write the programs of all processes in the format GOAL of LogGOPSim", 0, 0, NULL},
  {"platform", CHOICE, FIELD(platform), TSI_SIMULATE, "a100|h100|gh200|mi250x", "the node: a server with GPUs of this kind, whose buses are PCIe 4, PCIe 5, NVLink-C2C or Infinity Fabric (default a100)", 0, 0, platforms},
  {"devices", NUMBER, FIELD(devices), TSI_SIMULATE, "N", "GPUs of the node (default 1)", 1, 8, NULL},
  {"workers", NUMBER, FIELD(workers), TSI_SIMULATE, "N", "cores of the node, each with a worker of StarPU (default 8)", 1, 60, NULL},
  {"repeat", NUMBER, FIELD(repeat), TSI_SIMULATE, "N", "solves after the first one (default 3)", 1, 1000, NULL},
  {"tree", OUTPUT, FIELD(tree), TSI_INFO, "FILE", "draw the assembly tree with its chunks (.svg, .html, .png, .pdf); -: SVG to standard output", 0, 0, NULL},
  {"dot", OUTPUT, FIELD(dot), TSI_INFO, "FILE", "write the task graph of a solve (Graphviz); -: to standard output", 0, 0, NULL},
  {"on-demand", FLAG, FIELD(on_demand), SOLVES, NULL, "with --json -: solve again for each line on standard input", 0, 0, NULL},
  {"out", OUTPUT, FIELD(out), SYSTEMS | TSI_BATCH, "FILE", "write X, a Matrix Market array file, compressed if the name ends in .gz; -: to standard output", 0, 0, NULL},
  {"out", OUTPUT, FIELD(out), TSI_SCHUR, "FILE", "write the Schur complement, a Matrix Market array file with the unknowns in the order of --unknowns, compressed if the name ends in .gz; -: to standard output", 0, 0, NULL},
  {"out", OUTPUT, FIELD(out), TSI_INVERSE, "FILE", "write the entries, a Matrix Market file: a column of them, or with --pattern a sparse matrix; compressed if the name ends in .gz; -: to standard output", 0, 0, NULL},
  {"out", OUTPUT, FIELD(out), TSI_GEN, "FILE", "the file to write, Matrix Market, compressed if the name ends in .gz; -: standard output", 0, 0, NULL},
  {"out", OUTPUT, FIELD(out), TSI_PLOT, "FILE", "the file to write: .svg; .html, a page that zooms and describes the item under the pointer; .png, .pdf (with librsvg); gantt: also .json, Chrome trace events for Perfetto, and .trace, Paje for ViTE; -: SVG to standard output", 0, 0, NULL},
  {"json", OUTPUT, FIELD(json), SYSTEMS | TSI_SCHUR | TSI_INVERSE | TSI_BATCH | TSI_INFO | TSI_CALIBRATE | TSI_ENV | TSI_SIMULATE, "FILE", "write all numbers of the report as JSON; -: to standard output instead of the report", 0, 0, NULL},
  {"cluster", OUTPUT, FIELD(cluster), TSI_CALIBRATE, "FILE", "with mpiexec: measure messages between the processes, and write a machine for `tristar simulate --machine`; -: to standard output", 0, 0, NULL},
  {"json", OUTPUT, FIELD(json), TSI_PLOT, "FILE", "write the data of the picture as JSON; -: to standard output", 0, 0, NULL},
  {"verbose", FLAG, FIELD(verbose), ALL, NULL, "print more, on standard error", 0, 0, NULL},
  {"help", FLAG, SIZE_MAX, ALL, NULL, "print this text", 0, 0, NULL},
  {NULL, FLAG, 0, 0, NULL, NULL, 0, 0, NULL},
};
/* clang-format on */

_Static_assert(sizeof tsi_option_rows / sizeof tsi_option_rows[0] <= TSI_OPTION_ROWS_MOST,
               "the parser has no room for so many options");

const char *tsi_options_bench_ordering(const tsi_settings *settings) {
  return bench_orderings[settings->bench_ordering];
}

const char *tsi_options_word(const char *name, int choice) {
  for (const tsi_option_row *row = tsi_option_rows; row->name != NULL; row++)
    if (row->kind == CHOICE && strcmp(row->name, name) == 0) return row->choices[choice];
  return "";
}
