/* All kernels for a factor, or matrix, in single precision and vectors in double, except those of the sweep:
 * see apart.cu. */
#include "codelets/gpu/panel.gpu.h" /* first: it marks functions for devices */

#include "codelets/gpu/spmv.cu"
