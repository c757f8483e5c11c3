/* What steps read and write: buffers, and ranges of their rows.
 *
 * Job. Name the memory that the steps of a solve or of a factorization use, wherever it is stored. From these
 * declarations alone
 *   - tsi_access_check proves that a set of steps has no races: if two steps touch the same rows of a buffer
 *     and one of them writes, a path of edges orders them
 *   - an executor finds the data that a step needs where it runs, and the data that it leaves there
 *
 * A kind and an item identify a buffer. Its rows count from 0; the kind defines what a row is. An access is a
 * range of rows; a step that touches several ranges has several accesses. Data that no step of the set writes
 * (the factor of a solve, the values of a factorization) are declared, too: they must be present where the
 * step runs.
 *
 * If L and U differ in structure, each has its own updates and partial sums: the items of the backward sweep
 * are numbered after the items of the forward sweep (access_sweep.h).
 *
 * Reads   the declarations of the builders of steps.
 * Writes  a tsi_access_list that owns its arrays.
 * Invariants
 *   - step k has the accesses access[ptr[k]] .. access[ptr[k + 1] - 1]; no range is empty
 *   - if a step reads rows that it has written itself, before any other step can read them, it declares only
 *     a write */
#pragma once

#include "dag/levels.h"

/* Each comment names the item, then the rows. */
typedef enum tsi_buffer_kind {
  TSI_BUFFER_B,        /* chunk; its columns */
  TSI_BUFFER_X,        /* chunk; its columns */
  TSI_BUFFER_SEGMENT,  /* chunk; its columns: x_c in the workspace */
  TSI_BUFFER_UPDATE,   /* chunk; its off-rows: u_c forward, the copy of their owners' x backward */
  TSI_BUFFER_PARTIAL,  /* slice; one row: its partial sum. With INVERSE_PARTITIONED the first slice of a chunk
                          also holds x for forward slices */
  TSI_BUFFER_FORWARD,  /* node of the forward sweep; one row: the factor that it streams */
  TSI_BUFFER_BACKWARD, /* node of the backward sweep; one row: the factor that it streams */
  TSI_BUFFER_INBOX,    /* 0; rows of received messages */
  TSI_BUFFER_OUTBOX,   /* 0; rows of sent messages */
  TSI_BUFFER_T, /* 0; n rows: the workspace of a block cut, the first half of the workspace of a partitioned
                   inverse */
  TSI_BUFFER_Y, /* 0; n rows: the second half of the workspace of a partitioned inverse */
  TSI_BUFFER_FRONT, /* supernode; columns of its front, with the columns of its Schur complement */
  /* of a factorization: see factorization.h */
  TSI_BUFFER_FRONT_ROWS,    /* supernode; rows of its front: L, and the diagonal blocks */
  TSI_BUFFER_FRONT_COLUMNS, /* supernode; columns of its front: U, without the diagonal blocks */
  TSI_BUFFER_COMPLEMENT,    /* supernode; tiles of its Schur complement, tile row by tile row */
  TSI_BUFFER_POSITION,      /* supernode; one row: positions of its children's complements in its front */
  TSI_BUFFER_VALUES,        /* 0; n rows: entries of the matrix by columns of supernodes */
  TSI_BUFFER_PIVOT,         /* 0; panels: interchanges, and D^-1 */
  TSI_BUFFER_PANEL,         /* 0; panels: the packed factor */
  TSI_BUFFER_KINDS
} tsi_buffer_kind;

typedef enum tsi_access_mode {
  TSI_ACCESS_R = 1,
  TSI_ACCESS_W = 2, /* The previous contents of the rows are not read. */
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

/* A list under construction. A first pass counts the accesses, a second pass writes them. */
typedef struct tsi_access_lister {
  tsi_access *access; /* NULL: the first pass. */
  tsi_count count;
} tsi_access_lister;

/* Adds an access of the current step, unless the range is empty. */
void tsi_access_add(tsi_access_lister *lister, tsi_access_mode mode, tsi_buffer_kind kind, tsi_index item,
                    tsi_count first, tsi_count end);
/* Calls list_step twice for each step, in the order of the steps. list_step adds the accesses of a step.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_access_list_create(tsi_env *env, tsi_index steps,
                                                      void (*list_step)(const void *arg, tsi_index step,
                                                                        tsi_access_lister *lister),
                                                      const void *arg, tsi_access_list **out);

/* Two steps that may run at the same time, although their accesses conflict. */
typedef struct tsi_conflict {
  tsi_index step, other; /* step < other. TSI_NONE: there is no conflict. */
  tsi_access access, against;
} tsi_conflict;

/* Finds the first conflict in the order of `other`, if there is one. Edges lead upwards: before < item <
 * list->steps. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_access_find_conflict(tsi_env *env, const tsi_access_list *list,
                                                        tsi_count edges, const tsi_edge *edge,
                                                        tsi_conflict *conflict);
/* Errors: MEMORY; INTERNAL (a conflict, which the message names). */
TRISTAR_CHECKED tristar_status tsi_access_check(tsi_env *env, const tsi_access_list *list, tsi_count edges,
                                                const tsi_edge *edge);
/* The same if barriers between levels replace the edges: of two steps with conflicting accesses the later one
 * has a higher level. */
TRISTAR_CHECKED tristar_status tsi_access_check_levels(tsi_env *env, const tsi_access_list *list,
                                                       const tsi_levels *levels);
