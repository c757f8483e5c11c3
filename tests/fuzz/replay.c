/* Replaces libFuzzer: runs a fuzz target on the files and folders of the command line. */
#include <dirent.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

static int inputs;

static void run_file(const char *path) {
  static uint8_t data[1 << 20];
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    fprintf(stderr, "cannot open %s\n", path);
    exit(1);
  }
  const size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  uint8_t *copy = malloc(size > 0 ? size : 1); /* exact size, so that sanitizers find reads beyond it */
  if (copy == NULL) exit(1);
  memcpy(copy, data, size);
  if (getenv("FUZZ_TELL") != NULL) fprintf(stderr, "%s\n", path);
  LLVMFuzzerTestOneInput(copy, size);
  free(copy);
  inputs++;
}

static void run_folder(const char *path) {
  struct dirent **entry;
  char name[4096];
  const int count = scandir(path, &entry, NULL, alphasort);
  for (int k = 0; k < count; k++) {
    snprintf(name, sizeof name, "%s/%s", path, entry[k]->d_name);
    if (entry[k]->d_name[0] != '.') run_file(name);
    free(entry[k]);
  }
  if (count >= 0) free(entry);
}

int main(int argc, char **argv) {
  struct stat status;
  LLVMFuzzerInitialize(&argc, &argv);
  for (int k = 1; k < argc; k++)
    if (stat(argv[k], &status) == 0 && S_ISDIR(status.st_mode))
      run_folder(argv[k]);
    else
      run_file(argv[k]);
  printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
