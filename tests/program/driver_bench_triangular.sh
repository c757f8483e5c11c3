#!/usr/bin/env bash
# driver_bench_triangular.sh PROGRAM: `tristar bench --triangular` on tiny matrices: rows of the tables, keys of the JSON,
# the picture, peers that fail, are wrong or are missing, matrices that cannot be measured, wrong words. Peers are scripts
# here, so that none needs to be installed; peers built with the program run, too. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -rf -- *.json *.svg *.txt *.mtx peers # of an earlier run

# bench STATUS REGEX ARGUMENT...: expect of `tristar bench --triangular`.
bench() {
  local expected=$1 regex=$2
  shift 2
  expect "$expected" "$regex" bench --triangular "$@"
}

# peer NAME LINE...: a program of a peer.
peer() { script "peers/triangle_$1" "${@:2}"; }
figures='"n": 81, "status": 0, "method": "rows", "analyze_s": 0, "factor_s": 6, "solve_min_s": 1.5'
mkdir peers
export TRISTAR_PEERS=$PWD/peers
unset STARPU_NCPU
# The words of its call; the second one is a file with only the triangle.
peer plain 'echo "$@" >>plain.txt' 'cat "$4" >"triangle-$(wc -l <plain.txt).txt"' \
  "echo '{$figures, \"backward_error\": 1e-16, \"solve_s\": 2}'"
peer cxsparse "echo '{$figures, \"backward_error\": 1e-3, \"solve_s\": 1}'"
peer eigen "echo '{$figures, \"backward_error\": null, \"solve_s\": 1}'"
peer petsc "echo \"triangle_petsc: \$4: no such thing\" >&2" 'exit 1'

# ---- Tables
one=(--rounds 1 --repeat 2 --milliseconds 0 --workers 2)
matrix tridiagonal.mtx 'real symmetric' '4 4 7' '1 1 4' '2 1 -1' '2 2 5' '3 2 2' '3 3 6' '4 3 1' '4 4 2'
bench 0 '^tridiagonal.mtx, lower triangle, natural order: 4 rows, 7 entries, 4 level sets, 1\.0 rows each; its own values; medians of 1 round, each of 2 solves$' \
  tridiagonal.mtx "${one[@]}" --orders natural --partitions auto,levels --json all.json --svg all.svg
row '^tridiagonal.mtx, U of IC\(0\), natural order: 4 rows, 7 entries, 4 level sets, 1\.0 rows each; its own values; '
row '^Peers that are not installed, and are skipped: KokkosKernels$'
row '^  auto, 2 workers  .* [0-9.]+e-[0-9]+  [a-z]+$'
row '^  plain sweep  +2\.00 s +1\.50 s +1\.00 +1\.00 +6\.00 s +3 +1\.0e-16$'
row '^  CXSparse +failed: wrong: the backward error is 1\.0e-03$'
row '^  Eigen +failed: wrong: the backward error is not a number$'
row '^  PETSc +failed: triangle_petsc: no such thing$'
row '^Geometric means of the speed-ups of the automatic partition with 2 workers$'
row '^  over 100 rows a level set, over 100,000 entries +0 +- +- +-$'
row '^  all +6 +[0-9.]+ +[0-9.]+ +[0-9.]+$'
for of in matrix ilu0 ic0; do row "^    of $of +2 +[0-9.]+ +[0-9.]+ +[0-9.]+$"; done
[ "$(grep -c '^ *[0-9.]* *tridiagonal.mtx, .*: plain sweep, 2.00 s$' output.txt)" -eq 5 ] || fail 'not the five worst'
[ "$(grep -c -- '^--on-demand --uplo L /proc/.* 2$' plain.txt)" -eq 3 ] || fail "plain was called with: $(cat plain.txt)"

# Factors that break down are reported, but are no failure; IC of a matrix that is not stored as symmetric is omitted.
bench 0 '^Not measured: gen:kkt3d:3: row 2, counted from 0, has no entry on the diagonal \(ilu0, natural order\)$' \
  gen:kkt3d:3 gen:erdos:40 "${one[@]}" --orders natural --of ilu0,ic0 --partitions auto --peers none --json broken.json
row '^Not measured: gen:kkt3d:3: .* \(ic0, natural order\)$'
row '^gen:erdos:40, U of ILU\(0\), natural order: 40 rows, '
no_row 'erdos.*IC|erdos.*ic0|^    of'

# Without --partitions: all that tristar trisolve has.
partitions=$("$tristar" trisolve gen:s2d9pt:9 --partition X 2>&1 | sed -n 's/.*not one of //p' | tr '|' ' ')
[ "$(wc -w <<<"$partitions")" -ge 5 ] || fail "partitions: $partitions"
bench 0 '^gen:band:30, lower' gen:band:30 "${one[@]}" --orders natural --of matrix --uplo L --peers none
for partition in $partitions; do row "^  $partition, 2 workers  "; done

bench 0 '^gen:band:300, upper triangle, METIS order: ' gen:band:300 --workers 1,2 --rounds 1 --repeat 2 --peers none --uplo U \
  --orders metis --of matrix --partitions auto,levels
row '; medians of 1 round, each of 1,000 solves$' # which is what there is time for
no_row 'natural order|lower triangle|supernodes,|plain sweep|Peers'
[ "$(grep -cE '^  (auto|levels), [12] workers?  ' output.txt)" -eq 4 ] || fail 'not four contenders'
row '^  all +1 +- +- +[0-9.]+$'

# ---- Values: without a diagonal, of solutions that leave the range, of a pattern, complex ones
matrix nodiagonal.mtx 'real general' '3 3 3' '2 1 5' '3 2 1' '1 3 2'
matrix large.mtx 'real general' '3 3 5' '1 1 1' '2 1 1e200' '2 2 1' '3 2 1e200' '3 3 1'
matrix pattern.mtx 'pattern symmetric' '3 3 3' '2 1' '3 2' '3 3'
matrix complex.mtx 'complex hermitian' '2 2 3' '1 1 2 0' '2 1 1 1' '2 2 2 0'
bench 0 '^nodiagonal.mtx, lower triangle, natural order: 3 rows, 5 entries, 3 level sets, 1\.0 rows each; rows scaled; ' \
  nodiagonal.mtx large.mtx pattern.mtx complex.mtx "${one[@]}" --orders natural --of matrix --uplo L --peers none --partitions auto --json values.json
row '^large.mtx, lower triangle, .* rows scaled'
row '^pattern.mtx, lower triangle, natural order: 3 rows, 5 entries, 3 level sets, .* rows scaled'
row '^complex.mtx, lower triangle, natural order: 2 rows, 3 entries, 2 level sets, .* its own values'

# ---- Matrices that cannot be measured are reported, and the others are measured
matrix rectangle.mtx 'real general' '2 3 1' '1 1 1'
bench 1 '^Not measured: rectangle.mtx: the matrix is not square: 2 rows, 3 columns$' rectangle.mtx gen:chain:3 "${one[@]}" \
  --peers none --of matrix --orders metis --uplo U --partitions auto --json rectangle.json
row '^gen:chain:3, upper triangle, METIS order: '
bench 1 'cannot open missing.mtx' gen:chain:3 missing.mtx
no_row 'triangle'

# ---- JSON and picture
cat >check.py <<'END'
import json
figures = json.load(open("all.json"))
assert (figures["rounds"], figures["repeat"], figures["cores"], figures["peers_missing"]) == (1, 2, 2, ["kokkos"]), figures
assert [(c["matrix"], c["order"], c["of"], c["uplo"]) for c in figures["triangles"]] == [
    ("tridiagonal.mtx", "natural", f, u) for f in ("matrix", "ilu0", "ic0") for u in "LU"]
speed_up = 1
for case in figures["triangles"]:
    assert case["parallelism"] == case["n"] / case["levels"] and not case["scaled"]
    rows = {c["name"]: c for c in case["contenders"]}
    own, plain = rows["auto, 2 workers"], rows["plain sweep"]
    assert own["solver"] == "tristar" and own["partition"] == "auto" and own["workers"] == 2 and own["solved"]
    assert own["solve_min_s"] <= own["solve_s"] and own["backward_error"] < 1e-13
    assert abs(own["preparation_solves"] * own["solve_s"] / own["preparation_s"] - 1) < 1e-9
    assert plain["solve_s"] == 2 and plain["solve_min_s"] == 1.5 and plain["preparation_solves"] == 3
    assert plain["speed_up_plain"] == plain["speed_up_peer"] == 1 and case["best_peer"] == "plain sweep"
    assert case["speed_up_plain"] == own["speed_up_plain"]
    assert abs(own["speed_up_plain"] * own["solve_s"] / 2 - 1) < 1e-9
    best = rows[case["best_partition"] + ", 2 workers"]
    assert abs(case["speed_up_partition"] * own["solve_s"] / best["solve_s"] - 1) < 1e-9
    assert best["solve_s"] == min(c["solve_s"] for c in case["contenders"] if c.get("partition", "auto") != "auto" and c["solved"])
    assert not rows["CXSparse"]["solved"] and "backward error" in rows["CXSparse"]["message"]
    speed_up *= case["speed_up_plain"]
assert figures["means"]["cases"] == 6 and abs(figures["means"]["speed_up_plain"] / speed_up ** (1 / 6) - 1) < 1e-9
assert figures["parallel_means"] == {"cases": 0}, figures["parallel_means"]
least = sorted(figures["triangles"], key=lambda c: c["speed_up_peer"])[:5]
titles = {"matrix": {"L": "lower triangle", "U": "upper triangle"}, "ilu0": {"L": "L of ILU(0)", "U": "U of ILU(0)"},
          "ic0": {"L": "L of IC(0)", "U": "U of IC(0)"}}
assert [w.split(", ")[1] for w in figures["worst"]] == [titles[c["of"]][c["uplo"]] for c in least], figures["worst"]
values = json.load(open("values.json"))["triangles"]
assert [c["scaled"] for c in values] == [True, True, True, False], values
assert all(c["solved"] for case in values for c in case["contenders"])
bad, *good = json.load(open("rectangle.json"))["triangles"]
assert "not square" in bad["message"] and not bad["broken"] and len(good) == 1
broken = json.load(open("broken.json"))["triangles"]
assert [(c["of"], c["broken"]) for c in broken] == [("ilu0", True), ("ic0", True), ("ilu0", False), ("ilu0", False)], broken


def triangle(number):
    lines = [line.split() for line in open("triangle-%d.txt" % number) if not line.startswith("%")]
    return {(int(i), int(j)): float(v) for i, j, v in lines[1:]}


def product(l, u):
    terms = {}
    for (i, k), a in l.items():
        for (k2, j), b in u.items():
            if k == k2:
                terms[i, j] = terms.get((i, j), 0) + a * b
    return terms


# Of a tridiagonal matrix incomplete factors are complete: L U is the matrix.
lower, upper = triangle(1), triangle(2)
for number in 3, 5:
    l, u = triangle(number), triangle(number + 1)
    assert all(l[k, k] == 1 for k in range(1, 5)) == (number == 3)
    for place, value in product(l, u).items():
        assert abs(value - lower.get(place, upper.get(place, 0))) < 1e-13, (number, place)
END
if command -v python3 >/dev/null; then
  python3 check.py || fail "all.json, values.json or rectangle.json"
  "$(dirname "$0")/check_picture" all.svg 2 point 12 || fail "all.svg is no good picture"
else
  echo "driver_bench_triangular: no python3, JSON and picture are not looked into"
fi
bench 0 '^{' gen:chain:3 "${one[@]}" --peers none --partitions auto --orders natural --of matrix --uplo L --json -
no_row '^gen:|^Geometric'

# ---- The peers that were built
real=$(cd "$(dirname "$tristar")" && pwd)/tools/peers
for library in plain cxsparse eigen petsc kokkos; do
  program=$real/triangle_$library
  [ -x "$program" ] || { echo "not built: $program"; continue; }
  for words in 'L gen:erdos:400' 'U gen:poisson3d7:6'; do
    # shellcheck disable=SC2086
    "$program" --uplo $words 3 2 >peer.txt 2>&1 </dev/null
    grep -qE '"status": 0, .*"backward_error": ([0-9.]+e-1[5-9]|0)\}$' peer.txt || fail "triangle_$library $words: $(cat peer.txt)"
  done
  [ "$(printf '\n\n' | "$program" --on-demand --uplo L gen:chain:30 1 | grep -c solve_s)" -eq 3 ] || fail "triangle_$library --on-demand"
done
if [ -x "$real/triangle_plain" ]; then
  "$real/triangle_plain" gen:chain:30 | grep -q 'uplo L or --uplo U is missing' || fail 'triangle_plain without --uplo'
  "$real/triangle_plain" --uplo L gen:kkt3d:3 2>&1 | grep -q 'a diagonal entry is zero or missing$' || fail 'triangle_plain: a zero diagonal'
fi
unset TRISTAR_PEERS
bench 0 '^Geometric means' gen:band:200 --workers 1 --rounds 2 --repeat 2 --partitions auto --orders natural --of ilu0 --uplo L
no_row 'failed'
[ ! -x "$real/triangle_plain" ] || row '^  plain sweep  .* 1\.00 '
export TRISTAR_PEERS=$PWD/peers

# Without the automatic partition: means of the first one.
bench 0 '^Geometric means of the speed-ups of the levels partition with 1 worker$' gen:band:200 --workers 1 --rounds 1 \
  --repeat 2 --partitions levels,whole --peers none --orders natural --of matrix --uplo L
row '^  all +1 +- +- +[0-9.]+$'

# ---- Wrong words
bench 2 'no MATRIX given'
bench 2 "unknown peer 'cholmod'; the peers are plain, cxsparse, eigen, petsc, kokkos; none: no peer" gen:chain:3 --peers cholmod
bench 1 'the peer kokkos is not installed: no triangle_kokkos in .*/peers$' gen:chain:3 --peers kokkos
bench 2 "--orders natural,amd: 'amd' is not one of natural, metis" gen:chain:3 --orders natural,amd
bench 2 "--uplo LU: 'LU' is not one of L, U" gen:chain:3 --uplo LU
bench 2 "--of ilu1: 'ilu1' is not one of matrix, ilu0, ic0" gen:chain:3 --of ilu1
bench 2 "--partitions rows: unknown partition 'rows'" gen:chain:3 --partitions rows
bench 2 '--partitions auto,: an empty entry' gen:chain:3 --partitions auto,
bench 2 '--triangular goes without --nrhs, --variants, --compress, --store and --reuse' gen:chain:3 --nrhs 2
bench 2 '--triangular needs --repeat 2 or more' gen:chain:3 --repeat 1
bench 2 '--triangular goes with one scheduler' gen:chain:3 --sched lws,eager
bench 2 "unknown kind 'chains'" gen:chain:3 gen:chains:3
bench 1 'cannot write no/such/folder/x' gen:chain:3 "${one[@]}" --peers none --json no/such/folder/x
expect 2 '--partitions, --orders, --of and --uplo need --triangular' bench gen:chain:3 --orders metis
expect 2 '--on-demand needs --json -' trisolve gen:chain:3 --uplo L --on-demand
finish
