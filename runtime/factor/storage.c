/* Makes the rounded copies of a plan: see storage.h. */
#include "runtime/factor/storage.h"

#include "runtime/base/threads.h"

tsi_format tsi_storage_format(tristar_storage storage) {
  return storage == TRISTAR_STORAGE_SINGLE     ? TSI_FORMAT_SINGLE
         : storage == TRISTAR_STORAGE_BFLOAT16 ? TSI_FORMAT_BFLOAT16
                                               : TSI_FORMAT_FULL;
}

const char *tsi_storage_words(tristar_storage storage) {
  static const char *const words[] = {"full precision", "single precision", "bfloat16"};
  return words[tsi_storage_format(storage)];
}

static const tsi_stored_kernels *kernels_of(const tristar_factor_t *factor) {
  return tsi_stored_kernels_select(factor->analysis->factor_scalar);
}

size_t tsi_storage_entry_bytes(const tristar_factor_t *factor, tsi_format format) {
  return kernels_of(factor)->entry_bytes[format];
}

tristar_status tsi_storage_check(const tristar_factor_t *factor, const tristar_plan_options *options) {
  tsi_env *env = &factor->ts->env;
  const char *why = NULL;
  if (options->storage == TRISTAR_STORAGE_FULL) return TRISTAR_OK;
  if (factor->rows)
    why = "of a triangle by rows";
  else if (options->kernel == TRISTAR_KERNEL_SPMV)
    why = "with KERNEL_SPMV";
  else if (options->place != TRISTAR_PLACE_CPU)
    why = "with PLACE_GPU and PLACE_AUTO";
  else if (kernels_of(factor)->entry_bytes[TSI_FORMAT_SINGLE] == 0)
    why = "of factors in single precision";
  if (why)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "storage in %s: plans %s read the factor itself",
             tsi_storage_words(options->storage), why);
  return TRISTAR_OK;
}

/* ---- Values -------------------------------------------------------------------------------------------- */

/* Chooses formats, and lays the panels out. Returns the bytes of the stream. */
static size_t lay_out(const tsi_stored_kernels *kernels, tsi_format format, const void *from, tsi_stored *s) {
  size_t at = 0;
  for (tsi_index p = 0; p < s->panels; p++) {
    tsi_stored_panel *stored = &s->stored[p];
    stored->format = (int16_t)format;
    kernels->choose(&s->of[p], from, stored);
    if (p > 0 && stored->format != stored[-1].format)
      at += TSI_STREAM_PAD * kernels->entry_bytes[stored[-1].format];
    s->panel[p] = s->of[p];
    s->panel[p].values = (tsi_count)(at / kernels->scalar_bytes);
    at += (size_t)tsi_panel_size(s->of[p].width, s->of[p].height) * kernels->entry_bytes[stored->format];
  }
  return at + TSI_STREAM_PAD * kernels->scalar_bytes;
}

static tristar_status fill(tsi_env *env, tsi_storage *storage, const tsi_stored_kernels *kernels,
                           const void *from, tsi_stored *s) {
  const size_t bytes = lay_out(kernels, storage->format, from, s);
  TSI_FREE(env, s->values);
  TSI_TRY(TSI_ALLOC_ZERO(env, s->values, bytes));
  for (tsi_index p = 0; p < s->panels; p++)
    kernels->narrow(&s->of[p], from, &s->stored[p],
                    s->values + (size_t)s->panel[p].values * kernels->scalar_bytes);
  return TRISTAR_OK;
}

/* Under the lock. */
static tristar_status renew(tsi_storage *storage) {
  const tristar_factor_t *factor = storage->factor;
  if (storage->generation == factor->generation) return TRISTAR_OK;
  storage->generation = 0;
  for (int i = 0; i < 2; i++)
    if (storage->stream[i].panel)
      TSI_TRY(fill(&factor->ts->env, storage, kernels_of(factor), i ? factor->upper : factor->lower,
                   &storage->stream[i]));
  storage->generation = factor->generation;
  return TRISTAR_OK;
}

tristar_status tsi_storage_prepare(tsi_storage *storage) {
  pthread_mutex_lock(&storage->lock);
  const tristar_status status = renew(storage);
  pthread_mutex_unlock(&storage->lock);
  return status;
}

/* ---- All ----------------------------------------------------------------------------------------------- */

static tristar_status begin_stream(const tristar_factor_t *factor, int upper, const tsi_panel *panel,
                                   const char *isa, tsi_stored *s) {
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  if ((upper ? factor->upper : factor->lower) == NULL) return TRISTAR_OK;
  s->kernels[TSI_FORMAT_FULL] = tsi_kernels_select(an->factor_scalar, tsi_analysis_inverse(an), isa);
  for (int f = TSI_FORMAT_SINGLE; f < TSI_FORMATS; f++)
    s->kernels[f] = tsi_format_kernels_select(an->factor_scalar, (tsi_format)f, isa);
  s->of = panel;
  s->panels = tsi_analysis_structure(an, upper ? tsi_analysis_sides(an) - 1 : 0).panels->count;
  TSI_TRY(TSI_ALLOC(env, s->stored, s->panels));
  return TSI_ALLOC(env, s->panel, s->panels);
}

tristar_status tsi_storage_create(const tristar_factor_t *factor, tsi_format format,
                                  const tsi_panel *const panel[2], const char *isa, tsi_storage **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  tsi_storage *storage = NULL;
  *out = NULL;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, storage, 1));
  status = tsi_mutex_init(env, &storage->lock);
  if (status != TRISTAR_OK) {
    TSI_FREE(env, storage);
    goto out;
  }
  storage->factor = factor;
  storage->format = format;
  for (int i = 0; i < 2; i++) TSI_TRY_OUT(begin_stream(factor, i, panel[i], isa, &storage->stream[i]));
  storage->sweeps = kernels_of(factor)->sweeps[tsi_analysis_inverse(an)];
  storage->sweeps.isa = tsi_kernels_select(an->factor_scalar, tsi_analysis_inverse(an), isa)->isa;
  TSI_TRY_OUT(tsi_storage_prepare(storage));
out:
  if (status != TRISTAR_OK) tsi_storage_destroy(env, &storage);
  *out = storage;
  return status;
}

void tsi_storage_destroy(tsi_env *env, tsi_storage **storage) {
  if (*storage == NULL) return;
  for (int i = 0; i < 2; i++) {
    tsi_stored *s = &(*storage)->stream[i];
    TSI_FREE(env, s->values);
    TSI_FREE(env, s->panel);
    TSI_FREE(env, s->stored);
  }
  pthread_mutex_destroy(&(*storage)->lock);
  TSI_FREE(env, *storage);
}

tsi_storage_figures tsi_storage_describe(const tsi_storage *storage) {
  tsi_storage_figures figures = {0};
  const tsi_stored_kernels *kernels = kernels_of(storage->factor);
  for (int i = 0; i < 2; i++) {
    const tsi_stored *s = &storage->stream[i];
    for (tsi_index p = 0; p < s->panels; p++) {
      const double entries = (double)tsi_panel_size(s->of[p].width, s->of[p].height);
      figures.bytes += entries * (double)kernels->entry_bytes[s->stored[p].format];
      figures.full_bytes += entries * (double)kernels->scalar_bytes;
      figures.panels[s->stored[p].format]++;
    }
  }
  return figures;
}
