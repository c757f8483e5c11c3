/* Checks of StarPU's environment before it is started, because StarPU ends the program after many errors.
 *
 * Reads   the environment variables STARPU_* and those with StarPU's folder, the file system.
 * Writes  the folders that StarPU would create; for a moment a file of 64 KiB, where StarPU would write; an
 * empty file bus/HOST.tristar-lock. Not checked: defects of which StarPU only warns. */
#pragma once

#include "runtime/base/env.h"

/* The folder in which StarPU creates its folder .starpu, as chosen by StarPU 1.3 and 1.4. */
const char *tsi_starpu_home(void);
/* The host name in StarPU's files of this machine; size bytes, cut and terminated. */
void tsi_starpu_host(char *host, size_t size);

/* Calls `report` with a text for each defect that would end the program in starpu_init, or would start StarPU
 * with other settings than requested. Returns the number of defects. */
int tsi_starpu_defects(void (*report)(void *arg, const char *text), void *arg);

/* The same, only for the folders of its performance models. */
int tsi_starpu_folder_defects(void (*report)(void *arg, const char *text), void *arg);

/* Errors: RUNTIME, with the first defect as the message. */
TRISTAR_CHECKED tristar_status tsi_starpu_check_environment(const tsi_env *env);

/* Locks the files of StarPU that describe this machine: for this process alone if one of them is missing, so
 * that StarPU will measure the machine and write them, else together with other processes that read them.
 * StarPU itself reads files that another process has not completed, and ends the program then. Not covered:
 * StarPU measures again because the number of devices differs from the one in its files. Returns a descriptor
 * for tsi_starpu_unlock_files, or -1 (no lock) if the lock file cannot be opened. */
int tsi_starpu_lock_files(void);
void tsi_starpu_unlock_files(int fd);
