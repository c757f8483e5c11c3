/* Subtrees of a factor that devices have: what all plans that put the same subtree on a device share.
 *
 * Job. A plan takes each of its subtrees on devices here, and gives it back when it ends. The first plan to
 * take one cuts it and registers its data with StarPU; panels cross a device's bus once, at the first solve
 * that needs them there, and stay as long as a plan uses them and the device has room. StarPU drops what it
 * needs room for, as main memory has it too, and brings it again.
 *
 * Reads   the factor's structure and streams.
 * Writes  its own list; StarPU's copies on devices.
 * Invariants, under the lock
 *   - a resident is in the list as long as plans use it, which it counts; two of them never have the same
 * panels and the same cut
 *   - devices have values of `generation` of the factor; tsi_residents_follow makes that the present one
 *   - `from` has the interchanges of that generation */
#pragma once

#include <pthread.h>

#include "runtime/exec/device/subtree_tables.h"
#include "runtime/exec/starpu/device_data.h"

typedef struct tsi_resident {
  struct tsi_resident *next;
  int plans;
  tsi_device_options options;
  int sides;                  /* 2: U has rows of its own, so tables and border too */
  tsi_subtree_tables *cut[2]; /* of sides; the chunk in it is that of the plan which took it first */
  double seconds[2]; /* with L forward, with U or L backward: of a sweep with one right-hand side, by the
                        model of devices */
  tsi_device_data *values[2], *from, *inverse; /* values: lower, upper; NULL: there is none */
  tsi_device_data *tables[2];                  /* of sides */
} tsi_resident;

/* Which side a triangle's tables are on. */
static inline int tsi_resident_side(const tsi_resident *resident, bool upper) {
  return upper ? resident->sides - 1 : 0;
}

/* ---- One of them, of a factor or of a process's share of one ------------------------------------------ */

/* What it is made of. All but the structure outlives it, in main memory. */
typedef struct tsi_resident_source {
  int sides;
  tsi_subtree_source subtree[2]; /* of sides; the same chunks and columns */
  tsi_index chunk;               /* of their chunks */
  tsi_index column;              /* its first, in `from` and `inverse` */
  size_t scalar_bytes;
  void *stream[2]; /* lower, upper; NULL: there is none */
  tsi_index *from; /* interchanges as permutations; NULL: none */
  void *inverse;   /* D^-1; NULL: none */
} tsi_resident_source;

/* StarPU runs. Errors: those of tsi_subtree_tables_create. */
TRISTAR_CHECKED tristar_status tsi_resident_create(tsi_env *env, const tsi_resident_source *source,
                                                   const tsi_device_options *options, tsi_resident **out);
/* Not from inside a StarPU task. */
void tsi_resident_destroy(tsi_resident **resident);
/* Its values are what main memory has now. Not from inside a StarPU task. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_resident_renew(tsi_env *env, const tsi_resident *resident);

/* ---- Those of a factor -------------------------------------------------------------------------------- */

typedef struct tsi_residents {
  pthread_mutex_t lock; /* guards all below */
  tsi_resident *first;
  tsi_index *from; /* n: interchanges as permutations; NULL: there are none, or nobody has asked */
  int64_t generation;
} tsi_residents;

/* Errors: RUNTIME; nothing is held then. */
TRISTAR_CHECKED tristar_status tsi_residents_init(tsi_env *env, tsi_residents *residents);
/* No plan uses any. */
void tsi_residents_finish(tsi_env *env, tsi_residents *residents);

/* The resident that has a chunk of these chunks, of each side of the factor, cut like this. StarPU runs.
 * Errors: those of tsi_subtree_tables_create and tsi_residents_follow. */
TRISTAR_CHECKED tristar_status tsi_resident_take(struct tristar_factor_s *factor,
                                                 const tsi_chunks *const chunks[2], tsi_index chunk,
                                                 const tsi_device_options *options, tsi_resident **out);
/* Not from inside a StarPU task. */
void tsi_resident_give_back(struct tristar_factor_s *factor, tsi_resident **resident);

/* Devices forget the values of an older factorization. No task uses them. Errors: RUNTIME; UNSUPPORTED (from
 * inside a StarPU task, which cannot wait for transfers). */
TRISTAR_CHECKED tristar_status tsi_residents_follow(struct tristar_factor_s *factor);
