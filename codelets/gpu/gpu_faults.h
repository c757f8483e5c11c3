/* Faults that tests plant in GPU kernels, to see that they are found: gpu_fault(kind) is false on a device.
 */
#ifndef TSI_CODELETS_GPU_GPU_FAULTS_H
#define TSI_CODELETS_GPU_GPU_FAULTS_H

typedef enum gpu_fault_kind {
  GPU_NO_FAULT,
  GPU_FAULT_BARRIER, /* a barrier is missing */
  GPU_FAULT_FLAG,    /* the last flag is not awaited */
  GPU_FAULT_LANE,    /* sums take a wrong lane */
  GPU_FAULT_TAIL,    /* the last row block is taken for one row less than it has */
  GPU_FAULT_FENCE,   /* flags are raised without a fence */
  GPU_FAULTS
} gpu_fault_kind;

#endif
