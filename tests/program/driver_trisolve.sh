#!/usr/bin/env bash
# driver_trisolve.sh PROGRAM: `tristar trisolve` with small triangles with known solutions, stored alone, in a general and
# in a symmetric matrix; with one and two sweeps, transposed, in each precision; messages of errors. Works in the current
# folder.
. "$(dirname "$0")/driver.sh"
rm -f -- *.mtx *.txt *.json # of an earlier run

# solves "B..." "X..." ARGUMENT...: the solution is X, to the written digits.
solves() {
  local b=$1 x=$2
  shift 2
  tr ' ' '\n' <<<"$b" >b.txt
  expect 0 '^accuracy +backward error' trisolve "$@" --rhs b.txt --out x.mtx --tolerance 1e-13
  grep -v '^%' x.mtx | tail -n +2 | tr -s ' \n' ' ' | awk -v x="$x" '{
    n = split(x, wanted, " ")
    if (NF != n) exit 1
    for (k = 1; k <= n; k++) if ($k - wanted[k] > 1e-6 || wanted[k] - $k > 1e-6) exit 1 }' ||
    fail "tristar trisolve $*: x is not $x: $(grep -v '^%' x.mtx | tr '\n' ' ')"
}

matrix lower.mtx 'real general' '3 3 5' '1 1 2' '2 1 1' '2 2 4' '3 2 -1' '3 3 1'
solves '2 5 0' '1 1 1' lower.mtx
row '^lower +5 with its diagonal; 3 level sets, 1.0 rows each'
solves '2 5 0' '1 1.25 0' lower.mtx --uplo U
solves '2 5 0' '2 3 3' lower.mtx --diag unit
solves '3 3 1' '1 1 1' lower.mtx --op T
for precision in s d c z; do
  case $precision in [cz]) b='2 0 5 0 0 0' x='1 0 1 0 1 0' ;; *) b='2 5 0' x='1 1 1' ;; esac
  tr ' ' '\n' <<<"$b" | if [ $precision = c ] || [ $precision = z ]; then paste -d ' ' - -; else cat; fi >b2.txt
  expect 0 '^lower +5' trisolve lower.mtx --precision $precision --rhs b2.txt --tolerance 1e-6 --out x2.mtx
  [ "$(grep -v '^%' x2.mtx | tail -n +2 | tr -s ' \n' ' ' | sed 's/ $//')" = "$x" ] || fail "precision $precision: $(cat x2.mtx)"
done

# L = [1 0; 1/4 1] and U = [2 1; 0 3] in one matrix; their product is [2 1; 1/2 13/4]
matrix both.mtx 'real general' '2 2 4' '1 1 2' '2 1 0.25' '1 2 1' '2 2 3'
solves '3 3.75' '1 1' both.mtx --uplo LU --diag unit
solves '2.5 4.25' '1 1' both.mtx --uplo LU --diag unit --op T
solves '6 9.75' '1 1' both.mtx --uplo LU # [2 0; 1/4 3] [2 1; 0 3] = [4 2; 1/2 37/4]
expect 2 'both.mtx: the matrix has entries in both triangles: choose one, or their product, with --uplo L, U or LU' trisolve both.mtx

# both triangles of a symmetric file, which stores one
matrix symmetric.mtx 'real symmetric' '2 2 3' '1 1 2' '2 1 1' '2 2 2'
solves '2 3' '1 1' symmetric.mtx --uplo L
solves '3 2' '1 1' symmetric.mtx --uplo U
matrix hermitian.mtx 'complex hermitian' '2 2 3' '1 1 2 0' '2 1 0 1' '2 2 2 0'
printf '2 -1\n2 0\n' >b3.txt # U = [2 -i; 0 2]
expect 0 '^upper' trisolve hermitian.mtx --uplo U --rhs b3.txt --out x3.mtx
[ "$(grep -v '^%' x3.mtx | tail -n +2 | tr '\n' ' ')" = '1 0 1 0 ' ] || fail "hermitian: $(cat x3.mtx)"

# the same bits on one thread and on StarPU
for engine in serial tasks; do
  "$tristar" trisolve gen:convdiff3d:14 --uplo LU --engine $engine --chunk-bytes 3000 --nrhs 5 --repeat 3 --json $engine.json >/dev/null ||
    fail "--engine $engine"
done
[ "$(value checksum serial.json)" = "$(value checksum tasks.json)" ] || fail "other bits with StarPU"

# --explain: what runs each sweep, and why
expect 0 '^way +direct, on 1 thread: one right-hand side .*list of steps$' trisolve lower.mtx --partition whole --explain --json explained.json
[ "$(value way explained.json)" = direct ] && [ "$(value way_threads explained.json)" = 1 ] || fail "explained.json: $(value way explained.json)"
grep -qE '"reason":[[:space:]]*"[a-z]' explained.json || fail "explained.json has no reason"
expect 0 '^way +lanes, on 2 threads: ' trisolve gen:poisson3d7:26 --uplo L --partition supersteps --explain
expect 0 '^way +serial, on 1 thread: the option engine of the plan is SERIAL$' trisolve gen:poisson3d7:26 --uplo L --engine serial --nrhs 2 --explain
expect 0 '^lower' trisolve lower.mtx --partition whole
no_row '^way '

# an option selects the partition; all partitions by rows give the same bits
for partition in supernodes supersteps levels whole; do
  "$tristar" trisolve gen:convdiff3d:14 --uplo L --partition $partition --json $partition.json >$partition.out ||
    fail "--partition $partition"
  [ "$(value partition $partition.json | head -n 1)" = $partition ] || fail "$(value partition $partition.json)"
  grep -q "^ *$partition, [0-9]* chunk" $partition.out || fail "$(cat $partition.out)"
  [ $partition = supernodes ] || [ "$(value checksum $partition.json)" = "$(value checksum supersteps.json)" ] ||
    fail "other bits with --partition $partition"
done
# partitions by blocks sum a row block by block: other bits, but the same with each engine
for partition in column-blocks row-blocks recursive; do
  for engine in serial auto tasks; do
    "$tristar" trisolve gen:convdiff3d:14 --uplo L --partition $partition --engine $engine --json $partition-$engine.json >/dev/null ||
      fail "--partition $partition --engine $engine"
    [ "$(value partition $partition-$engine.json | head -n 1)" = $partition ] || fail "$(value partition $partition-$engine.json)"
    [ "$(value checksum $partition-$engine.json)" = "$(value checksum $partition-serial.json)" ] ||
      fail "other bits with --partition $partition --engine $engine"
  done
done
expect 2 '--partition X: not one of auto\|supernodes\|levels\|supersteps\|whole' trisolve lower.mtx --partition X
[ "$(value nnz serial.json | head -n 1)" -eq 20776 ] || fail "nnz $(value nnz serial.json)"
[ "$(value levels serial.json | head -n 1)" -eq 80 ] || fail "levels $(value levels serial.json)"

"$tristar" trisolve gen:poisson3d7:14 --uplo U --json upper.json >/dev/null || fail "the upper triangle of a symmetric matrix"
[ "$(value levels upper.json | head -n 1)" -eq 40 ] || fail "levels $(value levels upper.json)"

# tristar solve does the same with a triangular matrix, and factors it if an option requires a factorization
matrix upper.mtx 'real general' '3 3 4' '1 1 2' '1 3 1' '2 2 4' '3 3 1'
matrix complex.mtx 'complex general' '2 2 3' '1 1 0 2' '2 1 1 0' '2 2 1 0'
printf '0 2\n2 0\n' >b4.txt
for file in lower upper complex diagonal; do
  [ $file != diagonal ] || matrix diagonal.mtx 'real general' '2 2 2' '1 1 2' '2 2 -4'
  case $file in upper) side=upper ;; *) side=lower ;; esac
  expect 0 "^ +$side triangular: nothing is factored" solve $file.mtx --repeat 2 --nrhs 3 --json solve.json
  row "^$side +[0-9]+ with its diagonal"
  no_row '^(analysis|factor) '
  "$tristar" trisolve $file.mtx --nrhs 3 --json trisolve.json >/dev/null || fail "trisolve $file.mtx"
  [ "$(value checksum solve.json)" = "$(value checksum trisolve.json)" ] || fail "other bits with tristar solve $file.mtx"
  [ "$(value partition solve.json | head -n 1)" = whole ] || fail "partition of tristar solve $file.mtx"
done
expect 0 '^ +lower triangular' solve complex.mtx --rhs b4.txt --precision c --op N --out x4.mtx
[ "$(grep -v '^%' x4.mtx | tail -n +2 | tr '\n' ' ')" = '1 0 1 0 ' ] || fail "solve complex.mtx: $(cat x4.mtx)"
for option in '--method lu' '--variant push' --condition '--repeat 2 --in-flight 2' '--ordering natural' --laplacian; do
  # shellcheck disable=SC2086 # an option and its value
  expect 0 '^analysis ' solve upper.mtx $option
  no_row 'triangular: nothing'
done
expect 0 '^factor ' solve upper.mtx --precision sd
# --report changes the report alone; info describes what solve does, plot and bench do not hide that they factor
expect 0 'upper triangular: nothing is factored' solve upper.mtx --report --json solve.json
row '% of the read bandwidth of'
no_row '^(analysis|factor) '
[ -n "$(value bandwidth_gbps solve.json)" ] || fail "solve --report of a triangle: no bandwidth"
expect 0 '% of the read bandwidth of' trisolve upper.mtx --report
expect 0 'upper triangular: nothing is factored' info upper.mtx --dot info.dot
grep -q '^digraph' info.dot || fail "info --dot of a triangle: no graph"
expect 0 'upper triangular: nothing is factored' info upper.mtx --json info.json
row '^upper +4 with its diagonal'
no_row '^(analysis|factor|predicted) '
[ "$(value uplo info.json | head -n 1)" = U ] && [ -z "$(value nnz_factor info.json)" ] || fail "info of a triangle: $(cat info.json)"
expect 0 '^analysis ' info upper.mtx --method lu
no_row 'nothing is factored'
expect 1 'upper.mtx: upper triangular: nothing is factored; for the tree of its factors give --method lu' info upper.mtx --tree t.svg
expect 1 'upper.mtx: upper triangular: nothing is factored; for the prediction' info upper.mtx --gpu H100
for triangle in upper.mtx lower.mtx; do
  expect 0 '^gpus +NVIDIA V100 .*: its rows on 4 GPUs of a node, in tasks for each: 1$' info "$triangle" --gpu V100 --devices 4 --tasks-per-gpu 1
  expect 0 ' times as fast as one GPU, [0-9.]+ times as fast as with managed memory$' info "$triangle" --gpu A100 --devices 2
done
expect 0 ': its rows on 4 GPUs of a node$' info upper.mtx --gpu A100 --devices 4
expect 0 ': its rows on 8 GPUs of 2 nodes, as if links joined all GPUs$' info upper.mtx --gpu A100 --devices 8
expect 0 ': its rows on 9 GPUs of 2 nodes, without links between nodes$' info upper.mtx --gpu V100 --devices 9
expect 1 'a triangle on 34 GPUs: 1 to 33' info upper.mtx --gpu V100 --devices 34
expect 2 '--tasks-per-gpu needs --gpu and --devices' info upper.mtx --tasks-per-gpu 4
expect 2 '--tasks-per-gpu is for a triangle' info gen:s2d9pt:5 --gpu V100 --devices 2 --tasks-per-gpu 4
for picture in gantt dag spy tree rhs reuse refinement memory; do
  expect 0 'warning: upper.mtx: upper triangular: nothing is factored by tristar solve; the picture' plot $picture upper.mtx --out p.svg
done
expect 0 'p.svg: written' plot tree upper.mtx --out p.svg --method lu
no_row 'nothing is factored'
expect 0 'The matrix is triangular. tristar solve does not factor it' bench upper.mtx --peers none --rounds 1 --repeat 1 --workers 1 --json bench.json
[ "$(value triangular bench.json | head -n 1)" = true ] || fail "bench of a triangle: $(value triangular bench.json)"
expect 0 '^ +upper triangular' solve upper.mtx --precision s
"$tristar" solve lower.mtx --on-demand --json - </dev/null | grep -q '"nnz_factor"' || fail 'solve --on-demand factors'
matrix symmetric_diagonal.mtx 'real symmetric' '2 2 2' '1 1 2' '2 2 4'
matrix block.mtx 'real general' '4 4 6' '1 2 1' '2 1 2' '2 3 1' '3 1 1' '3 3 3' '4 4 1' # rows 2 and 3 wait for each other
for file in both symmetric_diagonal block; do
  expect 0 '^analysis ' solve $file.mtx
  no_row 'triangular'
done

# and with one that is triangular once its rows, or its columns, or both are permuted
permuted='lower triangular once rows and columns are permuted: nothing is factored'
matrix permuted.mtx 'real general' '3 3 4' '1 2 4' '2 1 2' '3 1 1' '3 3 1' # rows 1 and 2
printf '4\n2\n2\n' >b5.txt
expect 0 "^ +$permuted" solve permuted.mtx --rhs b5.txt --repeat 2 --out x5.mtx --json solve.json
row '^lower +4 with its diagonal; 2 level sets'
no_row '^(analysis|factor) '
[ "$(grep -v '^%' x5.mtx | tail -n +2 | tr '\n' ' ')" = '1 1 1 ' ] || fail "solve permuted.mtx: $(cat x5.mtx)"
[ "$(value permuted solve.json)" = true ] && [ "$(value uplo solve.json | head -n 1)" = L ] || fail "JSON: $(cat solve.json)"
printf '3\n4\n1\n' >b6.txt
expect 0 "^ +$permuted" solve permuted.mtx --rhs b6.txt --op T --out x6.mtx
[ "$(grep -v '^%' x6.mtx | tail -n +2 | tr '\n' ' ')" = '1 1 1 ' ] || fail "solve permuted.mtx --op T: $(cat x6.mtx)"
expect 0 '^analysis ' solve permuted.mtx --method lu
expect 2 'permuted.mtx: the matrix has entries in both triangles' trisolve permuted.mtx
# a diagonal entry whose inverse is out of range: a factorization scales its row, a triangular solve cannot
matrix tiny.mtx 'real general' '3 3 4' '1 2 4' '2 1 4.9e-324' '3 1 1' '3 3 1'
printf '4\n4.9e-324\n2\n' >b7.txt
expect 0 '^analysis ' solve tiny.mtx --rhs b7.txt --out x7.mtx
[ "$(grep -v '^%' x7.mtx | tail -n +2 | tr '\n' ' ')" = '1 1 1 ' ] || fail "solve tiny.mtx: $(cat x7.mtx)"
matrix tiny_lower.mtx 'real general' '2 2 3' '1 1 4.9e-324' '2 1 1' '2 2 1'
printf '4.9e-324\n2\n' >b8.txt
expect 0 '^analysis ' solve tiny_lower.mtx --rhs b8.txt --out x8.mtx
[ "$(grep -v '^%' x8.mtx | tail -n +2 | tr '\n' ' ')" = '1 1 ' ] || fail "solve tiny_lower.mtx: $(cat x8.mtx)"
expect 1 'diagonal entry 0 .counted from 0. is too close to zero: its inverse is out of range' trisolve tiny_lower.mtx
"$tristar" gen convdiff3d 9 --out full.mtx >/dev/null || fail 'gen'
for rows in 1 100; do # times a number without a divisor in common with 729: a permutation; or as they stand
  for columns in 1 28; do
    [ $rows$columns != 11 ] || continue
    awk -v r=$rows -v c=$columns '/^%/ { print; next } ++line == 1 { print $1, $2, 2673; next }
      $1 >= $2 { print $1 * r % 729 + 1, $2 * c % 729 + 1, $3 }' full.mtx >moved.mtx
    for nrhs in 1 4; do
      expect 0 "^ +$permuted" solve moved.mtx --nrhs $nrhs --tolerance 1e-13 --json moved.json
      row '^accuracy +backward error'
      [ "$(value levels moved.json | head -n 1)" = 25 ] && [ "$(value nnz moved.json | head -n 1)" = 2673 ] || fail "moved.mtx: $(cat moved.json)"
    done
  done
done
for row in '2 2 0' '3 2 -1'; do # a diagonal entry that is zero or missing: singular, as any other matrix would be
  matrix singular.mtx 'real general' '3 3 4' '1 1 2' '2 1 1' "$row" '3 3 1'
  expect 1 'singular.mtx: .*singular' solve singular.mtx
  no_row 'triangular: nothing'
done

# what is wrong
matrix zero.mtx 'real general' '2 2 2' '1 1 2' '2 1 1'
expect 1 'zero.mtx: L: diagonal entry 1 \(counted from 0\) is zero or missing' trisolve zero.mtx
matrix pattern.mtx 'pattern symmetric' '3 3 2' '2 1' '3 2'
expect 1 'pattern.mtx: .*--laplacian' trisolve pattern.mtx --uplo L
solves '2 2 1' '1 1 1' pattern.mtx --uplo L --laplacian # [2; -1 3; 0 -1 2]
matrix large.mtx 'real general' '4 4 6' '1 1 1' '2 1 1e200' '2 2 1' '3 2 1e200' '3 3 1' '4 4 1'
expect 1 'large.mtx: .*(range of|too close to singular)' trisolve large.mtx
matrix rectangle.mtx 'real general' '2 3 1' '1 1 1'
expect 1 'rectangle.mtx: the matrix is not square: 2 rows, 3 columns' trisolve rectangle.mtx
expect 1 'b2.txt.* rows, but the matrix has 2' trisolve both.mtx --uplo L --rhs b2.txt
expect 2 '--uplo X: not one of L\|U\|LU' trisolve lower.mtx --uplo X
expect 2 '--precision sd: not one of s\|d\|c\|z' trisolve lower.mtx --precision sd
expect 2 '--nrhs and --rhs exclude each other' trisolve lower.mtx --rhs b.txt --nrhs 2
expect 2 'no MATRIX given' trisolve
expect 0 '^usage: tristar trisolve MATRIX' trisolve --help
finish
