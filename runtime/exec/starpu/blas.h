/* One thread for OpenBLAS while tasks run.
 *
 * Tasks call BLAS from all workers; a BLAS that starts its own threads would oversubscribe the cores.
 * OpenBLAS has one global number of threads: it is set to one when the first user comes and restored when the
 * last one leaves. The program's own BLAS calls in between are single-threaded too. */
#pragma once

#include "runtime/base/env.h"

void tsi_blas_acquire(void);
void tsi_blas_release(void);

/* Has OpenBLAS map its buffers now, one for each of so many threads, and for those who use it already: where
 * its first call finds no memory for them, OpenBLAS 0.3.21 asks again for ever. They stay in its pool. To be
 * called before these threads call BLAS. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_blas_reserve(const tsi_env *env, int threads);

/* Does OpenBLAS take this processor for one without AVX2, as it does with processors that are younger than it
 * is? Factorizations take two times as long then. *took: what it takes it for; *better: the value of
 * OPENBLAS_CORETYPE that serves. Not if that variable is set: somebody wants it so. */
bool tsi_blas_mistaken(const char **took, const char **better);
