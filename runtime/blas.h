/* One thread for OpenBLAS while tasks run.
 *
 * Tasks call BLAS from all workers; a BLAS that starts its own threads would oversubscribe the cores.
 * OpenBLAS has one global number of threads: it is set to one when the first user comes and restored when the
 * last one leaves. The program's own BLAS calls in between are single-threaded too. */
#ifndef TSI_RUNTIME_BLAS_H
#define TSI_RUNTIME_BLAS_H

void tsi_blas_acquire(void);
void tsi_blas_release(void);

#endif
