/* Assembly of a tiled front of one process, piece by piece, with as little memory as possible. See numeric.h.
 *
 * Memory is largest during the assembly, when the front and its children's complements exist together (Liu
 * 1992). So the part of the front behind its supernode is allocated when the first piece needs it. The rows
 * of the children ascend in the front. Once a piece and all pieces before it are assembled, the columns that
 * they took from the children are given back. So the peak is lowest if the pieces run in order, as they do on
 * one worker. Additions to an entry follow the order of the children, whatever the order of the pieces. */
#include "runtime/base/threads.h"
#include "runtime/factor/numeric.h"

/* Allocates the part of the front behind the supernode. The lock is held. */
static tristar_status need_rest(tsi_numeric *numeric, tsi_open_front *open) {
  tsi_front *front = &open->front;
  if (numeric->pivots && front->q == NULL)
    TSI_TRY(tsi_front_allocate(numeric, (tsi_count)front->w * front->m, &front->q));
  if (front->c == NULL) TSI_TRY(tsi_front_need_complement(numeric, open));
  return TRISTAR_OK;
}

/* Gives back the columns of a child's complement, of order m, that belong before column `end` of the
 * front. */
static void use_up(const tsi_numeric *numeric, tsi_index child, const tsi_index *position, tsi_index m,
                   tsi_index end) {
  const bool full = numeric->full;
  tsi_index j = 0, rest = m;
  while (rest > 0) { /* Columns before j belong before `end`. */
    const tsi_index half = rest / 2;
    if (position[j + half] < end) {
      j += half + 1;
      rest -= half + 1;
    } else
      rest = half;
  }
  const tsi_count scalars =
      j == m ? tsi_complement_size(m, full) : tsi_complement_entry(m, tsi_tile_row(j, full), j, full);
  if (numeric->complement[child])
    tsi_use_up(numeric->env, numeric->complement[child], (size_t)scalars * numeric->kernels->scalar_bytes);
}

/* Records an assembled piece, and gives back memory of the children. The lock is held. */
static void note(tsi_numeric *numeric, tsi_open_front *open, tsi_index piece) {
  const tsi_factorization *dag = numeric->dag;
  const tsi_count *row_ptr = dag->symbolic->row_ptr;
  const tsi_front_tiles t = tsi_factorization_tiles(dag, open->s);
  const tsi_index pieces = tsi_front_pieces(&t), before = open->first_pieces;
  const tsi_index *position = open->position;
  if (numeric->panel) return; /* Complements stay. */
  open->assembled[piece] = true;
  while (open->first_pieces < pieces && open->assembled[open->first_pieces]) open->first_pieces++;
  if (open->first_pieces == before || open->first_pieces == pieces)
    return; /* After the last piece all is freed at once. */
  const tsi_index end = tsi_front_piece_begin(&t, open->first_pieces);
  for (tsi_index c = dag->child_ptr[open->s]; c < dag->child_ptr[open->s + 1]; c++) {
    const tsi_index child = dag->child[c], m = (tsi_index)(row_ptr[child + 1] - row_ptr[child]);
    if (!tsi_front_leaves_parts(dag->teams, child)) use_up(numeric, child, position, m, end);
    position += m;
  }
}

void tsi_front_piece(tsi_numeric *numeric, tsi_open_front *open, tsi_index c0, tsi_index c1) {
  tristar_status status = TRISTAR_OK;
  const tsi_front_tiles t = tsi_factorization_tiles(numeric->dag, open->s);
  if (tsi_numeric_failed(numeric)) return;
  pthread_mutex_lock(&numeric->lock);
  if (c0 >= t.w) status = need_rest(numeric, open);
  pthread_mutex_unlock(&numeric->lock);
  TSI_TRY_OUT(status);
  tsi_front_assemble(numeric, open, c0, c1);
  pthread_mutex_lock(&numeric->lock);
  note(numeric, open, tsi_front_piece_at(&t, c0));
  pthread_mutex_unlock(&numeric->lock);
out:
  tsi_failure_keep(numeric->env, &numeric->failure, status);
}
