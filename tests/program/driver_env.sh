#!/usr/bin/env bash
# driver_env.sh PROGRAM: `tristar env` lists each variable with its value or default and the resources of StarPU here. It
# warns of settings that crash StarPU or have surprising effects, and fails if there is no worker. Works in the current
# folder.
. "$(dirname "$0")/driver.sh"
rm -rf -- *.json file temporary cache .starpu # of an earlier run
unset STARPU_SCHED TRISTAR_CHECK TRISTAR_IDLE TRISTAR_ISA TRISTAR_TRANSPORT

# If OpenBLAS is older than the processor, the report recommends a setting; tristar uses it for itself.
if "$tristar" env | grep -q 'OpenBLAS uses the kernels of a'; then
  expect 0 '^  OpenBLAS uses the kernels of a [A-Za-z0-9]+, .* OPENBLAS_CORETYPE=[A-Za-z]+ for itself' env
  expect 0 '^accuracy' solve gen:s2d9pt:20
  no_row 'OpenBLAS'
  OPENBLAS_CORETYPE=$("$tristar" env | sed -n 's/.*OPENBLAS_CORETYPE=\([A-Za-z]*\) .*/\1/p')
  export OPENBLAS_CORETYPE
fi

# ---- Report
expect 0 '^  TRISTAR_CALIBRATION  += off  ' env
row '^  TRISTAR_CHECK  +default: 0  +1: verify'
row '^  TRISTAR_IDLE  +default: sleep  '
row '^  STARPU_NCPU  += 2  '
row '^  STARPU_SCHED  +default: lws  '
row '^  OPENBLAS_NUM_THREADS  '
row '^StarPU [0-9]+\.[0-9]+\.[0-9]+$'
row '^  2 CPU workers on [12] cores?; scheduler lws; when idle they sleep$'
row '^  worker 0: .*[^ ]'
schedulers=$(sed -n '/^  schedulers: /,$p' output.txt | tr -s '[:space:]' ' ') # on several lines
[[ $schedulers == *' prio '*' lws '* ]] || fail "prio and lws are not among the schedulers:$schedulers"
no_row 'no such variable'
for variable in $(grep -oE '"TRISTAR_[A-Z]+"' "$(dirname "$0")/../../runtime/base/variables.c" | tr -d '"'); do row "^  $variable "; done
TRISTAR_IDLE=poll STARPU_SCHED=prio TRISTAR_CHECK='' expect 0 '; scheduler prio; when idle they poll$' env
row '^  TRISTAR_IDLE  += poll  '

# ---- The affinity mask decides: no worker leaves it
if command -v taskset >/dev/null && [ "$(nproc --all)" -ge 2 ]; then
  for core in 0 1; do
    (unset STARPU_NCPU
      taskset -c $core "$tristar" env >output.txt 2>&1 || fail "taskset -c $core: env failed"
      row '^  1 CPU worker on 1 core; '
      row "^  worker 0: .*core $core$"
      no_row '^  worker 1'
      no_row 'share cores')
  done
  taskset -c 1 "$tristar" env >output.txt 2>&1 || fail "taskset and two workers: env failed"
  row '^  2 CPU workers on 1 core; '
  row '^  2 CPU workers, but this process may run on 1 core: they share cores$'
fi

# ---- More cores than StarPU was compiled for: on any machine, by a topology that hwloc makes up
for cores in 16 64; do
  (unset STARPU_NCPU HWLOC_COMPONENTS # which would take precedence
    HWLOC_SYNTHETIC="pack:1 core:$cores pu:1" STARPU_WORKERS_NOBIND=1 "$tristar" env --json env.json >output.txt 2>&1 ||
      fail "$cores cores: env failed"
    most=$(value starpu_max_workers env.json)
    [ "$(value cores env.json)" = $cores ] || fail "$cores cores, but env.json has $(value cores env.json)"
    [ "$(value cpu_workers env.json)" = $((most < cores ? most : cores)) ] || fail "$cores cores, at most $most workers: $(value cpu_workers env.json)"
    threads=$(value helper_threads env.json)
    [ "$threads" = $((most < cores ? cores - most : 0)) ] || fail "$cores cores, at most $most workers: $threads threads"
    if [ "$most" -lt $cores ]; then
      "$tristar" env >/dev/null # of the machine itself again
      grep -q "may run on $cores cores, but this StarPU was compiled for $most CPU workers at most" env.json || fail "$cores cores: no warning"
    fi)
done

# ---- Processes that start together where StarPU has not measured the machine: one does, the others wait for it
for round in 1 2 3; do
  rm -rf new && mkdir new
  started=()
  for process in 1 2 3 4 5 6; do
    STARPU_HOME=$PWD/new "$tristar" solve gen:s2d9pt:20 --engine tasks >"new/$process.txt" 2>&1 &
    started+=($!)
  done
  for process in 1 2 3 4 5 6; do
    wait "${started[process - 1]}" || fail "round $round: process $process of 6 that started together failed: $(cat "new/$process.txt")"
  done
done
rm -rf new

# ---- Warnings and failures
TRISTAR_IDEL=poll expect 0 '^  TRISTAR_IDEL is set, but TriStar has no such variable$' env
row '^Warnings$'
STARPU_SCHED=nonsense expect 1 "^  StarPU has no scheduler 'nonsense', which STARPU_SCHED asks for " env
row "^tristar: StarPU: StarPU has no scheduler 'nonsense'"
row '^  schedulers:'
STARPU_SCHED=lws expect 0 '^StarPU ' env
no_row '^Warnings$'
for variable in STARPU_NCPU=two STARPU_NCUDA=-1 STARPU_WORKERS_NOBIND=yes 'STARPU_SILENT=1 2'; do
  # shellcheck disable=SC2163 # it is assigned here
  (export "$variable"; expect 1 "^  ${variable%%=*} is \"${variable#*=}\": it must be a whole number that is not negative$" env
    row "^tristar: StarPU: ${variable%%=*} is "
    row '^  schedulers:')
done

while read -r variable text; do
  (export "${variable?}"; expect 1 "^  ${variable%%=*} is \"${variable#*=}\": $text" env
    row "^tristar: StarPU: ${variable%%=*} is "
    expect 1 "^tristar: .*${variable%%=*} is \"${variable#*=}\": $text" solve gen:s2d9pt:20 --engine tasks)
done <<'EOF'
STARPU_NCPU=1000000000000 StarPU reads whole numbers up to 2147483647
STARPU_WATCHDOG_TIMEOUT=never it must be a number
STARPU_WORKERS_CPUID= it must be a list of whole numbers that are not negative
STARPU_WORKERS_CPUID=all it must be a list
STARPU_WORKERS_CPUID=0,-1 it must be a list
STARPU_WORKERS_COREID=-5 it must be a list
STARPU_WORKERS_OPENCLID=x it must be a list
STARPU_WORKERS_CPUID=0,1-99999 this StarPU reads lists of fewer than [0-9]+ numbers
STARPU_MAIN_THREAD_CPUID=99999 this machine allows 0 to [0-9]+
STARPU_MAIN_THREAD_COREID=99999 this machine allows 0 to [0-9]+
STARPU_NTHREADS_PER_CORE=0 this machine allows 1 to [0-9]+
STARPU_NTHREADS_PER_CORE=99 this machine allows 1 to [0-9]+
STARPU_HOSTNAME=a/b StarPU makes file names of it
EOF
for list in 0 '0 0' 0,0 0-0 0- '0 x'; do
  STARPU_NCPU=1 STARPU_WORKERS_CPUID=$list expect 0 '^StarPU ' env
done
(unset STARPU_NCPU
  STARPU_MAIN_THREAD_BIND=1 expect 0 '^StarPU ' env
  no_row 'was compiled for')

# The folder of performance models: a file is in its place; /proc takes no folders, even from root. A private folder
# serves, and the calibration that is there stays in use.
touch file
mkdir -p temporary cache/.starpu/tristar
touch cache/.starpu/sampling
calibration=$PWD/cache/.starpu/tristar/here.calibration
printf '%s\n' 'tristar-calibration 1' 'task_ns 20000' 'barrier_ns 0' 'read_one_core_mb_per_s 10000' 'read_all_cores_mb_per_s 0' \
  'workers 0' 'cores 0' 'numa_nodes 0' 'l2_bytes 0' 'l3_bytes 0' 'l3_cores 0' >"$calibration"
for home in "$PWD/file" /proc/nothing; do
  for variable in XDG_CACHE_HOME STARPU_HOME HOME; do
    unset XDG_CACHE_HOME STARPU_HOME
    (export TMPDIR=$PWD/temporary HOME=$PWD "$variable=$home"
      expect 0 "^tristar: warning: StarPU cannot make its folder $home/.starpu/sampling/codelets(/45)? \\(.*\\): set STARPU_HOME .*; for now $PWD/temporary/tristar-[0-9]+ serves$" env
      row '^  StarPU cannot make its folder '
      expect 0 '^accuracy' solve gen:s2d9pt:20 --engine tasks
      row '^tristar: warning: StarPU cannot make '
      expect 0 '^accuracy' solve gen:s2d9pt:20 --engine serial
      no_row 'warning')
  done
done
(unset TRISTAR_CALIBRATION
  export XDG_CACHE_HOME=$PWD/cache STARPU_HOSTNAME=here TMPDIR=$PWD/temporary
  expect 0 "^ +\\(measured, $calibration\\)\$" info gen:s2d9pt:20
  row '^tristar: warning: StarPU cannot make .*/cache/.starpu/sampling/codelets ')
HOME=/proc/nothing TMPDIR=/proc/nothing expect 1 '^tristar: .*StarPU cannot make .*: set STARPU_HOME to a folder that can be written$' solve gen:s2d9pt:20 --engine tasks
HOME=/proc/nothing TMPDIR=/proc/nothing expect 1 '^tristar: StarPU: StarPU cannot make ' env
# No room there (files of a size above 0 cannot be written), and files that a StarPU could not complete: StarPU ends the
# program then.
mkdir -p full cut/.starpu/sampling/bus
(trap '' XFSZ; ulimit -f 0; HOME=$PWD/full TMPDIR=/proc/nothing "$tristar" solve gen:s2d9pt:20 --engine tasks 2>&1) | cat >output.txt
row '^tristar: .*StarPU cannot write to its folder .*/full/.starpu/sampling/[a-z]* \(.*\): set STARPU_HOME to a folder that can be written$'
for content in '' '# Current'; do
  printf '%s' "$content" >cut/.starpu/sampling/bus/here.config
  (export STARPU_HOSTNAME=here HOME=$PWD/cut
    TMPDIR=$PWD/temporary expect 0 '^tristar: warning: the file .*/here.config of StarPU is empty or cut off: remove it; for now .* serves$' solve gen:s2d9pt:20 --engine tasks
    row '^accuracy'
    TMPDIR=/proc/nothing expect 1 '^tristar: .*here.config of StarPU is empty or cut off: remove it$' solve gen:s2d9pt:20 --engine tasks)
done
chmod 0777 temporary/tristar-*
HOME=/proc/nothing TMPDIR=$PWD/temporary expect 1 '^tristar: .*StarPU cannot make ' solve gen:s2d9pt:20 --engine tasks
export STARPU_HOME=$PWD
STARPU_NCPU=3 STARPU_WORKERS_CPUID=0 expect 0 '^  3 CPU workers are bound to 1 core: they share cores$' env
STARPU_NCPU=0 expect 1 '^  STARPU_NCPU=0: no CPU worker, so nothing can be solved with tasks$' env
row '^tristar: StarPU: '
row '^  TRISTAR_CHECK  '
TRISTAR_IDLE=snore expect 1 'TRISTAR_IDLE is "snore", not sleep, doze or poll' env
row '^  TRISTAR_IDLE  += snore  '
TRISTAR_ISA=pdp11 expect 1 'TRISTAR_ISA is "pdp11", not an instruction set of this processor .*; the best is [a-z0-9]+$' env

# ---- Kernels of every instruction set that there is
for isa in base avx2 avx512; do
  if TRISTAR_ISA=$isa "$tristar" env >output.txt 2>&1; then
    TRISTAR_ISA=$isa expect 0 "kernels $isa," solve gen:poisson3d7:8 --nrhs 11 --verbose
  else
    row "TRISTAR_ISA is \"$isa\""
  fi
done

# ---- JSON
TRISTAR_IDLE=poll expect 0 '^' env --json env.json
TRISTAR_IDEL=1 expect 0 '^{' env --json -
no_row '^Variables'
if command -v python3 >/dev/null; then
  python3 - <<'END' || fail "env.json"
import json
figures = json.load(open("env.json"))
variables = {v["name"]: v for v in figures["variables"]}
assert variables["TRISTAR_IDLE"]["value"] == "poll" and "value" not in variables["TRISTAR_CHECK"]
assert all(v["description"] for v in variables.values()) and len(variables) == len(figures["variables"])
assert figures["scheduler"] == "lws" and "lws" in figures["schedulers"] and figures["cpu_workers"] == len(figures["workers"]) == 2
assert figures["idle_sleep"] is False and figures["status"] == "TRISTAR_OK"
output = json.load(open("output.txt"))
assert output["warnings"] == ["TRISTAR_IDEL is set, but TriStar has no such variable"] or len(output["warnings"]) > 1
END
fi
value starpu_version env.json | grep -qE '^[0-9.]+$' || fail "no starpu_version in env.json"

# ---- A scheduler of StarPU 1.3 whose tasks may never end, chosen by any way
if value starpu_version env.json | grep -q '^1\.3\.' && "$tristar" env | grep -q 'modular-heteroprio-heft'; then
  STARPU_SCHED=modular-heteroprio-heft expect 0 'warning: the scheduler modular-heteroprio-heft of StarPU 1.3 may never end' env
  row 'STARPU_SCHED=modular-heteroprio-heft: with StarPU 1.3 its tasks may never end'
fi

# ---- Wrong usage
expect 0 '^usage: tristar env ' env --help
expect 0 '^  TRISTAR_IDLE ' --help
expect 2 'unexpected argument: gen:s2d9pt:5' env gen:s2d9pt:5
expect 1 'cannot write no/such/folder/x' env --json no/such/folder/x

finish
