#!/usr/bin/env bash
# driver_inverse.sh PROGRAM: tristar inverse: entries of known inverses, and invalid calls. Works in the current folder.
. "$(dirname "$0")/driver.sh"

values() { grep -v '^%' "$1" | awk '{ for (k = 1; k <= NF; k++) printf "%.6g ", $k }'; }

# ---- [2 -1 0; -1 2 -1; 0 -1 2]: the inverse is [3 2 1; 2 4 2; 1 2 3] / 4
matrix path.mtx 'real symmetric' '3 3 5' '1 1 2' '2 1 -1' '2 2 2' '3 2 -1' '3 3 2'
printf '%s\n' '1 3 # far' '2 2' '3 2' >entries.txt
for method in llt ldlt lu; do
  expect 0 '^inverse +3 in ' inverse path.mtx --diagonal --out d.mtx --json d.json --method $method
  [ "$(values d.mtx)" = '3 1 0.75 1 0.75 ' ] || fail "$method: $(cat d.mtx)"
  [ "$(value inverse_entries d.json):$(value method d.json):$(value inverse_solves d.json)" = "3:$method:0" ] || fail "$(cat d.json)"
  expect 0 '^inverse +5 in ' inverse path.mtx --pattern --out p.mtx --method $method
  [ "$(values p.mtx)" = '3 3 5 1 1 0.75 2 1 0.5 2 2 1 3 2 0.5 3 3 0.75 ' ] || fail "$method: $(cat p.mtx)"
  expect 0 '^inverse +3 in ' inverse path.mtx --entries entries.txt --out e.mtx --method $method
  [ "$(values e.mtx)" = '3 1 0.25 1 0.5 ' ] || fail "$method: $(cat e.mtx)"
done

# ---- Rows 1 .. 2, 3 .. 4, ... are eliminated first, and singular: solves are refined
entries=()
for ((k = 0; k < 24; k++)); do
  a=$((2 * k + 1)) p=$((49 + k))
  entries+=("$a $a 1" "$((a + 1)) $a 1" "$((a + 1)) $((a + 1)) 1" "$p $a 0.5")
  for ((q = 49; q <= p; q++)); do entries+=("$p $q $((p == q))"); done
done
matrix leaves.mtx 'real symmetric' "72 72 ${#entries[@]}" "${entries[@]}"
printf '%s\n' '1 1' '2 1' '1 49' '2 2' >few.txt
expect 0 'by 3 refined solves' inverse leaves.mtx --entries few.txt --out e.mtx --json e.json
[ "$(value inverse_solves e.json)" = 3 ] || fail "$(cat e.json)"
[ "$(values e.mtx)" = '4 1 -4 4 2 -3 ' ] || fail "$(cat e.mtx)"

# ---- On the diagonal rounding errors are removed: files of these kinds forbid them
entries=()
for ((i = 1; i <= 12; i++)); do
  for ((j = 1; j <= i; j++)); do entries+=("$i $j $(((7 * i + 3 * j) % 11 - 5)) $((i == j ? 0 : (5 * i + j) % 7 - 3))"); done
done
matrix hermitian.mtx 'complex hermitian' "12 12 ${#entries[@]}" "${entries[@]}"
matrix skew.mtx 'real skew-symmetric' '4 4 10' '1 1 0' '2 2 0' '3 3 0' '4 4 0' '2 1 3' '3 1 1' '4 1 7' '3 2 0.3' \
  '4 2 11' '4 3 13'
for kind in hermitian skew; do
  expect 0 '^written +p.mtx' inverse $kind.mtx --pattern --out p.mtx
  expect 0 '^written +q.mtx' inverse $kind.mtx --pattern --out q.mtx --method lu
  paste -d' ' <(values p.mtx) <(values q.mtx) | awk '{ n = NF / 2; for (k = 1; k <= n; k++) bad += ($k - $(k + n)) ^ 2 > 1e-10 }
    END { exit n < 27 || bad }' || fail "$kind: $(cat p.mtx q.mtx)"
done
[ "$(values p.mtx | cut -d' ' -f4-15)" = '1 1 0 2 1 -0.431894 3 1 0.365449 4 1 -0.00996678' ] || fail "$(cat p.mtx)" # over the Pfaffian, 30.1

# ---- What is refused
expect 2 'one of --diagonal, --pattern and --entries FILE is needed' inverse path.mtx
expect 2 'one of --diagonal, --pattern and --entries FILE is needed' inverse path.mtx --diagonal --pattern
echo 1 2 3 >odd.txt
expect 1 'odd.txt: an odd number of numbers' inverse path.mtx --entries odd.txt
echo 1 4 >outside.txt
expect 1 'outside.txt:1: row 4 is outside 1 .. 3' inverse path.mtx --entries outside.txt
finish
