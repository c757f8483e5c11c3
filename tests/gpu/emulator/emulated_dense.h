/* Dense operations of emulated devices (emulated_dense.c), and how to make them fail. */
#pragma once

#include "codelets/gpu/tables/dense.h"

extern const tsi_gpu_dense emulated_dense_s, emulated_dense_d, emulated_dense_c, emulated_dense_z;

/* The call that fails from now on, counted from 1; 0: none. Transfers of fronts are calls, too. */
void emulated_dense_fail(long long call);
long long emulated_dense_calls(void); /* since then */
int emulated_dense_open(void);        /* queues that were not closed */
/* A transfer is made: its error. */
int emulated_dense_transfer(void);
#define EMULATED_DENSE_FAILED 77
