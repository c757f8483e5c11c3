/* The steps after a factorization, until its factor is accepted or refused: the same on one process and on
 * many.
 *
 * Job. Judge the factor (judge.h), and run the next step if the verdict requires one. Steps are: an analysis
 * for these values (GROWTH_MATCH), substitution instead of inverted diagonal blocks, and a second opinion.
 * The second opinion is for a matrix that looks singular but may be regular: a factor of the same values with
 * a matching. The owner of the factor supplies functions for these steps. The choice of steps depends only on
 * statistics that are equal on all processes of a factor. So all processes make the same choice.
 *
 * Reads   statistics of the factor and of the other factor.
 * Writes  the factor, by the functions; misfit, stats.singular, stats.solve_error and
 * stats.reciprocal_condition if the second opinion changes them. */
#pragma once

#include "runtime/factor/factor.h"

typedef struct tsi_verdict tsi_verdict;

/* The steps. On many processes they are collective, and return the same status everywhere. */
typedef struct tsi_verdict_functions {
  /* Calls tsi_judge if the factor is suspicious. Errors: those of tsi_judge. */
  tristar_status (*judge)(tsi_verdict *verdict, bool last);
  /* Factors the values with an analysis for them, or (substitute) without inverted diagonal blocks. Solves
   * work afterwards. Errors: those of tristar_factor. */
  tristar_status (*factor_again)(tsi_verdict *verdict, bool substitute);
  /* *other: a factor made by tsi_factor_rematch, with measured condition (tsi_judge_measure). NULL: its
   * factorization failed. The owner of the factor owns it. Errors: those of tsi_status_ends_call. */
  tristar_status (*rematch)(tsi_verdict *verdict, const tristar_factor_t **other);
  /* Replaces the factor by the other factor, with the options.singular of the old one. */
  void (*take_other)(tsi_verdict *verdict);
} tsi_verdict_functions;

struct tsi_verdict {
  const tsi_verdict_functions *functions;
  tristar_factor_t *factor; /* On many processes the local part, with the statistics of all. NULL: there is no
                               factor. The functions keep it up to date. */
  bool suits;               /* The analysis was made for these values, so a new one would be the same. */
  bool is_quiet;            /* Another process writes to the log. */
  const char *remedy;       /* The function that computes a new factor, for messages. */
};

/* Judges a first factorization that ended with the status `made`: the factor has no plans. Errors: made,
 * except SINGULAR; SINGULAR, STALE, those of the functions. */
TRISTAR_CHECKED tristar_status tsi_verdict_first(tsi_verdict *verdict, tristar_status made);
/* Judges new values of a factor with plans, which rely on its analysis. Errors: as above. */
TRISTAR_CHECKED tristar_status tsi_verdict_renewed(tsi_verdict *verdict, tristar_status made);

/* Warns of inverted diagonal blocks that make solves inaccurate, unless trial solves have warned. */
void tsi_verdict_warn_of_inverses(const tristar_factor_t *factor, const char *remedy);
