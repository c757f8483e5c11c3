/* Storage: copies of a factor's streams in fewer bytes, which the solves of a plan read instead of the
 * streams (tristar_plan_options.storage and .compress; codelets/cpu/stored.h, tiles.h).
 *
 * A copy is made with the plan, and again when the first solve finds that the factor has new values. With
 * options.releases, a copy takes over the factor's entries from the first panel to the last, and the memory
 * of copied entries is returned to the system piece by piece.
 *
 * Reads   a factor, and the panels of a plan, which live as long.
 * Writes  its own arrays, under its lock; factor->released.
 * Invariants
 *   - a stream is valid if it has the generation of the factor; its formats depend only on the options and
 *     the values, panel by panel
 *   - lower and upper streams exist where the factor has them
 *   - blocks hold the panels one after the other: a panel in tiles has a block of its own, which begins with
 *     its tiles */
#pragma once

#include <pthread.h>

#include "codelets/cpu/tiles.h"
#include "partition/cut/chunks.h"
#include "runtime/factor/factor.h"

/* Requested properties of the copies. */
typedef struct tsi_storage_options {
  tsi_format format; /* Format of all panels that it can hold. */
  double tolerance;  /* Tolerance of panels in tiles; 0: no tiles. */
  bool releases;     /* Release the entries of the factor. */
  const char *isa;   /* As for tsi_kernels_select. */
} tsi_storage_options;

/* Memory of the copy of a stream. */
typedef struct tsi_storage_blocks {
  char **block;
  tsi_count count, capacity;
} tsi_storage_blocks;

/* Bytes of the copies and of the factor; number of panels in each format, without those in tiles. */
typedef struct tsi_storage_figures {
  double bytes, full_bytes;
  int64_t panels[TSI_FORMATS];
  int64_t tiled;                        /* Panels in tiles. */
  int64_t tiles, products;              /* Tiles; tiles of low rank. */
  double tiled_bytes, tiled_full_bytes; /* Bytes of rectangles in tiles; bytes of these in the factor. */
  double product_entries;               /* Entries of tiles of low rank, as the factor stores them. */
  double rank_share; /* Mean rank of products over the largest possible, weighted by these entries. */
} tsi_storage_figures;

typedef struct tsi_storage {
  tristar_factor_t *factor;
  pthread_mutex_t lock;
  tsi_storage_options options;
  tsi_format plain; /* Format of panels that are not in tiles; depends on the tolerance, too. */
  const tsi_chunks *chunks[2];
  tsi_storage_blocks blocks[2];
  tsi_kernels sweeps;   /* Kernels for the streams. */
  int64_t generation;   /* Generation of the copied values; 0: none yet. */
  tsi_stored stream[2]; /* Lower, upper; panel NULL: the factor has none. */
  tsi_storage_figures figures;
} tsi_storage;

/* Options of the copies for the options of a plan. */
tsi_storage_options tsi_storage_requested(const tristar_plan_options *options, const char *isa);
/* Do the solves of such a plan read copies? */
static inline bool tsi_storage_is_requested(const tristar_plan_options *options) {
  return options->storage != TRISTAR_STORAGE_FULL || options->compress > 0;
}
/* Name of the storage in messages; a text of the calling thread. */
const char *tsi_storage_words(const tristar_plan_options *options);

/* Bytes of an entry of a factor in that format. */
size_t tsi_storage_entry_bytes(const tristar_factor_t *factor, tristar_storage storage);

/* Copies the streams of a factor. panel: panels of the lower and of the upper structure, as the kernels
 * receive them. chunks: the cut of these panels. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_storage_create(tristar_factor_t *factor,
                                                  const tsi_storage_options *options,
                                                  const tsi_panel *const panel[2],
                                                  const tsi_chunks *const chunks[2], tsi_storage **out);
void tsi_storage_destroy(tsi_env *env, tsi_storage **storage);

/* Copies the present values of the factor, unless this was done. Not while the factor receives new values.
 * With options.releases, nothing else may read the factor's entries meanwhile. Errors: MEMORY; STALE (another
 * copy has taken the entries over). */
TRISTAR_CHECKED tristar_status tsi_storage_prepare(tsi_storage *storage);

/* Returns the status of a call. If a failure has left the factor without entries, the message names the
 * remedy. */
TRISTAR_CHECKED tristar_status tsi_storage_explain(const tristar_factor_t *factor, tristar_status status);

/* Releases the entries of the factor, as with options.releases from the beginning. The copy must be valid,
 * and nothing else may read the entries. */
void tsi_storage_release_factor(tsi_storage *storage);

/* Statistics of the last copy. shared: another thread may copy new values meanwhile. */
tsi_storage_figures tsi_storage_describe(tsi_storage *storage, bool shared);

/* Errors: UNSUPPORTED (narrower formats do not support such a factor or plan). */
TRISTAR_CHECKED tristar_status tsi_storage_check(const tristar_factor_t *factor,
                                                 const tristar_plan_options *options);
