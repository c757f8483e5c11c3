/* Chooses formats and ways of rectangles: see block_choice.h. */
#include "codelets/cpu/rows/block_choice.h"

#include <string.h>

#include "codelets/cpu/rows/blocks.h"

typedef struct thresholds {
  const char *isa;
  char scalar;
  bool narrow;       /* where 16 bits can count the columns */
  double lanes_from; /* entries of a row that has some */
} thresholds;

static const thresholds table[] = {
#include "codelets/cpu/rows/block_thresholds.h"
};
enum { LENGTH = sizeof table / sizeof *table };

static const thresholds *thresholds_of(char scalar, const char *isa) {
  const thresholds *base = &table[0];
  for (int k = 0; k < LENGTH; k++) {
    if (table[k].scalar != scalar) continue;
    if (strcmp(table[k].isa, isa) == 0) return &table[k];
    if (strcmp(table[k].isa, "base") == 0) base = &table[k];
  }
  return base;
}

tsi_block_choice tsi_block_choose(char scalar, const char *isa, const tsi_block_shape *shape) {
  const thresholds *t = thresholds_of(scalar, isa);
  if (shape->filled == 0) return (tsi_block_choice){false, false};
  return (tsi_block_choice){.narrow = t->narrow && shape->columns <= TSI_SHORT_COLUMNS,
                            .lanes = (double)shape->entries / shape->filled >= t->lanes_from};
}
