/* What the program says while it works: errors, warnings, one progress line. All of it goes to stderr, so
 * that stdout holds results only. */
#pragma once

#include <stdbool.h>

#include "tristar.h"

/* The level to ask the library for: progress where stderr is a terminal or with verbose. */
tristar_log_level tsi_console_level(bool verbose);

/* A tristar_log_fn; arg points to a bool: verbose, which prints progress line by line. */
void tsi_console_log(void *arg, tristar_log_level level, const char *text);

/* Removes the progress line, if there is one: to be called before anything else is printed. */
void tsi_console_clear(void);

/* "tristar: ..." on stderr, unless the program is mute: where another process says the same. */
void tsi_console_mute(bool mute);
bool tsi_console_is_mute(void);
__attribute__((format(printf, 1, 2))) void tsi_console_error(const char *format, ...);
