/* A file that takes the place of another one only once it is complete.
 *
 * The new contents go to a file without a name in the same folder (O_TMPFILE), or where the file system has
 * none, to one with a name of its own. The commit gives it the name: until then the old file is untouched,
 * and if the process ends early nothing of the new one is left.
 *
 * Written directly, as this cannot be had: what is no regular file (a pipe, /dev/null), a file with several
 * hard links or of another owner, and one in a folder that takes no new files. Kept: permissions. A symbolic
 * link stays one; what it leads to is replaced. */
#pragma once

#include <limits.h>
#include <stdbool.h>

typedef struct tsi_output_file {
  int descriptor;        /* our own; -1: it is written directly */
  bool named;            /* beside[] exists */
  char target[PATH_MAX]; /* to be replaced */
  char beside[PATH_MAX + 16];
} tsi_output_file;

/* *descriptor: to be written to and closed by the caller, before the end. Returns an errno; 0: it is open. */
int tsi_output_file_begin(tsi_output_file *file, const char *path, int *descriptor);
/* complete: all was written, and the caller's descriptor closed without an error; else the new file vanishes.
 * Returns an errno; 0: nothing went wrong here. */
int tsi_output_file_end(tsi_output_file *file, bool complete);
