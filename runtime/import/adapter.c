/* Messages and counted memory for adapters, which are separate libraries: see tristar_adapter.h.
 *
 * Reads   the context, the factor's pointer to its context.
 * Writes  the message and the memory counters of the context. */
#include "tristar_adapter.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/context/context.h"
#include "runtime/factor/factor.h"

tristar_t *tristar_adapter_context(const tristar_factor_t *factor) {
  return factor != NULL ? factor->ts : NULL;
}

tristar_status tristar_adapter_check(tristar_t *ts) {
  TSI_ENTER(ts, ts);
  return TRISTAR_OK;
}

tristar_status tristar_adapter_fail(tristar_t *ts, tristar_status status, const char *function,
                                    const char *file, int line, const char *format, ...) {
  char text[TSI_MESSAGE_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tsi_env *env = ts != NULL ? tsi_context_env(ts) : NULL;
  return tsi_answer(env, tsi_fail(env, status, function, file, line, "%s", text));
}

tristar_status tristar_adapter_allocate(tristar_t *ts, size_t count, size_t size, const char *function,
                                        const char *file, int line, void **memory) {
  return tsi_allocate(tsi_context_env(ts), count, size, function, file, line, memory);
}

void tristar_adapter_free(tristar_t *ts, void *memory) {
  (void)ts;
  tsi_release(memory);
}
