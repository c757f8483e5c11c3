/* Messages on stderr: see console.h. */
#include "drivers/session/console.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { ERROR_SIZE = 8000 }; /* fits a message with two paths; longer messages are cut */

/* All threads share one terminal, so the lock and the flags are global. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool progress_shown, muted;

static void clear_line(void) {
  if (progress_shown) fputs("\r\033[K", stderr);
  progress_shown = false;
}

tristar_log_level tsi_console_level(bool verbose) {
  return verbose || isatty(STDERR_FILENO) ? TRISTAR_LOG_PROGRESS : TRISTAR_LOG_WARNING;
}

void tsi_console_log(void *arg, tristar_log_level level, const char *text) {
  const bool *verbose = arg;
  /* The caller prints errors itself; their log entries only add the place in the source. */
  if ((level == TRISTAR_LOG_INFO || level == TRISTAR_LOG_ERROR) && !*verbose) return;
  pthread_mutex_lock(&lock);
  clear_line();
  if (level == TRISTAR_LOG_PROGRESS && !*verbose) {
    fprintf(stderr, "%.78s", text);
    progress_shown = true;
  } else
    fprintf(stderr, "tristar: %s%s\n",
            level == TRISTAR_LOG_WARNING ? "warning: "
            : level == TRISTAR_LOG_ERROR ? "log: "
                                         : "",
            text);
  pthread_mutex_unlock(&lock);
}

void tsi_console_clear(void) {
  pthread_mutex_lock(&lock);
  clear_line();
  pthread_mutex_unlock(&lock);
}

void tsi_console_mute(bool mute) {
  muted = mute;
}
bool tsi_console_is_mute(void) {
  return muted;
}

void tsi_console_error(const char *format, ...) {
  va_list args;
  char text[ERROR_SIZE];
  int length;
  if (muted) return;
  fflush(stdout); /* keeps the order of the output if both streams are one file */
  va_start(args, format);
  length = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  pthread_mutex_lock(&lock);
  clear_line();
  /* One call makes one write: mpiexec interleaves the writes of processes and streams. */
  fprintf(stderr, "tristar: %s%s\n", text, length < ERROR_SIZE ? "" : " ...");
  pthread_mutex_unlock(&lock);
}
