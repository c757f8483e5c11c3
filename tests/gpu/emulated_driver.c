/* Devices for tests: StarPU's CPU workers stand in for workers of devices, the last one for device 0 of
 * those that the process is to use, and the emulator for the kernels. A node has two devices. */
#include <starpu.h>
#include <string.h>

#include "runtime/starpu/devices.h"
#include "runtime/starpu/service.h"

/* Of the node; which of them this process uses. */
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

/* Few threads: each one takes time. */
#define LAUNCH(type)                                                                                         \
  static int launch_##type(const tsi_gpu_sweep *sweep, unsigned blocks, unsigned threads, void *on) {        \
    (void)threads;                                                                                           \
    return tsi_gpu_launch_##type(sweep, blocks, 32, on);                                                     \
  }
LAUNCH(s)
LAUNCH(d)
LAUNCH(c)
LAUNCH(z)

const tsi_device_driver tsi_devices = {
    .name = "the emulator",
    .present = present,
    .choose = choose,
    .workers = workers,
    .use = use,
    .stream = stream,
    .copy = copy,
    .clear = clear,
    .launch = {launch_s, launch_d, launch_c, launch_z},
    .blocks = {tsi_gpu_blocks_s, tsi_gpu_blocks_d, tsi_gpu_blocks_c, tsi_gpu_blocks_z}};
