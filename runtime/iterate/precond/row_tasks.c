/* Tasks that compute the rows of factors: see row_tasks.h. */
#include "runtime/iterate/precond/row_tasks.h"

#include "runtime/machine/predict.h"
#include "runtime/iterate/precond/level_fill.h"
#include "runtime/exec/starpu/tasks.h"

/* Entries of factors that one worker computes if rows have few entries. */
#define ENTRIES_PER_MICROSECOND 50
/* Ratio of the times of a scattered row and of rows in order. The rows of a level set are scattered in memory
 * (measured with grids in their natural order). */
#define SCATTERED (TSI_ROW_TASKS_LEAST - 1)
/* Minimum number of entries of a group of its own; below, if the caller demands tasks. */
#define LEAST_OF_TASK 4000
#define LEAST_OF_REQUESTED_TASK 64

struct tsi_row_tasks {
  tsi_index parts, count; /* number of parts; number of groups */
  tsi_index *order;       /* n: rows, group by group */
  tsi_index *start;       /* count + 1 */
  tsi_index *part;        /* count */
  tsi_index steps;        /* level sets; consecutive ones in one group count as one */
  tsi_count critical;     /* sum over the steps of the entries of the largest group */
  tsi_task_list *list;
  tsi_tasks *tasks;
  tsi_row_function function;
  void *context;
};

/* ---- Groups -------------------------------------------------------------------------------------------- */

static tsi_count entries_of(const tsi_factor_rows *rows, tsi_index i) {
  return rows->ptr[i + 1] - rows->ptr[i];
}

/* Sorts rows by level. first, levels + 1: index of the first row of each level. depth counts from 1. */
static void sort_by_level(tsi_index n, const tsi_index *depth, tsi_index levels, tsi_index *first,
                          tsi_index *order) {
  for (tsi_index l = 0; l <= levels; l++) first[l] = 0;
  for (tsi_index i = 0; i < n; i++) first[depth[i]]++;
  for (tsi_index l = 0; l < levels; l++) first[l + 1] += first[l];
  for (tsi_index i = n - 1; i >= 0; i--) order[--first[depth[i]]] = i;
  for (tsi_index l = 0; l < levels; l++) first[l] = first[l + 1];
  first[levels] = n;
}

static void add_group(tsi_row_tasks *t, tsi_index part, tsi_index end) {
  t->part[t->count++] = part;
  t->start[t->count] = end;
}

/* Divides rows begin .. end - 1 of the order, which belong to one level, into `groups` groups with similar
 * numbers of entries. */
static void divide_level(const tsi_factor_rows *rows, tsi_row_tasks *t, tsi_index begin, tsi_index end,
                         tsi_index groups, tsi_count weight) {
  tsi_count sum = 0, before = 0, heaviest = 0;
  tsi_index part = 0;
  for (tsi_index k = begin; k < end; k++) {
    sum += entries_of(rows, t->order[k]);
    if (k + 1 < end && (part + 1 == groups || sum * groups < (part + 1) * weight)) continue;
    add_group(t, part++, k + 1);
    heaviest = tsi_count_max(heaviest, sum - before);
    before = sum;
  }
  t->critical += heaviest;
}

/* Groups all rows. A level with too few entries to be divided joins the group of part 0 of the previous such
 * levels. */
static void group_rows(const tsi_factor_rows *rows, tsi_index levels, const tsi_index *first, tsi_count least,
                       tsi_row_tasks *t) {
  bool together = false;
  t->start[0] = 0;
  for (tsi_index l = 0; l < levels; l++) {
    tsi_count weight = 0;
    for (tsi_index k = first[l]; k < first[l + 1]; k++) weight += entries_of(rows, t->order[k]);
    tsi_index groups = tsi_index_min(t->parts, first[l + 1] - first[l]);
    groups = (tsi_index)tsi_count_min(groups, weight / least);
    t->steps += groups > 1 || !together;
    if (groups > 1) {
      divide_level(rows, t, first[l], first[l + 1], groups, weight);
    } else {
      t->critical += weight;
      if (together)
        t->start[t->count] = first[l + 1];
      else
        add_group(t, 0, first[l + 1]);
    }
    together = groups <= 1;
  }
}

static tristar_status make_groups(tsi_env *env, const tsi_factor_rows *rows, tsi_count least,
                                  tsi_row_tasks *t) {
  tsi_index levels;
  TSI_SCRATCH(env, tsi_index, depth, rows->n);
  levels = tsi_find_levels(rows, true, depth);
  TSI_SCRATCH(env, tsi_index, first, (tsi_count)levels + 1);
  TSI_TRY(TSI_ALLOC(env, t->order, rows->n));
  const tsi_count most = tsi_count_min(rows->n, (tsi_count)levels * t->parts);
  TSI_TRY(TSI_ALLOC(env, t->start, most + 1));
  TSI_TRY(TSI_ALLOC(env, t->part, most));
  sort_by_level(rows->n, depth, levels, first, t->order);
  group_rows(rows, levels, first, least, t);
  return TRISTAR_OK;
}

/* ---- Tasks --------------------------------------------------------------------------------------------- */

static void run_group(void *context, const tsi_index argument[4], int worker) {
  const tsi_row_tasks *t = context;
  const tsi_index group = argument[0];
  (void)worker;
  for (tsi_index k = t->start[group]; k < t->start[group + 1]; k++)
    t->function(t->context, t->order[k], t->part[group]);
}

/* A group depends on the groups of all rows that its rows need, and on the previous group of the same
 * part. */
static tristar_status add_edges(const tsi_factor_rows *rows, const tsi_index *owner, tsi_index group,
                                tsi_index before, tsi_index *seen, tsi_row_tasks *t) {
  seen[group] = group;
  if (before != TSI_NONE) seen[before] = group;
  TSI_TRY(tsi_task_list_after(t->list, group, before));
  for (tsi_index k = t->start[group]; k < t->start[group + 1]; k++) {
    const tsi_index i = t->order[k];
    for (tsi_count e = rows->ptr[i]; e < rows->diagonal[i]; e++) {
      const tsi_index source = owner[rows->index[e]];
      if (seen[source] == group) continue;
      seen[source] = group;
      TSI_TRY(tsi_task_list_after(t->list, group, source));
    }
  }
  return TRISTAR_OK;
}

static tristar_status list_tasks(tsi_env *env, const tsi_factor_rows *rows, tsi_row_tasks *t) {
  TSI_OWNED tsi_index *seen = NULL, *owner = NULL;
  TSI_TRY(TSI_ALLOC(env, owner, rows->n));
  TSI_TRY(TSI_ALLOC(env, seen, t->count));
  TSI_SCRATCH(env, tsi_index, last, t->parts); /* latest group of each part */
  for (tsi_index p = 0; p < t->parts; p++) last[p] = TSI_NONE;
  TSI_TRY(tsi_task_list_create(env, &t->list));
  for (tsi_index group = 0; group < t->count; group++) {
    const tsi_index argument[4] = {group, 0, 0, 0};
    tsi_count weight = 0;
    tsi_index number;
    seen[group] = TSI_NONE;
    for (tsi_index k = t->start[group]; k < t->start[group + 1]; k++) {
      owner[t->order[k]] = group;
      weight += entries_of(rows, t->order[k]);
    }
    TSI_TRY(tsi_task_list_add(t->list, "incomplete_rows", run_group, t, argument, (double)(t->count - group),
                              1 + (double)weight / ENTRIES_PER_MICROSECOND, &number));
    TSI_TRY(add_edges(rows, owner, group, last[t->part[group]], seen, t));
    last[t->part[group]] = group;
  }
  return TRISTAR_OK;
}

/* Are the tasks predicted to be faster than computing rows in order? */
static bool pays(tristar_t *ts, const tsi_row_tasks *t, tsi_count entries) {
  const tsi_costs costs = tsi_costs_assumed(&ts->machine, t->parts);
  const double critical = SCATTERED * (double)t->critical / ENTRIES_PER_MICROSECOND;
  return critical + 1e6 * costs.barrier * t->steps < (double)entries / ENTRIES_PER_MICROSECOND;
}

tristar_status tsi_row_tasks_create(tristar_t *ts, const tsi_factor_rows *rows, tsi_index parts,
                                    bool requested, tsi_row_tasks **out) {
  tsi_env *env = &ts->env;
  double start_seconds;
  TSI_CLEANUP(tsi_row_tasks_destroy) tsi_row_tasks *t = NULL;
  *out = NULL;
  /* the critical path has at least 1 / parts of all entries: with so few parts, tasks cannot be faster */
  if (!requested && parts <= SCATTERED) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_ZERO(env, t, 1));
  t->parts = parts;
  TSI_TRY(make_groups(env, rows, requested ? LEAST_OF_REQUESTED_TASK : LEAST_OF_TASK, t));
  if (!requested && !pays(ts, t, rows->ptr[rows->n])) return TRISTAR_OK;
  TSI_TRY(tsi_context_need_starpu(ts, &start_seconds));
  TSI_TRY(list_tasks(env, rows, t));
  TSI_TRY(tsi_tasks_create(env, t->list, &t->tasks));
  TSI_TRY(tsi_tasks_record(t->tasks));
  *out = tsi_take(&t);
  return TRISTAR_OK;
}

void tsi_row_tasks_destroy(tsi_row_tasks **tasks) {
  tsi_row_tasks *t = *tasks;
  if (t == NULL) return;
  tsi_tasks_destroy(&t->tasks);
  tsi_release(tsi_take(&t->list));
  tsi_release(tsi_take(&t->order));
  tsi_release(tsi_take(&t->start));
  tsi_release(tsi_take(&t->part));
  tsi_release(tsi_take(tasks));
}

tsi_index tsi_row_tasks_parts(const tsi_row_tasks *tasks) {
  return tasks->parts;
}

tristar_status tsi_row_tasks_run(tsi_row_tasks *tasks, tsi_row_function function, void *context) {
  tasks->function = function;
  tasks->context = context;
  return tsi_tasks_run(tasks->tasks, false);
}
