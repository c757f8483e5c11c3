/* Lists of the command line: see lists.h. */
#include "drivers/session/lists.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/session/options.h"

int tsi_list_split(const char *command, const char *option, const char *text, tsi_list *list) {
  list->count = 0;
  for (const char *at = text;; at++) {
    const size_t length = strcspn(at, ",");
    if (length == 0) return tsi_usage_error(command, "--%s %s: an empty entry", option, text);
    if (list->count == TSI_LIST_MAX)
      return tsi_usage_error(command, "--%s %s: more than %d entries", option, text, TSI_LIST_MAX);
    char *word = list->word[list->count];
    if (length >= sizeof list->word[0])
      return tsi_usage_error(command, "--%s %s: an entry is too long", option, text);
    memcpy(word, at, length);
    word[length] = '\0';
    for (int k = 0; k < list->count; k++)
      if (strcmp(word, list->word[k]) == 0)
        return tsi_usage_error(command, "--%s %s: %s stands there twice", option, text, word);
    list->count++;
    at += length;
    if (*at == '\0') return TSI_EXIT_OK;
  }
}

static bool holds(const int64_t *numbers, int count, int64_t number) {
  for (int k = 0; k < count; k++)
    if (numbers[k] == number) return true;
  return false;
}

int tsi_list_numbers(const char *command, const char *option, const char *text, int64_t maximum, int64_t all,
                     int64_t *numbers, int *count) {
  tsi_list list;
  const int status = tsi_list_split(command, option, text, &list);
  *count = 0;
  for (int k = 0; k < list.count && status == TSI_EXIT_OK; k++) {
    const char *word = list.word[k];
    const bool is_all = all > 0 && strcmp(word, "all") == 0;
    char *end;
    errno = 0;
    const int64_t number = is_all ? all : strtoll(word, &end, 10);
    if (!is_all && (end == word || *end != '\0' || errno != 0))
      return tsi_usage_error(command, "--%s %s: '%s' is not an integer", option, text, word);
    if (number < 1 || number > maximum)
      return tsi_usage_error(command, "--%s %s: %s is not between 1 and %" PRId64, option, text, word,
                             maximum);
    if (!holds(numbers, *count, number)) numbers[(*count)++] = number;
  }
  return status;
}
