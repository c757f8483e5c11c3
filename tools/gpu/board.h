/* A board: one GPU with memory of its own, as programs in C use it beside the launches of codelets/gpu.
 * board.cu asks CUDA or HIP; tests/gpu/emulator/emulated_board.cpp has the emulator in their place.
 *
 * Job. Memory, copies, the time that launches take, a kernel that reads memory as fast as it can. Everything
 * is on the default stream, one thing after the other. An error of the device's runtime ends the program with
 * a message: what is asked here cannot go on without it. */
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
  unsigned threads;  /* that a block of them has best */
  double bytes;      /* of its memory */
  unsigned measured; /* bytes / this are enough to measure how fast it reads */
} gpu_board;

/* The first GPU of the machine. Returns NULL, or why there is none. */
const char *board_open(gpu_board *out);

/* Memory of the board, each piece at a multiple of 256 bytes. */
void *board_allocate(size_t bytes);
void board_release(void *at);
void board_copy_in(void *to, const void *from, size_t bytes);
void board_copy_out(void *to, const void *from, size_t bytes);
void board_fill(void *at, int byte, size_t bytes);

/* ---- Several GPUs, and launches beside each other ---- */
/* The number of GPUs of the machine. The functions work on the selected GPU: initially on the first one. */
int board_count(void);
void board_select(int number);
/* Returns when all that was started on the selected GPU has ended. */
void board_settle(void);
/* Creates a stream of the selected GPU, which does not wait for other streams. */
void *board_stream(void);
/* Returns whether a launch in the stream has not ended. */
bool board_busy(void *stream);
void board_release_stream(void *stream);
/* Lets all GPUs read and write memory of the host, of whole pages; its address on the selected GPU. */
void board_map(void *host, size_t bytes);
void *board_mapped(void *host);
void board_unmap(void *host);

/* What launches return: 0, or an error that ends the program. */
void board_check(int error, const char *what);
/* Seconds from start to stop, in which what was launched in between has ended. */
void board_start(void);
double board_stop(void);

/* Launches a kernel that reads bytes, a multiple of 16 of them. */
void board_read(const void *at, size_t bytes);

#ifdef __cplusplus
}
#endif
