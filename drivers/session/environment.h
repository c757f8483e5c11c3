/* Prepares the environment of StarPU before it starts.
 *
 * Reads   the command line, the environment, the folder of StarPU's performance models.
 * Writes  variables of this process:
 *   - STARPU_NCPU and STARPU_SCHED, if --workers and --sched are given: options overrule variables
 *   - STARPU_HOME, if StarPU could not store its performance models and would abort: a private folder in the
 *     folder of temporary files; a warning on stderr reports it
 *   - OPENBLAS_CORETYPE, if OpenBLAS does not recognize the processor */
#pragma once

#include "drivers/session/options.h"

/* If OpenBLAS takes the processor for one without AVX2, restarts this program with OPENBLAS_CORETYPE, which
 * OpenBLAS reads before main. Returns if a restart is not necessary or not possible. */
void tsi_environment_restart(char **argv);

/* Prepares the environment for a command that may start StarPU. Writes to settings->environment what is wrong
 * with StarPU's folder, and which folder replaces it. The library reports defects that remain. */
void tsi_environment_prepare(tsi_settings *settings);
