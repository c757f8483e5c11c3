/* Matrices in StarPU handles: see operand.h. */
#include "runtime/exec/starpu/operand.h"

#include <inttypes.h>

/* Leaves of a handle that starpu_data_partition has cut. */
static int64_t count_leaves(starpu_data_handle_t handle) {
  const int children = starpu_data_get_nb_children(handle);
  int64_t leaves = children == 0;
  for (int k = 0; k < children; k++) leaves += count_leaves(starpu_data_get_child(handle, (unsigned)k));
  return leaves;
}

static void list_leaves(starpu_data_handle_t handle, tsi_operand *operand) {
  const int children = starpu_data_get_nb_children(handle);
  if (children == 0) operand->piece[operand->count++].handle = handle;
  for (int k = 0; k < children; k++) list_leaves(starpu_data_get_child(handle, (unsigned)k), operand);
}

/* Reads the sizes of a handle; address and strides only while it is acquired. Returns the bytes of an
 * element; 0: unknown kind. */
static size_t look_at(tsi_piece *piece) {
  void *interface = starpu_data_get_interface_on_node(piece->handle, STARPU_MAIN_RAM);
  const struct starpu_matrix_interface *matrix = interface;
  const struct starpu_vector_interface *vector = interface;
  const struct starpu_block_interface *block = interface;
  const struct starpu_variable_interface *variable = interface;
  piece->columns = piece->plane = 1;
  switch ((int)starpu_data_get_interface_id(piece->handle)) {
  case STARPU_MATRIX_INTERFACE_ID:
    piece->at = (char *)matrix->ptr;
    piece->rows = matrix->nx;
    piece->columns = matrix->ny;
    piece->plane = matrix->ny > 0 ? matrix->ny : 1;
    piece->column_stride = matrix->ld;
    return matrix->elemsize;
  case STARPU_VECTOR_INTERFACE_ID:
    piece->at = (char *)vector->ptr;
    piece->rows = vector->nx;
    return vector->elemsize;
  case STARPU_BLOCK_INTERFACE_ID:
    piece->at = (char *)block->ptr;
    piece->rows = block->nx;
    piece->columns = (int64_t)block->ny * block->nz;
    piece->plane = block->ny > 0 ? block->ny : 1;
    piece->column_stride = block->ldy;
    piece->plane_stride = block->ldz;
    return block->elemsize;
  case STARPU_VARIABLE_INTERFACE_ID:
    piece->at = (char *)variable->ptr;
    piece->rows = 1;
    return variable->elemsize;
  default:
    return 0;
  }
}

static tristar_status check_pieces(tsi_env *env, tsi_operand *o) {
  for (int64_t k = 0; k < o->count; k++) {
    const size_t bytes = look_at(&o->piece[k]);
    if (bytes == 0)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is neither a matrix, a vector, a block nor a variable",
               o->name);
    if (bytes != o->scalar)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s has elements of %zu bytes, but scalars of the matrix have %zu",
               o->name, bytes, o->scalar);
  }
  return TRISTAR_OK;
}

/* Arranges the pieces one below the other, or side by side. */
static tristar_status arrange(tsi_env *env, tsi_operand *o) {
  int64_t rows = 0, columns = 0;
  bool equal_rows = true, equal_columns = true;
  for (int64_t k = 0; k < o->count; k++) {
    tsi_piece *piece = &o->piece[k];
    piece->row = rows;
    piece->column = columns;
    rows += piece->rows;
    columns += piece->columns;
    equal_rows = equal_rows && piece->rows == o->rows;
    equal_columns = equal_columns && piece->columns == o->piece[0].columns;
  }
  const bool below = equal_columns && rows == o->rows;
  if (!below && !equal_rows)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "%s has %" PRId64 " rows in %" PRId64 " pieces%s, but the system has %" PRId64, o->name, rows,
             o->count, equal_columns ? "" : " with different numbers of right-hand sides", o->rows);
  o->columns = below ? o->piece[0].columns : columns;
  for (int64_t k = 0; k < o->count; k++) *(below ? &o->piece[k].column : &o->piece[k].row) = 0;
  return TRISTAR_OK;
}

static tristar_status create(tsi_env *env, int64_t count, const starpu_data_handle_t *handle,
                             tsi_operand *o) {
  int64_t leaves = 0;
  if (count < 1 || handle == NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s has %" PRId64 " pieces", o->name, handle ? count : 0);
  for (int64_t k = 0; k < count; k++) {
    if (handle[k] == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "a handle of %s is NULL", o->name);
    leaves += count_leaves(handle[k]);
  }
  TSI_TRY(TSI_ALLOC_ZERO(env, o->piece, leaves));
  for (int64_t k = 0; k < count; k++) list_leaves(handle[k], o);
  TSI_TRY(check_pieces(env, o));
  return arrange(env, o);
}

tristar_status tsi_operands_create(tsi_env *env, int64_t rows, size_t scalar, int64_t b_pieces,
                                   const starpu_data_handle_t *b_handle, int64_t x_pieces,
                                   const starpu_data_handle_t *x_handle, tsi_operand *b, tsi_operand *x) {
  *b = (tsi_operand){.name = "b", .rows = rows, .scalar = scalar};
  *x = (tsi_operand){.name = "x", .rows = rows, .scalar = scalar};
  TSI_TRY(create(env, b_pieces, b_handle, b));
  TSI_TRY(create(env, x_pieces, x_handle, x));
  if (b->columns != x->columns)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "b has %" PRId64 " right-hand sides, but x has %" PRId64, b->columns,
             x->columns);
  return TRISTAR_OK;
}

void tsi_operand_finish(tsi_env *env, tsi_operand *o) {
  TSI_FREE(env, o->piece);
  TSI_FREE(env, o->buffer);
}

/* The distance between all neighbouring columns of a piece; 0: there is no common distance. */
static int64_t one_stride(const tsi_piece *piece) {
  if (piece->columns < 2) return 0;
  if (piece->columns <= piece->plane) return piece->column_stride;
  if (piece->plane == 1) return piece->plane_stride;
  return piece->plane_stride == piece->plane * piece->column_stride ? piece->column_stride : 0;
}

/* The distance between columns that the pieces suggest; 0: none. */
static int64_t suggest_stride(const tsi_operand *o) {
  if (o->columns < 2) return o->rows > 0 ? o->rows : 1;
  if (o->piece[0].columns > 1) return one_stride(&o->piece[0]);
  const ptrdiff_t bytes = o->piece[1].at - o->piece[0].at; /* single columns, side by side */
  return bytes > 0 && (size_t)bytes % o->scalar == 0 ? bytes / (ptrdiff_t)o->scalar : 0;
}

bool tsi_operand_locate(tsi_operand *o) {
  for (int64_t k = 0; k < o->count; k++) (void)look_at(&o->piece[k]);
  o->data = o->piece[0].at;
  o->stride = suggest_stride(o);
  bool fits = o->stride > 0;
  for (int64_t k = 0; k < o->count && fits; k++) {
    const tsi_piece *piece = &o->piece[k];
    fits = (piece->columns < 2 || one_stride(piece) == o->stride) &&
           piece->at == o->data + (size_t)(piece->row + piece->column * o->stride) * o->scalar;
  }
  return fits;
}

tristar_status tsi_operand_use_buffer(tsi_env *env, tsi_operand *o) {
  tsi_count size;
  if (!tsi_count_mul(o->rows, o->columns, &size))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%s has %" PRId64 " x %" PRId64 " entries", o->name, o->rows,
             o->columns);
  TSI_TRY(TSI_ALLOC_SIZED(env, o->buffer, size, o->scalar));
  o->data = o->buffer;
  o->stride = o->rows;
  return TRISTAR_OK;
}

static void copy(const tsi_operand *o, bool in) {
  for (int64_t k = 0; k < o->count; k++) {
    const tsi_piece *piece = &o->piece[k];
    const size_t bytes = (size_t)piece->rows * o->scalar;
    for (int64_t j = 0; j < piece->columns && bytes > 0; j++) {
      char *there = piece->at + (size_t)(j % piece->plane * piece->column_stride +
                                         j / piece->plane * piece->plane_stride) *
                                    o->scalar;
      char *here = o->buffer + (size_t)(piece->row + (piece->column + j) * o->rows) * o->scalar;
      memcpy(in ? here : there, in ? there : here, bytes);
    }
  }
}

void tsi_operand_gather(tsi_operand *o) {
  copy(o, true);
}

void tsi_operand_scatter(const tsi_operand *o) {
  if (o->buffer) copy(o, false);
}
