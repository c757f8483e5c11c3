/* `tristar plot tree`: the assembly tree as a picture. */
#include <stdio.h>
#include <string.h>

#include "drivers/commands.h"
#include "drivers/console.h"
#include "drivers/tree.h"

int tsi_command_plot(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  if (settings->operand[0] == NULL) return tsi_usage_error("plot", "nothing to plot given; known is: tree");
  if (strcmp(settings->operand[0], "tree") != 0)
    return tsi_usage_error("plot", "unknown plot '%s'; known is: tree", settings->operand[0]);
  if (settings->operand[1] == NULL) return tsi_usage_error("plot", "no MATRIX given");
  if (settings->out == NULL) return tsi_usage_error("plot", "--out FILE is missing");
  if (tsi_session_open(s, settings, settings->operand[1]) && tsi_session_read(s) && tsi_session_analyze(s) &&
      tsi_session_factor(s) && tsi_session_plan(s, 1) && tsi_tree_draw(s, settings->out)) {
    tsi_console_clear();
    printf("%s: written\n", settings->out);
  }
  return tsi_session_close(s);
}
