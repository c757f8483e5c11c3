/* Shared by the fuzz targets: decisions from bytes, an account of the case, findings.
 *
 * A target is a file fuzz_NAME.c that defines the two functions below. In the preset `fuzz` libFuzzer calls
 * them with inputs that it generates (tools/check fuzz). In all other builds replay.c calls them with the
 * files of corpus/NAME. The same bytes make the same case everywhere.
 *
 * A finding prints the error and the account of the case, and ends the program by abort. Sanitizers also
 * print the account. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tristar.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Bytes as decisions ------------------------------------------------------------------------------- */

typedef struct bytes {
  const uint8_t *at, *end;
} bytes;

/* Returns the next byte; 0 after the last one. */
static inline unsigned take(bytes *b) {
  return b->at < b->end ? *b->at++ : 0;
}

/* Returns 0 .. limit - 1; limit <= 256. */
static inline int below(bytes *b, int limit) {
  return (int)(take(b) % (unsigned)limit);
}

/* True for of_256 of the 256 bytes, and never at the end of the input. */
static inline bool chance(bytes *b, unsigned of_256) {
  return take(b) > 255 - of_256;
}

/* ---- The account -------------------------------------------------------------------------------------- */

/* Adds text to the account of the current input: calls, statuses, options (account.c). */
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);
void account_print(void);
void account_begin(void);

#define FOUND(...)                                                                                           \
  do {                                                                                                       \
    fprintf(stderr, "%s:%d: finding: ", __FILE__, __LINE__);                                                 \
    fprintf(stderr, __VA_ARGS__);                                                                            \
    fputc('\n', stderr);                                                                                     \
    account_print();                                                                                         \
    abort();                                                                                                 \
  } while (0)

/* FOUND unless the condition holds. */
#define MUST(condition, ...)                                                                                 \
  do {                                                                                                       \
    if (!(condition)) FOUND(__VA_ARGS__);                                                                    \
  } while (0)
