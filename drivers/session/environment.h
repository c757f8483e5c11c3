/* The environment that StarPU will see, made ready before it is started.
 *
 * Reads   the command line, the environment, the folder of StarPU's performance models.
 * Writes  variables of this process:
 *   - STARPU_NCPU and STARPU_SCHED, where --workers and --sched say something: they come first
 *   - STARPU_HOME, where StarPU could not keep its performance models and would abort: a private folder for
 *     temporary files; warnings on stderr say so
 *   - OPENBLAS_CORETYPE, where OpenBLAS does not know the processor */
#pragma once

#include "drivers/session/options.h"

/* Starts this program again with OPENBLAS_CORETYPE where OpenBLAS, which reads it before main, takes the
 * processor for one without AVX2. Goes on if that is not so, or not possible. */
void tsi_environment_restart(char **argv);

/* For a command that may start StarPU. settings->environment says what was wrong with its folder and
 * what serves instead. What is still wrong then the library tells. */
void tsi_environment_prepare(tsi_settings *settings);
