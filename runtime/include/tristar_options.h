/* TriStar: option structs of programs and libraries of different versions.
 *
 *   tristar_plan_options options;
 *   tristar_plan_options_init(&options);      sets options.size and the defaults
 *   options.nrhs = 50;
 *
 * A struct that was not initialized is an ARGUMENT error, also one of zeros. Later versions add fields at the
 * end of a struct, and 0 is the default of such a field. A library takes the defaults for the fields that a
 * shorter struct, of an older program, does not have. It accepts a longer struct, of a newer program, if the
 * additional bytes are 0; else it returns UNSUPPORTED.
 *
 * A field that is unset is 0 or NULL; where 0 is a useful value, -1 (first_core, first_device, idle_sleep).
 *
 * The macros TYPE_init call the functions below with the size of the program's struct. Bindings to other
 * languages call them, too. tristar.h includes this header. */
#ifndef TRISTAR_OPTIONS_H
#define TRISTAR_OPTIONS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define TRISTAR_API __attribute__((visibility("default")))  /* Marks a function of the shared library. */
#define TRISTAR_CHECKED __attribute__((warn_unused_result)) /* The caller must look at the result. */
#else
#define TRISTAR_API
#define TRISTAR_CHECKED
#endif

struct tristar_config;
struct tristar_analysis_options;
struct tristar_plan_options;
struct tristar_refine_options;
struct tristar_solve_options;
struct tristar_triangle_options;
struct tristar_precond_options;
struct tristar_krylov_options;
struct tristar_layout_costs;
struct tristar_cluster;
struct tristar_insert_options;

/* Sets size and defaults of a tristar_config of `size` bytes. */
TRISTAR_API void tristar_config_init_sized(struct tristar_config *config, size_t size);
/* Sets size and defaults of a tristar_analysis_options of `size` bytes. */
TRISTAR_API void tristar_analysis_options_init_sized(struct tristar_analysis_options *options, size_t size);
/* Sets size and defaults of a tristar_plan_options of `size` bytes. */
TRISTAR_API void tristar_plan_options_init_sized(struct tristar_plan_options *options, size_t size);
/* Sets size and defaults of a tristar_refine_options of `size` bytes. */
TRISTAR_API void tristar_refine_options_init_sized(struct tristar_refine_options *options, size_t size);
/* Sets size and defaults of a tristar_solve_options of `size` bytes. */
TRISTAR_API void tristar_solve_options_init_sized(struct tristar_solve_options *options, size_t size);
/* Sets size and defaults of a tristar_triangle_options of `size` bytes. */
TRISTAR_API void tristar_triangle_options_init_sized(struct tristar_triangle_options *options, size_t size);
/* Sets size and defaults of a tristar_precond_options of `size` bytes. */
TRISTAR_API void tristar_precond_options_init_sized(struct tristar_precond_options *options, size_t size);
/* Sets size and defaults of a tristar_krylov_options of `size` bytes. */
TRISTAR_API void tristar_krylov_options_init_sized(struct tristar_krylov_options *options, size_t size);
/* Sets size and defaults of a tristar_layout_costs of `size` bytes. */
TRISTAR_API void tristar_layout_costs_init_sized(struct tristar_layout_costs *costs, size_t size);
/* Sets size and defaults of a tristar_cluster of `size` bytes. */
TRISTAR_API void tristar_cluster_init_sized(struct tristar_cluster *cluster, size_t size);
/* Sets size and defaults of a tristar_insert_options of `size` bytes. */
TRISTAR_API void tristar_insert_options_init_sized(struct tristar_insert_options *options, size_t size);

#ifdef __cplusplus
}
#endif
#endif
