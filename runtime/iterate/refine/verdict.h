/* What follows a factorization until its factor is accepted or refused: the same on one process and on many.
 *
 * Job. Judge the factor (judge.h), and take the next step where the verdict calls for one: an analysis for
 * these values (GROWTH_MATCH), substitution in place of inverted diagonal blocks, and, where the matrix looks
 * singular though it need not be, a second opinion: a factor of the same values with a matching. The owner of
 * the factor has functions for these steps. Which of them are taken depends on figures alone that all
 * processes of a factor have alike: so do their results.
 *
 * Reads   figures of the factor and of the other one.
 * Writes  the factor, by the functions; misfit, stats.singular, stats.solve_error and
 * stats.reciprocal_condition where the second opinion changes them. */
#pragma once

#include "runtime/factor/factor.h"

typedef struct tsi_verdict tsi_verdict;

/* Steps; on many processes they are collective, and all have the same status. */
typedef struct tsi_verdict_functions {
  /* tsi_judge, if there is anything to look at. Errors: its errors. */
  tristar_status (*judge)(tsi_verdict *verdict, bool last);
  /* Factors the values with an analysis for them, or (substitute) without inverted diagonal blocks; solves
   * work afterwards. Errors: those of tristar_factor. */
  tristar_status (*factor_again)(tsi_verdict *verdict, bool substitute);
  /* *other: a factor as tsi_factor_match_anew makes it, whose condition was measured (tsi_judge_measure).
   * NULL: there is none, as the factorization failed. It belongs to the owner. Errors: those of
   * tsi_status_ends_call. */
  tristar_status (*match_anew)(tsi_verdict *verdict, const tristar_factor_t **other);
  /* The other factor takes the place of the factor, with its options.singular. */
  void (*take_other)(tsi_verdict *verdict);
} tsi_verdict_functions;

struct tsi_verdict {
  const tsi_verdict_functions *functions;
  tristar_factor_t *factor; /* On many processes a part with the figures of all; NULL: there is none. The
                               functions keep it up to date. */
  bool suits;               /* The analysis was made for these values: another one would be the same. */
  bool is_quiet;            /* Another process writes to the log. */
  const char *remedy;       /* The function that makes a factor anew, for messages. */
};

/* After a first factorization that ended with the status `made`: the factor has no plans. Errors: made, but
 * for SINGULAR; SINGULAR, STALE, those of the functions. */
TRISTAR_CHECKED tristar_status tsi_verdict_first(tsi_verdict *verdict, tristar_status made);
/* After new values for a factor that has plans, which rely on its analysis. Errors: as above. */
TRISTAR_CHECKED tristar_status tsi_verdict_renewed(tsi_verdict *verdict, tristar_status made);

/* Warns of inverted diagonal blocks that spoil solves, unless trial solves have warned. */
void tsi_verdict_warn_of_inverses(const tristar_factor_t *factor, const char *remedy);
