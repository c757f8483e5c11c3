#!/usr/bin/env bash
# driver_simulate_ranks.sh PROGRAM: `tristar simulate --ranks`: messages equal those of `tristar info --layout`, results
# repeat, wrong usage, invalid files of machines. Works in the current folder.
machines=$(cd "$(dirname "$0")/../../tools/machines" && pwd)
. "$(dirname "$0")/driver.sh"
rm -f -- *.txt *.json # of an earlier run

# ---- Wrong usage and failures
expect 2 'no MATRIX given' simulate --ranks 2
expect 2 '--layout auto needs --ranks' simulate gen:s2d9pt:20 --layout auto
expect 2 '--layout 2x2x2 is not one of 4 processes' simulate gen:s2d9pt:20 --layout 2x2x2 --ranks 4
expect 2 'not three numbers' simulate gen:s2d9pt:20 --layout 2x2
expect 2 'need --ranks or --layout' simulate gen:s2d9pt:20 --map cyclic
expect 1 'cannot read none.json: ' simulate gen:s2d9pt:20 --ranks 2 --machine none.json
echo '{"cores": 1' >broken.json
expect 1 'broken.json: not JSON' simulate gen:s2d9pt:20 --ranks 2 --machine broken.json
for wrong in '"topology": "ring"' '"topology": ["fat_tree", 4]' '"speed": 1' '"cores": "one"' '"cores": 1.5' '"cores": -1' '"name": 3'; do
  echo "{$wrong}" >wrong.json
  key=${wrong%%:*}
  expect 1 "wrong.json: ${key//\"/}: an unknown key, or a value out of its range" simulate gen:s2d9pt:20 --ranks 2 --machine wrong.json
done
echo '{"cores": 0}' >zero.json
expect 1 'cluster: ranks_per_node 1, cores 0' simulate gen:s2d9pt:20 --ranks 2 --machine zero.json

expect 2 '--layout 2x2x2 is not one of 8,16 processes' simulate gen:s2d9pt:20 --layout 2x2x2 --ranks 8,16
expect 2 '--ranks 8,,4: an empty entry' simulate gen:s2d9pt:20 --ranks 8,,4
expect 2 "--ranks 8,x: 'x' is not an integer" simulate gen:s2d9pt:20 --ranks 8,x
expect 2 'go with one number in --ranks' simulate gen:s2d9pt:20 --ranks 4,8 --gantt steps.svg
expect 2 '--svg draws curves: it needs several numbers' simulate gen:s2d9pt:20 --ranks 8 --svg curves.svg
expect 2 'no picture has the ending .gif; ' simulate gen:s2d9pt:20 --ranks 4,8 --svg curves.gif

# ---- Words for machines and layouts
expect 0 '^cluster +Cori' simulate gen:s2d9pt:40 --ranks 2x1x4 --machine cori --engine loggp
grep -qE '^layout +2 x 1 x 4: ' output.txt || fail "--ranks 2x1x4: $(cat output.txt)"
expect 0 '^cluster +this machine: ' simulate gen:s2d9pt:40 --ranks 2 --machine here
expect 1 'cannot read nowhere: ' simulate gen:s2d9pt:40 --ranks 2 --machine nowhere
expect 2 '--ranks 2x1x4 is a layout: without --layout' simulate gen:s2d9pt:40 --ranks 2x1x4 --layout 2x1x4
expect 2 '2x1: not three numbers' simulate gen:s2d9pt:40 --ranks 2x1

# ---- Figures
expect 0 '^layout +4 x 2 x 4: 32 processes, replicated algorithm, subtree map, binary trees$' simulate gen:s2d9pt:100 --layout 4x2x4
expect 0 ' the fastest of [0-9]+ layouts$' simulate gen:s2d9pt:60 --ranks 8
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
for machine in "$machines"/*.json; do
  gpu=$(sed -n 's/^ *"gpu": "\(.*\)",$/--gpu \1/p' "$machine")
  for way in '' '--map cyclic' '--algo levelwise --message-tree flat'; do
    # shellcheck disable=SC2086 # options and their values
    for run in first again; do
      expect 0 '"predicted_(solve|factor)_s":' simulate gen:s2d9pt:60 --layout 4x2x4 --nrhs 2 $way --machine "$machine" --json -
      cp output.txt $run.json
    done
    # shellcheck disable=SC2086
    expect 0 '"layout":' info gen:s2d9pt:60 --layout 4x2x4 --nrhs 2 $way $gpu --json -
    python3 - <<'END' || fail "$machine $way: figures of simulate and info"
import json
first, again, info = json.load(open("first.json")), json.load(open("again.json")), json.load(open("output.txt"))
for r in first, again, info:
    for key in "read_s", "analyze_s", "peak_library_bytes", "peak_rss_bytes":
        r.pop(key, None)
assert first == again
for key in "broadcast", "reduction", "grids", "all":
    assert first["layout"][key] == info["layout"][key], key
path = first["path_arithmetic_s"] + first["path_inside_s"] + first["path_between_s"]
assert abs(path - (first.get("predicted_solve_s") or first["predicted_factor_s"])) <= 1e-9 * path
assert 0 < first["path_diagonal_s"] + first["path_rows_s"] <= first["path_arithmetic_s"] and first["path_steps"] > 0
END
  done
done

# ---- GPUs: one simulation behind `info --gpu --layout` and `simulate --machine`; a grid stops paying beyond a node or two
expect 2 '--layout auto needs --ranks, the number of GPUs' info gen:s2d9pt:20 --gpu A100 --layout auto
expect 2 '--gpu with --ranks needs --layout auto' info gen:s2d9pt:20 --gpu A100 --ranks 4
expect 2 '--layout and --ranks exclude each other, but' info gen:s2d9pt:20 --gpu A100 --ranks 4 --layout 2x1x2
expect 2 '--layout auto works with --gpu' info gen:s2d9pt:20 --layout auto
expect 2 '--devices is for one process, not for a --layout' info gen:s2d9pt:20 --gpu A100 --layout 2x1x2 --devices 2
expect 2 '--gpu P100: not one of ' info gen:s2d9pt:20 --gpu P100 --layout 2x1x2
expect 1 '128 GPUs for 100 rows' info gen:s2d9pt:10 --gpu A100 --layout 128x1x1
echo '{"gpu": "P100"}' >wrong.json
expect 1 'wrong.json: gpu: not one of the names of tristar info --gpu' simulate gen:s2d9pt:20 --ranks 2 --machine wrong.json
expect 1 'the processes of the cluster are GPUs, which do not factor together' simulate gen:s2d9pt:20 --ranks 2 --machine dgx1 --factorization
expect 0 '^cluster +Perlmutter, GPU nodes .*: 4 GPUs a node, a process each, with 216 resident blocks$' simulate gen:s2d9pt:40 --layout 2x1x2 --machine perlmutter_gpu
expect 0 '^gpus +NVIDIA A100 .*: 4 a node, 216 blocks each; links of 300 GB/s in a node, 12.5 GB/s to others$' info gen:s2d9pt:60 --gpu A100 --layout 2x2x8
grep -q '^  and 16 more GPUs: --json lists them$' output.txt || fail "info --gpu --layout: $(cat output.txt)"
for run in gpus again; do expect 0 '^gpus ' info gen:s2d9pt:150 --gpu A100 --layout 4x2x4 --json $run.json; done
expect 0 '^solve ' simulate gen:s2d9pt:150 --layout 4x2x4 --machine perlmutter_gpu --json one.json
expect 0 'the fastest layout of so many GPUs$' info gen:s2d9pt:400 --gpu A100 --layout auto --ranks 16 --json auto.json
expect 0 '^solves ' simulate gen:s2d9pt:400 --ranks 1,4,16,64 --machine perlmutter_gpu --json curves.json
python3 - <<'END' || fail "GPUs: figures"
import json
gpus, again, one, auto, curves = (json.load(open(f + ".json")) for f in ("gpus", "again", "one", "auto", "curves"))
assert gpus["gpus"] == again["gpus"] and gpus["layout"] == again["layout"]
g, all = gpus["gpus"], gpus["layout"]["all"]
assert g["predicted_solve_s"] == one["predicted_solve_s"] and all == one["layout"]["all"]
assert len(g["list"]) == 32 and [p["node"] for p in g["list"]] == [k // 4 for k in range(32)]
assert sum(p["messages"] for p in g["list"]) == all["sent"]["total"]
assert sum(p["bytes"] for p in g["list"]) == all["sent_bytes"]["total"]
for p in g["list"]:
    assert p["solve_s"] > 0 and abs(p["solve_s"] + p["wait_s"] - g["predicted_solve_s"]) < 1e-12 and p["forward_s"] > 0 and p["backward_s"] > 0
path = g["path_steps_s"] + g["path_inside_s"] + g["path_between_s"]
assert abs(path - g["predicted_solve_s"]) < 1e-9 * path and g["path_messages"] > 0
points = {(p["ranks"], p["pz"]): p["simulated_s"] for p in curves["points"]}
best = {r: min(s for (ranks, _), s in points.items() if ranks == r) for r in (1, 4, 16, 64)}
assert auto["gpus"]["predicted_solve_s"] == best[16] and auto["layout"]["ranks"] == 16
single = [p["simulated_s"] for p in auto["gpus"]["single_grids"]]  # of 1, 2, 4, 8, 16 GPUs
assert [p["px"] * p["py"] for p in auto["gpus"]["single_grids"]] == [1, 2, 4, 8, 16]
assert single[2] == points[4, 1] and single[4] == points[16, 1]
assert single[2] < single[0] and single[4] > min(single[2:4])  # a grid pays in a node, not on four nodes
assert best[16] < best[4] < best[1] and best[16] < points[16, 1] / 1.25 and points[64, 1] > points[16, 1]
END
if "$tristar" simulate gen:s2d9pt:20 --ranks 2 --network simgrid >output.txt 2>&1; then
  expect 1 'cores that share the rate of a process are not simulated there' simulate gen:s2d9pt:20 --ranks 2 --machine dgx1 --network simgrid
fi

# ---- Factorizations
expect 2 '--nrhs is of solves, --factorization simulates none' simulate gen:s2d9pt:20 --ranks 2 --factorization --nrhs 2
expect 2 '--factorization, --machine, .* need --ranks or --layout' simulate gen:s2d9pt:20 --factorization
expect 0 '^factoring +[0-9.]+ [mu]s; [0-9,]+ steps$' simulate gen:s2d9pt:100 --layout 4x2x4 --factorization --gantt fronts.svg
grep -q '>fronts<' fronts.svg || fail "fronts.svg has no fronts"
expect 0 '^factoring +processes ' simulate gen:s2d9pt:60 --ranks 2,4 --factorization --svg factoring.svg
grep -q '>time of a factorization' factoring.svg || fail "factoring.svg: no time of a factorization"
for way in '' '--map cyclic' '--algo levelwise'; do
  # shellcheck disable=SC2086 # options and their values
  for run in first again; do
    expect 0 '"factorization":' simulate gen:convdiff3d:12 --layout 2x2x2 $way --factorization --json -
    cp output.txt $run.json
  done
  # shellcheck disable=SC2086
  expect 0 '"layout":' info gen:convdiff3d:12 --layout 2x2x2 $way --json -
  python3 - <<'END' || fail "$way: figures of a simulated factorization"
import json
first, again, info = json.load(open("first.json")), json.load(open("again.json")), json.load(open("output.txt"))
for r in first, again:
    for key in "read_s", "analyze_s", "peak_library_bytes", "peak_rss_bytes":
        r.pop(key, None)
assert first == again and first["factorization"] and first["layout"]["nrhs"] == 0
assert first["layout"]["all"]["sent"]["total"] >= info["layout"]["fan_in"]["sent"]["total"] > 0
path = first["path_arithmetic_s"] + first["path_inside_s"] + first["path_between_s"]
assert abs(path - (first.get("predicted_solve_s") or first["predicted_factor_s"])) <= 1e-9 * path
END
done

# Processes agree once for many rounds in which they hand panels on: 256 of them do not spend their time so.
expect 0 '"inter_grid_s":' simulate gen:convdiff3d:8 --layout 4x4x16 --factorization --json -
python3 -c 'import json; r = json.load(open("output.txt")); assert r["inter_grid_s"]["mean"] < r["predicted_factor_s"] / 2, r["inter_grid_s"]' ||
  fail "256 processes agree too often"

# ---- Steps by priority: a process with one core does not wait for the next step of its program while others are ready
expect 2 '--square needs numbers in --ranks, not the layout 2x2x2' simulate gen:s2d9pt:20 --layout 2x2x2 --square
expect 2 '--square needs numbers in --ranks, not the layout 2x1x4' simulate gen:s2d9pt:20 --ranks 2x1x4 --square
echo '{"by_priority": 2}' >two.json
expect 1 'cluster: by_priority is 2, not 0 or 1' simulate gen:s2d9pt:20 --ranks 2 --machine two.json
echo '{"by_priority": 1}' >by_priority.json
expect 1 '--goal: processes run their steps in order' simulate gen:s2d9pt:20 --layout 2x1x1 --machine by_priority.json --goal solve.goal
"$(dirname "$0")/../../tools/bench/study_sc23" gen:s2d9pt:40 --tristar "$tristar" --ranks 6,16 --grids 8 --json study.json >output.txt ||
  fail "study_sc23: exit status $?"
expect 0 '^study.svg: written$' plot study --from study.json --out study.svg --json picture.json
for text in 'gen:s2d9pt:40' '2D: one grid' 'new: replicated' 'grids of 16 processes' 'messages between grids'; do
  grep -q "$text" study.svg || fail "study.svg: no $text"
done
expect 2 'study: --from FILE is missing' plot study --out study.svg
expect 2 'gen:chain:3: --what study draws all matrices of --from' plot study gen:chain:3 --from study.json --out study.svg
echo '{"gen:chain:3": {"new": []}}' >empty.json
expect 1 '^tristar: empty.json: not a file of study_sc23 --json or study_zc21 --json$' plot study --from empty.json --out study.svg
python3 - <<'END' || fail "study_sc23: figures"
import json
ways = {way: {(p["ranks"], p["pz"]): p for p in points} for way, points in json.load(open("study.json"))["gen:s2d9pt:40"].items()}
assert all(sorted(points) == [(6, 1), (6, 2), (16, 1), (16, 2), (16, 4), (16, 8)] for points in ways.values())
assert all(0 < p["px"] <= p["py"] and p["px"] * p["py"] * p["pz"] == p["ranks"] for p in ways["new"].values())
assert all(ways["baseline"][k]["messages"] == ways["overlap"][k]["messages"] for k in ways["overlap"])
assert ways["baseline"][16, 1]["simulated_s"] > 1.5 * ways["overlap"][16, 1]["simulated_s"]
assert ways["subtree"][16, 8]["simulated_s"] < ways["new"][16, 8]["simulated_s"]
END

# ---- Triangles on GPUs: the same links in fours of a DGX-1 as in a DGX-2; managed memory takes longer
"$(dirname "$0")/../../tools/bench/study_zc21" gen:s2d9pt:20 --tristar "$tristar" --json gpus.json >output.txt ||
  fail "study_zc21: exit status $?"
grep -q '^figure 10, DGX-2, published$' output.txt || fail "study_zc21: $(cat output.txt)"
expect 0 '^gpus.svg: written$' plot study --from gpus.json --out gpus.svg --json picture.json
for text in 'gen:s2d9pt:20' 'Xie et al., DGX-2' 'tasks of each of 4 GPUs'; do
  grep -q "$text" gpus.svg || fail "gpus.svg: no $text"
done
python3 - <<'END' || fail "study_zc21: figures"
import json
points = {(p["machine"], p["gpus"], p["tasks_per_gpu"]): p for p in json.load(open("gpus.json"))["gen:s2d9pt:20"]}
assert sorted(points) == [("DGX-1", g, t) for g, t in ((2, 8), (4, 4), (4, 8), (4, 16), (4, 32), (8, 8))] + [
    ("DGX-2", g, 8) for g in (2, 4, 8, 16)]
for key in "published_s", "predicted_solve_s":
    assert all(points["DGX-1", g, 8][key] == points["DGX-2", g, 8][key] for g in (2, 4))
    assert points["DGX-1", 8, 8][key] > points["DGX-2", 8, 8][key]
assert all(p["published_unified_s"] > p["published_s"] and p["unified_s"] > p["predicted_solve_s"] for p in points.values())
items = json.load(open("picture.json"))["picture"]["items"]
assert len(items) == 4 * 4 + 2 * (4 + 5) and all(i["simulated_s"] > 0 for i in items)
keys = "machine", "gpus", "tasks_per_gpu", "published_s"
json.dump({"gen:s2d9pt:20": [{key: p[key] for key in keys} for p in points.values()]}, open("few.json", "w"))
END
expect 0 '^few.svg: written$' plot study --from few.json --out few.svg
for text in 'tasks of each of 4 GPUs' '>GPUs, logarithmic<'; do
  grep -q "$text" few.svg || fail "few.svg: no $text"
done

# ---- Curves: each point is the fastest layout of its number of processes and grids; one number: the fastest of all
expect 0 '^ +16 +[0-9]+ x [0-9]+ x [0-9]+ ' simulate gen:s2d9pt:100 --ranks 2,8,16 --svg curves.svg --json curves.json
"$(dirname "$0")/check_picture" curves.svg 2 || fail "curves.svg is no good picture"
for word in '>1 grid<' '>16 grids<' '>ideal<' 'class="point"'; do
  grep -q "$word" curves.svg || fail "curves.svg has no $word"
done
expect 0 ' times as fast as 4 x 4 x 1, a single grid$' simulate gen:s2d9pt:100 --ranks 16 --json one.json
expect 0 '' simulate gen:s2d9pt:100 --ranks 6,4 --algo 2d --json flat.json
python3 - <<'END' || fail "curves: figures"
import json
curves, one, flat = (json.load(open(f)) for f in ("curves.json", "one.json", "flat.json"))
points = curves["points"]
assert [(p["ranks"], p["pz"]) for p in points] == [(r, z) for r in (2, 8, 16) for z in (1, 2, 4, 8, 16) if z <= r]
assert all(p["px"] * p["py"] * p["pz"] == p["ranks"] for p in points)
best = min((p for p in points if p["ranks"] == 16), key=lambda p: p["simulated_s"])
assert best["simulated_s"] == one["predicted_solve_s"] and best["pz"] == one["layout"]["pz"]
first = min(p["simulated_s"] for p in points if p["ranks"] == 2)
assert all(abs(p["speedup"] * p["simulated_s"] - first) < 1e-12 * first for p in points)
rivals = {r["what"]: r for r in one["rivals"]}
assert rivals["each process a grid"]["pz"] == rivals["16 grids"]["pz"] == 16 and rivals["a single grid"]["px"] == 4
assert all(r["simulated_s"] >= one["predicted_solve_s"] for r in rivals.values())
assert rivals["16 grids"]["simulated_s"] == next(p["simulated_s"] for p in points if p["pz"] == 16)
assert [(p["ranks"], p["pz"]) for p in flat["points"]] == [(4, 1), (6, 1)]
END

# ---- SimGrid: the same without contention; never faster with it here; the same again
echo '{"topology": "none", "ranks_per_node": 4, "node_bytes_per_second": 2e10, "cache_bytes": 1e5}' >none.json
echo '{"topology": "crossbar", "ranks_per_node": 4, "node_bytes_per_second": 2e9, "bytes_per_second": 1e8}' >crossbar.json
seconds() { value predicted_solve_s output.txt; value predicted_factor_s output.txt; }
if "$tristar" simulate gen:s2d9pt:20 --ranks 2 --network simgrid >output.txt 2>&1; then
  for way in '' '--map cyclic' '--algo levelwise --message-tree flat' --factorization; do
    # shellcheck disable=SC2086 # options and their values
    both() { for network in loggp simgrid; do expect 0 '"predicted_(solve|factor)_s":' simulate gen:s2d9pt:100 --layout 4x2x4 $way --network $network "$@" --json -; seconds; done; }
    mapfile -t free < <(both --machine none.json)
    python3 -c 'import sys; a, b = map(float, sys.argv[1:]); sys.exit(abs(a - b) > 0.05 * a)' "${free[@]}" ||
      fail "$way: ${free[0]} s by LogGP, ${free[1]} s by SimGrid without contention"
    for machine in crossbar.json "$machines/frontier.json"; do
      mapfile -t first < <(both --machine "$machine")
      mapfile -t again < <(both --machine "$machine")
      [ "${first[*]}" = "${again[*]}" ] || fail "$way: ${first[*]} s, then ${again[*]} s"
    done
  done
else
  row 'this TriStar was built without SimGrid'
fi

# ---- Files
expect 0 '^network +LogGP' simulate gen:s2d9pt:100 --layout 2x1x2 --map cyclic --goal solve.goal --gantt solve.svg
grep -q '</svg>' solve.svg || fail "solve.svg is not complete"
python3 - <<'END' || fail "solve.goal: each message is sent and received once, with the same bytes"
import re
sent, received, rank, ranks = [], [], None, 0
for line in open("solve.goal"):
    if line.startswith("rank"):
        rank, ranks = int(line.split()[1]), ranks + 1
    m = re.match(r"l\d+: (send|recv) (\d+)b (?:to|from) (\d+) tag (\d+)$", line)
    if m:
        peer = int(m[3])
        (sent if m[1] == "send" else received).append((m[2], rank, peer, m[4]) if m[1] == "send" else (m[2], peer, rank, m[4]))
assert ranks == 4 and len(set(sent)) == len(sent) > 10 and sorted(sent) == sorted(received)
END
finish
