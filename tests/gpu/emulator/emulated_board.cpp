/* A board of tools/gpu/board.h that uses host memory, and whose kernels the emulator runs. */
#include "tools/gpu/board.h"

#include "runtime/base/clock.h"
#include "tests/support/check.h"

static double began;
static unsigned char kept;

const char *board_open(gpu_board *out) {
  snprintf(out->name, sizeof out->name, "the emulator");
  out->warp = 32;
  out->processors = 2;
  out->threads = 64; /* few threads, as the emulation of each one is slow */
  out->bytes = 1 << 24;
  out->measured = 16;
  return NULL;
}

void *board_allocate(size_t bytes) {
  void *at = aligned_alloc(256, (bytes + 256) / 256 * 256);
  CHECK(at != nullptr);
  return at;
}
void board_release(void *at) {
  free(at);
}
void board_copy_in(void *to, const void *from, size_t bytes) {
  memcpy(to, from, bytes);
}
void board_copy_out(void *to, const void *from, size_t bytes) {
  memcpy(to, from, bytes);
}
void board_fill(void *at, int byte, size_t bytes) {
  memset(at, byte, bytes);
}

int board_count(void) {
  return 2;
}
void board_select(int) {}
void board_settle(void) {}
void board_map(void *, size_t) {}
void *board_mapped(void *host) {
  return host;
}
void board_unmap(void *) {}

void board_check(int error, const char *what) {
  CHECK_MSG(error == 0, "%s: %d", what, error);
}
void board_start(void) {
  began = tsi_clock();
}
double board_stop(void) {
  return tsi_clock() - began;
}

void board_read(const void *at, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) kept = (unsigned char)(kept + ((const unsigned char *)at)[i]);
}
