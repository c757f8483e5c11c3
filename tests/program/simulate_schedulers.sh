#!/usr/bin/env bash
# simulate_schedulers.sh PROGRAM: on a simulated node with two GPUs all schedulers give the same bits and move the same
# bytes: the plan assigns subtrees to devices; schedulers choose only for the other tasks. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -f -- *.json # of an earlier run
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }

for scheduler in lws eager prio dmda dmdas; do
  for matrix in s2d9pt:150 elasticity3d:10; do
    expect 0 '^placed ' simulate "gen:$matrix" --devices 2 --sched $scheduler --json "${matrix%:*}-$scheduler.json"
  done
done
python3 - <<'END' || fail "schedulers"
import glob, json
for matrix in ("s2d9pt", "elasticity3d"):
    seen = {}
    for path in sorted(glob.glob(matrix + "-*.json")):
        for p in json.load(open(path))["places"]:
            assert p["scheduler"] == path[len(matrix) + 1:-5], (path, p["scheduler"])
            key = {k: v for k, v in p.items() if k not in ("scheduler", "first_solve_s", "solve_s")}
            print("%-30s %-5s %8.1f us" % (path, p["place"], 1e6 * p["solve_s"]))
            assert seen.setdefault(p["place"], key) == key, (path, key, seen[p["place"]])
    assert len(seen) == 3 and len(seen["gpu"]["up_bytes"]) > 0, seen
END
finish
