/* The table of options, its parser and its help: see options.h. */
#include "drivers/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/console.h"
#include "drivers/variant.h"

typedef enum option_kind {
  FLAG,   /* bool */
  TEXT,   /* const char * */
  NUMBER, /* int64_t from minimum to maximum */
  REAL,   /* double, not negative */
  CHOICE, /* int: the number of the word in `choices` */
  VARIANT /* const char *: words of variant.h */
} option_kind;

typedef struct option_row {
  const char *name; /* without "--" */
  option_kind kind;
  size_t offset; /* of its field in tsi_settings */
  unsigned commands;
  const char *value; /* what the help calls the value */
  const char *help;
  int64_t minimum, maximum;
  const char *const
      *choices; /* NULL-terminated; enumerators of tristar.h that count from 0: in their order */
} option_row;

static const char *const methods[] = {"auto", "llt", "lu", "ldlt", NULL};
static const char *const orderings[] = {"metis", "natural", NULL};
static const char *const matchings[] = {"auto", "off", "on", NULL};
static const char *const precisions[] = {"s", "d", "c", "z", "sd", "cz", NULL};
static const char *const ops[] = {"N", "T", "C", NULL};
static const char *const algorithms[] = {"new", "baseline", "2d", NULL};
static const char *const maps[] = {"subtree", "cyclic", NULL};
static const char *const trees[] = {"binary", "flat", NULL};
static const char *const transports[] = {"auto", "direct", "starpu_mpi", NULL};
static const char *const engines[] = {"auto", "serial", "tasks", NULL};

static const char *const pictures[] = {"gantt", "dag", "spy", "roofline", "levels", "tree", NULL};

#define FIELD(name) offsetof(tsi_settings, name)
#define MATRIX (TSI_SOLVE | TSI_INFO | TSI_PLOT)
#define ALL (TSI_SOLVE | TSI_GEN | TSI_INFO | TSI_PLOT | TSI_BENCH | TSI_CALIBRATE | TSI_ENV)

/* clang-format off */
static const option_row rows[] = {
  {"rhs", TEXT, FIELD(rhs), TSI_SOLVE, "FILE", "right-hand sides, a Matrix Market file (default: pseudo-random)", 0, 0, NULL},
  {"rows", TEXT, FIELD(rows), TSI_SOLVE, "FILE", "only these rows of X, numbered from 1 (white space between them)", 0, 0, NULL},
  {"nrhs", NUMBER, FIELD(nrhs), TSI_SOLVE, "N", "pseudo-random right-hand sides (default 1)", 1, 1000000, NULL},
  {"nrhs", NUMBER, FIELD(nrhs), TSI_INFO, "N", "--layout: right-hand sides (default 1)", 1, 1000000, NULL},
  {"what", CHOICE, FIELD(what), TSI_PLOT, "gantt|dag|spy|roofline|levels|tree", "what to draw: see above", 0, 0, pictures},
  {"nrhs", NUMBER, FIELD(nrhs), TSI_PLOT, "N", "gantt, dag, levels: pseudo-random right-hand sides (default 1)", 1, 1000000, NULL},
  {"laplacian", FLAG, FIELD(laplacian), MATRIX, NULL, "take the graph Laplacian of the pattern plus the identity instead", 0, 0, NULL},
  {"precision", CHOICE, FIELD(precision), MATRIX, "s|d|c|z|sd|cz", "single, double, complex single or double (default: d or z); sd, cz: single factors, double solution", 0, 0, precisions},
  {"op", CHOICE, FIELD(op), TSI_SOLVE | TSI_PLOT, "N|T|C", "solve with A, with A^T, or with A^H (default N)", 0, 0, ops},
  {"method", CHOICE, FIELD(method), MATRIX, "auto|llt|lu|ldlt", "factorization (auto: Cholesky or L D L^T if symmetric, else LU)", 0, 0, methods},
  {"ordering", CHOICE, FIELD(ordering), MATRIX, "metis|natural", "order of elimination (metis: nested dissection)", 0, 0, orderings},
  {"matching", CHOICE, FIELD(matching), MATRIX, "auto|on|off", "permute large entries to the diagonal (L D L^T: near it)", 0, 0, matchings},
  {"engine", CHOICE, FIELD(engine), MATRIX, "auto|serial|tasks", "StarPU tasks; serial: one thread, no StarPU", 0, 0, engines},
  {"order-seed", NUMBER, FIELD(order_seed), TSI_SOLVE, "N", "which legal order --engine serial takes (0: the natural one)", 0, UINT32_MAX, NULL},
  {"workers", NUMBER, FIELD(workers), MATRIX | TSI_CALIBRATE | TSI_ENV, "N", "StarPU CPU workers (default: STARPU_NCPU, or all cores)", 1, 4096, NULL},
  {"sched", TEXT, FIELD(scheduler), TSI_SOLVE | TSI_PLOT, "NAME", "scheduler of StarPU (default: STARPU_SCHED, or lws)", 0, 0, NULL},
  {"chunk-bytes", NUMBER, FIELD(chunk_bytes), MATRIX, "N", "largest chunk, single panels excepted (default: by the factor and the calibration)", 1, INT64_C(1) << 40, NULL},
  {"variant", VARIANT, FIELD(variant), TSI_SOLVE | TSI_INFO | TSI_PLOT, "WORD[+WORD...]", "solve in another way, to compare: see below", 0, 0, NULL},
  {"layout", TEXT, FIELD(layout), TSI_INFO, "PXxPYxPZ", "count the messages of a solve on so many processes instead, without factorization", 0, 0, NULL},
  {"layout", TEXT, FIELD(layout), TSI_SOLVE, "PXxPYxPZ|auto", "under mpiexec: spread the factor over so many processes", 0, 0, NULL},
  {"layout", TEXT, FIELD(layout), TSI_PLOT, "PXxPYxPZ", "spy: colour the factor by the process that owns it, without factorization", 0, 0, NULL},
  {"algo", CHOICE, FIELD(algo), TSI_INFO | TSI_SOLVE | TSI_PLOT, "new|baseline|2d", "--layout: one exchange between grids; one a level; a single grid, PZ = 1", 0, 0, algorithms},
  {"map", CHOICE, FIELD(map), TSI_INFO | TSI_SOLVE | TSI_PLOT, "subtree|cyclic", "--layout: balanced subtrees whole on a process, or all panels spread", 0, 0, maps},
  {"tree", CHOICE, FIELD(message_tree), TSI_SOLVE, "binary|flat", "--layout: the way of broadcasts and reductions in a grid", 0, 0, trees},
  {"transport", CHOICE, FIELD(transport), TSI_SOLVE, "auto|direct|starpu_mpi", "--layout: the way of messages (auto: TRISTAR_TRANSPORT, or direct)", 0, 0, transports},
  {"svg", TEXT, FIELD(svg), TSI_SOLVE, "FILE", "--layout: draw where the time of each process went (SVG)", 0, 0, NULL},
  {"message-tree", CHOICE, FIELD(message_tree), TSI_INFO, "binary|flat", "--layout: the way of broadcasts and reductions in a grid", 0, 0, trees},
  {"refine", NUMBER, FIELD(refine), TSI_SOLVE, "N", "at most N steps of refinement (default 5; 0 only measures)", 0, 1000, NULL},
  {"tolerance", REAL, FIELD(tolerance), TSI_SOLVE, "T", "fail if the backward error of x is larger (default 1e-12; s, c: 1e-5)", 0, 0, NULL},
  {"condition", FLAG, FIELD(condition), TSI_SOLVE, NULL, "estimate the condition (done anyway if pivots were perturbed)", 0, 0, NULL},
  {"forward-error", FLAG, FIELD(forward_error), TSI_SOLVE, NULL, "bound the forward error of x (about 5 solves more)", 0, 0, NULL},
  {"repeat", NUMBER, FIELD(repeat), TSI_SOLVE, "N", "time N solves after a warm-up, tell the median (default 1)", 1, 1000000, NULL},
  {"in-flight", NUMBER, FIELD(in_flight), TSI_SOLVE, "N", "keep N of the timed solves in flight, tell how many there are a second (default 1)", 1, 1000, NULL},
  {"checksum", FLAG, FIELD(checksum), TSI_SOLVE, NULL, "print a checksum of the bits of x, before refinement", 0, 0, NULL},
  {"report", FLAG, FIELD(report), TSI_SOLVE, NULL, "measure the read bandwidth, tell which share of it is reached; profile StarPU", 0, 0, NULL},
  {"nrhs", TEXT, FIELD(nrhs_list), TSI_BENCH, "LIST", "numbers of right-hand sides, a table for each (default 1)", 0, 0, NULL},
  {"workers", TEXT, FIELD(workers_list), TSI_BENCH, "LIST", "numbers of StarPU CPU workers; all: every core (default 1,all)", 0, 0, NULL},
  {"sched", TEXT, FIELD(sched_list), TSI_BENCH, "LIST", "schedulers of StarPU; all: each of them, with all cores (default lws)", 0, 0, NULL},
  {"peers", TEXT, FIELD(peers_list), TSI_BENCH, "LIST", "of cholmod, umfpack, superlu, superlu_dist, mumps; or none (default: all that are there)", 0, 0, NULL},
  {"variants", TEXT, FIELD(variants_list), TSI_BENCH, "LIST", "of variants of TriStar, WORD[+WORD...]; all: each word alone (default: none)", 0, 0, NULL},
  {"rounds", NUMBER, FIELD(rounds), TSI_BENCH, "N", "runs of each contender (default 5)", 1, 1000, NULL},
  {"repeat", NUMBER, FIELD(repeat), TSI_BENCH, "N", "timed solves of a run, after a warm-up (default 11)", 1, 1000000, NULL},
  {"reuse", FLAG, FIELD(reuse), TSI_BENCH, NULL, "tell the time of 1, 10, 1000 solves with analysis and factorization", 0, 0, NULL},
  {"svg", TEXT, FIELD(svg), TSI_BENCH, "FILE", "draw the tables (SVG)", 0, 0, NULL},
  {"json", TEXT, FIELD(json), TSI_BENCH, "FILE", "write all figures of every round as JSON; -: to stdout instead of the tables", 0, 0, NULL},
  {"list", FLAG, FIELD(list), TSI_GEN, NULL, "list the kinds", 0, 0, NULL},
  {"tree", TEXT, FIELD(tree), TSI_INFO, "FILE", "draw the assembly tree with its chunks (SVG)", 0, 0, NULL},
  {"dot", TEXT, FIELD(dot), TSI_INFO, "FILE", "write the task graph of the solve (Graphviz)", 0, 0, NULL},
  {"out", TEXT, FIELD(out), TSI_SOLVE, "FILE", "write x, a Matrix Market array file (.gz compresses)", 0, 0, NULL},
  {"out", TEXT, FIELD(out), TSI_GEN, "FILE", "the file to write, Matrix Market (.gz compresses)", 0, 0, NULL},
  {"out", TEXT, FIELD(out), TSI_PLOT, "FILE", "the file to write: .svg, or .html, which zooms and tells what is under the pointer", 0, 0, NULL},
  {"json", TEXT, FIELD(json), TSI_SOLVE | TSI_INFO | TSI_CALIBRATE | TSI_ENV, "FILE", "write all figures as JSON; -: to stdout instead of the report", 0, 0, NULL},
  {"verbose", FLAG, FIELD(verbose), ALL, NULL, "tell more, on standard error", 0, 0, NULL},
  {"help", FLAG, SIZE_MAX, ALL, NULL, "this text", 0, 0, NULL},
};
/* clang-format on */
#define ROWS (sizeof rows / sizeof rows[0])

int tsi_usage_error(const char *command, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tsi_console_error("%s%s%s", command ? command : "", command ? ": " : "", text);
  fprintf(stderr, "Try 'tristar %s%s--help'.\n", command ? command : "", command ? " " : "");
  return TSI_EXIT_USAGE;
}

static void print_variants(void) {
  const char *word, *meaning;
  puts("\nVariants");
  for (int k = 0; tsi_variant_word(k, &word, &meaning); k++) printf("  %-28s %s\n", word, meaning);
}

static void print_help(const tsi_command *command) {
  printf("usage: tristar %s %s%s[OPTION...]\n\n%s.\n\n%s\nOptions\n", command->name, command->operands,
         *command->operands ? " " : "", command->summary, command->text);
  for (const option_row *row = rows; row < rows + ROWS; row++) {
    char left[64];
    if (!(row->commands & command->bit)) continue;
    snprintf(left, sizeof left, "--%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
    printf("  %-28s %s\n", left, row->help);
  }
  if (command->bit & (TSI_SOLVE | TSI_INFO | TSI_PLOT | TSI_BENCH)) print_variants();
}

static int refuse(const tsi_command *command, const option_row *row, const char *word, const char *why) {
  return tsi_usage_error(command->name, "--%s %s: %s", row->name, word, why);
}

/* Reads a whole decimal integer. */
static bool scan_number(const char *word, int64_t *number) {
  char *end;
  errno = 0;
  const long long value = strtoll(word, &end, 10);
  *number = value;
  return end != word && *end == '\0' && errno == 0;
}

static int store_number(const tsi_command *command, const option_row *row, const char *word, int64_t *field) {
  char why[96];
  if (!scan_number(word, field)) return refuse(command, row, word, "not an integer");
  if (*field >= row->minimum && *field <= row->maximum) return TSI_EXIT_OK;
  snprintf(why, sizeof why, "not between %" PRId64 " and %" PRId64, row->minimum, row->maximum);
  return refuse(command, row, word, why);
}

static int store_real(const tsi_command *command, const option_row *row, const char *word, double *field) {
  char *end;
  *field = strtod(word, &end);
  if (end == word || *end != '\0' || isnan(*field)) return refuse(command, row, word, "not a number");
  return *field >= 0 ? TSI_EXIT_OK : refuse(command, row, word, "negative");
}

static int store_choice(const tsi_command *command, const option_row *row, const char *word, int *field) {
  char why[96];
  for (int k = 0; row->choices[k]; k++)
    if (strcmp(word, row->choices[k]) == 0) {
      *field = k;
      return TSI_EXIT_OK;
    }
  snprintf(why, sizeof why, "not one of %s", row->value);
  return refuse(command, row, word, why);
}

static int store_variant(const tsi_command *command, const option_row *row, const char *word,
                         const char **field) {
  char why[256];
  *field = word;
  return tsi_variant_wrong(word, why, sizeof why) ? refuse(command, row, word, why) : TSI_EXIT_OK;
}

static int store(const tsi_command *command, const option_row *row, const char *word,
                 tsi_settings *settings) {
  void *field = (char *)settings + row->offset;
  switch (row->kind) {
  case FLAG:
    *(bool *)field = true;
    return TSI_EXIT_OK;
  case TEXT:
    *(const char **)field = word;
    return *word ? TSI_EXIT_OK : refuse(command, row, "''", "an empty name");
  case NUMBER:
    return store_number(command, row, word, field);
  case REAL:
    return store_real(command, row, word, field);
  case VARIANT:
    return store_variant(command, row, word, field);
  default:
    return store_choice(command, row, word, field);
  }
}

static void set_defaults(const tsi_command *command, tsi_settings *settings) {
  memset(settings, 0, sizeof *settings);
  settings->refine = 5;
  settings->repeat = command->bit == TSI_BENCH ? 11 : 1;
  settings->in_flight = 1;
  settings->rounds = 5;
  settings->tolerance = -1;
  settings->precision = -1;
  settings->what = -1;
  settings->algo = settings->map = settings->message_tree = -1;
  settings->first_core = -1;
}

/* The rows of the command as getopt_long wants them; val is the number of the row plus FIRST, which is beyond
 * all characters. */
enum { FIRST = 256 };

static void list_options(const tsi_command *command, struct option *options) {
  size_t count = 0;
  for (size_t r = 0; r < ROWS; r++)
    if (rows[r].commands & command->bit)
      options[count++] = (struct option){rows[r].name, rows[r].kind == FLAG ? no_argument : required_argument,
                                         NULL, FIRST + (int)r};
  memset(&options[count], 0, sizeof options[count]);
}

bool tsi_options_parse(const tsi_command *command, int argc, char **argv, tsi_settings *settings,
                       int *status) {
  struct option options[ROWS + 1];
  int found, operands = 0;
  list_options(command, options);
  set_defaults(command, settings);
  opterr = 0;
  optind = 1;
  *status = TSI_EXIT_OK;
  while (*status == TSI_EXIT_OK && (found = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
    if (found == 'h' || (found >= FIRST && rows[found - FIRST].offset == SIZE_MAX)) {
      print_help(command);
      return false;
    } else if (found >= FIRST)
      *status = store(command, &rows[found - FIRST], optarg, settings);
    else if (found == ':')
      *status = tsi_usage_error(command->name, "%s needs a value", argv[optind - 1]);
    else if (optopt > 0 && optopt < FIRST)
      *status = tsi_usage_error(command->name, "unknown option -%c", optopt);
    else
      *status =
          tsi_usage_error(command->name, "%s %s",
                          optopt ? "no value belongs to" : "unknown or ambiguous option", argv[optind - 1]);
  }
  if (*status != TSI_EXIT_OK) return false;
  settings->operands = argv + optind;
  settings->operand_count = argc - optind;
  for (; optind < argc; optind++, operands++) {
    if (operands == command->operands_max) {
      *status = tsi_usage_error(command->name, "one word too many: %s", argv[optind]);
      return false;
    }
    if (operands < TSI_OPERANDS_MAX) settings->operand[operands] = argv[optind];
  }
  return true;
}
