#!/usr/bin/env bash
# driver_batch.sh PROGRAM: tristar batch: known solutions, systems that fail, invalid calls. Works in the current folder.
. "$(dirname "$0")/driver.sh"

values() { grep -v '^%' "$1" | awk '{ for (k = 1; k <= NF; k++) printf "%.6g ", $k }'; }

# ---- [d 1; 1 2] x = b: x = [2 b1 - b2; d b2 - b1] / (2 d - 1)
system() { matrix "$1" 'real general' '2 2 4' "1 1 $2" '2 1 1' '1 2 1' '2 2 2'; }
system typical.mtx 3
system one.mtx 1
system two.mtx 2
system three.mtx 3
printf '%s\n' 1 1 >same.txt
expect 0 '^batch +3 systems, 8 at a time' batch typical.mtx one.mtx two.mtx three.mtx --rhs same.txt --out x.mtx --json x.json
[ "$(values x.mtx)" = '2 3 1 0 0.333333 0.333333 0.2 0.4 ' ] || fail "$(cat x.mtx)"
[ "$(value batch_systems x.json):$(value batch_failed x.json):$(value batch_apart x.json)" = 3:0:0 ] || fail "$(cat x.json)"
printf '%s\n' '1 3 5' '1 3 5' >each.txt
expect 0 '' batch typical.mtx one.mtx two.mtx three.mtx --rhs each.txt --out x.mtx --op T --engine tasks --workers 2
[ "$(values x.mtx)" = '2 3 1 0 1 1 1 2 ' ] || fail "$(cat x.mtx)"
printf '%s\n' '1 2' '1 2' >both.txt
expect 0 '' batch typical.mtx one.mtx three.mtx --rhs both.txt --out x.mtx --precision z
expect 0 '' batch typical.mtx one.mtx --rhs both.txt --out x.mtx --precision s
[ "$(values x.mtx)" = '2 2 1 0 2 0 ' ] || fail "$(cat x.mtx)"

# ---- L D L^T and L L^T of symmetric systems: the same solutions; an indefinite one
symmetric() { matrix "$1" 'real symmetric' '2 2 3' "1 1 $2" '2 1 1' '2 2 2'; }
symmetric s3.mtx 3
symmetric s1.mtx 1
symmetric minus.mtx -1
for method in lu auto ldlt llt; do
  expect 0 '^batch +2 systems, 8 at a time' batch s3.mtx s1.mtx s3.mtx --rhs same.txt --out x.mtx --json x.json --method $method
  [ "$(values x.mtx)" = '2 2 1 0 0.2 0.4 ' ] || fail "$method: $(cat x.mtx)"
  [ "$(value batch_method x.json):$(value batch_factor_entries x.json)" = "$([ $method = lu ] && echo lu:4 || echo ldlt:3)" ] ||
    fail "$method: $(cat x.json)"
done
expect 0 '' batch s3.mtx minus.mtx --rhs same.txt --out x.mtx --method ldlt
[ "$(values x.mtx)" = '2 1 -0.333333 0.666667 ' ] || fail "$(cat x.mtx)"
expect 1 'minus.mtx: system 0 of 1, counted from 0: .*not positive definite' batch s3.mtx minus.mtx --rhs same.txt --method llt
expect 1 'the view is not symmetric or Hermitian' batch typical.mtx one.mtx --method ldlt

# ---- Systems without a solution: the others have theirs
system singular.mtx 0.5
expect 1 'singular.mtx: system 1 of 3, counted from 0: .*singular' batch typical.mtx one.mtx singular.mtx three.mtx --rhs same.txt --out x.mtx --json x.json
[ "$(values x.mtx)" = '2 2 1 0 0.2 0.4 ' ] || fail "$(cat x.mtx)"
grep -q 'X of 2 of 3 systems' x.mtx || fail "$(cat x.mtx)"
[ "$(value batch_failed x.json):$(value status x.json | head -n 1)" = 1:TRISTAR_ERR_SINGULAR ] || fail "$(cat x.json)"
no_row 'one.mtx: TRISTAR'
expect 1 '^failed +singular.mtx: TRISTAR_ERR_SINGULAR' batch typical.mtx one.mtx singular.mtx

# ---- Pivots of a system that the typical ones do not suit
system zero.mtx 0
expect 0 '1 system with pivots of their own' batch typical.mtx zero.mtx one.mtx --rhs same.txt --out x.mtx
[ "$(values x.mtx)" = '2 2 -1 1 1 0 ' ] || fail "$(cat x.mtx)"

# ---- What is refused
expect 2 'no MATRIX given' batch
expect 2 'no VALUES given: a matrix file for each system' batch typical.mtx
expect 1 'cannot open none.mtx' batch typical.mtx one.mtx none.mtx
matrix other.mtx 'real general' '2 2 3' '1 1 1' '2 1 1' '2 2 2'
expect 1 'other.mtx: not the pattern and the symmetry of typical.mtx' batch typical.mtx one.mtx other.mtx
matrix complex.mtx 'complex general' '2 2 4' '1 1 1 1' '2 1 1 0' '1 2 1 0' '2 2 2 0'
expect 1 'complex.mtx' batch typical.mtx one.mtx complex.mtx
expect 0 '' batch typical.mtx one.mtx complex.mtx --precision z
finish
