/* The devices of a build: what is asked of CUDA, of HIP, or of what stands in for them.
 *
 * One of several files has tsi_devices; the build, or the program that links the library, chooses which.
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
  const char *name; /* NULL: the build has none, and all below is not there */
  bool simulated; /* tasks on devices compute on the host: of what is below only workers and use are there */
  /* Devices of the node, without StarPU; and which of them a StarPU to be started with *conf is to use. */
  int (*present)(void);
  void (*choose)(struct starpu_conf *conf, int first, int count);
  /* The workers of devices, at most `most`, and how many these are. StarPU runs. */
  int (*workers)(int *worker, int most);
  /* Tasks of the codelet run on devices, by this function. */
  void (*use)(struct starpu_codelet *codelet, void (*run)(void *buffers[], void *cl_arg));
  /* The number that the device's runtime gives the device of a worker; and the device that has this memory,
   * -1 if none has. */
  int (*number)(int worker);
  int (*owner)(const void *at);
  /* Waits for a stream of the program on that device. Returns 0, or the error number of the device's runtime.
   */
  int (*wait)(int device, void *stream);
  void *(*stream)(void); /* of the calling worker */
  /* On a stream. Return 0, or the error number of the device's runtime. */
  int (*copy)(void *to, const void *from, size_t bytes, void *stream);
  int (*clear)(void *at, size_t bytes, void *stream);
  tsi_gpu_launch *launch[4]; /* s, d, c, z */
  tsi_gpu_blocks *blocks[4];
  /* ---- Triangles by rows ---- */
  int (*lanes)(int device);     /* lanes of a warp of a device, by its number among the workers */
  tsi_gpu_rows_launch *rows[4]; /* NULL: there are no kernels of rows */
  tsi_gpu_rows_blocks *rows_blocks[4];
  tsi_gpu_spmv_launch *products[4]; /* of a sparse matrix by rows; NULL: there are none */
  /* ---- For factorizations, by a worker of a device ---- */
  /* Between main memory and its device: bytes, and columns of so many bytes each, on a stream. */
  int (*transfer)(void *to, const void *from, size_t bytes, void *stream);
  int (*transfer_columns)(void *to, const void *from, size_t pitch, size_t bytes, size_t columns,
                          void *stream);
  int (*finish)(void *stream);   /* waits for the stream; its error is told here */
  const tsi_gpu_dense *dense[4]; /* NULL: the build has no BLAS for devices, nor what stands above */
  /* ---- For distributed solves on one device, without StarPU ---- */
  int (*select)(int device);                /* for the calling thread: that of the following calls */
  int (*allocate)(void **at, size_t bytes); /* memory of the device */
  void (*release)(void *at);                /* accepts NULL */
  int (*map)(void *host, size_t bytes,
             void **at); /* the device reads and writes memory of the host from here */
  void (*unmap)(void *host);
  int (*adds)(int device, bool *adds);   /* are its additions to such memory atomic for all devices? */
  int (*busy)(void *stream, bool *busy); /* has the stream work left? Returns its error */
  tsi_gpu_program_launch *program[4];    /* s, d, c, z; blocks 0: as many as are resident */
  tsi_gpu_spread_launch *spread[4];      /* the same of triangles */
} tsi_device_driver;

extern const tsi_device_driver tsi_devices;

#define TSI_DEVICES_MOST 64
/* Why this build has no devices; NULL: it has. */
const char *tsi_devices_obstacle(void);
/* Devices that StarPU has workers for; worker: TSI_DEVICES_MOST, or NULL. */
int tsi_devices_count(int *worker);

/* What StarPU knows of a device. */
typedef struct tsi_device_facts {
  char name[64]; /* of its worker, which tells the make of the device */
  int worker;
  double memory;   /* bytes that StarPU may use; 0: unknown */
  double up, down; /* bytes a second of its bus, to it and back, as StarPU has measured them; 0: unknown */
  double seconds;  /* that a transfer to it takes beside; 0: unknown */
} tsi_device_facts;
/* Of device 0 ..; StarPU runs, and has it. */
tsi_device_facts tsi_device_describe(int device);
