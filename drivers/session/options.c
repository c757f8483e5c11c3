/* The parser of options and their help: see options.h. */
#include "drivers/session/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/session/console.h"
#include "drivers/session/files.h"
#include "drivers/session/options_table.h"
#include "drivers/session/variant.h"
#include "drivers/session/wrap.h"
#include "tristar_krylov.h"
#include "tristar_machine.h"

int tsi_usage_error(const char *command, const char *format, ...) {
  char text[768];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (command == NULL)
    tsi_console_error("%s\nTry 'tristar --help'.", text);
  else
    tsi_console_error("%s: %s\nTry 'tristar %s --help'.", command, text, command);
  return TSI_EXIT_USAGE;
}

int tsi_check_rhs(const char *command, const tsi_settings *settings) {
  if (settings->rhs == NULL || settings->nrhs == 0) return TSI_EXIT_OK;
  return tsi_usage_error(command, "--nrhs and --rhs exclude each other: their number is that of the file");
}

#define INDENT 31 /* column of the meanings of words and options */

static void print_words(const tsi_word *words) {
  if (words == NULL) return;
  puts("\nPictures");
  for (; words->word != NULL; words++) tsi_wrap_entry(words->word, words->meaning, INDENT);
}

static void print_variants(void) {
  const char *word, *meaning;
  puts("\nVariants");
  for (int k = 0; tsi_variant_word(k, &word, &meaning); k++) tsi_wrap_entry(word, meaning, INDENT);
}

void tsi_options_help(const tsi_command *command) {
  printf("usage: tristar %s %s%s[OPTION...]\n\n%s.\n\n", command->name, command->operands,
         *command->operands ? " " : "", command->summary);
  tsi_wrap_paragraphs(command->text);
  print_words(command->words);
  puts("\nOptions");
  for (const tsi_option_row *row = tsi_option_rows; row->name != NULL; row++) {
    char left[64];
    if (!(row->commands & command->bit) || row->help == NULL) continue;
    snprintf(left, sizeof left, "--%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
    tsi_wrap_entry(left, row->help, INDENT);
  }
  if (command->bit & (TSI_SOLVE | TSI_INFO | TSI_PLOT | TSI_BENCH)) print_variants();
}

static int refuse(const tsi_command *command, const tsi_option_row *row, const char *word, const char *why) {
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

static int store_number(const tsi_command *command, const tsi_option_row *row, const char *word,
                        int64_t *field) {
  char why[96];
  if (!scan_number(word, field)) return refuse(command, row, word, "not an integer");
  if (*field >= row->minimum && *field <= row->maximum) return TSI_EXIT_OK;
  snprintf(why, sizeof why, "not between %" PRId64 " and %" PRId64, row->minimum, row->maximum);
  return refuse(command, row, word, why);
}

/* 12G: 12 * 2^30. */
static int store_bytes(const tsi_command *command, const tsi_option_row *row, const char *word,
                       int64_t *field) {
  static const char suffixes[] = "KMGT";
  char *end;
  const double value = strtod(word, &end);
  if (end == word || !isfinite(value)) return refuse(command, row, word, "not a number of bytes");
  const char *suffix = *end != '\0' ? strchr(suffixes, *end) : NULL;
  if (*end != '\0' && (suffix == NULL || end[1] != '\0'))
    return refuse(command, row, word, "the suffix is not K, M, G or T");
  const double bytes = suffix ? ldexp(value, 10 * (int)(suffix - suffixes + 1)) : value;
  if (bytes < (double)row->minimum || bytes > (double)row->maximum)
    return refuse(command, row, word, bytes < (double)row->minimum ? "too few bytes" : "too many bytes");
  *field = (int64_t)bytes;
  return TSI_EXIT_OK;
}

static int store_real(const tsi_command *command, const tsi_option_row *row, const char *word,
                      double *field) {
  char *end;
  *field = strtod(word, &end);
  if (end == word || *end != '\0' || isnan(*field)) return refuse(command, row, word, "not a number");
  if (isinf(*field)) return refuse(command, row, word, "not finite");
  return *field >= 0 ? TSI_EXIT_OK : refuse(command, row, word, "negative");
}

/* Words of version 0.1 for choices that have other names now. */
static const char *const older_words[][3] = {{"algo", "new", "replicated"},
                                             {"algo", "baseline", "levelwise"}};

static int store_choice(const tsi_command *command, const tsi_option_row *row, const char *word, int *field) {
  char why[200] = "not one of ";
  for (size_t k = 0; k < sizeof older_words / sizeof *older_words; k++)
    if (strcmp(row->name, older_words[k][0]) == 0 && strcmp(word, older_words[k][1]) == 0)
      word = older_words[k][2];
  for (int k = 0; row->choices[k]; k++) {
    const size_t used = strlen(why);
    if (strcmp(word, row->choices[k]) == 0) {
      *field = k;
      return TSI_EXIT_OK;
    }
    snprintf(why + used, sizeof why - used, "%s%s", k > 0 ? "|" : "", row->choices[k]);
  }
  return refuse(command, row, word, why);
}

static int store_variant(const tsi_command *command, const tsi_option_row *row, const char *word,
                         const char **field) {
  char why[256];
  *field = word;
  return tsi_variant_wrong(word, why, sizeof why) ? refuse(command, row, word, why) : TSI_EXIT_OK;
}

static int store_scheduler(const tsi_command *command, const tsi_option_row *row, const char *word,
                           const char **field) {
  char why[640] = "StarPU has no such scheduler; it has";
  const char *name;
  *field = word;
  for (int k = 0; tristar_get_scheduler(k, &name, NULL); k++) {
    const size_t used = strlen(why);
    if (strcmp(name, word) == 0) return TSI_EXIT_OK;
    snprintf(why + used, sizeof why - used, "%s %s", k > 0 ? "," : "", name);
  }
  return refuse(command, row, word, why);
}

static int store(const tsi_command *command, const tsi_option_row *row, const char *word,
                 tsi_settings *settings) {
  void *field = (char *)settings + row->offset;
  switch (row->kind) {
  case FLAG:
    *(bool *)field = true;
    return TSI_EXIT_OK;
  case TEXT:
  case INPUT:
  case OUTPUT:
    *(const char **)field = word;
    return *word ? TSI_EXIT_OK : refuse(command, row, "''", "an empty name");
  case NUMBER:
    return store_number(command, row, word, field);
  case BYTES:
    return store_bytes(command, row, word, field);
  case REAL:
    return store_real(command, row, word, field);
  case VARIANT:
    return store_variant(command, row, word, field);
  case SCHEDULER:
    return store_scheduler(command, row, word, field);
  default:
    return store_choice(command, row, word, field);
  }
}

static void set_defaults(const tsi_command *command, tsi_settings *settings) {
  memset(settings, 0, sizeof *settings);
  settings->refine = 5;
  settings->repeat = command->bit == TSI_PLOT ? 9 : command->bit == TSI_SIMULATE ? 3 : 1;
  if (command->bit == TSI_BENCH) settings->repeat = 0;
  settings->in_flight = 1;
  settings->rounds = 5;
  settings->limit = settings->bench_ordering = -1;
  settings->run_ms = 20;
  settings->tolerance = settings->pivot_threshold = settings->compress = -1;
  settings->store = -1;
  settings->precision = -1;
  settings->uplo = -1;
  settings->batch_method = TRISTAR_METHOD_LU;
  settings->krylov_method = TRISTAR_KRYLOV_AUTO;
  settings->side = settings->norm = -1;
  settings->restart = 30;
  settings->block = 8;
  settings->max_iterations = 10000;
  settings->fill = -1;
  settings->drop = settings->omega = settings->shift = -1;
  settings->what = -1;
  settings->gpu = -1;
  settings->algo = settings->map = settings->message_tree = -1;
  settings->first_core = settings->first_device = -1;
}

/* Sets the defaults of `tristar bench` that depend on --quick. */
static void complete_bench(tsi_settings *settings) {
  if (settings->repeat == 0) settings->repeat = settings->quick ? 3 : 11;
  if (settings->limit < 0) settings->limit = settings->quick ? 60 : 600;
  if (settings->bench_ordering < 0) settings->bench_ordering = settings->quick;
}

/* Is the option only for solves with factors? Rows of other subcommands with the same name and field are the
 * same option. */
static bool needs_factors(const tsi_option_row *option) {
  unsigned commands = 0;
  for (const tsi_option_row *row = tsi_option_rows; row->name != NULL; row++)
    if (strcmp(row->name, option->name) == 0 && row->offset == option->offset) commands |= row->commands;
  return (commands & TSI_SOLVE) && !(commands & TSI_TRISOLVE);
}

/* Converts the rows of the command for getopt_long. val is the number of the row plus FIRST, which exceeds
 * every character. */
enum { FIRST = 256 };

static void list_options(const tsi_command *command, struct option *options) {
  size_t count = 0;
  for (int r = 0; tsi_option_rows[r].name != NULL; r++)
    if (tsi_option_rows[r].commands & command->bit)
      options[count++] =
          (struct option){tsi_option_rows[r].name,
                          tsi_option_rows[r].kind == FLAG ? no_argument : required_argument, NULL, FIRST + r};
  memset(&options[count], 0, sizeof options[count]);
}

/* Returns the file that a row's option was given. NULL: the row is of another kind, of another command or an
 * older word of an option, or the option was not given. */
static const char *file_of(const tsi_command *command, const tsi_option_row *row, tsi_option_kind kind,
                           const tsi_settings *settings) {
  if (row->kind != kind || !(row->commands & command->bit) || row->help == NULL) return NULL;
  return *(const char *const *)((const char *)settings + row->offset);
}

/* Standard input can be read only once, and only by this process. */
static int check_inputs(const tsi_command *command, const tsi_settings *settings) {
  const char *reader = NULL; /* the option or operand that reads standard input */
  for (int k = 0; k < settings->operand_count && strstr(command->operands, "MATRIX") != NULL; k++)
    if (tsi_file_is_standard(settings->operands[k])) reader = "MATRIX";
  if (reader != NULL && command->bit == TSI_BENCH)
    return tsi_usage_error(command->name, "every contender reads the matrix, which therefore cannot be -");
  for (const tsi_option_row *row = tsi_option_rows; row->name != NULL; row++) {
    const char *path = file_of(command, row, INPUT, settings);
    if (path == NULL || !tsi_file_is_standard(path)) continue;
    if (reader != NULL)
      return tsi_usage_error(command->name,
                             "%s%s and --%s are both -, but standard input can be read only once",
                             strcmp(reader, "MATRIX") == 0 ? "" : "--", reader, row->name);
    reader = row->name;
  }
  if (reader != NULL && settings->on_demand)
    return tsi_usage_error(command->name, "%s%s is -, but --on-demand reads lines from standard input",
                           strcmp(reader, "MATRIX") == 0 ? "" : "--", reader);
  return TSI_EXIT_OK;
}

static int list_outputs(const tsi_command *command, tsi_settings *settings) {
  const char *writer = NULL; /* the option that writes to standard output */
  for (const tsi_option_row *row = tsi_option_rows; row->name != NULL; row++) {
    const char *path = file_of(command, row, OUTPUT, settings);
    if (path == NULL || settings->output_count == TSI_OUTPUTS_MAX) continue;
    settings->outputs[settings->output_count++] = path;
    if (!tsi_file_is_standard(path)) continue;
    if (writer != NULL)
      return tsi_usage_error(command->name, "--%s and --%s are both -, but standard output is one file",
                             writer, row->name);
    writer = row->name;
  }
  settings->to_stdout = writer != NULL;
  return TSI_EXIT_OK;
}

bool tsi_options_parse(const tsi_command *command, int argc, char **argv, tsi_settings *settings,
                       int *status) {
  struct option options[TSI_OPTION_ROWS_MOST];
  int found, operands = 0;
  list_options(command, options);
  set_defaults(command, settings);
  opterr = 0;
  optind = 1;
  *status = TSI_EXIT_OK;
  while (*status == TSI_EXIT_OK && (found = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
    if (found == 'h' || (found >= FIRST && tsi_option_rows[found - FIRST].offset == SIZE_MAX)) {
      tsi_options_help(command);
      return false;
    } else if (found >= FIRST) {
      *status = store(command, &tsi_option_rows[found - FIRST], optarg, settings);
      settings->needs_factors |= needs_factors(&tsi_option_rows[found - FIRST]);
    } else if (found == ':')
      *status = tsi_usage_error(command->name, "%s needs a value", argv[optind - 1]);
    else if (optopt > 0 && optopt < FIRST)
      *status = tsi_usage_error(command->name, "unknown option -%c", optopt);
    else
      *status = tsi_usage_error(command->name, "%s %s",
                                optopt ? "no value is allowed for" : "unknown or ambiguous option",
                                argv[optind - 1]);
  }
  if (*status != TSI_EXIT_OK) return false;
  complete_bench(settings);
  settings->operands = argv + optind;
  settings->operand_count = argc - optind;
  for (; optind < argc; optind++, operands++) {
    if (operands == command->operands_max) {
      *status = tsi_usage_error(command->name, "unexpected argument: %s", argv[optind]);
      return false;
    }
    if (*argv[optind] == '\0') {
      *status = tsi_usage_error(command->name, "an empty word, where a name is expected");
      return false;
    }
    if (operands < TSI_OPERANDS_MAX) settings->operand[operands] = argv[optind];
  }
  *status = check_inputs(command, settings);
  if (*status == TSI_EXIT_OK) *status = list_outputs(command, settings);
  return *status == TSI_EXIT_OK;
}
