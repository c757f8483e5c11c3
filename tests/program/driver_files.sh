#!/usr/bin/env bash
# driver_files.sh PROGRAM: files of the program `tristar`: standard input and output, plain text. Outputs that cannot be
# written are reported before the computation; outputs of an earlier run survive a failure. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -rf -- *.mtx *.mtx.gz *.txt *.svg *.dot *.json *.rua folder # of an earlier run

# piped FILE STATUS REGEX ARGUMENT...: expect with a file as standard input, through a pipe.
piped() {
  local file=$1 expected=$2 regex=$3 status
  shift 3
  # shellcheck disable=SC2002 # a pipe is what is to be tested
  cat "$file" | "$tristar" "$@" >output.txt 2>&1
  status=${PIPESTATUS[1]}
  if [ "$status" -ne "$expected" ] || ! grep -qE -e "$regex" output.txt; then
    fail "tristar $* <$file: exit status $status, expected $expected and a line like: $regex"
    cat output.txt >&2
  fi
}
# alone FILE: the latest run wrote only this file.
alone() { cmp -s "$1" stdout.txt || fail "standard output is not $1 alone"; }
# out ARGUMENT...: runs the program with its standard output in stdout.txt.
out() { "$tristar" "$@" >stdout.txt 2>stderr.txt || { fail "tristar $*"; cat stderr.txt >&2; }; }

# ---- An output takes its place when it is complete
echo precious >g.mtx
"$tristar" gen poisson3d7 130 --out g.mtx >/dev/null 2>&1 &
sleep 0.2
kill -TERM $! && wait $!
[ "$(cat g.mtx)" = precious ] || fail "gen --out was interrupted, and has destroyed the file that was there"
[ "$(echo g.mtx*)" = g.mtx ] || fail "gen --out was interrupted, and has left $(echo g.mtx*)"
chmod 640 g.mtx
ln -s g.mtx link.mtx
"$tristar" gen s2d9pt 3 --out link.mtx >/dev/null || fail "gen through a link"
[ -L link.mtx ] && [ "$(stat -c %a g.mtx)" = 640 ] && [ "$(head -c 14 g.mtx)" = '%%MatrixMarket' ] || fail "a link, or permissions, are lost"
mkfifo pipe.mtx
cat pipe.mtx >piped.mtx &
"$tristar" gen s2d9pt 3 --out pipe.mtx >/dev/null || fail "gen into a pipe"
wait $!
[ -p pipe.mtx ] && cmp -s piped.mtx g.mtx || fail "gen into a pipe: another file"
rm -f g.mtx link.mtx pipe.mtx piped.mtx
printf '%%%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 3\n1 1 2\n1 2 1\n2 2 18446744073709551615\n' >unsigned.mtx
expect 0 '^accuracy' solve unsigned.mtx --method lu

# ---- Standard input
"$tristar" gen s2d9pt 9 --out a.mtx >/dev/null
gzip -k a.mtx
printf '%-72sKEY\n 1 1 1 1 0\nRUA 2 2 3 0\n(8I2) (8I2) (8F4.0)\n 1 3 4\n 1 2 2\n  2.  1.  4.\n' title >a.rua
gzip -c a.rua >packed.rua
for file in a.mtx a.mtx.gz a.rua packed.rua; do
  piped $file 0 '^matrix    standard input$' solve -
  row '^accuracy '
  piped $file 0 '^predicted |nothing is factored' info -
  piped $file 0 '^picture.svg: written' plot tree - --out picture.svg
  "$tristar" solve - <$file >output.txt || fail "solve - <$file"
done
piped a.mtx 0 '"matrix":[[:space:]]*"standard input"' solve - --json -
piped a.mtx 2 'standard input can be read only once' solve - --rhs -
piped a.mtx 2 '--rhs and --rows are both -' solve a.mtx --rhs - --rows -
piped a.mtx 2 'every contender reads the matrix' bench -
head -n 9 a.mtx >half.mtx
piped half.mtx 1 '^tristar: standard input:[0-9]+: the file ends ' solve -
piped /dev/null 1 '^tristar: standard input:1: the file is empty' solve -
"$tristar" solve - <&- >output.txt 2>&1 && fail "a closed standard input is read"
row '^tristar: cannot open standard input: '

# ---- Right-hand sides and rows: from standard input, and as plain text
n=81
out solve a.mtx --rows <(echo 7 3) --out - && mv stdout.txt rows.txt
echo '7 3' >numbers.txt
"$tristar" solve a.mtx --rows - --out - <numbers.txt >stdout.txt && alone rows.txt
printf '\xef\xbb\xbf7 # first\r\n3\n' | gzip -c >packed.txt
piped packed.txt 0 '^accuracy ' solve a.mtx --rows - --out again.mtx
cmp -s again.mtx rows.txt || fail "--rows: a byte-order mark, compressed: other rows"
{ printf '%%%%MatrixMarket matrix array real general\n%d 2\n' $n; seq 1 $n; seq 2 $((n + 1)); } >b.mtx
paste -d ' ' <(seq 1 $n) <(seq 2 $((n + 1))) >b.txt
out solve a.mtx --rhs b.mtx --out x.mtx
out solve a.mtx --rhs b.txt --out - && alone x.mtx
"$tristar" solve a.mtx --rhs - --out - <b.txt >stdout.txt && alone x.mtx
gzip -c b.txt | "$tristar" solve a.mtx --rhs - --out - >stdout.txt && alone x.mtx
{ printf '%%%%MatrixMarket matrix array complex general\n%d 1\n' $n; cat b.txt; } >c.mtx
out solve a.mtx --precision z --rhs c.mtx --out x.mtx
out solve a.mtx --precision z --rhs b.txt --out - && alone x.mtx
piped b.txt 0 'with 2 right-hand sides' solve a.mtx --rhs -
seq 1 $n >column.txt
piped column.txt 1 '^tristar: standard input:1: an odd number of numbers, 1, but complex values are pairs' solve a.mtx --precision z --rhs -
seq 1 5 >short.txt
expect 1 '^tristar: short.txt: the right-hand side has 5 rows, but the matrix has 81' solve a.mtx --rhs short.txt
expect 1 '^tristar: a.rua:1: not numbers alone: "title' solve a.mtx --rhs a.rua
printf '%%%%MatrixMarket matrix array real symmetric\n2 2\n2\n1\n4\n' >dense.mtx
expect 0 ' 2 rows, 4 entries, double, symmetric;' solve dense.mtx
matrix both.mtx 'real symmetric' '2 2 4' '1 1 4' '2 1 1' '1 2 1' '2 2 4'
expect 1 '^tristar: both.mtx:5: entry \(1,2\), and line 4 has \(2,1\): a symmetric file stores one triangle' solve both.mtx
expect 1 '^tristar: gen:s2d9pt:60000: .* too large: at most 2147483646' solve gen:s2d9pt:60000

# ---- Standard output: the result alone
out gen s2d9pt 9 --out -
alone a.mtx
out solve a.mtx --json -
head -c 1 stdout.txt | grep -q '{' || fail "--json -: not JSON alone"
out plot tree a.mtx --out picture.svg
cp picture.svg tree.svg
out plot tree a.mtx --out - && alone tree.svg
out info a.mtx --tree - && alone tree.svg
out info a.mtx --dot graph.dot
out info a.mtx --dot - && alone graph.dot
expect 2 '--json and --out are both -, but standard output is one file|--out and --json are both -' solve a.mtx --out - --json -
expect 1 '"status":[[:space:]]*"TRISTAR_ERR_IO"' solve missing.mtx --json -
if [ -w /dev/full ]; then
  for arguments in 'gen s2d9pt 200 --out -' 'solve a.mtx --out -' 'solve a.mtx --json -' 'plot tree a.mtx --out -' 'info a.mtx --dot -'; do
    # shellcheck disable=SC2086 # words
    "$tristar" $arguments >/dev/full 2>stderr.txt && fail "$arguments: a full disk is not reported"
    grep -qE '^tristar: .*standard output: No space|^tristar: -: cannot be written' stderr.txt || fail "$arguments: $(cat stderr.txt)"
  done
fi

# ---- Outputs are checked first: their error is reported before the matrix, which has an error too, is read
mkdir folder
for option in --out --json; do
  expect 1 '^tristar: cannot write folder: Is a directory$' solve missing.mtx $option folder
  expect 1 '^tristar: cannot write no/such/x: No such file or directory$' solve missing.mtx $option no/such/x
done
for option in --tree --dot --json; do expect 1 '^tristar: cannot write no/such/x: ' info missing.mtx $option no/such/x; done
expect 1 '^tristar: cannot write no/such/x: ' plot tree missing.mtx --out no/such/x
expect 1 '^tristar: cannot write no/such/x: ' calibrate --json no/such/x
expect 1 '^tristar: cannot write no/such/x: ' bench missing.mtx --svg no/such/x

# ---- What was there outlives a failure; what was not is not there
echo precious >x.mtx
echo precious >x.json
expect 1 '^tristar: cannot open missing.mtx' solve missing.mtx --out x.mtx
expect 1 '^tristar: cannot write no/such/x' solve a.mtx --out x.mtx --json no/such/x
expect 1 'above the tolerance' solve a.mtx --out x.mtx --tolerance 0 --refine 0
[ "$(cat x.mtx)" = precious ] || fail "x.mtx is lost"
expect 1 'above the tolerance' solve a.mtx --out new.mtx --tolerance 0 --refine 0
[ ! -e new.mtx ] || fail "new.mtx is left"
expect 0 '^written   x.mtx$' solve a.mtx --out x.mtx
grep -q precious x.mtx && fail "x.mtx is not replaced"
mkfifo pipe.txt 2>/dev/null && {
  cat pipe.txt >stdout.txt &
  "$tristar" gen s2d9pt 9 --out pipe.txt >/dev/null || fail "a pipe as output"
  wait $!
  alone a.mtx
}

# ---- Saved plans: the bits of the run that saved them; damaged files
for source in gen:s2d9pt:40 gen:kkt3d:5 gen:circuit:900; do
  expect 0 '^checksum' solve $source --nrhs 3 --save plan.tristar --checksum
  sum=$(grep ^checksum output.txt)
  expect 0 "^$sum\$" solve plan.tristar --nrhs 3 --checksum --json saved.json --workers 1
  row 'are of the run that saved it'
  [ "$(value saved saved.json)" = true ] || fail "saved.json has no \"saved\""
done
expect 0 '^checksum' solve gen:s2d9pt:20 --precision sd --checksum --save single.tristar
expect 0 'single factors' solve single.tristar
expect 1 'without --laplacian and --precision' solve plan.tristar --precision s
head -c 5000 plan.tristar >short.tristar
expect 1 '^tristar: short.tristar: damaged: record .* is larger than the rest of the file$' solve short.tristar
expect 1 '^tristar: cannot write no/such/x: ' solve a.mtx --save no/such/x
finish
