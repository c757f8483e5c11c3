/* Account of the current input: see fuzz.h. */
#include "tests/fuzz/fuzz.h"

static struct {
  char text[1 << 16];
  size_t used;
} account;

void note(const char *format, ...) {
  va_list args;
  const size_t left = sizeof account.text - account.used;
  va_start(args, format);
  const int length = vsnprintf(account.text + account.used, left, format, args);
  va_end(args);
  if (length > 0) account.used += (size_t)length < left ? (size_t)length : left - 1;
}

void account_print(void) {
  fprintf(stderr, "---- the case\n%s---- end of the case\n", account.text);
}

/* Sanitizers call the callback before they end the program; NULL without sanitizers. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

void account_begin(void) {
  account.used = 0;
  account.text[0] = '\0';
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(account_print);
}
