#!/usr/bin/env bash
# driver_rows.sh PROGRAM: sparse right-hand sides and chosen rows of `tristar solve`: the written rows equal those of the
# whole X, and less of the factor is read. Errors in lists are reported with file and line. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -f -- *.mtx *.txt *.json # of an earlier run

# bad REGEX LINE...: a file of rows that gives an error.
bad() {
  local regex=$1
  shift
  printf '%s\n' "$@" >bad.txt
  expect 1 "$regex" solve gen:s2d9pt:20 --rows bad.txt
}

problem=(gen:convdiff3d:14 --chunk-bytes 30000)
n=2744
printf '%%%%MatrixMarket matrix coordinate real general\n%d 2 3\n700 1 1.5\n701 1 -2\n9 2 1\n' $n >b.mtx
printf '5 700 # the second\n%% none here\n2744\n' >rows.txt
"$tristar" solve "${problem[@]}" --rhs b.mtx --out x.mtx --json whole.json >/dev/null || fail "whole X"
"$tristar" solve "${problem[@]}" --rhs b.mtx --rows rows.txt --out some.mtx --json some.json >/dev/null || fail "three rows"
[ "$(sed -n 3p some.mtx)" = '3 2' ] || fail "some.mtx: $(sed -n 3p some.mtx)"
{ for column in 0 1; do for row in 5 700 2744; do sed -n "$((3 + column * n + row))p" x.mtx; done; done; } >expected.txt
tail -n 6 some.mtx | cmp - expected.txt || fail "other rows than in the whole X"
[ "$(value rows_given whole.json)" -eq 3 ] || fail "rows_given $(value rows_given whole.json)"
[ "$(value rows_wanted some.json)" -eq 3 ] || fail "rows_wanted $(value rows_wanted some.json)"
awk -v a="$(value share some.json)" -v b="$(value share whole.json)" 'BEGIN { exit !(a > 0 && a < b && b < 1) }' ||
  fail "shares: $(value share some.json) of $(value share whole.json)"
"$tristar" solve "${problem[@]}" --rhs b.mtx --rows rows.txt --repeat 6 --in-flight 3 --json flight.json >/dev/null || fail "in flight"
[ "$(value checksum flight.json)" = "$(value checksum some.json)" ] || fail "in flight: other bits"
for operation in T C; do
  "$tristar" solve "${problem[@]}" --rhs b.mtx --rows rows.txt --op $operation >/dev/null || fail "--op $operation"
done

bad 'bad.txt:2: not the number of a row: "x7"' 1 x7
bad 'bad.txt:1: row 0 is outside 1 .. 400' 0
bad 'bad.txt:3: row 401 is outside' 1 2 401
bad 'bad.txt:2: row 3 occurs for the second time' '1 2 3' '3'
bad 'no row is listed' '# nothing'
expect 1 'missing.txt: No such file' solve gen:s2d9pt:20 --rows missing.txt
finish
