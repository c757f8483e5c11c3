/* Layouts of distributed solves, and what a solve sends with them. */
#include "runtime/base/env.h"

void tristar_layout_init(tristar_layout *layout) {
  memset(layout, 0, sizeof *layout);
  layout->px = layout->py = layout->pz = 1;
  layout->algorithm = TRISTAR_ALGORITHM_NEW;
  layout->map = TRISTAR_MAP_SUBTREE;
  layout->tree = TRISTAR_TREE_BINARY;
}
