/* The fields of a sparse approximate inverse, for its .c file and for tests: see fsai.h. */
#pragma once

#include "codelets/cpu/rows/sparse.h"
#include "runtime/context/crew.h"
#include "runtime/matrix/slices.h"
#include "runtime/iterate/precond/fsai.h"
#include "runtime/iterate/precond/fsai_nodes.h"
#include "runtime/iterate/precond/placed_products.h"

/* G_U^T and G_L^T, in the order of a product. */
typedef struct tsi_fsai_transposes {
  tsi_sliced down, up;
} tsi_fsai_transposes;

struct tsi_fsai {
  tristar_t *ts;
  tristar_precond_options options;
  tsi_index n;
  char scalar;
  const tsi_sparse_kernels *sparse;
  tsi_fsai_nodes nodes; /* without nodes, as for a pair: rows are computed one by one */
  tsi_entries start;    /* Static patterns until G is computed. ptr NULL: the diagonals, or G is computed. */
  tsi_entries lower;    /* G, or G_L; items: values; ptr NULL: not computed yet */
  bool pair;
  void *upper; /* a pair: values of the columns of G_U, in the order of the rows of G_L; NULL: not computed
                  yet */
  _Atomic(tsi_fsai_transposes *) transposes; /* a pair; NULL: not made yet */
  tsi_placed_products *on_device;            /* both products; NULL: they run on cores */
  tsi_entries device_upper;                  /* G^H or G_U by rows, for on_device */
  /* for products on cores */
  const tsi_sliced_kernels *kernels;
  tsi_sliced down, up; /* G, G^H; for a pair G_L, G_U */
  tsi_crew crew;
  atomic_bool busy;  /* the crew and `between` are in use */
  void *between;     /* n x columns */
  tsi_index columns; /* number of columns that a product processes at a time */
};
