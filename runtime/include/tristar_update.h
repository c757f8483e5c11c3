/* TriStar: new values for few entries of a matrix, such as a switch in a circuit, contact in mechanics, a
 * line of a power grid, or an active set.
 *
 *   tristar_update_begin     factors once more, and keeps what changes need          once, optional
 *   tristar_update_values    takes all values, and finds those that have changed     many times
 *   tristar_update_entries   takes the values of the entries that have changed       many times
 *   tristar_update_end       frees what was kept                                     optional
 *   tristar_update_low_rank  adds W W^H to a symmetric matrix, or subtracts it       many times
 *
 * Of the first three: only supernodes with a changed entry and their ancestors in the assembly tree are
 * factored. Plans of the factor use the new values from their next solve on. Factors, solutions and
 * statistics have the same bits as those of tristar_refactor with the same values. Exceptions: statistics of
 * time and memory, and solve_error, which may be that of earlier values (tristar_stats.h).
 *
 * Cost. In two dimensions the supernodes of one changed row have about 15 % of the operations of a
 * factorization, in three dimensions about 40 %: all paths end in the largest fronts. The time is less than
 * this share, as small fronts cost more than their operations. Rows and columns whose scaling changes count
 * as changed. Suspicious pivots (tristar_stats.h) cost the same trial solves as after tristar_refactor.
 *
 * Memory. The Schur complement of every front is kept (tristar_update_result.kept_bytes): 1.5 to 4.5
 * times the memory of the factors. Factors without these functions keep nothing.
 *
 * Supported: LU, LDLT and LLT, all types, all options of the analysis but PLACE_GPU; PLACE_AUTO factors on
 * cores from the first of these calls on. Not supported: imported and distributed factors. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_UPDATE_H
#define TRISTAR_UPDATE_H

#ifdef __cplusplus
extern "C" {
#endif

/* What a change was. */
typedef struct tristar_update_result {
  int64_t entries;    /* Stored entries with another value. 0: nothing was factored. */
  int64_t fronts;     /* Supernodes that were factored. */
  int64_t all_fronts; /* Supernodes of the matrix. */
  double flops;       /* Operations of the supernodes that were factored, as stored. */
  int whole;          /* 1: all were, as nothing was kept, or a second factorization was needed. */
  size_t kept_bytes;  /* Bytes of the Schur complements that are kept. */
} tristar_update_result;

/* Factors the present values once more and keeps the Schur complements of all fronts. From then on
 * tristar_refactor keeps them, too. Without this call the first change does so. Does nothing if they are
 * kept. No solve with the factor may run during the call. Errors: those of tristar_refactor; STALE (no
 * values); UNSUPPORTED (an imported factor; PLACE_GPU). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_update_begin(tristar_factor_t *factor);

/* Frees what is kept. The factor and its plans stay valid. */
TRISTAR_API void tristar_update_end(tristar_factor_t *factor);

/* Takes new values of all entries, as tristar_refactor does, and factors what they touch. values: as for
 * tristar_factor; entries whose bits have not changed count as unchanged. result may be NULL. No solve with
 * the factor may run during the call.
 *
 * Errors: those of tristar_refactor; UNSUPPORTED as above. If values is NULL, after UNSUPPORTED, and after
 * NOT_FINITE because of a value, the factor and *result are as before. After another failure the factor has
 * no values, and solves return STALE until tristar_refactor or this function succeeds. If MEMORY occurs
 * before any work, the factor is as before. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_update_values(tristar_factor_t *factor, const void *values,
                                                                 tristar_update_result *result);

/* The same for `count` entries: entry[k], from 0, is the place of a value in the arrays of the view of
 * tristar_analyze (row i of CSR has the entries ptr[i] - base .. ptr[i+1] - base - 1), and values[k] its new
 * value. If an entry is listed twice, the last value counts. Errors: as tristar_update_values; ARGUMENT (an
 * entry that is out of range: the message names it; count < 0; NULL), UNSUPPORTED (the view has duplicates),
 * STALE (the factor has no values). After ARGUMENT for these reasons, and UNSUPPORTED, the factor is as
 * before. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_update_entries(tristar_factor_t *factor, int64_t count,
                                                                  const int64_t *entry, const void *values,
                                                                  tristar_update_result *result);

/* Adds a term of low rank to a symmetric matrix and its factors L L^T or L D L^T: A + W W^H, or, if subtract
 * is not 0, A - W W^H (of a complex symmetric matrix W W^T). W: n x k, GENERAL, CSC, with values of the type
 * of A; k is small. A must have an entry wherever W W^H has one: analyze with explicit zeros at such places.
 * Each column of W changes the panels on the path from its first row to the root (Gill, Golub, Murray and
 * Saunders 1974, method C1; Davis and Hager 1999), which costs about as much as a solve with this path.
 * result (entries, fronts, flops, whole) may be NULL. No solve with the factor may run during the call. If
 * whole is 0, the Schur complements that the functions above keep are freed, and the next of these functions
 * factors all supernodes.
 *
 * The bits are not those of tristar_refactor, and rounding errors of many calls add up. So each call
 * multiplies a vector by the factors on the path, before and after; for L D L^T, whose pivots were chosen for
 * other values, a trial solve follows. The function factors the new values as tristar_refactor does (whole is
 * 1) if the products differ too much from what W explains, if a trial has a backward error above eps^(2/3),
 * if a pivot of L D L^T becomes zero, if W cancels entries of A whose rows have units of 2^14 apart and more,
 * or if pivots are suspicious (tristar_stats.h). The scaling stays.
 *
 * Errors: ARGUMENT (W has another size, type or format, or A lacks an entry: the message names row and
 * column), FORMAT and NOT_FINITE (of W), UNSUPPORTED (LU; an imported factor; INVERSE_PARTITIONED; a complex
 * SYMMETRIC view with real values; tristar_schur.h), STALE (the factor has no values); NOT_POSITIVE_DEFINITE
 * (L L^T: A - W W^H is not). After these the factor is as before. After other errors, those of
 * tristar_refactor, it may have no values. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_update_low_rank(tristar_factor_t *factor,
                                                                   const tristar_view *w, int subtract,
                                                                   tristar_update_result *result);

#ifdef __cplusplus
}
#endif
#endif
