/* Dense operations of emulated devices (emulated_dense.c), and how to make them fail. */
#pragma once

#include "codelets/gpu/tables/dense.h"

extern const tsi_gpu_dense emulated_dense_s, emulated_dense_d, emulated_dense_c, emulated_dense_z;

/* Makes the call-th call from now on fail; 0: none. Transfers of fronts count as calls. */
void emulated_dense_fail(long long call);
long long emulated_dense_calls(void); /* number of calls since emulated_dense_fail */
int emulated_dense_open(void);        /* number of open queues */
/* Counts a transfer. Returns its error, or 0. */
int emulated_dense_transfer(void);
#define EMULATED_DENSE_FAILED 77
