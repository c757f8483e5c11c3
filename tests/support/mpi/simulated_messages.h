/* Messages of a simulated factorization against those of a real one. */
#pragma once

#include "runtime/process/predict.h"
#include "tests/support/context.h"
#include "tristar_mpi.h"

/* Checks that a simulated factorization sends the messages that each rank counted, and that a second
 * simulation predicts the same time. all: statistics of each rank. */
static void check_simulated_messages(const char *what, const tristar_analysis_t *analysis,
                                     const tristar_layout *layout, int ranks,
                                     const tristar_distributed_stats *all) {
  tristar_cluster cluster = DEFAULTS(tristar_cluster);
  for (cluster.cores = 1; cluster.cores <= 3; cluster.cores += 2) {
    tristar_simulated simulated, again;
    tsi_predicted p;
    CHECK_OK(tristar_layout_predict_factor(analysis, layout, &cluster, &again));
    CHECK_OK(tsi_layout_simulate(analysis, layout, 0, &cluster, NULL, &simulated, &p));
    CHECK(memcmp(&simulated, &again, sizeof again) == 0);
    for (int r = 0; r < ranks; r++) {
      const tsi_world_rank *rank = &p.world->rank[r];
      tristar_message_count fan_in = {0, 0}, hand_on = {0, 0};
      for (tsi_index m = 0; m < rank->sends; m++) {
        const tsi_message_kind kind = rank->send[m].kind;
        const bool panels = kind == TSI_MESSAGE_PANELS || kind == TSI_MESSAGE_GRID_PANELS;
        tristar_message_count *count = panels ? &hand_on : &fan_in;
        count->messages += rank->send[m].rows > 0;
        count->bytes += (int64_t)(p.simulation->row_bytes * rank->send[m].rows);
      }
      CHECK_MSG(fan_in.messages == all[r].fan_in.messages && fan_in.bytes == all[r].fan_in.bytes &&
                    hand_on.messages == all[r].hand_on.messages && hand_on.bytes == all[r].hand_on.bytes,
                "%s, rank %d: %lld messages of %lld bytes, panels in %lld of %lld; simulated %lld of %lld, "
                "panels in %lld of %lld",
                what, r, (long long)all[r].fan_in.messages, (long long)all[r].fan_in.bytes,
                (long long)all[r].hand_on.messages, (long long)all[r].hand_on.bytes,
                (long long)fan_in.messages, (long long)fan_in.bytes, (long long)hand_on.messages,
                (long long)hand_on.bytes);
    }
    tsi_predicted_release(analysis, &p);
  }
}
