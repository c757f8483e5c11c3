/* See scotch_call.h. */
#include "partition/order/scotch_call.h"

#include "tristar_machine.h"

#ifndef TSI_HAVE_SCOTCH

const char *tristar_scotch_version(void) {
  return NULL;
}

tristar_status tsi_scotch_need(tsi_env *env) {
  TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
           "this library was built without Scotch (CMake: TRISTAR_WITH_SCOTCH; Debian: libscotch-dev)");
}

tristar_status tsi_scotch_order(tsi_env *env, int64_t n, const void *xadj, const void *adj, int bits,
                                int seed, void *perm) {
  (void)n, (void)xadj, (void)adj, (void)bits, (void)seed, (void)perm;
  return tsi_scotch_need(env);
}

#else

#include <inttypes.h>
#include <stdio.h> /* scotch.h needs it */

#include <scotch.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const char *tristar_scotch_version(void) {
  return TEXT(SCOTCH_VERSION) "." TEXT(SCOTCH_RELEASE) "." TEXT(SCOTCH_PATCHLEVEL);
}

tristar_status tsi_scotch_need(tsi_env *env) {
  (void)env;
  return TRISTAR_OK;
}

static int64_t integer(const void *array, int bits, int64_t k) {
  return bits == 32 ? ((const int32_t *)array)[k] : ((const int64_t *)array)[k];
}

/* The graph with Scotch's integers. */
typedef struct arrays {
  SCOTCH_Num n, *ptr, *adj, *place;
} arrays;

/* The strategy. With Scotch's default, factors of grids need 1.2 to 2 times the operations that they need
 * with METIS; with this one 0.7 to 1.2 times. The better of two separators is taken: of a multilevel method
 * with refinement in a band, and of region growing in the whole graph. Parts of up to 80 vertices are ordered
 * by minimum degree. */
#define REFINE "f{bal=0.2}"
#define MULTILEVEL "(m{rat=0.7,vert=100,low=h{pass=10},asc=b{width=3,bnd=" REFINE ",org=" REFINE "}})"
#define STRATEGY                                                                                             \
  "n{sep=/(vert>80)?" MULTILEVEL "|(g{pass=10}" REFINE ");,ole=d{cmin=0,cmax=100000,frat=0.0},ose=g}"

static int order_bound(SCOTCH_Graph *graph, arrays *a) {
  SCOTCH_Strat strategy;
  if (SCOTCH_stratInit(&strategy) != 0) return 1;
  int code = SCOTCH_stratGraphOrder(&strategy, STRATEGY);
  if (code == 0) code = SCOTCH_graphOrder(graph, &strategy, NULL, a->place, NULL, NULL, NULL);
  SCOTCH_stratExit(&strategy);
  return code;
}

/* Orders the graph bound to the context. */
static int order_in(SCOTCH_Context *context, arrays *a) {
  SCOTCH_Graph graph, bound;
  if (SCOTCH_graphInit(&graph) != 0) return 1;
  int code = SCOTCH_graphBuild(&graph, 0, a->n, a->ptr, NULL, NULL, NULL, a->ptr[a->n], a->adj, NULL);
  if (code == 0 && SCOTCH_graphInit(&bound) == 0) {
    code = SCOTCH_contextBindGraph(context, &graph, &bound);
    if (code == 0) code = order_bound(&bound, a);
    SCOTCH_graphExit(&bound);
  }
  SCOTCH_graphExit(&graph);
  return code;
}

/* A context with one thread, and with random numbers that begin with the seed. */
static int order(int seed, arrays *a) {
  SCOTCH_Context context;
  if (SCOTCH_contextInit(&context) != 0) return 1;
  int code = SCOTCH_contextThreadSpawn(&context, 1, NULL);
  if (code == 0) code = SCOTCH_contextRandomClone(&context);
  if (code == 0) {
    SCOTCH_contextRandomSeed(&context, seed);
    SCOTCH_contextRandomReset(&context);
    code = SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1);
  }
  if (code == 0) code = order_in(&context, a);
  SCOTCH_contextExit(&context);
  return code;
}

tristar_status tsi_scotch_order(tsi_env *env, int64_t n, const void *xadj, const void *adj, int bits,
                                int seed, void *perm) {
  const int64_t edges = integer(xadj, bits, n);
  const int64_t most = sizeof(SCOTCH_Num) < sizeof(int64_t) ? INT32_MAX : INT64_MAX;
  if (edges > most || n >= most)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE,
             "Scotch cannot count %" PRId64 " edges with its integers of %zu bytes", edges,
             sizeof(SCOTCH_Num));
  TSI_SCRATCH(env, SCOTCH_Num, ptr, n + 1);
  TSI_SCRATCH(env, SCOTCH_Num, ends, edges);
  TSI_SCRATCH(env, SCOTCH_Num, place, n);
  for (int64_t v = 0; v <= n; v++) ptr[v] = (SCOTCH_Num)integer(xadj, bits, v);
  for (int64_t e = 0; e < edges; e++) ends[e] = (SCOTCH_Num)integer(adj, bits, e);
  arrays a = {(SCOTCH_Num)n, ptr, ends, place};
  const int code = order(seed, &a);
  if (code != 0)
    TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "Scotch failed on %" PRId64 " vertices, %" PRId64 " edges (code %d)",
             n, edges, code);
  for (int64_t k = 0; k < n; k++) {
    if (bits == 32)
      ((int32_t *)perm)[k] = (int32_t)place[k];
    else
      ((int64_t *)perm)[k] = place[k];
  }
  return TRISTAR_OK;
}

#endif
