#!/usr/bin/env bash
# driver_schur.sh PROGRAM: tristar schur: known complements of a small matrix, and invalid calls. Works in the current
# folder.
. "$(dirname "$0")/driver.sh"

values() { grep -v '^%' "$1" | awk '{ for (k = 1; k <= NF; k++) printf "%.6g ", $k }'; }

# ---- [2 -1 0; -1 2 -1; 0 -1 2], unknowns 3 and 1: the complement is [1.5 -0.5; -0.5 1.5]
matrix path.mtx 'real symmetric' '3 3 5' '1 1 2' '2 1 -1' '2 2 2' '3 2 -1' '3 3 2'
printf '3 1 # the ends\n' >ends.txt
for method in llt ldlt lu; do
  expect 0 '^schur +2 unknowns, ' schur path.mtx --unknowns ends.txt --out s.mtx --json s.json --method $method
  [ "$(values s.mtx)" = '2 2 1.5 -0.5 -0.5 1.5 ' ] || fail "$method: $(cat s.mtx)"
  [ "$(value schur_unknowns s.json):$(value method s.json):$(value schur_refined s.json)" = "2:$method:false" ] || fail "$(cat s.json)"
done
matrix general.mtx 'complex general' '2 2 4' '1 1 0 1' '1 2 2 0' '2 1 3 0' '2 2 1 0'
echo 2 >second.txt
expect 0 '^schur +1 unknown, ' schur general.mtx --unknowns second.txt --out s.mtx
[ "$(values s.mtx)" = '1 1 1 6 ' ] || fail "$(cat s.mtx)"

# ---- Condensing and expanding: the right-hand sides [2 3 4] and [0 1 0] of the unknowns 3 and 1, and solutions
printf '%s\n' '2 0' '3 1' '4 0' >b.txt
printf '%s\n' '1 2' '0 -1' >xs.txt
for method in llt ldlt lu; do
  expect 0 '^written +x.mtx' schur path.mtx --unknowns ends.txt --rhs b.txt --reduced g.mtx --interface xs.txt --solution x.mtx --method $method
  [ "$(values g.mtx)" = '2 2 5.5 3.5 0.5 0.5 ' ] || fail "$method: $(cat g.mtx)"
  [ "$(values x.mtx)" = '3 2 0 2 1 -1 1 2 ' ] || fail "$method: $(cat x.mtx)"
done
expect 2 '--reduced and --interface need --rhs FILE' schur path.mtx --unknowns ends.txt --reduced g.mtx
expect 2 '--interface FILE and --solution FILE need each other' schur path.mtx --unknowns ends.txt --rhs b.txt --interface xs.txt
expect 1 'xs.txt: the right-hand side has 2 rows, but the matrix has 3' schur path.mtx --unknowns ends.txt --rhs xs.txt --reduced g.mtx
expect 1 'b.txt: the right-hand side has 3 rows, but the Schur complement has 2' schur path.mtx --unknowns ends.txt --rhs b.txt --interface b.txt --solution x.mtx
printf '1\n2\n' >column.txt
expect 1 'column.txt: 1 columns, but there are 2 right-hand sides' schur path.mtx --unknowns ends.txt --rhs b.txt --interface column.txt --solution x.mtx

# ---- Singular: the matrix may be singular, the eliminated rows may not
matrix neumann.mtx 'real symmetric' '3 3 5' '1 1 1' '2 1 -1' '2 2 2' '3 2 -1' '3 3 1'
expect 0 '^schur ' schur neumann.mtx --unknowns second.txt --out s.mtx
[ "$(values s.mtx)" = '1 1 0 ' ] || fail "$(cat s.mtx)"
matrix zero.mtx 'real symmetric' '3 3 3' '2 1 1' '2 2 2' '3 3 1'
expect 1 'structurally singular' schur zero.mtx --unknowns second.txt

# ---- A_II is regular, but not its leading rows 1 .. 2, 3 .. 4, ..., which are eliminated first: solves are refined
entries=()
for ((k = 0; k < 24; k++)); do
  a=$((2 * k + 1)) p=$((49 + k))
  entries+=("$a $a 1" "$((a + 1)) $a 1" "$((a + 1)) $((a + 1)) 1" "$p $a 0.5" "73 $a 1")
  for ((q = 49; q <= p; q++)); do entries+=("$p $q $((p == q))"); done
done
matrix leaves.mtx 'real symmetric' "73 73 $((${#entries[@]} + 1))" "${entries[@]}" '73 73 1'
echo 73 >last.txt
expect 0 'by refined solves, as pivots were perturbed' schur leaves.mtx --unknowns last.txt --out s.mtx --json s.json
[ "$(value schur_refined s.json)" = true ] || fail "$(cat s.json)"
[ "$(values s.mtx)" = '1 1 97 ' ] || fail "$(cat s.mtx)"

# ---- Lists
expect 2 '--unknowns FILE is missing' schur path.mtx
echo 4 >outside.txt
expect 1 'outside.txt:1: row 4 is outside 1 .. 3' schur path.mtx --unknowns outside.txt
echo 2 2 >twice.txt
expect 1 'row 2 occurs for the second time' schur path.mtx --unknowns twice.txt
: >none.txt
expect 1 'no row is listed' schur path.mtx --unknowns none.txt
seq 3 >all.txt
expect 1 'at least one row must be eliminated' schur path.mtx --unknowns all.txt
finish
