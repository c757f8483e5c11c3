/* order_part: the program that orders a part of a graph for another process, in memory that both share. It
 * has no arguments; users do not call it. Exit status: 0, 1 (out of memory, METIS or CAMD failed) or 2 (it
 * was not started by the library of its version). */
#include "partition/order/shared_order.h"
#include "runtime/base/child.h"

int main(void) {
  size_t bytes = 0;
  void *memory = tsi_child_serve(&bytes);
  return memory != NULL ? tsi_shared_order_serve(memory, bytes) : 2;
}
