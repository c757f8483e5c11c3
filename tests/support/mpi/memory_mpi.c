/* See memory_mpi.h. Handles are numbers of entries of tables, from 1 on. */
#include "tests/support/mpi/memory_mpi.h"

#include <mpi.h>
#include <stdbool.h>

#include "tests/support/check.h"
#include "tests/support/random.h"

enum { COMMS = 64, REQUESTS = 4096, COLLECTIVES = 64 };

typedef struct comm_entry {
  bool used;
  int context; /* number of the communicator, the same on all ranks */
  int rank;
  MPI_Errhandler handler;
  int64_t collectives; /* number of collective calls so far */
} comm_entry;

typedef enum collective_kind { NO_COLLECTIVE, LARGEST_WHERE, LARGEST, BROADCAST, DUPLICATE } collective_kind;

typedef struct collective {
  collective_kind kind;
  int context, root, count, joined, left;
  int64_t number; /* number in its context */
  void *given[MEMORY_MPI_RANKS];
  int copy_context;
} collective;

typedef struct request_entry {
  bool used, active, done, receive;
  collective *collective; /* NULL: a persistent message */
  void *buffer;
  int context, rank, bytes, peer, tag;
  int error, got;
  MPI_Comm *copy;
} request_entry;

/* A message that was sent but not received; data: the buffer of `sender`, or a copy. */
typedef struct message message;
struct message {
  message *next;
  int context, from, to, tag, bytes;
  void *copy;
  request_entry *sender; /* NULL: copied */
};

static int ranks, contexts;
static _Thread_local int own_rank;
static comm_entry comms[COMMS]; /* the first ones are MPI_COMM_WORLD of each rank */
static request_entry requests[REQUESTS];
static collective collectives[COLLECTIVES];
static message *messages; /* the oldest first */
static uint64_t chance;
static int calls; /* number of calls that have not returned */
static int tag_most = 1000000;
int memory_mpi_eager_bytes = 1000;
atomic_int memory_mpi_failing_start, memory_mpi_failing_look, memory_mpi_failing_status;

static void enter(void) {
  CHECK_MSG(calls++ == 0, "two threads are in MPI");
}

static int leave(int code) {
  CHECK(--calls == 0);
  return code;
}

static bool fails_now(atomic_int *left) {
  return atomic_load(left) > 0 && atomic_fetch_sub(left, 1) == 1;
}

void memory_mpi_init(int count) {
  CHECK(count > 0 && count <= MEMORY_MPI_RANKS);
  ranks = count;
  contexts = 1;
  chance = 1;
  for (int r = 0; r < ranks; r++)
    comms[r] = (comm_entry){.used = true, .rank = r, .handler = MPI_ERRORS_ARE_FATAL};
}

void memory_mpi_be(int rank) {
  own_rank = rank;
}

void memory_mpi_end(void) {
  CHECK(calls == 0 && messages == NULL);
  for (int k = 0; k < COMMS; k++) CHECK(comms[k].used == (k < ranks));
  memset(comms, 0, sizeof comms);
  for (int k = 0; k < REQUESTS; k++) CHECK(!requests[k].used);
  for (int k = 0; k < COLLECTIVES; k++) CHECK(collectives[k].kind == NO_COLLECTIVE);
}

/* ---- Handles ------------------------------------------------------------------------------------------- */

static comm_entry *comm_of(MPI_Comm comm) {
  if (comm == MPI_COMM_WORLD) return &comms[own_rank];
  const uintptr_t number = (uintptr_t)comm;
  CHECK(number > (uintptr_t)ranks && number <= COMMS && comms[number - 1].used);
  return &comms[number - 1];
}

static MPI_Comm make_comm(int context, int rank) {
  int k = ranks;
  while (k < COMMS && comms[k].used) k++;
  CHECK(k < COMMS);
  comms[k] = (comm_entry){.used = true, .context = context, .rank = rank, .handler = MPI_ERRORS_ARE_FATAL};
  return (MPI_Comm)(uintptr_t)(k + 1);
}

static request_entry *request_of(MPI_Request request) {
  const uintptr_t number = (uintptr_t)request;
  CHECK(number > 0 && number <= REQUESTS && requests[number - 1].used);
  return &requests[number - 1];
}

static request_entry *make_request(MPI_Request *out) {
  int k = 0;
  while (k < REQUESTS && requests[k].used) k++;
  CHECK(k < REQUESTS);
  requests[k] = (request_entry){.used = true};
  *out = (MPI_Request)(uintptr_t)(k + 1);
  return &requests[k];
}

static void drop_message(message **place) {
  OWNED message *gone = *place;
  *place = gone->next;
  free(gone->copy);
}

int MPI_Initialized(int *flag) {
  *flag = 1;
  return MPI_SUCCESS;
}

int MPI_Finalized(int *flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int MPI_Query_thread(int *level) {
  *level = MPI_THREAD_SERIALIZED;
  return MPI_SUCCESS;
}

int MPI_Error_string(int code, char *text, int *length) {
  enter();
  *length = snprintf(text, MPI_MAX_ERROR_STRING, "error %d in memory", code);
  return leave(MPI_SUCCESS);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank) {
  enter();
  *rank = comm_of(comm)->rank;
  return leave(MPI_SUCCESS);
}

int MPI_Comm_size(MPI_Comm comm, int *size) {
  enter();
  (void)comm_of(comm);
  *size = ranks;
  return leave(MPI_SUCCESS);
}

int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *there) {
  enter();
  (void)comm_of(comm);
  *there = key == MPI_TAG_UB;
  *(void **)value = &tag_most;
  return leave(MPI_SUCCESS);
}

int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler) {
  enter();
  *handler = comm_of(comm)->handler;
  return leave(MPI_SUCCESS);
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  enter();
  comm_of(comm)->handler = handler;
  return leave(MPI_SUCCESS);
}

int MPI_Errhandler_free(MPI_Errhandler *handler) {
  enter();
  *handler = MPI_ERRHANDLER_NULL;
  return leave(MPI_SUCCESS);
}

/* Also drops messages that were not received. */
int MPI_Comm_free(MPI_Comm *comm) {
  enter();
  comm_entry *c = comm_of(*comm);
  CHECK(*comm != MPI_COMM_WORLD && c->handler == MPI_ERRORS_RETURN);
  for (message **m = &messages; *m != NULL;)
    if ((*m)->context == c->context && (*m)->to == c->rank)
      drop_message(m);
    else
      m = &(*m)->next;
  c->used = false;
  *comm = MPI_COMM_NULL;
  return leave(MPI_SUCCESS);
}

/* ---- Collective calls ---------------------------------------------------------------------------------- */

static size_t bytes_of(collective_kind kind, int count) {
  if (kind == LARGEST_WHERE) return (size_t)count * 2 * sizeof(int);
  if (kind == LARGEST) return (size_t)count * sizeof(int64_t);
  return kind == BROADCAST ? (size_t)count : 0;
}

static int join(collective_kind kind, const void *given, void *result, int count, int root, MPI_Comm comm,
                MPI_Comm *copy, MPI_Request *request) {
  comm_entry *c = comm_of(comm);
  const int64_t number = c->collectives++;
  collective *own = NULL, *unused = NULL;
  for (int k = 0; k < COLLECTIVES; k++) {
    if (collectives[k].kind == NO_COLLECTIVE)
      unused = &collectives[k];
    else if (collectives[k].context == c->context && collectives[k].number == number)
      own = &collectives[k];
  }
  if (own == NULL) {
    CHECK(unused != NULL);
    own = unused;
    *own = (collective){.kind = kind, .context = c->context, .root = root, .count = count, .number = number};
    if (kind == DUPLICATE) own->copy_context = contexts++;
  }
  CHECK(own->kind == kind && own->count == count && own->root == root && own->given[c->rank] == NULL);
  own->given[c->rank] = xmalloc(bytes_of(kind, count) + 1);
  if (given != NULL && (kind != BROADCAST || c->rank == root))
    memcpy(own->given[c->rank], given, bytes_of(kind, count));
  own->joined++;
  request_entry *r = make_request(request);
  r->collective = own;
  r->active = true;
  r->rank = c->rank;
  r->buffer = result;
  r->copy = copy;
  return MPI_SUCCESS;
}

static void combine(const collective *c, void *result) {
  memcpy(result, c->given[c->root], bytes_of(c->kind, c->count));
  for (int r = 0; r < ranks && c->kind != BROADCAST; r++)
    for (int k = 0; k < c->count; k++) {
      int64_t *most = (int64_t *)result + k;
      const int64_t *value = (const int64_t *)c->given[r] + k;
      if (c->kind == LARGEST && *value > *most) *most = *value;
      int *where = (int *)result + 2 * k;
      const int *pair = (const int *)c->given[r] + 2 * k;
      if (c->kind == LARGEST_WHERE && (pair[0] > where[0] || (pair[0] == where[0] && pair[1] < where[1])))
        memcpy(where, pair, 2 * sizeof *pair);
    }
}

int MPI_Iallreduce(const void *given, void *result, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request) {
  enter();
  const bool where = type == MPI_2INT && op == MPI_MAXLOC;
  CHECK(where || (type == MPI_INT64_T && op == MPI_MAX));
  return leave(join(where ? LARGEST_WHERE : LARGEST, given == MPI_IN_PLACE ? result : given, result, count, 0,
                    comm, NULL, request));
}

int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request) {
  enter();
  CHECK(type == MPI_CHAR);
  return leave(join(BROADCAST, data, data, count, root, comm, NULL, request));
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request) {
  enter();
  return leave(join(DUPLICATE, NULL, NULL, 0, 0, comm, copy, request));
}

/* Supports only collective calls. */
int MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
  enter();
  request_entry *r = request_of(*request);
  collective *c = r->collective;
  (void)status;
  CHECK(c != NULL);
  *done = c->joined == ranks;
  if (!*done) return leave(MPI_SUCCESS);
  if (c->kind == DUPLICATE)
    *r->copy = make_comm(c->copy_context, r->rank);
  else
    combine(c, r->buffer);
  r->used = false;
  *request = MPI_REQUEST_NULL;
  if (++c->left < ranks) return leave(MPI_SUCCESS);
  for (int k = 0; k < ranks; k++) free(c->given[k]);
  c->kind = NO_COLLECTIVE;
  return leave(MPI_SUCCESS);
}

/* ---- Messages ------------------------------------------------------------------------------------------ */

static int make_message(bool receive, void *buffer, int bytes, MPI_Datatype type, int peer, int tag,
                        MPI_Comm comm, MPI_Request *request) {
  const comm_entry *c = comm_of(comm);
  CHECK(type == MPI_BYTE && peer >= 0 && peer < ranks && tag >= 0 && tag <= tag_most);
  request_entry *r = make_request(request);
  r->receive = receive;
  r->buffer = buffer;
  r->bytes = bytes;
  r->peer = peer;
  r->tag = tag;
  r->context = c->context;
  r->rank = c->rank;
  return MPI_SUCCESS;
}

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *request) {
  enter();
  return leave(make_message(true, buffer, count, type, peer, tag, comm, request));
}

int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *request) {
  enter();
  return leave(make_message(false, (void *)(uintptr_t)buffer, count, type, peer, tag, comm, request));
}

static void deliver(const message *m, request_entry *r) {
  const int bytes = m->bytes < r->bytes ? m->bytes : r->bytes;
  if (bytes > 0) memcpy(r->buffer, m->sender ? m->sender->buffer : m->copy, (size_t)bytes);
  r->got = bytes;
  r->error = m->bytes > r->bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  r->done = true;
  if (m->sender) m->sender->done = true;
}

static bool matches(const message *m, const request_entry *r) {
  return r->used && r->active && !r->done && r->receive && r->collective == NULL &&
         r->context == m->context && r->rank == m->to && r->peer == m->from && r->tag == m->tag;
}

static void start_receive(request_entry *r) {
  for (message **m = &messages; *m != NULL; m = &(*m)->next)
    if (matches(*m, r)) {
      deliver(*m, r);
      drop_message(m);
      return;
    }
}

static void start_send(request_entry *r) {
  message **last = &messages, *m = xcalloc(1, sizeof *m);
  const bool copied = r->bytes <= memory_mpi_eager_bytes;
  *m = (message){.context = r->context, .from = r->rank, .to = r->peer, .tag = r->tag, .bytes = r->bytes};
  m->copy = copied ? xmalloc((size_t)r->bytes + 1) : NULL;
  if (copied && r->bytes > 0) memcpy(m->copy, r->buffer, (size_t)r->bytes);
  if (!copied) m->sender = r;
  r->done = copied;
  r->got = r->bytes;
  while (*last != NULL) last = &(*last)->next;
  *last = m;
  for (int k = 0; k < REQUESTS; k++)
    if (matches(m, &requests[k])) {
      deliver(m, &requests[k]);
      drop_message(last);
      return;
    }
}

int MPI_Start(MPI_Request *request) {
  enter();
  request_entry *r = request_of(*request);
  if (fails_now(&memory_mpi_failing_start)) return leave(MPI_ERR_OTHER);
  if (r->active) return leave(MPI_ERR_REQUEST);
  r->active = true;
  r->done = false;
  r->error = MPI_SUCCESS;
  if (r->receive)
    start_receive(r);
  else
    start_send(r);
  return leave(MPI_SUCCESS);
}

/* As in Open MPI, a failed request is freed, even if it is persistent. The tag of a status holds the result
 * of MPI_Get_count. */
int MPI_Testsome(int count, MPI_Request *request, int *completed, int *which, MPI_Status *status) {
  int active = 0, failed = 0;
  enter();
  *completed = 0;
  if (fails_now(&memory_mpi_failing_look)) return leave(MPI_ERR_OTHER);
  for (int k = 0; k < count; k++) {
    if (request[k] == MPI_REQUEST_NULL) continue;
    request_entry *r = request_of(request[k]);
    active += r->active;
    if (!r->active || !r->done || next_random(&chance) % 4 == 0) continue;
    if (fails_now(&memory_mpi_failing_status)) r->error = MPI_ERR_OTHER;
    r->active = false;
    status[*completed].MPI_ERROR = r->error;
    status[*completed].MPI_TAG = r->got;
    which[(*completed)++] = k;
    if (r->error == MPI_SUCCESS) continue;
    r->used = false;
    request[k] = MPI_REQUEST_NULL;
    failed++;
  }
  if (active == 0) *completed = MPI_UNDEFINED;
  return leave(failed > 0 ? MPI_ERR_IN_STATUS : MPI_SUCCESS);
}

int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count) {
  enter();
  CHECK(type == MPI_BYTE);
  *count = status->MPI_TAG;
  return leave(MPI_SUCCESS);
}

/* Supports only a receive that is not complete, before it is freed. */
int MPI_Cancel(MPI_Request *request) {
  enter();
  request_of(*request)->active = false;
  return leave(MPI_SUCCESS);
}

int MPI_Request_free(MPI_Request *request) {
  enter();
  request_entry *r = request_of(*request);
  for (message **m = &messages; *m != NULL;)
    if ((*m)->sender == r)
      drop_message(m);
    else
      m = &(*m)->next;
  r->used = false;
  *request = MPI_REQUEST_NULL;
  return leave(MPI_SUCCESS);
}
