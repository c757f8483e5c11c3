#!/usr/bin/env bash
# driver_usage.sh PROGRAM: help, exit statuses and messages of the program `tristar`. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -f -- *.mtx *.mtx.gz *.svg *.dot *.png full.txt help.txt # of an earlier run

# matrix FILE HEADER SIZES ENTRY...
matrix() {
  local file=$1 header=$2
  shift 2
  { echo "%%MatrixMarket matrix $header"; printf '%s\n' "$@"; } >"$file"
}

# ---- Help and version
expect 0 '^usage: tristar SUBCOMMAND' --help
expect 0 '^tristar [0-9]+\.[0-9]+\.[0-9]+$' --version
for command in solve info gen plot; do
  expect 0 "^usage: tristar $command " $command --help
  expect 0 '^  --help ' $command -h
done
for words in help --help -h 'help help' 'help --help'; do expect 0 '^usage: tristar SUBCOMMAND' $words; done
for words in version --version -V 'help version'; do expect 0 '^tristar [0-9]+\.[0-9]+\.[0-9]+$' $words; done
expect 2 "unknown subcommand 'sovle'" help sovle
expect 2 'unexpected argument: info' help solve info
expect 2 'unexpected argument: solve' version solve
for command in solve trisolve krylov info simulate schur inverse batch calibrate env gen plot bench; do
  expect 0 "^usage: tristar $command " help $command
  cp output.txt help.txt
  ! grep -n ' $' help.txt || fail "help $command ends lines with blanks"
  expect 0 '' $command --help
  cmp -s help.txt output.txt || fail "help $command is not $command --help"
  no_row '^.{101}'
done
expect 0 '' --help
no_row '^.{101}'
expect 0 '^s2d9pt .*2D Poisson' gen --list

# ---- What runs a solve, and why
expect 0 '^way +tasks, on 2 threads: the option engine of the plan is TASKS$' solve gen:s2d9pt:30 --engine tasks --explain
expect 0 '^way +serial, on 1 thread: the prediction is [0-9.e+]+ us with tasks and [0-9.e+]+ us by the calling thread alone$' solve gen:s2d9pt:60 --explain
expect 2 '--explain is for one process' solve gen:s2d9pt:30 --explain --layout 1x1x1

# ---- Inertia and determinant: [2 1; 1 -3], a path without boundary, a matrix that is not symmetric
matrix saddle.mtx 'coordinate real symmetric' '2 2 3' '1 1 2' '2 1 1' '2 2 -3'
expect 0 '^ +1 positive, 1 negative, 0 zero eigenvalues$' solve saddle.mtx --inertia
expect 0 '^ +determinant -7e\+0$' solve saddle.mtx --determinant
expect 0 '^ +determinant -7e\+0$' solve saddle.mtx --determinant --method lu
expect 1 'an inertia needs L L\^T or L D L\^T' solve saddle.mtx --inertia --method lu
matrix neumann.mtx 'coordinate real symmetric' '3 3 5' '1 1 1' '2 1 -1' '2 2 2' '3 2 -1' '3 3 1'
printf '%s\n' 1 0 -1 >balanced.txt
printf '%s\n' 1 4 >balanced2.txt # [2 1; 1 -3] (1, -1)
expect 0 '^ +2 positive, 0 negative, 1 zero eigenvalue$' solve neumann.mtx --inertia --singular perturb --rhs balanced.txt
expect 0 '^ +determinant 0: the matrix is singular to working precision$' solve neumann.mtx --determinant --singular perturb --rhs balanced.txt
matrix complex.mtx 'coordinate complex symmetric' '2 2 3' '1 1 0 2' '2 1 1 0' '2 2 0 1'
expect 1 'a complex symmetric matrix has no inertia' solve complex.mtx --inertia --method ldlt
expect 0 '^ +determinant -3e\+0$' solve complex.mtx --determinant --method ldlt
expect 2 '--determinant and --null-space are for one process' solve saddle.mtx --inertia --layout 1x1x1
expect 0 '^ +null space with 1 dimension, written to null.mtx$' solve neumann.mtx --null-space null.mtx --singular perturb
[ "$(grep -v '^%' null.mtx | awk 'NR > 1 { printf "%.12f ", $1 * $1 }')" = "$(printf '0.333333333333 %.0s' 1 2 3)" ] ||
  fail "the null vector: $(cat null.mtx)"
expect 0 '^ +null space with 0 dimensions, written to null.mtx$' solve saddle.mtx --null-space null.mtx

# ---- The diagonal of the inverse, also of a saved plan; Schur complements
expect 0 '^ +diagonal of the inverse, in .*, written to diagonal.mtx$' solve saddle.mtx --inverse-diagonal diagonal.mtx --save saddle.plan
[ "$(grep -v '^%' diagonal.mtx | awk 'NR > 1 { printf "%.12f ", $1 * 7 }')" = '3.000000000000 -2.000000000000 ' ] ||
  fail "the diagonal of the inverse: $(cat diagonal.mtx)"
expect 0 'written to other.mtx$' solve --load saddle.plan --inverse-diagonal other.mtx --rhs balanced2.txt --out x.mtx
[ "$(tail -n 2 other.mtx)" = "$(tail -n 2 diagonal.mtx)" ] || fail "of a saved plan: $(cat other.mtx)"
[ "$(tail -n 2 x.mtx | awk '{ printf "%.12f ", $1 }')" = '1.000000000000 -1.000000000000 ' ] || fail "x of a saved plan: $(cat x.mtx)"
expect 2 '--load takes the place of MATRIX' solve saddle.mtx --load saddle.plan
expect 1 'saddle.mtx: not a file that tristar solve --save has written' solve --load saddle.mtx
expect 1 'cannot open no.plan: No such file' solve --load no.plan
expect 2 '--load needs a file, not standard input' solve --load -
echo 2 >second.txt
expect 0 '^schur +1 unknown, ' solve saddle.mtx --schur second.txt --out schur.mtx
[ "$(tail -n 1 schur.mtx | awk '{ printf "%.12f", $1 }')" = -3.500000000000 ] || fail "the Schur complement: $(cat schur.mtx)"
expect 2 'schur: --rhs needs --reduced FILE or --interface FILE' solve saddle.mtx --schur second.txt --rhs balanced2.txt
"$tristar" solve saddle.mtx --schur - --out schur.mtx <second.txt >output.txt 2>&1 || fail "--schur -: $(cat output.txt)"

# ---- Several processes: what runs on one refuses on all of them, with one message; every launcher is detected
for launcher in OMPI_COMM_WORLD_SIZE:OMPI_COMM_WORLD_RANK PMI_SIZE:PMI_RANK MV2_COMM_WORLD_SIZE:MV2_COMM_WORLD_RANK \
  SLURM_STEP_NUM_TASKS:SLURM_PROCID JSM_NAMESPACE_SIZE:JSM_NAMESPACE_RANK FLUX_JOB_SIZE:FLUX_TASK_RANK; do
  for rank in 0 1; do
    [ $rank = 0 ] || [[ $launcher == SLURM* ]] || continue # it waits for rank 0
    env "${launcher%:*}=2" "${launcher#*:}=$rank" "$tristar" gen s2d9pt 5 --out ranks.mtx >output.txt 2>&1
    [ $? -eq 2 ] || fail "gen on rank $rank of 2, $launcher: another exit status than 2"
    [ ! -e ranks.mtx ] || fail "gen on rank $rank of 2, $launcher, has written a file"
    [ "$(grep -c "^tristar: gen: runs on one process, but 2 were started (${launcher%:*}=2)" output.txt)" -eq $((1 - rank)) ] ||
      fail "gen on rank $rank of 2, $launcher: $(cat output.txt)"
  done
done
export OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0
for words in 'plot tree gen:s2d9pt:9 --out ranks.svg' 'info gen:s2d9pt:9' 'info gen:s2d9pt:9 --layout 1x1x2' \
  calibrate 'bench gen:s2d9pt:9' 'simulate gen:s2d9pt:9' 'gen --list'; do
  # shellcheck disable=SC2086 # several words
  expect 2 ": runs on one process, but 3 were started" $words
done
expect 0 '^usage: tristar plot' plot --help
expect 0 '^StarPU' env
OMPI_COMM_WORLD_RANK=1
"$tristar" env >output.txt 2>&1 || fail "env on rank 1 of 3"
[ ! -s output.txt ] || fail "env on rank 1 of 3 prints"
OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0
export SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=2 # that mpiexec runs in: its own variables count
expect 0 '^matrix ' info gen:s2d9pt:9
unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK SLURM_STEP_NUM_TASKS SLURM_PROCID

# ---- Wrong usage: status 2, the wrong word, the way to help
expect 2 'no subcommand'
expect 2 "unknown subcommand 'sovle'" sovle
expect 2 "Try 'tristar --help'" sovle
expect 2 "unknown option '--nothing'" --nothing
expect 2 'unknown or ambiguous option --nothing' solve --nothing gen:s2d9pt:5
expect 2 "Try 'tristar solve --help'" solve --nothing gen:s2d9pt:5
expect 2 'unknown option -x' solve -x gen:s2d9pt:5
expect 2 'no MATRIX' solve
expect 2 'no MATRIX' info
expect 2 '--gpu K20: not one of A100\|H100\|GH200\|H200\|MI250X\|V100-SXM3\|V100' info gen:s2d9pt:5 --gpu K20
expect 2 '--devices needs --gpu' info gen:s2d9pt:5 --devices 2
expect 2 'no MATRIX' plot tree
expect 2 'unexpected argument: b' solve a b
expect 2 '--rhs needs a value' solve gen:s2d9pt:5 --rhs
expect 2 'no value is allowed for --checksum=3' solve gen:s2d9pt:5 --checksum=3
expect 2 '--nrhs 3x: not an integer' solve gen:s2d9pt:5 --nrhs 3x
expect 2 '--nrhs : not an integer' solve gen:s2d9pt:5 --nrhs ''
expect 2 '--nrhs 0: not between 1 and' solve gen:s2d9pt:5 --nrhs 0
expect 2 '--repeat 99999999999999999999: not an integer' solve gen:s2d9pt:5 --repeat 99999999999999999999
expect 2 '--in-flight 0: not between 1 and' solve gen:s2d9pt:5 --in-flight 0
expect 2 '--fuse is for one process' solve gen:s2d9pt:5 --fuse 8 --layout 1x1x1
expect 2 '--in-flight 4 needs --repeat' solve gen:s2d9pt:5 --in-flight 4 --repeat 3
expect 2 '--refine -1: not between 0 and' solve gen:s2d9pt:5 --refine -1
expect 2 '--tolerance 1e-6x: not a number' solve gen:s2d9pt:5 --tolerance 1e-6x
expect 2 '--tolerance inf: not finite' solve gen:s2d9pt:5 --tolerance inf
expect 2 '--tol 1e999: not finite' krylov gen:s2d9pt:5 --tol 1e999
expect 2 'an empty word, where a name is expected' solve ''
expect 2 'an empty word, where a name is expected' bench gen:s2d9pt:5 ''
expect 2 '--tolerance nan: not a number' solve gen:s2d9pt:5 --tolerance nan
expect 2 '--method qr: not one of auto\|llt\|lu\|ldlt' solve gen:s2d9pt:5 --method qr
expect 2 '--precision x: not one of s\|d\|c\|z\|sd\|cz' info gen:s2d9pt:5 --precision x
expect 2 '--precision needs a value' plot tree gen:s2d9pt:5 --precision
expect 2 '--op H: not one of N\|T\|C' solve gen:s2d9pt:5 --op H
expect 2 'unknown or ambiguous option --op' info gen:s2d9pt:5 --op T
for command in solve info; do
  expect 2 "--variant pull: unknown variant 'pull'; the variants are levels, push, fundamental, .*spmv" $command gen:s2d9pt:5 --variant pull
  expect 2 "unknown variant ''; the variants are levels, " $command gen:s2d9pt:5 --variant levels+
  expect 2 '--variant unmerged\+fundamental: unmerged and fundamental cannot be combined' $command gen:s2d9pt:5 --variant unmerged+fundamental
  expect 2 '--variant : unknown variant' $command gen:s2d9pt:5 --variant ''
done
expect 2 'unknown or ambiguous option --variant' gen s2d9pt 5 --variant push
expect 0 ' variant inverse-off' solve gen:s2d9pt:5 --variant inverse-off # a word of 0.1
expect 2 "--sched nosuch: StarPU has no such scheduler; it has .*, lws, " solve gen:s2d9pt:5 --sched nosuch
expect 2 "--sched nosuch: StarPU has no such scheduler" plot gantt gen:s2d9pt:5 --out x.svg --sched nosuch
expect 2 '--message-tree ternary: not one of binary\|flat' solve gen:s2d9pt:5 --message-tree ternary
expect 2 '--algo, --map, --message-tree, --transport, --sums and --svg need --layout' solve gen:s2d9pt:5 --message-tree flat
expect 2 'need --layout' solve gen:s2d9pt:5 --tree flat # the older word
expect 2 '--nrhs and --rhs' solve gen:s2d9pt:5 --nrhs 2 --rhs x.mtx
expect 2 "unknown kind 'poison'; the kinds are s2d9pt, " solve gen:poison:5
expect 2 "unknown kind 'poison'; the kinds are s2d9pt, " gen poison 5 --out x.mtx
expect 2 'not of the form gen:KIND:K' solve gen:s2d9pt
expect 2 'no integer' solve gen:s2d9pt:many
expect 2 'size 5x: not a positive integer' gen s2d9pt 5x --out x.mtx
expect 2 'size 99999999999999999999: too large' gen s2d9pt 99999999999999999999 --out x.mtx
expect 1 'size 2147483647 is too large: at most 2147483646' gen s2d9pt 2147483647 --out x.mtx
expect 2 '--out FILE is missing' gen s2d9pt 5
expect 2 "unknown picture 'graph'; the pictures are gantt, dag" plot graph gen:s2d9pt:5

# ---- Failures: status 1, the file, the cause
echo 1 3 >rows.txt
expect 0 '^ok.mtx: 25 rows' gen s2d9pt 5 --out ok.mtx
head -c 200 ok.mtx >truncated.mtx
gzip -c ok.mtx | head -c 120 >truncated.mtx.gz
matrix rectangular.mtx 'coordinate real general' '2 3 2' '1 1 1' '2 3 1'
matrix structural.mtx 'coordinate real general' '3 3 4' '1 1 1' '2 1 1' '3 1 1' '1 2 1'
matrix singular.mtx 'coordinate real general' '3 3 9' '1 1 1' '1 2 2' '1 3 3' '2 1 4' '2 2 5' '2 3 6' '3 1 7' '3 2 8' '3 3 9'
matrix nan.mtx 'coordinate real general' '2 2 2' '1 1 1' '2 2 nan'
matrix pattern.mtx 'coordinate pattern symmetric' '3 3 2' '2 1' '3 2'
matrix indefinite.mtx 'coordinate real symmetric' '2 2 3' '1 1 1' '2 1 2' '2 2 1'
matrix dependent.mtx 'coordinate real general' '2 2 4' '1 1 1' '2 1 1' '1 2 1' '2 2 1'
matrix ill.mtx 'coordinate real general' '2 2 4' '1 1 1' '2 1 1' '1 2 1' '2 2 1.000000000000002'
matrix rhs3.mtx 'array real general' '3 1' 1 2 3
matrix rhs_complex.mtx 'array complex general' '25 1' "$(yes '1 1' | head -n 25)"
expect 1 '^tristar: cannot open missing.mtx: No such file' solve missing.mtx
expect 1 '^tristar: truncated.mtx:[0-9]+: ' solve truncated.mtx
expect 1 '^tristar: truncated.mtx.gz:[0-9]+: truncated gzip' solve truncated.mtx.gz
expect 1 '^tristar: nan.mtx:4: NaN' solve nan.mtx
expect 1 '^tristar: rectangular.mtx: the matrix is not square: 2 rows, 3 columns' solve rectangular.mtx
expect 1 '^tristar: structural.mtx: the matrix is structurally singular: structural rank 2 of 3' solve structural.mtx
expect 1 '^tristar: singular.mtx: .*singular' solve singular.mtx
expect 1 '^tristar: pattern.mtx: .*--laplacian' solve pattern.mtx
expect 0 '^accuracy' solve pattern.mtx --laplacian
expect 1 '^tristar: rhs3.mtx: the right-hand side has 3 rows, but the matrix has 25' solve ok.mtx --rhs rhs3.mtx
expect 1 '^tristar: indefinite.mtx: .*positive' solve indefinite.mtx --method llt
expect 0 'L D L.T instead of Cholesky' solve indefinite.mtx
expect 0 '^analysis  L D L\^T,' solve indefinite.mtx --method ldlt
expect 0 '^analysis  LU,' solve indefinite.mtx --method lu
expect 1 'backward error .* is above the tolerance 0' solve gen:s2d9pt:30 --tolerance 0 --refine 0
expect 1 '^tristar: cannot write no/such/folder/x' solve ok.mtx --out no/such/folder/x
expect 1 '^tristar: cannot write no/such/folder/x' solve ok.mtx --json no/such/folder/x
expect 1 '^tristar: cannot write no/such/folder/x' gen s2d9pt 5 --out no/such/folder/x
expect 1 '^tristar: cannot write no/such/folder/x' plot tree ok.mtx --out no/such/folder/x
expect 1 '^tristar: cannot write no/such/folder/x' info ok.mtx --tree no/such/folder/x
expect 1 'no/such/folder/x' info ok.mtx --dot no/such/folder/x
if [ -w /dev/full ]; then
  "$tristar" gen --list >/dev/full 2>full.txt
  [ $? -eq 1 ] && grep -q 'cannot write to standard output' full.txt || fail "full disk not reported"
fi

# ---- Precisions and operations
# complex.mtx is [2 1+i; 3i 4], and rhs_OP.mtx is op(A) x for x = (1, i).
matrix complex.mtx 'coordinate complex general' '2 2 4' '1 1 2 0' '2 1 0 3' '1 2 1 1' '2 2 4 0'
matrix hermitian.mtx 'coordinate complex hermitian' '2 2 3' '1 1 4 0' '2 1 1 -1' '2 2 3 0'
matrix complex_symmetric.mtx 'coordinate complex symmetric' '2 2 3' '1 1 4 1' '2 1 1 0' '2 2 3 0'
matrix real_entries.mtx 'coordinate complex symmetric' '2 2 3' '1 1 4 0' '2 1 1 0' '2 2 3 0'
matrix large.mtx 'coordinate real general' '1 1 1' '1 1 1e300'
matrix rhs_N.mtx 'array complex general' '2 1' '1 1' '0 7'
matrix rhs_T.mtx 'array complex general' '2 1' '-1 0' '1 5'
matrix rhs_C.mtx 'array complex general' '2 1' '5 0' '1 3'
matrix rhs2.mtx 'array real general' '2 1' 1 2

# solves OP PRECISION: x is (1, i).
solves() {
  rm -f x.mtx
  expect 0 '^accuracy' solve complex.mtx --op "$1" --precision "$2" --rhs "rhs_$1.mtx" --out x.mtx
  grep -q '^%%MatrixMarket matrix array complex general$' x.mtx &&
    tail -n 2 x.mtx | awk 'function far(x, y) { return (x - y) ^ 2 > 1e-10 }
      NR == 1 && (far($1, 1) || far($2, 0)) || NR == 2 && (far($1, 0) || far($2, 1)) { wrong = 1 }
      END { exit NR != 2 || wrong }' && return
  fail "complex.mtx, --op $1 --precision $2: x is not (1, i)"
}
for op in N T C; do
  solves $op z
  solves $op c
done
# single factors, double solution
expect 0 'backward error [0-9.]+e-1[5-9]' solve gen:s2d9pt:30 --precision sd
expect 0 'backward error [0-9.]+e-1[5-9]' solve complex.mtx --precision cz
for precision in s d sd; do
  expect 1 '^tristar: complex.mtx: complex values, but the precision is (single|double)' solve complex.mtx --precision $precision
  expect 1 '^tristar: rhs_complex.mtx: complex values, but the precision is' solve ok.mtx --rhs rhs_complex.mtx --precision $precision
  expect 1 '^tristar: hermitian.mtx: complex values' info hermitian.mtx --precision $precision
done
expect 1 '^tristar: complex.mtx: complex values' plot tree complex.mtx --out picture.svg --precision d
expect 1 '^tristar: rhs_complex.mtx: complex values, but the precision is double' solve ok.mtx --rhs rhs_complex.mtx
expect 0 '^accuracy' solve ok.mtx --rhs rhs_complex.mtx --precision z
expect 0 '^accuracy' solve complex.mtx --rhs rhs2.mtx
for precision in s c; do
  expect 1 '^tristar: large.mtx: stored value 1 .*too large for the precision' solve large.mtx --precision $precision
done
expect 0 '^accuracy' solve large.mtx --precision z
# ---- Values that vanish in single precision: no singular matrix, and no solution of zeros
matrix tiny.mtx 'coordinate real symmetric' '2 2 3' '1 1 1e-60' '2 1 1e-61' '2 2 2e-60'
matrix tiny_row.mtx 'coordinate real general' '2 2 3' '1 1 1' '1 2 1' '2 2 1e-60'
matrix harmless.mtx 'coordinate real general' '2 2 3' '1 1 1' '1 2 1e-60' '2 2 1'
matrix tiny_b.mtx 'array real general' '2 1' '1e-60' '2e-60'
for precision in s c; do
  expect 1 '^tristar: tiny.mtx: the values of row 1 are too small for the precision' solve tiny.mtx --precision $precision
  expect 1 '^tristar: tiny_row.mtx: the values of row 2 are too small for the precision' solve tiny_row.mtx --precision $precision
  expect 1 '^tristar: tiny.mtx: the values of row 1 are too small' krylov tiny.mtx --precision $precision
  expect 1 '^tristar: tiny_b.mtx: the values of column 1 are too small for the precision' solve harmless.mtx --rhs tiny_b.mtx --precision $precision
  expect 0 '.' solve harmless.mtx --precision $precision
done
expect 0 '^accuracy .*converged' solve tiny.mtx --precision sd
expect 0 ' 4 entries, complex double, general,' solve complex.mtx
expect 0 ' complex double, hermitian;' solve hermitian.mtx
expect 0 '^analysis  Cholesky' solve hermitian.mtx --precision c
expect 0 ' complex double, symmetric;' solve complex_symmetric.mtx
expect 0 '^analysis  L D L\^T,' solve complex_symmetric.mtx
expect 0 '^analysis  L D L\^H,' solve hermitian.mtx --method ldlt
expect 1 '^tristar: complex_symmetric.mtx: .*complex symmetric' solve complex_symmetric.mtx --method llt
expect 0 ' complex double, hermitian;' solve real_entries.mtx
for precision in s:single d:double c:'complex single' z:'complex double'; do
  expect 0 " 169 entries, ${precision#*:}, " info ok.mtx --precision "${precision%%:*}"
  expect 0 '^analysis  Cholesky' solve ok.mtx --precision "${precision%%:*}"
done
expect 0 '^solve .* with A\^T' solve gen:convdiff3d:5 --op T --nrhs 2
expect 0 '^solve .* with A\^H' solve gen:convdiff3d:5 --op C --precision c
expect 0 '^accuracy' solve gen:s2d9pt:30 --precision s
expect 1 'backward error .* is above the tolerance 1.0e-12' solve gen:s2d9pt:30 --precision s --tolerance 1e-12
expect 0 '^picture.svg: written' plot tree ok.mtx --precision z --out picture.svg
expect 0 '^accuracy' solve pattern.mtx --laplacian --precision c

# ---- Options for workers and schedulers override the environment; more workers than cores are reported
expect 0 'tasks on 1 worker,' solve gen:s2d9pt:200 --engine tasks --workers 1
no_row 'warning'
STARPU_NCPU=1 expect 0 'tasks on 2 workers,' solve gen:s2d9pt:200 --engine tasks --workers 2
row '^tristar: warning: --workers 2 overrules STARPU_NCPU=1$'
expect 0 '^tristar: warning: --workers 999: more than the [0-9]+ cores? that this process may use: workers share cores$' \
  solve gen:s2d9pt:200 --engine tasks --workers 999
row '^tristar: warning: --workers 999: StarPU made [0-9]+, all that'
STARPU_SCHED=prio expect 0 'scheduler eager;' solve gen:s2d9pt:200 --engine tasks --sched eager

# ---- Success
for variant in levels push fundamental unmerged supernodes spmv levels+push+unmerged+supernodes; do
  expect 0 "^          variant ${variant//+/\\+}(, with matrices of [0-9.]+ KB)?\$" info gen:s2d9pt:30 --variant $variant
  expect 0 '^accuracy .*backward error [0-9.]+e-1[56]' solve gen:convdiff3d:6 --variant $variant --op T --nrhs 2
done
expect 0 '^          variant spmv, with matrices of ' solve gen:s2d9pt:30 --variant spmv
expect 0 '"variant":[[:space:]]*"push\+levels",' solve gen:s2d9pt:30 --variant push+levels --json -
expect 1 'KERNEL_SPMV' solve gen:s2d9pt:5 --variant spmv --rows rows.txt
expect 0 '^solve .*median of 3' solve ok.mtx --repeat 3 --nrhs 2
row '^memory    [0-9.]+ KB at the peak in the library; [0-9.]+ MB in the process, with StarPU and all else$'
TRISTAR_SHORT_RATES=0 expect 0 '^memory    [0-9.]+ KB at the peak .* with StarPU and all else \(268 MB to measure the bandwidth\)$' info gen:s2d9pt:1
TRISTAR_SHORT_RATES=1 expect 0 '^memory    [0-9.]+ KB at the peak .* with StarPU and all else \(16\.8 MB to measure the bandwidth\)$' info gen:s2d9pt:1
row '^ +heaviest path: [0-9]+ B,' # no 0.02 KB
expect 0 '^solve .* a solve, .* a second \(5 solves, 3 in flight, each for ' solve ok.mtx --repeat 5 --in-flight 3
expect 0 '"latency_s":[[:space:]]*[0-9.]+' solve gen:s2d9pt:60 --engine tasks --repeat 5 --in-flight 2 --json -
expect 0 '^checksum  [0-9a-f]{16}$' solve ok.mtx --checksum --engine serial
expect 0 'estimated reciprocal condition' solve ok.mtx --condition
expect 0 '^accuracy .* before\), converged$' solve ok.mtx
expect 0 '^accuracy .* before\), stopped by the limit of steps$' solve gen:s2d9pt:30 --precision sd --tolerance 1e-5 --refine 0
expect 0 'bound of the forward error [0-9.]+e-1[2-6]$' solve ok.mtx --forward-error
expect 0 'bound of the forward error [0-9.]+e-1[2-6]$' solve complex.mtx --forward-error --op C --precision cz --nrhs 20
expect 0 '"forward_error":[[:space:]]*[0-9.]+e-1[2-6],' solve ok.mtx --forward-error --json -
expect 0 '"refinement_stop":[[:space:]]*"converged",' solve ok.mtx --json -
expect 0 'no bound of the forward error found: no digit of x is certain' solve ill.mtx --forward-error --rhs rhs2.mtx
expect 1 'singular to working precision: nothing but rounding errors is left of row [01] ' solve dependent.mtx
expect 1 'row [01] .*; --singular perturb ' solve dependent.mtx
expect 1 'singular to working precision, and no solution was found: the residual is ' solve dependent.mtx --singular perturb
# A chain without boundary leaves a last pivot of about n eps: refused, and solved if B is in the range of A.
chain() {
  echo '%%MatrixMarket matrix coordinate real symmetric'
  echo "$1 $1 $((2 * $1 - 1))"
  for i in $(seq "$1"); do
    echo "$i $i $((i == 1 || i == $1 ? 1 : 2))"
    [ "$i" -eq "$1" ] || echo "$((i + 1)) $i -1"
  done
}
chain 200 >neumann.mtx
{ echo 1; yes 0 | head -n 198; echo -1; } >consistent.txt
for method in auto ldlt lu; do
  expect 1 'singular to working precision: .*; --singular perturb ' solve neumann.mtx --method $method
  expect 0 'X is one of many solutions' solve neumann.mtx --method $method --singular perturb --rhs consistent.txt --out x.mtx
  [ -s x.mtx ] || fail "no X of a consistent system"
  rm -f x.mtx
  expect 1 'no solution was found' solve neumann.mtx --method $method --singular perturb --out x.mtx
  [ ! -e x.mtx ] || fail "X of a system that has no solution"
done
expect 0 '^predicted' info ok.mtx --tree tree.svg --dot tree.dot
expect 0 'GB/s of 1 core' info gen:poisson3d7:8 --chunk-bytes 4000
expect 0 '^gpu +AMD Instinct MI250X .* processors with [0-9]+ blocks, memory of [0-9]+ GB/s$' info gen:poisson3d7:8 --gpu MI250X
row '^ +predicted [0-9.]+ us for a solve \(forward [0-9.]+ us, backward [0-9.]+ us\): [0-9.]+ % of the bandwidth$'
row '^ +bound by latency: '
expect 0 '^placing +predicted .* with 3 such devices beside the cores; .* with the cores alone$' info gen:poisson3d7:8 --gpu A100 --devices 3
expect 0 '"device":[[:space:]]*"NVIDIA H200 ' info gen:poisson3d7:8 --gpu H200 --json -
expect 0 '^picture.svg: written' plot tree gen:circuit:2000 --out picture.svg
for file in tree.svg picture.svg; do
  [ "$(head -c 4 $file)" = '<svg' ] && [ "$(tail -n 1 $file)" = '</svg>' ] || fail "$file is no SVG"
  if command -v rsvg-convert >/dev/null && ! rsvg-convert $file -o picture.png; then fail "$file is no picture"; fi
done
grep -q '^digraph' tree.dot || fail "tree.dot is no graph"

# ---- simulate, without a StarPU that simulates
expect 1 '^tristar: simulate: this StarPU cannot simulate: it was built without SimGrid' simulate gen:s2d9pt:5
expect 2 'simulate: no MATRIX given' simulate
expect 2 '--platform cray: not one of a100\|h100\|gh200\|mi250x' simulate gen:s2d9pt:5 --platform cray
expect 2 '--devices 9: not between 1 and 8' simulate gen:s2d9pt:5 --devices 9
expect 2 '--precision sd: not one of s\|d\|c\|z' simulate gen:s2d9pt:5 --precision sd

finish
