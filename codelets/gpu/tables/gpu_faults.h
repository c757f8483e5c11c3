/* Faults that tests inject into GPU kernels, to verify that they are found. gpu_fault(kind) is false on a
 * device. */
#pragma once

typedef enum gpu_fault_kind {
  GPU_NO_FAULT,
  GPU_FAULT_BARRIER,      /* a barrier of the block is missing */
  GPU_FAULT_WARP_BARRIER, /* a barrier of the warp is missing */
  GPU_FAULT_FLAG,         /* the last flag is not awaited */
  GPU_FAULT_EPOCH,        /* flags of the launch before are awaited */
  GPU_FAULT_COUNT,        /* one predecessor of a supernode too few is counted */
  GPU_FAULT_FENCE,        /* flags are raised without a fence */
  GPU_FAULT_SCOPE,        /* flags are raised for the block only */
  GPU_FAULT_COUNTER,      /* the counter of tickets is reset before the last block has drawn */
  GPU_FAULT_LANE,         /* sums take a wrong lane */
  GPU_FAULT_TAIL,         /* the last row of the last row block is left out */
  GPU_FAULT_TILE,         /* the last right-hand sides are left out */
  GPU_FAULT_GATHER,       /* the last entry of a gather list is skipped */
  GPU_FAULT_OWNER,        /* the last off-row of a chunk is not copied from its owner; a sum of another PE is
                             read here */
  GPU_FAULT_SLICE,        /* the partial sums of the last slice are left out */
  GPU_FAULT_PIVOTS,       /* forward, the interchanges inside a panel are left out */
  GPU_FAULT_CONJUGATE,    /* x is not conjugated */
  GPU_FAULT_ADJOINT,      /* Hermitian 2 x 2 pivots are treated as symmetric */
  GPU_FAULT_SIGNAL,       /* flags are raised before the data is written */
  GPU_FAULT_SLOT,         /* data of another PE is read from the slot before its own */
  GPU_FAULT_BUFFER,       /* two messages share a buffer */
  GPU_FAULT_LOST,         /* the first flag for another PE is not raised */
  GPU_FAULT_ARRIVAL,      /* messages of other PEs are not awaited */
  GPU_FAULT_STALE,        /* messages of an earlier run are awaited */
  GPU_FAULT_REUSE,        /* an inbox is written again before its owner has read it */
  GPU_FAULT_TWICE,        /* sums of other PEs are added twice */
  GPU_FAULT_CHILD,        /* messages are sent to the PE after the child in the tree */
  GPU_FAULT_PART,         /* the last chunk of a message between grids is not added */
  GPU_FAULT_CLEAR,        /* a row for sums is not cleared */
  GPU_FAULT_HOME,         /* b is added by each PE that has a copy of its rows */
  GPU_FAULTS
} gpu_fault_kind;
