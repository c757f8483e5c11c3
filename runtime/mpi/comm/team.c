/* A team of ranks: see team.h. */
#include "runtime/mpi/comm/team.h"

#include "runtime/mpi/comm/mailbox.h"

static tristar_status gather(void *context, int count, const double *mine, double *all) {
  tsi_transport *transport = context;
  return TSI_MPI(transport->env, "MPI_Allgather",
                 MPI_Allgather(mine, count, MPI_DOUBLE, all, count, MPI_DOUBLE, transport->comm));
}

static tristar_status gather_start(void *context, int count, const double *mine, double *all) {
  tsi_transport *transport = context;
  return TSI_MPI(transport->env, "MPI_Iallgather",
                 MPI_Iallgather(mine, count, MPI_DOUBLE, all, count, MPI_DOUBLE, transport->comm,
                                &transport->gathering));
}

static tristar_status gather_wait(void *context) {
  tsi_transport *transport = context;
  return TSI_MPI(transport->env, "MPI_Wait", MPI_Wait(&transport->gathering, MPI_STATUS_IGNORE));
}

static tristar_status agree(void *context, tristar_status mine) {
  return tsi_transport_agree(context, mine);
}

tristar_status tsi_transport_team(tsi_env *env, tsi_transport *transport, int64_t n, const tsi_index *number,
                                  tsi_team *team) {
  *team = (tsi_team){.members = transport->size,
                     .own = transport->rank,
                     .n = n,
                     .number = number,
                     .gather = gather,
                     .agree = agree,
                     .gather_start = gather_start,
                     .gather_wait = gather_wait,
                     .context = transport};
  return tsi_transport_agree(transport, TSI_ALLOC(env, team->all, transport->size * TSI_TEAM_NUMBERS));
}
