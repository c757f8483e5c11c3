/* Axes of pictures: see axes.h. */
#include "drivers/draw/axes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "drivers/draw/svg.h"

enum {
  TICKS_MOST = 200,
  NUMBER = 12,
  BETWEEN = 5
};                       /* pixels: the size of numbers, and from one to the next */
#define MILLIONS 1e7     /* integers from here on are written in millions */
#define MANY_DECADES 1e4 /* in such a range numbers below 1 are written as powers of ten */

typedef struct ticks {
  double value[TICKS_MOST];
  int count;
} ticks;

double tsi_axis_at(const tsi_axis *axis, double value) {
  const double part = axis->logarithmic ? log(value / axis->from) / log(axis->to / axis->from)
                                        : (value - axis->from) / (axis->to - axis->from);
  return axis->begin + (axis->end - axis->begin) * part;
}

/* Returns the factor of the values of an axis, and the name of the unit; NULL: none. */
static double unit_of(const tsi_axis *axis, const char **name) {
  static const struct {
    double below, factor;
    const char *name;
  } units[][4] = {
      [TSI_NUMBER] = {{INFINITY, 1, NULL}},
      [TSI_SECONDS] = {{1e-3, 1e6, "\xc2\xb5s"}, {1, 1e3, "ms"}, {INFINITY, 1, "s"}},
      [TSI_BYTES] = {{1e3, 1, "bytes"}, {1e6, 1e-3, "KB"}, {1e9, 1e-6, "MB"}, {INFINITY, 1e-9, "GB"}}};
  int k = 0;
  while (axis->to >= units[axis->quantity][k].below) k++;
  *name = units[axis->quantity][k].name;
  return units[axis->quantity][k].factor;
}

double tsi_axis_number(const tsi_axis *axis, double value) {
  const char *unit;
  return unit_of(axis, &unit) * value;
}

void tsi_axis_name(const tsi_axis *axis, char *text, size_t size) {
  const char *unit;
  (void)unit_of(axis, &unit);
  snprintf(text, size, unit ? "%s (%s)" : "%s", axis->name, unit);
}

double tsi_axis_round(double value) {
  const double power = pow(10, floor(log10(value) + 1e-12));
  return power * (value / power >= 5 ? 5 : value / power >= 2 ? 2 : 1);
}

/* ---- Positions of ticks ------------------------------------------------------------------------------- */

static void add_tick(const tsi_axis *axis, double value, ticks *t) {
  const double space = axis->logarithmic ? 1e-9 * value : 1e-9 * (axis->to - axis->from);
  const bool on = value >= axis->from - space && value <= axis->to + space;
  if (on && t->count < TICKS_MOST && !(axis->integer && fabs(value - round(value)) > 1e-9))
    t->value[t->count++] = value;
}

/* Returns 1, 2 or 5 times a power of ten, such that the distance of ticks is about `apart` pixels. */
static double step_of(const tsi_axis *axis, double apart) {
  const double most = (axis->to - axis->from) * apart / fabs(axis->end - axis->begin);
  const double step = tsi_axis_round(most), next = tsi_axis_round(2.6 * step);
  const double chosen = next <= 1.3 * most ? next : step;
  return axis->integer && chosen < 1 ? 1 : chosen;
}

static void find_linear(const tsi_axis *axis, double apart, ticks *t) {
  const double step = step_of(axis, apart);
  for (double k = ceil(axis->from / step - 1e-9); k * step <= axis->to + 1e-9 * step; k++)
    add_tick(axis, k == 0 ? 0 : k * step, t);
}

/* Lists 1, 2 and 5 times each power of ten, if they fit; else powers of ten, or some of them. If fewer than
 * two such ticks are on the axis, it has the ticks of a linear axis. */
static void find_logarithmic(const tsi_axis *axis, double apart, ticks *t) {
  const double decades = log10(axis->to / axis->from), pixels = fabs(axis->end - axis->begin) / decades;
  const double least = fmin(apart, 40); /* numbers may be closer where lines are uneven */
  const int every = pixels >= least ? 1 : (int)ceil(least / pixels);
  for (int power = (int)floor(log10(axis->from)); power <= ceil(log10(axis->to)); power++) {
    if (power % every != 0) continue;
    for (int k = 1; k <= 5; k += k + k / 2) /* 1, 2, 5 */
      if (k == 1 || 0.3 * pixels >= 0.6 * least) add_tick(axis, k * pow(10, power), t);
  }
  if (t->count < 2) {
    t->count = 0;
    find_linear(axis, apart, t);
  }
}

/* axis: in numbers. */
static void find_ticks(const tsi_axis *axis, double apart, ticks *t) {
  t->count = 0;
  if (axis->apart > 0) apart = axis->apart;
  if (axis->values != NULL)
    for (int k = 0; k < axis->count; k++) add_tick(axis, axis->values[k], t);
  else if (axis->logarithmic)
    find_logarithmic(axis, apart, t);
  else
    find_linear(axis, apart, t);
}

/* ---- Texts of ticks ----------------------------------------------------------------------------------- */

/* Turns "1234567" into "1,234,567". */
static void group_digits(char *text, size_t size) {
  const size_t length = strlen(text), sign = *text == '-';
  for (size_t k = length; k > sign + 3;) {
    k -= 3;
    if (strlen(text) + 2 > size) return;
    memmove(text + k + 1, text + k, strlen(text + k) + 1);
    text[k] = ',';
  }
}

/* Turns "1e-07" into "1e-7". */
static void shorten_exponent(char *text) {
  char *at = strchr(text, 'e');
  if (at == NULL) return;
  char *digits = at + 2, *to = at[1] == '-' ? at + 2 : at + 1;
  while (*digits == '0' && digits[1] != '\0') digits++;
  memmove(to, digits, strlen(digits) + 1);
}

static bool in_millions(const tsi_axis *axis) {
  return axis->integer && !axis->logarithmic && axis->to >= MILLIONS;
}

static void write_number(const tsi_axis *axis, double value, char *text, size_t size) {
  if (in_millions(axis)) value /= 1e6;
  const double magnitude = fabs(value);
  const double least = axis->logarithmic && axis->to / axis->from > MANY_DECADES ? 1 : 1e-4;
  if (value == 0)
    snprintf(text, size, "0");
  else if (magnitude >= MILLIONS || magnitude < least) {
    snprintf(text, size, "%g", value);
    shorten_exponent(text);
  } else {
    snprintf(text, size, "%.9g", value);
    if (strchr(text, '.') == NULL) group_digits(text, size);
  }
}

/* Writes "time (ms), logarithmic", "rows (millions)". */
static void write_name(FILE *file, const tsi_axis *axis) {
  char name[160];
  tsi_axis_name(axis, name, sizeof name);
  const bool unit = *name != '\0' && name[strlen(name) - 1] == ')';
  const char *more = axis->logarithmic ? "logarithmic" : in_millions(axis) ? "millions" : NULL;
  tsi_svg_text(file, name, SIZE_MAX);
  if (more != NULL) fprintf(file, unit || axis->logarithmic ? ", %s" : " (%s)", more);
  fputs("</text>\n", file);
}

/* Returns the axis in shown numbers. */
static tsi_axis in_numbers(const tsi_axis *axis) {
  tsi_axis numbers = *axis;
  numbers.from = tsi_axis_number(axis, axis->from);
  numbers.to = tsi_axis_number(axis, axis->to);
  return numbers;
}

static void begin_ticks(FILE *file, const tsi_axis *axis) {
  fputs("<g", file);
  if (axis->id != NULL) fprintf(file, " id=\"%s\"", axis->id);
  fprintf(file, " font-size=\"%d\">\n", NUMBER);
}

/* Do the numbers along an axis not overlap? */
static bool fit(const tsi_axis *axis, const ticks *t) {
  double taken = -INFINITY;
  char text[48];
  for (int k = 0; k < t->count; k++) {
    const double x = tsi_axis_at(axis, t->value[k]);
    write_number(axis, t->value[k], text, sizeof text);
    const double half = tsi_svg_width(text, NUMBER) / 2;
    if (x - half < taken + BETWEEN) return false;
    taken = x + half;
  }
  return true;
}

static void keep_powers_of_ten(ticks *t) {
  int kept = 0;
  for (int k = 0; k < t->count; k++) {
    const double power = log10(t->value[k]);
    if (fabs(power - round(power)) < 1e-6) t->value[kept++] = t->value[k];
  }
  t->count = kept;
}

void tsi_axis_x(FILE *file, const tsi_axis *of_values, double near, double far) {
  const tsi_axis numbers = in_numbers(of_values), *axis = &numbers;
  double taken = -INFINITY; /* end of the previous number */
  char text[48];
  ticks t;
  find_ticks(axis, 100, &t);
  if (axis->logarithmic && axis->values == NULL && axis->to >= 100 * axis->from && !fit(axis, &t))
    keep_powers_of_ten(&t);
  begin_ticks(file, axis);
  for (int k = 0; k < t.count; k++) {
    const double x = tsi_axis_at(axis, t.value[k]);
    write_number(axis, t.value[k], text, sizeof text);
    const double half = tsi_svg_width(text, NUMBER) / 2;
    fprintf(file, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#d0d7de\" stroke-opacity=\".6\"/>", x, near + 4, far);
    if (x - half >= taken + BETWEEN) {
      fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>", x, near + 18, text);
      taken = x + half;
    }
    fputc('\n', file);
  }
  fprintf(file, "</g>\n<text class=\"axis\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
          (axis->begin + axis->end) / 2, near + 40);
  write_name(file, of_values);
}

void tsi_axis_y(FILE *file, const tsi_axis *of_values, double near, double far) {
  const tsi_axis numbers = in_numbers(of_values), *axis = &numbers;
  const double middle = (axis->begin + axis->end) / 2;
  double widest = 0, taken = NAN;
  char text[48];
  ticks t;
  find_ticks(axis, 48, &t);
  begin_ticks(file, axis);
  for (int k = 0; k < t.count; k++) {
    const double y = tsi_axis_at(axis, t.value[k]);
    write_number(axis, t.value[k], text, sizeof text);
    fprintf(file, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#d0d7de\" stroke-opacity=\".6\"/>", near - 4, y, far);
    if (!(fabs(y - taken) < NUMBER + 2)) { /* true for the first */
      fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>", near - 8, y + 4, text);
      widest = fmax(widest, tsi_svg_width(text, NUMBER));
      taken = y;
    }
    fputc('\n', file);
  }
  const double x = fmax(14, near - 8 - widest - 14);
  fprintf(file,
          "</g>\n<text class=\"axis\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" transform=\"rotate(-90 "
          "%.1f %.1f)\">",
          x, middle, x, middle);
  write_name(file, of_values);
}
