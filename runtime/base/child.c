/* See child.h. */
#include "runtime/base/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/variables.h"

extern char **environ;

/* ---- The program --------------------------------------------------------------------------------------- */

static bool is_program(const char *folder, int length, const char *from, const char *name, char *path,
                       size_t size) {
  const int written = snprintf(path, size, "%.*s%s%s/%s", length, folder, length > 0 ? "/" : "", from, name);
  return written > 0 && (size_t)written < size && access(path, X_OK) == 0;
}

bool tsi_child_find(const char *name, char *path, size_t size) {
  /* from the folder of this code, in the library or in a program: in the build, in its tests, installed */
  static const char *const from[] = {"libexec/tristar", "../libexec/tristar", "../../libexec/tristar",
                                     "../../../libexec/tristar"};
  const char *chosen = tsi_variable(TSI_VARIABLE_HELPERS);
  char own[PATH_MAX] = "";
  Dl_info info;
  if (chosen != NULL) return is_program(chosen, (int)strlen(chosen), ".", name, path, size);
  if (dladdr((void *)(uintptr_t)&tsi_child_find, &info) != 0 && info.dli_fname != NULL)
    snprintf(own, sizeof own, "%s", info.dli_fname);
  if (strchr(own, '/') == NULL) { /* a program from PATH */
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
  }
  const char *slash = strrchr(own, '/');
  for (size_t k = 0; slash != NULL && k < sizeof from / sizeof *from; k++)
    if (is_program(own, (int)(slash - own), from[k], name, path, size)) return true;
  return is_program("", 0, TSI_HELPERS_FOLDER, name, path, size);
}

/* ---- The parent ---------------------------------------------------------------------------------------- */

tristar_status tsi_child_prepare(tsi_env *env, size_t bytes, tsi_child *child) {
  *child = (tsi_child){.bytes = bytes, .file = memfd_create("tristar", MFD_CLOEXEC)};
  child->open = child->file >= 0;
  if (!child->open) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "memfd_create failed: %s", strerror(errno));
  /* Not posix_fallocate: if memory is short, the kernel kills other processes before it fails. */
  if (bytes > INT64_MAX || ftruncate(child->file, (off_t)bytes) != 0)
    TSI_FAIL(env, TRISTAR_ERR_MEMORY, "no %zu bytes to share with a process", bytes);
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, child->file, 0);
  if (memory == MAP_FAILED)
    TSI_FAIL(env, TRISTAR_ERR_MEMORY, "mmap of %zu bytes failed: %s", bytes, strerror(errno));
  child->memory = memory;
  return TRISTAR_OK;
}

/* The child gets no signal mask and no handlers of the host, and no signals of its terminal. */
static int choose_signals(posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int code = posix_spawnattr_setsigmask(attributes, &none);
  if (code == 0) code = posix_spawnattr_setsigdefault(attributes, &all);
  if (code == 0) code = posix_spawnattr_setpgroup(attributes, 0);
  if (code == 0)
    code = posix_spawnattr_setflags(attributes,
                                    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  return code;
}

tristar_status tsi_child_start(tsi_env *env, const char *program, tsi_child *child) {
  char *const arguments[] = {(char *)(uintptr_t)program, NULL};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  pid_t pid = 0;
  int code = posix_spawn_file_actions_init(&files);
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "posix_spawn_file_actions_init: %s", strerror(code));
  code = posix_spawnattr_init(&attributes);
  if (code == 0) {
    code = posix_spawn_file_actions_adddup2(&files, child->file, TSI_CHILD_FILE);
    if (code == 0) code = choose_signals(&attributes);
    if (code == 0) code = posix_spawn(&pid, program, &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&files);
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "%s cannot be started: %s", program, strerror(code));
  child->pid = (int)pid;
  close(child->file);
  child->open = false;
  return TRISTAR_OK;
}

/* Waits for the child; returns false if it still runs. If the host ignores SIGCHLD, or waits for any child
 * itself, there is no child left to wait for. */
static bool reap(tsi_child *child, int options) {
  pid_t got;
  do got = waitpid(child->pid, NULL, options);
  while (got < 0 && errno == EINTR);
  if (got == 0) return false;
  child->pid = 0;
  return true;
}

bool tsi_child_has_ended(tsi_child *child) {
  return child->pid == 0 || reap(child, WNOHANG);
}

void tsi_child_finish(tsi_child *child) {
  if (!tsi_child_has_ended(child)) {
    kill(child->pid, SIGKILL);
    reap(child, 0);
  }
  if (child->memory != NULL) munmap(child->memory, child->bytes);
  if (child->open) close(child->file);
  *child = (tsi_child){.memory = NULL};
}

/* ---- The child ----------------------------------------------------------------------------------------- */

void *tsi_child_serve(size_t *bytes) {
  struct stat about;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (fstat(TSI_CHILD_FILE, &about) != 0 || about.st_size <= 0) return NULL;
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
  closefrom(TSI_CHILD_FILE + 1);
#endif
#endif
  void *memory = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, TSI_CHILD_FILE, 0);
  *bytes = (size_t)about.st_size;
  return memory == MAP_FAILED ? NULL : memory;
}

bool tsi_child_is_orphan(int parent) {
  return (int)getppid() != parent;
}
