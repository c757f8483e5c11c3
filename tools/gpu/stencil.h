/* A Hermitian positive definite matrix for measurements, by rows with both triangles: each point of a grid of
 * k x k x k points is coupled with its six neighbours, by numbers that are made up and all differ.
 *
 * Reads   nothing.   Writes  a csr (problem.h), which is the caller's. */
#ifndef TSI_TOOLS_GPU_STENCIL_H
#define TSI_TOOLS_GPU_STENCIL_H

#include "tools/gpu/problem.h"

csr stencil_create(tsi_index k, const typed *t);
void stencil_free(csr *a);

#endif
