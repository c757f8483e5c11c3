/* A triangle by rows on a device: the steps of its solves, from b in a workspace to x in the same rows.
 *
 * Job. Create the device tables of a triangle (exec/device/device_rows.h) and its values in their order,
 * register both with StarPU, and start the sweep of a solve there. A plan solves with such a triangle like
 * with one subtree on a device: the cores read b into the workspace, the device solves, the cores write x. So
 * b and x are permuted, scaled and combined as in any other solve.
 *
 * Data. A triangle has, for each needed sweep: tables, values, the inverse diagonal, and the row of the
 * workspace of each row of the tables. They are sent to the device once; values again after the factor has
 * new ones. An execution has x, which is its workspace and is sent to the device and back in each solve; and
 * a workspace, flags and counters, which exist only on the device.
 *
 * Reads   the lines, values and cut of a triangle by rows.
 * Writes  its own arrays, under its lock; the workspace of executions.
 * Invariants
 *   - the sweep of a direction is immutable once it exists, except for its values
 *   - the order of sums depends only on pattern and cut
 *   - the data of an execution belongs to its present workspace and stride */
#pragma once

#include "runtime/exec/steps/execution.h"
#include "runtime/rows/row_factor.h"

typedef struct tsi_device_triangle tsi_device_triangle;
typedef struct tsi_triangle_data tsi_triangle_data; /* data of an execution */

typedef struct tsi_device_triangle_options {
  char scalar;
  int device;            /* number, from 0 */
  double task_seconds;   /* seconds of a task on the device, before it works */
  double phase_seconds;  /* seconds of a phase of the tables, before it streams */
  double bandwidth;      /* bytes per second that the device reads */
  double memory;         /* largest number of bytes on the device; 0: unlimited */
  tsi_index rhs, solves; /* right-hand sides of a solve, and concurrent solves, that must fit */
} tsi_device_triangle_options;

/* Bytes on the device. */
typedef struct tsi_device_triangle_bytes {
  double factor, tables; /* of existing sweeps */
  double workspace;      /* per solve in flight */
} tsi_device_triangle_bytes;

/* The reason why no triangle can be on a device of this build; NULL: it can. */
const char *tsi_device_triangle_obstacle(void);

/* Creates one sweep; the other one is created when it is needed. rows must exist longer than the triangle.
 * StarPU runs. *unfit: bytes of values that do not fit into the memory of the options; *out is NULL then.
 * Errors: TOO_LARGE, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_device_triangle_create(tsi_env *env, const tsi_row_factor *rows,
                                                          const tsi_device_triangle_options *options,
                                                          bool backward, int64_t generation, double *unfit,
                                                          tsi_device_triangle **out);
void tsi_device_triangle_destroy(tsi_device_triangle **triangle);

/* Bytes of the triangle. stride: scalars per row of the workspace. */
tsi_device_triangle_bytes tsi_device_triangle_weigh(const tsi_device_triangle *triangle, tsi_index stride);
/* Whether `solves` concurrent solves of `rhs` right-hand sides fit. */
bool tsi_device_triangle_fits(const tsi_device_triangle *triangle, tsi_index solves, tsi_index rhs);
double tsi_device_triangle_seconds(const tsi_device_triangle *triangle, bool backward);
int tsi_device_triangle_device(const tsi_device_triangle *triangle);

/* Prepares the sweep of a direction with the values of this generation of the factor. No solve of an older
 * generation is in flight. Errors: MEMORY (also of the device), TOO_LARGE, RUNTIME, UNSUPPORTED (inside a
 * StarPU task, which cannot wait for transfers). */
TRISTAR_CHECKED tristar_status tsi_device_triangle_prepare(tsi_device_triangle *triangle, bool backward,
                                                           int64_t generation);

/* Whether the data fits the present execution, for the sweep of a direction. */
bool tsi_triangle_data_serves(const tsi_triangle_data *data, const tsi_execution *execution, bool backward);
/* Creates the data of an execution whose workspace and stride are set, and replaces *data; the steps of the
 * execution then use it. The sweep is prepared; no tasks are recorded with the old data. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_triangle_data_create(tsi_device_triangle *triangle, bool backward,
                                                        tsi_execution *execution, tsi_triangle_data **data);
/* Destroys the data. Its tasks do not exist any more. */
void tsi_triangle_data_destroy(tsi_execution *execution, tsi_triangle_data **data);
