/* Saved plans on the command line. `tristar solve --save FILE` writes a plan; `tristar solve FILE` or --load
 * FILE uses it in place of a matrix. With --layout a factor is saved instead, in files whose names begin with
 * PREFIX (tristar_distributed_save).
 *
 * Reads and writes a tsi_session. */
#pragma once

#include "drivers/session/session.h"

/* Does the operand name a file that begins like a saved object? */
bool tsi_session_is_saved(const tsi_session *s);
/* Is the operand the prefix of the files of ranks, and no file itself? */
bool tsi_session_is_saved_set(const tsi_session *s);
/* With --load: fails if the operand is neither of these. */
bool tsi_session_check_load(tsi_session *s);
/* Fails for options that would change a saved matrix. */
bool tsi_session_check_saved(tsi_session *s);
/* Loads the plan of such a file, with factor and matrix. Replaces tsi_session_read, analyze, factor and plan.
 * Options that would change the matrix fail. */
bool tsi_session_load(tsi_session *s);
/* Saves the plan if --save is given. */
bool tsi_session_save(tsi_session *s);
