/* What the fuzz targets share: bytes that become decisions, an account of the case, findings.
 *
 * A target is a file fuzz_NAME.c that defines the two functions below. In the preset `fuzz` libFuzzer calls
 * them with inputs that it invents (tools/check fuzz); in every other build replay.c does, with the files of
 * corpus/NAME. The same bytes make the same case everywhere.
 *
 * A finding tells what broke and prints the account of the case, and ends the program by abort, as do the
 * sanitizers, which print the account too. */
#ifndef TSI_TESTS_FUZZ_H
#define TSI_TESTS_FUZZ_H

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

/* The next byte; zeros once there is none. */
static inline unsigned take(bytes *b) {
  return b->at < b->end ? *b->at++ : 0;
}

/* 0 .. limit - 1; limit at most 256. */
static inline int below(bytes *b, int limit) {
  return (int)(take(b) % (unsigned)limit);
}

/* True for about so many of 256 bytes, and never at the end of the input. */
static inline bool chance(bytes *b, unsigned of_256) {
  return take(b) > 255 - of_256;
}

/* ---- The account -------------------------------------------------------------------------------------- */

/* Of the input that runs: calls, statuses, options. */
static struct {
  char text[1 << 16];
  size_t used;
} account;

__attribute__((format(printf, 1, 2))) static inline void note(const char *format, ...) {
  va_list args;
  const size_t left = sizeof account.text - account.used;
  va_start(args, format);
  const int length = vsnprintf(account.text + account.used, left, format, args);
  va_end(args);
  if (length > 0) account.used += (size_t)length < left ? (size_t)length : left - 1;
}

static inline void account_print(void) {
  fprintf(stderr, "---- the case\n%s---- end of the case\n", account.text);
}

/* What sanitizers call before they end the program; there is none without them. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static inline void account_begin(void) {
  account.used = 0;
  account.text[0] = '\0';
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(account_print);
}

#define FOUND(...)                                                                                           \
  do {                                                                                                       \
    fprintf(stderr, "%s:%d: finding: ", __FILE__, __LINE__);                                                 \
    fprintf(stderr, __VA_ARGS__);                                                                            \
    fputc('\n', stderr);                                                                                     \
    account_print();                                                                                         \
    abort();                                                                                                 \
  } while (0)

/* As FOUND, unless the condition holds. */
#define MUST(condition, ...)                                                                                 \
  do {                                                                                                       \
    if (!(condition)) FOUND(__VA_ARGS__);                                                                    \
  } while (0)

#endif
