/* The program of a process under construction: see program.h. For the files that make it.
 *
 * Job. Append steps, edges and messages. A first pass counts everything, a second pass writes it; each
 * function does the same in both passes, apart from the writing. A message belongs to the step that was
 * appended last.
 *
 * Reads   a tsi_program_source.   Writes  the program. */
#pragma once

#include "dag/program.h"

/* The state of the current pass. */
typedef struct tsi_program_builder {
  const tsi_program_source *source;
  const tsi_layout *layout;
  const tsi_share *share;
  const tsi_sweep *sweep;
  tsi_program *program;
  bool writing;
  /* By local chunk: the step that gathers for it or solves it; the step after which its x is available
   * here. */
  tsi_index *forward_gather, *forward_x, *backward_x;
  tsi_index *forward_slice, *backward_slice; /* by slice */
  tsi_index *grid_arrival;                   /* levels: ARRIVAL of the forward message of this level */
  tsi_index grid_forward;                    /* the GRID_FORWARD step */
  tsi_count
      *above; /* levels x (chunks + 1): columns of earlier chunks above the level whose anchor is here */
  double *up, *down; /* Chunks of the layout: bytes on the heaviest path to the root, and on the heaviest path
                        to a leaf. */
  double top;        /* Bytes on the heaviest path of all. */
} tsi_program_builder;

tsi_index tsi_program_add_step(tsi_program_builder *b, tsi_step_kind kind, tsi_index argument,
                               double priority, double bytes);
void tsi_program_add_edge(tsi_program_builder *b, tsi_index item, tsi_index before);
tsi_index tsi_program_columns_of(const tsi_program_builder *b, tsi_index k);
void tsi_program_send_to_parent(tsi_program_builder *b, tsi_message_kind kind,
                                const tsi_participant_list *list, tsi_index k, tsi_index step);
void tsi_program_send_to_children(tsi_program_builder *b, tsi_message_kind kind,
                                  const tsi_participant_list *list, tsi_index k, tsi_index step);
/* Receives the sums of the children: their arrivals are the latest steps, their rows are listed in `inbox`.
 * Returns the number of arrivals. */
tsi_index tsi_program_receive_from_children(tsi_program_builder *b, tsi_message_kind kind,
                                            const tsi_participant_list *list, tsi_index k, double priority,
                                            tsi_inbox_list *inbox);
/* The ARRIVAL of x of chunk k from the parent in a tree. *row: the first row of its message in the inbox. */
tsi_index tsi_program_receive_x(tsi_program_builder *b, tsi_message_kind kind,
                                const tsi_participant_list *list, tsi_index k, double priority,
                                tsi_count *row);
void tsi_program_wait_for_last(tsi_program_builder *b, tsi_index item, tsi_index count);
tsi_index tsi_program_level_of(const tsi_program_builder *b, tsi_index k);
/* The first row of chunk k in a message with all chunks above a level. */
tsi_count tsi_program_row_above(const tsi_program_builder *b, tsi_index k, tsi_index level);
bool tsi_program_any_above(const tsi_program_builder *b, tsi_index level);
/* Is chunk k the first one above the level? */
bool tsi_program_first_above(const tsi_program_builder *b, tsi_index k, tsi_index level);
void tsi_program_send_above(tsi_program_builder *b, tsi_message_kind kind, tsi_index number, tsi_index level,
                            tsi_index z, tsi_index step);
/* The ARRIVAL of a message with all chunks above a level. */
tsi_index tsi_program_receive_above(tsi_program_builder *b, tsi_message_kind kind, tsi_index number,
                                    tsi_index level, tsi_index z);
/* The level at which this process's grid sends its sums to another grid; `levels` for grid 0, which sends
 * none. */
tsi_index tsi_program_own_level(const tsi_program_builder *b);
/* Receives sums of other grids for chunk k, which this process gathers. Arrivals are added before the first
 * chunk that needs them. */
void tsi_program_receive_grid_sums(tsi_program_builder *b, tsi_index k, tsi_count *row_of_level);
void tsi_program_add_grid_edges(tsi_program_builder *b, tsi_index k, tsi_index gather);
