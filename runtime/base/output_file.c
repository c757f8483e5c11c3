/* Files that replace others once they are complete: see output_file.h. */
#include "runtime/base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MOST 100 /* names to try until one is not taken */

static int open_directly(const char *path, int *descriptor) {
  *descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return *descriptor < 0 ? errno : 0;
}

/* Finds the final path of a new file; false: the file is written directly. */
static bool find_target(const char *path, char target[PATH_MAX], struct stat *old, bool *exists) {
  *exists = stat(path, old) == 0;
  if (*exists) {
    if (!S_ISREG(old->st_mode) || old->st_nlink > 1 || old->st_uid != geteuid()) return false;
    return access(path, W_OK) == 0 && realpath(path, target) != NULL;
  }
  struct stat link;
  if (lstat(path, &link) == 0) return false; /* a link without a target */
  return snprintf(target, PATH_MAX, "%s", path) < PATH_MAX;
}

/* A temporary name in the folder of the target. */
static void name_temporary(tsi_output_file *file, int attempt) {
  snprintf(file->temporary, sizeof file->temporary, "%s.%x", file->target,
           (unsigned)getpid() + 977 * (unsigned)attempt);
}

static int open_unnamed(const tsi_output_file *file) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s", file->target);
  char *slash = strrchr(folder, '/');
  if (slash == NULL)
    snprintf(folder, sizeof folder, ".");
  else
    slash[slash == folder] = '\0';
  return open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
}

static int open_named(tsi_output_file *file) {
  int descriptor = -1;
  for (int k = 0; k < NAMES_MOST && descriptor < 0; k++) {
    name_temporary(file, k);
    descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  file->named = descriptor >= 0;
  return descriptor;
}

int tsi_output_file_begin(tsi_output_file *file, const char *path, int *descriptor) {
  struct stat old;
  bool exists;
  *file = (tsi_output_file){.descriptor = -1};
  if (!find_target(path, file->target, &old, &exists)) return open_directly(path, descriptor);
  file->descriptor = open_unnamed(file);
  if (file->descriptor < 0) file->descriptor = open_named(file);
  if (file->descriptor < 0) return open_directly(path, descriptor);
  if (exists) (void)fchmod(file->descriptor, old.st_mode & 07777);
  *descriptor = fcntl(file->descriptor, F_DUPFD_CLOEXEC, 0);
  if (*descriptor >= 0) return 0;
  const int code = errno;
  (void)tsi_output_file_end(file, false);
  return code;
}

/* Gives an unnamed file a temporary name in the folder of the target. */
static int make_name(tsi_output_file *file) {
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", file->descriptor);
  for (int k = 0; k < NAMES_MOST; k++) {
    name_temporary(file, k);
    file->named = linkat(AT_FDCWD, self, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0;
    if (file->named || errno != EEXIST) break;
  }
  return file->named ? 0 : errno;
}

int tsi_output_file_end(tsi_output_file *file, bool complete) {
  int code = 0;
  if (file->descriptor < 0) return 0;
  if (complete && !file->named) code = make_name(file);
  if (complete && code == 0 && rename(file->temporary, file->target) != 0) code = errno;
  if (file->named && (!complete || code != 0)) (void)unlink(file->temporary);
  close(file->descriptor);
  file->descriptor = -1;
  return code;
}
