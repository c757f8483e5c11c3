/* Layouts, shares and programs of all processes together: every entry of the factor is stored once for each
 * copy, every message that is sent is received, and the steps of all processes can run. Messages counted
 * without programs are the messages of the programs. */
#include "dag/program.h"
#include "dag/traffic.h"
#include "runtime/context/context.h"
#include "runtime/factor/factor.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/races.h"
#include "tests/support/small_layouts.h"
#include "tests/support/subtests.h"

#define RANKS_MOST 64

typedef struct world {
  tsi_env *env;
  const tsi_symbolic *symbolic;
  const tsi_panels *panels;
  tsi_layout *layout;
  tsi_index ranks;
  tsi_share *share[RANKS_MOST];
  tsi_sweep *sweep[RANKS_MOST];
  tsi_program *program[RANKS_MOST];
} world;

/* No steps of a program race. Without one of the necessary edges there must be a race. */
static void check_races(tsi_env *env, const tsi_program_source *source, const tsi_program *program) {
  static uint64_t seed;
  tsi_access_list *list;
  CHECK_OK(tsi_program_list_accesses(env, program, source, &list));
  races_check(env, "program", program->steps, list, 2, ++seed);
  TSI_FREE(env, list);
}

static void world_create(tsi_env *env, const tristar_analysis_t *an, const tsi_layout_options *options,
                         tsi_tree tree, world *w) {
  const tsi_share_options share_options = {.slice_bytes = 500, .pieces = 3, .scalar_bytes = 8};
  *w = (world){.env = env, .symbolic = an->symbolic, .panels = an->panels};
  CHECK_OK(tsi_layout_create(env, an->symbolic, an->panels, options, &w->layout));
  CHECK_OK(tsi_layout_check(env, w->layout, an->symbolic, an->panels));
  w->ranks = tsi_layout_ranks(w->layout);
  CHECK(w->ranks <= RANKS_MOST);
  for (tsi_index r = 0; r < w->ranks; r++) {
    tsi_participants *participants;
    CHECK_OK(tsi_participants_create(env, w->layout, r / (options->px * options->py), &participants));
    CHECK_OK(tsi_share_create(env, w->layout, w->panels, r, &share_options, &w->share[r]));
    CHECK_OK(tsi_share_check(env, w->share[r], w->layout, w->panels));
    CHECK_OK(tsi_sweep_create(env, w->share[r]->chunks, w->share[r]->panels, 8, &w->sweep[r]));
    CHECK_OK(tsi_sweep_check(env, w->sweep[r], w->share[r]->chunks));
    const tsi_program_source source = {.layout = w->layout,
                                       .participants = participants,
                                       .share = w->share[r],
                                       .sweep = w->sweep[r],
                                       .tree = tree};
    CHECK_OK(tsi_program_create(env, &source, &w->program[r]));
    CHECK_OK(tsi_program_check(env, w->program[r], &source));
    if (w->program[r]->steps->count < 600) check_races(env, &source, w->program[r]);
    TSI_FREE(env, participants);
  }
}

static void world_destroy(world *w) {
  for (tsi_index r = 0; r < w->ranks; r++) {
    TSI_FREE(w->env, w->program[r]);
    TSI_FREE(w->env, w->sweep[r]);
    TSI_FREE(w->env, w->share[r]);
  }
  TSI_FREE(w->env, w->layout);
}

/* Each row of each panel, and each triangle, is stored on one process of every grid that has the chunk. */
static void check_entries(const world *w) {
  const tsi_layout *layout = w->layout;
  const tsi_index grid = layout->px * layout->py;
  tsi_index most = 0;
  for (tsi_index p = 0; p < w->panels->count; p++) most = tsi_index_max(most, w->panels->height[p]);
  OWNED int *rows = xcalloc((size_t)most + 1, sizeof *rows);
  for (tsi_index z = 0; z < layout->pz; z++)
    for (tsi_index c = 0; c < layout->chunks->count; c++) {
      const int copies = tsi_layout_holds(layout, z, layout->node[c]);
      for (tsi_index p = layout->chunks->panel[c]; p < layout->chunks->panel[c + 1]; p++) {
        int triangles = 0;
        memset(rows, 0, (size_t)most * sizeof *rows);
        for (tsi_index r = z * grid; r < (z + 1) * grid; r++) {
          const tsi_share *share = w->share[r];
          const tsi_index k = share->local[c];
          if (k == TSI_NONE) continue;
          triangles += (share->role[k] & TSI_ROLE_DIAGONAL) != 0;
          const tsi_index j = share->chunks->panel[k] + p - layout->chunks->panel[c];
          if (j >= share->chunks->panel[k + 1]) continue;
          CHECK(share->panel[j] == p);
          for (tsi_count q = share->row_ptr[j]; q < share->row_ptr[j + 1]; q++) rows[share->row[q]]++;
        }
        CHECK_MSG(triangles == copies, "chunk %d in grid %d: %d", c, z, triangles);
        for (tsi_index i = 0; i < w->panels->height[p]; i++)
          CHECK_MSG(rows[i] == copies, "row %d of panel %d in grid %d: %d", i, p, z, rows[i]);
      }
    }
}

/* Returns the message that `to` receives from `from` under a tag; NULL: none. */
static const tsi_message *find(const tsi_program *program, tsi_index from, tsi_index tag) {
  for (tsi_index m = 0; m < program->receives; m++)
    if (program->receive[m].peer == from && program->receive[m].tag == tag) return &program->receive[m];
  return NULL;
}

static void check_messages(const world *w) {
  tsi_count sent = 0, received = 0;
  for (tsi_index r = 0; r < w->ranks; r++) {
    const tsi_program *program = w->program[r];
    sent += program->sends;
    received += program->receives;
    for (tsi_index m = 0; m < program->sends; m++) {
      const tsi_message *s = &program->send[m];
      CHECK(s->peer != r && s->peer >= 0 && s->peer < w->ranks);
      const tsi_message *t = find(w->program[s->peer], r, s->tag);
      CHECK_MSG(t != NULL, "rank %d sends tag %d to %d: kind %d, number %d", r, s->tag, s->peer, (int)s->kind,
                s->number);
      CHECK(t->kind == s->kind && t->number == s->number && t->rows == s->rows && t->parts == s->parts);
      for (tsi_count i = 0; i < s->parts; i++)
        CHECK(w->share[r]->chunk[program->part[s->part + i]] ==
              w->share[s->peer]->chunk[w->program[s->peer]->part[t->part + i]]);
    }
  }
  CHECK(sent == received);
}

/* Runs all steps of all processes; in the order of their lists if `in_order`, else in any legal order. */
static void check_runs(const world *w, bool in_order) {
  tsi_index total = 0, done = 0, *base = xcalloc((size_t)w->ranks + 1, sizeof *base);
  for (tsi_index r = 0; r < w->ranks; r++) base[r + 1] = base[r] + w->program[r]->steps->count;
  total = base[w->ranks];
  tsi_index *wait = xcalloc((size_t)total + 1, sizeof *wait), next[RANKS_MOST] = {0};
  OWNED bool *ran = xcalloc((size_t)total + 1, sizeof *ran);
  for (tsi_index r = 0; r < w->ranks; r++) {
    const tsi_steps *steps = w->program[r]->steps;
    for (tsi_count e = 0; e < steps->edges; e++) wait[base[r] + steps->edge[e].item]++;
    for (tsi_index m = 0; m < w->program[r]->receives; m++) wait[base[r] + w->program[r]->receive[m].step]++;
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (tsi_index r = 0; r < w->ranks; r++) {
      const tsi_program *program = w->program[r];
      for (tsi_index s = in_order ? next[r] : 0; s < program->steps->count; s++) {
        if (ran[base[r] + s]) continue;
        if (wait[base[r] + s] > 0) {
          if (in_order) break;
          continue;
        }
        ran[base[r] + s] = moved = true;
        done++;
        next[r] = s + 1;
        for (tsi_count e = 0; e < program->steps->edges; e++)
          if (program->steps->edge[e].before == s) wait[base[r] + program->steps->edge[e].item]--;
        for (tsi_index m = program->send_ptr[s]; m < program->send_ptr[s + 1]; m++)
          wait[base[program->send[m].peer] +
               find(w->program[program->send[m].peer], r, program->send[m].tag)->step]--;
      }
    }
  }
  CHECK_MSG(done == total, "%d steps of %d ran, %s", done, total, in_order ? "in order" : "in any order");
  free(base);
  free(wait);
}

static void count_messages(const tsi_message *message, tsi_index count, tsi_traffic_count *counts) {
  for (tsi_index m = 0; m < count; m++) {
    counts[tsi_traffic_class_of(message[m].kind)].messages++;
    counts[tsi_traffic_class_of(message[m].kind)].rows += message[m].rows;
  }
}

static tsi_count entries_of(const tsi_share *share) {
  tsi_count entries = 0;
  for (tsi_index k = 0; k < share->chunks->count; k++)
    for (tsi_index j = share->chunks->panel[k]; j < share->chunks->panel[k + 1]; j++) {
      const tsi_count width = tsi_panel_width(share->panels, j);
      entries += width * share->panels->height[j];
      if (share->role[k] & TSI_ROLE_DIAGONAL) entries += width * (width + 1) / 2;
    }
  return entries;
}

/* The counted traffic must be that of the programs. */
static void check_traffic(const world *w, tsi_tree tree) {
  tsi_traffic *traffic;
  CHECK_OK(tsi_traffic_create(w->env, w->layout, w->panels, tree, &traffic));
  CHECK_OK(tsi_traffic_check(w->env, traffic, w->layout, w->panels));
  CHECK(traffic->ranks == w->ranks);
  for (tsi_index r = 0; r < w->ranks; r++) {
    const tsi_program *program = w->program[r];
    tsi_traffic_rank rank = {.entries = entries_of(w->share[r])};
    count_messages(program->send, program->sends, rank.sent);
    count_messages(program->receive, program->receives, rank.received);
    for (int k = 0; k < TSI_TRAFFIC_CLASSES; k++) {
      const tsi_traffic_count *sent = &traffic->rank[r].sent[k], *received = &traffic->rank[r].received[k];
      CHECK_MSG(sent->messages == rank.sent[k].messages && sent->rows == rank.sent[k].rows,
                "rank %d sends %lld messages of class %d, not %lld", r, (long long)rank.sent[k].messages, k,
                (long long)sent->messages);
      CHECK_MSG(received->messages == rank.received[k].messages && received->rows == rank.received[k].rows,
                "rank %d receives %lld messages of class %d, not %lld", r,
                (long long)rank.received[k].messages, k, (long long)received->messages);
    }
    CHECK_MSG(traffic->rank[r].entries == rank.entries, "rank %d has %lld entries, not %lld", r,
              (long long)rank.entries, (long long)traffic->rank[r].entries);
  }
  TSI_FREE(w->env, traffic);
}

/* The same for pairs of sender and receiver: with a cell for each pair, and with groups of processes. */
static void check_pairs(const world *w, tsi_tree tree) {
  for (tsi_index cells = w->ranks + 1; cells > 0; cells -= cells > 3 ? cells - 3 : 2) {
    tsi_pairs *pairs;
    CHECK_OK(tsi_pairs_create(w->env, w->layout, w->panels, tree, cells, &pairs));
    const tsi_count side = pairs->cells;
    CHECK(pairs->ranks == w->ranks && side == (cells < w->ranks ? cells : w->ranks));
    for (tsi_index r = 0; r < w->ranks; r++) /* subtracts what the programs send */
      for (tsi_index m = 0; m < w->program[r]->sends; m++) {
        const tsi_message *message = &w->program[r]->send[m];
        const tsi_count from = (tsi_count)r * side / w->ranks,
                        to = (tsi_count)message->peer * side / w->ranks;
        tsi_traffic_count *count = &pairs->count[tsi_traffic_class_of(message->kind)][from * side + to];
        count->messages--;
        count->rows -= message->rows;
      }
    for (int k = 0; k < TSI_TRAFFIC_CLASSES; k++)
      for (tsi_count i = 0; i < side * side; i++)
        CHECK(pairs->count[k][i].messages == 0 && pairs->count[k][i].rows == 0);
    tsi_pairs_destroy(w->env, &pairs);
    CHECK(pairs == NULL);
  }
}

static bool is_forward(tsi_step_kind kind) {
  return kind == TSI_STEP_FORWARD_CHUNK || kind == TSI_STEP_FORWARD_SLICE || kind == TSI_STEP_FORWARD_SUM ||
         kind == TSI_STEP_FORWARD_RECEIVE;
}
static bool is_backward(tsi_step_kind kind) {
  return kind == TSI_STEP_BACKWARD_CHUNK || kind == TSI_STEP_BACKWARD_SUM ||
         kind == TSI_STEP_BACKWARD_RECEIVE;
}

/* Forward steps are at least as urgent as backward steps. Of the slices only the first one of a spread
 * chunk runs together with its chunk. */
static void check_urgency(const world *w) {
  for (tsi_index r = 0; r < w->ranks; r++) {
    const tsi_steps *steps = w->program[r]->steps;
    const tsi_share *share = w->share[r];
    double least = INFINITY, most = 0;
    for (tsi_index k = 0; k < steps->count; k++) {
      const tsi_step *step = &steps->step[k];
      if (is_forward(step->kind)) least = fmin(least, step->priority);
      if (is_backward(step->kind)) most = fmax(most, step->priority);
      if (step->kind != TSI_STEP_FORWARD_SLICE && step->kind != TSI_STEP_BACKWARD_SLICE) continue;
      tsi_index c = 0;
      while (share->chunks->slice_ptr[c + 1] <= step->argument) c++;
      const bool first = step->argument == share->chunks->slice_ptr[c] && !w->layout->whole[share->chunk[c]];
      CHECK((step->kind == TSI_STEP_FORWARD_SLICE ? step->with_before : step->with_after) == first);
    }
    CHECK_MSG(least >= most, "rank %d: forward steps of priority %g, backward ones of %g", r, least, most);
  }
}

/* If there are many spread chunks, each process of a grid has some. */
static void check_spread(const world *w) {
  tsi_index chunks = 0, used = 0, count[RANKS_MOST] = {0};
  const tsi_layout *layout = w->layout;
  for (tsi_index c = 0; c < layout->chunks->count; c++) {
    if (layout->whole[c]) continue;
    chunks++;
    used += count[layout->row[c] + layout->px * layout->column[c]]++ == 0;
  }
  CHECK_MSG(layout->map == TSI_MAP_CYCLIC || chunks < 40 || used == layout->px * layout->py,
            "%dx%d: %d spread chunks on %d processes", layout->px, layout->py, chunks, used);
}

static void check_layout(tsi_env *env, const tristar_analysis_t *an, tsi_index px, tsi_index py,
                         tsi_index pz) {
  for (int variant = 0; variant < 8; variant++) {
    const tsi_layout_options options = small_layout(px, py, pz, variant);
    const tsi_tree tree = variant & 4 ? TSI_TREE_FLAT : TSI_TREE_BINARY;
    CLEANUP(world_destroy) world w;
    world_create(env, an, &options, tree, &w);
    check_entries(&w);
    check_messages(&w);
    check_traffic(&w, tree);
    check_pairs(&w, tree);
    check_urgency(&w);
    check_spread(&w);
    check_runs(&w, true);
    check_runs(&w, false);
  }
}

static void check_matrix(tristar_t *ts, const char *kind, int64_t k) {
  static const tsi_index grids[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 2}};
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_view view = generated_view(ts, kind, k, &matrix);
  for (tsi_index pz = 1; pz <= 8; pz *= 2) {
    options.leaf_parts = pz == 4 ? 8 : pz; /* more leaf parts than the layout needs */
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
      check_layout(tsi_context_env(ts), an, grids[g][0], grids[g][1], pz);
  }
}

static void check_errors(tristar_t *ts) {
  CLEANUP(flow_destroy) flow f;
  tsi_layout *layout;
  tsi_layout_options options = {.px = 1, .py = 1, .pz = 3, .scalar_bytes = 8};
  flow_create(ts, "poisson3d7", 4, TRISTAR_ENGINE_SERIAL, 0, &f);
  const tristar_analysis_t *an = f.analysis;
  CHECK_STATUS(tsi_layout_create(tsi_context_env(ts), an->symbolic, an->panels, &options, &layout),
               TRISTAR_ERR_ARGUMENT);
  options.pz = 2; /* the analysis has no separator tree */
  CHECK_STATUS(tsi_layout_create(tsi_context_env(ts), an->symbolic, an->panels, &options, &layout),
               TRISTAR_ERR_ARGUMENT);
  options.pz = 1;
  options.px = 0;
  CHECK_STATUS(tsi_layout_create(tsi_context_env(ts), an->symbolic, an->panels, &options, &layout),
               TRISTAR_ERR_ARGUMENT);
  options.px = options.py = 1 << 20;
  CHECK_STATUS(tsi_layout_create(tsi_context_env(ts), an->symbolic, an->panels, &options, &layout),
               TRISTAR_ERR_TOO_LARGE);
}

int test_layout(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  RUN(check_matrix(ts, "s2d9pt", TSI_TESTS_SANITIZED ? 26 : 40));
  RUN(check_matrix(ts, "poisson3d7", 9));
  RUN(check_matrix(ts, "circuit", TSI_TESTS_SANITIZED ? 800 : 2000));
  RUN(check_errors(ts));
  CHECK_TOTAL(races_removals > 200, "only %lld edges were removed", (long long)races_removals);
  return 0;
}
