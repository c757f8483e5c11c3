/* A sparse approximate inverse, for its own file and for tests: see fsai.h. */
#pragma once

#include "codelets/cpu/rows/sparse.h"
#include "runtime/context/crew.h"
#include "runtime/matrix/slices.h"
#include "runtime/iterate/precond/fsai.h"
#include "runtime/iterate/precond/fsai_nodes.h"
#include "runtime/iterate/precond/placed_products.h"

/* G_U^T and G_L^T, in the order in which a product takes them. */
typedef struct tsi_fsai_transposes {
  tsi_sliced down, up;
} tsi_fsai_transposes;

struct tsi_fsai {
  tristar_t *ts;
  tristar_precond_options options;
  tsi_index n;
  char scalar;
  const tsi_sparse_kernels *sparse;
  tsi_fsai_nodes nodes; /* without any, as of a pair: row by row */
  tsi_entries start;    /* static patterns, until there is G; ptr NULL: diagonals, or there is G */
  tsi_entries lower;    /* G, or G_L; items: values; ptr NULL: not yet */
  bool pair;
  void *upper; /* of a pair: values of the columns of G_U, at the places of G_L's rows; NULL: not yet */
  _Atomic(tsi_fsai_transposes *) transposes; /* of a pair; NULL: not needed yet */
  tsi_placed_products *on_device;            /* both products; NULL: on the cores */
  tsi_entries device_upper;                  /* of these: G^H, or G_U, by rows */
  /* of products */
  const tsi_sliced_kernels *kernels;
  tsi_sliced down, up; /* G, G^H; of a pair G_L, G_U */
  tsi_crew crew;
  atomic_bool busy;  /* the crew and `between` are in use */
  void *between;     /* n x columns */
  tsi_index columns; /* that are multiplied with at a time */
};
