/* Signals that end the program, before which something is to be done. */
#pragma once

#include <stdbool.h>

/* Has a function called by the handler of HUP, INT, QUIT, TERM and PIPE, but of those that the program was
 * told to ignore (nohup); the signal then does what it does by default. One function, which may do only what
 * handlers of signals may; a later call replaces it. */
void tsi_before_signals(void (*act)(void));

/* From now on the first SIGINT (Ctrl-C) is noted, and the second one ends the program, unless something else
 * was to happen with it. */
void tsi_note_interrupts(void);
bool tsi_interrupted(void);
