/* Parses Fortran formats and iterates over their fields: see fortran_format.h. */
#include "runtime/matrix/file/fortran_format.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MOST 100000
#define GROUPS_MOST 8 /* nested */
#define EXPONENT_MOST 9999

typedef struct parser {
  const char *text;
  tsi_fortran_format *format;
  int depth;
} parser;

/* Blanks are ignored in a format. */
static char peek(parser *p) {
  while (*p->text == ' ' || *p->text == '\t') p->text++;
  return (char)toupper((unsigned char)*p->text);
}

static bool take(parser *p, char c) {
  if (peek(p) != c) return false;
  p->text++;
  return true;
}

static bool take_number(parser *p, int *value) {
  int sum = 0, digits = 0;
  for (; isdigit((unsigned char)peek(p)) && sum < NUMBER_MOST; p->text++, digits++)
    sum = 10 * sum + (*p->text - '0');
  if (digits > 0) *value = sum;
  return digits > 0 && sum < NUMBER_MOST;
}

static bool add(parser *p, tsi_fortran_item item, int repeat) {
  tsi_fortran_format *f = p->format;
  if (repeat < 1 || f->count + repeat > TSI_FORTRAN_ITEMS_MOST) return false;
  for (int k = 0; k < repeat; k++) f->item[f->count++] = item;
  return true;
}

/* w, w.d, w.dEe of a field, or of an integer w.m */
static bool parse_field(parser *p, tsi_fortran_kind kind, int repeat) {
  tsi_fortran_item item = {.kind = kind};
  int ignored;
  if (!take_number(p, &item.width) || item.width < 1 || item.width > TSI_FORTRAN_WIDTH_MOST) return false;
  if (take(p, '.') && !take_number(p, &item.decimals)) return false;
  if (kind == TSI_FORTRAN_REAL && take(p, 'E') && !take_number(p, &ignored)) return false;
  if (kind == TSI_FORTRAN_INTEGER) item.decimals = 0;
  return add(p, item, repeat);
}

static bool parse_position(parser *p) {
  tsi_fortran_item item = {.kind = TSI_FORTRAN_GO};
  int sign = 0;
  if (take(p, 'L'))
    sign = -1;
  else if (take(p, 'R'))
    sign = 1;
  if (!take_number(p, &item.width) || item.width < 1) return false;
  if (sign != 0) item.kind = TSI_FORTRAN_MOVE, item.width *= sign;
  return add(p, item, 1);
}

static bool parse_group(parser *p, int repeat);

/* Parses a descriptor after its repeat count. counted: there was a repeat count. */
static bool parse_descriptor(parser *p, int repeat, bool counted) {
  switch (peek(p)) {
  case '(':
    p->text++;
    return parse_group(p, repeat);
  case 'I':
    p->text++;
    return parse_field(p, TSI_FORTRAN_INTEGER, repeat);
  case 'E':
    p->text++;
    if (!take(p, 'S')) (void)take(p, 'N');
    return parse_field(p, TSI_FORTRAN_REAL, repeat);
  case 'F':
  case 'D':
  case 'G':
    p->text++;
    return parse_field(p, TSI_FORTRAN_REAL, repeat);
  case 'X':
    p->text++;
    return add(p, (tsi_fortran_item){.kind = TSI_FORTRAN_MOVE, .width = repeat}, 1);
  case '/':
    p->text++;
    return add(p, (tsi_fortran_item){.kind = TSI_FORTRAN_RECORD}, repeat);
  case 'T':
    p->text++;
    return !counted && parse_position(p);
  case ':':
    p->text++;
    return !counted && add(p, (tsi_fortran_item){.kind = TSI_FORTRAN_COLON}, 1);
  case 'B': /* BN: blanks are ignored, which is always so */
    p->text++;
    return !counted && take(p, 'N');
  case 'S': /* signs of output */
    p->text++;
    if (!take(p, 'P')) (void)take(p, 'S');
    return !counted;
  default:
    return false;
  }
}

/* kP, a number with or without sign, or a repeat count before a descriptor. */
static bool parse_item(parser *p) {
  int number = 1;
  bool counted = false, negative = false, with_sign = false;
  if (peek(p) == '-' || peek(p) == '+') {
    negative = peek(p) == '-';
    with_sign = true;
    p->text++;
  }
  if (isdigit((unsigned char)peek(p))) {
    if (!take_number(p, &number)) return false;
    counted = true;
  }
  if (counted && take(p, 'P'))
    return add(p, (tsi_fortran_item){.kind = TSI_FORTRAN_SCALE, .width = negative ? -number : number}, 1);
  return !with_sign && (!counted || number > 0) && parse_descriptor(p, number, counted);
}

/* Parses a group after its "(", and repeats it. */
static bool parse_group(parser *p, int repeat) {
  tsi_fortran_format *f = p->format;
  const int first = f->count;
  if (++p->depth > GROUPS_MOST) return false;
  while (!take(p, ')')) {
    while (take(p, ',')) {
    }
    if (peek(p) == ')') continue;
    if (!parse_item(p)) return false;
  }
  p->depth--;
  const int items = f->count - first;
  for (int k = 1; k < repeat; k++)
    for (int i = 0; i < items; i++) {
      if (f->count == TSI_FORTRAN_ITEMS_MOST) return false;
      f->item[f->count++] = f->item[first + i];
    }
  if (p->depth == 1) f->again = first; /* at the last group inside the outermost parentheses */
  return true;
}

bool tsi_fortran_parse(const char **text, tsi_fortran_item *item, tsi_fortran_format *format) {
  parser p = {.text = strchr(*text, '('), .format = format};
  *format = (tsi_fortran_format){.item = item};
  if (p.text == NULL) return false;
  p.text++;
  if (!parse_group(&p, 1)) return false;
  *text = p.text;
  bool field = false; /* in the part that is repeated: otherwise it would never end */
  for (int i = format->again; i < format->count; i++)
    field = field || item[i].kind == TSI_FORTRAN_INTEGER || item[i].kind == TSI_FORTRAN_REAL;
  return field;
}

const tsi_fortran_item *tsi_fortran_next(const tsi_fortran_format *format, tsi_fortran_cursor *cursor,
                                         int *records, size_t *position) {
  *records = 0;
  if (!cursor->begun) {
    cursor->begun = true;
    ++*records;
  }
  for (;;) {
    if (cursor->item == format->count) {
      cursor->item = format->again;
      cursor->position = 0;
      ++*records;
    }
    const tsi_fortran_item *item = &format->item[cursor->item++];
    const size_t width = item->width > 0 ? (size_t)item->width : (size_t)-item->width;
    switch (item->kind) {
    case TSI_FORTRAN_RECORD:
      cursor->position = 0;
      ++*records;
      break;
    case TSI_FORTRAN_GO:
      cursor->position = width - 1;
      break;
    case TSI_FORTRAN_MOVE:
      if (item->width > 0)
        cursor->position += width;
      else
        cursor->position -= width < cursor->position ? width : cursor->position;
      break;
    case TSI_FORTRAN_SCALE:
      cursor->scale = item->width;
      break;
    case TSI_FORTRAN_COLON:
      break;
    case TSI_FORTRAN_INTEGER:
    case TSI_FORTRAN_REAL:
      *position = cursor->position;
      cursor->position += width;
      cursor->records += *records;
      return item;
    }
  }
}

int tsi_fortran_skipped(const tsi_fortran_format *format, const tsi_fortran_cursor *cursor) {
  int records = 0;
  for (int i = cursor->item; cursor->begun && i < format->count; i++) {
    const tsi_fortran_kind kind = format->item[i].kind;
    if (kind == TSI_FORTRAN_INTEGER || kind == TSI_FORTRAN_REAL || kind == TSI_FORTRAN_COLON) break;
    records += kind == TSI_FORTRAN_RECORD;
  }
  return records;
}

/* ---- Numbers ------------------------------------------------------------------------------------------- */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* A real number in `text`, which has no blanks: [sign] digits [. digits] [exponent]. */
static bool spell_real(const char *text, int decimals, int scale, char *out) {
  const char *s = text;
  int digits = 0, behind = 0; /* behind: digits after the point */
  bool point = false;
  char *to = out;
  if (*s == '-' || *s == '+') *to++ = *s++;
  for (; is_digit(*s) || (*s == '.' && !point); s++) {
    if (*s == '.') {
      point = true;
      continue;
    }
    *to++ = *s;
    digits++;
    behind += point;
  }
  if (digits == 0) return false;
  if (!point) behind = decimals;
  long exponent = 0;
  bool has_exponent = *s != '\0';
  if (has_exponent) {
    const bool letter = strchr("EeDdQq", *s) != NULL;
    if (letter) s++;
    const bool negative = *s == '-';
    if (*s == '-' || *s == '+')
      s++;
    else if (!letter)
      return false;
    if (!is_digit(*s)) return false;
    for (; is_digit(*s); s++)
      if (exponent <= EXPONENT_MOST) exponent = 10 * exponent + (*s - '0');
    if (*s != '\0' || exponent > EXPONENT_MOST) return false;
    if (negative) exponent = -exponent;
  } else {
    exponent = -scale;
  }
  snprintf(to, 16, "e%ld", exponent - behind);
  return true;
}

/* Do digits follow the exponent after blanks? Then two numbers share the field. */
static bool holds_two(const char *field, size_t width) {
  size_t k = 0;
  while (k < width && (is_digit(field[k]) || strchr(" \t+-.", field[k]) != NULL) && field[k] != '\0') k++;
  if (k == width || field[k] == '\0') return false;
  k++; /* the letter of the exponent */
  while (k < width && field[k] != '\0' && !is_digit(field[k])) k++;
  while (k < width && is_digit(field[k])) k++;
  while (k < width && field[k] == ' ') k++;
  return k < width && is_digit(field[k]);
}

bool tsi_fortran_spell(const char *field, size_t width, const tsi_fortran_item *item, int scale, char *out) {
  char text[TSI_FORTRAN_WIDTH_MOST + 1];
  const bool integer = item->kind == TSI_FORTRAN_INTEGER;
  size_t length = 0;
  for (size_t k = 0; k < width && field[k] != '\0'; k++)
    if ((integer && length > 0) || (field[k] != ' ' && field[k] != '\t' && field[k] != '\r'))
      text[length++] = field[k];
  text[length] = '\0';
  if (length == 0 || integer) {
    memcpy(out, text, length + 1);
    return true;
  }
  const char *word = text + (*text == '-' || *text == '+');
  if (isalpha((unsigned char)*word)) { /* NaN, Inf: the reader of numbers reports them */
    memcpy(out, text, length + 1);
    return true;
  }
  return !holds_two(field, width) && spell_real(text, item->decimals, scale, out);
}
