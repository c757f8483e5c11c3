/* Programs that compute for this one in processes of their own, with memory that both share.
 *
 * Job. A library that is neither reentrant nor repeatable between threads may be so between processes. The
 * host program may have MPI, devices and much memory, so the child is a program of its own, started by
 * posix_spawn, not a copy of the host. It ends with the thread that started it, and has no open file but the
 * shared memory, standard output and standard error.
 *
 * Reads   what the caller writes to the shared memory before it starts the child.
 * Writes  what the child writes there.
 * Invariants: a child that was started is waited for in tsi_child_finish, which kills one that still runs; no
 * file stays open in this process while a child runs. */
#pragma once

#include "runtime/base/env.h"

#define TSI_CHILD_FILE 3 /* the shared memory in the child */

typedef struct tsi_child {
  void *memory; /* shared; NULL: the child is not prepared */
  size_t bytes;
  bool open; /* file is */
  int file;  /* of the memory */
  int pid;   /* 0: not started, or waited for */
} tsi_child;

/* Finds the program `name` in libexec/tristar of the build or of the installation; TRISTAR_HELPERS names
 * another folder. Returns false where there is none. path: size bytes. */
bool tsi_child_find(const char *name, char *path, size_t size);

/* Shared memory of so many bytes, all zero, of a child that is all zero. Errors: MEMORY, RUNTIME. *child is
 * for tsi_child_finish also after a failure. */
TRISTAR_CHECKED tristar_status tsi_child_prepare(tsi_env *env, size_t bytes, tsi_child *child);
/* Starts the program, a path. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_child_start(tsi_env *env, const char *program, tsi_child *child);
/* Has the child ended, in whatever way? What it wrote is there then. */
bool tsi_child_has_ended(tsi_child *child);
/* Ends the child, releases the memory. */
void tsi_child_finish(tsi_child *child);

/* In the child, first of all: returns the shared memory and its size; NULL where it was not started so. From
 * here on the child ends with its parent. */
void *tsi_child_serve(size_t *bytes);
/* In the child, thereafter: has the parent, a process id, ended before? */
bool tsi_child_is_orphan(int parent);
