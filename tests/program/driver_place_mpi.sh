#!/usr/bin/env bash
# driver_place_mpi.sh EMULATED MPIEXEC [FLAG...] --: `tristar solve --layout --place` with a program whose devices are
# emulated: the processes with subtrees on devices, the report and JSON, invalid calls. Works in the current folder.
. "$(dirname "$0")/driver_ranks.sh"
rm -f -- *.json *.svg # of an earlier run

# A machine whose cores read a megabyte per second: small chunks are large enough for another process.
printf '%s\n' 'tristar-calibration 1' 'task_ns 2000' 'barrier_ns 9000' 'read_one_core_mb_per_s 1' 'read_all_cores_mb_per_s 0' \
  'workers 2' 'cores 2' 'numa_nodes 1' 'l2_bytes 0' 'l3_bytes 0' 'l3_cores 0' >slow
export TRISTAR_CALIBRATION=slow
for layout in 1x1x2 2x1x1; do
  ranks 2 0 '^devices +rank 0: CPU [^:]*: [0-9]+ subtrees?, [0-9.]+ [KM]?B of factor; in each solve .* up, .* down$' \
    solve gen:s2d9pt:40 --layout $layout --place gpu --repeat 1 --checksum --json $layout.json
  grep -qE '^ +rank 1: CPU ' output.txt || fail "$layout: rank 1 reports no device"
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

# Solves in which the devices of four processes cooperate, with both kinds of sums.
for sums in slots atomic; do
  ranks 4 0 '^accuracy +backward error' solve gen:s2d9pt:24 --layout 1x4x1 --map cyclic --message-tree flat --transport one_sided --place gpu \
    --sums $sums --repeat 3 --json $sums.json
done
python3 - <<'END' || fail "sums: figures"
import json
slots, atomic = (json.load(open(name)) for name in ("slots.json", "atomic.json"))
assert slots["backward_error"] < 1e-14 and atomic["backward_error"] < 1e-14
for p, q in zip(slots["processes"], atomic["processes"]):
    assert 0 < q["inbox_bytes"] < p["inbox_bytes"] and p["xy_bytes"] == q["xy_bytes"] > 0, (p, q)
END
ranks 2 - 'atomic_sums needs TRANSPORT_ONE_SIDED and PLACE_GPU' solve gen:s2d9pt:24 --layout 2x1x1 --sums atomic

# Triangles, spread over the devices of two processes.
for words in '--uplo L' '--uplo U --tasks-per-gpu 4' '--uplo L --tasks-per-gpu 16 --poll all --op T --nrhs 3'; do
  # shellcheck disable=SC2086 # several words
  ranks 2 0 '^accuracy +backward error' trisolve gen:s2d9pt:20 --transport one_sided --place gpu --repeat 3 --checksum --json spread.json $words
  grep -qE '^sums of others ' output.txt || fail "trisolve $words: no figures of processes"
  python3 - "$(dirname "$0")/../../tools/doc/guide/json.md" "$words" <<'END' || fail "trisolve $words: figures"
import json, re, sys
r = json.load(open("spread.json"))
p = r["processes"]
assert len(p) == 2 and sum(q["rows"] for q in p) == r["n"] == 400 and r["backward_error"] < 1e-14, r
assert sum(q["sums"] for q in p) == sum(q["gets"] for q in p) == r["gets"] < r["most_gets"] == 400, r
assert all(q["polls"] >= q["gets"] and q["read_bytes"] >= 12 * q["gets"] for q in p), r
assert r["tasks_per_gpu"] == int((re.findall(r"gpu (\d+)", sys.argv[2]) or ["0"])[0]), r
part = open(sys.argv[1]).read().split("## trisolve on many processes")[1].split("## krylov")[0]
known = set(re.findall(r"`([^`]+)`", part)) | {"version", "matrix", "laplacian", "status", "peak_library_bytes", "peak_rss_bytes"}
for key in list(r) + ["processes[]." + key for key in p[0]]:
    assert key in known or key == "processes", key
END
done
ranks 2 - 'trisolve: 2 processes need --transport one_sided --place gpu, to share the rows' trisolve gen:chain:9
ranks 2 - '.uplo L or U is needed: one triangle is distributed over the GPUs' trisolve gen:s2d9pt:9 --transport one_sided --place gpu
ranks 2 - '.uplo LU cannot be combined with --transport' trisolve gen:s2d9pt:9 --uplo LU --transport one_sided --place gpu
expect 2 '.transport, --tasks-per-gpu and --poll need mpiexec' trisolve gen:s2d9pt:9 --uplo L --tasks-per-gpu 4
finish
