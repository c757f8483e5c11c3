/* TriStar: analyses, factors and plans in files.
 *
 *   tristar_plan_save(plan, "A.tristar");                   today, with the factor
 *   tristar_plan_load(ts, "A.tristar", &factor, &plan);     tomorrow: tristar_solve(plan, ...)
 *
 * A file of a plan has the factor, and the file of a factor has its analysis. Each load function takes files
 * of its own kind and of the kinds that contain it. A loaded object is the same as the saved one: a loaded
 * factor takes new values by tristar_refactor, and solves with a loaded plan have the same bits on the same
 * kind of processor, because the file has the chunks that the plan was cut into.
 *
 * The guide describes the format (save.md). A file has a version, a mark of the order of bytes, and a
 * checksum for each array. A damaged, truncated, foreign or newer file is FORMAT or UNSUPPORTED. Any machine
 * with the same order of bytes loads it, whatever its instructions, its cores and its StarPU. Several
 * processes may load one file at the same time. Each has a copy of its own: the file may be replaced
 * meanwhile, and solves read memory with large pages.
 *
 * The write functions replace the file only when the new one is complete. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_SAVE_H
#define TRISTAR_SAVE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The first 8 bytes of a saved object. */
#define TRISTAR_SAVED_MAGIC "TriStar\x1a"

/* Takes the next `bytes` bytes of a saved object. Returns 0, or another number that fails the call. */
typedef int (*tristar_write_fn)(void *arg, const void *data, size_t bytes);
/* Stores the next `bytes` bytes of a saved object in data, all of them. Returns 0, or another number that
 * fails the call: also where fewer are left. */
typedef int (*tristar_read_fn)(void *arg, void *data, size_t bytes);

/* ---- Writing -----------------------------------------------------------------------------------------
 *
 * Errors of the functions that save and write: ARGUMENT (NULL), IO (the message has the file and the cause),
 * RUNTIME (`write` failed), MEMORY; of factors and plans also STALE (a factor without values) and UNSUPPORTED
 * (a triangular matrix that is solved by rows or in blocks: it is the matrix itself). */

/* Writes an analysis to a file. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_analysis_save(const tristar_analysis_t *analysis,
                                                                 const char *path);
/* Passes the bytes of that file to `write`, in order; arg: its first argument. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_analysis_write(const tristar_analysis_t *analysis,
                                                                  tristar_write_fn write, void *arg);
/* Writes a factor to a file, with its analysis and its matrix. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_factor_save(const tristar_factor_t *factor,
                                                               const char *path);
/* Passes the bytes of that file to `write`, in order; arg: its first argument. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_factor_write(const tristar_factor_t *factor,
                                                                tristar_write_fn write, void *arg);
/* Writes a plan to a file, with its factor. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan_save(const tristar_plan_t *plan, const char *path);
/* Passes the bytes of that file to `write`, in order; arg: its first argument. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan_write(const tristar_plan_t *plan,
                                                              tristar_write_fn write, void *arg);

/* ---- Reading -----------------------------------------------------------------------------------------
 *
 * A new object belongs to the caller. Errors of the functions that load and read: ARGUMENT (NULL), IO (the
 * file cannot be read), RUNTIME (`read` failed), FORMAT (damaged, truncated, or of another kind; the message
 * has the record), UNSUPPORTED (another version, another order of bytes), MEMORY. A read function takes all
 * bytes of an object of its kind, and no others, so that objects can follow each other. */

/* Loads an analysis from a file of an analysis, a factor or a plan. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_analysis_load(tristar_t *ts, const char *path,
                                                                 tristar_analysis_t **analysis);
/* Loads an analysis from the bytes that `read` gives; arg: its first argument. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_analysis_read(tristar_t *ts, tristar_read_fn read,
                                                                 void *arg, tristar_analysis_t **analysis);
/* Loads a factor from a file of a factor or a plan. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_factor_load(tristar_t *ts, const char *path,
                                                               tristar_factor_t **factor);
/* Loads a factor from the bytes that `read` gives; arg: its first argument. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_factor_read(tristar_t *ts, tristar_read_fn read, void *arg,
                                                               tristar_factor_t **factor);
/* Loads a plan from a file. factor: receives the factor of the plan, which the caller destroys. NULL: the
 * plan alone has it. A plan that had subtrees on GPUs chooses them anew for the GPUs of this machine. Errors:
 * also as tristar_plan. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan_load(tristar_t *ts, const char *path,
                                                             tristar_factor_t **factor,
                                                             tristar_plan_t **plan);
/* Loads a plan from the bytes that `read` gives, as tristar_plan_load does; arg: the first argument of read.
 */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan_read(tristar_t *ts, tristar_read_fn read, void *arg,
                                                             tristar_factor_t **factor,
                                                             tristar_plan_t **plan);

/* The matrix of a factor, borrowed: it lives as long as the factor, with the latest values. Duplicates are
 * summed, and the entries of a line ascend. Errors: UNSUPPORTED (an imported factor without the matrix). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_factor_get_matrix(const tristar_factor_t *factor,
                                                                     tristar_view *view);

/* The order of the values that tristar_refactor takes and tristar_inverse_pattern returns, also of a loaded
 * factor: value k, 0 <= k < *count, belongs to entry (*place)[k] of tristar_factor_get_matrix. Duplicates
 * share an entry. *place NULL: value k belongs to entry k. The array lives as long as the factor. Errors: as
 * tristar_factor_get_matrix. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_factor_get_places(const tristar_factor_t *factor,
                                                                     int64_t *count, const int64_t **place);

#ifdef __cplusplus
}
#endif
#endif
