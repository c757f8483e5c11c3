/* Saved plans on the command line: `tristar solve --save FILE` writes one, and solve takes it in place of a
 * matrix, also as --load FILE. With --layout that is a factor, in files that begin with PREFIX
 * (tristar_distributed_save).
 *
 * Reads and writes a tsi_session. */
#pragma once

#include "drivers/session/session.h"

/* Is the operand a file that begins as a saved object does? */
bool tsi_session_is_saved(const tsi_session *s);
/* Is it the prefix of the files of ranks, and no file itself? */
bool tsi_session_is_saved_set(const tsi_session *s);
/* With --load: fails unless the operand is one of these. */
bool tsi_session_check_load(tsi_session *s);
/* Fails for options that would change a saved matrix. */
bool tsi_session_check_saved(tsi_session *s);
/* Loads the plan of such a file, with factor and matrix: what tsi_session_read, analyze, factor and plan do
 * together. Options that would change the matrix fail. */
bool tsi_session_load(tsi_session *s);
/* With --save. */
bool tsi_session_save(tsi_session *s);
