#!/usr/bin/env bash
# driver_bench_fsai.sh PROGRAM: `tristar bench --fsai` on tiny matrices: rows of the tables, ratios, keys of the JSON, the
# picture, peers that fail or are missing, wrong words. Peers are scripts here, so that none needs to be installed; peers
# built with the program run, too. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -rf -- *.json *.svg *.txt *.mtx peers # of an earlier run

# bench STATUS REGEX ARGUMENT...: expect of `tristar bench --fsai`.
bench() {
  local expected=$1 regex=$2
  shift 2
  expect "$expected" "$regex" bench --fsai "$@"
}

# peer NAME LINE...: a program of a peer.
peer() { script "peers/krylov_$1" "${@:2}"; }
mkdir peers
export TRISTAR_PEERS=$PWD/peers
unset STARPU_NCPU
peer hypre 'echo "$PEER_FSAI; $*" >>hypre.txt' \
  "echo '{\"status\": 0, \"iterations\": 40, \"nnz_factor\": 7, \"factor_s\": 6, \"solve_s\": 20, \"backward_error\": 1e-9}'"
peer petsc 'echo "$PETSC_OPTIONS" >>petsc.txt' \
  "case \$PETSC_OPTIONS in *icc*) echo '{\"status\": -3, \"message\": \"DIVERGED_ITS\"}'; exit 1;; esac" \
  "echo '{\"status\": 0, \"iterations\": 10, \"nnz_factor\": 0, \"factor_s\": 1, \"solve_s\": 5, \"backward_error\": 2e-9}'"

# ---- Tables
bench 0 '^gen:diffusion3d:6: 216 rows, [0-9,]+ entries, double; medians of 2 rounds, each of 3 solves$' gen:diffusion3d:6 gen:elasticity3d:2 \
  --rounds 2 --repeat 3 --ranks 1 --steps 4 --per-step 2 --tol 1e-6 --json all.json --svg all.svg
row '^  TriStar, FSAI, 1 process +[0-9]+ .* [0-9]+ % +[0-9]+ +[0-9.]+e-[0-9]+$'
row '^  TriStar, FSAI, pipelined, 1 process +[0-9]+ .*e-[0-9]+$'
row '^  TriStar, Jacobi, 1 process +[0-9]+ .* - +[0-9.]+e-[0-9]+$'
row '^  hypre, FSAI, 1 process +40 +6\.00 s +500 ms +20\.0 s +26\.0 s +- +7 +1\.0e-09$'
row '^  PETSc, Jacobi, 1 process +10 +1\.00 s +500 ms +5\.00 s +6\.00 s +- +- +2\.0e-09$'
row '^  PETSc, ICC, 1 process +failed: DIVERGED_ITS$'
row '^Geometric means over the matrices; processes: 1$'
row "^  set-up: hypre's FSAI / TriStar's +[0-9.]+$"
row "^  set-up and solve: PETSc's ICC / TriStar's FSAI +-$"
[ "$(sort -u hypre.txt | sed 's/gen:.*:[0-9]* /M /')" = "$(printf '4 2 %s 10000; M 3\n4 2 %s 10000; M 3' 9.9999999999999995e-07 9.9999999999999995e-07)" ] ||
  fail "hypre was called with: $(cat hypre.txt)"
[ "$(grep -c -- '-ksp_norm_type unpreconditioned -ksp_rtol 9.9999999999999995e-07 ' petsc.txt)" -eq 6 ] || fail "PETSc was called with: $(cat petsc.txt)"
[ "$(head -c 4 all.svg)" = '<svg' ] && [ "$(tail -n 1 all.svg)" = '</svg>' ] || fail "all.svg is no SVG"
[ "$(grep -c 'class="point"' all.svg)" -eq 8 ] || fail "all.svg: not four marks for each matrix"
if command -v python3 >/dev/null; then
  python3 - all.json <<'END' || fail "all.json: figures that do not agree"
import json, sys
r = json.load(open(sys.argv[1]))
assert len(r["cases"]) == 2 and r["peers_missing"] == [] and r["rounds"] == 2, r
for case in r["cases"]:
    by = {c["name"]: c for c in case["contenders"]}
    own, hypre = by["TriStar, FSAI, 1 process"], by["hypre, FSAI, 1 process"]
    assert len(by) == 6 and own["solved"] and own["ranks"] == 1 and own["precond"] == "fsai" and len(own["rounds"]) == 2
    assert abs(own["total_s"] / (own["setup_s"] + own["solve_s"]) - 1) < 1e-9 and own["backward_error"] < 1e-4
    assert abs(case["ratios"][0]["hypre_setup"] * own["setup_s"] - hypre["setup_s"]) < 1e-6 * hypre["setup_s"]
    assert case["ratios"][0]["ranks"] == 1 and "petsc_icc_total" not in case["ratios"][0]
    assert not by["PETSc, ICC, 1 process"]["solved"] and by["PETSc, ICC, 1 process"]["message"] == "DIVERGED_ITS"
assert r["means"][0]["hypre_iterations"] > 1
END
fi

# ---- Missing peers; a matrix that is not positive definite fails, and the others are measured
rm peers/krylov_petsc
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 2\n2 2 1\n' >indefinite.mtx
bench 1 '^Peers that are not installed, and are skipped: PETSc$' indefinite.mtx gen:diffusion3d:4 --rounds 1 --repeat 2 --ranks 1
row '^  TriStar, FSAI, 1 process +failed: .*row 1, counted from 0, is not positive'
row '^gen:diffusion3d:4: 64 rows'
bench 1 '^tristar: bench: the peer petsc is not installed: no krylov_petsc in ' gen:diffusion3d:4 --peers petsc
bench 0 '^  TriStar, Jacobi, 1 process ' gen:diffusion3d:4 --rounds 1 --repeat 2 --ranks 1 --peers none

# ---- Those that are built: the same inverses, and so the same iterations of CG
built=$(cd "$(dirname "$tristar")" && pwd)/tools/peers
if [ -x "$built/krylov_hypre" ] && [ -x "$built/krylov_petsc" ] && command -v python3 >/dev/null; then
  TRISTAR_PEERS=$built bench 0 '^  PETSc, ICC, 1 process +[0-9]+ ' gen:diffusion3d:6 gen:elasticity3d:3 --rounds 1 --repeat 1 --ranks 1 --json built.json
  python3 - built.json <<'END' || fail "built.json: $(cat built.json)"
import json, sys
for case in json.load(open(sys.argv[1]))["cases"]:
    by = {c["name"].split(", 1 ")[0]: c for c in case["contenders"]}
    assert all(c["solved"] and c["backward_error"] < 1e-5 for c in by.values()), by
    for a, b in ("TriStar, FSAI", "hypre, FSAI"), ("TriStar, Jacobi", "PETSc, Jacobi"), ("TriStar, FSAI", "TriStar, FSAI, pipelined"):
        assert abs(by[a]["iterations"] - by[b]["iterations"]) <= 1, (a, b)
    assert by["TriStar, FSAI"]["nnz_factor"] == by["hypre, FSAI"]["nnz_factor"]
END
  PEER_FSAI='5 3' "$built/krylov_hypre" gen:chain:9 1 >output.txt 2>&1
  row '"message": "PEER_FSAI is ..5 3.., not four numbers"'
else
  echo "not built: krylov_hypre and krylov_petsc"
fi

# ---- Wrong usage
bench 2 '--fsai and --triangular exclude each other' gen:diffusion3d:4 --triangular
bench 2 '--fsai goes without --nrhs' gen:diffusion3d:4 --nrhs 2
bench 2 '--orders and --of and|--partitions, --orders, --of and --uplo need --triangular' gen:diffusion3d:4 --orders metis
bench 2 '--ranks 0: 0 is not between 1 and 4096' gen:diffusion3d:4 --ranks 0
bench 2 "--peers mumps: unknown peer 'mumps'; the peers are hypre, petsc" gen:diffusion3d:4 --peers mumps
expect 2 '--ranks, --steps, --per-step and --tol need --fsai' bench gen:diffusion3d:4 --ranks 2
finish
