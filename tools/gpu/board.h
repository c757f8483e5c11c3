/* A board: one GPU with its own memory, as programs in C use it together with the launches of codelets/gpu.
 * board.cu uses CUDA or HIP; tests/gpu/emulator/emulated_board.cpp uses the emulator.
 *
 * Job. Memory, copies, times of launches, a kernel that reads memory as fast as possible. All operations are
 * in the default stream, in order. An error of the device's runtime ends the program with a message, because
 * no caller can continue without the result. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpu_board {
  char name[256];
  unsigned processors;
  unsigned warp;     /* lanes of a warp of its kernels */
  unsigned threads;  /* best number of threads of a block */
  double bytes;      /* bytes of its memory */
  unsigned measured; /* bytes / measured suffice for a measurement of its read bandwidth */
} gpu_board;

/* Opens the first GPU of the machine. Returns NULL, or the reason why there is none. */
const char *board_open(gpu_board *out);

/* Allocates memory of the board, aligned to 256 bytes. */
void *board_allocate(size_t bytes);
void board_release(void *at);
void board_copy_in(void *to, const void *from, size_t bytes);
void board_copy_out(void *to, const void *from, size_t bytes);
void board_fill(void *at, int byte, size_t bytes);

/* ---- Several GPUs, and launches beside each other ---- */
/* The number of GPUs of the machine. The functions work on the selected GPU: initially on the first one. */
int board_count(void);
void board_select(int number);
/* Returns when all work started on the selected GPU has ended. */
void board_settle(void);
/* Creates a stream of the selected GPU, which does not wait for other streams. */
void *board_stream(void);
/* Returns whether a launch in the stream has not ended. */
bool board_busy(void *stream);
void board_release_stream(void *stream);
/* Makes whole pages of host memory accessible to all GPUs; returns the address on the selected GPU. */
void board_map(void *host, size_t bytes);
void *board_mapped(void *host);
void board_unmap(void *host);

/* Checks the result of a launch: 0, or an error that ends the program. */
void board_check(int error, const char *what);
/* Seconds from start to stop. The launches in between have ended. */
void board_start(void);
double board_stop(void);

/* Launches a kernel that reads `bytes` bytes, a multiple of 16. */
void board_read(const void *at, size_t bytes);

#ifdef __cplusplus
}
#endif
