/* The devices of a runtime whose names differ from CUDA only by their prefix: all code of devices_cuda.c and
 * devices_hip.c. The including file has included the headers of that runtime and of StarPU, and defines
 *
 *   RUNTIME(name)     a name of the runtime, and of StarPU's codelet: cuda##name
 *   RUNTIME_NAME      text
 *   RUNTIME_WORKER    StarPU's kind of worker
 *   RUNTIME_ASYNC     StarPU's flag of functions that only start
 *   RUNTIME_STREAM    StarPU's function that returns the stream of a worker
 *   RUNTIME_FACTS     the runtime's structure with the properties of a pointer
 *   RUNTIME_KIND      its member with the kind of memory
 *   RUNTIME_LANES     the runtime's attribute of a device: lanes of a warp
 *   RUNTIME_ADDS      the same: its atomics on memory of the host are those of the host
 *   TSI_DEVICE_BLAS   if the build has found the BLAS of that runtime: see devices_blas.h
 *   RUNTIME_COUNT, RUNTIME_CHOSEN, RUNTIME_NUMBERS   members of starpu_conf: number of devices, whether they
 *                     are chosen, their numbers */
#include "runtime/exec/starpu/devices.h"
#ifdef TSI_DEVICE_BLAS
#include "runtime/exec/starpu/devices_blas.h"
#endif

static int present(void) {
  int count = 0;
  return RUNTIME(GetDeviceCount)(&count) == 0 ? count : 0;
}

/* StarPU gives precedence to numbers in the environment. */
static void choose(struct starpu_conf *conf, int first, int count) {
  conf->RUNTIME_COUNT = count;
  conf->RUNTIME_CHOSEN = 1;
  for (int d = 0; d < STARPU_NMAXWORKERS; d++)
    conf->RUNTIME_NUMBERS[d] = (unsigned)(first + (count > 0 ? d % count : 0));
}

static int workers(int *worker, int most) {
  const int count = (int)starpu_worker_get_ids_by_type(RUNTIME_WORKER, worker, (unsigned)most);
  return count < 0 ? most : count; /* negative: there are more */
}

static void use(struct starpu_codelet *codelet, void (*run)(void *buffers[], void *cl_arg)) {
  codelet->RUNTIME(_funcs)[0] = run;
  codelet->RUNTIME(_flags)[0] = RUNTIME_ASYNC;
}

/* StarPU's workers of a kind have the numbers of the runtime. */
static int number(int worker) {
  return starpu_worker_get_devid(worker);
}

static int lanes(int device) {
  int worker[TSI_DEVICES_MOST], count = 0;
  (void)workers(worker, TSI_DEVICES_MOST);
  return RUNTIME(DeviceGetAttribute)(&count, RUNTIME_LANES, number(worker[device])) == 0 ? count : 32;
}

/* Pinned memory of the host has a device too. */
static int owner(const void *at) {
  RUNTIME_FACTS facts;
  if (RUNTIME(PointerGetAttributes)(&facts, at) != 0) {
    (void)RUNTIME(GetLastError)(); /* else the next call returns this error */
    return -1;
  }
  return facts.RUNTIME_KIND == RUNTIME(MemoryTypeHost) ? -1 : facts.device;
}

/* The default stream belongs to the thread's current device. */
static int wait_for_stream(int device, void *on) {
  int before;
  int code = (int)RUNTIME(GetDevice)(&before);
  if (code == 0) code = (int)RUNTIME(SetDevice)(device);
  if (code != 0) return code;
  code = (int)RUNTIME(StreamSynchronize)(on);
  const int back = (int)RUNTIME(SetDevice)(before);
  return code != 0 ? code : back;
}

static void *stream(void) {
  return RUNTIME_STREAM();
}
static int copy(void *to, const void *from, size_t bytes, void *on) {
  return (int)RUNTIME(MemcpyAsync)(to, from, bytes, RUNTIME(MemcpyDeviceToDevice), on);
}
static int clear(void *at, size_t bytes, void *on) {
  return (int)RUNTIME(MemsetAsync)(at, 0, bytes, on);
}

static int transfer(void *to, const void *from, size_t bytes, void *on) {
  return (int)RUNTIME(MemcpyAsync)(to, from, bytes, RUNTIME(MemcpyDefault), on);
}
static int transfer_columns(void *to, const void *from, size_t pitch, size_t bytes, size_t columns,
                            void *on) {
  return (int)RUNTIME(Memcpy2DAsync)(to, pitch, from, pitch, bytes, columns, RUNTIME(MemcpyDefault), on);
}
static int finish(void *on) {
  return (int)RUNTIME(StreamSynchronize)(on);
}

static int select_device(int device) {
  return (int)RUNTIME(SetDevice)(device);
}
static int allocate(void **at, size_t bytes) {
  return (int)RUNTIME(Malloc)(at, bytes);
}
static void release(void *at) {
  (void)RUNTIME(Free)(at);
}
static int map(void *host, size_t bytes, void **at) {
  const int code = (int)RUNTIME(HostRegister)(host, bytes, RUNTIME(HostRegisterMapped));
  return code != 0 ? code : (int)RUNTIME(HostGetDevicePointer)(at, host, 0);
}
static void unmap(void *host) {
  (void)RUNTIME(HostUnregister)(host);
}
/* HIP before 5.7 declares the attribute but returns no value: then additions do not count as atomic. */
static int adds(int device, bool *adds) {
  int value = 0;
  int code = (int)RUNTIME(DeviceGetAttribute)(&value, RUNTIME_ADDS, device);
  *adds = code == 0 && value != 0;
  if (code != (int)RUNTIME(ErrorInvalidValue)) return code;
  (void)RUNTIME(GetLastError)(); /* else the next launch reports it */
  return 0;
}
static int busy(void *on, bool *busy) {
  const int code = (int)RUNTIME(StreamQuery)(on);
  *busy = code == (int)RUNTIME(ErrorNotReady);
  return *busy ? 0 : code;
}

const tsi_device_driver tsi_devices = {
    .name = RUNTIME_NAME,
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
    .launch = {tsi_gpu_launch_s, tsi_gpu_launch_d, tsi_gpu_launch_c, tsi_gpu_launch_z},
    .blocks = {tsi_gpu_blocks_s, tsi_gpu_blocks_d, tsi_gpu_blocks_c, tsi_gpu_blocks_z},
    .lanes = lanes,
    .rows = {tsi_gpu_rows_launch_s, tsi_gpu_rows_launch_d, tsi_gpu_rows_launch_c, tsi_gpu_rows_launch_z},
    .rows_blocks = {tsi_gpu_rows_blocks_s, tsi_gpu_rows_blocks_d, tsi_gpu_rows_blocks_c,
                    tsi_gpu_rows_blocks_z},
    .products = {tsi_gpu_spmv_launch_s, tsi_gpu_spmv_launch_d, tsi_gpu_spmv_launch_c, tsi_gpu_spmv_launch_z},
    .transfer = transfer,
    .transfer_columns = transfer_columns,
    .finish = finish,
    .select = select_device,
    .allocate = allocate,
    .release = release,
    .map = map,
    .unmap = unmap,
    .adds = adds,
    .busy = busy,
    .program = {tsi_gpu_program_s, tsi_gpu_program_d, tsi_gpu_program_c, tsi_gpu_program_z},
    .spread = {tsi_gpu_spread_s, tsi_gpu_spread_d, tsi_gpu_spread_c, tsi_gpu_spread_z},
#ifdef TSI_DEVICE_BLAS
    .dense = {&dense_s, &dense_d, &dense_c, &dense_z},
#endif
};
