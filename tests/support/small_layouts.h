/* Layouts with chunks so small that little matrices have many. */
#pragma once

#include "partition/layout/layout.h"

/* variant: bit 0 is the map; bit 1 is set if the shared part of grids is replicated. */
static inline tsi_layout_options small_layout(tsi_index px, tsi_index py, tsi_index pz, int variant) {
  return (tsi_layout_options){.px = px,
                              .py = py,
                              .pz = pz,
                              .map = variant & 1 ? TSI_MAP_CYCLIC : TSI_MAP_SUBTREE,
                              .replicated = (variant & 2) != 0,
                              .floor_bytes = 400,
                              .ceiling_bytes = 4000,
                              .slice_bytes = 1000,
                              .scalar_bytes = 8};
}
