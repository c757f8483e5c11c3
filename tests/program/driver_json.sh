#!/usr/bin/env bash
# driver_json.sh PROGRAM [MPIEXEC FLAG... --]: the guide (tools/doc/guide/json.md) has exactly the keys that the program
# writes as JSON. Works in the current folder.
program=$1
shift
mpiexec=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do mpiexec+=("$1"); shift; done
guide=$(cd "$(dirname "$0")/../../tools/doc/guide" && pwd)
set -- "$program"
. "$(dirname "$0")/driver.sh"
rm -rf -- *.json *.txt # of an earlier run
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }

# write FILE ARGUMENT...: the exit status does not matter.
write() { "$tristar" "${@:2}" --json "$1" >output.txt 2>&1 </dev/null || [ -s "$1" ] || fail "tristar ${*:2}: no $1"; }
echo 1 3 >rows.txt
write solve-1.json solve gen:s2d9pt:100 --engine tasks --repeat 3 --report --condition --forward-error --variant push
write solve-2.json solve gen:s2d9pt:40 --repeat 4 --in-flight 2 --fuse 2 --store b
write solve-3.json solve gen:s2d9pt:40 --rows rows.txt
write solve-8.json solve gen:poisson3d7:16 --compress 1e-3
write solve-4.json solve missing.mtx
write solve-5.json solve gen:s2d9pt:40 --precision sd
python3 - solve-5.json <<'END' || fail "solve-5.json: errors before and after refinement"
import json, sys
r = json.load(open(sys.argv[1]))
assert r["initial_backward_error"] > 1e-10 and r["backward_error"] < 1e-14 and r["refinement_steps"] > 0, r
END
# Entries (1,2) and (2,1): with different last digits, only one of them, equal.
for pair in '1 2 1|2 1 1.0000000000000002' '1 2 1|2 2 0' '1 2 1|2 1 1'; do
  entries=('1 1 4' '1 3 1' '3 1 1' '2 2 4' '2 3 1' '3 2 1' '3 3 4' "${pair%|*}" "${pair#*|}")
  printf '%s\n' '%%MatrixMarket matrix coordinate real general' '3 3 9' "${entries[@]}" >pair.mtx
  "$tristar" solve pair.mtx --json solve-6.json >output.txt || fail "a pair of entries: $pair"
  grep -E 'symmetric up to rounding|without an entry' output.txt
  python3 -c 'import json; r = json.load(open("solve-6.json")); print(r["method"], r["rounded"], r["missing_mirrors"])'
done >pairs.txt
diff pairs.txt - <<'END' || fail "the report of rounded and of missing entries"
          symmetric up to rounding: one entry of each pair (i, j), (j, i) is factored
llt True 0
          entries (i, j) without an entry (j, i): 1
lu False 1
llt False 0
END
write solve-7.json solve gen:s2d9pt:40 --inertia --determinant --null-space null.mtx --inverse-diagonal diagonal.mtx
write trisolve-1.json trisolve gen:s2d9pt:40 --uplo LU
write trisolve-2.json trisolve missing.mtx
write krylov-1.json krylov gen:convdiff3d:8 --precond ilu0
write krylov-2.json krylov gen:s2d9pt:20 --method fgmres --precond factor --nrhs 2
write krylov-4.json krylov gen:s2d9pt:20 --method block-cg --nrhs 2
write krylov-3.json krylov missing.mtx
seq 41 80 >line.txt
write schur-1.json schur gen:s2d9pt:40 --unknowns line.txt
write schur-2.json schur missing.mtx --unknowns line.txt
write inverse-1.json inverse gen:s2d9pt:40 --diagonal
write batch-1.json batch gen:s2d9pt:9 gen:s2d9pt:9 gen:s2d9pt:9
write info-1.json info gen:s2d9pt:40
write info-2.json info gen:s2d9pt:40 --variant spmv
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '3 3 4' '1 1 2' '2 1 1' '2 2 4' '3 3 1' >lower.mtx
write lower-1.json info lower.mtx
write trisolve-3.json solve lower.mtx --report
write spread-1.json info lower.mtx --gpu V100 --devices 2 --tasks-per-gpu 1
write gpu-1.json info gen:s2d9pt:40 --gpu MI250X --devices 2
write layout-1.json info gen:s2d9pt:40 --layout 2x1x2
write gpus-1.json info gen:s2d9pt:40 --gpu A100 --layout 2x1x2
write counts-1.json info gen:poisson3d7:8 --ranks 8
write layout-2.json info missing.mtx --layout 2x1x2
write simulated-1.json simulate gen:s2d9pt:40 --ranks 4
write simulated-2.json simulate missing.mtx --ranks 4
write simulated-3.json simulate gen:s2d9pt:40 --ranks 4 --factorization
write curves-1.json simulate gen:s2d9pt:40 --ranks 2,4
write calibrate-1.json calibrate
TRISTAR_CALIBRATION=rows.txt/x write calibrate-2.json calibrate
write env-1.json env
STARPU_NCPU=0 write env-2.json env
for what in gantt dag levels roofline rhs scaling memory tree spy communication; do
  case $what in spy | communication) layout=(--layout 2x2x1) ;; *) layout=() ;; esac
  write "plot-$what.json" plot gen:s2d9pt:100 --what $what --engine tasks --repeat 2 --out x.svg "${layout[@]}"
done
write plot-refinement.json plot gen:s2d9pt:40 --what refinement --precision sd --out x.svg
write plot-reuse.json plot gen:s2d9pt:40 --what reuse --out x.svg
echo '{"gen:s2d9pt:4": {"new": [{"ranks": 2, "pz": 1, "simulated_s": 1, "compute_s": {"mean": 1, "min": 1, "max": 1}}]}}' >study.txt
write plot-study.json plot study --from study.txt --out x.svg
echo '{"L.mtx": [{"machine": "DGX-1", "gpus": 4, "tasks_per_gpu": 8, "published_s": 1, "published_one_gpu_s": 1}]}' >gpus.txt
write plot-study-gpus.json plot study --from gpus.txt --out x.svg
write plot-placement.json plot gen:s2d9pt:40 --what placement --gpu H100 --out x.svg
peer=none # their keys are alike
[ ! -x "$(dirname "$tristar")/tools/peers/cholmod_solve" ] || peer=cholmod
write bench-1.json bench gen:s2d9pt:80 gen:s2d9pt:20 --peers $peer --rounds 1 --repeat 2 --variants levels --sched lws,eager --workers 2 --nrhs 1,8
rm -rf slow
mkdir slow
script slow/mumps_solve 'sleep 100'
TRISTAR_PEERS=$PWD/slow write bench-2.json bench gen:s2d9pt:20 --quick --limit 2 --peers mumps
write fsai-1.json bench --fsai gen:diffusion3d:5 gen:kkt3d:3 --rounds 1 --repeat 2 --ranks 1
write triangles-1.json bench --triangular gen:chain:20 --rounds 1 --repeat 2 --workers 2 --orders natural --of matrix,ic0
if [ ${#mpiexec[@]} -gt 0 ]; then
  "${mpiexec[@]}" -n 2 "$(dirname "$0")/../mpi/mpi_rank.sh" "$tristar" solve gen:s2d9pt:40 --layout 1x1x2 --condition --forward-error \
    --inverse-diagonal diagonal.mtx --json processes-1.json >output.txt 2>&1 </dev/null || { fail "two processes"; cat output.txt >&2; }
  printf '3\n400 7\n' >rows.txt
  "${mpiexec[@]}" -n 2 "$(dirname "$0")/../mpi/mpi_rank.sh" "$tristar" solve gen:s2d9pt:40 --layout 1x1x2 --rows rows.txt --in-flight 2 --repeat 4 \
    --json processes-2.json >output.txt 2>&1 </dev/null || { fail "few rows on two processes"; cat output.txt >&2; }
  "${mpiexec[@]}" -n 2 "$(dirname "$0")/../mpi/mpi_rank.sh" "$tristar" solve gen:s2d9pt:40 --layout auto --solves 2 --json processes-3.json \
    >output.txt 2>&1 </dev/null || { fail "a layout of the program's choice"; cat output.txt >&2; }
  "${mpiexec[@]}" -n 2 "$(dirname "$0")/../mpi/mpi_rank.sh" "$tristar" krylov gen:s2d9pt:40 --precond ic0 --json ranks-1.json \
    >output.txt 2>&1 </dev/null || { fail "krylov on two processes"; cat output.txt >&2; }
  "${mpiexec[@]}" -n 2 "$(dirname "$0")/../mpi/mpi_rank.sh" "$tristar" schur gen:s2d9pt:40 --unknowns line.txt --layout 2x1x1 \
    --json complement-1.json >output.txt 2>&1 </dev/null || { fail "schur on two processes"; cat output.txt >&2; }
  "${mpiexec[@]}" -n 2 "$(dirname "$0")/../mpi/mpi_rank.sh" "$tristar" inverse gen:s2d9pt:9 --diagonal --layout 2x1x1 \
    --json variances-1.json >output.txt 2>&1 </dev/null || { fail "inverse on two processes"; cat output.txt >&2; }
fi

python3 - "$guide/json.md" <<'END' || fail "$guide/json.md and what the program writes differ"
import glob, json, re, sys

RANGE = {"total", "min", "mean", "max"}
MESSAGES = {"sent", "received", "sent_bytes", "received_bytes"}
LISTS = ("cases[].contenders[].rounds", "triangles[].contenders[].rounds", "cases[].dgemm_rounds")  # of files of their own

# The parts of a file that each kind of run writes.
PARTS = {"solve": ("Common to solve and info", "Common to plans", "solve"),
         "trisolve": ("Common to solve and info", "trisolve"),
         "lower": ("Common to solve and info", "trisolve"),
         "spread": ("Common to solve and info", "trisolve", "info of a triangle"),
         "krylov": ("Common to solve and info", "krylov"),
         "ranks": ("Common to solve and info", "krylov", "krylov on many processes"),
         "schur": ("Common to solve and info", "schur"),
         "complement": ("Common to solve and info", "schur", "schur on many processes"),
         "inverse": ("Common to solve and info", "Common to plans", "inverse"),
         "variances": ("Common to solve and info", "inverse on many processes"),
         "batch": ("Common to solve and info", "batch"),
         "info": ("Common to solve and info", "Common to plans", "info"),
         "gpu": ("Common to solve and info", "Common to plans", "info", "info --gpu"),
         "layout": ("Common to solve and info", "info --layout"),
         "gpus": ("Common to solve and info", "info --layout", "info --gpu --layout"),
         "simulated": ("Common to solve and info", "simulate --ranks"),
         "curves": ("Common to solve and info", "simulate --ranks P,Q"),
         "counts": ("Common to solve and info", "info --ranks"),
         "processes": ("Common to solve and info", "solve on many processes"),
         "calibrate": ("calibrate",), "env": ("env",), "bench": ("bench",),
         "triangles": ("bench --triangular",), "fsai": ("bench --fsai",),
         "plot": ("Common to solve and info", "Common to plans", "plot")}


def keys(value, path, found):
    if isinstance(value, dict) and value and set(value) not in (RANGE, MESSAGES):
        for key, inner in value.items():
            keys(inner, path + "." + key if path else key, found)
    elif isinstance(value, list) and path not in LISTS and any(isinstance(inner, dict) for inner in value):
        for inner in value:
            keys(inner, path + "[]", found)
    else:
        found.add(path)


documented, optional, part = {}, set(), None
for number, line in enumerate(open(sys.argv[1]), 1):
    if line.startswith("## "):
        part = line[3:].strip()
        documented[part] = {}
    row = re.match(r"\| (`.*`) \| (.*) \|$", line)
    if row is None:
        continue
    for key in re.findall(r"`([^`]+)`", row[1]):
        if key in documented[part]:
            print("json.md:%d: %s is there twice" % (number, key))
            sys.exit(1)
        documented[part][key] = number
        if row[2].startswith("optional:"):
            optional.add((part, key))

wrong = 0
written = {part: set() for part in documented}
for path in sorted(glob.glob("*.json")):
    found = set()
    keys(json.load(open(path)), "", found)
    parts = PARTS[path.split("-")[0]]
    if "info" in parts:  # described once, where it is made
        found = {"calibration" if key.startswith("calibration.") else key for key in found}
    for key in sorted(found):
        there = [part for part in parts if key in documented[part]]
        for part in there:
            written[part].add(key)
        empty = any(known.startswith(key + "[].") for part in parts for known in documented[part])
        if not there and not empty:
            print("%s: %s is not in json.md" % (path, key))
            wrong += 1
run = {part for path in glob.glob("*.json") for part in PARTS[path.split("-")[0]]}
for part in documented:
    for key, number in documented[part].items():
        if part in run and key not in written[part] and (part, key) not in optional:
            print("json.md:%d: no run has written %s" % (number, key))
            wrong += 1
sys.exit(wrong > 0)
END
finish
