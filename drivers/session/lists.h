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

/* Takes the words of --option TEXT apart. Gives an exit status; a message tells what is wrong. */
int tsi_list_split(const char *command, const char *option, const char *text, tsi_list *list);

/* The same for numbers from 1 to maximum; numbers: TSI_LIST_MAX. "all" is the number `all`, where that is not
 * 0; as it may be there by its number too, a number counts once. */
int tsi_list_numbers(const char *command, const char *option, const char *text, int64_t maximum, int64_t all,
                     int64_t *numbers, int *count);
