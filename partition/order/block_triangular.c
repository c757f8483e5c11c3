/* Block triangular form: blocks, and the structures of L and U. See imported_structure.h. */
#include "partition/order/etree.h"
#include "partition/order/imported_structure.h"
#include "runtime/base/sort.h"

/* ---- Diagonal blocks ----------------------------------------------------------------------------------- */

static inline tsi_index vertex_of(const tsi_matched_lines *a, tsi_count p) {
  return a->row_map ? a->row_map[a->index[p]] : a->index[p];
}

/* A search for strongly connected components (Tarjan 1972), without recursion. */
typedef struct search {
  const tsi_matched_lines *a;
  tsi_index *of;     /* component of a vertex; TSI_NONE: not complete */
  tsi_index *number; /* in the order of the visits, from 1; 0: not visited */
  tsi_index *low;    /* least number that its subtree of the search leads to */
  tsi_index *open;   /* visited vertices whose component is not complete */
  tsi_index *path;   /* from the root of the search to the vertex at hand */
  tsi_count *next;   /* entry that is looked at next */
  tsi_index visits, opened, components;
} search;

static void visit(search *s, tsi_index v) {
  s->number[v] = s->low[v] = ++s->visits;
  s->open[s->opened++] = v;
  s->next[v] = s->a->ptr[v];
}

/* All that was opened after v, and v, are a component if v leads to nothing before it. */
static void complete(search *s, tsi_index v) {
  if (s->low[v] != s->number[v]) return;
  tsi_index u;
  do {
    u = s->open[--s->opened];
    s->of[u] = s->components;
  } while (u != v);
  s->components++;
}

static void search_from(search *s, tsi_index root) {
  tsi_index depth = 0;
  s->path[0] = root;
  visit(s, root);
  while (depth >= 0) {
    const tsi_index v = s->path[depth];
    if (s->next[v] < s->a->ptr[v + 1]) {
      const tsi_index u = vertex_of(s->a, s->next[v]++);
      if (s->number[u] == 0) {
        s->path[++depth] = u;
        visit(s, u);
      } else if (s->of[u] == TSI_NONE)
        s->low[v] = tsi_index_min(s->low[v], s->number[u]);
      continue;
    }
    complete(s, v);
    if (--depth >= 0) s->low[s->path[depth]] = tsi_index_min(s->low[s->path[depth]], s->low[v]);
  }
}

tristar_status tsi_blocks_find(tsi_env *env, const tsi_matched_lines *a, tsi_index *block,
                               tsi_index *blocks) {
  TSI_SCRATCH(env, tsi_index, low, a->n);
  TSI_SCRATCH(env, tsi_index, open, a->n);
  TSI_SCRATCH(env, tsi_index, path, a->n);
  TSI_SCRATCH(env, tsi_count, next, a->n);
  TSI_SCRATCH_ZERO(env, tsi_index, number, a->n);
  search s = {.a = a, .of = block, .number = number, .low = low, .open = open, .path = path, .next = next};
  for (tsi_index v = 0; v < a->n; v++) block[v] = TSI_NONE;
  for (tsi_index v = 0; v < a->n; v++)
    if (number[v] == 0) search_from(&s, v);
  *blocks = s.components;
  /* an edge leads from a line to the other index, whose component is complete earlier */
  for (tsi_index v = 0; a->by_rows && v < a->n; v++) block[v] = s.components - 1 - block[v];
  return TRISTAR_OK;
}

tristar_status tsi_blocks_graph(tsi_env *env, const tsi_matched_lines *a, const tsi_index *block,
                                tsi_graph **out) {
  tsi_count inside = 0;
  TSI_SCRATCH(env, tsi_count, ptr, (tsi_count)a->n + 1);
  TSI_SCRATCH(env, tsi_index, index, a->ptr[a->n]);
  for (tsi_index j = 0; j < a->n; j++) {
    ptr[j] = inside;
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      index[inside] = a->index[p];
      inside += block[vertex_of(a, p)] == block[j]; /* without a branch, which no processor could predict */
    }
  }
  ptr[a->n] = inside;
  return tsi_graph_create(env, a->n, ptr, index, a->row_map, false, out);
}

/* ---- Order of the blocks ------------------------------------------------------------------------------- */

/* A block: its tree as it is numbered before, and what comes before it in the order of the blocks. */
typedef struct tree {
  tsi_index first, end; /* supernodes */
  tsi_index to;         /* first supernode then */
  tsi_index column_to;  /* first column then */
  tsi_count row_to;     /* first row then */
} tree;

/* The trees of a forest, which are contiguous, by block. */
static tristar_status find_trees(tsi_env *env, const tsi_symbolic *sy, const tsi_index *block,
                                 tsi_index blocks, tree *trees) {
  tsi_index found = 0, supernodes = 0, columns = 0;
  tsi_count rows = 0;
  for (tsi_index s = 0, first = 0; s < sy->count; s++) {
    if (sy->parent[s] != TSI_NONE) continue;
    trees[block[sy->perm[sy->start[s]]]] = (tree){.first = first, .end = s + 1};
    first = s + 1;
    found++;
  }
  if (found != blocks) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%d diagonal blocks have %d trees", blocks, found);
  for (tsi_index b = 0; b < blocks; b++) {
    tree *t = &trees[b];
    t->to = supernodes;
    t->column_to = columns;
    t->row_to = rows;
    supernodes += t->end - t->first;
    columns += sy->start[t->end] - sy->start[t->first];
    rows += sy->row_ptr[t->end] - sy->row_ptr[t->first];
  }
  return TRISTAR_OK;
}

static void move_tree(const tsi_symbolic *from, const tree *t, tsi_symbolic *to) {
  const tsi_index by = t->to - t->first, columns_by = t->column_to - from->start[t->first];
  const tsi_count rows_by = t->row_to - from->row_ptr[t->first];
  for (tsi_index s = t->first; s < t->end; s++) {
    to->start[s + by] = from->start[s] + columns_by;
    to->row_ptr[s + by] = from->row_ptr[s] + rows_by;
    to->parent[s + by] = from->parent[s] == TSI_NONE ? TSI_NONE : from->parent[s] + by;
  }
  for (tsi_count q = from->row_ptr[t->first]; q < from->row_ptr[t->end]; q++)
    to->rows[q + rows_by] = from->rows[q] + columns_by;
  for (tsi_index j = from->start[t->first]; j < from->start[t->end]; j++) {
    to->perm[j + columns_by] = from->perm[j];
    to->inverse[from->perm[j]] = j + columns_by;
  }
}

/* The arrays of a structure with n columns, count supernodes and `rows` rows. */
static tristar_status allocate(tsi_symbolic *sy, tsi_count rows) {
  TSI_TRY(TSI_ALLOC_IN(sy, sy->perm, sy->n));
  TSI_TRY(TSI_ALLOC_IN(sy, sy->inverse, sy->n));
  TSI_TRY(TSI_ALLOC_IN(sy, sy->start, (tsi_count)sy->count + 1));
  TSI_TRY(TSI_ALLOC_IN(sy, sy->parent, sy->count));
  TSI_TRY(TSI_ALLOC_IN(sy, sy->row_ptr, (tsi_count)sy->count + 1));
  return TSI_ALLOC_IN(sy, sy->rows, rows);
}

/* A structure with the figures of another one, whose arrays are allocated. */
static tristar_status create_like(tsi_env *env, const tsi_symbolic *from, tsi_count rows,
                                  tsi_symbolic **out) {
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  tsi_symbolic *to = *out;
  to->n = from->n;
  to->count = from->count;
  to->nnz_exact = from->nnz_exact;
  to->nnz_stored = from->nnz_stored;
  to->flops = from->flops;
  to->etree_height = from->etree_height;
  to->tree_height = from->tree_height;
  to->leaf_parts = 1;
  return allocate(to, rows);
}

static void copy_columns(const tsi_symbolic *from, tsi_symbolic *to) {
  memcpy(to->perm, from->perm, (size_t)from->n * sizeof *to->perm);
  memcpy(to->inverse, from->inverse, (size_t)from->n * sizeof *to->inverse);
  memcpy(to->start, from->start, ((size_t)from->count + 1) * sizeof *to->start);
}

static void copy_rows(const tsi_symbolic *from, tsi_symbolic *to) {
  memcpy(to->row_ptr, from->row_ptr, ((size_t)from->count + 1) * sizeof *to->row_ptr);
  memcpy(to->rows, from->rows, (size_t)from->row_ptr[from->count] * sizeof *to->rows);
}

/* The forest of the diagonal blocks with its trees in their order. */
static tristar_status order_trees(tsi_env *env, const tsi_symbolic *forest, const tsi_index *block,
                                  tsi_index blocks, tsi_symbolic **out) {
  TSI_OWNED tsi_symbolic *lower = NULL;
  TSI_SCRATCH(env, tree, trees, blocks);
  TSI_TRY(find_trees(env, forest, block, blocks, trees));
  TSI_TRY(create_like(env, forest, forest->row_ptr[forest->count], &lower));
  lower->closed = lower->in_blocks = true;
  for (tsi_index b = 0; b < blocks; b++) move_tree(forest, &trees[b], lower);
  lower->start[lower->count] = lower->n;
  lower->row_ptr[lower->count] = forest->row_ptr[forest->count];
  *out = tsi_take(&lower);
  return TRISTAR_OK;
}

/* ---- U ------------------------------------------------------------------------------------------------- */

/* The entries between the blocks, by final row: their final columns. */
typedef struct crossing {
  tsi_count *ptr; /* n + 1 */
  tsi_index *column;
} crossing;

static tristar_status list_crossing(const tsi_matched_lines *a, const tsi_index *block,
                                    const tsi_symbolic *lower, crossing *c) {
  const tsi_index *inverse = lower->inverse, n = a->n;
  TSI_TRY(TSI_ALLOC_ZERO_IN(c, c->ptr, (tsi_count)n + 1));
  for (int fill = 0; fill < 2; fill++) {
    if (fill) {
      for (tsi_index i = 0; i < n; i++) c->ptr[i + 1] += c->ptr[i];
      TSI_TRY(TSI_ALLOC_IN(c, c->column, c->ptr[n]));
    }
    for (tsi_index line = 0; line < n; line++)
      for (tsi_count p = a->ptr[line]; p < a->ptr[line + 1]; p++) {
        const tsi_index other = vertex_of(a, p);
        if (block[other] == block[line]) continue;
        const tsi_index row = inverse[a->by_rows ? line : other], column = inverse[a->by_rows ? other : line];
        if (fill)
          c->column[c->ptr[row]++] = column;
        else
          c->ptr[row + 1]++;
      }
  }
  for (tsi_index i = n; i > 0; i--) c->ptr[i] = c->ptr[i - 1];
  c->ptr[0] = 0;
  return TRISTAR_OK;
}

/* ---- Small blocks -------------------------------------------------------------------------------------- */

#define GROUP_WIDTH 8  /* columns */
#define GROUP_ZEROS 24 /* stored entries that take about as much time as a supernode takes beside its own */

/* Many blocks are single columns, and a supernode of few columns costs more than its entries. So blocks that
 * follow each other and are one supernode each become one supernode, whose entries between them are zero in L
 * and partly zero in U. */
typedef struct grouping {
  tsi_index *mark;               /* n: the group in whose rows the column was met; TSI_NONE: none */
  tsi_index *own;                /* n: the same of a block */
  bool *grouped;                 /* by supernode: a block of its own, perhaps with others */
  tsi_count exact;               /* entries of U behind the diagonal blocks of these */
  tsi_index begin, end, columns; /* the group at hand: columns, and how many of them behind it have entries */
  tsi_count apart;               /* stored entries without the group, and what its supernodes may add */
} grouping;

static tsi_count group_entries(tsi_index width, tsi_index columns) {
  return (tsi_count)width * (width + 1) + (tsi_count)width * columns;
}

/* Is s all of a block, and narrow? */
static bool is_small_block(const tsi_symbolic *sy, tsi_index s) {
  return sy->row_ptr[s] == sy->row_ptr[s + 1] && (s == 0 || sy->parent[s - 1] == TSI_NONE) &&
         sy->start[s + 1] - sy->start[s] <= GROUP_WIDTH;
}

/* Looks at the columns first .. end - 1, a block: how many later ones have entries in its rows (*of_block),
 * or in these and in the rows of the group (result). take: marks them as those of the group. */
static tsi_index count_columns(const crossing *c, grouping *g, tsi_index first, tsi_index end, bool take,
                               tsi_index *of_block) {
  tsi_index fresh = 0, gone = 0;
  *of_block = 0;
  for (tsi_index j = first; j < end; j++) gone += g->mark[j] == g->begin;
  for (tsi_count q = c->ptr[first]; q < c->ptr[end]; q++) {
    const tsi_index j = c->column[q];
    *of_block += g->own[j] != first;
    fresh += g->own[j] != first && g->mark[j] != g->begin;
    g->own[j] = first;
    if (take) g->mark[j] = g->begin;
  }
  for (tsi_count q = c->ptr[first]; q < c->ptr[end]; q++) g->own[c->column[q]] = TSI_NONE;
  return g->columns - gone + fresh;
}

/* Does the block join the group at hand? Else it begins one. */
static bool join_group(const crossing *c, grouping *g, tsi_index first, tsi_index end) {
  const tsi_index width = end - first;
  tsi_index of_block;
  const tsi_index columns = count_columns(c, g, first, end, false, &of_block);
  const tsi_count apart = group_entries(width, of_block) + GROUP_ZEROS;
  const bool joins = g->end == first && end - g->begin <= GROUP_WIDTH &&
                     group_entries(end - g->begin, columns) <= g->apart + apart;
  g->exact += (tsi_count)width * of_block;
  if (!joins) {
    g->begin = first;
    g->columns = 0;
    g->apart = 0;
  }
  g->end = end;
  g->apart += apart;
  g->columns = count_columns(c, g, first, end, true, &of_block);
  return joins;
}

/* Changes `lower`, whose numbering of columns stays. grouped: by supernode. exact: see grouping. */
static tristar_status group_blocks(tsi_env *env, const crossing *c, tsi_symbolic *sy, bool *grouped,
                                   tsi_count *exact) {
  TSI_SCRATCH(env, tsi_index, mark, sy->n);
  TSI_SCRATCH(env, tsi_index, own, sy->n);
  TSI_SCRATCH(env, tsi_index, number, sy->count);
  grouping g = {.mark = mark, .own = own, .begin = TSI_NONE - 1, .end = TSI_NONE};
  tsi_index count = 0;
  for (tsi_index j = 0; j < sy->n; j++) mark[j] = own[j] = TSI_NONE;
  sy->nnz_stored = 0;
  for (tsi_index s = 0; s < sy->count; s++) {
    const bool small = is_small_block(sy, s);
    if (!small || !join_group(c, &g, sy->start[s], sy->start[s + 1])) {
      grouped[count] = small;
      sy->start[count] = sy->start[s]; /* rows, and their places, stay: the others of a group have none */
      sy->row_ptr[count] = sy->row_ptr[s];
      sy->parent[count] = sy->parent[s];
      count++;
    }
    number[s] = count - 1;
  }
  for (tsi_index s = 0; s < count; s++)
    if (sy->parent[s] != TSI_NONE) sy->parent[s] = number[sy->parent[s]];
  sy->start[count] = sy->n;
  sy->row_ptr[count] = sy->row_ptr[sy->count];
  sy->count = count;
  for (tsi_index s = 0; s < count; s++) {
    const tsi_count w = sy->start[s + 1] - sy->start[s];
    sy->nnz_stored += w * (w + 1) / 2 + w * (sy->row_ptr[s + 1] - sy->row_ptr[s]);
  }
  *exact = g.exact;
  return TRISTAR_OK;
}

/* ---- Columns of later blocks --------------------------------------------------------------------------- */

/* Columns of later blocks by supernode, ascending. */
typedef struct extra_lists {
  tsi_count *ptr; /* count + 1 */
  tsi_index *column;
  tsi_count room;
} extra_lists;

/* What lives only meanwhile. */
typedef struct upper_work {
  const tsi_symbolic *lower;
  tsi_count *own_ptr;      /* count: where those begin that the entries of a supernode have, */
  tsi_count *own_end;      /* count: and where they end */
  tsi_index *own;          /* ascending */
  tsi_index *mark;         /* n: supernode that has the column at last */
  tsi_index *child, *next; /* count: the last child, the child before; TSI_NONE: none */
} upper_work;

/* The lists of the entries alone, in the order of the columns, so that they ascend. */
static tristar_status list_own(tsi_env *env, const crossing *c, upper_work *w) {
  const tsi_symbolic *lower = w->lower;
  const tsi_index n = lower->n;
  TSI_TRY(TSI_ALLOC_IN(w, w->own_ptr, lower->count));
  TSI_TRY(TSI_ALLOC_IN(w, w->own_end, lower->count));
  TSI_TRY(TSI_ALLOC_IN(w, w->own, c->ptr[n]));
  TSI_SCRATCH_ZERO(env, tsi_count, at, (tsi_count)n + 2);
  TSI_SCRATCH(env, tsi_index, supernode, c->ptr[n]); /* of the entries, by column */
  for (tsi_count q = 0; q < c->ptr[n]; q++) at[c->column[q] + 2]++;
  for (tsi_index j = 0; j < n; j++) at[j + 2] += at[j + 1];
  for (tsi_index s = 0; s < lower->count; s++) {
    w->own_ptr[s] = w->own_end[s] = c->ptr[lower->start[s]];
    for (tsi_count q = c->ptr[lower->start[s]]; q < c->ptr[lower->start[s + 1]]; q++)
      supernode[at[c->column[q] + 1]++] = s;
  }
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count q = at[j]; q < at[j + 1]; q++) {
      const tsi_index s = supernode[q];
      const bool there = w->own_end[s] > w->own_ptr[s] && w->own[w->own_end[s] - 1] == j;
      if (there || j < lower->start[s + 1]) continue; /* the latter: of its group */
      w->own[w->own_end[s]++] = j;
    }
  return TRISTAR_OK;
}

static tristar_status need_room(extra_lists *e, tsi_count end) {
  if (end <= e->room) return TRISTAR_OK;
  tsi_index *larger = NULL;
  const tsi_count room = tsi_count_max(end, 2 * e->room);
  TSI_TRY(TSI_ALLOC_IN(e, larger, room));
  if (e->column) memcpy(larger, e->column, (size_t)e->room * sizeof *larger);
  TSI_FREE(NULL, e->column);
  e->column = larger;
  e->room = room;
  return TRISTAR_OK;
}

/* Adds those of `count` columns that the list of s has not. */
static tsi_count add_columns(const upper_work *w, tsi_index s, tsi_index *list, tsi_count length,
                             const tsi_index *column, tsi_count count) {
  for (tsi_count q = 0; q < count; q++) {
    if (w->mark[column[q]] == s) continue;
    w->mark[column[q]] = s;
    list[length++] = column[q];
  }
  return length;
}

/* Those of its entries, and what its children pass on. */
static tristar_status list_extras(const upper_work *w, tsi_index s, extra_lists *e) {
  const tsi_count own = w->own_end[s] - w->own_ptr[s];
  tsi_count most = own;
  for (tsi_index k = w->child[s]; k != TSI_NONE; k = w->next[k]) most += e->ptr[k + 1] - e->ptr[k];
  TSI_TRY(need_room(e, e->ptr[s] + most));
  tsi_index *list = e->column + e->ptr[s];
  tsi_count length = own;
  if (most == own) {
    memcpy(list, w->own + w->own_ptr[s], (size_t)own * sizeof *list);
  } else {
    length = add_columns(w, s, list, 0, w->own + w->own_ptr[s], own);
    for (tsi_index k = w->child[s]; k != TSI_NONE; k = w->next[k])
      length = add_columns(w, s, list, length, e->column + e->ptr[k], e->ptr[k + 1] - e->ptr[k]);
    tsi_sort_indices(list, length);
  }
  e->ptr[s + 1] = e->ptr[s] + length;
  return TRISTAR_OK;
}

static tristar_status list_all_extras(tsi_env *env, const tsi_symbolic *lower, const crossing *c,
                                      extra_lists *e) {
  const tsi_index count = lower->count;
  TSI_SCRATCH_ZERO(env, upper_work, w, 1);
  w->lower = lower;
  TSI_TRY(TSI_ALLOC_IN(w, w->mark, lower->n));
  TSI_TRY(TSI_ALLOC_IN(w, w->child, count));
  TSI_TRY(TSI_ALLOC_IN(w, w->next, count));
  TSI_TRY(list_own(env, c, w));
  TSI_TRY(need_room(e, 1));
  TSI_TRY(TSI_ALLOC_IN(e, e->ptr, (tsi_count)count + 1));
  for (tsi_index j = 0; j < lower->n; j++) w->mark[j] = TSI_NONE;
  for (tsi_index s = 0; s < count; s++) w->child[s] = w->next[s] = TSI_NONE;
  e->ptr[0] = 0;
  for (tsi_index s = 0; s < count; s++) {
    TSI_TRY(list_extras(w, s, e));
    const tsi_index up = lower->parent[s];
    if (up == TSI_NONE) continue;
    w->next[s] = w->child[up];
    w->child[up] = s;
  }
  return TRISTAR_OK;
}

/* A tree for the numbering in which the rows of each supernode are columns of ancestors. If k is in the
 * subtree of i and so is i' of k', then so is all between, as the numbering is a postorder: the parent of k
 * is the next i that has a row of a supernode up to k. */
static tristar_status find_parents(tsi_env *env, tsi_symbolic *sy) {
  TSI_SCRATCH(env, tsi_index, first, sy->count); /* least supernode with a row here */
  TSI_SCRATCH(env, tsi_index, roots, sy->count); /* so far, ascending */
  tsi_index open = 0;
  for (tsi_index s = 0; s < sy->count; s++) first[s] = s;
  for (tsi_index s = sy->count - 1; s >= 0; s--) {
    tsi_index to = TSI_NONE;
    for (tsi_count q = sy->row_ptr[s]; q < sy->row_ptr[s + 1]; q++) {
      if (to != TSI_NONE && sy->rows[q] < sy->start[to + 1]) continue;
      to = tsi_find_range(sy->start, sy->count, sy->rows[q]);
      first[to] = tsi_index_min(first[to], s);
    }
  }
  for (tsi_index s = 0; s < sy->count; s++) {
    sy->parent[s] = TSI_NONE;
    while (open > 0 && roots[open - 1] >= first[s]) sy->parent[roots[--open]] = s;
    roots[open++] = s;
  }
  TSI_TRY(tsi_tree_height(env, sy->count, sy->parent, &sy->tree_height));
  sy->etree_height = tsi_index_max(sy->etree_height, sy->tree_height);
  return TRISTAR_OK;
}

/* grouped, exact: of group_blocks. */
static tristar_status create_upper(tsi_env *env, const tsi_symbolic *lower, const extra_lists *e,
                                   const bool *grouped, tsi_count exact, tsi_symbolic **out) {
  TSI_OWNED tsi_symbolic *upper = NULL;
  TSI_TRY(create_like(env, lower, lower->row_ptr[lower->count] + e->ptr[lower->count], &upper));
  copy_columns(lower, upper);
  upper->row_ptr[0] = 0;
  for (tsi_index s = 0; s < lower->count; s++) {
    const tsi_count own = lower->row_ptr[s + 1] - lower->row_ptr[s], extras = e->ptr[s + 1] - e->ptr[s],
                    w = lower->start[s + 1] - lower->start[s];
    tsi_index *rows = upper->rows + upper->row_ptr[s];
    memcpy(rows, lower->rows + lower->row_ptr[s], (size_t)own * sizeof *rows);
    memcpy(rows + own, e->column + e->ptr[s], (size_t)extras * sizeof *rows);
    upper->row_ptr[s + 1] = upper->row_ptr[s] + own + extras;
    upper->nnz_stored += w * extras;
    if (grouped[s]) continue;
    upper->nnz_exact += w * extras;
    upper->flops += (double)extras * (double)w * (double)(w + 2 * own);
  }
  upper->nnz_exact += exact;
  upper->flops += (double)exact;
  TSI_TRY(find_parents(env, upper));
  *out = tsi_take(&upper);
  return TRISTAR_OK;
}

/* L with another tree. */
static tristar_status copy_with_tree(tsi_env *env, const tsi_symbolic *lower, const tsi_symbolic *upper,
                                     tsi_symbolic **out) {
  TSI_OWNED tsi_symbolic *swept = NULL;
  TSI_TRY(create_like(env, lower, lower->row_ptr[lower->count], &swept));
  copy_columns(lower, swept);
  copy_rows(lower, swept);
  memcpy(swept->parent, upper->parent, (size_t)upper->count * sizeof *swept->parent);
  swept->tree_height = upper->tree_height;
  swept->etree_height = upper->etree_height;
  *out = tsi_take(&swept);
  return TRISTAR_OK;
}

tristar_status tsi_blocks_structures(tsi_env *env, const tsi_matched_lines *a, const tsi_index *block,
                                     tsi_index blocks, const tsi_symbolic *forest,
                                     tsi_block_structures *out) {
  TSI_OWNED tsi_symbolic *lower = NULL, *upper = NULL, *swept = NULL;
  TSI_SCRATCH_ZERO(env, crossing, c, 1);
  TSI_SCRATCH_ZERO(env, extra_lists, e, 1);
  tsi_count exact;
  *out = (tsi_block_structures){.lower = NULL};
  TSI_TRY(order_trees(env, forest, block, blocks, &lower));
  TSI_TRY(list_crossing(a, block, lower, c));
  TSI_SCRATCH(env, bool, grouped, lower->count);
  TSI_TRY(group_blocks(env, c, lower, grouped, &exact));
  TSI_TRY(tsi_tree_height(env, lower->count, lower->parent, &lower->tree_height));
  TSI_TRY(list_all_extras(env, lower, c, e));
  TSI_TRY(create_upper(env, lower, e, grouped, exact, &upper));
  TSI_TRY(copy_with_tree(env, lower, upper, &swept));
  if (env->check) {
    TSI_TRY(tsi_symbolic_check(env, lower, NULL));
    TSI_TRY(tsi_symbolic_check(env, upper, NULL));
    TSI_TRY(tsi_symbolic_check(env, swept, NULL));
    TSI_TRY(tsi_blocks_check(env, lower, upper));
  }
  *out = (tsi_block_structures){tsi_take(&lower), tsi_take(&upper), tsi_take(&swept)};
  return TRISTAR_OK;
}

tristar_status tsi_blocks_own_trees(tsi_env *env, const tsi_symbolic *swept, tsi_symbolic **out) {
  TSI_OWNED tsi_symbolic *lower = NULL;
  *out = NULL;
  TSI_TRY(create_like(env, swept, swept->row_ptr[swept->count], &lower));
  copy_columns(swept, lower);
  copy_rows(swept, lower);
  lower->closed = lower->in_blocks = true;
  for (tsi_index s = 0; s < lower->count; s++) {
    const bool root = lower->row_ptr[s] == lower->row_ptr[s + 1];
    lower->parent[s] =
        root ? TSI_NONE : tsi_find_range(lower->start, lower->count, lower->rows[lower->row_ptr[s]]);
  }
  TSI_TRY(tsi_tree_height(env, lower->count, lower->parent, &lower->tree_height));
  *out = tsi_take(&lower);
  return TRISTAR_OK;
}

#define BROKEN(...) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "block triangular form: " __VA_ARGS__)

tristar_status tsi_blocks_check(tsi_env *env, const tsi_symbolic *lower, const tsi_symbolic *upper) {
  TSI_SCRATCH(env, tsi_index, end, lower->count); /* first column behind the block of each supernode */
  for (tsi_index s = lower->count - 1; s >= 0; s--)
    end[s] = lower->parent[s] == TSI_NONE ? lower->start[s + 1] : end[lower->parent[s]];
  for (tsi_index s = 0; s < lower->count; s++) {
    const tsi_count own = lower->row_ptr[s + 1] - lower->row_ptr[s],
                    all = upper->row_ptr[s + 1] - upper->row_ptr[s];
    const tsi_index *rows = upper->rows + upper->row_ptr[s];
    if (all < own || memcmp(rows, lower->rows + lower->row_ptr[s], (size_t)own * sizeof *rows) != 0)
      BROKEN("supernode %d of U does not have the rows of L", s);
    if (all > own && rows[own] < end[s])
      BROKEN("supernode %d of U has row %d of its block, but not L", s, rows[own]);
    const tsi_index up = lower->parent[s];
    if (up == TSI_NONE) continue;
    tsi_count q = upper->row_ptr[up] + lower->row_ptr[up + 1] - lower->row_ptr[up];
    for (tsi_count p = own; p < all; p++) {
      while (q < upper->row_ptr[up + 1] && upper->rows[q] < rows[p]) q++;
      if (q == upper->row_ptr[up + 1] || upper->rows[q] != rows[p])
        BROKEN("column %d of supernode %d is missing in its parent %d", rows[p], s, up);
    }
  }
  return TRISTAR_OK;
}
