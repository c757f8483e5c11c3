/* Environment of every internal function: it receives error messages, counts memory, and writes the log.
 *
 * Reads   the fields that the caller sets in tsi_env (log callback, check flag, allocation to fail).
 * Writes  the message of the calling thread's latest error, the memory counters.
 * Invariants
 *   - memory.current is the sum of the sizes of the live allocations through this tsi_env, without the parts
 *     freed by tsi_use_up; the sizes of hollow ones count, too
 *   - memory.current <= memory.limit, except for the moment of a failing allocation and if the limit was
 *     lowered later; 0: no limit
 *   - memory.peak >= memory.current at all times
 *   - a message belongs to the thread of the error; tsi_failure (below) copies it to another thread
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
 * TSI_TRY and TSI_FAIL return. The arrays of TSI_SCRATCH and TSI_OWNED are freed when their block ends, in
 * any way. A function that has more to do at its end has a label `out:` and a variable `status`. It uses
 * TSI_TRY_OUT and TSI_FAIL_OUT, which jump to the label, instead (tools/ci/check_answers).
 *
 * A public function begins with `TSI_ENTER(object, object->ts);` and ends with `return tsi_answer(env,
 * status);`, which logs its error (tools/ci/check_answers). */
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
  _Atomic(size_t) peak;    /* largest value of current so far */
  _Atomic(size_t) recent;  /* largest current since tsi_memory_watch; for one watcher at a time */
  _Atomic(size_t) largest; /* largest block since then */
  _Atomic(int64_t) calls;  /* allocations requested so far */
  _Atomic(size_t) limit;   /* allocations beyond it fail; 0: none do */
  int64_t fail_at;         /* the call (counted from 1) that fails, for tests; 0: none */
} tsi_memory;

typedef struct tsi_env {
  tsi_memory memory;
  tsi_lifetime life;  /* of the context */
  uint64_t id;        /* tsi_tick() of its creation: unique in a process */
  tristar_log_fn log; /* NULL: nothing is logged */
  void *log_arg;
  tristar_log_level log_level;             /* messages above this level are dropped */
  _Atomic(struct tsi_progress *) progress; /* progress.h; NULL: no progress function */
  bool check;                              /* verify every structure with its *_check when it is built */
} tsi_env;

/* The env of a context is its first member (context.h). */
static inline tsi_env *tsi_context_env(tristar_t *ts) {
  return (tsi_env *)ts;
}

/* Called when an object of the context is created, with its allocation; and when it is destroyed, as the last
 * action: env may be freed by it. */
static inline void tsi_env_retain(tsi_env *env) {
  tsi_lifetime_retain(&env->life);
}
static inline void tsi_env_release(tsi_env *env) {
  tsi_lifetime_release(&env->life);
}
/* Whether another process created it, which fork() copied. */
static inline bool tsi_env_is_inherited(const tsi_env *env) {
  return tsi_lifetime_is_inherited(&env->life);
}
/* See tsi_lifetime_abandon. */
static inline bool tsi_env_abandon(const tsi_env *env, const void *object) {
  return tsi_lifetime_abandon(&env->life, object);
}

/* Returns 1, 2, 3, ...: a number for the order of events in the process. */
uint64_t tsi_tick(void);

/* Initializes *env: no log, no failure to inject. */
void tsi_env_init(tsi_env *env);

/* Sets the calling thread's latest message to the text, with status and place. Returns status, for `return
 * tsi_fail(...)`. env NULL: for a call without an object. */
__attribute__((format(printf, 6, 7))) tristar_status tsi_fail(const tsi_env *env, tristar_status status,
                                                              const char *function, const char *file,
                                                              int line, const char *format, ...);
/* The calling thread's latest message, if it is of this env, or of a later call without an object; else "".
 * env NULL: of any env. The text is valid until the thread's next error. */
const char *tsi_error_text(const tsi_env *env);
/* Returns status for a public function. Logs the latest message as an error, unless status is OK, env is
 * NULL, or a public function called by this one has logged it. */
tristar_status tsi_answer(tsi_env *env, tristar_status status);

/* The status of a public function whose object is inherited. */
tristar_status tsi_refuse_inherited(tsi_env *env, const char *function, const char *file, int line);

/* The first failure of work that several threads share, with its message, for the thread that returns it. All
 * zero: there is none. */
typedef struct tsi_failure {
  _Atomic(int) status; /* a tristar_status, or TSI_FAILURE_COMES: it failed, the message is being written */
  char message[TSI_MESSAGE_SIZE];
} tsi_failure;
#define TSI_FAILURE_COMES (-1)

void tsi_failure_clear(tsi_failure *failure);
/* Keeps status, unless it is OK or there is an earlier one, with the latest message of the calling thread.
 * From any thread. */
void tsi_failure_keep(const tsi_env *env, tsi_failure *failure, tristar_status status);
static inline bool tsi_failure_exists(const tsi_failure *failure) {
  return atomic_load_explicit(&failure->status, memory_order_relaxed) != TRISTAR_OK;
}
/* Returns the kept status when no thread can keep one any more. Its message becomes the calling thread's
 * latest message. */
TRISTAR_CHECKED tristar_status tsi_failure_report(const tsi_env *env, const tsi_failure *failure);

/* Passes a line to the log callback if its level is enabled. */
__attribute__((format(printf, 3, 4))) void tsi_log(tsi_env *env, tristar_log_level level, const char *format,
                                                   ...);

/* Allocates count * size bytes, aligned to TSI_CACHE_LINE, uninitialized (tsi_allocate) or zero
 * (tsi_allocate_zero). count = 0 gives a valid pointer. On failure *out is NULL, and the message has the
 * caller and the size. */
TRISTAR_CHECKED tristar_status tsi_allocate(tsi_env *env, size_t count, size_t size, const char *function,
                                            const char *file, int line, void **out);
TRISTAR_CHECKED tristar_status tsi_allocate_zero(tsi_env *env, size_t count, size_t size,
                                                 const char *function, const char *file, int line,
                                                 void **out);
/* As tsi_allocate, but the memory must not be accessed: only the counters of memory change. */
TRISTAR_CHECKED tristar_status tsi_allocate_hollow(tsi_env *env, size_t count, size_t size,
                                                   const char *function, const char *file, int line,
                                                   void **out);
/* Sets memory.recent to memory.current, which is returned, and memory.largest to 0. */
size_t tsi_memory_watch(tsi_env *env);

/* Frees most pages of the first `bytes` bytes of an array, which are not accessed any more. The array is
 * still released like any other. A later call with more bytes frees more. By one thread at a time. */
void tsi_use_up(tsi_env *env, void *memory, size_t bytes);

/* The env of the allocation. */
tsi_env *tsi_env_of_memory(const void *memory);

/* Bytes of memory from tsi_allocate, and of all memory that it owns; NULL: 0. */
size_t tsi_memory_bytes(const void *memory);

/* Frees memory from tsi_allocate, and first the memory that it owns; accepts NULL. */
void tsi_release(void *memory);

/* The same for the target of a pointer with TSI_OWNED. */
void tsi_release_owned(void *pointer);

/* Returns the status of expr unless it is TRISTAR_OK. */
#define TSI_TRY(expr)                                                                                        \
  do {                                                                                                       \
    const tristar_status tried_ = (expr);                                                                    \
    if (tried_ != TRISTAR_OK) return tried_;                                                                 \
  } while (0)

/* Records the error and returns its code. */
#define TSI_FAIL(env, code, ...) return tsi_fail((env), (code), __func__, __FILE__, __LINE__, __VA_ARGS__)

/* The same for a function with a label `out:`: they set its variable `status` and jump to the label. */
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

/* First statement of a public function that may fail, with one of its objects and its context. If the object
 * is NULL there is no env. */
#define TSI_ENTER(object, ts)                                                                                \
  do {                                                                                                       \
    if ((object) == NULL) return TSI_NULL(object);                                                           \
    if (tsi_env_is_inherited(tsi_context_env(ts)))                                                           \
      return tsi_refuse_inherited(tsi_context_env(ts), __func__, __FILE__, __LINE__);                        \
  } while (0)

/* Body of a public function that fills *to, and fails only if the object or to is NULL. */
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

/* The status of allocating `count` elements of the type of *p. */
#define TSI_ALLOC(env, p, count)                                                                             \
  tsi_allocate((env), (size_t)(count), sizeof *(p), __func__, __FILE__, __LINE__, (void **)&(p))
#define TSI_ALLOC_ZERO(env, p, count)                                                                        \
  tsi_allocate_zero((env), (size_t)(count), sizeof *(p), __func__, __FILE__, __LINE__, (void **)&(p))
/* The same for elements of `size` bytes, for example scalars of a type chosen at run time. */
#define TSI_ALLOC_SIZED(env, p, count, size)                                                                 \
  tsi_allocate((env), (size_t)(count), (size), __func__, __FILE__, __LINE__, (void **)&(p))
#define TSI_ALLOC_SIZED_ZERO(env, p, count, size)                                                            \
  tsi_allocate_zero((env), (size_t)(count), (size), __func__, __FILE__, __LINE__, (void **)&(p))
#define TSI_ALLOC_HOLLOW(env, p, count, size)                                                                \
  tsi_allocate_hollow((env), (size_t)(count), (size), __func__, __FILE__, __LINE__, (void **)&(p))
/* Releases the memory at p, with all memory that it owns, and sets p to NULL. Also for memory that has an
 * owner. */
#define TSI_FREE(env, p)                                                                                     \
  do {                                                                                                       \
    (void)(env);                                                                                             \
    tsi_release((void *)(p));                                                                                \
    (p) = NULL;                                                                                              \
  } while (0)

/* Ownership. An object from tsi_allocate may own arrays and other objects: TSI_FREE of the owner releases
 * them, so an object needs no function that lists its arrays. Memory has at most one owner. One thread at a
 * time changes the ownerships of an object. TSI_ALLOC_IN is TSI_ALLOC for memory that `owner` owns. tsi_own
 * makes `owner` the owner instead of the present one. owner NULL: there is no owner afterwards; memory NULL:
 * nothing is done. */
#define TSI_ALLOC_IN(owner, p, count)                                                                        \
  tsi_owned((owner), TSI_ALLOC(tsi_env_of_memory(owner), p, count), (void **)&(p))
#define TSI_ALLOC_ZERO_IN(owner, p, count)                                                                   \
  tsi_owned((owner), TSI_ALLOC_ZERO(tsi_env_of_memory(owner), p, count), (void **)&(p))
#define TSI_ALLOC_SIZED_IN(owner, p, count, size)                                                            \
  tsi_owned((owner), TSI_ALLOC_SIZED(tsi_env_of_memory(owner), p, count, size), (void **)&(p))
void tsi_own(void *owner, void *memory);
/* Makes the owner of `other` (NULL: none) the owner of memory, which has none. */
void tsi_own_as(void *other, void *memory);
TRISTAR_CHECKED tristar_status tsi_owned(void *owner, tristar_status status, void **memory);

/* Before a declaration of pointers: each points to memory of the library, or is NULL. Its target at the end
 * of the block is released, unless tsi_take has moved it. TSI_CLEANUP does the same for a variable of another
 * type; `release` is a function with a pointer to the variable as argument. */
#define TSI_OWNED TSI_CLEANUP(tsi_release_owned)
#define TSI_CLEANUP(release) __attribute__((cleanup(release)))

/* Returns the pointer at `pointer`, and sets it to NULL. */
static inline void *tsi_take(void *pointer) {
  void *taken;
  memcpy(&taken, pointer, sizeof taken);
  memset(pointer, 0, sizeof taken);
  return taken;
}

/* Declares `type *p`, an array of count elements that belongs to the enclosing block, uninitialized or zero;
 * returns MEMORY or TOO_LARGE if it cannot be allocated. Each array is a separate allocation, so that the
 * address sanitizer finds reads beyond its end. */
#define TSI_SCRATCH(env, type, p, count)                                                                     \
  TSI_OWNED type *p = NULL;                                                                                  \
  TSI_TRY(TSI_ALLOC(env, p, count))
#define TSI_SCRATCH_ZERO(env, type, p, count)                                                                \
  TSI_OWNED type *p = NULL;                                                                                  \
  TSI_TRY(TSI_ALLOC_ZERO(env, p, count))
