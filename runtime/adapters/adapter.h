/* Shared by the adapters: the shape of a function that can fail, as in runtime/base/env.h, by way of the
 * public functions of tristar_adapter.h. The only headers an adapter may include are tristar*.h, those of
 * runtime/adapters/, those of its solver, and standard ones.
 *
 *     tristar_status tsi_something(tristar_t *ts, ...) {
 *       TSI_OWNED int64_t *work = NULL;
 *       TSI_TRY(TSI_ALLOC(ts, work, n));
 *       if (bad) TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "row %d is beyond %d", i, n);
 *       ...
 *       return TRISTAR_OK;
 *     } */
#pragma once

#include <string.h>

#include "tristar_adapter.h"

/* Returns the status of expr unless it is TRISTAR_OK. */
#define TSI_TRY(expr)                                                                                        \
  do {                                                                                                       \
    const tristar_status tried_ = (expr);                                                                    \
    if (tried_ != TRISTAR_OK) return tried_;                                                                 \
  } while (0)

/* Records the error and returns its code. */
#define TSI_FAIL(ts, code, ...)                                                                              \
  return tristar_adapter_fail((ts), (code), __func__, __FILE__, __LINE__, __VA_ARGS__)

/* The status of a public function whose argument `object` is NULL, so that there is no context. */
#define TSI_NULL(object)                                                                                     \
  tristar_adapter_fail(NULL, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "%s is NULL", #object)

/* status of allocating `count` elements of the type that the pointer p points to; NULL in p on failure. */
#define TSI_ALLOC(ts, p, count)                                                                              \
  tristar_adapter_allocate((ts), (size_t)(count), sizeof *(p), __func__, __FILE__, __LINE__, (void **)&(p))

#define TSI_FREE(p)                                                                                          \
  do {                                                                                                       \
    tristar_adapter_free(NULL, (void *)(p));                                                                 \
    (p) = NULL;                                                                                              \
  } while (0)

/* In front of a declaration: what the variable has is released at the end of its block. TSI_OWNED is for
 * pointers to memory of TSI_ALLOC; `release` is a function of a pointer to the variable. */
#define TSI_OWNED TSI_CLEANUP(tsi_free_owned)
#define TSI_CLEANUP(release) __attribute__((cleanup(release)))

static inline void tsi_free_owned(void *pointer) {
  void *memory;
  memcpy(&memory, pointer, sizeof memory);
  tristar_adapter_free(NULL, memory);
}
