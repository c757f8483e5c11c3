/* Surroundings of every internal function: where errors are told, memory is counted, text is logged.
 *
 * Reads   what the caller put into tsi_env (log callback, check flag, allocation to fail).
 * Writes  the message of the calling thread's latest error, the memory counters.
 * Invariants
 *   - memory.current is the sum of the sizes of the live allocations made through this tsi_env, but for what
 * of them was given back; the sizes of hollow ones count, too
 *   - memory.current <= memory.limit but for the moment in which an allocation fails, unless the limit was
 * set lower later; 0: no limit
 *   - memory.peak >= memory.current at all times
 *   - a message belongs to the thread in which the error occurred; tsi_failure (below) carries it to another
 *
 * Every function that can fail takes a `tsi_env *` first, returns tristar_status and follows this shape:
 *
 *     tristar_status tsi_something(tsi_env *env, ..., tsi_index *out) {
 *       TSI_SCRATCH(env, tsi_index, work, n);
 *       TSI_TRY(tsi_fill(env, n, work));
 *       if (work[0] > n) TSI_FAIL(env, TRISTAR_ERR_FORMAT, "row %d is beyond %d", work[0], n);
 *       *out = work[0];
 *       return TRISTAR_OK;
 *     }
 *
 * TSI_TRY and TSI_FAIL return. The arrays of TSI_SCRATCH and TSI_OWNED are released when their block ends, on
 * each way out of it. A function that has more to do at its end has a label `out:` and a variable `status`,
 * and uses TSI_TRY_OUT and TSI_FAIL_OUT, which go there, instead (tools/ci/check_answers).
 *
 * A public function ends with `return tsi_answer(env, status);` instead, which logs its error, and begins
 * with `TSI_ENTER(object, object->ts);` (tools/ci/check_answers).
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/base/lifetime.h"
#include "runtime/base/types.h"
#include "tristar.h"

#define TSI_MESSAGE_SIZE 512

typedef struct tsi_memory {
  _Atomic(size_t) current; /* bytes now allocated */
  _Atomic(size_t) peak;    /* largest value that current has had */
  _Atomic(size_t) recent;  /* the same since the latest tsi_memory_watch; for one watcher at a time */
  _Atomic(size_t) largest; /* block since then */
  _Atomic(int64_t) calls;  /* allocations asked for so far */
  _Atomic(size_t) limit;   /* allocations beyond it fail; 0: none do */
  int64_t fail_at;         /* the call (counted from 1) that fails, for tests; 0: none */
} tsi_memory;

typedef struct tsi_env {
  tsi_memory memory;
  tsi_lifetime life;  /* of the context */
  uint64_t id;        /* tsi_tick() when it was made: no two of a process have the same */
  tristar_log_fn log; /* NULL: nothing is logged */
  void *log_arg;
  tristar_log_level log_level;             /* messages above this level are dropped */
  _Atomic(struct tsi_progress *) progress; /* progress.h; NULL: no function follows */
  bool check;                              /* verify every structure with its *_check when it is built */
} tsi_env;

/* The env of a context is its first member (context.h). */
static inline tsi_env *tsi_context_env(tristar_t *ts) {
  return (tsi_env *)ts;
}

/* An object of the context begins, with its allocation, and ends, as the last thing that is done to it: env
 * may be gone then. */
static inline void tsi_env_retain(tsi_env *env) {
  tsi_lifetime_retain(&env->life);
}
static inline void tsi_env_release(tsi_env *env) {
  tsi_lifetime_release(&env->life);
}
/* Was it made by another process, which fork() copied? */
static inline bool tsi_env_is_inherited(const tsi_env *env) {
  return tsi_lifetime_is_inherited(&env->life);
}
/* See tsi_lifetime_abandon. */
static inline bool tsi_env_abandon(const tsi_env *env, const void *object) {
  return tsi_lifetime_abandon(&env->life, object);
}

/* 1, 2, 3, ... : the order of what happens in the process. */
uint64_t tsi_tick(void);

/* Initializes *env: no log, no failure to inject. */
void tsi_env_init(tsi_env *env);

/* Makes the text, with status and place, the calling thread's latest message; returns status for
 * `return tsi_fail(...)`. env NULL: of a call that was given no object. */
__attribute__((format(printf, 6, 7))) tristar_status tsi_fail(const tsi_env *env, tristar_status status,
                                                              const char *function, const char *file,
                                                              int line, const char *format, ...);
/* The calling thread's latest message, if it is of this env, or of a call since then that was given no
 * object; else "". env NULL: whatever it is of. The text is valid until the thread's next error. */
const char *tsi_error_text(const tsi_env *env);
/* What a public function returns: status, after it has logged the latest message as an error, unless status
 * is OK, env NULL, or a public function that this one called has logged it. */
tristar_status tsi_answer(tsi_env *env, tristar_status status);

/* What a public function returns whose object is inherited. */
tristar_status tsi_refuse_inherited(tsi_env *env, const char *function, const char *file, int line);

/* The first failure of work that several threads share, with its message: from the thread in which it
 * occurred to the one that tells it. All zero: there is none. */
typedef struct tsi_failure {
  _Atomic(int) status; /* a tristar_status, or TSI_FAILURE_COMES: it failed, the message is being written */
  char message[TSI_MESSAGE_SIZE];
} tsi_failure;
#define TSI_FAILURE_COMES (-1)

void tsi_failure_clear(tsi_failure *failure);
/* Keeps status, unless it is OK or there is an earlier one, and the latest message of the calling thread.
 * From any thread. */
void tsi_failure_keep(const tsi_env *env, tsi_failure *failure, tristar_status status);
static inline bool tsi_failure_exists(const tsi_failure *failure) {
  return atomic_load_explicit(&failure->status, memory_order_relaxed) != TRISTAR_OK;
}
/* When all who may keep one have ended: the status; its message becomes the calling thread's latest. */
TRISTAR_CHECKED tristar_status tsi_failure_tell(const tsi_env *env, const tsi_failure *failure);

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
/* As tsi_allocate, but nothing can be read or written: only the counters of memory change. */
TRISTAR_CHECKED tristar_status tsi_allocate_hollow(tsi_env *env, size_t count, size_t size,
                                                   const char *function, const char *file, int line,
                                                   void **out);
/* Starts to watch: memory.recent becomes memory.current, which is returned; memory.largest becomes 0. */
size_t tsi_memory_watch(tsi_env *env);

/* The first `bytes` bytes of an array are used up: nobody reads or writes them again, and most of their pages
 * are given back. The array is released like any other; called again, with more bytes, it gives back more. By
 * one thread at a time. */
void tsi_use_up(tsi_env *env, void *memory, size_t bytes);

/* The env that the memory was allocated through. */
tsi_env *tsi_env_of_memory(const void *memory);

/* Bytes of what tsi_allocate gave, and of all that it owns; NULL: 0. */
size_t tsi_memory_bytes(const void *memory);

/* Frees what tsi_allocate gave, and first what it owns; accepts NULL. */
void tsi_release(void *memory);

/* The same for what a pointer of TSI_OWNED points to. */
void tsi_release_owned(void *pointer);

/* Returns the status of expr unless it is TRISTAR_OK. */
#define TSI_TRY(expr)                                                                                        \
  do {                                                                                                       \
    const tristar_status tried_ = (expr);                                                                    \
    if (tried_ != TRISTAR_OK) return tried_;                                                                 \
  } while (0)

/* Records the error and returns its code. */
#define TSI_FAIL(env, code, ...) return tsi_fail((env), (code), __func__, __FILE__, __LINE__, __VA_ARGS__)

/* The same for a function with a label `out:`: they set its variable `status` and go there. */
#define TSI_TRY_OUT(expr)                                                                                    \
  do {                                                                                                       \
    status = (expr);                                                                                         \
    if (status != TRISTAR_OK) goto out;                                                                      \
  } while (0)
#define TSI_FAIL_OUT(env, code, ...)                                                                         \
  do {                                                                                                       \
    status = tsi_fail((env), (code), __func__, __FILE__, __LINE__, __VA_ARGS__);                             \
    goto out;                                                                                                \
  } while (0)

/* The status of a public function whose argument `object` is NULL, so that there is no env. */
#define TSI_NULL(object)                                                                                     \
  tsi_fail(NULL, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "%s is NULL", #object)

/* How a public function begins that may fail, with one of its objects and its context. There is no env if it
 * is NULL. */
#define TSI_ENTER(object, ts)                                                                                \
  do {                                                                                                       \
    if ((object) == NULL) return TSI_NULL(object);                                                           \
    if (tsi_env_is_inherited(tsi_context_env(ts)))                                                           \
      return tsi_refuse_inherited(tsi_context_env(ts), __func__, __FILE__, __LINE__);                        \
  } while (0)

/* The body of a public function that fills *to, which only NULL in the place of an object can prevent. */
#define TSI_GET(object, to, value)                                                                           \
  do {                                                                                                       \
    if ((object) == NULL) {                                                                                  \
      if ((to) != NULL) memset((to), 0, sizeof *(to));                                                       \
      return TSI_NULL(object);                                                                               \
    }                                                                                                        \
    if ((to) == NULL) return TSI_NULL(to);                                                                   \
    *(to) = (value);                                                                                         \
    return TRISTAR_OK;                                                                                       \
  } while (0)

/* status of allocating `count` elements of the type that the pointer p points to. */
#define TSI_ALLOC(env, p, count)                                                                             \
  tsi_allocate((env), (size_t)(count), sizeof *(p), __func__, __FILE__, __LINE__, (void **)&(p))
#define TSI_ALLOC_ZERO(env, p, count)                                                                        \
  tsi_allocate_zero((env), (size_t)(count), sizeof *(p), __func__, __FILE__, __LINE__, (void **)&(p))
/* The same for elements of `size` bytes, such as scalars of a kind that the caller chose. */
#define TSI_ALLOC_SIZED(env, p, count, size)                                                                 \
  tsi_allocate((env), (size_t)(count), (size), __func__, __FILE__, __LINE__, (void **)&(p))
#define TSI_ALLOC_SIZED_ZERO(env, p, count, size)                                                            \
  tsi_allocate_zero((env), (size_t)(count), (size), __func__, __FILE__, __LINE__, (void **)&(p))
#define TSI_ALLOC_HOLLOW(env, p, count, size)                                                                \
  tsi_allocate_hollow((env), (size_t)(count), (size), __func__, __FILE__, __LINE__, (void **)&(p))
/* Releases what p points to, with all that it owns, and sets p to NULL. An owner may have it released early.
 */
#define TSI_FREE(env, p)                                                                                     \
  do {                                                                                                       \
    (void)(env);                                                                                             \
    tsi_release((void *)(p));                                                                                \
    (p) = NULL;                                                                                              \
  } while (0)

/* Ownership. An object, which tsi_allocate gave, may own arrays and other objects: TSI_FREE of the owner
 * releases them, so that an object needs no function that lists its arrays. Memory has one owner at most. One
 * thread at a time changes what an object owns. TSI_ALLOC_IN is as TSI_ALLOC, for memory that `owner` owns.
 * tsi_own makes `owner` the owner instead of the present one; owner NULL: there is none afterwards; memory
 * NULL: nothing is done. */
#define TSI_ALLOC_IN(owner, p, count)                                                                        \
  tsi_owned((owner), TSI_ALLOC(tsi_env_of_memory(owner), p, count), (void **)&(p))
#define TSI_ALLOC_ZERO_IN(owner, p, count)                                                                   \
  tsi_owned((owner), TSI_ALLOC_ZERO(tsi_env_of_memory(owner), p, count), (void **)&(p))
#define TSI_ALLOC_SIZED_IN(owner, p, count, size)                                                            \
  tsi_owned((owner), TSI_ALLOC_SIZED(tsi_env_of_memory(owner), p, count, size), (void **)&(p))
void tsi_own(void *owner, void *memory);
/* The owner of `other` (NULL: none) becomes the owner of memory, which has none. */
void tsi_own_as(void *other, void *memory);
TRISTAR_CHECKED tristar_status tsi_owned(void *owner, tristar_status status, void **memory);

/* In front of a declaration of pointers: each points to memory of the library, or is NULL. What it points to
 * when its block ends is released, unless tsi_take has handed it over. TSI_CLEANUP does the same for a
 * variable of another type; `release` is a function of a pointer to the variable. */
#define TSI_OWNED TSI_CLEANUP(tsi_release_owned)
#define TSI_CLEANUP(release) __attribute__((cleanup(release)))

/* Returns the pointer that `pointer` points to, and sets it to NULL. */
static inline void *tsi_take(void *pointer) {
  void *taken;
  memcpy(&taken, pointer, sizeof taken);
  memset(pointer, 0, sizeof taken);
  return taken;
}

/* Declares `type *p`, an array of count elements that belongs to the enclosing block, uninitialized or zero;
 * returns MEMORY or TOO_LARGE where it cannot be allocated. Each array is an allocation of its own, so that
 * the address sanitizer sees what reads past its end. */
#define TSI_SCRATCH(env, type, p, count)                                                                     \
  TSI_OWNED type *p = NULL;                                                                                  \
  TSI_TRY(TSI_ALLOC(env, p, count))
#define TSI_SCRATCH_ZERO(env, type, p, count)                                                                \
  TSI_OWNED type *p = NULL;                                                                                  \
  TSI_TRY(TSI_ALLOC_ZERO(env, p, count))
