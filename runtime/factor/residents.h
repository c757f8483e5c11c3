/* Subtrees of a factor on devices, shared by all plans that put the same subtree on a device.
 *
 * Job. A plan takes each of its subtrees on devices here, and gives it back when it ends. The first plan that
 * takes a subtree cuts it and registers its data with StarPU. Panels are copied to a device once, at the
 * first solve that needs them there. They stay while a plan uses them and the device has enough memory.
 * StarPU evicts panels if it needs the memory, as main memory has them too, and copies them again when they
 * are needed.
 *
 * Reads   the factor's structure and streams.
 * Writes  its own list; StarPU's copies on devices.
 * Invariants, under the lock
 *   - a resident is in the list while plans use it; `plans` counts them. Two residents never have the same
 *     panels and the same cut.
 *   - devices have values of `generation` of the factor; tsi_residents_follow makes it the present one
 *   - `from` has the interchanges of that generation */
#pragma once

#include <pthread.h>

#include "runtime/exec/device/subtree_tables.h"
#include "runtime/exec/starpu/device_data.h"

typedef struct tsi_resident {
  struct tsi_resident *next;
  int plans;
  tsi_device_options options;
  int sides;                  /* 2: U has its own rows, and so its own tables and border. */
  tsi_subtree_tables *cut[2]; /* By side. The chunk in it belongs to the plan that took the resident first. */
  double seconds[2]; /* Seconds of a sweep with one right-hand side, by the model of devices: with L forward;
                        with U or L backward. */
  tsi_device_data *values[2], *from, *inverse; /* values: lower, upper; NULL: none. */
  tsi_device_data *tables[2];                  /* By side. */
} tsi_resident;

/* Side with the tables of a triangle. */
static inline int tsi_resident_side(const tsi_resident *resident, bool upper) {
  return upper ? resident->sides - 1 : 0;
}

/* ---- One resident, of a factor or of a process's share of one ------------------------------------------ */

/* Data from which a resident is made. All of it but the structure outlives the resident, in main memory. */
typedef struct tsi_resident_source {
  int sides;
  tsi_subtree_source subtree[2]; /* By side; the same chunks and columns. */
  tsi_index chunk;               /* Index of the chunk in them. */
  tsi_index column;              /* First column of it, in `from` and `inverse`. */
  size_t scalar_bytes;
  void *stream[2]; /* Lower, upper; NULL: none. */
  tsi_index *from; /* Interchanges as permutations; NULL: none. */
  void *inverse;   /* D^-1; NULL: none. */
} tsi_resident_source;

/* StarPU must run. Errors: those of tsi_subtree_tables_create. */
TRISTAR_CHECKED tristar_status tsi_resident_create(tsi_env *env, const tsi_resident_source *source,
                                                   const tsi_device_options *options, tsi_resident **out);
/* Not from inside a StarPU task. */
void tsi_resident_destroy(tsi_resident **resident);
/* Replaces its values on devices by those in main memory. Not from inside a StarPU task. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_resident_renew(tsi_env *env, const tsi_resident *resident);

/* ---- All residents of a factor ------------------------------------------------------------------------- */

typedef struct tsi_residents {
  pthread_mutex_t lock; /* Guards the fields below. */
  tsi_resident *first;
  tsi_index *from; /* n: interchanges as permutations; NULL: none, or not needed yet. */
  int64_t generation;
} tsi_residents;

/* After an error nothing is allocated. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_residents_init(tsi_env *env, tsi_residents *residents);
/* No plan may use a resident. */
void tsi_residents_finish(tsi_env *env, tsi_residents *residents);

/* Returns the resident of a chunk with this cut; chunks: one set for each side of the factor. StarPU must
 * run. Errors: those of tsi_subtree_tables_create and tsi_residents_follow. */
TRISTAR_CHECKED tristar_status tsi_resident_take(struct tristar_factor_s *factor,
                                                 const tsi_chunks *const chunks[2], tsi_index chunk,
                                                 const tsi_device_options *options, tsi_resident **out);
/* Not from inside a StarPU task. */
void tsi_resident_give_back(struct tristar_factor_s *factor, tsi_resident **resident);

/* Discards values of an older factorization on devices. No task may use them. Errors: RUNTIME; UNSUPPORTED
 * (from inside a StarPU task, which cannot wait for transfers). */
TRISTAR_CHECKED tristar_status tsi_residents_follow(struct tristar_factor_s *factor);
