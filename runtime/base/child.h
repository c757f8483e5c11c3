/* Child programs that compute in their own processes, with shared memory.
 *
 * Job. A library that is neither reentrant nor repeatable in several threads may be both in several
 * processes. The host program may have MPI, devices and much memory. So the child is a separate program,
 * started by posix_spawn, not a copy of the host. It ends with the thread that started it, and its only open
 * files are the shared memory, standard output and standard error.
 *
 * Reads   the data that the caller writes to the shared memory before it starts the child.
 * Writes  the data that the child writes there.
 * Invariants: tsi_child_finish waits for a started child, and kills it if it still runs; no file stays open
 * in this process while a child runs. */
#pragma once

#include "runtime/base/env.h"

#define TSI_CHILD_FILE 3 /* the shared memory in the child */

typedef struct tsi_child {
  void *memory; /* shared; NULL: the child is not prepared */
  size_t bytes;
  bool open; /* the file is open */
  int file;  /* file of the memory */
  int pid;   /* 0: not started, or waited for */
} tsi_child;

/* Finds the program `name` in libexec/tristar of the build or of the installation, or in the folder
 * TRISTAR_HELPERS. Returns false if it is not found. path: size bytes. */
bool tsi_child_find(const char *name, char *path, size_t size);

/* Creates shared memory of `bytes` bytes, all zero. *child is all zero before; call tsi_child_finish also
 * after a failure. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_child_prepare(tsi_env *env, size_t bytes, tsi_child *child);
/* Starts the program with this path. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_child_start(tsi_env *env, const char *program, tsi_child *child);
/* Whether the child has ended, for any reason. Then the shared memory has its results. */
bool tsi_child_has_ended(tsi_child *child);
/* Ends the child, releases the memory. */
void tsi_child_finish(tsi_child *child);

/* The first call in the child: returns the shared memory and its size; NULL if tsi_child_start did not start
 * the process. From then on the child ends with its parent. */
void *tsi_child_serve(size_t *bytes);
/* The next call in the child: whether the parent, a process id, had ended before. */
bool tsi_child_is_orphan(int parent);
