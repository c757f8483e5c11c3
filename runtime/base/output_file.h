/* A file that replaces another one only once it is complete.
 *
 * The new contents are written to a file without a name in the same folder (O_TMPFILE). If the file system
 * has none, the file has a temporary name. The commit gives it the final name. Until then the old file is
 * unchanged, and if the process ends early nothing of the new file is left.
 *
 * Some files are written directly, as they cannot be replaced: a file that is not regular (a pipe,
 * /dev/null), a file with several hard links or of another owner, and a file in a folder that takes no new
 * files. Permissions are kept. A symbolic link is kept; its target is replaced. */
#pragma once

#include <limits.h>
#include <stdbool.h>

typedef struct tsi_output_file {
  int descriptor;        /* of the new file, apart from the caller's; -1: written directly */
  bool named;            /* temporary[] exists */
  char target[PATH_MAX]; /* to be replaced */
  char temporary[PATH_MAX + 16];
} tsi_output_file;

/* *descriptor: the caller writes to it and closes it before tsi_output_file_end. Returns an errno; 0: it is
 * open. */
int tsi_output_file_begin(tsi_output_file *file, const char *path, int *descriptor);
/* complete: all was written, and the caller's descriptor was closed without an error; else the new file is
 * removed. Returns an errno; 0: no error in this function. */
int tsi_output_file_end(tsi_output_file *file, bool complete);
