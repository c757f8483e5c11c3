#!/usr/bin/env bash
# driver_krylov.sh PROGRAM: `tristar krylov` with each method and each word of --precond: convergence, consistent results,
# the picture, the same bits for any number of workers, and messages of failures.
. "$(dirname "$0")/driver.sh"
rm -f -- *.mtx *.json *.svg *.txt # of an earlier run

# ---- Small systems with known solutions: [4 1 0; 1 3 -1; 0 -1 5] (1, 2, 3) = (6, 4, 13)
matrix spd.mtx 'real symmetric' '3 3 5' '1 1 4' '2 1 1' '2 2 3' '3 2 -1' '3 3 5'
printf '6\n4\n13\n' >b.txt
for method in cg bicgstab gmres fgmres pipelined-cg block-cg; do
  rm -f x.mtx
  expect 0 '^accuracy +converged' krylov spd.mtx --method $method --rhs b.txt --out x.mtx --tol 1e-12
  tail -n 3 x.mtx | awk '{ if (($1 - NR) ^ 2 > 1e-18) wrong = 1 } END { exit NR != 3 || wrong }' ||
    fail "$method: x is not (1, 2, 3): $(tail -n 3 x.mtx | tr '\n' ' ')"
done
matrix hermitian.mtx 'complex hermitian' '2 2 3' '1 1 4 0' '2 1 1 -1' '2 2 3 0'
expect 0 '^method +CG on' krylov hermitian.mtx
expect 0 '^method +GMRES\(30\) on' krylov gen:convdiff3d:5
expect 0 '^method +FGMRES\(7\) on' krylov gen:convdiff3d:5 --method fgmres --restart 7
expect 0 '^method +pipelined CG on' krylov gen:diffusion3d:6 --method pipelined-cg --precond jacobi --norm residual
row '^ +norm of the residual '
expect 0 '^method +block CG\(3\) on' krylov gen:poisson3d7:8 --method block-cg --block 3 --nrhs 4 --json k.json --svg k.svg
[ "$(grep -c 'right-hand side [1-4]<' k.svg)" -eq 4 ] || fail "k.svg: not the four right-hand sides"
[ "$(value block k.json)" = 3 ] || fail "k.json: no block"
for precision in s d c z; do expect 0 '^accuracy +converged' krylov gen:s2d9pt:20 --precision $precision --precond ic0; done

# ---- Preconditioners: each takes fewer iterations than none does
iterations() {
  rm -f k.json
  "$tristar" krylov "$@" --json k.json >output.txt 2>&1 || { fail "tristar krylov $*"; cat output.txt >&2; }
  value iterations k.json | head -n 1 # those of the columns follow
}
plain=$(iterations gen:s2d9pt:40 --precond none)
for precond in ssor ilu0 ilu1 ilu2 milu0 ilut ic0 ic1 mic0 ict fsai factor; do
  some=$(iterations gen:s2d9pt:40 --precond $precond)
  [ "${some:-9999}" -lt "$plain" ] || fail "$precond: $some iterations, without a preconditioner $plain"
  [ "$(value precond k.json)" = $precond ] || fail "k.json: the preconditioner is not $precond"
done
[ "$some" -eq 1 ] || fail "complete factors: $some iterations"
[ "$(iterations gen:s2d9pt:40 --precond ilut --drop 1e-6 --fill 40)" -lt "$(iterations gen:s2d9pt:40 --precond ilut --drop 0.1 --fill 0)" ] ||
  fail "--drop and --fill: more entries do not take fewer iterations"
[ "$(iterations gen:s2d9pt:40 --precond ssor --omega 1.5)" -lt "$(iterations gen:s2d9pt:40 --precond ssor --omega 0.5)" ] ||
  fail "--omega has no effect"
[ "$(iterations gen:diffusion3d:8 --precond fsai --fsai steps=10,per_step=2,reduction=0)" -lt "$(iterations gen:diffusion3d:8 --precond fsai --fsai steps=2,per_step=1)" ] ||
  fail "--fsai: more entries do not take fewer iterations"
for block in 3 auto; do
  expect 0 '^precond +fsai, .* by 180 nodes, density' krylov gen:elasticity3d:5 --precond fsai --fsai block=$block,power=1 --checksum
  sed -n 's/^checksum *//p' output.txt >>sums_nodes.txt
done
[ "$(sort -u sums_nodes.txt | wc -l)" -eq 1 ] || fail "--fsai: block=auto does not find three unknowns a point"
expect 0 '^precond +fsai, [0-9,]+ entries in its factors, density [0-9.]+; set up in' krylov gen:diffusion3d:8 --precond fsai \
  --fsai steps=0,power=2,prefilter=0.01,postfilter=0.05,single=1 --shift 0.001 --checksum --json k.json
awk "BEGIN { exit !($(value density k.json) > 0.5 && $(value density k.json) < 4) }" || fail "k.json: density $(value density k.json)"
for method in bicgstab gmres; do
  [ "$(iterations gen:convdiff3d:10 --method $method --precond fsai)" -lt "$(iterations gen:convdiff3d:10 --method $method --precond jacobi)" ] ||
    fail "$method: two factors of an approximate inverse take as many iterations as the diagonal"
done
one=$(iterations gen:diffusion3d:8 --precond fsai --fsai pair=0) both=$(iterations gen:diffusion3d:8 --precond fsai --fsai pair=1)
[ "$one" -eq "$both" ] || fail "--fsai: $one iterations with one factor, $both with two"
expect 0 'sparse approximate inverse: at most [0-9]+ entries of each factor, [0-9.]+ MB' krylov gen:convdiff3d:6 --precond fsai --verbose
row '^precond +fsai, .*; set up in [0-9.]+ [a-z]+, takes [0-9.]+ [KM]B$'
expect 1 'gen:convdiff3d:6: .* no mirror images: ILU takes such a matrix, and FSAI a pair of factors' krylov gen:convdiff3d:6 --precond fsai --fsai pair=0
expect 1 'pair is 3' krylov spd.mtx --precond fsai --fsai pair=3
for side in left right; do
  expect 0 '^accuracy +converged' krylov gen:convdiff3d:6 --method bicgstab --precond jacobi --side $side
done
row '^ +norm of the residual '
if command -v python3 >/dev/null; then
  expect 0 '' krylov gen:convdiff3d:8 --precond ilu0 --nrhs 2 --repeat 2 --json k.json --svg k.svg
  python3 - k.json <<'END' || fail "k.json: figures that do not agree"
import json, sys
r = json.load(open(sys.argv[1]))
assert r["converged"] and r["method"] == "gmres" and r["nrhs"] == 2 and r["reason"] == "converged", r
assert len(r["residuals"]) == r["columns"][0]["iterations"] + 1 and r["residuals"][0] == 1, r
assert r["residuals"][-1] == r["columns"][0]["relative_residual"] <= r["tolerance"] == 1e-8, r
assert r["iterations"] == max(c["iterations"] for c in r["columns"]) and r["backward_error"] < 1e-5, r
assert r["nnz_factor"] == r["nnz"] and r["setup_s"] > 0 and r["products"] >= sum(c["iterations"] for c in r["columns"]), r
END
fi
[ "$(head -c 4 k.svg)" = '<svg' ] && [ "$(tail -n 1 k.svg)" = '</svg>' ] || fail "k.svg is no SVG"
grep -q 'logarithmic' k.svg || fail "k.svg does not say that an axis is logarithmic"
grep -q '<title>' k.svg || fail "k.svg has no marks"

# ---- Chosen for the matrix: CG with IC(0), GMRES where there is no positive diagonal or CG finds the matrix indefinite
expect 0 '^precond +ic0, ' krylov gen:s2d9pt:20
row '^method +CG on'
expect 0 '^precond +ilu0, ' krylov gen:convdiff3d:6
row '^ +norm of the residual '
matrix saddle.mtx 'real symmetric' '3 3 4' '1 1 2' '2 2 2' '3 1 1' '3 2 1'
expect 0 '^method +GMRES' krylov saddle.mtx
expect 0 '^accuracy +converged' krylov saddle.mtx --json k.json
matrix turns.mtx 'real symmetric' '3 3 6' '1 1 1' '2 1 2' '2 2 1' '3 1 -1' '3 2 1' '3 3 5'
expect 0 'CG, the first choice for a symmetric matrix, has found it indefinite' krylov turns.mtx
row '^method +GMRES'
row '^accuracy +converged'
matrix gap.mtx 'real general' '2 2 2' '1 2 1' '2 1 3' # no diagonal: neither ILU(0) nor Jacobi
expect 0 '^precond +none' krylov gap.mtx
row '^accuracy +converged'

# ---- A success is held against the true residual
matrix neumann.mtx 'real symmetric' '4 4 7' '1 1 1' '2 1 -1' '2 2 2' '3 2 -1' '3 3 2' '4 3 -1' '4 4 1'
printf '1\n0\n0\n0\n' >inconsistent.txt
printf '1\n0\n0\n-1\n' >consistent.txt
for method in cg pipelined-cg block-cg bicgstab gmres fgmres; do
  for precond in none jacobi; do
    expect 1 'right-hand side 1, iteration' krylov neumann.mtx --rhs inconsistent.txt --method $method --precond $precond --json k.json
    [ "$(value converged k.json)" = false ] || fail "k.json: $method with $precond has converged without a solution"
    expect 0 '^accuracy +converged' krylov neumann.mtx --rhs consistent.txt --method $method --precond $precond
  done
done
matrix small.mtx 'real symmetric' '2 2 3' '1 1 4e60' '2 1 1e60' '2 2 3e60'
printf '1e-60\n2e-60\n' >small.txt
for method in cg pipelined-cg block-cg bicgstab gmres fgmres; do
  expect 0 '^accuracy +converged' krylov small.mtx --method $method --precond jacobi --out x.mtx
  expect 0 '^ +true residual [0-9.]+e-(09|1[0-9]|2[0-9])|^ +true residual 0.0e' krylov small.mtx --rhs small.txt --method $method --precond jacobi
done

# ---- The same bits with and without tasks
for engine in serial tasks; do
  expect 0 '^checksum' krylov gen:s2d9pt:60 --engine $engine --checksum --max-iterations 500
  sed -n 's/^checksum *//p' output.txt >>sums.txt
  expect 0 '^checksum' krylov gen:s2d9pt:60 --precond fsai --engine $engine --checksum
  sed -n 's/^checksum *//p' output.txt >>sums_fsai.txt
  expect 0 '^checksum' krylov gen:convdiff3d:16 --precond fsai --engine $engine --checksum
  sed -n 's/^checksum *//p' output.txt >>sums_pair.txt
done
[ "$(sort -u sums_pair.txt | wc -l)" -eq 1 ] || fail "fsai, two factors: with and without tasks there are other bits: $(tr '\n' ' ' <sums_pair.txt)"
[ "$(sort -u sums_fsai.txt | wc -l)" -eq 1 ] || fail "fsai: with and without tasks there are other bits: $(tr '\n' ' ' <sums_fsai.txt)"
[ "$(sort -u sums.txt | wc -l)" -eq 1 ] || fail "with and without tasks there are other bits: $(tr '\n' ' ' <sums.txt)"

# ---- Messages on many processes, counted: they grow until one has neighbours on all sides
expect 0 '^ranks +12, boxes of a grid of 3 x 2 x 2$' info gen:poisson3d7:12 --ranks 12
row '^messages, iteration +[0-9.]+ +[0-9.]+ +[0-9.]+$'
expect 0 '^ranks +3, blocks of rows$' info spd.mtx --ranks 3 --fsai steps=2,levels=2
expect 0 '^ranks +8, blocks of rows$' info spd.mtx --ranks 8
if command -v python3 >/dev/null; then
  for side in 1 2 3 4 5; do
    expect 0 '' info gen:diffusion3d:$((4 * side)) --ranks $((side * side * side)) --fsai steps=3,per_step=2 --json counts$side.json
  done
  python3 - <<'END' || fail "messages on many processes"
import json
most = ("setup_messages_most", "setup_bytes_most", "iteration_messages_most", "iteration_bytes_most")
runs = [json.load(open("counts%d.json" % side)) for side in (1, 2, 3, 4, 5)]
assert all(runs[0][key] == 0 for key in most) and all(0 < runs[1][key] < runs[2][key] for key in most), runs[:3]
for run in runs[3:]:
    assert all(abs(run[key] / runs[2][key] - 1) < 0.1 for key in most), [[r[key] for key in most] for r in runs]
for run in runs:
    sent = run["processes"]
    assert sum(p["rows"] for p in sent) == run["n"] and all(p["rows"] == 64 for p in sent)
    assert all(p["iteration_bytes"] == p["product_bytes"] + p["precond_bytes"] for p in sent)
END
fi
expect 2 '--layout and --ranks exclude each other' info spd.mtx --ranks 2 --layout 1x1x2
expect 2 '--fsai needs --ranks' info spd.mtx --fsai steps=2
expect 2 'info: --fsai steps=x: not NAME=NUMBER' info spd.mtx --ranks 2 --fsai steps=x
expect 2 'info: --fsai pair: messages are counted for one factor' info spd.mtx --ranks 2 --fsai pair=1
expect 1 'are no mirror images' info gen:convdiff3d:4 --ranks 2

# ---- Failures are reported, and X is still written
matrix indefinite.mtx 'real symmetric' '2 2 3' '1 1 1' '2 1 2' '2 2 1'
matrix skew.mtx 'real skew-symmetric' '2 2 1' '2 1 1'
printf '1\n-1\n' >b2.txt
printf '1\n0\n' >b3.txt
expect 1 'indefinite.mtx: right-hand side 1, iteration 1: the matrix is not positive definite' krylov indefinite.mtx --rhs b2.txt --method cg --precond none
expect 1 'skew.mtx: right-hand side 1, iteration 1: breakdown' krylov skew.mtx --rhs b3.txt --method bicgstab
expect 0 '^accuracy +converged' krylov skew.mtx --rhs b3.txt
rm -f x.mtx
expect 1 'iteration 3: not converged within the limit of iterations' krylov gen:s2d9pt:30 --max-iterations 3 --out x.mtx --json k.json
[ -s x.mtx ] && [ "$(value converged k.json)" = false ] && [ "$(value status k.json)" = TRISTAR_ERR_ACCURACY ] || fail "a limit: no X, or no figures"
expect 1 'indefinite.mtx: .*row 1' krylov indefinite.mtx --precond ic0
expect 1 'indefinite.mtx: .*row 1, counted from 0, is not positive' krylov indefinite.mtx --precond fsai
expect 1 'block is 9; it is a number up to 8' krylov spd.mtx --precond fsai --fsai block=9
expect 1 'per_step is 0' krylov spd.mtx --precond fsai --fsai per_step=0
expect 1 '^tristar: cannot open missing.mtx' krylov missing.mtx
expect 1 'b2.txt.* rows, but the matrix has 3' krylov spd.mtx --rhs b2.txt
expect 1 'computes the norm of M\^-1 r only' krylov spd.mtx --method gmres --norm residual --side left
expect 1 'CG is not preconditioned from the right' krylov spd.mtx --method block-cg --side right
expect 2 '--block 33: not between 1 and 32' krylov spd.mtx --method block-cg --block 33
expect 1 'FGMRES is preconditioned from the right only' krylov spd.mtx --method fgmres --side left

# ---- Beside PETSc, where it is: the same counts
petsc=$(cd "$(dirname "$tristar")" && pwd)/tools/peers/krylov_petsc
if [ -x "$petsc" ] && command -v python3 >/dev/null; then
  "$(dirname "$0")/../../tools/bench/bench_krylov" --build "$(dirname "$tristar")" --methods cg,bicgstab --seeds 2 --rounds 1 --repeat 1 --json petsc.json \
    gen:poisson3d7:6 indefinite.mtx >output.txt 2>&1 </dev/null || fail "bench_krylov: exit status $?"
  row '^gen:poisson3d7:6 +cg +([0-9.]+) \([0-9]+\.\.[0-9]+\) +\1 \([0-9]+\.\.[0-9]+\) +1\.00 '
  row '^indefinite.mtx +cg +TriStar: .*row 1'
  row '^3 of 3 counts within 2 % or one iteration, 0 differ by what rounding errors explain \(~\), 0 by more \(!\)$'
  [ "$(grep -c '"iterations_difference": ""' petsc.json)" -eq 3 ] || fail "petsc.json: $(cat petsc.json)"
  PETSC_OPTIONS='-ksp_type cg -pc_type none -perturb 1' "$petsc" gen:chain:9 1 >output.txt 2>&1
  row '"message": "-perturb EPS,SEED: two numbers are needed"'
else
  echo "not built: $petsc"
fi

# ---- The first solution beside PETSc and Eigen, as far as they are there
if [ -x "$(dirname "$tristar")/tools/peers/iterate_tristar" ] && command -v python3 >/dev/null; then
  "$(dirname "$0")/../../tools/bench/bench_iterate" --build "$(dirname "$tristar")" --rounds 1 --seconds 0.001 --precond best --json first.json \
    gen:poisson3d7:6 gen:convdiff3d:6 >output.txt 2>&1 </dev/null || fail "bench_iterate: exit status $?"
  row '^gen:poisson3d7:6 +216 +[1-9][0-9]* +[0-9.]+ +[0-9.]+ '
  row '^gen:convdiff3d:6 +216 +[1-9][0-9]* +[0-9.]+ +[0-9.]+ '
  [ "$(grep -c '"method": "CG"' first.json)" -ge 1 ] && [ "$(grep -c '"method": "BiCGSTAB"' first.json)" -ge 1 ] || fail "first.json: $(cat first.json)"
else
  echo "not built: iterate_tristar"
fi

# ---- Wrong usage
expect 2 'no MATRIX given' krylov
expect 2 '--precond ilu: not one of auto, none, jacobi, ssor' krylov spd.mtx --precond ilu
expect 2 '--precond ilu0x: not one of' krylov spd.mtx --precond ilu0x
expect 2 '--method qmr: not one of auto\|cg\|bicgstab\|gmres\|fgmres\|pipelined-cg\|block-cg' krylov spd.mtx --method qmr
expect 2 '--drop and --fill belong to' krylov spd.mtx --precond ilu0 --drop 0.1
expect 2 '--omega belongs to --precond ssor' krylov spd.mtx --omega 1
expect 2 '--omega 2: not between 0 and 2' krylov spd.mtx --precond ssor --omega 2
expect 2 '--fsai belongs to --precond fsai' krylov spd.mtx --precond ic0 --fsai steps=3
for wrong in steps steps= steps=x steps=1.5 steps=-1 size=3 steps=3, steps=3,,power=1 steps=3x; do
  expect 2 "--fsai $wrong: not NAME=NUMBER" krylov spd.mtx --precond fsai --fsai $wrong
done
expect 2 '--shift belongs to incomplete factors' krylov spd.mtx --precond jacobi --shift 1
expect 2 '--restart 0: not between 1 and' krylov spd.mtx --restart 0
expect 2 '--nrhs and --rhs exclude each other' krylov spd.mtx --rhs b.txt --nrhs 2
expect 2 '--svg' krylov spd.mtx --svg picture.bmp
expect 0 '^usage: tristar krylov MATRIX' krylov --help
finish
