/* Shared by the adapters: the shape of a function that can fail, as in runtime/base/env.h, by way of the
 * public functions of tristar_adapter.h. The only headers an adapter may include are tristar*.h, those of
 * runtime/adapters/, those of its solver, and standard ones.
 *
 *     tristar_status tsi_something(tristar_t *ts, ...) {
 *       tristar_status status = TRISTAR_OK;
 *       int64_t *work = NULL;
 *       TSI_TRY_OUT(TSI_ALLOC(ts, work, n));
 *       if (bad) TSI_FAIL_OUT(ts, TRISTAR_ERR_FORMAT, "row %d is beyond %d", i, n);
 *       ...
 *     out:
 *       TSI_FREE(ts, work);
 *       return status;
 *     }
 *
 * A function that has nothing to release uses TSI_TRY and TSI_FAIL, which return. */
#pragma once

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

/* The same for a function with a label `out:`: they set its variable `status` and go there. */
#define TSI_TRY_OUT(expr)                                                                                    \
  do {                                                                                                       \
    status = (expr);                                                                                         \
    if (status != TRISTAR_OK) goto out;                                                                      \
  } while (0)
#define TSI_FAIL_OUT(ts, code, ...)                                                                          \
  do {                                                                                                       \
    status = tristar_adapter_fail((ts), (code), __func__, __FILE__, __LINE__, __VA_ARGS__);                  \
    goto out;                                                                                                \
  } while (0)

/* The status of a public function whose argument `object` is NULL, so that there is no context. */
#define TSI_NULL(object)                                                                                     \
  tristar_adapter_fail(NULL, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "%s is NULL", #object)

/* status of allocating `count` elements of the type that the pointer p points to; NULL in p on failure. */
#define TSI_ALLOC(ts, p, count)                                                                              \
  tristar_adapter_allocate((ts), (size_t)(count), sizeof *(p), __func__, __FILE__, __LINE__, (void **)&(p))

#define TSI_FREE(ts, p)                                                                                      \
  do {                                                                                                       \
    tristar_adapter_free((ts), (void *)(p));                                                                 \
    (p) = NULL;                                                                                              \
  } while (0)
