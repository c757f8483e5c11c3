/* Files of saved objects: see file.h. */
#include "runtime/save/file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER ((size_t)1 << 20) /* of a file: small records are joined */

static int write_to_file(void *file, const void *data, size_t bytes) {
  return fwrite(data, 1, bytes, file) == bytes ? 0 : errno != 0 ? errno : EIO;
}

static tristar_status fail_to_write(const tsi_env *env, const char *path, int code) {
  TSI_FAIL(env, TRISTAR_ERR_IO, "cannot write %s: %s", path, strerror(code));
}

tristar_status tsi_sink_file_open(tsi_env *env, const char *path, tsi_sink_file *out) {
  int descriptor = -1;
  out->file = NULL;
  out->output.descriptor = -1;
  if (path == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "path is NULL");
  const int code = tsi_output_file_begin(&out->output, path, &descriptor);
  if (code != 0) return fail_to_write(env, path, code);
  out->file = fdopen(descriptor, "wb");
  if (out->file == NULL) {
    close(descriptor);
    (void)tsi_output_file_end(&out->output, false);
    return fail_to_write(env, path, ENOMEM);
  }
  (void)setvbuf(out->file, NULL, _IOFBF, BUFFER);
  out->path = path;
  out->sink = (tsi_sink){env, write_to_file, out->file};
  errno = 0;
  return TRISTAR_OK;
}

tristar_status tsi_sink_file_close(tsi_sink_file *file, tristar_status put) {
  int code = 0;
  if (put == TRISTAR_ERR_RUNTIME || fflush(file->file) != 0) code = errno != 0 ? errno : EIO;
  if (fclose(file->file) != 0 && code == 0) code = errno;
  file->file = NULL;
  return code == 0 ? put : fail_to_write(file->sink.env, file->path, code);
}

tristar_status tsi_sink_file_end(tsi_sink_file *file, bool complete) {
  const int code = tsi_output_file_end(&file->output, complete);
  return code == 0 ? TRISTAR_OK : fail_to_write(file->sink.env, file->path, code);
}

static int read_from_file(void *file, void *data, size_t bytes) {
  return fread(data, 1, bytes, file) == bytes ? 0 : ferror((FILE *)file) && errno != 0 ? errno : ENODATA;
}

tristar_status tsi_source_file_open(tsi_env *env, const char *path, tsi_source_file *out) {
  struct stat info;
  out->file = NULL;
  if (path == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "path is NULL");
  FILE *file = fopen(path, "rbe");
  if (file == NULL) TSI_FAIL(env, TRISTAR_ERR_IO, "cannot read %s: %s", path, strerror(errno));
  errno = 0;
  const bool regular = fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode);
  out->file = file;
  out->source = (tsi_source){.env = env,
                             .read = read_from_file,
                             .arg = file,
                             .subject = path,
                             .left = regular ? (uint64_t)info.st_size : UINT64_MAX};
  return TRISTAR_OK;
}

tristar_status tsi_source_file_explain(const tsi_source_file *file, tristar_status status) {
  const tsi_source *source = &file->source;
  const int code = errno;
  if (status != TRISTAR_ERR_RUNTIME || file->file == NULL) return status;
  if (ferror(file->file))
    TSI_FAIL(source->env, TRISTAR_ERR_IO, "cannot read %s: %s", source->subject, strerror(code));
  if (feof(file->file))
    TSI_FAIL(source->env, TRISTAR_ERR_FORMAT, "%s: damaged: it ends early", source->subject);
  return status;
}

void tsi_source_file_close(tsi_source_file *file) {
  if (file->file != NULL) fclose(file->file);
  file->file = NULL;
}
