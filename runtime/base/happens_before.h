/* Announces to ThreadSanitizer the edges that StarPU enforces.
 *
 * StarPU is not instrumented, so TSan does not see that a task runs after the tasks that it waits for. Each
 * run of a task "releases" its own record and "acquires" exactly the records for which it declared to wait: a
 * missing edge still shows as a race. */
#pragma once

#if defined(__SANITIZE_THREAD__)
#define TSI_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSI_TSAN 1
#endif
#endif

#ifdef TSI_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define TSI_HAPPENS_BEFORE(address) __tsan_release(address)
#define TSI_HAPPENS_AFTER(address) __tsan_acquire(address)
#else
#define TSI_HAPPENS_BEFORE(address) ((void)(address))
#define TSI_HAPPENS_AFTER(address) ((void)(address))
#endif
