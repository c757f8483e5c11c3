/* Helpers shared by several examples: errors, memory, the clock, numbers on the command line, checksums of
 * bits.
 *
 * Reads   its arguments.   Writes  messages to stderr.
 *
 * Every function ends the program with status 1 when something fails: these are small programs. */
#ifndef TSI_DRIVERS_EXAMPLES_EXAMPLE_H
#define TSI_DRIVERS_EXAMPLES_EXAMPLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <tristar.h>

static inline void example_die(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(EXIT_FAILURE);
}

/* Ends the program with TriStar's message, unless status is TRISTAR_OK. */
static inline void example_check(tristar_t *ts, tristar_status status) {
  char message[512] = "";
  if (status == TRISTAR_OK) return;
  if (ts != NULL) tristar_get_error(ts, message, sizeof message);
  example_die(tristar_status_name(status), message);
}

static inline void *example_allocate(size_t count, size_t size) {
  void *memory = calloc(count > 0 ? count : 1, size);
  if (memory == NULL) example_die("calloc", "out of memory");
  return memory;
}

static inline double example_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Reads an integer from least to most from the command line. */
static inline int example_number(const char *text, int least, int most) {
  char *end;
  const long number = strtol(text, &end, 10);
  if (end == text || *end != '\0' || number < least || number > most) {
    fprintf(stderr, "%s: not a whole number from %d to %d\n", text, least, most);
    exit(EXIT_FAILURE);
  }
  return (int)number;
}

/* Continues a checksum of bits (FNV-1a); 0 begins one. */
static inline uint64_t example_bits(uint64_t sum, const void *data, size_t bytes) {
  const unsigned char *byte = data;
  if (sum == 0) sum = 14695981039346656037u;
  for (size_t k = 0; k < bytes; k++) sum = (sum ^ byte[k]) * 1099511628211u;
  return sum;
}

#endif
