/* The table of variants: see variant.h. */
#include "drivers/session/variant.h"

#include <stdio.h>
#include <string.h>

/* The option that a word sets. Words of the same option contradict each other. */
typedef enum field { MERGE, SCHEDULING, UPDATES, GRANULARITY, KERNEL, INVERSE } field;

static const struct {
  const char *word;
  field field;
  int value;
  const char *meaning;
} rows[] = {
    {"levels", SCHEDULING, TRISTAR_SCHEDULING_LEVELS,
     "solve level set by level set, with a barrier after each"},
    {"push", UPDATES, TRISTAR_UPDATES_PUSH,
     "updates are tasks of their own, which push them to later chunks"},
    {"fundamental", MERGE, TRISTAR_MERGE_FUNDAMENTAL,
     "supernodes are columns of the same structure only, without relaxed merging"},
    {"unmerged", MERGE, TRISTAR_MERGE_NONE, "the same, in panels of at most 8 columns"},
    {"supernodes", GRANULARITY, TRISTAR_TASKS_SUPERNODES, "one task for each supernode"},
    {"inverse-none", INVERSE, TRISTAR_INVERSE_NONE,
     "substitute with the diagonal blocks instead of multiplying by their inverses"},
    {"inverse-partitioned", INVERSE, TRISTAR_INVERSE_PARTITIONED,
     "a partitioned inverse: panels are multiplied by inverted diagonal blocks in advance"},
    {"spmv", KERNEL, TRISTAR_KERNEL_SPMV, "multiply by the partitioned inverse, stored as sparse matrices"},
};
#define ROWS (int)(sizeof rows / sizeof rows[0])

bool tsi_variant_word(int i, const char **word, const char **meaning) {
  if (i < 0 || i >= ROWS) return false;
  *word = rows[i].word;
  if (meaning) *meaning = rows[i].meaning;
  return true;
}

/* A word of version 0.1; lists of words omit it. */
#define OLDER "inverse-off"
#define NEWER "inverse-partitioned"

/* Returns the row of the word at *at, or -1 if it is unknown. Moves *at behind the word; *length is its
 * length. */
static int next_row(const char **at, int *length) {
  const char *word = *at;
  *length = (int)strcspn(word, "+");
  *at += *length;
  if (**at == '+') ++*at;
  const bool older = *length == (int)strlen(OLDER) && strncmp(word, OLDER, strlen(OLDER)) == 0;
  const char *name = older ? NEWER : word;
  const size_t size = older ? strlen(NEWER) : (size_t)*length;
  for (int k = 0; k < ROWS; k++)
    if (strlen(rows[k].word) == size && strncmp(rows[k].word, name, size) == 0) return k;
  return -1;
}

static void list_words(char *text, size_t size) {
  size_t used = 0;
  for (int k = 0; k < ROWS && used < size; k++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", k > 0 ? ", " : "", rows[k].word);
}

bool tsi_variant_wrong(const char *variant, char *message, size_t size) {
  const char *at = variant, *setter[ROWS] = {NULL};
  char known[160];
  do {
    const char *word = at;
    int length;
    const int k = next_row(&at, &length);
    const bool more = word[length] == '+';
    if (k < 0) {
      list_words(known, sizeof known);
      snprintf(message, size, "unknown variant '%.*s'; the variants are %s, joined by +",
               length < 40 ? length : 40, word, known);
      return true;
    }
    if (setter[rows[k].field]) {
      snprintf(message, size, "%s and %s cannot be combined", setter[rows[k].field], rows[k].word);
      return true;
    }
    setter[rows[k].field] = rows[k].word;
    if (!more) return false;
  } while (true);
}

void tsi_variant_apply(const char *variant, tristar_analysis_options *analysis, tristar_plan_options *plan) {
  int length;
  for (const char *at = variant; at != NULL && *at != '\0';) {
    const int k = next_row(&at, &length);
    if (k < 0) return;
    switch (rows[k].field) {
    case MERGE:
      analysis->merge = (tristar_merge)rows[k].value;
      break;
    case SCHEDULING:
      plan->scheduling = (tristar_scheduling)rows[k].value;
      break;
    case UPDATES:
      plan->updates = (tristar_updates)rows[k].value;
      break;
    case GRANULARITY:
      plan->granularity = (tristar_granularity)rows[k].value;
      break;
    case INVERSE:
      analysis->inverse = (tristar_inverse)rows[k].value;
      break;
    case KERNEL:
      plan->kernel = (tristar_kernel)rows[k].value;
      break;
    }
  }
}
