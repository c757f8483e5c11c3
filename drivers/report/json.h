/* Helpers that write figures into JSON objects.
 *
 * Reads   its arguments.   Writes  cJSON objects.
 * Invariant: a number that is not finite is written as null. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

typedef struct tsi_json_number {
  const char *key;
  double value;
} tsi_json_number;

/* Adds numbers to an object: TSI_JSON_NUMBERS(object, {"n", n}, {"nnz", nnz}). */
#define TSI_JSON_NUMBERS(object, ...)                                                                        \
  tsi_json_add_numbers(object, (const tsi_json_number[]){__VA_ARGS__, {NULL, 0}})
/* Adds only those numbers that are not 0; 0 means unknown. */
#define TSI_JSON_PRESENT(object, ...)                                                                        \
  tsi_json_add_present(object, (const tsi_json_number[]){__VA_ARGS__, {NULL, 0}})
/* Functions of the macros above. The last number has no key. */
void tsi_json_add_numbers(cJSON *object, const tsi_json_number *number);
void tsi_json_add_present(cJSON *object, const tsi_json_number *number);
/* Appends an empty object to an array, and returns it. */
cJSON *tsi_json_add_item(cJSON *array);
/* Reads a file, or standard input ("-"). Returns NULL on failure: if errno is 0 the text is not JSON, else it
 * cannot be read. */
cJSON *tsi_json_load(const char *path);
/* Writes an object to a file, or to standard output ("-"), and frees it. Returns false with errno set on
 * failure. */
bool tsi_json_put(const char *path, cJSON *object);
