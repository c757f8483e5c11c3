/* Storage: rounded copies of a factor's streams, which the solves of a plan read in the place of these
 * (tristar_plan_options.storage, codelets/cpu/stored.h).
 *
 * A copy is made with the plan, and again when the first solve finds that the factor has new values.
 *
 * Reads   a factor, and the panels of a plan, which live as long.   Writes  its own arrays, under its lock.
 * Invariants
 *   - a stream is valid if the generation is that of the factor; its formats depend on the wanted format and
 *     on the values, panel by panel, and on nothing else
 *   - lower and upper streams exist where the factor has them */
#pragma once

#include <pthread.h>

#include "codelets/cpu/stored.h"
#include "runtime/factor/factor.h"

typedef struct tsi_storage {
  const tristar_factor_t *factor;
  pthread_mutex_t lock;
  tsi_format format;    /* of all panels that it can hold */
  tsi_kernels sweeps;   /* of the streams */
  int64_t generation;   /* of the factor's values; 0: none yet */
  tsi_stored stream[2]; /* lower, upper; panel NULL: the factor has none */
} tsi_storage;

/* The format of panels with that option, and its name in messages. */
tsi_format tsi_storage_format(tristar_storage storage);
const char *tsi_storage_words(tristar_storage storage);

/* Bytes of an entry of a factor with that format. */
size_t tsi_storage_entry_bytes(const tristar_factor_t *factor, tsi_format format);

/* Bytes of the copies, and of the factor, and panels of each format. */
typedef struct tsi_storage_figures {
  double bytes, full_bytes;
  int64_t panels[TSI_FORMATS];
} tsi_storage_figures;

/* Copies the streams of a factor. panel: the panels of the lower, and of the upper structure, as the kernels
 * get them. isa: as of tsi_kernels_select. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_storage_create(const tristar_factor_t *factor, tsi_format format,
                                                  const tsi_panel *const panel[2], const char *isa,
                                                  tsi_storage **out);
void tsi_storage_destroy(tsi_env *env, tsi_storage **storage);

/* Copies the values that the factor has now, unless that was done. Not while the factor gets new ones.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_storage_prepare(tsi_storage *storage);

tsi_storage_figures tsi_storage_describe(const tsi_storage *storage);

/* Errors: UNSUPPORTED (what narrower formats do not serve). */
TRISTAR_CHECKED tristar_status tsi_storage_check(const tristar_factor_t *factor,
                                                 const tristar_plan_options *options);
