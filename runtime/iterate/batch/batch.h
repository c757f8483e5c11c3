/* Systems with the same pattern, factored and solved side by side: see tristar_batch.h.
 *
 * Job. Store the structure of the factors, and the orders and scales of the typical values. Run groups of
 * systems through the kernels (codelets/cpu/rows/batch.h), shared by a crew. Solve systems whose solutions
 * fail the test one by one.
 *
 * Order. The user's row i is row row_place[i] of the factored matrices, the user's column i their column
 * column_place[i]. This is the order of the factor of the typical values, with the interchanges inside its
 * panels.
 *
 * Reads   the user's values, b.   Writes  stored factors, x, statistics.
 * Invariants
 *   - the structure (codelets/cpu/rows/batch.h) does not change
 *   - group g consists of the systems g * lanes .. (g + 1) * lanes - 1; surplus lanes of the last group hold
 *     copies of the last system
 *   - a system has a plan of its own if its values do not suit the common pivots */
#pragma once

#include "codelets/cpu/rows/batch.h"
#include "runtime/context/context.h"
#include "runtime/matrix/pattern.h"
#include "tristar_batch.h"

/* A system whose factors the batch stores. */
typedef struct tsi_batch_system {
  tristar_status status;
  tristar_factor_t *factor; /* own factor; NULL: its factors are in the lanes of its group */
  tristar_plan_t *plan;
} tsi_batch_system;

/* Matrix and factors of a group, with one value for each lane in place of each number. */
typedef struct tsi_batch_group {
  void *a;
  tsi_batch_factors factors;
} tsi_batch_group;

struct tristar_batch_s {
  tristar_t *ts;
  tristar_batch_options options;
  double tolerance;
  tristar_analysis_t *analysis; /* of the typical values; NULL: the user has several entries at one place */
  tsi_pattern *pattern;
  const tsi_batch_kernels *kernels;
  tsi_batch_structure structure;
  tsi_count *row_place, *column_place; /* n each */
  double *row_scale, *scale;      /* n each, for row k and column k of the factored matrices; NULL: ones */
  bool symmetric;                 /* L D L^T: orders and scales of rows and columns are the same */
  bool units_apart;               /* Scales differ so much that errors of rows are measured in both units. */
  tsi_count *place;               /* position in structure.a of each entry of the pattern */
  tsi_count *image;               /* position of its mirror image, or TSI_NONE; NULL: GENERAL */
  double *entry_scale;            /* for each entry of structure.a: scale of its row and column. NULL: ones */
  double least_value, most_value; /* The lanes store entries between these without loss. */
  bool out_of_range; /* A scale is out of the range of the scalars: all systems are solved one by one. */
  int64_t systems;   /* number of stored systems */
  tsi_batch_system *system;
  tsi_batch_group *group;
  double seconds; /* total time of all calls so far */
  atomic_bool busy;
  tristar_batch_stats stats;
};

/* Computes the structure from the orders. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_batch_find_structure(tristar_batch_t *batch);

/* Frees all stored systems and groups. */
void tsi_batch_drop_systems(tristar_batch_t *batch);

/* Allocates matrix and factors of a group; `group` owns them. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_batch_allocate_group(const tristar_batch_t *batch, tsi_batch_group *group);
void tsi_batch_release_group(tsi_batch_group *group);
