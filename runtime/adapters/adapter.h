/* Error handling shared by the adapters. The macros resemble those of runtime/base/env.h, but call only the
 * public functions of tristar_adapter.h. An adapter may include only tristar*.h, headers of
 * runtime/adapters/, headers of its solver, and standard headers.
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

/* Status returned by a public function whose argument `object` is NULL. No context can record a message. */
#define TSI_NULL(object)                                                                                     \
  tristar_adapter_fail(NULL, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "%s is NULL", #object)

/* Allocates `count` elements of the type that p points to. Returns the status; a failure sets p to NULL. */
#define TSI_ALLOC(ts, p, count)                                                                              \
  tristar_adapter_allocate((ts), (size_t)(count), sizeof *(p), __func__, __FILE__, __LINE__, (void **)&(p))

#define TSI_FREE(p)                                                                                          \
  do {                                                                                                       \
    tristar_adapter_free(NULL, (void *)(p));                                                                 \
    (p) = NULL;                                                                                              \
  } while (0)

/* Prefix of a declaration: releases the variable at the end of its block. TSI_OWNED is for pointers to memory
 * of TSI_ALLOC; `release` is a function that receives a pointer to the variable. */
#define TSI_OWNED TSI_CLEANUP(tsi_free_owned)
#define TSI_CLEANUP(release) __attribute__((cleanup(release)))

static inline void tsi_free_owned(void *pointer) {
  void *memory;
  memcpy(&memory, pointer, sizeof memory);
  tristar_adapter_free(NULL, memory);
}
