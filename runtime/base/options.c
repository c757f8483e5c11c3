/* See options.h. */
#include "runtime/base/options.h"

#define SIZE_MOST 4096 /* Larger sizes are uninitialized memory: no struct has so many bytes. */

void tsi_options_init(void *options, size_t size, const void *defaults, size_t full_size) {
  memset(options, 0, size);
  memcpy(options, defaults, size < full_size ? size : full_size);
  memcpy(options, &size, sizeof size);
}

static tristar_status check_size(const tsi_env *env, const char *type, size_t size) {
  if (size > sizeof size && size <= SIZE_MOST && size % sizeof size == 0) return TRISTAR_OK;
  return tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__,
                  "%s: size is %zu: call %s_init before setting fields", type, size, type);
}

tristar_status tsi_options_read(const tsi_env *env, const char *type, const void *given, void *full,
                                size_t full_size) {
  size_t size;
  if (given == NULL) return TRISTAR_OK;
  memcpy(&size, given, sizeof size);
  TSI_TRY(check_size(env, type, size));
  for (size_t i = full_size; i < size; i++)
    if (((const char *)given)[i] != 0)
      TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
               "%s: byte %zu is set, but the struct has %zu bytes in version %s of the library", type, i,
               full_size, tristar_version());
  memcpy(full, given, size < full_size ? size : full_size);
  memcpy(full, &full_size, sizeof full_size);
  return TRISTAR_OK;
}
