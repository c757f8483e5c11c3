/* What StarPU would take amiss in its surroundings: for much of that it ends the program, so it is looked at
 * before StarPU is started.
 *
 * Reads   the environment variables STARPU_* and those that name StarPU's folder, the file system.
 * Writes  the folders that StarPU would make itself; for a moment a file of 64 KiB, where StarPU would write.
 * Not checked: what StarPU only warns of, and values that are numbers but make no sense. */
#pragma once

#include "runtime/base/env.h"

/* The folder in which StarPU makes its folder .starpu, as StarPU 1.3 and 1.4 choose it. */
const char *tsi_starpu_home(void);
/* The name that StarPU's files of this machine bear; size bytes, cut and terminated. */
void tsi_starpu_host(char *host, size_t size);

/* Calls `tell` with a text for each thing that would end the program in starpu_init, or would make it start
 * something else than what was asked for; returns how many there are. */
int tsi_starpu_defects(void (*tell)(void *arg, const char *text), void *arg);

/* Those of the folders of its performance models alone. */
int tsi_starpu_folder_defects(void (*tell)(void *arg, const char *text), void *arg);

/* Errors: RUNTIME, with the first of them as the message. */
TRISTAR_CHECKED tristar_status tsi_starpu_check_environment(const tsi_env *env);
