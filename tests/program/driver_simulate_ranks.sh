#!/usr/bin/env bash
# driver_simulate_ranks.sh PROGRAM: `tristar simulate --ranks`: messages are those of `tristar info --layout`, figures repeat,
# wrong usage and broken files of machines. Works in the current folder.
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
for wrong in '"speed": 1' '"cores": "one"' '"cores": 1.5' '"cores": -1' '"name": 3'; do
  echo "{$wrong}" >wrong.json
  key=${wrong%%:*}
  expect 1 "wrong.json: ${key//\"/}: an unknown key, or a value out of its range" simulate gen:s2d9pt:20 --ranks 2 --machine wrong.json
done
echo '{"cores": 0}' >zero.json
expect 1 'cluster: ranks_per_node 1, cores 0' simulate gen:s2d9pt:20 --ranks 2 --machine zero.json

# ---- Figures
expect 0 '^layout +4 x 2 x 4: 32 processes, replicated algorithm, subtree map, binary trees$' simulate gen:s2d9pt:100 --layout 4x2x4
expect 0 ' the fastest of [0-9]+ layouts$' simulate gen:s2d9pt:60 --ranks 8
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
for machine in "$machines"/*.json; do
  for way in '' '--map cyclic' '--algo levelwise --message-tree flat'; do
    # shellcheck disable=SC2086 # options and their values
    for run in first again; do
      expect 0 '"simulated_s":' simulate gen:s2d9pt:100 --layout 4x2x4 --nrhs 2 $way --machine "$machine" --json -
      cp output.txt $run.json
    done
    # shellcheck disable=SC2086
    expect 0 '"layout":' info gen:s2d9pt:100 --layout 4x2x4 --nrhs 2 $way --json -
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
assert abs(path - first["simulated_s"]) <= 1e-9 * path
END
  done
done
finish
