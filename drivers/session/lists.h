/* Lists of the command line: words or numbers between commas.
 *
 * Reads   the text of an option.   Writes  its entries. */
#pragma once

#include <stdint.h>

enum { TSI_LIST_MAX = 64 };

typedef struct tsi_list {
  char word[TSI_LIST_MAX][64];
  int count;
} tsi_list;

/* Splits TEXT of --option into words. Returns an exit status; prints a message on failure. */
int tsi_list_split(const char *command, const char *option, const char *text, tsi_list *list);

/* Does the same for numbers from 1 to maximum; `numbers` has TSI_LIST_MAX entries. If `all` is not 0, the
 * word "all" means that number. Repeated numbers are stored once. */
int tsi_list_numbers(const char *command, const char *option, const char *text, int64_t maximum, int64_t all,
                     int64_t *numbers, int *count);
