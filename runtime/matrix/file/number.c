/* Scanning numbers: see number.h. Reals are rounded correctly, by strtod. */
#include "runtime/matrix/file/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOKEN_MAX 512 /* a token with a Fortran exponent is copied; longer ones are refused */

static inline bool ends_token(char c) {
  return c == '\0' || c == ' ' || c == '\t' || c == '\r';
}

static inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

tsi_number tsi_scan_integer(const char **cursor, int64_t *value) {
  const char *s = tsi_skip_blanks(*cursor);
  int64_t sum = 0;
  bool negative = *s == '-', large = false;
  if (*s == '\0') return TSI_NUMBER_NONE;
  if (*s == '-' || *s == '+') s++;
  if (!is_digit(*s)) return TSI_NUMBER_BAD;
  for (; is_digit(*s); s++) /* downwards, as -INT64_MIN is no int64_t */
    large = large || __builtin_mul_overflow(sum, 10, &sum) || __builtin_sub_overflow(sum, *s - '0', &sum);
  if (!ends_token(*s)) return TSI_NUMBER_BAD;
  *cursor = s;
  large = large || (!negative && sum == INT64_MIN);
  *value = large ? (negative ? INT64_MIN : INT64_MAX) : negative ? sum : -sum;
  return large ? TSI_NUMBER_LARGE : TSI_NUMBER_OK;
}

/* Copies the token with its Fortran exponent in the form for strtod; false: too long. */
static bool respell(const char *token, char copy[TOKEN_MAX]) {
  size_t n = 0;
  for (const char *s = token; !ends_token(*s); s++) {
    if (n + 2 >= TOKEN_MAX) return false;
    bool sign = (*s == '+' || *s == '-') && s > token && (is_digit(s[-1]) || s[-1] == '.');
    if (sign) copy[n++] = 'e';
    copy[n++] = strchr("dDqQ", *s) != NULL ? 'e' : *s;
  }
  copy[n] = '\0';
  return true;
}

tsi_number tsi_scan_real(const char **cursor, double *value) {
  char copy[TOKEN_MAX];
  char *end;
  const char *token = tsi_skip_blanks(*cursor);
  const char *s = token + (*token == '-' || *token == '+');
  if (*token == '\0') return TSI_NUMBER_NONE;
  if (strncasecmp(s, "nan", 3) == 0 || strncasecmp(s, "inf", 3) == 0) return TSI_NUMBER_LARGE;
  /* strtod accepts more than decimal numbers */
  if (!(is_digit(*s) || (*s == '.' && is_digit(s[1]))) || (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')))
    return TSI_NUMBER_BAD;
  double number = strtod(token, &end);
  if (!ends_token(*end)) {
    if (!respell(token, copy)) return TSI_NUMBER_BAD;
    number = strtod(copy, &end);
    if (*end != '\0') return TSI_NUMBER_BAD;
    end = (char *)(uintptr_t)s;
    while (!ends_token(*end)) end++;
  }
  if (!isfinite(number)) return TSI_NUMBER_LARGE;
  *cursor = end;
  *value = number;
  return TSI_NUMBER_OK;
}

void tsi_locale_enter(tsi_locale *locale) {
  locale->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  locale->before = locale->plain == (locale_t)0 ? (locale_t)0 : uselocale(locale->plain);
}

void tsi_locale_leave(tsi_locale *locale) {
  if (locale->plain == (locale_t)0) return;
  uselocale(locale->before);
  freelocale(locale->plain);
}
