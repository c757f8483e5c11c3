/* Devices for tests: CPU workers of StarPU replace the workers of devices, the last one for device 0 of this
 * process, and the emulator runs the kernels. A node has two devices. */
#include "tests/gpu/emulator/emulated_driver.h"

#include <pthread.h>
#include <starpu.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/starpu/devices.h"
#include "runtime/exec/starpu/service.h"
#include "tests/gpu/emulator/emulated_dense.h"

/* Devices of the node; number of devices that this process uses. */
enum { NODE = 2 };
static int chosen = STARPU_NMAXWORKERS;

static int present(void) {
  return NODE;
}

static void choose(struct starpu_conf *conf, int first, int count) {
  (void)conf;
  (void)first;
  chosen = count;
}

static int workers(int *worker, int most) {
  int count = tsi_starpu_cpu_worker_numbers(worker, most);
  if (count > most) count = most;
  for (int a = 0, b = count - 1; a < b; a++, b--) {
    const int keep = worker[a];
    worker[a] = worker[b];
    worker[b] = keep;
  }
  return count < chosen ? count : chosen;
}

static void use(struct starpu_codelet *codelet, void (*run)(void *buffers[], void *cl_arg)) {
  codelet->cpu_funcs[0] = run;
}

/* ---- Memory and streams of the program ----------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list */
static struct block {
  char *at;
  size_t bytes;
  int device;
  struct block *next;
} * allocated;

void *emulated_allocate(int device, size_t bytes) {
  struct block *block = malloc(sizeof *block);
  char *at = malloc(bytes);
  if (block == NULL || at == NULL) abort();
  *block = (struct block){.at = at, .bytes = bytes, .device = device};
  pthread_mutex_lock(&lock);
  block->next = allocated;
  allocated = block;
  pthread_mutex_unlock(&lock);
  return at;
}

void emulated_free(void *at) {
  struct block **link = &allocated;
  pthread_mutex_lock(&lock);
  while (*link && (*link)->at != at) link = &(*link)->next;
  struct block *block = *link;
  if (block == NULL) abort();
  *link = block->next;
  pthread_mutex_unlock(&lock);
  free(block);
  free(at);
}

/* Returns the device that owns the memory at this address, which may be inside a block. */
static int owner(const void *at) {
  int device = -1;
  pthread_mutex_lock(&lock);
  for (const struct block *block = allocated; block; block = block->next)
    if ((uintptr_t)at - (uintptr_t)block->at < block->bytes) device = block->device;
  pthread_mutex_unlock(&lock);
  return device;
}

static int number(int worker) {
  int list[TSI_DEVICES_MOST];
  const int count = workers(list, TSI_DEVICES_MOST);
  int device = 0;
  while (device < count && list[device] != worker) device++;
  return device;
}

static int wait_for_stream(int device, void *on) {
  emulated_stream *s = on;
  if (s == NULL) return 0;
  if (s->device != device) return EMULATED_NOT_ITS_STREAM;
  void (*work)(void *) = s->work;
  s->work = NULL;
  if (work) work(s->arg);
  return s->error;
}

static void *stream(void) {
  return NULL;
}
static int copy(void *to, const void *from, size_t bytes, void *on) {
  (void)on;
  memcpy(to, from, bytes);
  return 0;
}
static int clear(void *at, size_t bytes, void *on) {
  (void)on;
  memset(at, 0, bytes);
  return 0;
}

/* Transfers of fronts, which a test can make fail. */
static int transfer(void *to, const void *from, size_t bytes, void *on) {
  (void)on;
  memcpy(to, from, bytes);
  return emulated_dense_transfer();
}
static int transfer_columns(void *to, const void *from, size_t pitch, size_t bytes, size_t columns,
                            void *on) {
  (void)on;
  for (size_t k = 0; k < columns; k++) memcpy((char *)to + k * pitch, (const char *)from + k * pitch, bytes);
  return emulated_dense_transfer();
}
static int finish(void *on) {
  (void)on;
  return emulated_dense_transfer();
}

/* ---- For distributed solves on one device: where emulated_program.cpp is linked ------------------------ */

__attribute__((weak)) tsi_gpu_program_launch tsi_gpu_program_s, tsi_gpu_program_d, tsi_gpu_program_c,
    tsi_gpu_program_z;
__attribute__((weak)) tsi_gpu_spread_launch tsi_gpu_spread_s, tsi_gpu_spread_d, tsi_gpu_spread_c,
    tsi_gpu_spread_z;
__attribute__((weak)) int emulated_busy(void *on, bool *busy);

static int select_device(int device) {
  return device < NODE ? 0 : EMULATED_NOT_ITS_STREAM;
}
static int allocate(void **at, size_t bytes) {
  *at = malloc(bytes);
  return *at == NULL;
}
static void release(void *at) {
  free(at);
}
static int map(void *host, size_t bytes, void **at) {
  (void)bytes;
  *at = host;
  return 0;
}
static int adds(int device, bool *adds) {
  (void)device;
  *adds = true;
  return 0;
}
static void unmap(void *host) {
  (void)host;
}

/* Few threads, as the emulation of each one is slow. */
#define LAUNCH(type)                                                                                         \
  static int launch_##type(const tsi_gpu_sweep *sweep, unsigned blocks, unsigned threads, void *on) {        \
    (void)threads;                                                                                           \
    return tsi_gpu_launch_##type(sweep, blocks, 32, on);                                                     \
  }
LAUNCH(s)
LAUNCH(d)
LAUNCH(c)
LAUNCH(z)

#ifndef TSI_WALKED /* the walk has only kernels of sweeps */
#define LAUNCH_ROWS(type)                                                                                    \
  static int rows_##type(const tsi_gpu_rows *rows, unsigned blocks, unsigned threads, void *on) {            \
    (void)threads;                                                                                           \
    return tsi_gpu_rows_launch_##type(rows, blocks, 32, on);                                                 \
  }
LAUNCH_ROWS(s)
LAUNCH_ROWS(d)
LAUNCH_ROWS(c)
LAUNCH_ROWS(z)

#define LAUNCH_PRODUCT(type)                                                                                 \
  static int product_##type(const tsi_gpu_spmv *product, unsigned blocks, unsigned threads, void *on) {      \
    (void)threads;                                                                                           \
    return tsi_gpu_spmv_launch_##type(product, blocks, 32, on);                                              \
  }
LAUNCH_PRODUCT(s)
LAUNCH_PRODUCT(d)
LAUNCH_PRODUCT(c)
LAUNCH_PRODUCT(z)

static int lanes(int device) {
  (void)device;
  return 32;
}
#endif

const tsi_device_driver tsi_devices = {
    .name = "the emulator",
    .present = present,
    .choose = choose,
    .workers = workers,
    .use = use,
    .number = number,
    .owner = owner,
    .wait = wait_for_stream,
    .stream = stream,
    .copy = copy,
    .clear = clear,
    .launch = {launch_s, launch_d, launch_c, launch_z},
    .blocks = {tsi_gpu_blocks_s, tsi_gpu_blocks_d, tsi_gpu_blocks_c, tsi_gpu_blocks_z},
#ifndef TSI_WALKED
    .lanes = lanes,
    .rows = {rows_s, rows_d, rows_c, rows_z},
    .rows_blocks = {tsi_gpu_rows_blocks_s, tsi_gpu_rows_blocks_d, tsi_gpu_rows_blocks_c,
                    tsi_gpu_rows_blocks_z},
    .products = {product_s, product_d, product_c, product_z},
#endif
    .transfer = transfer,
    .transfer_columns = transfer_columns,
    .finish = finish,
    .select = select_device,
    .allocate = allocate,
    .release = release,
    .map = map,
    .unmap = unmap,
    .adds = adds,
    .busy = emulated_busy,
    .program = {tsi_gpu_program_s, tsi_gpu_program_d, tsi_gpu_program_c, tsi_gpu_program_z},
    .spread = {tsi_gpu_spread_s, tsi_gpu_spread_d, tsi_gpu_spread_c, tsi_gpu_spread_z},
    .dense = {&emulated_dense_s, &emulated_dense_d, &emulated_dense_c, &emulated_dense_z}};
