/* Reads the description of a cluster: see cluster.h. */
#include "drivers/session/cluster.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/session/files.h"

static const struct {
  const char *key;
  size_t field;
  bool whole; /* an int, else a double */
} keys[] = {
#define KEY(name, whole)                                                                                     \
  { #name, offsetof(tristar_cluster, name), whole }
    KEY(ranks_per_node, true),
    KEY(cores, true),
    KEY(core_bytes_per_second, false),
    KEY(node_bytes_per_second, false),
    KEY(cache_bytes, false),
    KEY(cached_bytes_per_second, false),
    KEY(flops_per_second, false),
    KEY(step_seconds, false),
    KEY(latency_seconds, false),
    KEY(overhead_seconds, false),
    KEY(bytes_per_second, false),
    KEY(local_latency_seconds, false),
    KEY(local_overhead_seconds, false),
    KEY(local_bytes_per_second, false),
    KEY(dense_flops_per_second, false),
    KEY(by_priority, true),
    KEY(drawn, true),
    KEY(process_bytes_per_second, false),
    KEY(panel_seconds, false),
    KEY(gpu_chunks, true),
#undef KEY
};
#define KEYS (sizeof keys / sizeof *keys)

/* False: there is no such key, or its value is not a number in its range. */
static bool take_number(const cJSON *item, tristar_cluster *model) {
  for (size_t k = 0; k < KEYS; k++) {
    if (strcmp(item->string, keys[k].key) != 0) continue;
    const double value = item->valuedouble;
    const int whole = value >= 0 && value <= 1 << 20 ? (int)value : -1;
    if (!cJSON_IsNumber(item) || (keys[k].whole && (whole < 0 || (double)whole < value))) return false;
    char *field = (char *)model + keys[k].field;
    if (keys[k].whole)
      memcpy(field, &whole, sizeof whole);
    else
      memcpy(field, &value, sizeof value);
    return true;
  }
  return false;
}

static const struct {
  const char *word;
  int numbers; /* of its shape */
} topologies[] = {{"none", 0}, {"crossbar", 0}, {"fat_tree", 2}, {"dragonfly", 3}};

/* "topology": a word, or a list of a word and the numbers of its shape. */
static bool take_topology(const cJSON *item, tsi_cluster *cluster) {
  const bool list = cJSON_IsArray(item);
  const cJSON *word = list ? cJSON_GetArrayItem(item, 0) : item;
  for (int k = 0; cJSON_IsString(word) && k < 4; k++) {
    if (strcmp(word->valuestring, topologies[k].word) != 0) continue;
    if ((list ? cJSON_GetArraySize(item) - 1 : 0) != topologies[k].numbers) return false;
    for (int i = 0; i < topologies[k].numbers; i++) {
      const cJSON *number = cJSON_GetArrayItem(item, i + 1);
      if (!cJSON_IsNumber(number) || number->valueint < 1 || number->valueint > 1 << 16) return false;
      cluster->shape[i] = number->valueint;
    }
    cluster->topology = (tsi_topology)k;
    return true;
  }
  return false;
}

/* "gpu": the fields of that device, before those that the file has. */
static bool take_device(const cJSON *item, tsi_cluster *cluster) {
  const tsi_device *device = cJSON_IsString(item) ? tsi_device_find(item->valuestring) : NULL;
  if (device == NULL) return item == NULL;
  tsi_cluster_of_device(device, cluster);
  return true;
}

void tsi_cluster_of_device(const tsi_device *device, tsi_cluster *cluster) {
  *cluster = (tsi_cluster){.topology = TSI_TOPOLOGY_CROSSBAR, .device = device};
  cluster->model = tsi_device_cluster(device);
  snprintf(cluster->name, sizeof cluster->name, "nodes with %s", device->title);
}

void tsi_cluster_read(const cJSON *object, tsi_cluster *cluster, char *wrong, size_t size) {
  const cJSON *item;
  *wrong = '\0';
  *cluster = (tsi_cluster){.topology = TSI_TOPOLOGY_CROSSBAR};
  tristar_cluster_init(&cluster->model);
  snprintf(cluster->name, sizeof cluster->name, "a common cluster");
  if (object != NULL && !cJSON_IsObject(object)) snprintf(wrong, size, "not an object");
  if (*wrong == '\0' && !take_device(cJSON_GetObjectItemCaseSensitive(object, "gpu"), cluster))
    snprintf(wrong, size, "gpu: not one of the names of tristar info --gpu");
  cJSON_ArrayForEach(item, object) {
    if (*wrong != '\0') return;
    if (strcmp(item->string, "name") == 0 && cJSON_IsString(item))
      snprintf(cluster->name, sizeof cluster->name, "%s", item->valuestring);
    else if ((strcmp(item->string, "source") == 0 && cJSON_IsString(item)) ||
             strcmp(item->string, "gpu") == 0)
      continue;
    else if (strcmp(item->string, "topology") == 0 ? !take_topology(item, cluster)
                                                   : !take_number(item, &cluster->model))
      snprintf(wrong, size, "%.60s: an unknown key, or a value out of its range", item->string);
  }
}

cJSON *tsi_cluster_json(const tsi_cluster *cluster) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", cluster->name);
  cJSON *shape =
      cluster->topology >= TSI_TOPOLOGY_FAT_TREE ? cJSON_AddArrayToObject(object, "topology") : NULL;
  const char *word = topologies[cluster->topology].word;
  if (shape == NULL) cJSON_AddStringToObject(object, "topology", word);
  if (shape != NULL) cJSON_AddItemToArray(shape, cJSON_CreateString(word));
  for (int i = 0; shape != NULL && i < topologies[cluster->topology].numbers; i++)
    cJSON_AddItemToArray(shape, cJSON_CreateNumber(cluster->shape[i]));
  for (size_t k = 0; k < KEYS; k++) {
    const char *field = (const char *)&cluster->model + keys[k].field;
    double value;
    int whole;
    memcpy(&whole, field, sizeof whole);
    if (!keys[k].whole) memcpy(&value, field, sizeof value);
    cJSON_AddNumberToObject(object, keys[k].key, keys[k].whole ? whole : value);
  }
  return object;
}

bool tsi_cluster_find(const char *name, char *path, size_t size) {
  static const char *const folders[] = {"tools/machines", TSI_MACHINES_FOLDER};
  char program[PATH_MAX], way[PATH_MAX];
  if (strchr(name, '/') != NULL || !tsi_own_path(program, sizeof program)) return false;
  for (size_t k = 0; k < sizeof folders / sizeof *folders; k++)
    if ((size_t)snprintf(way, sizeof way, "%s/%s.json", folders[k], name) < sizeof way &&
        tsi_relative_to_program(program, way, path, size) && access(path, R_OK) == 0)
      return true;
  return false;
}

void tsi_cluster_of_calibration(const tristar_calibration *c, tsi_cluster *cluster) {
  tristar_cluster *model = &cluster->model;
  const double share = c->l3_cores > 0 ? (double)c->l3_bytes / c->l3_cores : 0;
  tsi_cluster_read(NULL, cluster, (char[1]){""}, 1);
  snprintf(cluster->name, sizeof cluster->name, "this machine");
  if (c->cores > 0) model->ranks_per_node = c->cores;
  model->core_bytes_per_second = 1e9 * c->read_gbps_one;
  model->node_bytes_per_second = 1e9 * (c->read_gbps_all > 0 ? c->read_gbps_all : c->read_gbps_one);
  if (c->l2_bytes > 0) model->cache_bytes = (double)c->l2_bytes + share;
  if (model->cached_bytes_per_second < model->core_bytes_per_second)
    model->cached_bytes_per_second = model->core_bytes_per_second;
  if (c->multiply_gflops_one > 0) model->dense_flops_per_second = 1e9 * c->multiply_gflops_one;
}
