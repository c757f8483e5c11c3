/* What the programs triangle_NAME share, each of which solves with a triangle by another library.
 *
 * Job. `triangle_NAME [--on-demand] --uplo L|U MATRIX [REPEAT [NRHS]]` is a program of peer.h whose matrix is
 * the lower or the upper triangle of MATRIX, its diagonal included. Nothing is factored: "factor_s" is the
 * time in which the library is given the triangle and prepares its solves.
 *
 * A library that solves in place finds b in x: the copy is not in its times. */
#pragma once

#include "tools/peers/peer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A program defines this in the place of peer_solve_real. */
void triangle_solve_real(peer *p);

/* T x = b for one right-hand side. in_place: x holds b. */
typedef void triangle_solve(void *solver, const double *b, double *x);

/* Rounds of timed solves for all right-hand sides, each after a warm-up, as long as they are asked for. */
void triangle_rounds(peer *p, bool in_place, triangle_solve *solve, void *solver);

/* The shortest of three solves, in seconds: for a choice between two ways. */
double triangle_try(const peer *p, bool in_place, triangle_solve *solve, void *solver);

#ifdef __cplusplus
}
#endif
