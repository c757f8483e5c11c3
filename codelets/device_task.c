/* See device_task.h. */
#include "codelets/device_task.h"

#include <string.h>

void tsi_device_task_run(void *buffers[], void *cl_arg) {
  const tsi_device_task *body = cl_arg;
  const int count = (int)STARPU_TASK_GET_NBUFFERS(starpu_task_get_current());
  void *memory[TSI_TASK_HANDLES];
  for (int k = 0; k < count; k++) memory[k] = (void *)STARPU_VARIABLE_GET_PTR(buffers[k]);
  body->run(body->arg, memory, starpu_worker_get_id());
}

static double estimate_on_device(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                                 unsigned implementation) {
  const tsi_device_task *body = task->cl_arg;
  (void)arch;
  (void)implementation;
  return body->microseconds * tsi_time_of_columns(atomic_load_explicit(body->columns, memory_order_relaxed));
}
static struct starpu_perfmodel device_model = {
    .type = STARPU_PER_ARCH, .arch_cost_function = estimate_on_device, .symbol = "tristar_device"};

void tsi_device_codelet_init(struct starpu_codelet *codelet) {
  starpu_codelet_init(codelet);
  codelet->nbuffers = STARPU_VARIABLE_NBUFFERS;
  codelet->model = &device_model;
  codelet->name = "tristar_device";
  codelet->flags = TSI_CODELET_FLAGS;
}

static void run_on_host(void *buffers[], void *cl_arg) {
  const tsi_host_task *body = cl_arg;
  (void)buffers;
  body->run(body->arg, starpu_worker_get_id());
}

static double estimate_on_host(struct starpu_task *task, unsigned implementation) {
  (void)implementation;
  return ((const tsi_host_task *)task->cl_arg)->microseconds;
}
static struct starpu_perfmodel host_model = {
    .type = STARPU_COMMON, .cost_function = estimate_on_host, .symbol = "tristar_moved"};

/* The data is used in main memory where it was registered, even by a worker that StarPU assigns to another
 * memory node (STARPU_USE_NUMA=1). */
static struct starpu_codelet moved_codelet = {.cpu_funcs = {run_on_host},
                                              .cpu_funcs_name = {"run_on_host"},
                                              .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                              .specific_nodes = 1,
                                              .nodes = {STARPU_MAIN_RAM},
                                              .model = &host_model,
                                              .flags = TSI_CODELET_FLAGS,
                                              .name = "tristar_moved"};

void tsi_host_task_use_handles(struct starpu_task *task) {
  task->cl = &moved_codelet;
  task->sequential_consistency = 0;
}

void tsi_device_task_init(struct starpu_task *task, struct starpu_codelet *codelet, tsi_device_task *body,
                          const char *name, int priority, int worker) {
  starpu_task_init(task);
  task->cl = codelet;
  task->cl_arg = body;
  task->name = name;
  task->priority = priority;
  task->destroy = 0;
  task->detach = 0;
  task->use_tag = 0;
  task->sequential_consistency = 0;
  task->execute_on_a_specific_worker = 1;
  task->workerid = (unsigned)worker;
}

void tsi_task_add_handle(struct starpu_task *task, starpu_data_handle_t handle,
                         enum starpu_data_access_mode mode) {
  task->handles[task->nbuffers] = handle;
  task->modes[task->nbuffers++] = mode;
}
