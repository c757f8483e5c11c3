#!/usr/bin/env bash
# driver_pictures.sh PROGRAM: the pictures of `tristar plot` that measure or count: rhs, reuse, refinement, communication,
# memory, scaling. Each is well-formed, has names of axes and one mark for each number in its JSON; its texts are inside the
# canvas; the numbers are consistent. Works in the current folder.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/driver.sh"
rm -f -- *.svg *.html *.mtx *.json # of an earlier run
have_python=no
command -v python3 >/dev/null && have_python=yes
[ $have_python = yes ] || echo "$name: no python3: pictures and figures are not looked into" >&2

# picture WHAT ARGUMENT...: draws WHAT.svg and writes WHAT.json.
picture() {
  rm -f -- "$1.svg" "$1.json"
  expect 0 "^$1.svg: written\$" plot "${@:2}" --what "$1" --out "$1.svg" --json "$1.json"
}
looks() { [ $have_python = no ] || "$here/check_picture" "$@" || fail "$1 is no good picture"; }
# items WHAT [EXPRESSION]: the number of items, or a sum over them: i.
items() {
  [ $have_python = no ] || python3 -c '
import json, sys
print(sum(eval(sys.argv[2]) for i in json.load(open(sys.argv[1] + ".json"))["picture"]["items"]))' "$1" "${2-1}"
}
# holds WHAT CODE: assertions about p, the JSON, and its items.
holds() {
  [ $have_python = no ] || python3 -c '
import json, sys
p = json.load(open(sys.argv[1] + ".json"))["picture"]
items = p["items"]
exec(sys.argv[2])' "$1" "$2" || fail "$1: figures"
}

matrix one.mtx 'real general' '1 1 1' '1 1 2'
matrix 'a "<two>" & more.mtx' 'real symmetric' '2 2 3' '1 1 2' '2 1 1' '2 2 3'
matrix diagonal.mtx 'real symmetric' '40 40 40'
for i in $(seq 40); do echo "$i $i $i"; done >>diagonal.mtx
matrix empty.mtx 'real general' '0 0 0'
small=(one.mtx 'a "<two>" & more.mtx' diagonal.mtx)

# ---- Right-hand sides: each number twice, per solve and per right-hand side
for matrix in gen:s2d9pt:40 one.mtx 'a "<two>" & more.mtx'; do
  picture rhs "$matrix" --repeat 3
  looks rhs.svg 4 point 16
done
picture rhs gen:convdiff3d:6 --repeat 2 --precision z --op T --variant push
holds rhs 'assert [i["nrhs"] for i in items] == [1, 2, 3, 4, 8, 16, 32, 64] and p["dgemm_gflops"] > 0'
holds rhs 'assert all(0 < i["least_s"] <= i["solve_s"] <= i["most_s"] for i in items)'

# ---- Refinement
picture refinement gen:s2d9pt:30 --precision sd --nrhs 3
looks refinement.svg 2 point "$(items refinement)"
holds refinement 'assert {i["column"] for i in items} == {1, 2, 3} and p["refinement_steps"] >= 1'
holds refinement 'assert max(i["backward_error"] for i in items if i["steps"] == 0) == p["initial_backward_error"]'
holds refinement 'assert p["initial_backward_error"] > 1e-10 > p["backward_error"] >= min(i["backward_error"] for i in items)'
# A chain is so badly conditioned that single factors need FGMRES.
awk 'BEGIN { n = 30000; print "%%MatrixMarket matrix coordinate real symmetric"; print n, n, 2 * n - 1
  for (j = 1; j <= n; j++) { print j, j, 2; if (j < n) print j + 1, j, -1 } }' >chain.mtx
picture refinement chain.mtx --precision sd --method ldlt
looks refinement.svg 2 point "$(items refinement)" label 2
holds refinement 'assert p["fgmres_iterations"] == max(i["iterations"] for i in items) > 0'
picture refinement chain.mtx --precision sd --method ldlt --refine 0
looks refinement.svg 2 point 1
picture refinement gen:s2d9pt:20 --precision sd --nrhs 20 --method lu
looks refinement.svg 2 point "$(items refinement)"
for matrix in "${small[@]}"; do
  picture refinement "$matrix"
  looks refinement.svg 2 point "$(items refinement)"
done

# ---- Communication: the messages that `tristar info --layout` counts
for layout in '2x2x2' '3x2x4 --map cyclic --algo levelwise --message-tree flat --nrhs 5' '4x4x1 --algo 2d --map cyclic --op T'; do
  # shellcheck disable=SC2086 # options and values
  picture communication gen:poisson3d7:10 --layout $layout
  # shellcheck disable=SC2086
  expect 0 '^layout ' info gen:poisson3d7:10 --layout ${layout%--op T} --json info.json
  [ $have_python = no ] || python3 - <<'END' || fail "communication $layout: other messages than info"
import json
p, l = json.load(open("communication.json"))["picture"], json.load(open("info.json"))["layout"]
sent = {key: sum(i[key] for i in p["items"]) for key in ("messages", "bytes")}
assert p["ranks"] == l["ranks"] == p["cells"]
assert sent["messages"] == l["all"]["sent"]["total"] and abs(sent["bytes"] - l["all"]["sent_bytes"]["total"]) < 1
z = sum(i["messages"] for i in p["items"] if i["class"] == "Z")
assert z == l["grids"]["sent"]["total"]
grid = l["px"] * l["py"]
assert all((i["from"] // grid == i["to"] // grid) == (i["class"] == "XY") for i in p["items"])
for r in range(p["ranks"]):
    assert sum(i["messages"] for i in p["items"] if i["from"] == r) <= l["all"]["sent"]["max"]
END
done
looks communication.svg 6 pair "$(($(items communication) * 2))"
picture communication gen:s2d9pt:60 --layout 8x8x4
looks communication.svg 8
grep -q 'A cell stands for 4 ' communication.svg || fail "communication: no note that processes share cells"
for matrix in "${small[@]}"; do
  picture communication "$matrix" --layout 1x1x1
  looks communication.svg 4 pair 0
  picture communication "$matrix" --layout 2x2x2
  looks communication.svg "$(grep -c 'class="axis"' communication.svg)"
done

# ---- Memory
for matrix in gen:s2d9pt:60 "${small[@]}"; do
  picture memory "$matrix"
  looks memory.svg 2 phase 4
done
picture memory gen:s2d9pt:60 --nrhs 3
holds memory 'assert [q["name"] for q in p["phases"]] == ["analysis", "factorization", "plan", "solves"]'
holds memory 'assert all(q["begin_s"] <= q["end_s"] for q in p["phases"]) and p["solves"] >= 1'
holds memory 'at = [i["at_s"] for i in items]; assert at == sorted(at) and at[0] < 0.5 and len(at) >= 5'
holds memory 'assert 0 < max(i["allocated_bytes"] for i in items) <= p["peak_bytes"]'
[ ! -e /proc/self/statm ] || holds memory 'assert all(i["resident_bytes"] > 1e6 for i in items)'

# ---- Scaling: processes of their own
STARPU_NCPU=2 picture scaling gen:s2d9pt:30 --repeat 2 --method lu --variant push --engine tasks
looks scaling.svg 2 point "$(items scaling)"
holds scaling 'assert [i["workers"] for i in items if not i["predicted"]] == [1, 2]'
holds scaling 'q = [i for i in items if i["predicted"]]; assert [i["processes"] for i in q] == [1, 2, 4, 8, 16, 32, 64]
for i in q:
    x, y, z = map(int, i["layout"].split("x")); assert x * y * z == i["processes"] and i["solve_s"] > 0'
grep -q 'predicted, not measured' scaling.svg || fail "scaling: predictions are not distinguished"
STARPU_NCPU=3 picture scaling gen:s2d9pt:20 --repeat 2 --ordering natural --laplacian
looks scaling.svg 2 point "$(items scaling)"
holds scaling 'assert [i["workers"] for i in items] == [1, 2, 3]'
picture scaling 'a "<two>" & more.mtx' --repeat 2 --nrhs 2
looks scaling.svg 2 point "$(items scaling)"
expect 2 '^tristar: plot: --sched warp: StarPU has no such scheduler; ' plot gen:s2d9pt:20 --what scaling --sched warp --engine tasks --out x.svg

expect 2 '^tristar: plot: --sched lws,prio: StarPU has no such scheduler; ' plot gen:s2d9pt:20 --what scaling --sched lws,prio --out x.svg

# ---- Reuse: measured, and of a file
for matrix in gen:s2d9pt:40 "${small[@]}"; do
  picture reuse "$matrix" --repeat 2
  looks reuse.svg 2 point "$(items reuse 'len(i["totals"])')" even 1
done
contender() { # SOLVER SETTING ANALYSIS FACTOR PLAN SOLVE
  echo "{\"name\": \"$1 $2\", \"solver\": \"$1\", \"variant\": \"${7-}\", \"analyze_s\": $3, \"factor_s\": $4, \"plan_s\": $5, \"solve_s\": $6}"
}
case_of() { # MATRIX NRHS CONTENDER...
  local IFS=,
  echo "{\"matrix\": \"$1\", \"n\": 100, \"nrhs\": $2, \"contenders\": [${*:3}]}"
}
# TriStar: 1 s and 1 ms a solve, or 1.5 s and 0.5 ms. CHOLMOD: 0.5 s and 2 ms: as long at 500 solves. UMFPACK: longer
# always. SuperLU: 2 s and 0.2 ms: at 1,666.7, with the second setting. MUMPS: less always. A variant does not count.
a=$(case_of 'some/folder/<m>.mtx' 1 "$(contender tristar 1 0.5 0.4 0.1 0.001)" "$(contender tristar 2 1 0.4 0.1 0.0005)" \
  "$(contender tristar 2 0 0 0 0.0001 levels)" "$(contender cholmod 1 0.25 0.25 0 0.002)" "$(contender umfpack 1 2 1 0 1)" \
  "$(contender superlu 1 1 1 0 0.0002)" "$(contender mumps 1 0.1 0.1 0 0.0001)" '{"name": "S", "solver": "superlu_dist", "solved": false}')
b=$(case_of 'some/folder/<m>.mtx' 8 "$(contender tristar 1 0.5 0.5 0 0.004)")
c=$(case_of gen:other:1 1 "$(contender cholmod 1 0.5 0.5 0 0.004)")
echo "{\"cases\": [$a, $b]}" >one.json
echo "{\"cases\": [$a, $b, $c]}" >two.json
picture reuse --from one.json
holds reuse 'assert [i["solver"] for i in items] == ["tristar", "cholmod", "umfpack", "superlu", "mumps"]'
holds reuse 'assert [i.get("tristar_takes_less") for i in items] == [None, "from", "always", "up to", "never"]'
holds reuse 'assert [i.get("break_even_solves") for i in items] == [None, 501, None, 1666, None]'
holds reuse 'assert [t["total_s"] for t in items[0]["totals"]][:2] == [1.001, 1.01] and items[0]["totals"][4]["total_s"] == 6.5'
looks reuse.svg 2 point "$(items reuse 'len(i["totals"])')" even 2
picture reuse 'm/<m>.mtx' --from two.json --nrhs 8
holds reuse 'assert len(items) == 1 and p["nrhs"] == 8 and items[0]["break_even_solves"] == 250'
expect 2 '^tristar: plot: --from two.json: no MATRIX given, and the file has several$' plot --what reuse --from two.json --out x.svg
expect 2 '^tristar: one.json: nothing about gen:s2d9pt:5; there is .*: some/folder/<m>.mtx with 1, some/folder/<m>.mtx with 8$' \
  plot reuse gen:s2d9pt:5 --from one.json --out x.svg
expect 2 'nothing about some/folder/<m>.mtx with 3 right-hand sides' plot --what reuse --from one.json --nrhs 3 --out x.svg
expect 1 '^tristar: two.json: TriStar did not solve with gen:other:1 there$' plot reuse gen:other:1 --from two.json --out x.svg
expect 1 '^tristar: cannot open no.json' plot --what reuse --from no.json --out x.svg
for text in '' '{' '[1]' '{"cases": []}' '{"cases": [1]}' '{"cases": {"matrix": 3}}'; do
  printf '%s' "$text" >bad.json
  expect 1 '^tristar: bad.json: not a file of `tristar bench --json`$' plot reuse gen:s2d9pt:5 --from bad.json --out x.svg
done
if [ $have_python = yes ]; then
  TRISTAR_PEERS=$PWD expect 0 "^  solver" bench gen:s2d9pt:12 --workers 1,2 --rounds 1 --repeat 2 --reuse --json bench.json
  picture reuse --from bench.json
  looks reuse.svg 2 point "$(items reuse 'len(i["totals"])')" even 1
fi

# ---- Pages, nothing to draw, failures, wrong usage
for what in rhs reuse refinement memory scaling; do
  expect 0 '^page.html: written$' plot gen:s2d9pt:12 --what $what --repeat 2 --out page.html
  grep -q '^<script>' page.html || fail "$what: no page"
  expect 1 'an empty matrix: nothing to draw$' plot empty.mtx --what $what --out x.svg
  expect 1 '^tristar: cannot write no/such/folder/x.svg' plot gen:s2d9pt:12 --what $what --repeat 1 --out no/such/folder/x.svg
  expect 2 '^tristar: plot: --layout belongs to --what spy, communication$' plot gen:s2d9pt:12 --what $what --layout 1x1x1 --out x.svg
done
expect 1 'an empty matrix: nothing to draw$' plot empty.mtx --what communication --layout 1x1x1 --out x.svg
expect 2 '^tristar: plot: --what communication: --layout PXxPYxPZ is missing$' plot gen:s2d9pt:12 --what communication --out x.svg
expect 2 '^tristar: plot: --from belongs to --what reuse, study$' plot gen:s2d9pt:12 --what rhs --from one.json --out x.svg
expect 0 . plot gen:s2d9pt:12 --what communication --layout 1x1x4 --ordering natural --out x.svg
matrix singular.mtx 'real general' '2 2 1' '1 1 1'
expect 1 'structurally singular' plot singular.mtx --what memory --out x.svg
finish
