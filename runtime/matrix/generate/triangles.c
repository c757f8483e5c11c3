/* Matrices for solves with their triangles, as in the literature on sparse triangular solves (for instance
 * Boehnlein, Papp, Steiner, Matzoros, Yzelman: "Efficient parallel scheduling for sparse triangular solvers",
 * 2025). Their patterns matter:
 *
 *   erdos   20 K draws of an entry outside of the diagonal, all entries with the same probability; repeated
 *           draws count once. Row i of the lower triangle has about 20 i / K entries, 10 on average
 *   band    entry (i, j) exists with probability 0.14 * 0.905^(d - 1), d = |i - j| <= 128: about 1.5 entries
 *           in a row of each triangle, most of them near the diagonal
 *   chain   the diagonals next to the main one: every row waits for the row before it
 *
 * K rows; both triangles are drawn independently of each other. Values are in [-1, 1), and a diagonal entry
 * is 1 plus the sum of the absolute values in its row: no solution of either triangle is larger than b. */
#include <math.h>

#include "runtime/matrix/generate/generate.h"
#include "runtime/matrix/triplets.h"

enum { DRAWS = 20, BAND = 128 };

/* In [-1, 1). `use` distinguishes kinds of numbers. */
static double draw_value(tsi_index i, tsi_index j, uint64_t use) {
  return 2 * tsi_hash_unit(tsi_hash((uint64_t)i * 4 + use) ^ (uint64_t)j) - 1;
}

static tristar_status push(tsi_triplets *t, tsi_index i, tsi_index j) {
  const double value = i == j ? 0 : draw_value(i, j, 0);
  return tsi_triplets_push(t, i, j, &value);
}

/* Makes the matrix and sets its diagonal, whose entries have been pushed. */
static tristar_status finish(tsi_triplets *t, tristar_matrix_t **matrix) {
  tristar_matrix_t *m = NULL;
  TSI_SCRATCH(t->env, double, sum, t->rows);
  TSI_TRY(tsi_triplets_finish(t, &m));
  for (tsi_index i = 0; i < m->rows; i++) sum[i] = 1;
  for (tsi_index j = 0; j < m->cols; j++)
    for (tsi_count e = m->ptr[j]; e < m->ptr[j + 1]; e++) sum[m->index[e]] += fabs(m->values[e]);
  for (tsi_index j = 0; j < m->cols; j++)
    for (tsi_count e = m->ptr[j]; e < m->ptr[j + 1]; e++)
      if (m->index[e] == j) m->values[e] = sum[j];
  *matrix = m;
  return TRISTAR_OK;
}

/* Appends the entries of one kind. */
typedef tristar_status fill_fn(tsi_triplets *t, tsi_index rows);

static tristar_status generate(tsi_env *env, int64_t k, tsi_matrix_part *part, fill_fn *fill,
                               tristar_matrix_t **matrix) {
  TSI_CLEANUP(tsi_triplets_free) tsi_triplets t = {.env = env};
  *matrix = NULL;
  TSI_TRY(tsi_generate_refuse_part(env, part));
  tsi_triplets_init(&t, env, (tsi_index)k, (tsi_index)k, TRISTAR_GENERAL, 1, 0);
  TSI_TRY(fill(&t, (tsi_index)k));
  return finish(&t, matrix);
}

static tristar_status fill_erdos(tsi_triplets *t, tsi_index rows) {
  for (tsi_index i = 0; i < rows; i++) TSI_TRY(push(t, i, i));
  for (uint64_t d = 0; d < (uint64_t)DRAWS * (uint64_t)rows && rows > 1; d++) {
    const tsi_index i = (tsi_index)(tsi_hash(4 * d + 1) % (uint64_t)rows);
    const tsi_index other = (tsi_index)(tsi_hash(4 * d + 2) % (uint64_t)(rows - 1));
    TSI_TRY(push(t, i, other < i ? other : other + 1)); /* not the diagonal */
  }
  return TRISTAR_OK;
}

static tristar_status fill_band(tsi_triplets *t, tsi_index rows) {
  double probability[BAND + 1] = {0, 0.14};
  for (int d = 2; d <= BAND; d++) probability[d] = probability[d - 1] * 0.905;
  for (tsi_index j = 0; j < rows; j++) {
    const tsi_index first = tsi_index_max(0, j - BAND), after = rows - j > BAND ? j + BAND + 1 : rows;
    for (tsi_index i = first; i < after; i++)
      if (i == j || (draw_value(i, j, 1) + 1) / 2 < probability[i > j ? i - j : j - i])
        TSI_TRY(push(t, i, j));
  }
  return TRISTAR_OK;
}

static tristar_status fill_chain(tsi_triplets *t, tsi_index rows) {
  for (tsi_index j = 0; j < rows; j++) {
    if (j > 0) TSI_TRY(push(t, j - 1, j));
    TSI_TRY(push(t, j, j));
    if (rows - j > 1) TSI_TRY(push(t, j + 1, j));
  }
  return TRISTAR_OK;
}

tristar_status tsi_generate_erdos(tsi_env *env, int64_t k, tsi_matrix_part *part, tristar_matrix_t **matrix) {
  return generate(env, k, part, fill_erdos, matrix);
}

tristar_status tsi_generate_band(tsi_env *env, int64_t k, tsi_matrix_part *part, tristar_matrix_t **matrix) {
  return generate(env, k, part, fill_band, matrix);
}

tristar_status tsi_generate_chain(tsi_env *env, int64_t k, tsi_matrix_part *part, tristar_matrix_t **matrix) {
  return generate(env, k, part, fill_chain, matrix);
}
