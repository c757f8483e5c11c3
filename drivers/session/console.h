/* Messages of the program on stderr: errors, warnings, one progress line. stdout has results only. */
#pragma once

#include <stdbool.h>

#include "tristar.h"

/* Returns the log level for the library: progress if stderr is a terminal or verbose is set, else warning. */
tristar_log_level tsi_console_level(bool verbose);

/* A tristar_log_fn. arg points to a bool, verbose: if set, each progress message has a line of its own. */
void tsi_console_log(void *arg, tristar_log_level level, const char *text);

/* Removes the progress line, if there is one. Call it before you print anything else. */
void tsi_console_clear(void);

/* tsi_console_error prints "tristar: ..." on stderr. A mute process prints no errors: another process prints
 * the same ones. */
void tsi_console_mute(bool mute);
bool tsi_console_is_mute(void);
__attribute__((format(printf, 1, 2))) void tsi_console_error(const char *format, ...);
