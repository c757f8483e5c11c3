/* Saved plans on the command line: `tristar solve --save FILE` writes one, and solve takes it in place of a
 * matrix.
 *
 * Reads and writes a tsi_session. */
#pragma once

#include "drivers/session/session.h"

/* Is the operand a file that begins as a saved object does? */
bool tsi_session_is_saved(const tsi_session *s);
/* Loads the plan of such a file, with factor and matrix: what tsi_session_read, analyze, factor and plan do
 * together. Options that would change the matrix fail. */
bool tsi_session_load(tsi_session *s);
/* With --save. */
bool tsi_session_save(tsi_session *s);
