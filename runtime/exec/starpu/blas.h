/* One thread for OpenBLAS while tasks run.
 *
 * Tasks call BLAS from all workers, so a BLAS with its own threads would oversubscribe the cores. OpenBLAS
 * has one global number of threads: the first user sets it to one, and the last user restores it. BLAS calls
 * of the program in between are single-threaded, too. */
#pragma once

#include "runtime/base/env.h"

void tsi_blas_acquire(void);
void tsi_blas_release(void);

/* Makes OpenBLAS map its buffers now, one for each of `threads` threads and for its present users. If its
 * first call finds no memory for them, OpenBLAS 0.3.21 retries forever. The buffers stay in its pool. Call it
 * before these threads call BLAS. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_blas_reserve(const tsi_env *env, int threads);

/* Whether OpenBLAS treats this processor as one without AVX2, as it does with processors newer than itself;
 * factorizations then take twice as long. *took: the processor that OpenBLAS assumes; *better: the right
 * value of OPENBLAS_CORETYPE. False if this variable is set, as this is the user's choice. */
bool tsi_blas_mistaken(const char **took, const char **better);
