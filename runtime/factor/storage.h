/* Storage: copies of a factor's streams in fewer bytes, which the solves of a plan read in the place of these
 * (tristar_plan_options.storage and .compress; codelets/cpu/stored.h, tiles.h).
 *
 * A copy is made with the plan, and again when the first solve finds that the factor has new values. A copy
 * that is made to last, while the factor's own entries are released, takes these over from the first panel to
 * the last: what is copied is given back to the system piece by piece.
 *
 * Reads   a factor, and the panels of a plan, which live as long.   Writes  its own arrays, under its lock;
 * factor->released.
 * Invariants
 *   - a stream is valid if the generation is that of the factor; its formats depend on what is wanted and on
 *     the values, panel by panel, and on nothing else
 *   - lower and upper streams exist where the factor has them
 *   - blocks hold the panels one after the other: a panel in tiles has a block of its own, which begins with
 *     its tiles */
#pragma once

#include <pthread.h>

#include "codelets/cpu/tiles.h"
#include "partition/cut/chunks.h"
#include "runtime/factor/factor.h"

/* What copies are to be like. */
typedef struct tsi_storage_options {
  tsi_format format; /* of all panels that it can hold */
  double tolerance;  /* of panels in tiles; 0: there are none */
  bool releases;     /* the entries of the factor */
  const char *isa;   /* as of tsi_kernels_select */
} tsi_storage_options;

/* The memory of a stream's copy. */
typedef struct tsi_storage_blocks {
  char **block;
  tsi_count count, room;
} tsi_storage_blocks;

/* Bytes of the copies, and of the factor; panels of each format, but for those in tiles. */
typedef struct tsi_storage_figures {
  double bytes, full_bytes;
  int64_t panels[TSI_FORMATS];
  int64_t tiled;                        /* panels in tiles */
  int64_t tiles, products;              /* tiles; those of low rank */
  double tiled_bytes, tiled_full_bytes; /* of rectangles in tiles; as the factor has them */
  double product_entries;               /* of tiles of low rank, as the factor has them */
  double rank_share;                    /* mean rank of products over the largest, weighed with these */
} tsi_storage_figures;

typedef struct tsi_storage {
  tristar_factor_t *factor;
  pthread_mutex_t lock;
  tsi_storage_options options;
  tsi_format plain; /* of panels that are not in tiles: also what the tolerance allows */
  const tsi_chunks *chunks[2];
  tsi_storage_blocks blocks[2];
  tsi_kernels sweeps;   /* of the streams */
  int64_t generation;   /* of the factor's values; 0: none yet */
  tsi_stored stream[2]; /* lower, upper; panel NULL: the factor has none */
  tsi_storage_figures figures;
} tsi_storage;

/* What the options of a plan call for. */
tsi_storage_options tsi_storage_wanted(const tristar_plan_options *options, const char *isa);
/* Do the solves of such a plan read copies? */
static inline bool tsi_storage_is_wanted(const tristar_plan_options *options) {
  return options->storage != TRISTAR_STORAGE_FULL || options->compress > 0;
}
/* Its name in messages; a text of the calling thread. */
const char *tsi_storage_words(const tristar_plan_options *options);

/* Bytes of an entry of a factor with that format. */
size_t tsi_storage_entry_bytes(const tristar_factor_t *factor, tristar_storage storage);

/* Copies the streams of a factor. panel: the panels of the lower, and of the upper structure, as the kernels
 * get them; chunks: how these are cut. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_storage_create(tristar_factor_t *factor,
                                                  const tsi_storage_options *options,
                                                  const tsi_panel *const panel[2],
                                                  const tsi_chunks *const chunks[2], tsi_storage **out);
void tsi_storage_destroy(tsi_env *env, tsi_storage **storage);

/* Copies the values that the factor has now, unless that was done. Not while the factor gets new ones. With
 * options.releases, nobody else reads the factor's entries meanwhile. Errors: MEMORY; STALE (another copy has
 * taken the entries over). */
TRISTAR_CHECKED tristar_status tsi_storage_prepare(tsi_storage *storage);

/* Releases the entries of the factor, as with options.releases from the beginning. The copy must be valid,
 * and nobody else reads the entries. */
void tsi_storage_release_factor(tsi_storage *storage);

/* Of the values that were copied last. shared: another thread may copy new ones meanwhile. */
tsi_storage_figures tsi_storage_describe(tsi_storage *storage, bool shared);

/* Errors: UNSUPPORTED (what narrower formats do not serve). */
TRISTAR_CHECKED tristar_status tsi_storage_check(const tristar_factor_t *factor,
                                                 const tristar_plan_options *options);
