/* The tables of the kernels that are compiled once for each scalar type. */
#include "codelets/cpu/front.h"
#include "codelets/cpu/incomplete.h"
#include "codelets/cpu/node.h"
#include "codelets/cpu/sparse.h"

#define SELECT(table)                                                                                        \
  extern const table table##_s, table##_d, table##_c, table##_z;                                             \
  const table *table##_select(char scalar) {                                                                 \
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
SELECT(tsi_front_kernels)
SELECT(tsi_incomplete_kernels)
SELECT(tsi_node_kernels)
SELECT(tsi_sparse_kernels)
