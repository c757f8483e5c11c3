// SimGrid's clock for `tristar simulate --network simgrid`: see drivers/session/simgrid_clock.h.
//
// Memory of a node is a host whose speed is its bandwidth; reading of a factor is an execution there, bounded
// by the rate of a core. Overheads are executions on a host of the process. Messages go from node to node.
// Activities are begun without actors; what has ended is reported by SimGrid's signals, from inside of
// Engine::run().
#include "drivers/session/simgrid_clock.h"

#include <simgrid/s4u.hpp>

#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

constexpr double unit = 1e9; // "flops" of a second: amounts below 1e-5 count as nothing

struct pending {
  sg4::ActivityPtr activity;
  int item;
  int rank;       // of an execution in memory: seconds follow it on the host of the rank
  double seconds; // 0: none
};

class engine_clock {
public:
  tsi_simgrid_cluster cluster;
  void (*happen)(void *, double, int);
  void *argument;
  sg4::Engine *engine = nullptr;
  std::vector<sg4::Host *> node, rank;
  std::unordered_map<const sg4::Activity *, pending> running;
  std::vector<sg4::ActivityPtr> ended; // released by the next event: SimGrid still uses the latest one
  std::string error;

  sg4::Host *node_of(int r) const { return node[static_cast<size_t>(r / cluster.ranks_per_node)]; }

  void begin_execution(sg4::Host *host, double amount, double bound, int item, int r, double seconds) {
    sg4::ExecPtr exec = sg4::Exec::init();
    exec->set_flops_amount(amount);
    if (bound > 0) exec->set_bound(bound);
    exec->set_host(host);
    running[exec.get()] = {exec, item, r, seconds};
    exec->start();
  }

  void work(int r, double seconds, double bytes, double rate, int item) {
    const bool shared = cluster.topology != TSI_TOPOLOGY_NONE && cluster.node > 0;
    if (bytes > 0 && shared)
      begin_execution(node_of(r), bytes, rate, item, r, seconds);
    else
      begin_execution(rank[static_cast<size_t>(r)],
                      unit * (seconds + (bytes > 0 ? bytes / std::fmin(rate, cluster.share) : 0)), 0, item, r,
                      0);
  }

  void send(int from, int to, double bytes, int item) {
    sg4::CommPtr comm = sg4::Comm::sendto_init(node_of(from), node_of(to));
    comm->set_payload_size(static_cast<uint64_t>(bytes));
    running[comm.get()] = {comm, item, 0, 0};
    comm->start();
  }

  void complete(const sg4::Activity &activity) {
    const auto found = running.find(&activity);
    if (found == running.end()) return;
    const pending p = found->second;
    running.erase(found);
    ended.clear();
    ended.push_back(p.activity);
    if (p.seconds > 0)
      begin_execution(rank[static_cast<size_t>(p.rank)], unit * p.seconds, 0, p.item, p.rank, 0);
    else
      happen(argument, sg4::Engine::get_clock(), p.item);
  }

  sg4::Link *add_link(sg4::NetZone *zone, const std::string &name, int far, double latency) const {
    const bool shared = far && cluster.topology != TSI_TOPOLOGY_NONE;
    return zone->create_link(name, cluster.rate[far])
        ->set_latency(latency)
        ->set_sharing_policy(shared ? sg4::Link::SharingPolicy::SHARED : sg4::Link::SharingPolicy::FATPIPE)
        ->seal();
  }

  sg4::Host *add_node(sg4::NetZone *zone, unsigned long number) {
    sg4::Host *host =
        zone->create_host("node" + std::to_string(number), cluster.node > 0 ? cluster.node : unit)->seal();
    if (node.size() <= number) node.resize(number + 1);
    node[number] = host;
    return host;
  }

  void build_star(sg4::NetZone *root, unsigned nodes) {
    sg4::NetZone *zone = sg4::create_star_zone("network")->set_parent(root);
    for (unsigned k = 0; k < nodes; k++) {
      sg4::Host *host = add_node(zone, k);
      const std::string name = std::to_string(k);
      const sg4::LinkInRoute up(add_link(zone, "up" + name, 1, cluster.seconds[1] / 2)),
          down(add_link(zone, "down" + name, 1, cluster.seconds[1] / 2)),
          local(add_link(zone, "local" + name, 0, cluster.seconds[0]));
      zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {up}, false);
      zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {down}, false);
      zone->add_route(host->get_netpoint(), host->get_netpoint(), nullptr, nullptr, {local}, false);
    }
    zone->seal();
  }

  void build_tree(sg4::NetZone *root, unsigned nodes) {
    const sg4::ClusterCallbacks callbacks(
        [this](sg4::NetZone *zone, const std::vector<unsigned long> &, unsigned long id) {
          return std::make_pair(add_node(zone, id)->get_netpoint(),
                                static_cast<simgrid::kernel::routing::NetPoint *>(nullptr));
        },
        [this](sg4::NetZone *zone, const std::vector<unsigned long> &, unsigned long id) {
          return add_link(zone, "local" + std::to_string(id), 0, cluster.seconds[0]);
        },
        {});
    const auto shared = sg4::Link::SharingPolicy::SPLITDUPLEX;
    const auto of = [this](int k) { return static_cast<unsigned>(cluster.shape[k]); };
    const auto times = [nodes](unsigned most) { return (nodes + most - 1) / most; };
    if (cluster.topology == TSI_TOPOLOGY_FAT_TREE) {
      const sg4::FatTreeParams tree(2, {of(0), times(of(0))}, {1, of(1)}, {1, 1});
      sg4::create_fatTree_zone("network", root, tree, callbacks, cluster.rate[1], cluster.seconds[1] / 4,
                               shared)
          ->seal();
    } else {
      const unsigned groups = times(of(0) * of(1) * of(2));
      const sg4::DragonflyParams fly({groups > 1 ? groups : 2, 1}, {of(0), 1}, {of(1), 1}, of(2));
      sg4::create_dragonfly_zone("network", root, fly, callbacks, cluster.rate[1], cluster.seconds[1] / 5,
                                 shared)
          ->seal();
    }
  }

  void build() {
    int argc = 2;
    char name[] = "tristar", quiet[] = "--log=root.thresh:warning", *argv[] = {name, quiet, nullptr};
    engine = new sg4::Engine(&argc, argv);
    for (const char *set : {"network/model:CM02", "network/TCP-gamma:0", "network/weight-S:0",
                            "surf/precision:1e-12", "network/latency-factor:1", "network/bandwidth-factor:1"})
      sg4::Engine::set_config(set);
    sg4::NetZone *root = sg4::create_full_zone("cluster");
    const unsigned nodes =
        static_cast<unsigned>((cluster.ranks + cluster.ranks_per_node - 1) / cluster.ranks_per_node);
    if (cluster.topology <= TSI_TOPOLOGY_CROSSBAR)
      build_star(root, nodes);
    else
      build_tree(root, nodes);
    for (int r = 0; r < cluster.ranks; r++)
      rank.push_back(
          root->create_host("rank" + std::to_string(r), unit)->set_core_count(cluster.cores)->seal());
    root->seal();
    sg4::Activity::on_completion_cb([this](const sg4::Activity &activity) { complete(activity); });
  }

  // What is thrown becomes a text that stays valid.
  template <class F> const char *guard(F f) {
    try {
      f();
      return nullptr;
    } catch (const std::exception &e) {
      error = std::string("SimGrid: ") + e.what();
      return error.c_str();
    }
  }
};

} // namespace

extern "C" __attribute__((visibility("default"))) bool tsi_simgrid_create(const tsi_simgrid_cluster *cluster,
                                                                          void (*happen)(void *, double, int),
                                                                          void *argument,
                                                                          tsi_simgrid_clock *clock,
                                                                          const char **why) {
  static engine_clock *const only = new engine_clock; // until the process ends, as SimGrid's engine
  only->cluster = *cluster;
  only->happen = happen;
  only->argument = argument;
  *why = only->guard([] { only->build(); });
  clock->context = only;
  clock->work = [](void *c, int rank, double seconds, double bytes, double rate, int item) {
    engine_clock *e = static_cast<engine_clock *>(c);
    return e->guard([=] { e->work(rank, seconds, bytes, rate, item); });
  };
  clock->send = [](void *c, int from, int to, double bytes, int item) {
    engine_clock *e = static_cast<engine_clock *>(c);
    return e->guard([=] { e->send(from, to, bytes, item); });
  };
  clock->run = [](void *c) {
    engine_clock *e = static_cast<engine_clock *>(c);
    return e->guard([=] { e->engine->run(); });
  };
  return *why == nullptr;
}
