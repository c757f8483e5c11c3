/* All kernels of a scalar type but those of the sweep, which are what the library links: in one translation
 * unit, as a compiler of devices starts a dozen programs for each, which take as long as these kernels. */
#include "codelets/gpu/panel.gpu.h" /* first: it marks functions for devices */

#include "codelets/gpu/fsai.cu"
#include "codelets/gpu/rows.cu"
#include "codelets/gpu/spmv.cu"
#include "codelets/gpu/variants.cu"
