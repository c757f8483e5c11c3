/* A factorization by all ranks: tristar_distributed_factor, tristar_dmatrix_factor.
 *
 * Job. Each rank factors the fronts that it owns (dag/factor/front_owners.h), where the solve wants their
 * panels: subtrees that the layout has whole on one process are factored there without messages. Large fronts
 * above them are shared: each rank of a team has stripes of one (dag/factor/front_teams.h), so that its
 * memory and its arithmetic are those of all. Schur complements, or parts of them, go to those who have their
 * parents (dag/factor/factorization.h), and the bits of the factor are those of one process, whatever the
 * layout. Panels that other processes hold too, or rows of, go to them afterwards.
 *
 * Rank 0 has the analysis, each rank what it has to know of the structure (dag/factor/front_part.h): its
 * fronts, those above them, and their children. All learn the whole structure, choose owners and teams from
 * it, and forget the rest. Columns and panels of a rank have the numbers of its part; messages that name
 * columns have those of the factor. Each rank gets the entries of its own fronts and stripes
 * (team_factor_entries.c). A supply gives them: rank 0, which has the values and the scalings
 * (team_factor_lists.c), or all ranks, each of which has rows (dmatrix_supply.c). No rank holds a panel that
 * is neither its own nor in its share.
 *
 * Reads   the analysis of rank 0, what the supply brings; layout and share of the process.
 * Writes  the values of the process.
 * Invariants
 *   - `part` is this rank's part of the factor (factor.h): its streams are those of the process
 *   - between calls no array has a length of n or of all supernodes but on rank 0: owners and teams of all
 * supernodes, if it hands entries out. While values are factored scalings do
 *   - what is by column is by column of the part */
#pragma once

#include "dag/factor/front_part.h"
#include "runtime/factor/numeric.h"
#include "runtime/mpi/solve/distributed.h"
#include "runtime/mpi/comm/route.h"

struct tsi_team_factor {
  tsi_front_part fronts;
  tsi_layout *layout;       /* the part of it that knows panels that are handed on */
  tsi_index *panel;         /* panels of the share: their numbers in the part */
  tristar_factor_t *source; /* rank 0: scalings and values, unless all ranks have them; no streams */
  tsi_index *owner;         /* rank 0, if it has the values: of all supernodes, who factors each */
  tsi_front_teams *teams;   /* the same; NULL: no front is shared */
  tsi_pattern pattern;      /* of the part: nothing but sizes */
  struct tristar_analysis_s analysis; /* as part wants it: lists with entries of own fronts */
  struct tristar_factor_s part;
  tsi_index passing;     /* own panels that only others hold: those in part.passing */
  tsi_count entries;     /* own entries, as the lists have them, first all lower ones */
  tsi_index *other;      /* entries: row of a lower one, column of an upper one; NULL: no lists */
  char *values;          /* entries: values, while they are needed */
  tsi_pivot_sizes sizes; /* while they are needed */
};

/* How ranks join what they know of a column: bits, of which one rank at most has set any, or each has the
 * same ones set; the largest of doubles, none below 0. */
typedef enum tsi_union { TSI_UNION_BITS, TSI_UNION_MAX } tsi_union;
/* Collective. array: by column of the part, items of `bytes`; each becomes the union of those of all ranks.
 * all: the same of all columns, or NULL. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_unite_columns(const tristar_distributed_t *d,
                                                             const tsi_team_factor *team_factor, size_t bytes,
                                                             tsi_union how, void *array, void *all);
/* Items of `bytes` by column of the part, of those of all columns; all: freed. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_team_factor_take_columns(tsi_env *env, const tsi_team_factor *team_factor,
                                                            size_t bytes, void **all);

/* Where a factorization has its values from. Its functions are collective; errors are the same on all ranks.
 */
typedef struct tsi_supply tsi_supply;

/* Where an entry is in the final order: its line, the lesser of row and column, of an upper list
 * complemented; its other index. */
typedef struct tsi_entry_place {
  tsi_index line, other;
} tsi_entry_place;

struct tsi_supply {
  /* The values are new: chooses the scalings. sizes: all zeros; may be filled on rank 0. Errors: those of
   * tsi_pivot_sizes_measure; RUNTIME. */
  tristar_status (*measure)(const tsi_supply *supply, tristar_distributed_t *d, tsi_pivot_sizes *sizes);
  /* The structure is known: fills scalings and sizes of d->team_factor, and what it has to know of the
   * values. Errors: MEMORY, RUNTIME. */
  tristar_status (*scales)(const tsi_supply *supply, tristar_distributed_t *d);
  /* Entries of fronts leave by rank, in an order that is the same for places and values. */
  bool anew; /* places travel for new values too, as rows may be on other ranks than before */
  /* Local: counts the entries for each rank; route: begun. *from: passed to the functions below. Errors:
   * MEMORY. */
  tristar_status (*count)(const tsi_supply *supply, tristar_distributed_t *d, tsi_route *route, void **from);
  /* Local, once the route is connected. NULL: nothing to do. Errors: MEMORY. */
  tristar_status (*list)(void *from);
  /* Writes places, values first .. first + count - 1 of those for a rank, one piece after the other. */
  void (*places)(void *from, int rank, tsi_count first, tsi_count count, tsi_entry_place *to);
  void (*put_values)(void *from, int rank, tsi_count first, tsi_count count, void *to);
  void (*end)(void *from); /* from: may be NULL */
  /* After the factorization: d->matrix. Errors: MEMORY, TOO_LARGE, RUNTIME. */
  tristar_status (*matrix)(const tsi_supply *supply, tristar_distributed_t *d);
  /* Before a search: d->source gets the entries and the values of the matrix. The supply is ready for another
   * factorization. NULL: d->source has them. Errors: MEMORY, TOO_LARGE, RUNTIME. */
  tristar_status (*bring)(const tsi_supply *supply, tristar_distributed_t *d);
  /* Local, on rank 0, at the end of a factorization with PIVOTING_DELAYED: frees the rows of the analysis,
   * and the arrays of bring. NULL: nothing to do. */
  void (*forget)(const tsi_supply *supply, tristar_distributed_t *d);
};
/* From rank 0. */
extern const tsi_supply tsi_supply_of_one;

/* Collective. The entries of own fronts, and lists of them where there are none or the supply lists them
 * anew. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_take_entries(tristar_distributed_t *d,
                                                            const tsi_supply *supply);
/* Only a factorization reads them. */
void tsi_team_factor_release_lists(tsi_env *env, tsi_team_factor *team_factor);

/* Collective. Lays out and factors, with the analysis that d->source has on rank 0 or, PIVOTING_DELAYED, with
 * others that it gets for other orders of pivots. After a failure the layout is released, unless nothing was
 * left of a row (part.dependent). Errors: those of tristar_distributed_factor.
 */
TRISTAR_CHECKED tristar_status tsi_team_factor_create(tristar_distributed_t *d, const tsi_supply *supply);

/* Collective. Once the part has its columns: it gets the options and the pairs of PIVOTING_DELAYED from the
 * analysis of rank 0. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_share_pivoting(tristar_distributed_t *d);
/* Collective, PIVOTING_DELAYED: sets stats.unstable_pivots of the part to the number of all ranks. Errors:
 * MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_test_pivots(tristar_distributed_t *d);
/* Collective, after a factorization with the status `made`: searches another order of pivots if they call for
 * it. *changed: d->source has an analysis for another order, for which nothing is laid out yet. Errors: made;
 * those of tsi_factor_search_order and bring, after which the layout is released; RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_reorder(tristar_distributed_t *d, const tsi_supply *supply,
                                                       tristar_status made, bool *changed);

/* Collective. tsi_team_factor_create without values: all that follows from the analysis that d->source has on
 * rank 0. floor_bytes: as in tsi_distributed_lay_out. Errors: those of tsi_distributed_lay_out. */
TRISTAR_CHECKED tristar_status tsi_team_factor_lay_out(tristar_distributed_t *d, double floor_bytes);
/* Collective, of a factor of rows. Fills again what tsi_analysis_forget_rows has freed of the analysis of
 * rank 0, from the ranks that have it. It is to be forgotten afterwards, whatever the status. Errors: MEMORY,
 * TOO_LARGE, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_remember_rows(tristar_distributed_t *d);

/* Local, while the structure of the factor is known: what this rank will need at most by the forecast
 * (rank_forecast.h), beside what it holds now. *bytes: 0 without a limit. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_team_factor_forecast(const tristar_distributed_t *d,
                                                        const tsi_known *known, double *bytes);
/* Local. Is that within the limit of the context? Errors: MEMORY: it is not, the message has the figures. */
TRISTAR_CHECKED tristar_status tsi_team_factor_check_limit(const tristar_distributed_t *d, double bytes);

/* How the same values are factored once more, where the verdict calls for that. The functions are collective;
 * solves work afterwards. */
typedef struct tsi_remaking tsi_remaking;
struct tsi_remaking {
  /* d, which is laid out anew, gets an analysis for the values or, substitute, has no inverted diagonal
   * blocks. Errors: those of the first factorization. */
  tristar_status (*factor_again)(const tsi_remaking *how, tristar_distributed_t *d, bool substitute);
  /* other, which is new, becomes the factor that tsi_factor_match_anew makes of d's values. Errors: as above.
   */
  tristar_status (*match_anew)(const tsi_remaking *how, const tristar_distributed_t *d,
                               tristar_distributed_t *other);
  bool suits;         /* As in tsi_verdict. */
  const char *remedy; /* As in tsi_verdict. */
};
/* Collective. Factors new values; valid if that succeeds, and the verdict is good (tsi_verdict_renewed).
 * before: what this rank has found. memory: what the library had at first, begin: when that was. Errors:
 * those of tristar_refactor. */
TRISTAR_CHECKED tristar_status tsi_team_factor_renew(tristar_distributed_t *d, const tsi_supply *supply,
                                                     const tsi_remaking *how, tristar_status before,
                                                     size_t memory, double begin);
/* Collective, after a first factorization that ended with the status `made`, and if that is OK once solves
 * work: the verdict (tsi_verdict_first). Another factor may take the place of *d. Errors: those of
 * tsi_verdict_first. */
TRISTAR_CHECKED tristar_status tsi_distributed_judge_first(tristar_distributed_t **d, const tsi_remaking *how,
                                                           tristar_status made);
/* Collective, after new values: tsi_verdict_renewed. After a failure there are no values. Errors: as above.
 */
TRISTAR_CHECKED tristar_status tsi_distributed_judge_renewed(tristar_distributed_t *d,
                                                             const tsi_remaking *how, tristar_status made);
/* The figures of a factorization. */
void tsi_team_factor_note_costs(tristar_distributed_t *d, size_t memory, double seconds);

/* Collective: a factorization; afterwards all ranks know all pivots, and their figures. Workers are dismissed
 * (idle.h) but for meanwhile. *out is to be destroyed, whatever the status. Errors: the first failure, the
 * same on all ranks. */
TRISTAR_CHECKED tristar_status tsi_team_factor_run(tristar_distributed_t *d, tsi_team_factor *team_factor,
                                                   bool fixed, tsi_numeric **out);
/* Collective: as tsi_factorize has it, a second opinion on dependent rows, that of a factorization without
 * interchanges. *numeric becomes that one if it is better. Errors: as tsi_team_factor_run. */
TRISTAR_CHECKED tristar_status tsi_team_factor_run_fixed(tristar_distributed_t *d,
                                                         tsi_team_factor *team_factor, tsi_numeric **numeric);
/* Collective: panels that others hold, or rows of, go to them. Adds to the statistics. Errors: MEMORY,
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_hand_on(tristar_distributed_t *d,
                                                       const tsi_team_factor *team_factor);
