/* All kernels of a scalar type that the library links, except those of the sweep, in one translation unit.
 * The compiler starts a dozen programs for each unit, which take as long as compiling these kernels. */
#include "codelets/gpu/panel.gpu.h" /* first: it marks functions for devices */

#include "codelets/gpu/fsai.cu"
#include "codelets/gpu/rows.cu"
#include "codelets/gpu/spmv.cu"
#include "codelets/gpu/variants.cu"
