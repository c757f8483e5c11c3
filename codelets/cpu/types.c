/* The tables of kernels that are compiled once for each scalar type. */
#include "codelets/cpu/front.h"
#include "codelets/cpu/low_rank.h"
#include "codelets/cpu/rows/incomplete.h"
#include "codelets/cpu/node.h"
#include "codelets/cpu/rows/sparse.h"
#include "codelets/cpu/selected.h"
#include "codelets/cpu/stored.h"
#include "codelets/cpu/threshold.h"
#include "codelets/cpu/tiles.h"

#define SELECT(type, table)                                                                                  \
  extern const type table##_s, table##_d, table##_c, table##_z;                                              \
  const type *table##_select(char scalar) {                                                                  \
    switch (scalar) {                                                                                        \
    case 's':                                                                                                \
      return &table##_s;                                                                                     \
    case 'd':                                                                                                \
      return &table##_d;                                                                                     \
    case 'c':                                                                                                \
      return &table##_c;                                                                                     \
    case 'z':                                                                                                \
      return &table##_z;                                                                                     \
    default:                                                                                                 \
      return NULL;                                                                                           \
    }                                                                                                        \
  }
SELECT(tsi_front_kernels, tsi_front_kernels)
SELECT(tsi_incomplete_kernels, tsi_incomplete_kernels)
SELECT(tsi_node_kernels, tsi_node_kernels)
SELECT(tsi_rank_kernels, tsi_rank_kernels)
SELECT(tsi_selected_kernels, tsi_selected_kernels)
SELECT(tsi_sparse_kernels, tsi_sparse_kernels)
SELECT(tsi_stored_kernels, tsi_stored_kernels)
SELECT(tsi_threshold_kernels, tsi_threshold_kernels)
SELECT(tsi_tiling_kernels, tsi_tiling_kernels)
SELECT(tsi_node_kernels, tsi_row_node_kernels)
