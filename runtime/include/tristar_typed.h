/* TriStar: functions whose vectors carry their scalar type.
 *
 *   double b[N], x[N];
 *   status = tristar_typed_solve(plan, TRISTAR_N, 1, b, N, x, N);
 *
 * The compiler chooses the function by the type of x or of the values: float, double, float _Complex or
 * double _Complex in C11 (_Generic); float, double, std::complex<float> or std::complex<double> in C++
 * (overloads). It refuses b and x of different types. The function returns ARGUMENT if the type is not that
 * of the matrix. Other arguments and errors are those of the function without `typed`. C also has the
 * functions by name, with the suffix _s, _d, _c or _z. */
#ifndef TRISTAR_TYPED_H
#define TRISTAR_TYPED_H

#include "tristar_krylov.h"
#include "tristar_solve.h"

#ifdef __cplusplus
#include <complex>

extern "C" {
#endif

/* ARGUMENT, unless the matrix of the object has this scalar type. The message names both. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_analysis_check_scalar(const tristar_analysis_t *analysis,
                                                                         tristar_scalar scalar);
/* The same for a factor. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_factor_check_scalar(const tristar_factor_t *factor,
                                                                       tristar_scalar scalar);
/* The same for a plan. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan_check_scalar(const tristar_plan_t *plan,
                                                                     tristar_scalar scalar);
/* The same for a preconditioner. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_precond_check_scalar(const tristar_precond_t *precond,
                                                                        tristar_scalar scalar);
/* The same for a Krylov solver. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_krylov_check_scalar(const tristar_krylov_t *krylov,
                                                                       tristar_scalar scalar);

#ifdef __cplusplus
}
#endif

/* One typed function: parameters in parentheses, the check of the type, and the call without type. */
#define TRISTAR_TYPED_FUNCTION(name, parameters, check, call)                                                \
  static inline TRISTAR_CHECKED tristar_status name parameters {                                             \
    const tristar_status status = check;                                                                     \
    return status == TRISTAR_OK ? call : status;                                                             \
  }

/* All functions of one type. NAME(function) is the name of the typed function. */
#define TRISTAR_TYPED_FUNCTIONS(NAME, type, scalar)                                                          \
  TRISTAR_TYPED_FUNCTION(                                                                                    \
      NAME(factor), (tristar_analysis_t * analysis, const type *values, tristar_factor_t **factor),          \
      tristar_analysis_check_scalar(analysis, scalar), tristar_factor(analysis, values, factor))             \
  TRISTAR_TYPED_FUNCTION(NAME(refactor), (tristar_factor_t * factor, const type *values),                    \
                         tristar_factor_check_scalar(factor, scalar), tristar_refactor(factor, values))      \
  TRISTAR_TYPED_FUNCTION(NAME(solve),                                                                        \
                         (tristar_plan_t * plan, tristar_op op, int64_t nrhs, const type *b, int64_t ldb,    \
                          type *x, int64_t ldx),                                                             \
                         tristar_plan_check_scalar(plan, scalar),                                            \
                         tristar_solve(plan, op, nrhs, b, ldb, x, ldx))                                      \
  TRISTAR_TYPED_FUNCTION(NAME(solve_with),                                                                   \
                         (tristar_plan_t * plan, const tristar_solve_options *options, int64_t nrhs,         \
                          const type *b, type *x, tristar_solve_result *result),                             \
                         tristar_plan_check_scalar(plan, scalar),                                            \
                         tristar_solve_with(plan, options, nrhs, b, x, result))                              \
  TRISTAR_TYPED_FUNCTION(NAME(solve_start),                                                                  \
                         (tristar_plan_t * plan, const tristar_solve_options *options, int64_t nrhs,         \
                          const type *b, type *x, tristar_request_t **request),                              \
                         tristar_plan_check_scalar(plan, scalar),                                            \
                         tristar_solve_start(plan, options, nrhs, b, x, request))                            \
  TRISTAR_TYPED_FUNCTION(NAME(solve_refined),                                                                \
                         (tristar_plan_t * plan, tristar_op op, int64_t nrhs, const type *b, int64_t ldb,    \
                          type *x, int64_t ldx, const tristar_refine_options *options,                       \
                          tristar_refine_result *result),                                                    \
                         tristar_plan_check_scalar(plan, scalar),                                            \
                         tristar_solve_refined(plan, op, nrhs, b, ldb, x, ldx, options, result))             \
  TRISTAR_TYPED_FUNCTION(NAME(precond_apply),                                                                \
                         (tristar_precond_t * precond, tristar_op op, int64_t nrhs, const type *b,           \
                          int64_t ldb, type *x, int64_t ldx),                                                \
                         tristar_precond_check_scalar(precond, scalar),                                      \
                         tristar_precond_apply(precond, op, nrhs, b, ldb, x, ldx))                           \
  TRISTAR_TYPED_FUNCTION(NAME(krylov_solve),                                                                 \
                         (tristar_krylov_t * krylov, tristar_precond_t * precond, int64_t nrhs,              \
                          const type *b, int64_t ldb, type *x, int64_t ldx, tristar_krylov_result *result),  \
                         tristar_krylov_check_scalar(krylov, scalar),                                        \
                         tristar_krylov_solve(krylov, precond, nrhs, b, ldb, x, ldx, result))

#ifdef __cplusplus

/* Name of an overload. */
#define TRISTAR_TYPED_NAME(function) tristar_typed_##function
/* float */
TRISTAR_TYPED_FUNCTIONS(TRISTAR_TYPED_NAME, float, TRISTAR_SINGLE)
/* double */
TRISTAR_TYPED_FUNCTIONS(TRISTAR_TYPED_NAME, double, TRISTAR_DOUBLE)
/* std::complex<float> */
TRISTAR_TYPED_FUNCTIONS(TRISTAR_TYPED_NAME, std::complex<float>, TRISTAR_COMPLEX_SINGLE)
/* std::complex<double> */
TRISTAR_TYPED_FUNCTIONS(TRISTAR_TYPED_NAME, std::complex<double>, TRISTAR_COMPLEX_DOUBLE)

#else

/* Name of a function for float. */
#define TRISTAR_TYPED_NAME_S(function) tristar_##function##_s
/* Name of a function for double. */
#define TRISTAR_TYPED_NAME_D(function) tristar_##function##_d
/* Name of a function for float _Complex. */
#define TRISTAR_TYPED_NAME_C(function) tristar_##function##_c
/* Name of a function for double _Complex. */
#define TRISTAR_TYPED_NAME_Z(function) tristar_##function##_z
/* float */
TRISTAR_TYPED_FUNCTIONS(TRISTAR_TYPED_NAME_S, float, TRISTAR_SINGLE)
/* double */
TRISTAR_TYPED_FUNCTIONS(TRISTAR_TYPED_NAME_D, double, TRISTAR_DOUBLE)
/* float _Complex */
TRISTAR_TYPED_FUNCTIONS(TRISTAR_TYPED_NAME_C, float _Complex, TRISTAR_COMPLEX_SINGLE)
/* double _Complex */
TRISTAR_TYPED_FUNCTIONS(TRISTAR_TYPED_NAME_Z, double _Complex, TRISTAR_COMPLEX_DOUBLE)

/* The function for the type that the pointer points to. */
#define TRISTAR_TYPED(function, pointer)                                                                     \
  _Generic((pointer),                                                                                        \
      float *: tristar_##function##_s,                                                                       \
      const float *: tristar_##function##_s,                                                                 \
      double *: tristar_##function##_d,                                                                      \
      const double *: tristar_##function##_d,                                                                \
      float _Complex *: tristar_##function##_c,                                                              \
      const float _Complex *: tristar_##function##_c,                                                        \
      double _Complex *: tristar_##function##_z,                                                             \
      const double _Complex *: tristar_##function##_z)

/* tristar_factor */
#define tristar_typed_factor(analysis, values, out) TRISTAR_TYPED(factor, values)(analysis, values, out)
/* tristar_refactor */
#define tristar_typed_refactor(object, values) TRISTAR_TYPED(refactor, values)(object, values)
/* tristar_solve */
#define tristar_typed_solve(plan, op, nrhs, b, ldb, x, ldx)                                                  \
  TRISTAR_TYPED(solve, x)(plan, op, nrhs, b, ldb, x, ldx)
/* tristar_solve_with */
#define tristar_typed_solve_with(plan, options, nrhs, b, x, result)                                          \
  TRISTAR_TYPED(solve_with, x)(plan, options, nrhs, b, x, result)
/* tristar_solve_start */
#define tristar_typed_solve_start(plan, options, nrhs, b, x, request)                                        \
  TRISTAR_TYPED(solve_start, x)(plan, options, nrhs, b, x, request)
/* tristar_solve_refined */
#define tristar_typed_solve_refined(plan, op, nrhs, b, ldb, x, ldx, options, result)                         \
  TRISTAR_TYPED(solve_refined, x)(plan, op, nrhs, b, ldb, x, ldx, options, result)
/* tristar_precond_apply */
#define tristar_typed_precond_apply(precond, op, nrhs, b, ldb, x, ldx)                                       \
  TRISTAR_TYPED(precond_apply, x)(precond, op, nrhs, b, ldb, x, ldx)
/* tristar_krylov_solve */
#define tristar_typed_krylov_solve(krylov, precond, nrhs, b, ldb, x, ldx, result)                            \
  TRISTAR_TYPED(krylov_solve, x)(krylov, precond, nrhs, b, ldb, x, ldx, result)

#endif
#endif
