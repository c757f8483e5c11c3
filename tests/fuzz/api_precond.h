/* What a preconditioner is, by its options and its matrix: for the files of its calls. */
#ifndef TSI_TESTS_FUZZ_API_PRECOND_H
#define TSI_TESTS_FUZZ_API_PRECOND_H

#include <limits.h>

#include "tests/fuzz/api.h"
#include "tests/fuzz/incomplete.h"

static inline bool by_size(const tristar_precond_options *o) {
  return o->kind == TRISTAR_PRECOND_ILUT || o->kind == TRISTAR_PRECOND_ICT;
}
static inline bool is_cholesky(const tristar_precond_options *o) {
  return o->kind == TRISTAR_PRECOND_IC || o->kind == TRISTAR_PRECOND_ICT;
}
/* Is M none that incomplete.h knows? */
static inline bool loses_entries(const cell *c, const tristar_precond_options *o) {
  return by_size(o) && (o->drop > 0 || o->fill < c->p->n);
}

/* How far the matrix is from its own adjoint, or its own transpose, entry by entry. */
static inline long double unlikeness(const cell *c, bool adjoint) {
  long double most = 0;
  for (int i = 0; i < c->p->n; i++)
    for (int j = 0; j < c->p->n; j++) {
      const number a = c->v->truth[i][j], b = adjoint ? conjl(c->v->truth[j][i]) : c->v->truth[j][i];
      if (a != b) most = fmaxl(most, cabsl(a - b) / (cabsl(a) + cabsl(b)));
    }
  return most;
}

static inline bool is_adjoint(const cell *c) {
  const tristar_symmetry kind = c->p->symmetry;
  return !is_complex(c->p->scalar) || kind == TRISTAR_HERMITIAN ||
         (kind == TRISTAR_GENERAL && unlikeness(c, true) == 0);
}

/* The definition of M, but of what loses entries. */
static inline void find_factors(const cell *c, const tristar_precond_options *o, incomplete *f) {
  const making m = {.kind = o->kind,
                    .level = by_size(o) ? INT_MAX : o->level,
                    .modified = by_size(o) ? 0 : o->modified,
                    .omega = o->omega,
                    .shift = o->shift,
                    .adjoint = is_adjoint(c)};
  incomplete_make(c->p, c->v, &m, f);
}

/* Sparse approximate inverses: their statuses on a matrix without faults, their options, right ones and wrong
 * ones, whether set-ups of different values have the same pattern, and what is known of them (api_fsai.c). */
unsigned fsai_statuses(const cell *c, const tristar_precond_options *o);
tristar_precond_options choose_fsai_options(tristar_precond_options o);
void spoil_fsai_options(tristar_precond_options *o);
bool fsai_keeps_pattern(const tristar_precond_options *o);
void judge_fsai(precond_slot *s);

#endif
