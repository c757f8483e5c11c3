/* TriStar: what a library needs that brings the factors of another solver here, beside tristar.h.
 *
 * Such a library (an adapter; the installed ones are tristar_NAME) fills a tristar_factors and calls
 * tristar_import_supernodal. With these functions its memory is counted, and its error messages are told,
 * like those of TriStar itself. Programs that only use adapters do not need this header. */
#ifndef TRISTAR_ADAPTER_H
#define TRISTAR_ADAPTER_H

#include "tristar_triangle.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define TRISTAR_ADAPTER_FORMAT __attribute__((format(printf, 6, 7))) /* its text is one of printf */
#else
#define TRISTAR_ADAPTER_FORMAT
#endif

/* The context that the factor was made in; NULL for NULL. */
TRISTAR_API tristar_t *tristar_adapter_context(const tristar_factor_t *factor);

/* May an adapter work with the context? For adapters that exchange messages before they import. Errors:
 * UNSUPPORTED (it was made before fork(), in the parent process). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_adapter_check(tristar_t *ts);

/* Makes a text (printf) the message that tristar_get_error gives in this thread, with the status and the
 * place in the adapter's source, and logs it; returns status. ts may be NULL: of a call that was given no
 * object. */
TRISTAR_API TRISTAR_ADAPTER_FORMAT tristar_status tristar_adapter_fail(tristar_t *ts, tristar_status status,
                                                                       const char *function, const char *file,
                                                                       int line, const char *format, ...);

/* *memory = count * size bytes, uninitialized, aligned to 64 bytes, never NULL on success; counted by
 * tristar_get_memory. function, file and line name the caller in the message. Errors: MEMORY, TOO_LARGE. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_adapter_allocate(tristar_t *ts, size_t count, size_t size,
                                                                    const char *function, const char *file,
                                                                    int line, void **memory);

/* Frees what tristar_adapter_allocate gave; accepts NULL. */
TRISTAR_API void tristar_adapter_free(tristar_t *ts, void *memory);

#ifdef __cplusplus
}
#endif
#endif
