#!/usr/bin/env bash
# driver_orderings.sh PROGRAM: --ordering and --solves: the ordering in reports and JSON. Numbers of cores and of helper
# processes do not change a bit. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -f -- *.json # of an earlier run

# ---- Which ordering, and why
expect 0 '^analysis +Cholesky, AMD ordering, ' solve gen:s2d9pt:25 --json auto.json
row '^ +AMD: the matrix is small$'
[ "$(value ordering auto.json):$(value ordering_reason auto.json)" = 'amd:the matrix is small' ] || fail "$(cat auto.json)"
expect 0 '^ +AMD: a dissection would take more time than it could save$' info gen:s2d9pt:60
expect 0 '^analysis +Cholesky, dissection ordering, ' info gen:poisson3d7:26 --solves 1000000 --json solves.json
row '^ +dissection: a dissection promises less time than AMD$'
[ "$(value ordering solves.json)" = dissection ] || fail "$(cat solves.json)"
expect 0 '^analysis +LU, dissection ordering, ' info gen:circuit:5000 --factorizations 100
expect 0 '^analysis +LU, AMD ordering, ' info gen:circuit:5000
expect 0 '^ +METIS: it makes the separator tree$' info gen:s2d9pt:20 --layout 1x1x4
for pair in amd:AMD dissection:dissection metis:METIS natural:natural; do
  expect 0 "^analysis +Cholesky, ${pair#*:} ordering, " solve gen:s2d9pt:25 --ordering "${pair%:*}" --json "$pair.json"
  no_row '^ +[A-Za-z]+: (the matrix|a dissection)'
  [ "$(value ordering "$pair.json"):$(value ordering_reason "$pair.json")" = "${pair%:*}:" ] || fail "$pair: $(cat "$pair.json")"
done
if [ "$("$tristar" version | sed -n 's/^orderings beside METIS and AMD: //p')" = none ]; then
  expect 1 'built without Scotch' solve gen:s2d9pt:25 --ordering scotch
else
  expect 0 '^analysis +Cholesky, Scotch ordering, ' solve gen:s2d9pt:25 --ordering scotch --json scotch.json
  [ "$(value ordering scotch.json):$(value ordering_reason scotch.json)" = scotch: ] || fail "scotch: $(cat scotch.json)"
fi
expect 2 'ordering random: ' solve gen:s2d9pt:9 --ordering random
expect 2 'factorizations 0: ' solve gen:s2d9pt:9 --factorizations 0
expect 2 'solves 0: ' solve gen:s2d9pt:9 --solves 0

# ---- tristar bench compares with METIS, unless an option selects another ordering
bench_ordering() { grep -o '"ordering":[^,]*' bench.json | sort -u | tr -d '\t '; }
bench=(bench gen:s2d9pt:25 --rounds 1 --repeat 2 --workers 1 --peers none --json bench.json)
expect 0 '^  solver' "${bench[@]}"
[ "$(bench_ordering)" = '"ordering":"metis"' ] || fail "bench: $(bench_ordering)"
expect 0 '^  solver' "${bench[@]}" --ordering auto
[ "$(bench_ordering)" = '"ordering":"amd"' ] || fail "bench --ordering auto: $(bench_ordering)"

# ---- Bits
bits() { "$tristar" solve gen:poisson3d7:30 --ordering "$ordering" --checksum --json bits.json "$@" >output.txt 2>&1 && value checksum bits.json; }
orderings=(dissection metis amd)
[ ! -e scotch.json ] || orderings+=(scotch)
for ordering in "${orderings[@]}"; do # --verbose: a process of its own orders
  reference=$(bits --workers 1)
  [ ${#reference} -eq 16 ] || fail "$ordering: no checksum: '$reference' $(cat output.txt)"
  [ "$(bits --workers 2 --verbose)" = "$reference" ] || fail "$ordering: two workers or a process change bits"
  [ "$(TRISTAR_HELPERS=/nowhere bits --workers 2)" = "$reference" ] || fail "$ordering: helpers change bits"
done
finish
