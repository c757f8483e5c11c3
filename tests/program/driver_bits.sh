#!/usr/bin/env bash
# driver_bits.sh PROGRAM: all schedulers, numbers of workers and legal orders give the same bits; a written X as right-hand
# side; the keys of the JSON. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -f -- *.json *.mtx *.mtx.gz # of an earlier run
problem=(gen:convdiff3d:12 --chunk-bytes 30000)

# bits ARGUMENT...: prints the checksum.
bits() {
  rm -f bits.json
  "$tristar" solve "${problem[@]}" "$@" --json bits.json >/dev/null || fail "tristar solve ${problem[*]} $*"
  value checksum bits.json
}

# ---- Bits
reference=$(STARPU_NCPU=1 bits --engine tasks --repeat 2)
[ ${#reference} -eq 16 ] || fail "no checksum: '$reference'"
[ "$(value chunks bits.json | head -n 1)" -gt 20 ] || fail "the problem has too few chunks to prove anything: $(value chunks bits.json)"
for workers in 1 2; do
  for scheduler in eager lws prio dmda dmdas; do
    found=$(STARPU_NCPU=$workers STARPU_SCHED=$scheduler bits --repeat 3)
    [ "$found" = "$reference" ] || fail "$scheduler, $workers workers: $found, not $reference"
    [ "$(value scheduler bits.json)" = $scheduler ] || fail "the scheduler was $(value scheduler bits.json), not $scheduler"
    [ "$(value workers bits.json)" -eq $workers ] || fail "$(value workers bits.json) workers, not $workers"
    [ "$(value tasks bits.json)" -gt $((20 * workers - 20)) ] || fail "too few tasks to prove anything: $(value tasks bits.json)"
  done
done
for seed in 0 1 2 3 4294967295; do
  found=$(bits --engine serial --order-seed $seed)
  [ "$found" = "$reference" ] || fail "serial, seed $seed: $found, not $reference"
done
for run in '--in-flight 2 --repeat 2' '--in-flight 5 --repeat 12' '--in-flight 3 --repeat 3 --engine serial'; do
  found=$(bits $run) # several words
  [ "$found" = "$reference" ] || fail "$run: $found, not $reference"
done
[ "$(value in_flight bits.json)" -eq 3 ] && [ -n "$(value solves_per_s bits.json)" ] || fail "in_flight, solves_per_s"
[ "$(bits --nrhs 2)" != "$reference" ] || fail "the checksum does not see the right-hand sides"

# ---- Bits of fused solves: the same as of separate solves
reference=$(STARPU_NCPU=1 bits --engine tasks --fuse 8)
for run in '--in-flight 8 --repeat 24' '--in-flight 8 --repeat 8 --engine serial'; do
  found=$(bits --fuse 8 $run) # several words
  [ "$found" = "$reference" ] || fail "--fuse 8 $run: $found, not $reference"
done
[ "$(value fuse_columns bits.json)" -eq 8 ] && [ -n "$(value fused bits.json)" ] && [ -n "$(value fused_passes bits.json)" ] ||
  fail "fuse_columns, fused, fused_passes"

# ---- Bits of another type and operation
reference=$(STARPU_NCPU=1 bits --precision z --op C --engine tasks)
[ "$(value precision bits.json)$(value op bits.json)" = zC ] || fail "precision, op: $(value precision bits.json), $(value op bits.json)"
[ "$(value chunks bits.json | head -n 1)" -gt 20 ] || fail "the complex problem has too few chunks: $(value chunks bits.json)"
for run in '--engine serial --order-seed 3' '--workers 2 --repeat 3'; do
  found=$(bits --precision z --op C $run) # several words
  [ "$found" = "$reference" ] || fail "--precision z --op C $run: $found, not $reference"
done
[ "$(value tasks bits.json)" -gt 20 ] || fail "the complex problem has too few tasks: $(value tasks bits.json)"
[ "$(bits --precision z --op N)" != "$reference" ] || fail "the checksum does not see --op"

# ---- Bits of the treatments of diagonal blocks
for inverse in none partitioned; do
  reference=$(bits --variant inverse-$inverse --engine serial)
  [ "$(value variant bits.json)" = inverse-$inverse ] || fail "variant: $(value variant bits.json)"
  found=$(bits --variant inverse-$inverse --workers 2 --engine tasks --repeat 3)
  [ "$found" = "$reference" ] || fail "--variant inverse-$inverse: $found, not $reference"
  [ "$(bits)" != "$reference" ] || fail "--variant inverse-$inverse changes nothing"
done

# ---- X as B: A^2 y = b, then A (A y) = b
"$tristar" solve gen:s2d9pt:20 --out x.mtx.gz >/dev/null && "$tristar" solve gen:s2d9pt:20 --rhs x.mtx.gz --out y.mtx >/dev/null ||
  fail "--out is not readable as --rhs"
[ "$(wc -l <y.mtx)" -eq 403 ] || fail "y.mtx has $(wc -l <y.mtx) lines"
"$tristar" solve gen:s2d9pt:20 --nrhs 3 --out x3.mtx >/dev/null && [ "$(sed -n 3p x3.mtx)" = '400 3' ] ||
  fail "x3.mtx does not hold three columns"

# ---- JSON
"$tristar" solve gen:circuit:3000 --repeat 3 --report --condition --json - >solve.json || fail "--json -"
for key in matrix precision op tolerance n nnz method ordering matched nnz_factor stored_factor supernodes panels chunks slices tasks workers \
  scheduler read_s analyze_s factor_s plan_s solve_s solve_min_s solve_gbps factor_gflops initial_backward_error \
  backward_error refinement_steps rcond perturbed_pivots peak_rss_bytes factor_bytes peak_factor_bytes checksum \
  version status bandwidth_gbps; do
  [ -n "$(value $key solve.json)" ] || fail "no key $key in solve.json"
done
[ "$(value status solve.json)" = TRISTAR_OK ] || fail "status $(value status solve.json)"
"$tristar" info gen:circuit:3000 --json info.json >/dev/null || fail "info --json"
for key in n critical_bytes width depth predicted_solve_s; do
  [ -n "$(value $key info.json)" ] || fail "no key $key in info.json"
done
expect 1 '^tristar: cannot open missing.mtx: No such file' solve missing.mtx --json failed.json
[ "$(value status failed.json)" = TRISTAR_ERR_IO ] || fail "status $(value status failed.json)"
if command -v python3 >/dev/null; then
  for file in solve.json info.json failed.json; do python3 -m json.tool $file >/dev/null || fail "$file is not valid"; done
fi
finish
