/* The devices of a build: functions of CUDA, of HIP, or of a replacement for tests.
 *
 * One of several files defines tsi_devices; the build, or the program that links the library, chooses it.
 *
 * Reads   StarPU's workers.   Writes  memory of devices. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "codelets/gpu/tables/dense.h"
#include "codelets/gpu/tables/launch.h"
#include "codelets/gpu/tables/program_launch.h"
#include "codelets/gpu/tables/rows_launch.h"
#include "codelets/gpu/tables/spread_launch.h"
#include "codelets/gpu/tables/spmv_launch.h"

struct starpu_codelet;
struct starpu_conf;

typedef struct tsi_device_driver {
  const char *name; /* NULL: the build has no devices; other fields are NULL */
  bool simulated;   /* tasks compute on the host: only workers and use are set below */
  /* Number of devices of the node, without StarPU. Chooses the devices for a StarPU that will be started with
   * *conf. */
  int (*present)(void);
  void (*choose)(struct starpu_conf *conf, int first, int count);
  /* Lists the workers of devices, at most `most`, and returns their number. StarPU runs. */
  int (*workers)(int *worker, int most);
  /* Lets tasks of the codelet run on devices, by this function. */
  void (*use)(struct starpu_codelet *codelet, void (*run)(void *buffers[], void *cl_arg));
  /* The number of a worker's device in the device's runtime. The device that has this memory; -1: none has.
   */
  int (*number)(int worker);
  int (*owner)(const void *at);
  /* Waits for a stream of the program on that device. Returns 0, or the error number of the device's runtime.
   */
  int (*wait)(int device, void *stream);
  void *(*stream)(void); /* stream of the calling worker */
  /* Work on a stream. They return 0, or the error number of the device's runtime. */
  int (*copy)(void *to, const void *from, size_t bytes, void *stream);
  int (*clear)(void *at, size_t bytes, void *stream);
  tsi_gpu_launch *launch[4]; /* s, d, c, z */
  tsi_gpu_blocks *blocks[4];
  /* ---- Triangles by rows ---- */
  int (*lanes)(int device);     /* lanes of a warp of a device, given by its number among the workers */
  tsi_gpu_rows_launch *rows[4]; /* NULL: there are no kernels for rows */
  tsi_gpu_rows_blocks *rows_blocks[4];
  tsi_gpu_spmv_launch *products[4]; /* with a sparse matrix by rows; NULL: there are none */
  /* ---- For factorizations, by a worker of a device ---- */
  /* Copy between main memory and its device, on a stream: bytes, or columns of `bytes` bytes each. */
  int (*transfer)(void *to, const void *from, size_t bytes, void *stream);
  int (*transfer_columns)(void *to, const void *from, size_t pitch, size_t bytes, size_t columns,
                          void *stream);
  int (*finish)(void *stream);   /* waits for the stream, and returns its error */
  const tsi_gpu_dense *dense[4]; /* NULL: the build has no BLAS for devices, or no devices */
  /* ---- For distributed solves on one device, without StarPU ---- */
  int (*select)(int device);                /* selects the device of the following calls of this thread */
  int (*allocate)(void **at, size_t bytes); /* memory of the device */
  void (*release)(void *at);                /* accepts NULL */
  int (*map)(void *host, size_t bytes,
             void **at); /* *at: the address at which the device accesses memory of the host */
  void (*unmap)(void *host);
  int (*adds)(int device, bool *adds);   /* *adds: its additions to such memory are atomic for all devices */
  int (*busy)(void *stream, bool *busy); /* *busy: the stream has unfinished work. Returns its error */
  tsi_gpu_program_launch *program[4];    /* s, d, c, z; blocks 0: as many as are resident */
  tsi_gpu_spread_launch *spread[4];      /* the same for triangles */
} tsi_device_driver;

extern const tsi_device_driver tsi_devices;

#define TSI_DEVICES_MOST 64
/* The reason why this build has no devices; NULL: it has devices. */
const char *tsi_devices_obstacle(void);
/* Number of devices that have StarPU workers; worker: TSI_DEVICES_MOST, or NULL. */
int tsi_devices_count(int *worker);

/* Properties of a device, from StarPU. */
typedef struct tsi_device_facts {
  char name[64]; /* name of its worker, with the model of the device */
  int worker;
  double memory;   /* bytes of memory that StarPU may use; 0: unknown */
  double up, down; /* measured bandwidth of its bus to it and back, bytes per second; 0: unknown */
  double seconds;  /* latency of a transfer to it; 0: unknown */
} tsi_device_facts;
/* Properties of a device, numbered from 0. StarPU runs, and has this device. */
tsi_device_facts tsi_device_describe(int device);
