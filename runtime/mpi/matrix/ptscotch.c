/* Calls PT-Scotch: see ptscotch.h. */
#include "runtime/mpi/matrix/ptscotch.h"

#include "runtime/mpi/comm/mailbox.h"
#include "tristar_dmatrix_mpi.h"

#ifndef TSI_HAVE_PTSCOTCH

const char *tristar_ptscotch_version(void) {
  return NULL;
}

tristar_status tsi_ptscotch_need(tsi_env *env) {
  TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
           "this library was built without PT-Scotch (CMake: TRISTAR_WITH_PTSCOTCH)");
}

tristar_status tsi_ptscotch_order(tsi_env *env, tsi_transport *transport, const tsi_rows_graph *graph,
                                  int seed, tsi_index *position) {
  (void)transport, (void)graph, (void)seed, (void)position;
  return tsi_ptscotch_need(env);
}

#else

#include <inttypes.h>
#include <stdio.h> /* required by scotch.h */

#include <ptscotch.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const char *tristar_ptscotch_version(void) {
  return TEXT(SCOTCH_VERSION) "." TEXT(SCOTCH_RELEASE) "." TEXT(SCOTCH_PATCHLEVEL);
}

tristar_status tsi_ptscotch_need(tsi_env *env) {
  (void)env;
  return TRISTAR_OK;
}

/* The strategy. For a cube of 16^3, factors are 1.05 times as large as with METIS; with the default strategy
 * of PT-Scotch, 1.6 times. On one process, the separator is the better one of two: from a multilevel method,
 * and from growing regions in the whole graph. On many processes, graphs are coarsened on all of them to
 * 10,000 vertices; each process computes a separator of this graph, which is refined in a band around it. A
 * part on one process is dissected down to 40 vertices, and ordered by minimum degree there. */
#define REFINE "f{bal=0.1}"
#define SEPARATE "((m{rat=0.7,vert=100,low=g{pass=10},asc=" REFINE "})|(g{pass=10}" REFINE "))"
#define ONE "n{sep=/(vert>40)?" SEPARATE ";,ole=d{cmin=0,cmax=100000,frat=0.0},ose=s}"
#define MANY                                                                                                 \
  "m{vert=10000,low=q{strat=" SEPARATE "},asc=b{width=3,strat=q{strat=" REFINE "}},seq=q{strat=" SEPARATE "}}"
#define STRATEGY "n{sep=" MANY ",ole=q{strat=" ONE "},ose=s,osq=" ONE "}"

/* This rank's part of the graph, in PT-Scotch's types. */
typedef struct part {
  SCOTCH_Num n, edges;
  SCOTCH_Num *ptr, *adj, *place;
} part;

/* Collective. Checks that PT-Scotch can count the edges. */
static tristar_status check_count(tsi_env *env, tsi_transport *transport, int64_t edges) {
  const int64_t most = sizeof(SCOTCH_Num) < sizeof(int64_t) ? INT32_MAX : INT64_MAX;
  TSI_TRY(tsi_transport_unite(transport, &edges, 1, MPI_INT64_T, MPI_SUM));
  if (edges > most)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE,
             "PT-Scotch cannot count %" PRId64 " edges with its integers of %zu bytes", edges,
             sizeof(SCOTCH_Num));
  return TRISTAR_OK;
}

/* Local. */
static tristar_status convert(tsi_env *env, const tsi_rows_graph *graph, part *p) {
  p->n = graph->n;
  p->edges = (SCOTCH_Num)graph->ptr[graph->n];
  TSI_TRY(TSI_ALLOC(env, p->ptr, (tsi_count)graph->n + 1));
  TSI_TRY(TSI_ALLOC(env, p->adj, p->edges));
  TSI_TRY(TSI_ALLOC(env, p->place, graph->n));
  for (tsi_index i = 0; i <= graph->n; i++) p->ptr[i] = (SCOTCH_Num)graph->ptr[i];
  for (SCOTCH_Num e = 0; e < p->edges; e++) p->adj[e] = graph->adj[e];
  return TRISTAR_OK;
}

/* Collective. Returns an error code, or zero: the same on all ranks, unless memory is missing. */
static int order_bound(SCOTCH_Dgraph *bound, part *p) {
  SCOTCH_Strat strategy;
  SCOTCH_Dordering ordering;
  if (SCOTCH_stratInit(&strategy) != 0) return 1;
  int code = SCOTCH_stratDgraphOrder(&strategy, STRATEGY);
  if (code == 0) code = SCOTCH_dgraphOrderInit(bound, &ordering);
  if (code == 0) {
    code = SCOTCH_dgraphOrderCompute(bound, &ordering, &strategy);
    if (code == 0) code = SCOTCH_dgraphOrderPerm(bound, &ordering, p->place);
    SCOTCH_dgraphOrderExit(bound, &ordering);
  }
  SCOTCH_stratExit(&strategy);
  return code;
}

/* Collective. The graph is bound to the context. */
static int order_in(SCOTCH_Context *context, MPI_Comm comm, part *p) {
  SCOTCH_Dgraph graph, bound;
  if (SCOTCH_dgraphInit(&graph, comm) != 0) return 1;
  int code = SCOTCH_dgraphBuild(&graph, 0, p->n, p->n, p->ptr, NULL, NULL, NULL, p->edges, p->edges, p->adj,
                                NULL, NULL);
  if (code == 0 && SCOTCH_dgraphInit(&bound, comm) == 0) {
    code = SCOTCH_contextBindDgraph(context, &graph, &bound);
    if (code == 0) code = order_bound(&bound, p);
    SCOTCH_dgraphExit(&bound);
  }
  SCOTCH_dgraphExit(&graph);
  return code;
}

/* Collective. Uses a context with one thread, the seed for random numbers, and the deterministic option. */
static int order(MPI_Comm comm, int seed, part *p) {
  SCOTCH_Context context;
  if (SCOTCH_contextInit(&context) != 0) return 1;
  int code = SCOTCH_contextThreadSpawn(&context, 1, NULL);
  if (code == 0) code = SCOTCH_contextRandomClone(&context);
  if (code == 0) {
    SCOTCH_contextRandomSeed(&context, seed);
    SCOTCH_contextRandomReset(&context);
    code = SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1);
  }
  if (code == 0) code = order_in(&context, comm, p);
  SCOTCH_contextExit(&context);
  return code;
}

tristar_status tsi_ptscotch_order(tsi_env *env, tsi_transport *transport, const tsi_rows_graph *graph,
                                  int seed, tsi_index *position) {
  tristar_status status = TRISTAR_OK;
  part p = {.n = 0};
  TSI_TRY_OUT(check_count(env, transport, graph->ptr[graph->n]));
  TSI_TRY_OUT(tsi_transport_agree(transport, convert(env, graph, &p)));
  const int code = order(tsi_transport_comm(transport), seed, &p);
  if (code != 0)
    status = tsi_fail(env, TRISTAR_ERR_RUNTIME, __func__, __FILE__, __LINE__,
                      "PT-Scotch failed on rank %d, with %d vertices (code %d)",
                      tsi_transport_rank(transport), graph->n, code);
  TSI_TRY_OUT(tsi_transport_agree(transport, status));
  for (tsi_index i = 0; i < graph->n; i++) position[i] = (tsi_index)p.place[i];
out:
  TSI_FREE(env, p.ptr);
  TSI_FREE(env, p.adj);
  TSI_FREE(env, p.place);
  return status;
}

#endif
