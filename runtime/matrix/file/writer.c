/* Buffered text output through zlib: see writer.h. */
#include "runtime/matrix/file/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define BUFFER_SIZE ((size_t)1 << 16)
#define PRINT_MAX ((size_t)256)
#define PATH_SHOWN 160

/* Standard output stays open when the writer closes. */
static gzFile open_standard_output(void) {
  const int descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  gzFile file = descriptor >= 0 ? gzdopen(descriptor, "wbT") : NULL;
  if (file == NULL && descriptor >= 0) close(descriptor);
  return file;
}

static gzFile open_temporary(tsi_output_file *output, const char *path, bool compressed) {
  int descriptor;
  const int code = tsi_output_file_begin(output, path, &descriptor);
  gzFile file = code == 0 ? gzdopen(descriptor, compressed ? "wb6" : "wbT") : NULL; /* T: no gzip */
  if (code == 0 && file == NULL) close(descriptor);
  if (file == NULL) (void)tsi_output_file_end(output, false);
  if (code != 0) errno = code;
  return file;
}

tristar_status tsi_writer_open(tsi_writer *writer, tsi_env *env, const char *path) {
  size_t length = strlen(path);
  bool standard = strcmp(path, "-") == 0;
  bool compressed = length > 3 && strcmp(path + length - 3, ".gz") == 0;
  memset(writer, 0, sizeof *writer);
  writer->output.descriptor = -1;
  writer->env = env;
  writer->path = standard ? "standard output" : path + (length > PATH_SHOWN ? length - PATH_SHOWN : 0);
  TSI_TRY(TSI_ALLOC(env, writer->buffer, BUFFER_SIZE));
  errno = 0;
  writer->file = standard ? open_standard_output() : open_temporary(&writer->output, path, compressed);
  if (writer->file == NULL)
    TSI_FAIL(env, TRISTAR_ERR_IO, "cannot write %s: %s", writer->path,
             errno != 0 ? strerror(errno) : "no memory for zlib");
  return TRISTAR_OK;
}

static void note_failure(tsi_writer *writer) {
  if (!writer->failed) writer->error = errno;
  writer->failed = true;
}

static void flush(tsi_writer *writer) {
  errno = 0;
  if (writer->used > 0 && !writer->failed &&
      gzwrite(writer->file, writer->buffer, (unsigned)writer->used) != (int)writer->used)
    note_failure(writer);
  writer->used = 0;
}

void tsi_writer_print(tsi_writer *writer, const char *format, ...) {
  va_list args;
  if (BUFFER_SIZE - writer->used < PRINT_MAX) flush(writer);
  va_start(args, format);
  int length = vsnprintf(writer->buffer + writer->used, PRINT_MAX, format, args);
  va_end(args);
  if (length > 0) writer->used += (size_t)length < PRINT_MAX ? (size_t)length : PRINT_MAX - 1;
}

void tsi_writer_comment(tsi_writer *writer, const char *text) {
  if (text == NULL) return;
  for (;;) {
    size_t length = strcspn(text, "\r\n");
    tsi_writer_print(writer, "%% ");
    for (size_t at = 0; at < length; at += 200)
      tsi_writer_print(writer, "%.*s", (int)(length - at < 200 ? length - at : 200), text + at);
    tsi_writer_print(writer, "\n");
    text += length;
    if (*text == '\0') return;
    text += text[0] == '\r' && text[1] == '\n' ? 2 : 1;
  }
}

tristar_status tsi_writer_close(tsi_writer *writer, tristar_status status) {
  if (writer->file != NULL) {
    flush(writer);
    errno = 0;
    if (gzclose_w(writer->file) != Z_OK) note_failure(writer);
    writer->file = NULL;
    errno = tsi_output_file_end(&writer->output, status == TRISTAR_OK && !writer->failed);
    if (errno != 0) note_failure(writer);
  }
  TSI_FREE(writer->env, writer->buffer);
  if (status != TRISTAR_OK || !writer->failed) return status;
  TSI_FAIL(writer->env, TRISTAR_ERR_IO, "cannot write %s: %s", writer->path,
           writer->error != 0 ? strerror(writer->error) : "zlib failed");
}
