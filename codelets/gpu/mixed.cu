/* All kernels of a factor, or matrix, in single precision on vectors in double but those of the sweep: see
 * apart.cu. */
#include "codelets/gpu/panel.gpu.h" /* first: it marks functions for devices */

#include "codelets/gpu/spmv.cu"
