#!/usr/bin/env bash
# driver_store.sh PROGRAM: --store, --compress and --accuracy: the same bits from all engines, bytes and errors by format,
# the choice of AUTO, and invalid calls. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -f -- *.json *.tristar # of an earlier run
problem=gen:convdiff3d:12

# solve ARGUMENT...: writes store.json.
solve() {
  rm -f store.json
  "$tristar" solve "$@" --json store.json >report.txt || fail "tristar solve $*"
}

# holds CONDITION: an awk condition of numbers.
holds() {
  awk "BEGIN { exit !($1) }" || fail "not $1"
}

# ---- Formats
solve $problem
full=$(value stream_bytes store.json)
[ "$(value storage store.json)" = full ] && [ -z "$(value storage_bytes store.json)" ] || fail "storage without --store"
for store in s b; do
  for op in N T C; do
    solve $problem --store $store --op $op --engine serial
    reference=$(value checksum store.json)
    solve $problem --store $store --op $op --engine tasks --repeat 2
    [ "$(value checksum store.json)" = "$reference" ] || fail "--store $store --op $op: other bits with tasks"
  done
  share=$([ $store = s ] && echo 0.5 || echo 0.25)
  holds "$(value stream_bytes store.json) == $share * $full"
  holds "$(value storage_bytes store.json) > 0 && $(value storage_saved_bytes store.json) > 0"
  holds "$(value initial_backward_error store.json) > 1e-10 && $(value backward_error store.json) < 1e-14"
  grep -q '^storage ' report.txt || fail "no line about the storage in the report"
done
[ "$(value storage store.json)" = bfloat16 ] || fail "--store b: $(value storage store.json)"
[ "$(value bfloat16 store.json)" -gt 0 ] && [ "$(value single store.json)" -eq 0 ] || fail "storage_panels"

# ---- Compression
large=gen:poisson3d7:20
for op in N C; do
  solve $large --compress 1e-4 --op $op --engine serial
  reference=$(value checksum store.json)
  solve $large --compress 1e-4 --op $op --engine tasks --repeat 2
  [ "$(value checksum store.json)" = "$reference" ] || fail "--compress --op $op: other bits with tasks"
done
holds "$(value compressed_panels store.json) > 0 && $(value low_rank_blocks store.json) > 0"
holds "$(value storage_bytes store.json) < $(value storage_saved_bytes store.json)"
holds "$(value initial_backward_error store.json) > 1e-9 && $(value initial_backward_error store.json) < 1e-3"
holds "$(value backward_error store.json) < 1e-14"
grep -q '^storage .*compressed .* released' report.txt || fail "no line about the compression in the report"
grep -q '"factor_released":[[:space:]]*true' store.json || fail "the factor was not released"
solve $large --compress 1e-4 --accuracy 1e-10 --save plan.tristar
grep -q '"factor_released":[[:space:]]*false' store.json || fail "the factor was released before it was saved"
reference=$(value checksum store.json)
solve plan.tristar
[ "$(value checksum store.json)" = "$reference" ] || fail "the loaded plan is compressed otherwise"
"$tristar" solve plan.tristar --compress 1e-3 >/dev/null 2>&1 && fail "--compress of a saved plan"
for tolerance in 0 1 -1 nan inf x; do
  "$tristar" solve $problem --compress $tolerance >/dev/null 2>message.txt && fail "--compress $tolerance"
  grep -q -e '--compress' message.txt || fail "--compress $tolerance: $(cat message.txt)"
done
"$tristar" solve $problem --compress 1e-3 --variant spmv >/dev/null 2>message.txt && fail "--compress with spmv"
grep -q 'plans with KERNEL_SPMV read the factor itself' message.txt || fail "spmv: $(cat message.txt)"

# ---- Accuracy
for case in 0.5:bfloat16 1e-5:single 1e-10:full; do
  solve $problem --accuracy "${case%%:*}"
  [ "$(value storage store.json)" = "${case#*:}" ] || fail "--accuracy ${case%%:*}: $(value storage store.json)"
  holds "$(value backward_error store.json) <= ${case%%:*} && $(value tolerance store.json) == ${case%%:*}"
done
solve $problem --accuracy 1e-13 --store b
holds "$(value backward_error store.json) <= 1e-13"
"$tristar" solve $problem --accuracy 1e-30 --store s >/dev/null 2>message.txt && fail "--accuracy 1e-30 was reached"
grep -q 'above the tolerance' message.txt || fail "--accuracy 1e-30: $(cat message.txt)"

# ---- A saved plan has its storage
solve $problem --store s --save plan.tristar
reference=$(value checksum store.json)
solve plan.tristar
[ "$(value checksum store.json)" = "$reference" ] && [ "$(value storage store.json)" = single ] || fail "the loaded plan"
"$tristar" solve plan.tristar --store d >/dev/null 2>&1 && fail "--store of a saved plan"

# ---- What is refused
for arguments in '--precision s' '--precision sd' '--variant spmv' '--place gpu'; do
  "$tristar" solve $problem --store s $arguments >/dev/null 2>message.txt && fail "--store s $arguments" # several words
  grep -q 'storage in single precision' message.txt || fail "--store s $arguments: $(cat message.txt)"
done
"$tristar" solve $problem --store q >/dev/null 2>&1 && fail "--store q"
finish
