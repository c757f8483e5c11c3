/* Signals that end the program, before which something is to be done. */
#pragma once

/* Has a function called by the handler of HUP, INT, QUIT, TERM and PIPE, but of those that the program was
 * told to ignore (nohup); the signal then does what it does by default. One function, which may do only what
 * handlers of signals may; a later call replaces it. */
void tsi_before_signals(void (*act)(void));
