/* The words of --precond: see krylov.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/command/krylov.h"
#include "runtime/matrix/view.h"

/* A word, or the part of the word before its level of fill. */
static const struct {
  const char *word;
  bool level;
  tristar_precond_kind kind;
  double modified;
} words[] = {{"none", false, TRISTAR_PRECOND_NONE, 0}, {"jacobi", false, TRISTAR_PRECOND_JACOBI, 0},
             {"ssor", false, TRISTAR_PRECOND_SSOR, 0}, {"ilut", false, TRISTAR_PRECOND_ILUT, 0},
             {"ict", false, TRISTAR_PRECOND_ICT, 0},   {"factor", false, TRISTAR_PRECOND_PLAN, 0},
             {"fsai", false, TRISTAR_PRECOND_FSAI, 0}, {"ilu", true, TRISTAR_PRECOND_ILU, 0},
             {"milu", true, TRISTAR_PRECOND_ILU, 1},   {"ic", true, TRISTAR_PRECOND_IC, 0},
             {"mic", true, TRISTAR_PRECOND_IC, 1}};

/* Reads a level >= 0 of at most six digits. */
static bool read_level(const char *text, int *level) {
  const size_t digits = strspn(text, "0123456789");
  if (digits == 0 || digits > 6 || text[digits] != '\0') return false;
  *level = atoi(text);
  return true;
}

static bool read_word(const char *word, tristar_precond_options *options) {
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
    const size_t length = strlen(words[k].word);
    if (strncmp(word, words[k].word, length) != 0) continue;
    if (words[k].level ? !read_level(word + length, &options->level) : word[length] != '\0') continue;
    options->kind = words[k].kind;
    options->modified = words[k].modified;
    return true;
  }
  return false;
}

/* ---- --fsai -------------------------------------------------------------------------------------------- */

/* The destination of a number: exactly one of `real`, `count`, `flag` and `block` is not NULL. block also
 * accepts the word auto. */
typedef struct fsai_number {
  const char *name;
  double *real;
  int64_t *count;
  int *flag, *block;
} fsai_number;

static bool store_number(const fsai_number *to, double number) {
  if (to->real == NULL && !(number >= 0 && number <= 1e6 && number == floor(number))) return false;
  if (to->real != NULL)
    *to->real = number;
  else if (to->count != NULL)
    *to->count = (int64_t)number;
  else
    *(to->flag != NULL ? to->flag : to->block) = (int)number;
  return true;
}

/* Reads NAME=NUMBER, or block=auto, at the beginning of the text; returns its end, or NULL. */
static const char *read_number(const char *text, const fsai_number *numbers, size_t count) {
  static const char automatic[] = "auto";
  for (size_t k = 0; k < count; k++) {
    const size_t length = strlen(numbers[k].name);
    char *end;
    if (strncmp(text, numbers[k].name, length) != 0 || text[length] != '=') continue;
    if (numbers[k].block != NULL && strncmp(text + length + 1, automatic, strlen(automatic)) == 0) {
      *numbers[k].block = TRISTAR_PRECOND_BLOCK_AUTO;
      return text + length + 1 + strlen(automatic);
    }
    const double number = strtod(text + length + 1, &end);
    return end > text + length + 1 && store_number(&numbers[k], number) ? end : NULL;
  }
  return NULL;
}

/* The library checks ranges. */
int tsi_krylov_fsai_read(const char *command, const char *text, tsi_krylov_precond *precond) {
  tristar_precond_options *o = &precond->options;
  int pair = (int)o->pair;
  const fsai_number numbers[] = {{"steps", .count = &o->steps},
                                 {"per_step", .count = &o->per_step},
                                 {"reduction", .real = &o->reduction},
                                 {"power", .flag = &o->power},
                                 {"prefilter", .real = &o->prefilter},
                                 {"postfilter", .real = &o->postfilter},
                                 {"block", .block = &o->block},
                                 {"single", .flag = &o->single},
                                 {"pair", .flag = &pair},
                                 {"levels", .flag = &precond->levels}};
  const char *at = text;
  for (;;) {
    at = read_number(at, numbers, sizeof numbers / sizeof *numbers);
    if (at == NULL || (*at != ',' && *at != '\0'))
      return tsi_usage_error(command,
                             "--fsai %s: not NAME=NUMBER,... with steps, per_step, power, block, single, "
                             "pair and levels (whole numbers, or block=auto), reduction, prefilter and "
                             "postfilter",
                             text);
    if (*at++ == '\0') break;
  }
  o->pair = (tristar_pair)pair;
  return TSI_EXIT_OK;
}

/* ---- auto ---------------------------------------------------------------------------------------------- */

/* Shifts to try if pivots of incomplete factors break down (T. A. Manteuffel, Math. Comp. 34 (1980)). After
 * them: the diagonal, then no preconditioner. */
static const double shifts[] = {0, 1e-3, 1e-2, 0.1, 1};
#define SHIFTS ((int)(sizeof shifts / sizeof *shifts))

static bool is_cg(const tristar_krylov_options *o) {
  return o->method == TRISTAR_KRYLOV_CG || o->method == TRISTAR_KRYLOV_PIPELINED_CG ||
         o->method == TRISTAR_KRYLOV_BLOCK_CG;
}

/* Sets the choice number `attempt`. */
static void choose(tsi_krylov_solution *z) {
  tsi_krylov_precond *w = &z->words;
  const bool incomplete = w->attempt < SHIFTS;
  w->none = w->attempt > SHIFTS;
  w->word = w->none ? "none" : !incomplete ? "jacobi" : is_cg(&z->options) ? "ic0" : "ilu0";
  (void)read_word(w->word, &w->options);
  if (incomplete && w->attempt > 0) w->options.shift = shifts[w->attempt];
  if (!incomplete) w->options.place = TRISTAR_PLACE_CPU; /* no sweeps or products to run on a device */
}

bool tsi_krylov_broke_down(tristar_status status) {
  return status == TRISTAR_ERR_SINGULAR || status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE ||
         status == TRISTAR_ERR_NOT_FINITE;
}

bool tsi_krylov_next_precond(tsi_krylov_solution *z) {
  tsi_krylov_precond *w = &z->words;
  if (!w->automatic || w->none) return false;
  w->attempt++;
  while (w->attempt < SHIFTS && shifts[w->attempt] <= w->options.shift) w->attempt++;
  choose(z);
  return true;
}

/* Is entry k real and positive? */
static bool is_positive(const tristar_view *v, int64_t k) {
  switch (v->scalar) {
  case TRISTAR_SINGLE:
    return ((const float *)v->values)[k] > 0;
  case TRISTAR_COMPLEX_SINGLE:
    return ((const float *)v->values)[2 * k] > 0 && ((const float *)v->values)[2 * k + 1] == 0;
  case TRISTAR_COMPLEX_DOUBLE:
    return ((const double *)v->values)[2 * k] > 0 && ((const double *)v->values)[2 * k + 1] == 0;
  default:
    return ((const double *)v->values)[k] > 0;
  }
}

bool tsi_krylov_has_positive_diagonal(const tristar_view *v) {
  for (int64_t j = 0; j < v->cols; j++) {
    bool positive = false;
    for (int64_t k = tsi_view_begin(v, j); k < tsi_view_begin(v, j + 1) && !positive; k++)
      positive = tsi_view_index(v, k) == j && is_positive(v, k);
    if (!positive) return false;
  }
  return true;
}

void tsi_krylov_begin_precond(tsi_krylov_solution *z) {
  if (!z->words.automatic) return;
  z->words.attempt = 0;
  choose(z);
}

/* ---- --precond ----------------------------------------------------------------------------------------- */

int tsi_krylov_precond_read(const tsi_settings *settings, tsi_krylov_precond *precond) {
  tristar_precond_options *o = &precond->options;
  precond->word = settings->precond != NULL ? settings->precond : "auto";
  precond->automatic = strcmp(precond->word, "auto") == 0;
  tristar_precond_options_init(o);
  o->pair = TRISTAR_PAIR_AUTO;
  if (!precond->automatic && !read_word(precond->word, o))
    return tsi_usage_error(
        "krylov",
        "--precond %s: not one of auto, none, jacobi, ssor, iluK, miluK, ilut, icK, micK, ict, "
        "fsai, factor; K is a level of fill, as in ilu0",
        precond->word);
  const bool by_size = o->kind == TRISTAR_PRECOND_ILUT || o->kind == TRISTAR_PRECOND_ICT;
  const bool inverse = o->kind == TRISTAR_PRECOND_FSAI;
  const bool shifted = precond->automatic || by_size || inverse || o->kind == TRISTAR_PRECOND_ILU ||
                       o->kind == TRISTAR_PRECOND_IC;
  if (!by_size && (settings->drop >= 0 || settings->fill >= 0))
    return tsi_usage_error("krylov", "--drop and --fill belong to --precond ilut and ict");
  if (o->kind != TRISTAR_PRECOND_SSOR && settings->omega >= 0)
    return tsi_usage_error("krylov", "--omega belongs to --precond ssor");
  if (!shifted && settings->shift >= 0)
    return tsi_usage_error("krylov", "--shift belongs to incomplete factors and --precond fsai");
  if (!inverse && settings->fsai != NULL)
    return tsi_usage_error("krylov", "--fsai belongs to --precond fsai");
  if ((inverse || o->kind == TRISTAR_PRECOND_NONE) && settings->overlap > 0)
    return tsi_usage_error("krylov", "--overlap belongs to a --precond of each process, which %s is not",
                           precond->word);
  if (settings->omega >= 0 && !(settings->omega > 0 && settings->omega < 2))
    return tsi_usage_error("krylov", "--omega %g: not between 0 and 2", settings->omega);
  if (settings->drop >= 0) o->drop = settings->drop;
  if (settings->fill >= 0) o->fill = settings->fill;
  if (settings->omega >= 0) o->omega = settings->omega;
  if (settings->shift >= 0) o->shift = settings->shift;
  o->engine = (tristar_engine)settings->engine;
  o->place = (tristar_place)settings->place;
  o->device_bytes = settings->device_bytes;
  precond->none = !precond->automatic && o->kind == TRISTAR_PRECOND_NONE;
  if (precond->none && o->place == TRISTAR_PLACE_GPU)
    return tsi_usage_error("krylov", "--place gpu belongs to a --precond, which none is not");
  precond->factor = o->kind == TRISTAR_PRECOND_PLAN;
  precond->levels = TSI_KRYLOV_LEVELS;
  return settings->fsai != NULL ? tsi_krylov_fsai_read("krylov", settings->fsai, precond) : TSI_EXIT_OK;
}
