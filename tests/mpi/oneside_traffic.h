/* Traffic through a port of one-sided messages, for tests with any kind of heap memory. */
#pragma once

#include "runtime/mpi/oneside/oneside.h"
#include "tests/support/check.h"

/* Flags: for each of two buffers a message and an acknowledgement of each PE; the barriers of all PEs and of
 * a team. */
enum { WORDS = 300, MESSAGE = 0, TAKEN = 1, MEETING = 2 };
static inline int32_t traffic_flags(int32_t pes) {
  return MEETING + 2 * pes;
}
static inline size_t traffic_bytes(void) {
  return WORDS * sizeof(int64_t);
}

/* A ring: each PE writes an array repeatedly to the same buffer in the heap of the next PE. It waits for the
 * acknowledgement of the previous array. Returns the number of wrong words. */
static inline int64_t send_around(tsi_oneside *port, int32_t epochs) {
  const int32_t pe = tsi_oneside_heap(port)->pe, pes = tsi_oneside_heap(port)->pes;
  const int32_t next = (pe + 1) % pes, previous = (pe + pes - 1) % pes;
  int64_t from[WORDS], wrong = 0;
  for (int32_t epoch = 1; epoch <= epochs; epoch++) {
    for (int k = 0; k < WORDS; k++) from[k] = (int64_t)epoch * 1000000 + pe * 1000 + k;
    CHECK_OK(tsi_oneside_wait(port, next, TAKEN, epoch - 1));
    tsi_oneside_put_signal(port, next, 0, from, sizeof from, MESSAGE, epoch);
    CHECK_OK(tsi_oneside_wait(port, previous, MESSAGE, epoch));
    const int64_t *got = tsi_oneside_data(port);
    for (int k = 0; k < WORDS; k++) wrong += got[k] != (int64_t)epoch * 1000000 + previous * 1000 + k;
    tsi_oneside_signal(port, previous, TAKEN, epoch);
  }
  return wrong;
}

/* A barrier of all PEs. Then each PE reads an array of its neighbour, and each half of the PEs has a
 * barrier. */
static inline void meet_and_get(tsi_oneside *port) {
  const int32_t pe = tsi_oneside_heap(port)->pe, pes = tsi_oneside_heap(port)->pes;
  const tsi_oneside_team all = {0, 1, pes}, half = {pe % 2, 2, pes / 2};
  int64_t word = 0;
  for (int32_t epoch = 1; epoch <= 20; epoch += 2) {
    const int64_t mine = 100 * epoch + pe;
    tsi_oneside_put(port, pe, 0, &mine, sizeof mine);
    CHECK_OK(tsi_oneside_meet(port, &all, MEETING, epoch));
    tsi_oneside_get(port, (pe + 1) % pes, 0, &word, sizeof word);
    CHECK(word == 100 * epoch + (pe + 1) % pes);
    CHECK_OK(tsi_oneside_meet(port, &half, MEETING + pes, epoch));
    CHECK_OK(tsi_oneside_meet(port, &all, MEETING, epoch + 1));
  }
}
