#!/usr/bin/env bash
# driver_place.sh EMULATED PROGRAM: --place and --device-bytes with a program whose devices are emulated: the assignment of
# subtrees, in reports and JSON; and with the program itself, which has no device here. Works in the current folder.
. "$(dirname "$0")/driver.sh"
program=$2
rm -rf -- *.json slow # of an earlier run

# ---- Emulated devices
expect 0 '^  GPUs by the emulator: 2$' env
TRISTAR_CALIBRATION=off expect 0 '^devices +CPU [0-9]+[^:]*: no bus between it and main memory$' calibrate --json devices.json
python3 - <<'END' || fail "devices of calibrate in JSON"
import json
devices = json.load(open("devices.json"))["devices"]
assert len(devices) == 2 and all(d["up_gbps"] == d["down_gbps"] == d["transfer_us"] == 0 and "CPU" in d["name"] for d in devices), devices
END
expect 0 '^accuracy' solve gen:s2d9pt:12
no_row '^devices'
expect 0 '^devices +CPU [0-9]+[^:]*: [0-9]+ subtrees?, [0-9.]+ [KM]?B of factor, .* of tables, .* of workspace; in each solve .* up, .* down its bus, [0-9]+ transfers$' \
  solve gen:s2d9pt:12 --place gpu --json gpu.json
no_row 'no room for'
row '^accuracy'
expect 0 'no room for .* of factor, which stay with the cores$' solve gen:s2d9pt:12 --place gpu --device-bytes 12000 --op T --nrhs 3
row '^devices +CPU '
expect 0 '^devices +no room for ' info gen:s2d9pt:12 --place gpu --device-bytes 1
expect 0 '^accuracy' solve gen:s2d9pt:12 --place cpu --json cpu.json
python3 - <<'END' || fail "devices in JSON"
import json
gpu, cpu = json.load(open("gpu.json"))["devices"], json.load(open("cpu.json"))["devices"]
assert cpu == {"names": [], "chunks": [], "factor_bytes": [], "table_bytes": [], "workspace_bytes": [], "up_bytes": [], "down_bytes": [], "transfers": [], "unfit_bytes": 0}, cpu
assert gpu.keys() == cpu.keys() and 1 <= len(gpu["names"]) <= 2 and gpu["unfit_bytes"] == 0, gpu
assert all(len(gpu[key]) == len(gpu["names"]) and min(gpu[key]) > 0 for key in gpu if key not in ("names", "unfit_bytes")), gpu
END
for picture in gantt dag levels; do
  expect 0 '^x\.svg: written$' plot gen:s2d9pt:12 --what $picture --place gpu --repeat 1 --out x.svg
done
"$tristar" plot gen:s2d9pt:12 --what gantt --place gpu --repeat 1 --out x.svg >/dev/null || fail "no Gantt chart"
grep -q 'class="device"' x.svg || fail "no task is drawn as one on a GPU"
grep -q '>GPU 0<' x.svg && grep -q '>on a GPU; buses: .* up, .* down<' x.svg || fail "neither a lane of a GPU nor what crosses its bus"
expect 0 '^x\.svg: written$' plot gen:s2d9pt:12 --what placement --place gpu --out x.svg --json placement.json
grep -q 'class="subtree"' x.svg && grep -q 'class="piece"' x.svg || fail "no subtree on a GPU is drawn"
python3 - <<'END' || fail "subtrees in JSON, and sums over them"
import json
plan = json.load(open("placement.json"))
picture, devices = plan["picture"], plan["devices"]
for key, sums in ("up_bytes", "up_bytes"), ("down_bytes", "down_bytes"), ("bytes", "factor_bytes"):
    assert sum(i[key] for i in picture["items"]) == sum(devices[sums]), (key, picture, devices)
assert picture["devices"] == len(devices["names"]) and all(i["device"] >= 0 and i["predicted_s"] > 0 for i in picture["items"]), picture
END
expect 1 'PLACE_GPU: there are no tasks$' solve gen:s2d9pt:5 --place gpu --engine serial
expect 1 'PLACE_GPU: devices have tasks of chunks only' solve gen:s2d9pt:5 --place gpu --variant push

# Large fronts of the factorization
expect 0 '^ +1 large front on GPUs, .* on their buses$' solve gen:poisson3d27:22 --factor-place gpu --json factor.json
python3 - <<'END' || fail "fronts on devices in JSON"
import json
f = json.load(open("factor.json"))
assert f["device_fronts"] == 1 and f["device_unfit_fronts"] == 0 and f["device_front_flops"] > 1e8 and f["device_front_bytes"] > 0, f
END
expect 0 '^ +no room on a GPU for 1 large front, on the cores$' solve gen:poisson3d27:22 --factor-place gpu --device-bytes 1000000

# A triangle by rows
expect 0 '^devices +CPU [0-9]+[^:]*: all rows, [0-9.]+ [KM]?B of factor, .* up, .* down its bus, 2 transfers$' \
  trisolve gen:s2d9pt:12 --uplo LU --partition levels --place gpu --json triangle.json
row '^accuracy'
python3 - <<'END' || fail "a triangle on a device in JSON"
import json
for sweep in json.load(open("triangle.json"))["sweeps"]:
    d = sweep["devices"]
    assert len(d["names"]) == 1 and d["chunks"] == [1] and d["factor_bytes"] == [8 * sweep["nnz"]] and d["unfit_bytes"] == 0 and d["up_bytes"] == d["down_bytes"] == [8 * 144], d
    assert sweep["way"] == "devices", sweep
END
expect 0 '^accuracy' trisolve gen:s2d9pt:12 --uplo U --partition recursive --place gpu --op T --nrhs 3
expect 0 '^devices +no room for .* of factor, which stay with the cores$' trisolve gen:s2d9pt:12 --uplo L --partition levels --place gpu --device-bytes 500
expect 1 'PLACE_GPU: there are no tasks$' trisolve gen:s2d9pt:12 --uplo L --partition levels --place gpu --engine serial

# A preconditioner
expect 0 '^precond +fsai.*; applied on a GPU$' krylov gen:poisson3d7:5 --precond fsai --place gpu --json krylov.json
row '^accuracy +converged'
expect 0 '^precond +ilu0.*; applied on a GPU$' krylov gen:convdiff3d:5 --precond ilu0 --place gpu
expect 0 '^precond +factor.*; applied on a GPU$' krylov gen:poisson3d7:5 --precond factor --place gpu
expect 1 'PLACE_GPU: JACOBI has neither sweeps nor products$' krylov gen:poisson3d7:5 --precond jacobi --place gpu
expect 1 'products on a device: it has room for 500 bytes, the factors need ' krylov gen:poisson3d7:5 --precond fsai --place gpu --device-bytes 500
expect 2 '--place gpu belongs to a --precond, which none is not$' krylov gen:poisson3d7:5 --precond none --place gpu
python3 - <<'END' || fail "a preconditioner on a device in JSON"
import json
assert json.load(open("krylov.json"))["precond_on_device"] is True
END

# ---- None
tristar=$program
expect 0 '^  (no GPUs: this TriStar, or its StarPU, is built without CUDA and HIP|GPUs by .*: 0)$' env
expect 1 'PLACE_GPU: (this build of TriStar has no devices: its StarPU is without CUDA and HIP|StarPU has no worker of .*)$' \
  solve gen:s2d9pt:5 --place gpu
expect 1 'PLACE_GPU: (this build of TriStar has no devices: its StarPU is without CUDA and HIP|StarPU has no worker of .*)$' \
  trisolve gen:s2d9pt:12 --uplo L --partition levels --place gpu
expect 0 '^accuracy' solve gen:s2d9pt:12 --place auto --checksum
checksum=$(sed -n 's/^checksum *//p' output.txt)
expect 0 "^checksum +$checksum\$" solve gen:s2d9pt:12 --place cpu --checksum
expect 0 "^checksum +$checksum\$" solve gen:s2d9pt:12 --factor-place auto --checksum
expect 1 'PLACE_GPU for the factorization: (this build of TriStar has no devices: its StarPU is without CUDA and HIP|StarPU has no worker of .*)$' \
  solve gen:s2d9pt:5 --factor-place gpu
finish
