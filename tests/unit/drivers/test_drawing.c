/* Axes, labels and texts of pictures. Ticks are 1, 2 or 5 times powers of ten, integers if the axis has
 * integers, printed exactly, and do not overlap. Labels do not overlap anything. Any bytes become XML. */
#include "drivers/draw/axes.h"
#include "drivers/draw/labels.h"
#include "drivers/draw/svg.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"

enum { NUMBERS_MOST = 400 };

typedef struct drawn {
  char *text;
  int count;
  double at[NUMBERS_MOST], value[NUMBERS_MOST]; /* for each number: its pixel, its value */
} drawn;

/* Reads a number; "12,000" is 12000. strtod reads fractions and exponents. */
static double read_number(const char *text) {
  char plain[64];
  size_t length = 0;
  for (; *text && *text != '<' && length + 1 < sizeof plain; text++)
    if (*text != ',') plain[length++] = *text;
  plain[length] = '\0';
  char *end;
  const double value = strtod(plain, &end);
  CHECK_MSG(*end == '\0' && length > 0, "'%s' is no number", plain);
  return value;
}

static drawn draw(const tsi_axis *axis, bool along) {
  drawn d = {.count = 0};
  size_t size;
  FILE *file = open_memstream(&d.text, &size);
  CHECK(file != NULL);
  (along ? tsi_axis_x : tsi_axis_y)(file, axis, 500, 100);
  CHECK(fclose(file) == 0);
  for (const char *at = strstr(d.text, "<text x="); at != NULL; at = strstr(at + 1, "<text x=")) {
    double x, y;
    CHECK(sscanf(at, "<text x=\"%lf\" y=\"%lf\"", &x, &y) == 2 && d.count < NUMBERS_MOST);
    d.at[d.count] = along ? x : y - 4;
    d.value[d.count++] = read_number(strchr(at, '>') + 1);
  }
  return d;
}

/* Steps are 1, 2 or 5 times a power of ten, or multiples of it. */
static void check_ticks(const tsi_axis *axis, bool along) {
  drawn d = draw(axis, along);
  CHECK_MSG(d.count >= (axis->integer ? 1 : 2), "%g to %g has %d numbers", axis->from, axis->to, d.count);
  const double length = fabs(axis->end - axis->begin);
  for (int k = 0; k < d.count; k++) {
    CHECK_MSG(fabs(tsi_axis_at(axis, d.value[k]) - d.at[k]) < 0.06 + 1e-6 * length, "%g stands at %g",
              d.value[k], d.at[k]);
    CHECK(!axis->integer || fabs(d.value[k] - round(d.value[k])) <= 0);
    if (k > 0) CHECK(fabs(d.at[k] - d.at[k - 1]) > 10);
  }
  if (!axis->logarithmic && d.count > 2) {
    const double step = d.value[1] - d.value[0], power = pow(10, floor(log10(step) + 1e-9));
    const double digit = step / power;
    CHECK_MSG(fabs(digit - 1) < 1e-6 || fabs(digit - 2) < 1e-6 || fabs(digit - 5) < 1e-6, "a step of %g",
              step);
  }
  CHECK((strstr(d.text, "logarithmic") != NULL) == axis->logarithmic);
  free(d.text);
}

static void check_axes(void) {
  for (int along = 0; along < 2; along++)
    for (int logarithmic = 0; logarithmic < 2; logarithmic++)
      for (int integer = 0; integer < 2; integer++)
        for (double most = integer ? 1 : 1e-9; most < 9e6; most *= 1.37) {
          tsi_axis axis = {.to = most,
                           .begin = 100,
                           .end = 1100,
                           .name = "name",
                           .logarithmic = logarithmic,
                           .integer = integer};
          if (logarithmic) axis.from = integer ? 0.8 : most / 300;
          if (!along) axis.begin = 600, axis.end = 100;
          check_ticks(&axis, along);
          if (!logarithmic) continue;
          axis.from = most / 1.3; /* less than one decade has the ticks of a linear axis */
          axis.integer = false;
          check_ticks(&axis, along);
        }
}

static void check_words(void) {
  const double values[] = {1, 2, 3, 64};
  tsi_axis axis = {.to = 25e6, .end = 1000, .name = "name (unit)", .integer = true};
  drawn d = draw(&axis, true);
  CHECK(strstr(d.text, "name (unit), millions") != NULL && d.value[d.count - 1] <= 25);
  free(d.text);
  axis = (tsi_axis){
      .from = 0.9, .to = 70, .end = 1000, .name = "", .logarithmic = true, .values = values, .count = 4};
  d = draw(&axis, true);
  CHECK(d.count == 4 && d.value[2] >= 3 && d.value[2] <= 3 && d.value[3] >= 64);
  free(d.text);
  axis = (tsi_axis){.from = 1e-17, .to = 1, .begin = 500, .end = 100, .name = "", .logarithmic = true};
  d = draw(&axis, false);
  CHECK(strstr(d.text, ">1e-16<") != NULL && strstr(d.text, "e-0") == NULL && strstr(d.text, ">1<") != NULL);
  free(d.text);
  axis = (tsi_axis){.to = 40000, .end = 1000, .name = ""};
  d = draw(&axis, true);
  CHECK(strstr(d.text, ">40,000<") != NULL);
  free(d.text);
}

/* Seconds and bytes have the unit that suits the largest number. */
static void check_units(void) {
  const struct {
    tsi_quantity quantity;
    double to, number;
    const char *name;
  } cases[] = {{TSI_SECONDS, 4e-5, 40, "name (\xc2\xb5s)"},
               {TSI_SECONDS, 0.4, 400, "name (ms)"},
               {TSI_SECONDS, 4, 4, "name (s)"},
               {TSI_BYTES, 400, 400, "name (bytes)"},
               {TSI_BYTES, 4e5, 400, "name (KB)"},
               {TSI_BYTES, 4e6, 4, "name (MB)"},
               {TSI_BYTES, 4e10, 40, "name (GB)"},
               {TSI_NUMBER, 4, 4, "name"}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    const tsi_axis axis = {.to = cases[k].to, .end = 1000, .name = "name", .quantity = cases[k].quantity};
    drawn d = draw(&axis, true);
    CHECK_MSG(strstr(d.text, cases[k].name) != NULL, "%s: %s", cases[k].name, d.text);
    CHECK(fabs(tsi_axis_number(&axis, axis.to) - cases[k].number) < 1e-9 * cases[k].number);
    CHECK(fabs(d.value[d.count - 1] - cases[k].number) < 1e-9 * cases[k].number &&
          fabs(d.at[d.count - 1] - 1000) < 0.1);
    free(d.text);
  }
}

static tsi_box box_of(const char *text) {
  double x, y;
  CHECK(sscanf(text, "<text class=\"label\" x=\"%lf\" y=\"%lf\"", &x, &y) == 2);
  const double half = tsi_svg_width("label 12", TSI_LABEL_SIZE) / 2;
  return (tsi_box){x - half, y - 10, x + half, y + 2};
}

static bool meet(tsi_box a, tsi_box b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/* Labels of points at random places overlap neither each other nor points, and stay inside. */
static void check_labels(void) {
  enum { COUNT = 40 };
  tsi_labels labels = {.frame = {0, 0, 600, 300}};
  double place[2 * COUNT];
  OWNED char *text;
  size_t size;
  int written = 0;
  FILE *file = open_memstream(&text, &size);
  fill_random(place, 2 * COUNT, 5);
  for (int k = 0; k < COUNT; k++) {
    place[2 * k] = 300 + 290 * place[2 * k];
    place[2 * k + 1] = 150 + 140 * place[2 * k + 1];
    tsi_labels_take(&labels, place[2 * k], place[2 * k + 1], 5);
  }
  for (int k = 0; k < COUNT; k++)
    written += tsi_labels_write(file, &labels, place[2 * k], place[2 * k + 1], k % 2, "label 12");
  CHECK(fclose(file) == 0);
  CHECK_MSG(written > COUNT / 2, "%d of %d labels have found room", written, COUNT);
  int seen = 0;
  for (const char *a = text; (a = strstr(a, "<text")) != NULL; a++, seen++) {
    const tsi_box box = box_of(a);
    CHECK(box.left >= -1 && box.right <= 601 && box.top >= -1 && box.bottom <= 301);
    for (int k = 0; k < COUNT; k++)
      CHECK(!meet(box,
                  (tsi_box){place[2 * k] - 4, place[2 * k + 1] - 4, place[2 * k] + 4, place[2 * k + 1] + 4}));
    for (const char *b = strstr(a + 1, "<text"); b != NULL; b = strstr(b + 1, "<text"))
      CHECK(!meet(box, box_of(b)));
  }
  CHECK(seen == written);
}

static void check_text(const char *text, size_t most, const char *expected) {
  OWNED char *written;
  size_t size;
  FILE *file = open_memstream(&written, &size);
  tsi_svg_text(file, text, most);
  CHECK(fclose(file) == 0);
  CHECK_MSG(strcmp(written, expected) == 0, "'%s' for '%s'", written, expected);
}

static void check_texts(void) {
  check_text("a<b>&\"'", 20, "a&#60;b&#62;&#38;&#34;&#39;");
  check_text("abcdef", 4, "...cdef");
  check_text("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 2, "...\xe2\x82\xac\xf0\x9f\x98\x80");
  check_text("\x01\x7f\xff\xc3(\xed\xa0\x80\xc0\xaf\xef\xbf\xbf", 40,
             "???"
             "?(??"
             "??????");
  check_text("\xe2\x82", 40, "??"); /* a truncated character */
  for (double room = 20; room < 200; room += 7) {
    char *written;
    size_t size;
    FILE *file = open_memstream(&written, &size);
    tsi_svg_text_within(file, "a text of some length", 12, room);
    CHECK(fclose(file) == 0);
    CHECK_MSG(tsi_svg_width(written, 12) <= room, "'%s' is wider than %g", written, room);
    free(written);
    file = open_memstream(&written, &size);
    tsi_svg_text_begin(file, "a text of some length", 12, room);
    CHECK(fclose(file) == 0);
    CHECK_MSG(tsi_svg_width(written, 12) <= room, "'%s' is wider than %g", written, room);
    free(written);
  }
}

/* Rows of a legend end within the given width. */
static void check_legend(void) {
  OWNED char *text;
  size_t size;
  FILE *file = open_memstream(&text, &size);
  tsi_legend written = tsi_legend_begin(file, 50, 400, 20);
  for (int k = 0; k < 12; k++) {
    tsi_legend_square(&written, "#000", "an %s", "entry");
    CHECK(written.x - 18 <= 400 + 1);
  }
  CHECK(fclose(file) == 0);
  CHECK(written.y > 20 + 2 * TSI_LEGEND_ROW && strstr(text, "y=\"40.0\"") != NULL &&
        strstr(text, ">an entry<") != NULL);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(check_axes());
  RUN(check_words());
  RUN(check_units());
  RUN(check_labels());
  RUN(check_texts());
  RUN(check_legend());
  return 0;
}
