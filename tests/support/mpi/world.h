/* The processes of a distributed solve as threads of one process; messages are copied in memory. Steps run on
 * the thread of their process, or, if it has workers, as tasks of StarPU, which all of them share. The
 * threads exist as long as the world, because starting a thread takes longer than a solve. */
#pragma once

#include "runtime/process/extract.h"
#include "runtime/solve/plan.h"
#include "runtime/process/process_subtrees.h"
#include "tests/support/typed.h"

#define RANKS_MOST 12

typedef struct mail {
  bool there;
  char *rows; /* the sent rows, until the receiving process waits for them */
} mail;

struct world;

typedef struct member {
  struct world *world;
  tsi_index rank;
  pthread_t thread;
  pthread_cond_t wake; /* signals a solve, the awaited message, or the end */
  bool called;         /* there is a solve that it has not begun */
  tsi_index awaited;   /* message that it waits for, or TSI_NONE */
  tsi_process *process;
  tsi_process_run *run;
  mail *mail; /* by received message */
  char *b, *x;
  tsi_process_call call;
  tsi_index nrhs;
  bool open;         /* with workers: the run has begun, and messages arrive when they are sent */
  const bool *comes; /* which messages arrive in this run */
  tsi_index goes;    /* number of messages that must still be sent */
} member;

typedef struct world {
  tsi_index ranks;
  member member[RANKS_MOST];
  pthread_mutex_t lock;
  pthread_cond_t done;
  tsi_index working; /* number of members that have not ended the solve */
  bool over;
} world;

/* ---- Messages through memory -------------------------------------------------------------------------- */

static inline size_t bytes_of_row(const member *m) {
  return m->process->scalar_bytes * (size_t)tsi_workspace_stride(m->nrhs);
}

/* Puts a message that was sent into the inbox. */
static inline void take_mail(member *to, tsi_index which) {
  const tsi_message *message = &to->process->program->receive[which];
  memcpy((char *)tsi_process_inbox(to->run) + (size_t)message->row * bytes_of_row(to), to->mail[which].rows,
         (size_t)message->rows * bytes_of_row(to));
  free(to->mail[which].rows);
  to->mail[which] = (mail){.there = false};
  tsi_process_arrived(to->run, which);
}

static inline tristar_status port_begin(void *context, const bool *comes, tsi_index goes) {
  member *m = context;
  pthread_mutex_lock(&m->world->lock);
  m->comes = comes;
  m->goes = goes;
  m->open = m->process->workers > 0;
  for (tsi_index k = 0; m->open && k < m->process->program->receives; k++)
    if (m->mail[k].there) take_mail(m, k);
  pthread_mutex_unlock(&m->world->lock);
  return TRISTAR_OK;
}

/* With workers, messages of the next solve may already have arrived. */
static inline tristar_status port_end(void *context) {
  member *m = context;
  pthread_mutex_lock(&m->world->lock);
  CHECK(m->goes == 0);
  for (tsi_index k = 0; k < m->process->program->receives; k++) CHECK(!m->mail[k].there);
  m->open = false;
  pthread_mutex_unlock(&m->world->lock);
  return TRISTAR_OK;
}

static inline tristar_status port_send(void *context, tsi_index which) {
  member *from = context;
  const tsi_message *message = &from->process->program->send[which];
  member *to = &from->world->member[message->peer];
  const tsi_program *program = to->process->program;
  const size_t bytes = (size_t)message->rows * bytes_of_row(from);
  char *rows = malloc(bytes + 1);
  tsi_index m = 0;
  while (program->receive[m].peer != from->rank || program->receive[m].tag != message->tag) m++;
  CHECK(program->receive[m].rows == message->rows);
  memcpy(rows, (char *)tsi_process_outbox(from->run) + (size_t)message->row * bytes_of_row(from), bytes);
  pthread_mutex_lock(&from->world->lock);
  CHECK(!to->mail[m].there && from->goes > 0);
  from->goes--;
  to->mail[m] = (mail){true, rows};
  if (to->open) take_mail(to, m);
  if (to->awaited == m) pthread_cond_signal(&to->wake);
  pthread_mutex_unlock(&from->world->lock);
  return TRISTAR_OK;
}

static inline tristar_status port_wait(void *context, tsi_index which) {
  member *to = context;
  CHECK(to->comes[which]);
  pthread_mutex_lock(&to->world->lock);
  to->awaited = which;
  while (!to->mail[which].there) pthread_cond_wait(&to->wake, &to->world->lock);
  to->awaited = TSI_NONE;
  pthread_mutex_unlock(&to->world->lock);
  take_mail(to, which);
  return TRISTAR_OK;
}

static inline void *run_member(void *arg) {
  member *m = arg;
  world *w = m->world;
  tsi_process_times times;
  pthread_mutex_lock(&w->lock);
  for (;;) {
    while (!m->called && !w->over) pthread_cond_wait(&m->wake, &w->lock);
    if (!m->called) break;
    m->called = false;
    pthread_mutex_unlock(&w->lock);
    CHECK_OK(tsi_process_solve(m->run, &m->call, &times));
    CHECK(times.wall > 0 && times.compute >= 0 && times.xy >= 0 && times.z >= 0 && times.idle >= 0);
    CHECK(times.forward >= 0 && times.forward <= times.wall && times.between >= 0 && times.backward >= 0 &&
          times.backward <= times.wall);
    pthread_mutex_lock(&w->lock);
    if (--w->working == 0) pthread_cond_signal(&w->done);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

/* ---- A factor on many processes ----------------------------------------------------------------------- */

static inline void fill_values(const tristar_factor_t *f, tsi_process *p) {
  const tsi_index panels = p->share->panels->count, middle = panels / 3;
  const size_t skip = (size_t)(p->begin[middle] - 0) * p->scalar_bytes;
  memset(p->lower, 0, (size_t)p->begin[0] * p->scalar_bytes);
  for (int u = 0; u < (p->kind.lu ? 2 : 1); u++) {
    char *stream = u ? p->upper : p->lower;
    tsi_extract_panels(f, u, p->share, p->begin, 0, middle, stream + (size_t)p->begin[0] * p->scalar_bytes);
    tsi_extract_panels(f, u, p->share, p->begin, middle, panels, stream + skip);
  }
  p->pivoted = f->pivoted;
  tsi_extract_columns(f, p->share, p->share->panel, p->pivots, p->inverse, p->row_scale, p->col_scale);
}

static inline void world_create(tsi_env *env, const tristar_factor_t *f, const tsi_process_options *options,
                                tsi_index nrhs, world *w) {
  const tsi_factor_kind kind = tsi_factor_kind_of(f);
  const tsi_layout_options *layout = &options->layout;
  *w = (world){.ranks = layout->px * layout->py * layout->pz};
  CHECK(w->ranks <= RANKS_MOST);
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->done, NULL);
  for (tsi_index r = 0; r < w->ranks; r++) {
    member *m = &w->member[r];
    tsi_process_options mine = *options;
    const tsi_port to_me = {
        .context = m, .begin = port_begin, .send = port_send, .wait = port_wait, .end = port_end};
    mine.rank = r;
    *m = (member){.world = w, .rank = r, .awaited = TSI_NONE, .nrhs = nrhs};
    pthread_cond_init(&m->wake, NULL);
    CHECK_OK(tsi_process_create(env, &kind, f->analysis->symbolic, f->analysis->panels, &mine, &m->process));
    fill_values(f, m->process);
    CHECK_OK(tsi_process_renew(m->process));
    CHECK_OK(tsi_process_run_create(m->process, tsi_workspace_stride(nrhs), &m->run));
    tsi_process_connect(m->run, &to_me);
    m->mail = calloc((size_t)m->process->program->receives + 1, sizeof *m->mail);
    const size_t columns = (size_t)m->process->share->panels->start[m->process->share->panels->count];
    m->b = calloc(columns * (size_t)nrhs + 1, m->process->user_bytes);
    m->x = calloc(columns * (size_t)nrhs + 1, m->process->user_bytes);
    m->call = (tsi_process_call){.nrhs = nrhs, .b = m->b, .x = m->x};
  }
  for (tsi_index r = 0; r < w->ranks; r++)
    CHECK(pthread_create(&w->member[r].thread, NULL, run_member, &w->member[r]) == 0);
}

static inline void world_destroy(world *w) {
  pthread_mutex_lock(&w->lock);
  w->over = true;
  for (tsi_index r = 0; r < w->ranks; r++) pthread_cond_signal(&w->member[r].wake);
  pthread_mutex_unlock(&w->lock);
  for (tsi_index r = 0; r < w->ranks; r++) {
    member *m = &w->member[r];
    CHECK(pthread_join(m->thread, NULL) == 0);
    pthread_cond_destroy(&m->wake);
    tsi_process_run_destroy(&m->run);
    tsi_process_destroy(&m->process);
    free(m->mail);
    free(m->b);
    free(m->x);
  }
  pthread_cond_destroy(&w->done);
  pthread_mutex_destroy(&w->lock);
}

/* Copies rows between the user's array and the array of a process, for the chunks whose home is the process.
 * row_of: row of the user, by final column; NULL: the same row. */
static inline void exchange_rows(member *m, const tsi_index *row_of, char *user, bool to_user) {
  const tsi_process *p = m->process;
  const tsi_index n = (tsi_index)p->kind.n, columns = p->share->panels->start[p->share->panels->count];
  char *local = to_user ? m->x : m->b;
  for (tsi_index k = 0; k < p->share->chunks->count; k++)
    for (tsi_index j = p->share->chunks->column[k]; p->home[k] && j < p->share->chunks->column[k + 1]; j++) {
      const tsi_index column =
          p->layout->chunks->column[p->share->chunk[k]] + j - p->share->chunks->column[k];
      const tsi_index row = row_of ? row_of[column] : column;
      for (tsi_index c = 0; c < m->nrhs; c++) {
        char *mine = local + ((size_t)c * (size_t)columns + (size_t)j) * p->user_bytes;
        char *theirs = user + ((size_t)c * (size_t)n + (size_t)row) * p->user_bytes;
        memcpy(to_user ? theirs : mine, to_user ? mine : theirs, p->user_bytes);
      }
    }
}

/* nrhs and the arrays of call are ignored. */
static inline void world_solve(world *w, const tristar_factor_t *f, const tsi_process_call *call, char *b,
                               char *x) {
  const tristar_analysis_t *an = f->analysis;
  const tsi_operation o = tsi_process_operation(w->member[0].process, call);
  const tsi_index *in = o.by_rows ? an->in_row : an->out_row, *out = o.by_rows ? an->out_row : an->in_row;
  const tsi_index *moved = f->position;
  for (tsi_index r = 0; r < w->ranks; r++) {
    tsi_process_call *mine = &w->member[r].call;
    mine->op = call->op;
    mine->part = call->part;
    mine->factor_order = call->factor_order;
    mine->forward = call->forward;
    mine->backward = call->backward;
    exchange_rows(&w->member[r], o.in_user ? in : o.in_moved ? moved : NULL, b, false);
  }
  pthread_mutex_lock(&w->lock);
  w->working = w->ranks;
  for (tsi_index r = 0; r < w->ranks; r++) {
    w->member[r].called = true;
    pthread_cond_signal(&w->member[r].wake);
  }
  while (w->working > 0) pthread_cond_wait(&w->done, &w->lock);
  pthread_mutex_unlock(&w->lock);
  for (tsi_index r = 0; r < w->ranks; r++)
    exchange_rows(&w->member[r], o.out_user ? out : o.out_moved ? moved : NULL, x, true);
}
