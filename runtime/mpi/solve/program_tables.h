/* Tables of a process's program for the kernel of a distributed solve (codelets/gpu/tables/program_launch.h).
 * They have a header of their own because tables depend only on the structure, and launches on the values of
 * a solve.
 *
 * Reads   a process and the places where its messages arrive.
 * Writes  tables in main memory, in one block, so that a copy of the block is a copy of the tables.
 * Invariants: those of program_launch.h; all arrays begin at a multiple of 64 bytes of the block. */
#pragma once

#include "codelets/gpu/tables/program_launch.h"
#include "runtime/mpi/oneside/run_port.h"
#include "runtime/process/process.h"

typedef struct tsi_program_tables {
  tsi_gpu_program program; /* with addresses of main memory; the fields of a run are not set */
  char *block;
  size_t bytes;
} tsi_program_tables;

/* place: place of each sent message; row: first row of each received message, from tsi_oneside_list_rows with
 * the same `adds`. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_program_tables_create(tsi_process *process, const tsi_oneside_place *place,
                                                         const int64_t *row, bool adds,
                                                         tsi_program_tables *tables);
void tsi_program_tables_release(tsi_env *env, tsi_program_tables *tables);
/* The program with tables in a copy of the block at `block`, in any memory. */
tsi_gpu_program tsi_program_tables_move(const tsi_program_tables *tables, void *block);
