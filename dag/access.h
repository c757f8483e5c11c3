/* What steps read and write: buffers, and ranges of their rows.
 *
 * Job. Name the memory that the steps of a solve or of a factorization work with, without knowing where it
 * lies. From these declarations alone
 *   - tsi_access_check proves that a set of steps is free of races: any two steps that touch the same rows of
 *     a buffer, one of them writing, are ordered by a path of edges
 *   - an executor knows what a step needs where it runs, and what it leaves there
 *
 * A buffer is a kind and an item. Rows are those of the buffer, from 0; what a row is depends on the kind. An
 * access is a range of rows; a step that touches several ranges has several accesses. What no step of the set
 * writes (the factor of a solve, the values of a factorization) is declared too: it has to be where the step
 * runs.
 *
 * L and U of different structure have updates and partial sums of their own: items of the backward sweep
 * count on from those of the forward one (access_sweep.h).
 *
 * Reads   what the builders of steps declare.
 * Writes  a tsi_access_list that owns its arrays.
 * Invariants
 *   - access[ptr[k]] .. access[ptr[k + 1] - 1] are those of step k; no range is empty
 *   - a step that reads what it wrote itself, before anybody else could have seen it, declares a write only
 */
#pragma once

#include "dag/levels.h"

/* The item; the rows. */
typedef enum tsi_buffer_kind {
  TSI_BUFFER_B,        /* chunk; its columns */
  TSI_BUFFER_X,        /* chunk; its columns */
  TSI_BUFFER_SEGMENT,  /* chunk; its columns: x_c in the workspace */
  TSI_BUFFER_UPDATE,   /* chunk; its off-rows: u_c forward, the copy of x of their owners backward */
  TSI_BUFFER_PARTIAL,  /* slice; one row: its partial sum; of the first slice of a chunk also what forward
                          slices read with INVERSE_PARTITIONED */
  TSI_BUFFER_FORWARD,  /* node of the forward sweep; one row: the factor that it streams */
  TSI_BUFFER_BACKWARD, /* node of the backward sweep; one row: the factor that it streams */
  TSI_BUFFER_INBOX,    /* 0; rows of received messages */
  TSI_BUFFER_OUTBOX,   /* 0; rows of sent messages */
  TSI_BUFFER_T,        /* 0; n rows: the workspace of a block cut, the first half of that of a partitioned
                          inverse */
  TSI_BUFFER_Y,        /* 0; n rows: its second half */
  TSI_BUFFER_FRONT,    /* supernode; columns of its front, those of its Schur complement included */
  /* of a factorization: see factorization.h */
  TSI_BUFFER_FRONT_ROWS,    /* supernode; rows of its front: L, and the diagonal blocks */
  TSI_BUFFER_FRONT_COLUMNS, /* supernode; columns of its front: U, without the diagonal blocks */
  TSI_BUFFER_COMPLEMENT,    /* supernode; tiles of its Schur complement, tile row by tile row */
  TSI_BUFFER_POSITION,      /* supernode; one row: where its children's complements go in its front */
  TSI_BUFFER_VALUES,        /* 0; n rows: the entries of the matrix by the columns of supernodes */
  TSI_BUFFER_PIVOT,         /* 0; panels: interchanges, and D^-1 */
  TSI_BUFFER_PANEL,         /* 0; panels: the packed factor */
  TSI_BUFFER_KINDS
} tsi_buffer_kind;

typedef enum tsi_access_mode {
  TSI_ACCESS_R = 1,
  TSI_ACCESS_W = 2, /* what the rows held before is not read */
  TSI_ACCESS_RW = 3
} tsi_access_mode;

typedef struct tsi_access {
  tsi_buffer_kind kind;
  tsi_access_mode mode;
  tsi_index item;
  tsi_count first, end;
} tsi_access;

typedef struct tsi_access_list {
  tsi_index steps;
  tsi_count *ptr; /* steps + 1 */
  tsi_access *access;
} tsi_access_list;

/* A list in the making: accesses are counted in a first pass and written in a second one. */
typedef struct tsi_access_lister {
  tsi_access *access; /* NULL: they are counted */
  tsi_count count;
} tsi_access_lister;

/* Adds an access of the step that is being listed; none if the range is empty. */
void tsi_access_add(tsi_access_lister *lister, tsi_access_mode mode, tsi_buffer_kind kind, tsi_index item,
                    tsi_count first, tsi_count end);
/* Calls list_step, which adds the accesses of a step, twice for each step, in their order. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_access_list_create(tsi_env *env, tsi_index steps,
                                                      void (*list_step)(const void *arg, tsi_index step,
                                                                        tsi_access_lister *lister),
                                                      const void *arg, tsi_access_list **out);

/* Two steps that may run at the same time and must not. */
typedef struct tsi_conflict {
  tsi_index step, other; /* step < other; TSI_NONE: there is no conflict */
  tsi_access access, against;
} tsi_conflict;

/* Looks for a conflict. Edges lead upwards: before < item < list->steps. The first conflict in the order of
 * `other` is found, if there is any. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_access_find_conflict(tsi_env *env, const tsi_access_list *list,
                                                        tsi_count edges, const tsi_edge *edge,
                                                        tsi_conflict *conflict);
/* Errors: MEMORY; INTERNAL where there is a conflict, which the message names. */
TRISTAR_CHECKED tristar_status tsi_access_check(tsi_env *env, const tsi_access_list *list, tsi_count edges,
                                                const tsi_edge *edge);
/* The same where barriers between levels take the place of edges: of two steps that would be in conflict the
 * later one is of a higher level. */
TRISTAR_CHECKED tristar_status tsi_access_check_levels(tsi_env *env, const tsi_access_list *list,
                                                       const tsi_levels *levels);
