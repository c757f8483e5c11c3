/* The words of a layout on the command line: see layout.h. */
#include "drivers/session/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXTENT_MOST (1 << 20) /* maximum of px, py and pz; the library's maximum of their product */

static const char *const algorithm_names[] = {"replicated", "levelwise", "2d"};
static const char *const map_names[] = {"subtree", "cyclic"};
static const char *const tree_names[] = {"binary", "flat"};

static int given(int choice) {
  return choice < 0 ? 0 : choice;
}

/* Reads digits up to the character `end`; returns 0 if there are none or the number is too large. */
static int scan_extent(const char **at, char end) {
  long long value = 0;
  const char *c = *at;
  for (; *c >= '0' && *c <= '9' && value <= EXTENT_MOST; c++) value = 10 * value + (*c - '0');
  if (*c != end || value > EXTENT_MOST) return 0;
  *at = c + 1;
  return (int)value;
}

const char *tsi_algorithm_name(const tsi_settings *settings) {
  return algorithm_names[given(settings->algo)];
}
const char *tsi_map_name(tristar_map map) {
  return map_names[map];
}
const char *tsi_tree_name(tristar_message_tree tree) {
  return tree_names[tree];
}

/* Reads the layout. Writes an error message to `wrong`, or "". */
static void scan_layout(const tsi_settings *settings, tristar_layout *layout, char *wrong, size_t size) {
  const char *at = settings->layout;
  *wrong = '\0';
  tristar_layout_init(layout);
  layout->algorithm = settings->algo == 1 ? TRISTAR_ALGORITHM_LEVELWISE : TRISTAR_ALGORITHM_REPLICATED;
  layout->map = (tristar_map)given(settings->map);
  layout->message_tree = (tristar_message_tree)given(settings->message_tree);
  layout->px = 0;
  if (strcmp(at, "auto") == 0) return;
  layout->px = scan_extent(&at, 'x');
  layout->py = layout->px > 0 ? scan_extent(&at, 'x') : 0;
  layout->pz = layout->py > 0 ? scan_extent(&at, '\0') : 0;
  if (layout->pz == 0)
    snprintf(wrong, size, "--layout %.64s: not three numbers PXxPYxPZ from 1 to %d", settings->layout,
             EXTENT_MOST);
  else if ((layout->pz & (layout->pz - 1)) != 0)
    snprintf(wrong, size, "--layout %.64s: the last number is not a power of two", settings->layout);
  else if (settings->algo == 2 && layout->pz > 1)
    snprintf(wrong, size, "--algo 2d needs one grid, such as --layout %dx%dx1", layout->px, layout->py);
}

int tsi_layout_read(const char *command, const tsi_settings *settings, tristar_layout *layout) {
  char wrong[160];
  scan_layout(settings, layout, wrong, sizeof wrong);
  if (*wrong == '\0') return TSI_EXIT_OK;
  return tsi_usage_error(command, "%s", wrong);
}
