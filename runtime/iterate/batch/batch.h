/* Systems of one pattern, factored and solved side by side: see tristar_batch.h.
 *
 * Job. Keep the structure of the factors, the orders and scales of the typical values; run groups of systems
 * through the kernels (codelets/cpu/rows/batch.h), shared by a crew; solve by themselves the systems whose
 * solutions do not pass.
 *
 * Order. Row k of the factored matrices is the user's row row[k], their column k the user's column column[k]:
 * the order of the factor of the typical values, with the interchanges inside its panels.
 *
 * Reads   the user's values, b.   Writes  kept factors, x, statistics.
 * Invariants
 *   - the structure (codelets/cpu/rows/batch.h) does not change
 *   - group g has the systems g * lanes .. (g + 1) * lanes - 1; the lanes that the last group has too many
 *     hold the last system once more
 *   - a system has a plan of its own if its values do not suit the common pivots */
#pragma once

#include "codelets/cpu/rows/batch.h"
#include "runtime/context/context.h"
#include "runtime/matrix/pattern.h"
#include "tristar_batch.h"

/* A system that the batch has factors of. */
typedef struct tsi_batch_system {
  tristar_status status;
  tristar_factor_t *factor; /* of its own; NULL: lanes of its group have its factors */
  tristar_plan_t *plan;
} tsi_batch_system;

/* Lane numbers of a group. */
typedef struct tsi_batch_group {
  void *a;
  tsi_batch_factors factors;
} tsi_batch_group;

struct tristar_batch_s {
  tristar_t *ts;
  tristar_batch_options options;
  double tolerance;
  tsi_pattern *pattern;
  const tsi_batch_kernels *kernels;
  tsi_batch_structure structure;
  tsi_index *row, *column;   /* n */
  double *row_scale, *scale; /* n: of row row[k], of column column[k]; NULL: ones */
  bool symmetric;            /* L D L^T: orders and scales of rows and columns are the same */
  bool units_apart;          /* scales differ so much that errors of rows are measured in both units */
  tsi_count *source;         /* by entry of structure.a, see the kernel `load` */
  double *entry_scale;       /* the same: scale of its row and column */
  int64_t systems;           /* that are kept */
  tsi_batch_system *system;
  tsi_batch_group *group;
  double seconds; /* of all calls so far */
  atomic_bool busy;
  tristar_batch_stats stats;
};

/* The structure, from the orders. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_batch_find_structure(tristar_batch_t *batch);

/* Frees what is kept of systems. */
void tsi_batch_drop_systems(tristar_batch_t *batch);

/* Lane numbers of a group, which `group` owns. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_batch_allocate_group(const tristar_batch_t *batch, tsi_batch_group *group);
void tsi_batch_release_group(tsi_batch_group *group);
