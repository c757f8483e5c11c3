/* See merged.h. */
#include "partition/order/merged.h"

#define SHARE_MOST 0.9 /* Largest share of vertices after merging; above it merging gains too little. */

/* Spreads the bits of a vertex number (splitmix64). */
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static idx_t degree(const tsi_component *c, idx_t v) {
  return c->xadj[v + 1] - c->xadj[v];
}

/* Sums over the closed neighbourhood of each vertex: equal neighbourhoods have equal sums. */
static void sum_up(const tsi_component *c, uint64_t *sum) {
  for (idx_t v = 0; v < c->n; v++) {
    sum[v] = mix((uint64_t)v);
    for (idx_t e = c->xadj[v]; e < c->xadj[v + 1]; e++) sum[v] += mix((uint64_t)c->adj[e]);
  }
}

/* Do u and v have the same closed neighbourhood? mark: no entry is v at the first call for v. */
static bool are_equal(const tsi_component *c, idx_t *mark, idx_t u, idx_t v) {
  if (mark[v] != v) {
    mark[v] = v;
    for (idx_t e = c->xadj[v]; e < c->xadj[v + 1]; e++) mark[c->adj[e]] = v;
  }
  for (idx_t e = c->xadj[u]; e < c->xadj[u + 1]; e++)
    if (mark[c->adj[e]] != v) return false;
  return true;
}

/* leader[v]: the first vertex of v's group, a neighbour of v or v itself. Returns the number of groups. */
static idx_t find_groups(const tsi_component *c, const uint64_t *sum, idx_t *leader, idx_t *mark) {
  idx_t groups = 0;
  for (idx_t v = 0; v < c->n; v++) mark[v] = TSI_NONE;
  for (idx_t v = 0; v < c->n; v++) {
    leader[v] = v;
    for (idx_t e = c->xadj[v]; e < c->xadj[v + 1] && leader[v] == v; e++) {
      const idx_t u = c->adj[e];
      if (u < v && leader[u] == u && sum[u] == sum[v] && degree(c, u) == degree(c, v) &&
          are_equal(c, mark, u, v))
        leader[v] = u;
    }
    groups += leader[v] == v;
  }
  return groups;
}

/* Numbers the groups, and lists their vertices. number: written for each leader. */
static void list_members(const tsi_component *c, const idx_t *leader, idx_t *number, tsi_merged *m) {
  idx_t groups = 0;
  for (idx_t v = 0; v < c->n; v++) {
    if (leader[v] == v) number[v] = groups++;
    m->start[number[leader[v]] + 1]++;
  }
  for (idx_t g = 0; g < groups; g++) m->start[g + 1] += m->start[g];
  for (idx_t v = 0; v < c->n; v++) m->member[m->start[number[leader[v]]]++] = v;
  for (idx_t g = groups; g > 0; g--) m->start[g] = m->start[g - 1];
  m->start[0] = 0;
}

/* The neighbours of a group are the groups of the neighbours of its first vertex. */
static void join(const tsi_component *c, const idx_t *leader, const idx_t *number, tsi_merged *m) {
  idx_t to = 0;
  for (idx_t g = 0; g < m->groups.n; g++) {
    const idx_t v = m->member[m->start[g]];
    m->groups.xadj[g] = to;
    for (idx_t e = c->xadj[v]; e < c->xadj[v + 1]; e++) {
      const idx_t u = c->adj[e];
      if (leader[u] == u && u != v) m->groups.adj[to++] = number[u];
    }
  }
  m->groups.xadj[m->groups.n] = to;
}

static tristar_status weigh(tsi_merged *m) {
  const idx_t first = m->start[1];
  bool equal = true;
  for (idx_t g = 0; g < m->groups.n; g++) equal = equal && m->start[g + 1] - m->start[g] == first;
  if (equal) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_IN(m, m->weight, m->groups.n));
  for (idx_t g = 0; g < m->groups.n; g++) m->weight[g] = m->start[g + 1] - m->start[g];
  return TRISTAR_OK;
}

tristar_status tsi_merged_create(tsi_env *env, const tsi_component *c, tsi_merged **out) {
  *out = NULL;
  TSI_SCRATCH(env, uint64_t, sum, c->n);
  TSI_SCRATCH(env, idx_t, leader, c->n);
  TSI_SCRATCH(env, idx_t, number, c->n);
  sum_up(c, sum);
  const idx_t groups = find_groups(c, sum, leader, number);
  if ((double)groups > SHARE_MOST * (double)c->n) return TRISTAR_OK;
  TSI_SCRATCH_ZERO(env, tsi_merged, m, 1);
  m->groups.n = groups;
  TSI_TRY(TSI_ALLOC_ZERO_IN(m, m->start, (tsi_count)groups + 1));
  TSI_TRY(TSI_ALLOC_IN(m, m->member, c->n));
  TSI_TRY(TSI_ALLOC_IN(m, m->groups.xadj, (tsi_count)groups + 1));
  TSI_TRY(TSI_ALLOC_IN(m, m->groups.adj, c->xadj[c->n]));
  TSI_TRY(TSI_ALLOC_IN(m, m->groups.perm, groups));
  list_members(c, leader, number, m);
  join(c, leader, number, m);
  TSI_TRY(weigh(m));
  *out = m;
  m = NULL;
  return TRISTAR_OK;
}

void tsi_merged_expand(const tsi_merged *m, idx_t *perm) {
  for (idx_t k = 0; k < m->groups.n; k++)
    for (idx_t i = m->start[m->groups.perm[k]]; i < m->start[m->groups.perm[k] + 1]; i++)
      *perm++ = m->member[i];
}
