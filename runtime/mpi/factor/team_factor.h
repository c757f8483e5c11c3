/* A factorization by all ranks: tristar_distributed_factor, tristar_dmatrix_factor.
 *
 * Job. Each rank factors the fronts that it owns (dag/factor/front_owners.h), where the solve needs their
 * panels. Subtrees that the layout maps to one process are factored there without messages. Large fronts
 * above these subtrees are shared: each rank of a team has some stripes of a front
 * (dag/factor/front_teams.h), so the team shares memory and arithmetic. Schur complements, or parts of them,
 * are sent to the ranks that have the parent fronts (dag/factor/factorization.h). The bits of the factor are
 * those of one process, whatever the layout. Afterwards panels, or rows of them, are sent to the other
 * processes that store them.
 *
 * Rank 0 has the analysis. Each rank keeps the part of the structure that it needs (dag/factor/front_part.h):
 * its fronts, their ancestors, and the children of both. All ranks receive the whole structure, choose owners
 * and teams, and free the rest of the structure. Columns and panels of a rank have the numbers of its part;
 * messages use column numbers of the factor. Each rank receives the entries of its own fronts and stripes
 * (team_factor_entries.c) from a supply: rank 0, which has the values and the scalings (team_factor_lists.c),
 * or all ranks, each of which has rows (dmatrix_supply.c). A rank stores only its own panels and the panels
 * in its share.
 *
 * Reads   the analysis of rank 0, the entries from the supply; layout and share of the process.
 * Writes  the values of the process.
 * Invariants
 *   - `part` is this rank's part of the factor (factor.h): its streams are those of the process
 *   - between calls only rank 0 has arrays of length n or of one item for each supernode: owners and teams of
 *     all supernodes, if it sends entries. While values are factored, scalings have length n on all ranks
 *   - arrays with one item for each column have one for each column of the part */
#pragma once

#include "dag/factor/front_part.h"
#include "runtime/factor/numeric.h"
#include "runtime/mpi/solve/distributed.h"
#include "runtime/mpi/comm/route.h"

struct tsi_team_factor {
  tsi_front_part fronts;
  tsi_layout *layout;       /* the part of the layout with the panels to hand on */
  tsi_index *panel;         /* [panels of the share]: their numbers in the part */
  tristar_factor_t *source; /* rank 0: scalings and values, unless all ranks supply them; no streams */
  tsi_index *owner;         /* rank 0, if it has the values: owner of each supernode of the factor */
  tsi_front_teams *teams;   /* teams of all supernodes, likewise; NULL: no front is shared */
  tsi_pattern pattern;      /* of the part: only sizes */
  struct tristar_analysis_s analysis; /* analysis of the part: lists of the entries of own fronts */
  struct tristar_factor_s part;
  tsi_index passing;     /* number of own panels that only other ranks store: part.passing */
  tsi_count entries;     /* number of own entries, in the order of the lists, lower ones first */
  tsi_index *other;      /* [entries]: row of a lower entry, column of an upper one; NULL: no lists */
  char *values;          /* [entries]: values, while they are needed */
  tsi_pivot_sizes sizes; /* while they are needed */
};

/* How ranks combine their data of a column. BITS: at most one rank has set any bits, or all have set the same
 * ones. MAX: the largest of doubles that are not negative. */
typedef enum tsi_union { TSI_UNION_BITS, TSI_UNION_MAX } tsi_union;
/* Collective. array: items of `bytes`, by column of the part; each becomes the union of the items of all
 * ranks. all: receives the unions of all columns, or NULL. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_unite_columns(const tristar_distributed_t *d,
                                                             const tsi_team_factor *team_factor, size_t bytes,
                                                             tsi_union how, void *array, void *all);
/* Replaces *all, items of `bytes` of all columns, by an array of the items of the part's columns. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_team_factor_take_columns(tsi_env *env, const tsi_team_factor *team_factor,
                                                            size_t bytes, void **all);

/* Source of the values of a factorization. Its functions are collective; errors are the same on all ranks. */
typedef struct tsi_supply tsi_supply;

/* Position of an entry in the final order. line: the lesser of row and column, complemented in an upper list.
 * other: the other index. */
typedef struct tsi_entry_place {
  tsi_index line, other;
} tsi_entry_place;

struct tsi_supply {
  /* Chooses the scalings for new values. sizes: all zeros; may be filled on rank 0. Errors: those of
   * tsi_pivot_sizes_measure; RUNTIME. */
  tristar_status (*measure)(const tsi_supply *supply, tristar_distributed_t *d, tsi_pivot_sizes *sizes);
  /* After the analysis: fills the scalings and sizes of d->team_factor, and its properties of the values.
   * Errors: MEMORY, RUNTIME. */
  tristar_status (*scales)(const tsi_supply *supply, tristar_distributed_t *d);
  /* Entries of fronts are sent by rank, in the same order for places and values. */
  bool moved; /* places are also sent for new values, because rows may be on other ranks than before */
  /* Local. Counts the entries for each rank; route: begun. *from: passed to the functions below. Errors:
   * MEMORY. */
  tristar_status (*count)(const tsi_supply *supply, tristar_distributed_t *d, tsi_route *route, void **from);
  /* Local, once the route is connected. NULL: nothing to do. Errors: MEMORY. */
  tristar_status (*list)(void *from);
  /* Writes places, or values, first .. first + count - 1 of the entries for a rank, one piece after the
   * other. */
  void (*places)(void *from, int rank, tsi_count first, tsi_count count, tsi_entry_place *to);
  void (*put_values)(void *from, int rank, tsi_count first, tsi_count count, void *to);
  void (*end)(void *from); /* from: may be NULL */
  /* After the factorization: d->matrix. Errors: MEMORY, TOO_LARGE, RUNTIME. */
  tristar_status (*matrix)(const tsi_supply *supply, tristar_distributed_t *d);
  /* Before a search for another order of pivots: gives d->source the entries and the values of the matrix.
   * The supply remains ready for another factorization. NULL: d->source has them. Errors: MEMORY, TOO_LARGE,
   * RUNTIME. */
  tristar_status (*bring)(const tsi_supply *supply, tristar_distributed_t *d);
  /* Local, on rank 0, at the end of a factorization with PIVOTING_DELAYED: frees the rows of the analysis,
   * and the arrays of bring. NULL: nothing to do. */
  void (*discard)(const tsi_supply *supply, tristar_distributed_t *d);
};
/* The supply from rank 0. */
extern const tsi_supply tsi_supply_of_one;

/* Collective. Receives the entries of own fronts. Creates their lists if there are none or if the supply
 * lists them anew. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_take_entries(tristar_distributed_t *d,
                                                            const tsi_supply *supply);
/* Frees the lists. Only a factorization reads them. */
void tsi_team_factor_release_lists(tsi_env *env, tsi_team_factor *team_factor);

/* Collective. Lays out and factors with the analysis that d->source has on rank 0. With PIVOTING_DELAYED
 * d->source may get analyses for other orders of pivots. After a failure the layout is released, except if a
 * row has become zero (part.dependent). Errors: those of tristar_distributed_factor. */
TRISTAR_CHECKED tristar_status tsi_team_factor_create(tristar_distributed_t *d, const tsi_supply *supply);

/* Collective, once the part has its columns. Gives the part the options and the pairs of PIVOTING_DELAYED
 * from the analysis of rank 0. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_share_pivoting(tristar_distributed_t *d);
/* Collective, with PIVOTING_DELAYED. Sets stats.unstable_pivots of the part to the number over all ranks.
 * Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_test_pivots(tristar_distributed_t *d);
/* Collective, after a factorization with the status `made`. Searches another order if the pivots are
 * unstable. *changed: d->source has an analysis for another order, for which nothing is laid out yet. Errors:
 * made; those of tsi_factor_search_order and bring, after which the layout is released; RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_reorder(tristar_distributed_t *d, const tsi_supply *supply,
                                                       tristar_status made, bool *changed);

/* Collective. tsi_team_factor_create without values: creates all data that follow from the analysis of
 * d->source on rank 0. floor_bytes: as in tsi_distributed_lay_out. Errors: those of tsi_distributed_lay_out.
 */
TRISTAR_CHECKED tristar_status tsi_team_factor_lay_out(tristar_distributed_t *d, double floor_bytes);
/* Collective, for a factor of rows. Restores the part of rank 0's analysis that tsi_analysis_discard_rows has
 * freed, from the ranks that have it. The caller frees it again by tsi_analysis_discard_rows, whatever the
 * status. Errors: MEMORY, TOO_LARGE, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_remember_rows(tristar_distributed_t *d);

/* Local, while the structure of the factor exists. *bytes: forecast (rank_forecast.h) of the most memory that
 * this rank will need in addition to the memory in use; 0: there is no limit. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_team_factor_forecast(const tristar_distributed_t *d,
                                                        const tsi_shared_structure *structure, double *bytes);
/* Local. Checks that these bytes are within the limit of the context. Errors: MEMORY (they are not; the
 * message has the figures). */
TRISTAR_CHECKED tristar_status tsi_team_factor_check_limit(const tristar_distributed_t *d, double bytes);

/* Functions that factor the same values again, if the verdict requires it. They are collective; solves work
 * afterwards. */
typedef struct tsi_remaking tsi_remaking;
struct tsi_remaking {
  /* Lays out d anew, with an analysis for the values or, substitute, without inverted diagonal blocks.
   * Errors: those of the first factorization. */
  tristar_status (*factor_again)(const tsi_remaking *how, tristar_distributed_t *d, bool substitute);
  /* other, a new object, becomes the factor of d's values as by tsi_factor_rematch. Errors: as above. */
  tristar_status (*rematch)(const tsi_remaking *how, const tristar_distributed_t *d,
                            tristar_distributed_t *other);
  bool suits;         /* As in tsi_verdict. */
  const char *remedy; /* As in tsi_verdict. */
};
/* Collective. Factors new values. d is valid afterwards if the factorization succeeds and the verdict is good
 * (tsi_verdict_renewed). before: an earlier failure of this rank. memory: bytes of the library at the start
 * of the call; begin: time of this start. Errors: those of tristar_refactor. */
TRISTAR_CHECKED tristar_status tsi_team_factor_renew(tristar_distributed_t *d, const tsi_supply *supply,
                                                     const tsi_remaking *how, tristar_status before,
                                                     size_t memory, double begin);
/* Collective, after a first factorization that ended with the status `made` and, if that is OK, once solves
 * work. Finds the verdict (tsi_verdict_first). Another factor may replace *d. Errors: those of
 * tsi_verdict_first. */
TRISTAR_CHECKED tristar_status tsi_distributed_judge_first(tristar_distributed_t **d, const tsi_remaking *how,
                                                           tristar_status made);
/* Collective, after new values. Finds the verdict (tsi_verdict_renewed). After a failure there are no values.
 * Errors: those of tsi_verdict_renewed. */
TRISTAR_CHECKED tristar_status tsi_distributed_judge_renewed(tristar_distributed_t *d,
                                                             const tsi_remaking *how, tristar_status made);
/* Records memory and time of a factorization in the statistics. */
void tsi_team_factor_note_costs(tristar_distributed_t *d, size_t memory, double seconds);

/* Collective. Runs a factorization. Afterwards all ranks have the pivots of their parts' columns, rank 0 has
 * all pivots, and all ranks have the figures of all pivots. Workers are recalled (idle.h) only for the run.
 * The caller destroys *out, whatever the status. Errors: the first failure, the same on all ranks. */
TRISTAR_CHECKED tristar_status tsi_team_factor_run(tristar_distributed_t *d, tsi_team_factor *team_factor,
                                                   bool fixed, tsi_numeric **out);
/* Collective. For a second opinion on dependent rows, as in tsi_factorize: runs a factorization without
 * interchanges, and replaces *numeric by it if it is better. Errors: as tsi_team_factor_run. */
TRISTAR_CHECKED tristar_status tsi_team_factor_run_fixed(tristar_distributed_t *d,
                                                         tsi_team_factor *team_factor, tsi_numeric **numeric);
/* Collective. Sends panels, or rows of them, to the other ranks that store them. Adds to the statistics.
 * Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_team_factor_hand_on(tristar_distributed_t *d,
                                                       const tsi_team_factor *team_factor);
