/* Files of the command line: see files.h. */
#include "drivers/session/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool tsi_file_is_standard(const char *path) {
  return strcmp(path, "-") == 0;
}

const char *tsi_input_name(const char *path) {
  return tsi_file_is_standard(path) ? "standard input" : path;
}

const char *tsi_output_name(const char *path) {
  return tsi_file_is_standard(path) ? "standard output" : path;
}

/* Makes the file and removes it again. If the file exists by then, or is a dangling link, this is no error:
 * tsi_output_open reports the problem. */
static int try_to_make(const char *path) {
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return errno == EEXIST ? 0 : errno;
  close(descriptor);
  return unlink(path) == 0 ? 0 : errno;
}

/* Opens the file without changing it. */
static int try_to_open(const char *path) {
  const int descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) return errno;
  close(descriptor);
  return 0;
}

bool tsi_own_path(char *path, size_t size) {
  const ssize_t length = readlink("/proc/self/exe", path, size - 1);
  if (length > 0) {
    path[length] = '\0';
    return true;
  }
  return (size_t)snprintf(path, size, "%s", program_invocation_name) < size;
}

bool tsi_relative_to_program(const char *program, const char *way, char *path, size_t size) {
  const char *slash = strrchr(program, '/');
  const int length = slash != NULL ? (int)(slash - program) : 1;
  return (size_t)snprintf(path, size, "%.*s/%s", length, slash != NULL ? program : ".", way) < size;
}

int tsi_output_problem(const char *path) {
  struct stat info;
  if (tsi_file_is_standard(path)) return 0;
  if (stat(path, &info) != 0) return errno == ENOENT ? try_to_make(path) : errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  if (S_ISREG(info.st_mode)) return try_to_open(path);
  return access(path, W_OK) == 0 ? 0 : errno; /* opening and closing a pipe would end its reader's input */
}

FILE *tsi_output_open(const char *path, tsi_output_file *output) {
  int descriptor = -1, code = 0;
  output->descriptor = -1;
  if (!tsi_file_is_standard(path)) {
    code = tsi_output_file_begin(output, path, &descriptor);
  } else {
    if (fflush(stdout) != 0) return NULL;
    descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    code = descriptor < 0 ? errno : 0;
  }
  FILE *file = code == 0 ? fdopen(descriptor, "w") : NULL;
  if (file != NULL) return file;
  if (code == 0) code = errno;
  if (descriptor >= 0) close(descriptor);
  (void)tsi_output_file_end(output, false);
  errno = code;
  return NULL;
}

bool tsi_output_close(FILE *file, tsi_output_file *output, bool complete) {
  if (file == NULL) return false;
  if (ferror(file)) complete = false;
  if (fclose(file) != 0) complete = false;
  const int kept = errno, code = tsi_output_file_end(output, complete);
  errno = code != 0 ? code : kept;
  return complete && code == 0;
}
