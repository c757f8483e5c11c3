/* Shared by the programs triangle_NAME, each of which solves with a triangle by another library.
 *
 * Job. `triangle_NAME [--on-demand] --uplo L|U MATRIX [REPEAT [NRHS]]` is a program of peer.h whose matrix is
 * the lower or upper triangle of MATRIX with its diagonal. Nothing is factored: "factor_s" is the time in
 * which the library receives the triangle and prepares its solves.
 *
 * For a library that solves in place, b is copied to x before the timed solve. */
#pragma once

#include "tools/peers/peer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Defined by each program instead of peer_solve_real. */
void triangle_solve_real(peer *p);

/* T x = b for one right-hand side. in_place: x holds b. */
typedef void triangle_solve(void *solver, const double *b, double *x);

/* Runs rounds of timed solves for all right-hand sides, each after a warm-up, while peer_again returns
 * true. */
void triangle_rounds(peer *p, bool in_place, triangle_solve *solve, void *solver);

/* Returns the shortest of three solves in seconds, for a choice between two methods. */
double triangle_try(const peer *p, bool in_place, triangle_solve *solve, void *solver);

#ifdef __cplusplus
}
#endif
