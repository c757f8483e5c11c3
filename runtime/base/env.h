/* Surroundings of every internal function: where errors are told, memory is counted, text is logged.
 *
 * Reads   what the caller put into tsi_env (log callback, check flag, allocation to fail).
 * Writes  the message of the latest error, the memory counters.
 * Invariants
 *   - memory.current is the sum of the sizes of the live allocations made through this tsi_env
 *   - memory.peak >= memory.current at all times
 *   - the message is a terminated string; it is only ever replaced as a whole, under the lock
 *
 * Every function that can fail takes a `tsi_env *` first, returns tristar_status and follows this shape:
 *
 *     tristar_status tsi_something(tsi_env *env, ..., T **out) {
 *       tristar_status status = TRISTAR_OK;
 *       tsi_index *work = NULL;
 *       *out = NULL;
 *       TSI_TRY(TSI_ALLOC(env, work, n));
 *       if (bad) TSI_FAIL(env, TRISTAR_ERR_FORMAT, "row %d is beyond %d", i, n);
 *       ...
 *     out:
 *       TSI_FREE(env, work);
 *       return status;
 *     }
 */
#ifndef TSI_BASE_ENV_H
#define TSI_BASE_ENV_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/base/types.h"
#include "tristar.h"

#define TSI_MESSAGE_SIZE 512

typedef struct tsi_memory {
  _Atomic(size_t) current; /* bytes now allocated */
  _Atomic(size_t) peak;    /* largest value that current has had */
  _Atomic(size_t) recent;  /* the same since the latest tsi_memory_watch; for one watcher at a time */
  _Atomic(int64_t) calls;  /* allocations asked for so far */
  int64_t fail_at;         /* the call (counted from 1) that fails, for tests; 0: none */
} tsi_memory;

typedef struct tsi_env {
  tsi_memory memory;
  pthread_mutex_t lock; /* guards message */
  char message[TSI_MESSAGE_SIZE];
  tristar_log_fn log; /* NULL: nothing is logged */
  void *log_arg;
  tristar_log_level log_level; /* messages above this level are dropped */
  bool check;                  /* verify every structure with its *_check when it is built */
} tsi_env;

/* Initializes *env: no log, no failure to inject, an empty message. */
void tsi_env_init(tsi_env *env);
/* Releases the lock. The memory counters stay readable. */
void tsi_env_finish(tsi_env *env);

/* Records the error text as the context's message and logs it; returns status for `return tsi_fail(...)`. */
__attribute__((format(printf, 6, 7))) tristar_status tsi_fail(tsi_env *env, tristar_status status,
                                                              const char *function, const char *file,
                                                              int line, const char *format, ...);
/* Sends a line to the log callback when level is enabled. */
__attribute__((format(printf, 3, 4))) void tsi_log(tsi_env *env, tristar_log_level level, const char *format,
                                                   ...);

/* Allocates count * size bytes, aligned to TSI_CACHE_LINE, uninitialized (tsi_allocate) or zero
 * (tsi_allocate_zero). count = 0 gives a valid pointer. On failure *out is NULL and the message names
 * the caller and the size. */
TRISTAR_CHECKED tristar_status tsi_allocate(tsi_env *env, size_t count, size_t size, const char *function,
                                            const char *file, int line, void **out);
TRISTAR_CHECKED tristar_status tsi_allocate_zero(tsi_env *env, size_t count, size_t size,
                                                 const char *function, const char *file, int line,
                                                 void **out);
/* Starts to watch: memory.recent becomes memory.current, which is returned. */
size_t tsi_memory_watch(tsi_env *env);

/* Frees what tsi_allocate gave; accepts NULL. */
void tsi_release(tsi_env *env, void *memory);

/* status = expr; leaves through `out:` unless it is TRISTAR_OK. */
#define TSI_TRY(expr)                                                                                        \
  do {                                                                                                       \
    status = (expr);                                                                                         \
    if (status != TRISTAR_OK) goto out;                                                                      \
  } while (0)

/* Records the error and leaves through `out:`. */
#define TSI_FAIL(env, code, ...)                                                                             \
  do {                                                                                                       \
    status = tsi_fail((env), (code), __func__, __FILE__, __LINE__, __VA_ARGS__);                             \
    goto out;                                                                                                \
  } while (0)

/* status of allocating `count` elements of the type that the pointer p points to. */
#define TSI_ALLOC(env, p, count)                                                                             \
  tsi_allocate((env), (size_t)(count), sizeof *(p), __func__, __FILE__, __LINE__, (void **)&(p))
#define TSI_ALLOC_ZERO(env, p, count)                                                                        \
  tsi_allocate_zero((env), (size_t)(count), sizeof *(p), __func__, __FILE__, __LINE__, (void **)&(p))
#define TSI_FREE(env, p)                                                                                     \
  do {                                                                                                       \
    tsi_release((env), (void *)(p));                                                                         \
    (p) = NULL;                                                                                              \
  } while (0)

#endif
