/* See devices.h. */
#include "runtime/machine/devices.h"

#include <string.h>

/* A board with two dies counts as two devices. Nodes: A100 as in Perlmutter (SC 2023: 300 and 12.5 GB/s);
 * H100, H200 in a DGX with ConnectX-7; GH200 with four superchips and Slingshot 11; MI250X as in Frontier, 50
 * GB/s of Infinity Fabric between neighbours, four Slingshot 11 adapters for 8 dies; V100 in a DGX-1 with
 * four EDR adapters, whose links are a cube mesh; V100-SXM3 in a DGX-2 with NVSwitch and eight EDR adapters.
 * The devices of the other nodes count as linked with each other. */
static const tsi_device devices[] = {
    {"A100", "NVIDIA A100 SXM 40 GB", "NVIDIA A100 Tensor Core GPU data sheet (2020)", 108, 1555e9, 0.9, 40e9,
     32e9, 19.5e12, 4, 300e9, 12.5e9, 4},
    {"H100", "NVIDIA H100 SXM 80 GB", "NVIDIA H100 Tensor Core GPU data sheet (2022)", 132, 3350e9, 0.9, 80e9,
     64e9, 67e12, 8, 450e9, 50e9, 8},
    {"GH200", "NVIDIA GH200 96 GB, with NVLink-C2C", "NVIDIA GH200 Grace Hopper Superchip data sheet (2023)",
     132, 4000e9, 0.9, 96e9, 450e9, 67e12, 4, 450e9, 25e9, 4},
    {"H200", "NVIDIA H200 SXM 141 GB", "NVIDIA H200 Tensor Core GPU data sheet (2023)", 132, 4800e9, 0.9,
     141e9, 64e9, 67e12, 8, 450e9, 50e9, 8},
    {"MI250X", "AMD Instinct MI250X 128 GB, one of its two dies",
     "AMD CDNA 2 white paper (2021): half of 220 compute units and of 3277 GB/s", 110, 1638e9, 0.85, 64e9,
     32e9, 47.9e12, 8, 50e9, 12.5e9, 8},
    {"V100-SXM3", "NVIDIA V100-SXM3 32 GB", "NVIDIA DGX-2 data sheet (2018)", 80, 900e9, 0.9, 32e9, 16e9,
     7.8e12, 16, 150e9, 6.25e9, 16},
    {"V100", "NVIDIA V100 SXM2 32 GB", "NVIDIA V100 Tensor Core GPU data sheet (2020)", 80, 900e9, 0.9, 32e9,
     16e9, 7.8e12, 8, 150e9, 6.25e9, 4},
};

/* Blocks of 256 threads, each with its share of registers and shared memory. */
#define BLOCKS_OF_PROCESSOR 2

/* Two or three consecutive accesses to memory, each 0.6 to 0.8 us under load: the ticket; the flags; the
 * gathered rows. The last store and the flag are added. */
#define NODE_SECONDS 3e-6
/* Latency of a panel: four barriers, x and row numbers that wait for each other. Of one warp, without
 * barriers: about one access for which the next one waits. */
#define PANEL_SECONDS 2e-6
#define WARP_SECONDS 1e-6

/* Bytes of a block in flight: 256 threads with 12 loads of 8 bytes, in 0.6 us; of a warp an eighth. */
#define BLOCK_BANDWIDTH 40e9
#define WARP_BANDWIDTH 5e9

const tsi_device *tsi_device_get(int number) {
  return number >= 0 && number < (int)(sizeof devices / sizeof *devices) ? &devices[number] : NULL;
}

const tsi_device *tsi_device_named(const char *text) {
  const tsi_device *device;
  for (int k = 0; (device = tsi_device_get(k)) != NULL; k++)
    if (strstr(text, device->name) != NULL) return device;
  return tsi_device_get(0);
}

const tsi_device *tsi_device_find(const char *name) {
  const tsi_device *device;
  for (int k = 0; (device = tsi_device_get(k)) != NULL; k++)
    if (strcmp(name, device->name) == 0) return device;
  return NULL;
}

tsi_device_costs tsi_device_costs_of(const tsi_device *device) {
  return (tsi_device_costs){.blocks = BLOCKS_OF_PROCESSOR * device->processors,
                            .node_seconds = NODE_SECONDS,
                            .panel_seconds = PANEL_SECONDS,
                            .warp_seconds = WARP_SECONDS,
                            .block_bandwidth = BLOCK_BANDWIDTH,
                            .warp_bandwidth = WARP_BANDWIDTH,
                            .bandwidth = device->reached * device->peak};
}
