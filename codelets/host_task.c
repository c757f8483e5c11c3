/* See host_task.h. */
#include "codelets/host_task.h"

static double estimate(struct starpu_task *task, unsigned implementation) {
  (void)implementation;
  return ((const tsi_host_task *)task->cl_arg)->microseconds;
}

static struct starpu_perfmodel model = {
    .type = STARPU_COMMON, .cost_function = estimate, .symbol = "tristar_host_task"};

static void run_cpu(void *buffers[], void *cl_arg) {
  const tsi_host_task *body = cl_arg;
  (void)buffers;
  body->run(body->arg, starpu_worker_get_id());
}

static struct starpu_codelet codelet = {.cpu_funcs = {run_cpu},
                                        .cpu_funcs_name = {"run_cpu"},
                                        .nbuffers = 0,
                                        .model = &model,
                                        .name = "tristar_host_task"};

void tsi_host_task_init(struct starpu_task *task, tsi_host_task *body, const char *name, int priority) {
  starpu_task_init(task);
  task->cl = &codelet;
  task->cl_arg = body;
  task->name = name;
  task->priority = priority;
  task->destroy = 0;
  task->detach = 0;
  task->use_tag = 0;
}
