/* See placed_products.h. */
#include "runtime/iterate/precond/placed_products.h"

#include "codelets/gpu/tables/spmv_launch.h"
#include "runtime/base/threads.h"
#include "runtime/exec/starpu/device_data.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/exec/starpu/tasks.h"
#include "runtime/machine/predict.h"
#include "runtime/solve/device_choice.h"

enum { PTR, INDEX, VALUES, FROM, TO, USES }; /* handles of a task, in their order */

struct tsi_placed_products {
  tsi_env *env;
  pthread_mutex_t lock;
  char scalar;
  size_t scalar_bytes;
  tsi_index n, columns;
  tsi_matrix_rows matrix[TSI_PLACED_PRODUCTS];
  tsi_device_data *read[TSI_PLACED_PRODUCTS][FROM];
  void *in, *out;                   /* n x columns each */
  tsi_device_data *b, *between, *x; /* for `in`; stored on the device only; for `out` */
  tsi_task_data task[TSI_PLACED_PRODUCTS];
};

/* The argument of a task. */
typedef struct product {
  const tsi_placed_products *of;
  int matrix;
  tsi_index columns;
} product;

static tsi_count entries_of(const tsi_placed_products *p, int k) {
  return p->matrix[k].ptr[p->n];
}

/* ---- Choice -------------------------------------------------------------------------------------------- */

static double matrix_bytes(const tsi_placed_products *p) {
  double bytes = 0;
  for (int k = 0; k < TSI_PLACED_PRODUCTS; k++)
    bytes += (double)entries_of(p, k) * (double)(p->scalar_bytes + sizeof(tsi_index)) +
             ((double)p->n + 1) * (double)sizeof(tsi_count);
  return bytes;
}

static double column_bytes(const tsi_placed_products *p) {
  return (double)p->n * (double)p->columns * (double)p->scalar_bytes;
}

/* Is an application with one right-hand side predicted to be faster on the device, including the transfers of
 * b and x? */
static bool is_worth(tristar_t *ts, const tsi_placed_products *p, const tsi_device_facts *facts) {
  const tsi_device *device = tsi_device_named(facts->name);
  const tsi_costs cores = tsi_costs_assumed(&ts->machine, tsi_starpu_cpu_workers());
  const double bus = (double)p->n * (double)p->scalar_bytes / (TSI_DEVICE_BUS_REACHED * device->bus);
  const double seconds = TSI_PLACED_PRODUCTS * (TSI_DEVICE_TASK_SECONDS + TSI_DEVICE_HANDOVER_SECONDS) +
                         matrix_bytes(p) / tsi_device_costs_of(device).bandwidth +
                         2 * (TSI_DEVICE_BUS_SECONDS + bus);
  return seconds < matrix_bytes(p) / cores.all;
}

static tristar_status check_memory(const tsi_placed_products *p, const tristar_precond_options *options,
                                   const tsi_device_facts *facts) {
  const double needed = matrix_bytes(p) + 3 * column_bytes(p),
               space = tsi_device_space(options->device_bytes, facts);
  if (space > 0 && needed > space)
    TSI_FAIL(p->env, TRISTAR_ERR_MEMORY,
             "products on a device: it has room for %.3g bytes, the factors need %.3g", space, needed);
  return TRISTAR_OK;
}

static const char *find_obstacle(const tristar_t *ts, const tristar_precond_options *options) {
  if (options->engine == TRISTAR_ENGINE_SERIAL || !ts->workers.allowed) return "there are no tasks";
  if (tsi_devices_obstacle()) return tsi_devices_obstacle();
  return tsi_devices.products[0] ? NULL : "these devices have no kernels of products";
}

/* *worth: the products are to run on a device. */
static tristar_status choose(tristar_t *ts, const tristar_precond_options *options,
                             const tsi_placed_products *p, bool *worth) {
  const bool demanded = options->place == TRISTAR_PLACE_GPU;
  int devices;
  *worth = false;
  if (p->n == 0) return TRISTAR_OK;
  TSI_TRY(tsi_devices_for(ts, options->place, find_obstacle(ts, options), NULL, &devices));
  if (devices == 0) return TRISTAR_OK;
  const tsi_device_facts facts = tsi_device_describe(0);
  if (!demanded && !is_worth(ts, p, &facts)) return TRISTAR_OK;
  const tristar_status status = check_memory(p, options, &facts);
  *worth = status == TRISTAR_OK;
  if (status == TRISTAR_OK || demanded) return status;
  tsi_log(&ts->env, TRISTAR_LOG_WARNING, "PLACE_AUTO: products are on the cores: %s",
          tsi_error_text(&ts->env));
  return TRISTAR_OK;
}

/* ---- Life ---------------------------------------------------------------------------------------------- */

static tristar_status register_matrix(tsi_placed_products *p, int k) {
  const tsi_matrix_rows *a = &p->matrix[k];
  const size_t entries = (size_t)tsi_count_max(1, entries_of(p, k));
  TSI_TRY(tsi_device_data_create(p->env, (void *)(uintptr_t)a->ptr, ((size_t)p->n + 1) * sizeof *a->ptr,
                                 &p->read[k][PTR]));
  TSI_TRY(tsi_device_data_create(p->env, (void *)(uintptr_t)a->index, entries * sizeof *a->index,
                                 &p->read[k][INDEX]));
  return tsi_device_data_create(p->env, (void *)(uintptr_t)a->values, entries * p->scalar_bytes,
                                &p->read[k][VALUES]);
}

static tristar_status register_vectors(tsi_placed_products *p) {
  const size_t count = (size_t)p->n * (size_t)p->columns, bytes = count * p->scalar_bytes;
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(p->env, p->in, count, p->scalar_bytes));
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(p->env, p->out, count, p->scalar_bytes));
  TSI_TRY(tsi_device_data_create(p->env, p->in, bytes, &p->b));
  TSI_TRY(tsi_device_data_create(p->env, NULL, bytes, &p->between));
  return tsi_device_data_create(p->env, p->out, bytes, &p->x);
}

static void describe(tsi_placed_products *p) {
  tsi_device_data *const vector[] = {p->b, p->between, p->x};
  for (int k = 0; k < TSI_PLACED_PRODUCTS; k++) {
    tsi_task_data *task = &p->task[k];
    *task = (tsi_task_data){.device = 0, .microseconds = 1e6 * TSI_DEVICE_TASK_SECONDS, .count = USES};
    for (int r = PTR; r < FROM; r++) task->use[r] = (tsi_task_use){p->read[k][r], TSI_USE_R};
    task->use[FROM] = (tsi_task_use){vector[k], TSI_USE_R};
    task->use[TO] = (tsi_task_use){vector[k + 1], TSI_USE_W};
  }
}

tristar_status tsi_placed_products_create(tristar_t *ts, const tristar_precond_options *options, char scalar,
                                          size_t scalar_bytes, tsi_index n, tsi_index columns,
                                          const tsi_matrix_rows matrix[TSI_PLACED_PRODUCTS],
                                          tsi_placed_products **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tsi_placed_products *p = NULL;
  bool worth;
  *out = NULL;
  tsi_placed_products wish = {.env = env, .scalar = scalar, .scalar_bytes = scalar_bytes, .n = n};
  wish.columns = columns;
  for (int k = 0; k < TSI_PLACED_PRODUCTS; k++) wish.matrix[k] = matrix[k];
  TSI_TRY_OUT(choose(ts, options, &wish, &worth));
  if (!worth) goto out;
  TSI_TRY_OUT(TSI_ALLOC(env, p, 1));
  *p = wish;
  status = tsi_mutex_init(env, &p->lock);
  if (status != TRISTAR_OK) {
    TSI_FREE(env, p);
    goto out;
  }
  for (int k = 0; k < TSI_PLACED_PRODUCTS; k++) TSI_TRY_OUT(register_matrix(p, k));
  TSI_TRY_OUT(register_vectors(p));
  describe(p);
out:
  if (status != TRISTAR_OK) tsi_placed_products_destroy(&p);
  *out = p;
  return status;
}

void tsi_placed_products_destroy(tsi_placed_products **products) {
  tsi_placed_products *p = *products;
  if (p == NULL) return;
  for (int k = 0; k < TSI_PLACED_PRODUCTS; k++)
    for (int r = PTR; r < FROM; r++) tsi_device_data_destroy(&p->read[k][r]);
  tsi_device_data_destroy(&p->b);
  tsi_device_data_destroy(&p->between);
  tsi_device_data_destroy(&p->x);
  TSI_FREE(p->env, p->in);
  TSI_FREE(p->env, p->out);
  pthread_mutex_destroy(&p->lock);
  TSI_FREE(p->env, *products);
}

/* ---- Products ------------------------------------------------------------------------------------------ */

static int start_product(void *arg, void *const memory[]) {
  const product *one = arg;
  const tsi_placed_products *p = one->of;
  const tsi_gpu_spmv spmv = {.a = {memory[PTR], memory[INDEX], memory[VALUES]},
                             .rows = p->n,
                             .threads = tsi_gpu_spmv_threads(p->n, entries_of(p, one->matrix)),
                             .nrhs = one->columns,
                             .x = memory[FROM],
                             .x_row = 1,
                             .x_column = p->n,
                             .y = memory[TO],
                             .y_row = 1,
                             .y_column = p->n,
                             .alpha = {1, 0}};
  const int64_t rows = TSI_GPU_THREADS / spmv.threads, blocks = (p->n + rows - 1) / rows;
  const int type = (int)(strchr("sdcz", p->scalar) - "sdcz");
  return tsi_devices.products[type](&spmv, (unsigned)tsi_count_min(blocks, TSI_DEVICE_PRODUCT_BLOCKS),
                                    TSI_GPU_THREADS, tsi_devices.stream());
}

static void copy_columns(const tsi_placed_products *p, tsi_index columns, const void *from, int64_t ldf,
                         void *to, int64_t ldt) {
  for (tsi_index c = 0; c < columns; c++)
    memcpy((char *)to + (size_t)(c * ldt) * p->scalar_bytes,
           (const char *)from + (size_t)(c * ldf) * p->scalar_bytes, (size_t)p->n * p->scalar_bytes);
}

/* Must be called with the lock held. */
static tristar_status multiply(tsi_placed_products *p, tsi_index columns, const void *b, int64_t ldb, void *x,
                               int64_t ldx) {
  TSI_TRY(tsi_device_data_renew(p->env, p->b));
  copy_columns(p, columns, b, ldb, p->in, p->n);
  for (int k = 0; k < TSI_PLACED_PRODUCTS; k++)
    TSI_TRY(tsi_device_task_alone(p->env, &p->task[k], start_product, &(product){p, k, columns}));
  TSI_TRY(tsi_device_data_fetch(p->env, p->x));
  copy_columns(p, columns, p->out, p->n, x, ldx);
  return TRISTAR_OK;
}

tristar_status tsi_placed_products_multiply(tsi_placed_products *p, int64_t nrhs, const void *b, int64_t ldb,
                                            void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  if (!tsi_tasks_may_wait())
    TSI_FAIL(p->env, TRISTAR_ERR_UNSUPPORTED, "a StarPU task cannot wait for products on a device");
  pthread_mutex_lock(&p->lock);
  for (int64_t c = 0; c < nrhs && status == TRISTAR_OK; c += p->columns)
    status = multiply(p, (tsi_index)tsi_count_min(p->columns, nrhs - c),
                      (const char *)b + (size_t)(c * ldb) * p->scalar_bytes, ldb,
                      (char *)x + (size_t)(c * ldx) * p->scalar_bytes, ldx);
  pthread_mutex_unlock(&p->lock);
  return status;
}
