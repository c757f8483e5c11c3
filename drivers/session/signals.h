/* Actions before signals end the program. */
#pragma once

#include <stdbool.h>

/* Installs a function that the handler of HUP, INT, QUIT, TERM and PIPE calls before the default action of
 * the signal. Ignored signals (nohup) stay ignored. The function may do only what signal handlers may do; a
 * later call replaces it. */
void tsi_before_signals(void (*act)(void));

/* From now on the first SIGINT (Ctrl-C) is recorded, and the second one ends the program. Has no effect if
 * SIGINT is ignored or has a handler. */
void tsi_note_interrupts(void);
bool tsi_interrupted(void);
