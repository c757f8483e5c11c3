/* Lines of help texts: see wrap.h. */
#include "drivers/session/wrap.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LINE_LENGTH 100

/* Prints the words of a text. column: number of characters that the current line already has; indent: column
 * where further lines begin. */
static void wrap(const char *text, int column, int indent) {
  const char *end = text + strcspn(text, "\n");
  bool begins = true; /* the line has no word of the text yet */
  while (text < end) {
    const int length = (int)strcspn(text, " \n");
    if (!begins && column + 1 + length > LINE_LENGTH) {
      printf("\n%*s", indent, "");
      column = indent;
      begins = true;
    }
    printf("%s%.*s", begins ? "" : " ", length, text);
    column += length + !begins;
    begins = false;
    text += length;
    text += strspn(text, " ");
  }
  putchar('\n');
}

void tsi_wrap_paragraphs(const char *text) {
  while (*text != '\0') {
    wrap(text, 0, 0);
    text += strcspn(text, "\n");
    if (*text == '\n') text++;
  }
}

void tsi_wrap_entry(const char *word, const char *meaning, int indent) {
  int width = printf("  %s", word);
  if (width >= indent) {
    printf("\n");
    width = 0;
  }
  printf("%*s", indent - width, "");
  wrap(meaning, indent, indent);
}
