/* TriStar: functions for adapters, libraries that import the factors of another solver.
 *
 * An adapter (the installed ones are tristar_NAME) fills a tristar_factors and calls
 * tristar_import_supernodal. These functions count its memory, and report its errors, like those of TriStar.
 * Programs that only use adapters do not need this header. */
#ifndef TRISTAR_ADAPTER_H
#define TRISTAR_ADAPTER_H

#include "tristar_triangle.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define TRISTAR_ADAPTER_FORMAT __attribute__((format(printf, 6, 7))) /* The text is a format of printf. */
#else
#define TRISTAR_ADAPTER_FORMAT
#endif

/* The context of the factor. NULL for NULL. */
TRISTAR_API tristar_t *tristar_adapter_context(const tristar_factor_t *factor);

/* Checks that an adapter can work with the context. For adapters that exchange messages before they import.
 * Errors: UNSUPPORTED (the context was made before fork(), in the parent process). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_adapter_check(tristar_t *ts);

/* Makes a text (printf), with the status and the place in the adapter's source, the message that
 * tristar_get_error returns in this thread, and logs it. Returns status. ts may be NULL: the call received no
 * object. */
TRISTAR_API TRISTAR_ADAPTER_FORMAT tristar_status tristar_adapter_fail(tristar_t *ts, tristar_status status,
                                                                       const char *function, const char *file,
                                                                       int line, const char *format, ...);

/* *memory = count * size bytes, uninitialized, aligned to 64 bytes, never NULL on success, counted by
 * tristar_get_memory. The message of an error names function, file and line. Errors: MEMORY, TOO_LARGE. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_adapter_allocate(tristar_t *ts, size_t count, size_t size,
                                                                    const char *function, const char *file,
                                                                    int line, void **memory);

/* Frees memory of tristar_adapter_allocate. Both arguments may be NULL. */
TRISTAR_API void tristar_adapter_free(tristar_t *ts, void *memory);

#ifdef __cplusplus
}
#endif
#endif
