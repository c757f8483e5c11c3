/* See host_task.h. */
#include "codelets/host_task.h"

#include <string.h>

/* KIND(name, colour, model). Models: FITTED, or CONSTANT if all tasks have one size. Colours: blue: forward;
 * red: backward; green: factorization; purple: messages; grey: the rest. */
#define KINDS(KIND)                                                                                          \
  KIND(task, 0x999999, CONSTANT) /* first: for unknown names */                                              \
  KIND(bundle, 0x6baed6, FITTED)                                                                             \
  KIND(barrier, 0x666666, CONSTANT)                                                                          \
  KIND(empty, 0xcccccc, CONSTANT)                                                                            \
  KIND(help, 0x6baed6, CONSTANT)                                                                             \
  KIND(solve, 0x3690c0, FITTED)                                                                              \
  KIND(forward_chunk, 0x2171b5, FITTED)                                                                      \
  KIND(forward_slice, 0x4292c6, FITTED)                                                                      \
  KIND(forward_push, 0x9ecae1, FITTED)                                                                       \
  KIND(forward_rows, 0x08519c, FITTED)                                                                       \
  KIND(backward_chunk, 0xcb181d, FITTED)                                                                     \
  KIND(backward_slice, 0xef3b2c, FITTED)                                                                     \
  KIND(backward_push, 0xfc9272, FITTED)                                                                      \
  KIND(backward_rows, 0xa50f15, FITTED)                                                                      \
  KIND(read_chunk, 0xc6dbef, FITTED)                                                                         \
  KIND(solve_diagonal, 0xfdd0a2, FITTED)                                                                     \
  KIND(write_chunk, 0xfcbba1, FITTED)                                                                        \
  KIND(arrival, 0xdadaeb, CONSTANT)                                                                          \
  KIND(forward_sum, 0x9e9ac8, FITTED)                                                                        \
  KIND(forward_receive, 0xbcbddc, FITTED)                                                                    \
  KIND(backward_sum, 0x807dba, FITTED)                                                                       \
  KIND(backward_receive, 0x9f97c9, FITTED)                                                                   \
  KIND(exchange, 0x54278f, FITTED)                                                                           \
  KIND(grid_forward, 0x6a51a3, FITTED)                                                                       \
  KIND(grid_backward, 0x3f007d, FITTED)                                                                      \
  KIND(forward_border, 0xdeebf7, CONSTANT)                                                                   \
  KIND(backward_border, 0xfee0d2, FITTED)                                                                    \
  KIND(subtree, 0x006d2c, FITTED)                                                                            \
  KIND(front, 0x238b45, FITTED)                                                                              \
  KIND(front_open, 0xe5f5e0, CONSTANT)                                                                       \
  KIND(front_assemble, 0xc7e9c0, FITTED)                                                                     \
  KIND(front_assembled, 0xedf8e9, CONSTANT)                                                                  \
  KIND(front_diagonal, 0x00441b, FITTED)                                                                     \
  KIND(front_below, 0x41ab5d, FITTED)                                                                        \
  KIND(front_right, 0x66c2a4, FITTED)                                                                        \
  KIND(front_schur, 0x74c476, FITTED)                                                                        \
  KIND(front_device, 0x005a32, FITTED)                                                                       \
  KIND(front_pack, 0xa1d99b, FITTED)                                                                         \
  KIND(front_close, 0xf7fcf5, CONSTANT)                                                                      \
  KIND(incomplete_rows, 0xa1c181, FITTED)                                                                    \
  KIND(krylov_rows, 0x737373, CONSTANT)                                                                      \
  KIND(matrix_rows, 0x525252, CONSTANT)                                                                      \
  KIND(inverse_rows, 0x41b6c4, CONSTANT)                                                                     \
  KIND(inverse_products, 0x7fcdbb, CONSTANT)                                                                 \
  KIND(batch_groups, 0x8c6bb1, CONSTANT)

#define NUMBER(kind, colour, model) NUMBER_##kind,
enum { KINDS(NUMBER) KIND_COUNT };

static double effort(const struct starpu_task *task) {
  const tsi_host_task *body = task->cl_arg;
  const int columns = atomic_load_explicit(body->columns, memory_order_relaxed);
  return body->microseconds * tsi_time_of_columns(columns);
}

static double estimate(struct starpu_task *task, unsigned implementation) {
  (void)implementation;
  return effort(task);
}

#ifdef STARPU_SIMGRID
#define FITTED CONSTANT
#else
/* Returns the size of a task: the estimate in nanoseconds; at least 1, because StarPU takes its logarithm. */
static size_t size(struct starpu_task *task, unsigned implementation) {
  (void)implementation;
  return 1 + (size_t)(1e3 * effort(task));
}

#define FITTED .type = STARPU_REGRESSION_BASED, .size_base = size
#endif
#define CONSTANT .type = STARPU_COMMON, .cost_function = estimate
#define MODEL(kind, colour, ...) {__VA_ARGS__, .symbol = "tristar_" #kind},
static struct starpu_perfmodel model[KIND_COUNT] = {KINDS(MODEL)};

static void run_cpu(void *buffers[], void *cl_arg) {
  const tsi_host_task *body = cl_arg;
  (void)buffers;
  body->run(body->arg, starpu_worker_get_id());
}

#define CODELET(kind, colour, ...)                                                                           \
  {.cpu_funcs = {run_cpu},                                                                                   \
   .cpu_funcs_name = {"run_cpu"},                                                                            \
   .nbuffers = 0,                                                                                            \
   .flags = TSI_CODELET_FLAGS,                                                                               \
   .model = &model[NUMBER_##kind],                                                                           \
   .name = "tristar_" #kind,                                                                                 \
   .color = (colour)},
static struct starpu_codelet codelet[KIND_COUNT] = {KINDS(CODELET)};

/* Returns the number of a kind; 0: unknown. */
static int find(const char *name) {
  static const char *const names[KIND_COUNT] = {
#define NAME(kind, colour, model) #kind,
      KINDS(NAME)};
  for (int k = 0; k < KIND_COUNT; k++)
    if (strcmp(name, names[k]) == 0) return k;
  return 0;
}

bool tsi_host_task_exists(const char *name) {
  return find(name) > 0;
}

void tsi_host_task_init(struct starpu_task *task, tsi_host_task *body, const char *name, int priority) {
  const int kind = find(name);
  starpu_task_init(task);
  task->cl = &codelet[kind];
  task->cl_arg = body;
  task->name = name;
  task->color = codelet[kind].color;
  task->priority = priority;
  task->destroy = 0;
  task->detach = 0;
  task->use_tag = 0;
}
