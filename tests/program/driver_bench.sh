#!/usr/bin/env bash
# driver_bench.sh PROGRAM: `tristar bench` on tiny problems: rows of the table, keys of the JSON, the picture, peers that
# fail or are missing, wrong lists. Peers are scripts here, so that none needs to be installed. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -rf -- *.json *.svg *.txt *.mtx peers slow rounds quick quick.sh temporary # of an earlier run

# bench STATUS REGEX ARGUMENT...: expect of `tristar bench`.
bench() {
  local expected=$1 regex=$2
  shift 2
  expect "$expected" "$regex" bench "$@"
}

# peer NAME LINE...: a program of a peer, in $folder.
folder=peers
peer() { script "$folder/$1_solve" "${@:2}"; }
figures='"n": 81, "status": 0, "method": "LLT", "perturbed_pivots": 0, "refinement_steps": 0, "nnz_factor": 500,
"analyze_s": 2, "factor_s": 3, "backward_error": 1e-16'

mkdir peers
export TRISTAR_PEERS=$PWD/peers
unset STARPU_NCPU
# These peers do not support --on-demand, the first option: they start again in each round. CHOLMOD takes 4 s for one
# right-hand side and 8 s for several, half as much with 2 threads; it prints a line first.
peer cholmod 'echo "a banner with {braces}"' 'seconds=4' '[ $# -lt 4 ] || seconds=8' \
  '[ "$OPENBLAS_NUM_THREADS" = 1 ] || seconds=$((seconds / 2))' \
  "echo '{\"peer\": \"a script\", $figures, '\"\\\"solve_s\\\": \$seconds, \\\"solve_min_s\\\": 1}\""
peer umfpack 'echo "umfpack_solve: no such thing" >&2' 'exit 1'
peer superlu "echo '{\"peer\": \"a script\", \"n\": 81, \"status\": 7, \"message\": \"it is singular\"}'" 'exit 1'
peer superlu_dist 'kill -9 $$'

# ---- A slow round: its whisker is cut at the end of the axis, by an arrow and its time; another ordering is reported
mkdir slow
script slow/superlu_solve 'k=0' 'while :; do s=1e-5; [ $k -ne 1 ] || s=1' \
  "echo '{\"solver\": \"a script\", $figures, \"ordering\": \"AMF\", '\"\\\"solve_s\\\": \$s, \\\"solve_min_s\\\": \$s}\"" \
  'k=$((k + 1)); read -r line || exit 0; done'
TRISTAR_PEERS=$PWD/slow bench 0 'Ordering of SuperLU: AMF$' gen:s2d9pt:30 --rounds 3 --repeat 3 --peers superlu --workers 1 --svg slow.svg
grep -q 'slowest 1.00 s</text>' slow.svg || fail "slow.svg: no time of the slowest round"
grep -qE 'H858\.0M[0-9. v]*M854\.0 [0-9.]+l4 3l-4 3"' slow.svg || fail "slow.svg: no arrow at the end of the axis"
bench 0 '' gen:s2d9pt:30 --rounds 3 --repeat 3 --peers none --workers 1 --svg plain.svg
! grep -q 'no such\|l4 3l-4 3"' plain.svg || fail "plain.svg: an arrow"

# ---- Tables
two=(--workers 1,2 --rounds 1 --repeat 2)
bench 0 '^gen:s2d9pt:9: 81 rows, 625 entries, double; medians of 1 round, each of 2 solves$' gen:s2d9pt:9 \
  gen:convdiff3d:4 --nrhs 1,3 "${two[@]}" --reuse --svg all.svg --json all.json
row '^gen:convdiff3d:4: 64 rows'
row '^Peers that are not installed, and are skipped: MUMPS, Eigen$'
row '^1 right-hand side; read bandwidth [0-9.]+ GB/s of 2 cores$'
row '^3 right-hand sides; .*DGEMM [0-9.]+ GF/s, tall [0-9.]+ GF/s$'
row '^  TriStar, 1 worker, lws  .* us +[0-9]'
row '^  TriStar, 2 workers, lws  '
row '^  CHOLMOD, [12] threads?  .* 1\.0e-16 \(0\)'
row '^  UMFPACK +failed: umfpack_solve: no such thing$'
row '^  SuperLU +failed: it is singular$'
row '^  SuperLU_DIST +failed: ended by signal 9'
row '^  Speed-up of the best TriStar \([12] workers?, lws\) over the best peer \(CHOLMOD, [12] threads?\): [0-9.]+$'
row '^  CHOLMOD +2\.00 s +3\.00 s +[79]\.00 s .* always$'
for text in 'TriStar, 1 worker' 'CHOLMOD, ' 'failed: it is singular'; do
  [ "$(grep -c "$text" output.txt)" -ge 4 ] || fail "'$text' is not in the table of each case"
done
bench 0 '^  TriStar, 1 worker, eager ' gen:s2d9pt:60 --workers 1 --sched lws,eager --rounds 1 --repeat 1 --peers none
no_row 'CHOLMOD|Peers|Speed-up'
row '^  TriStar, 1 worker, lws  .* [0-9]+\.[0-9] % +[0-9.]+ [kMG]?B +[0-9.]+e-[0-9]+ \([0-9]+\)$'
bench 1 "failed: .*StarPU has no scheduler 'nonsense'" gen:s2d9pt:100 --workers 2 --sched nonsense --rounds 1 --peers none
bench 0 '^  Best scheduler for gen:s2d9pt:100 on this machine, 2 workers: (lws|prio)' gen:s2d9pt:100 --workers 1,2 \
  --sched prio,lws,nonsense --rounds 2 --repeat 1 --peers none --json sched.json
row '^1 right-hand side: schedulers of StarPU, 2 workers$'
row '^  (lws|prio)  .* .s \.\. .* 1\.00 +[0-9.]+ %$'
row "^  nonsense  +skipped: .*StarPU has no scheduler 'nonsense'"
row '^  TriStar, 1 worker, prio '
bench 0 '^  gen:s2d9pt:9 is solved without tasks: no scheduler takes part$' gen:s2d9pt:9 --workers 1 --sched prio,lws --rounds 1 \
  --repeat 1 --peers none
matrix singular.mtx 'real general' '2 2 2' '1 1 1' '1 2 1'
bench 1 '^  No scheduler solved singular.mtx$' singular.mtx --sched all --rounds 1 --peers none # all of them fail at once
for scheduler in lws eager prio dmda; do row "^  $scheduler  +skipped: .*singular"; done
bench 2 '--sched all,lws: all goes alone' gen:s2d9pt:9 --sched all,lws
bench 1 'failed: (StarPU has only [0-9]+ workers|no memory or no threads)' gen:s2d9pt:100 --workers 1000 --rounds 1 --peers none
bench 0 '^  TriStar, [0-9]+ workers?, lws ' gen:s2d9pt:9 --workers "all,$(nproc)" --rounds 1 --peers none
matrix pattern.mtx 'pattern symmetric' '3 3 2' '2 1' '3 2'
bench 0 '^Laplacian of pattern.mtx: 3 rows' pattern.mtx --workers 1 --rounds 1 --peers none
row '^  TriStar, 1 worker, lws  .* [0-9.]+e[-+][0-9]+ \('

# ---- Variants
bench 0 '^1 right-hand side: variants of TriStar, 2 workers, lws; memory: ' gen:convdiff3d:8 "${two[@]}" --peers cholmod \
  --variants levels,push+supernodes,spmv --json variants.json --svg variants.svg
row '^  default +.* 1\.00 +[0-9.]+ .?s +[0-9.]+ .?B +[0-9.]+e-1[0-9] \('
row '^  push\+supernodes  +[0-9.]+ .?s +[0-9.]+ +[0-9.]+ .?s +[0-9.]+ .?B +[0-9.]+e-1[0-9] \([0-9]\) +[0-9,]+$'
row '^  Speed-up of the best TriStar \([12] workers?, lws\) over'
[ "$(grep -c '^  spmv ' output.txt)" -eq 1 ] || fail 'spmv is not in exactly one table'
bench 0 '^  unmerged  ' gen:s2d9pt:9 --workers 1 --rounds 1 --repeat 1 --peers none --variants all
for word in levels push fundamental unmerged supernodes spmv; do row "^  $word  "; done
bench 2 "--variants levels,pull: unknown variant 'pull'; the variants are levels, push, " gen:s2d9pt:9 --variants levels,pull
bench 2 '--variants levels,: an empty entry' gen:s2d9pt:9 --variants levels,
bench 2 '--variants push,push: push stands there twice' gen:s2d9pt:9 --variants push,push
# Copies of the factor are variants.
bench 0 '^1 right-hand side: variants of TriStar, 2 workers, lws; memory: ' gen:poisson3d7:20 "${two[@]}" --peers none \
  --variants push --compress 1e-3,1e-8 --store s,b --nrhs 1,2 --json copies.json
for word in push 'compress 1e-3' 'compress 1e-8' 'store s' 'store b'; do row "^  $word  "; done
bench 2 "--compress 1e-3,2: '2' is not a tolerance between 0 and 1" gen:s2d9pt:9 --compress 1e-3,2
bench 2 "--store s,d: 'd' is not s or b" gen:s2d9pt:9 --store s,d

# ---- Rounds, the limit of time, the end of all processes
# A script that notes its starts, and answers all requests.
answers() {
  peer "$1" "echo start >>$1.txt" 'while :; do' "  echo '{$figures, \"solve_s\": 1}'" '  read -r line || exit 0' done
}
# started PEER NUMBER: so many processes of a peer were started, in all its settings together.
started() { [ "$(wc -l <"$1.txt")" -eq "$2" ] || fail "$1 was started $(wc -l <"$1.txt") times, expected $2"; }
settings=$(nproc)
[ "$settings" -lt 3 ] || settings=3
folder=rounds
mkdir $folder
export TRISTAR_PEERS=$PWD/$folder
answers cholmod
peer umfpack 'echo start >>umfpack.txt' "echo '{$figures, \"solve_s\": 1}'"
peer superlu 'echo start >>superlu.txt' "echo '{$figures, \"solve_s\": 2}'" 'read -r line' 'sleep 100'
peer mumps "echo '{$figures, \"solve_s\": 1}'" 'read -r line || exit 3'
bench 0 '^  CHOLMOD, ' gen:s2d9pt:9 --workers 1 --rounds 3 --repeat 1 --limit 2 --peers cholmod,umfpack,superlu,mumps \
  --json rounds.json --verbose
row '^  SuperLU, 1 thread .*  \(1 round; then over the limit of 2 s\)$'
row '^  MUMPS +failed: exit status 3$' # it ends after the second round, and then with the status of a failure
row '^tristar: \[1/1\] gen:s2d9pt:9, nrhs 1: the first round took [0-9]+ s; 2 rounds more: about [0-9]+ s$'
row '^tristar: \[1/1\] gen:s2d9pt:9, nrhs 1, round 2 of 3.*: CHOLMOD, 1 thread$'
started cholmod "$settings"
started umfpack $((3 * settings))
started superlu "$settings"
rm cholmod.txt
bench 0 '^  CHOLMOD, ' gen:s2d9pt:9 --workers 1 --rounds 3 --repeat 1 --peers cholmod --fresh --json fresh.json
started cholmod $((3 * settings))
peer umfpack 'sleep 100'
bench 0 '^  UMFPACK +failed: no result within the limit of 1 s \(--limit\)$' gen:s2d9pt:9 --workers 1 --rounds 3 --repeat 1 \
  --limit 1 --peers umfpack --json limit.json

# ---- --quick: each solver once with all cores; a slow peer is stopped, another is not started; nothing is left behind
mkdir quick temporary
export quick_mark=$$ # of the processes of these peers: another test may have such ones, too
cat >quick.sh <<'END'
echo start >>$0.txt
touch "$TMPDIR/left"
sleep 1000.$quick_mark & # in the group of the peer
setsid sleep 2000.$quick_mark & # outside of it
echo '{"event": "the matrix is read"}'
END
quick() { script "quick/$1_solve" '. ./quick.sh' "${@:2}"; }
quick cholmod 'while :; do' "echo '{$figures, \"ordering\": \"METIS\", \"solve_s\": 1}'" 'read -r line || exit 0' 'done'
quick mumps 'sleep 100'
quick superlu "echo '{$figures, \"solve_s\": 1}'"
figures_quick() { TMPDIR=$PWD/temporary TRISTAR_PEERS=$PWD/quick bench 0 "$@"; }
figures_quick 'CHOLMOD, [0-9]+ threads? +METIS +2\.00 s +3\.00 s +6\.00 s +1\.00 s .*  [0-9.]+, [0-9.]+$' gen:s2d9pt:30 --quick --limit 12 \
  --rounds 3 --peers all --json quick.json --svg quick.svg
row '^  TriStar, [0-9]+ workers?, lws +amd '
row '^  MUMPS, [0-9]+ threads? +- +- +- +> [0-9.]+ s  stopped; speed-up of the first solution > [0-9.]+$'
row '^1 right-hand side; medians of [1-3] rounds?, each of 3 solves; first: analysis, factorization and one solve$'
row '^  Speed-up of TriStar over the fastest peer: first solution [0-9.]+ \(.*\), solve [0-9.]+ \(.*\)$'
row '^  [12] solvers? had too little of the 12 s: --limit gives more$'
grep -q '>&gt; [0-9.]* s, stopped<' quick.svg || fail 'quick.svg: no lower bound of a peer that was stopped'
for started in quick/*_solve.txt; do
  [ "$(wc -l <"$started")" -eq 1 ] || fail "$started: a peer was prepared twice"
done
[ -z "$(ls temporary)" ] || fail "--quick has left $(ls temporary)"
! pgrep -f "^sleep [12]000\.$quick_mark\$" >/dev/null || fail '--quick has left processes of peers'
quick cholmod 'sleep 100'
figures_quick '^  No peer has solved: only TriStar has times of solves$' gen:s2d9pt:30 --quick --limit 2 --peers cholmod
bench 2 '--quick goes without --fsai, --triangular and --fresh' gen:s2d9pt:9 --quick --fresh

# busy NAME: a peer that prints the ids of its process and of a child, and keeps a core busy forever.
busy() {
  peer "$1" 'sleep 1000 &' "echo \$\$ \$! >$1.txt.new" "mv $1.txt.new $1.txt" 'while :; do :; done'
}
# gone NAME WHEN PID...: none of these processes runs any more, at the latest after 10 s.
gone() {
  local name=$1 when=$2 pid tries=0
  shift 2
  for pid; do
    while [ -d "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null && [ $tries -lt 100 ]; do
      tries=$((tries + 1))
      sleep 0.1
    done
    [ $tries -lt 100 ] || { fail "$name: process $pid runs after $when"; kill -9 "$pid"; }
  done
}
# end_by SIGNAL: ends a bench while a peer works; a signal that cannot be caught leaves what the peer has started itself.
end_by() {
  local program pids
  rm -f mumps.txt
  TMPDIR=$PWD/temporary "$tristar" bench gen:s2d9pt:9 --workers 1 --rounds 2 --repeat 1 --peers mumps >output.txt 2>&1 </dev/null &
  program=$!
  for _ in $(seq 100); do [ -e mumps.txt ] && break || sleep 0.1; done
  [ -e mumps.txt ] || fail "the peer did not start"
  read -r -a pids <mumps.txt
  kill -s "$1" $program
  wait $program 2>/dev/null
  [ $? -gt 128 ] || fail "tristar bench was not ended by signal $1"
  if [ "$1" = KILL ]; then
    gone mumps "SIG$1" "${pids[0]}"
    kill -9 "${pids[1]}" 2>/dev/null
  else
    gone mumps "SIG$1" "${pids[@]}"
  fi
  for _ in $(seq 100); do [ -z "$(ls temporary)" ] && break || sleep 0.1; done
  [ -z "$(ls temporary)" ] || fail "SIG$1 has left $(ls temporary)"
}
busy mumps
end_by TERM
end_by HUP
end_by KILL
export TRISTAR_PEERS=$PWD/peers

# ---- JSON and picture
cat >check.py <<'END'
import json, sys, xml.etree.ElementTree as tree
figures = json.load(open("all.json"))
assert (figures["rounds"], figures["repeat"], figures["peers_missing"]) == (1, 2, ["mumps", "eigen"]), figures
assert [(c["matrix"], c["nrhs"]) for c in figures["cases"]] == [
    (m, k) for m in ("gen:s2d9pt:9", "gen:convdiff3d:4") for k in (1, 3)]
for case in figures["cases"]:
    assert case["cores"] == 2 and case["bandwidth_gbps"] > 0 and case["n"] in (81, 64)
    assert case["best_tristar"].startswith("TriStar, ") and case["best_peer"].startswith("CHOLMOD, ")
    assert ("dgemm_gflops" in case) == (case["nrhs"] > 1) == (len(case["dgemm_rounds"]) == 1)
    rows = {c["name"]: c for c in case["contenders"]}
    one = rows["TriStar, 1 worker, lws"]
    assert one["solved"] and one["workers"] == 1 and one["scheduler"] == "lws" and one["exact_bytes"] > 0
    assert abs(one["gbps"] * 1e9 * one["solve_s"] / one["exact_bytes"] - 1) < 1e-9
    assert abs(one["bandwidth_share"] * case["bandwidth_gbps"] / one["gbps"] - 1) < 1e-9
    two = rows["TriStar, 2 workers, lws"]
    assert ("outside_share" in two) == (two["rounds"][0]["tasks"] > 0) and 0 <= two.get("outside_share", 0) < 1
    assert one["memory_bytes"] < one["peak_bytes"] < 2e9 and two["peak_bytes"] > 0
    assert one["backward_error"] < 1e-12 and one["solve_least_s"] <= one["solve_s"] <= one["solve_most_s"]
    assert len(one["rounds"]) == 1 and one["rounds"][0]["nrhs"] == case["nrhs"] and one["rounds"][0]["repeat"] == 2
    slow = rows["CHOLMOD, 1 thread"]
    assert slow["solve_s"] == (8 if case["nrhs"] > 1 else 4) and slow["exact_bytes"] == 2 * 500 * 8
    assert slow["total_10_s"] == 5 + 10 * slow["solve_s"]
    best = rows[case["best_peer"]]
    assert best["shown"] and case["speed_up"] == best["speed_up"] > 1
    if "CHOLMOD, 2 threads" in rows:
        assert case["best_peer"] != "CHOLMOD, 1 thread" and not slow["shown"]
    assert one["variant"] == "" and one["memory_bytes"] > one["exact_bytes"] / 2
    assert not rows["SuperLU, 1 thread"]["solved"] and rows["SuperLU, 1 thread"]["message"] == "it is singular"
case, = json.load(open("sched.json"))["cases"]
best, other, wrong = case["schedulers"]
assert best["scheduler"] == case["best_scheduler"] and {best["scheduler"], other["scheduler"]} == {"lws", "prio"}
assert best["to_best"] == 1 and best["solve_s"] <= other["solve_s"] and best["workers"] == 2
assert abs(other["to_best"] * best["solve_s"] / other["solve_s"] - 1) < 1e-9
assert not wrong["solved"] and "nonsense" in wrong["message"]
case, = json.load(open("variants.json"))["cases"]
rows = {c["variant"]: c for c in case["contenders"] if c["solver"] == "tristar" and c["workers"] == 2}
assert sorted(rows) == ["", "levels", "push+supernodes", "spmv"] and all(c["solved"] for c in rows.values())
assert rows["spmv"]["memory_bytes"] > 2 * rows[""]["memory_bytes"] and rows["push+supernodes"]["tasks"] > 100
assert case["best_tristar"].count(",") == 2, case["best_tristar"]
for case in json.load(open("copies.json"))["cases"]:
    rows = {c["variant"]: c for c in case["contenders"] if c["workers"] == 2}
    assert sorted(rows) == ["", "compress 1e-3", "compress 1e-8", "push", "store b", "store s"], sorted(rows)
    assert all(c["solved"] for c in rows.values())
    memory = {name: c["memory_bytes"] for name, c in rows.items()}
    assert memory["compress 1e-3"] < min(memory["compress 1e-8"], memory[""]) and memory[""] < memory["store b"] < memory["store s"]
texts = open("variants.svg").read()
assert "push+supernodes" in texts and texts.count("variants of TriStar") == 1
def rows_of(file):
    case, = json.load(open(file))["cases"]
    return case, {c["name"]: c for c in case["contenders"]}
case, rows = rows_of("rounds.json")
assert len(case["bandwidth_rounds"]) == 3 and case["bandwidth_gbps"] > 0
own = rows["TriStar, 1 worker, lws"]
assert own["kept"] and len(own["rounds"]) == 3 and not own["over_limit"] and own["used_s"] > 0 and own["starpu_start_s"] > 0
assert len({r["analyze_s"] for r in own["rounds"]}) == 1 and len({r["checksum"] for r in own["rounds"]}) == 1
assert len(rows["CHOLMOD, 1 thread"]["rounds"]) == len(rows["UMFPACK, 1 thread"]["rounds"]) == 3
late = rows["SuperLU, 1 thread"]
assert late["solved"] and late["over_limit"] and len(late["rounds"]) == 1 and "limit of 2 s" in late["message"], late
assert not rows["MUMPS, 1 thread"]["solved"], rows["MUMPS, 1 thread"]
case, rows = rows_of("fresh.json")
assert not any(c["kept"] for c in rows.values()) and len(rows["TriStar, 1 worker, lws"]["rounds"]) == 3
case, rows = rows_of("limit.json")
late = rows["UMFPACK, 1 thread"]
assert not late["solved"] and late["over_limit"] and late["rounds"] == [] and "limit of 1 s" in late["message"], late
figures = json.load(open("quick.json"))
case, rows = rows_of("quick.json")
assert figures["quick"] and figures["limit_s"] == 12 and 1 <= case["rounds"] <= 3
rows = {c["solver"]: c for c in rows.values()}
assert rows["tristar"]["solved"] and len(rows["tristar"]["rounds"]) == case["rounds"] and rows["tristar"]["ordering"] == "amd"
assert rows["cholmod"]["ordering"] == "METIS" and "stopped_s" not in rows["cholmod"]
assert abs(rows["cholmod"]["first_speed_up"] * rows["tristar"]["total_1_s"] / 6 - 1) < 1e-9
late = rows["mumps"]
assert not late["solved"] and late["over_limit"] and 1 < late["stopped_s"] < 12 and late["rounds"] == [], late
for name in ("all.svg",):
    root = tree.parse(name).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = "\n".join("".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}text"))
    for wanted in ("gen:s2d9pt:9", "gen:convdiff3d:4", "1 right-hand side", "3 right-hand sides", "CHOLMOD",
                   "TriStar, 2 workers, lws", "time of a solve", "failed: it is singular"):
        assert wanted in texts, wanted
END
if command -v python3 >/dev/null; then
  python3 check.py || fail "all.json or all.svg"
  "$(dirname "$0")/check_picture" quick.svg 2 || fail "quick.svg is no good picture"
  "$(dirname "$0")/check_picture" all.svg 2 || fail "all.svg is no good picture"
else
  echo "driver_bench: no python3, JSON and picture are not looked into"
  grep -q '"speed_up":' all.json && [ "$(tail -n 1 all.svg)" = '</svg>' ] || fail "all.json or all.svg"
fi
bench 0 '^{' gen:s2d9pt:9 --workers 1 --rounds 1 --peers none --json -
no_row 'right-hand side'

# ---- Peers that are not installed
bench 1 'the peer mumps is not installed: no mumps_solve in .*/peers$' gen:s2d9pt:9 --peers cholmod,mumps
TRISTAR_PEERS=$PWD/nothing bench 0 'skipped: CHOLMOD, UMFPACK, SuperLU, SuperLU_DIST, MUMPS, Eigen$' gen:s2d9pt:9 --workers 1 --rounds 1

# ---- Wrong usage and failures
bench 0 '^usage: tristar bench MATRIX\.\.\. ' --help
bench 2 'no MATRIX given'
bench 2 "unknown peer 'pardiso'; the peers are cholmod, " gen:s2d9pt:9 --peers cholmod,pardiso
bench 2 '--peers cholmod,: an empty entry' gen:s2d9pt:9 --peers cholmod,
bench 2 '--peers cholmod,cholmod: cholmod stands there twice' gen:s2d9pt:9 --peers cholmod,cholmod
bench 2 "--nrhs 1,x: 'x' is not an integer" gen:s2d9pt:9 --nrhs 1,x
bench 2 "--nrhs all: 'all' is not an integer" gen:s2d9pt:9 --nrhs all
bench 2 '--nrhs 0: 0 is not between 1 and' gen:s2d9pt:9 --nrhs 0
bench 2 '--nrhs 8,8: 8 stands there twice' gen:s2d9pt:9 --nrhs 8,8
bench 2 '--workers 1,,2: an empty entry' gen:s2d9pt:9 --workers 1,,2
bench 2 '--workers 5000: 5000 is not between 1 and' gen:s2d9pt:9 --workers 5000
bench 2 '--sched lws,lws: lws stands there twice' gen:s2d9pt:9 --sched lws,lws
bench 2 '--rounds 0: not between 1 and' gen:s2d9pt:9 --rounds 0
bench 2 '--limit -1: not between 0 and' gen:s2d9pt:9 --limit -1
expect 2 '--on-demand needs --json -' solve gen:s2d9pt:9 --on-demand
expect 2 '--on-demand needs --json -' solve gen:s2d9pt:9 --on-demand --json x.json
bench 2 "unknown kind 'poison'" gen:s2d9pt:9 gen:poison:3
bench 1 'cannot open missing.mtx' gen:s2d9pt:9 missing.mtx
bench 1 'cannot write no/such/folder/x' gen:s2d9pt:9 --workers 1 --rounds 1 --peers none --json no/such/folder/x
bench 1 'cannot write no/such/folder/x' gen:s2d9pt:9 --workers 1 --rounds 1 --peers none --svg no/such/folder/x

finish
