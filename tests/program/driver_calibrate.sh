#!/usr/bin/env bash
# driver_calibrate.sh PROGRAM: `tristar calibrate`, the calibration in `tristar info`, and the line about StarPU in `tristar
# solve --report`. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -rf -- *.txt *.json file.calibration blocked home # of an earlier run
unset XDG_CACHE_HOME TRISTAR_CALIBRATION
export STARPU_HOME=$PWD/home STARPU_HOSTNAME=here
mkdir home

# ---- Defaults
expect 0 '^chunks +of 400 KB to 800 KB$' info gen:s2d9pt:60
row '^ +a task takes 1\.80 us; in the time of 16 tasks one core reads about 400 KB$'
row '^ +\(defaults; `tristar calibrate` measures this machine\)$'
row '^machine +[0-9]+ cores?, [0-9]+ NUMA nodes?'
expect 0 '^chunks +of 2\.00 KB to 4\.00 KB, as requested$' info gen:s2d9pt:60 --chunk-bytes 4000
row '^ +overhead of tasks in addition: [0-9.]+ % of the sum, for [0-9,]+ tasks$'
expect 0 '"source":[[:space:]]*"defaults"' info gen:s2d9pt:60 --json -
row '"floor_bytes":[[:space:]]*400000,'

# ---- Measured
file=$PWD/home/.starpu/tristar/here.calibration
[ ! -e "$file" ] || fail "$file is there before anybody asked for it"
expect 0 "^written +$file\$" calibrate --json all.json
grep -q '"status":[[:space:]]*"TRISTAR_OK"' all.json || fail "all.json: no status"
row '^machine +[0-9]+ cores?, [0-9]+ NUMA nodes?'
row '^task +[0-9.]+ us: submitted and run by StarPU, on 2 workers$'
row '^barrier +[0-9.]+ us from one level of 2 tasks to the next$'
row '^reading +[0-9.]+ GB/s by one core, [0-9.]+ GB/s by 2$'
row '^products +[0-9]+\.[0-9] GF/s by one core, of dense matrices$'
row '^chunks +of [0-9.]+ [KM]B and more'
row '^devices +none: (StarPU has no worker of a GPU|this build drives no GPUs)$'
row '^measured +[0-9]+ times; the best two differ by [0-9.]+ %'
[ "$(head -n 1 "$file")" = 'tristar-calibration 1' ] || fail "$file is no calibration"
[ "$(ls home/.starpu/tristar)" = here.calibration ] || fail "temporary files are left"
expect 0 "^ +\\(measured, $file\\)\$" info gen:s2d9pt:60
before=$(cat "$file")
expect 0 '^predicted .* from memory: ' info gen:s2d9pt:60
! grep -n ' $' output.txt || fail "info ends lines with blanks"
[ "$(cat "$file")" = "$before" ] || fail "info changed the calibration"
sed -i 's/^task_ns .*/task_ns 20000/; s/^read_one_core_mb_per_s .*/read_one_core_mb_per_s 10000/' "$file"
expect 0 '^chunks +of 3\.20 MB to 6\.40 MB$' info gen:s2d9pt:60
TRISTAR_CALIBRATION=off expect 0 '^chunks +of 400 KB to 800 KB$' info gen:s2d9pt:60
mv "$file" file.calibration
sed -i 's/^task_ns .*/task_ns 90000/; s/^read_one_core_mb_per_s .*/read_one_core_mb_per_s 90000/' file.calibration
TRISTAR_CALIBRATION=file.calibration expect 0 '^written +file.calibration$' calibrate --workers 1
row '^ +before of 3\.20 MB and more: results of later plans have other rounding errors$'
echo nonsense >file.calibration
TRISTAR_CALIBRATION=file.calibration expect 0 'calibration: file.calibration:1: .*default' info gen:s2d9pt:60
cat all.json >output.txt
row '"source":[[:space:]]*"measured"'
row '"task_us":[[:space:]]*[0-9.]+,'
row '"multiply_one_core_gflops":[[:space:]]*[0-9.]*[1-9]'
row '"trusted":[[:space:]]*(true|false),'
row '"attempts":[[:space:]]*[0-9]+,'
row '"spread":[[:space:]]*[0-9.e-]+,'
row '"floor_bytes_before":[[:space:]]*[0-9]+'

# ---- Other processes use the cores: a message recommends what to do. Nothing is written
export TRISTAR_CALIBRATION=off TRISTAR_SHORT_RATES=0
if [ -r /proc/stat ] && [ "$(nproc)" -le 8 ]; then
  busy=()
  for _ in $(seq "$(nproc)"); do
    timeout 100 sh -c 'while :; do :; done' &
    busy+=($!)
  done
  expect 0 '^tristar: warning: calibration: the figures cannot be trusted: .*other processes used [0-9.]+ cores?.*calibrate again' \
    calibrate --json busy.json
  row 'not written: the calibration is off'
  row '^ +unreliable: calibrate again on an idle machine$'
  cat busy.json >output.txt
  row '"trusted":[[:space:]]*false,'
  row '"other_cores":[[:space:]]*[0-9.]+,'
  row '"task_us":[[:space:]]*[0-9.]*[1-9]'
  row '"read_one_core_gbps":[[:space:]]*[0-9.]*[1-9]'
  kill "${busy[@]}"
  wait 2>/dev/null
else
  expect 0 'not written: the calibration is off' calibrate
fi
unset TRISTAR_CALIBRATION
export TRISTAR_SHORT_RATES=1

# ---- Failures
expect 2 'unexpected argument' calibrate gen:s2d9pt:60
expect 2 'unknown or ambiguous option --nrhs' calibrate --nrhs 2
expect 0 '^usage: tristar calibrate' calibrate --help
touch blocked
TRISTAR_CALIBRATION=blocked/x expect 1 '^tristar: calibration: cannot write blocked/x: ' calibrate --json -
row '"status":[[:space:]]*"TRISTAR_ERR_IO"'

# ---- StarPU's share
expect 0 '^StarPU +[0-9.]+ % of the workers. time is not spent in kernels \(profiled over [0-9]+ solves?\)$' \
  solve gen:s2d9pt:200 --engine tasks --report --repeat 3
row '^workers +2 workers in the latest solve, '
row ' of their time in tasks: each worker is busy for '
expect 0 '"latest_solve":' solve gen:s2d9pt:30 --json -
expect 0 '"outside_share":[[:space:]]*[0-9.e-]+,' solve gen:s2d9pt:200 --report --json - --chunk-bytes 100000
expect 0 '^accuracy' solve gen:s2d9pt:9 --report
no_row '^StarPU' # a plan without tasks

finish
