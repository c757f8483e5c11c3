#!/usr/bin/env bash
# driver_place_mpi.sh EMULATED MPIEXEC [FLAG...] --: `tristar solve --layout --place` with a program whose devices are emulated:
# which processes have subtrees there, what the report and JSON tell, what is refused. Works in the current folder.
. "$(dirname "$0")/driver_ranks.sh"
rm -f -- *.json *.svg # of an earlier run

# A machine whose cores read a megabyte a second: small chunks are large enough to be another process's.
printf '%s\n' 'tristar-calibration 1' 'task_ns 2000' 'barrier_ns 9000' 'read_one_core_mb_per_s 1' 'read_all_cores_mb_per_s 0' \
  'workers 2' 'cores 2' 'numa_nodes 1' 'l2_bytes 0' 'l3_bytes 0' 'l3_cores 0' >slow
export TRISTAR_CALIBRATION=slow
for layout in 1x1x2 2x1x1; do
  ranks 2 0 '^devices +rank 0: CPU [^:]*: [0-9]+ subtrees?, [0-9.]+ [KM]?B of factor; in each solve .* up, .* down$' \
    solve gen:s2d9pt:40 --layout $layout --place gpu --repeat 1 --checksum --json $layout.json
  grep -qE '^ +rank 1: CPU ' output.txt || fail "$layout: rank 1 tells of no device"
  grep -qE '^(L solve|U solve|between L and U \(Z\)) ' output.txt || fail "$layout: no parts of the time"
  python3 - $layout.json <<'END' || fail "$layout, --place gpu: figures"
import json, sys
r = json.load(open(sys.argv[1]))
assert r["backward_error"] < 1e-13, r
for p in r["processes"]:
    assert 0 < p["device_factor_bytes"] and p["up_bytes"] == p["down_bytes"] > 0, p
    assert p["forward_s"] > 0 and p["backward_s"] > 0 and p["between_s"] >= 0, p
END
done
ranks 2 0 '^devices +rank 0: no room for .* of factor, which stay with the cores$' \
  solve gen:s2d9pt:24 --layout 1x1x2 --place gpu --device-bytes 1 --json none.json
ranks 2 0 '^accuracy ' solve gen:s2d9pt:24 --layout 1x1x2 --json cpu.json
python3 - <<'END' || fail "processes without devices: figures"
import json
for name in ("none.json", "cpu.json"):
    for p in json.load(open(name))["processes"]:
        assert p["device_factor_bytes"] == p["up_bytes"] == p["down_bytes"] == 0 and p["forward_s"] > 0, (name, p)
END
ranks 2 0 '^accuracy ' solve gen:convdiff3d:6 --layout 2x1x1 --place auto --op T --nrhs 3 --gantt tasks.svg --repeat 1
ranks 2 - 'PLACE_GPU: no rank has subtrees of its own' solve gen:s2d9pt:24 --layout 2x1x1 --map cyclic --place gpu
ranks 2 - 'PLACE_GPU: there are no tasks' solve gen:s2d9pt:24 --layout 1x1x2 --engine serial --place gpu
finish
