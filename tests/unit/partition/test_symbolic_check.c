/* tsi_symbolic_check accepts a good structure and finds each broken invariant. */
#include <string.h>

#include "partition/order/symbolic.h"
#include "tests/support/patterns.h"

/* Removes the first `count` rows of supernode s. */
static void drop_rows(tsi_symbolic *sy, tsi_index s, tsi_count count) {
  for (tsi_count p = sy->row_ptr[s] + count; p < sy->row_ptr[sy->count]; p++)
    sy->rows[p - count] = sy->rows[p];
  for (tsi_index t = s + 1; t <= sy->count; t++) sy->row_ptr[t] -= count;
}

static bool is_leaf(const tsi_symbolic *sy, tsi_index s) {
  return s == 0 || sy->parent[s - 1] != s;
}

static tsi_index root_of(const tsi_symbolic *sy) {
  return sy->count - 1;
}

/* ---- One way to break an invariant each ---- */

static void perm_out_of_range(tsi_symbolic *sy) {
  sy->perm[3] = sy->n;
}
static void perm_negative(tsi_symbolic *sy) {
  sy->perm[3] = -1;
}
static void perm_twice(tsi_symbolic *sy) {
  sy->perm[3] = sy->perm[4];
}
static void inverse_wrong(tsi_symbolic *sy) {
  tsi_index v = sy->perm[3], u = sy->perm[5];
  sy->inverse[v] = 5;
  sy->inverse[u] = 3;
}
static void n_negative(tsi_symbolic *sy) {
  sy->n = -1;
}
static void first_start(tsi_symbolic *sy) {
  sy->start[0] = 1;
}
static void empty_supernode(tsi_symbolic *sy) {
  sy->start[2] = sy->start[1];
}
static void last_start(tsi_symbolic *sy) {
  sy->start[sy->count]++;
}
static void first_row_ptr(tsi_symbolic *sy) {
  sy->row_ptr[0] = 1;
}
static void row_ptr_descends(tsi_symbolic *sy) {
  sy->row_ptr[2] = sy->row_ptr[1] - 1;
}
static void row_twice(tsi_symbolic *sy) {
  sy->rows[1] = sy->rows[0];
}
static void row_in_own_columns(tsi_symbolic *sy) {
  sy->rows[0] = sy->start[1] - 1;
}
static void row_out_of_range(tsi_symbolic *sy) {
  sy->rows[sy->row_ptr[1] - 1] = sy->n;
}
static void parent_wrong(tsi_symbolic *sy) {
  sy->parent[0] = sy->parent[0] == root_of(sy) ? root_of(sy) - 1 : root_of(sy);
}
static void parent_missing(tsi_symbolic *sy) {
  sy->parent[0] = TSI_NONE;
}
static void parent_of_root(tsi_symbolic *sy) {
  sy->parent[root_of(sy)] = 0;
}
/* A leaf that is not the first child gets a farther ancestor as its parent, so its columns are inside
 * another subtree. */
static void no_postorder(tsi_symbolic *sy) {
  for (tsi_index s = 1; s < sy->count; s++) {
    tsi_index up = sy->parent[s];
    if (!is_leaf(sy, s) || up == TSI_NONE || sy->parent[s - 1] != up) continue;
    tsi_count beyond = sy->row_ptr[s];
    while (beyond < sy->row_ptr[s + 1] && sy->rows[beyond] < sy->start[up + 1]) beyond++;
    if (beyond == sy->row_ptr[s + 1]) continue;
    while (sy->start[up + 1] <= sy->rows[beyond]) up++;
    drop_rows(sy, s, beyond - sy->row_ptr[s]);
    sy->parent[s] = up;
    return;
  }
  CHECK_MSG(false, "the test's structure is too small");
}
/* The first child of several is a leaf and loses all rows but one. */
static void light_child_first(tsi_symbolic *sy) {
  for (tsi_index s = 0; s + 2 < sy->count; s++) {
    tsi_count rows = sy->row_ptr[s + 1] - sy->row_ptr[s];
    if (!is_leaf(sy, s) || !is_leaf(sy, s + 1) || sy->parent[s] != sy->parent[s + 1] || rows < 2) continue;
    tsi_index keep = sy->rows[sy->row_ptr[s]];
    drop_rows(sy, s, rows - 1);
    sy->rows[sy->row_ptr[s]] = keep;
    return;
  }
  CHECK_MSG(false, "the test's structure is too small");
}
static void tree_height_wrong(tsi_symbolic *sy) {
  sy->tree_height++;
}
static void etree_height_low(tsi_symbolic *sy) {
  sy->etree_height = sy->tree_height - 1;
}
static void etree_height_high(tsi_symbolic *sy) {
  sy->etree_height = sy->n + 1;
}
/* A row that a supernode shares with its parent is changed in the parent. */
static void row_not_contained(tsi_symbolic *sy) {
  for (tsi_index s = 0; s < sy->count; s++) {
    tsi_index up = sy->parent[s];
    if (up == TSI_NONE) continue;
    for (tsi_count p = sy->row_ptr[s]; p < sy->row_ptr[s + 1]; p++)
      for (tsi_count q = sy->row_ptr[up] + 1; q + 1 < sy->row_ptr[up + 1]; q++)
        if (sy->rows[q] == sy->rows[p] && sy->rows[q] + 1 < sy->rows[q + 1]) {
          sy->rows[q]++;
          return;
        }
  }
  CHECK_MSG(false, "the test's structure is too small");
}
/* A leaf supernode exchanges two vertices with a far supernode, so the entries of A do not fit. */
static void entry_without_place(tsi_symbolic *sy) {
  tsi_index last = sy->n - 1, u = sy->perm[0], v = sy->perm[last];
  sy->perm[0] = v;
  sy->perm[last] = u;
  sy->inverse[v] = 0;
  sy->inverse[u] = last;
}
static void stored_wrong(tsi_symbolic *sy) {
  sy->nnz_stored--;
}
static void exact_high(tsi_symbolic *sy) {
  sy->nnz_exact = sy->nnz_stored + 1;
}
static void exact_low(tsi_symbolic *sy) {
  sy->nnz_exact = sy->n - 1;
}
static void flops_wrong(tsi_symbolic *sy) {
  sy->flops = NAN;
}
static void leaf_parts_wrong(tsi_symbolic *sy) {
  sy->leaf_parts = 3;
}
static void leaf_parts_one(tsi_symbolic *sy) {
  sy->leaf_parts = 1;
}
static void part_out_of_range(tsi_symbolic *sy) {
  sy->part[0] = 2 * sy->leaf_parts - 1;
}
static void part_negative(tsi_symbolic *sy) {
  sy->part[0] = -1;
}
/* Two supernodes with the same number of columns in different leaves are exchanged. */
static void part_not_above(tsi_symbolic *sy) {
  for (tsi_index s = 0; s < sy->count; s++)
    for (tsi_index t = 0; t < s; t++)
      if (sy->part[s] != sy->part[t] && sy->start[s + 1] - sy->start[s] == sy->start[t + 1] - sy->start[t]) {
        tsi_index part = sy->part[s];
        sy->part[s] = sy->part[t];
        sy->part[t] = part;
        return;
      }
  CHECK_MSG(false, "the test's structure is too small");
}
static void part_columns_wrong(tsi_symbolic *sy) {
  sy->part_columns[0]++;
  sy->part_columns[1]--;
}

static const struct {
  const char *name, *message; /* message: must be contained in the error */
  void (*break_it)(tsi_symbolic *sy);
} breaks[] = {
    {"n_negative", "n = -1", n_negative},
    {"perm_out_of_range", "perm[3]", perm_out_of_range},
    {"perm_negative", "perm[3] = -1", perm_negative},
    {"perm_twice", "perm[3]", perm_twice},
    {"inverse_wrong", "inverse[", inverse_wrong},
    {"first_start", "the first starts at column 1", first_start},
    {"empty_supernode", "supernode 1 starts at", empty_supernode},
    {"last_start", "end at column", last_start},
    {"first_row_ptr", "row_ptr[0] = 1", first_row_ptr},
    {"row_ptr_descends", "row_ptr of supernode 1 descends", row_ptr_descends},
    {"row_twice", "of supernode 0 follows", row_twice},
    {"row_in_own_columns", "of supernode 0 follows", row_in_own_columns},
    {"row_out_of_range", "of supernode 0 follows", row_out_of_range},
    {"parent_wrong", "of supernode 0 does not hold its first row", parent_wrong},
    {"parent_missing", "parent -1 of supernode 0", parent_missing},
    {"parent_of_root", "has no rows, but parent 0", parent_of_root},
    {"no_postorder", "no postorder", no_postorder},
    {"light_child_first", "not in the order of their weight", light_child_first},
    {"tree_height_wrong", "tree_height = ", tree_height_wrong},
    {"etree_height_low", "etree_height = ", etree_height_low},
    {"etree_height_high", "etree_height = ", etree_height_high},
    {"row_not_contained", "is missing in its parent", row_not_contained},
    {"entry_without_place", "for the entry in column", entry_without_place},
    {"stored_wrong", "nnz_stored = ", stored_wrong},
    {"exact_high", "nnz_exact = ", exact_high},
    {"exact_low", "nnz_exact = ", exact_low},
    {"flops_wrong", "flops = ", flops_wrong},
    {"leaf_parts_wrong", "leaf_parts = 3", leaf_parts_wrong},
    {"leaf_parts_one", "leaf_parts = 1", leaf_parts_one},
    {"part_out_of_range", "part 7 of supernode 0", part_out_of_range},
    {"part_negative", "part -1 of supernode 0", part_negative},
    {"part_not_above", "which is not above", part_not_above},
    {"part_columns_wrong", "part_columns[0] = ", part_columns_wrong},
};

int test_symbolic_check(int argc, char **argv) {
  (void)argc;
  (void)argv;
  tsi_env env;
  tsi_symbolic_options options;
  pattern a = pattern_grid(20, 20, 1, true);
  tsi_graph *graph = NULL;
  tsi_env_init(&env);
  tsi_symbolic_options_init(&options);
  options.leaf_parts = 4;
  CHECK_OK(tsi_graph_create(&env, a.n, a.ptr, a.index, NULL, false, &graph));
  for (size_t b = 0; b < sizeof breaks / sizeof *breaks; b++) {
    tsi_symbolic *sy = NULL;
    CHECK_OK(tsi_symbolic_create(&env, graph, &options, &sy));
    CHECK_OK(tsi_symbolic_check(&env, sy, graph));
    CHECK_OK(tsi_symbolic_check(&env, sy, NULL));
    breaks[b].break_it(sy);
    tristar_status status = tsi_symbolic_check(&env, sy, graph);
    CHECK_MSG(status == TRISTAR_ERR_INTERNAL, "%s was not noticed", breaks[b].name);
    CHECK_MSG(strstr(tsi_error_text(&env), breaks[b].message) != NULL, "%s: message \"%s\"", breaks[b].name,
              tsi_error_text(&env));
    TSI_FREE(&env, sy);
  }
  /* the graph of another matrix */
  pattern other = pattern_chain(7);
  tsi_graph *small = NULL;
  tsi_symbolic *sy = NULL;
  CHECK_OK(tsi_graph_create(&env, other.n, other.ptr, other.index, NULL, false, &small));
  CHECK_OK(tsi_symbolic_create(&env, small, &options, &sy));
  CHECK_STATUS(tsi_symbolic_check(&env, sy, graph), TRISTAR_ERR_INTERNAL);
  TSI_FREE(&env, sy);
  TSI_FREE(&env, small);
  TSI_FREE(&env, graph);
  pattern_free(&a);
  pattern_free(&other);
  CHECK(env.memory.current == 0);
  return 0;
}
