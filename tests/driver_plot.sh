#!/usr/bin/env bash
# driver_plot.sh PROGRAM: `tristar plot`: every picture is well-formed XML with as many shapes as it should have, and a
# page needs nothing from elsewhere; wrong usage. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -f -- *.svg *.html *.mtx # of an earlier run

if command -v xmllint >/dev/null; then
  is_xml() { xmllint --noout "$1"; }
elif command -v python3 >/dev/null; then
  is_xml() { python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1"; }
else
  echo "$name: neither xmllint nor python3: whether pictures are XML is not checked" >&2
  is_xml() { true; }
fi

# check FILE: XML, one <svg> for each </svg>, numbers only, nothing from elsewhere, less than 2 MB.
check() {
  is_xml "$1" || fail "$1 is not XML"
  ! grep -niE '[" ]-?(nan|inf)' "$1" || fail "$1 has a number that is none"
  ! sed 's|xmlns="http://www.w3.org/2000/svg"||' "$1" | grep -nE 'https?:|src=|href=|@import' || fail "$1 needs something else"
  [ "$(wc -c <"$1")" -lt 2000000 ] || fail "$1 is too large"
}
# picture FILE ARGUMENT...
picture() {
  expect 0 "^$1: written\$" plot "${@:2}" --out "$1"
  check "$1"
}
count() { grep -c "class=\"$1\"" "$2"; }
# tasks FILE: what the line below the title says, thousands with commas.
tasks() { sed -n 's/.*nnz(L) = [0-9,]*; \([0-9,]*\) tasks\{0,1\} of \([0-9,]*\) steps\{0,1\} on.*/\1 \2/p' "$1" | tr -d ,; }

# ---- A solve
for how in '--engine tasks' '--engine serial' '--engine tasks --variant push+levels' '--engine tasks --variant spmv' \
  '--engine tasks --sched eager --op T --nrhs 70 --precision z'; do
  # shellcheck disable=SC2086 # options and values
  picture gantt.svg gen:s2d9pt:40 --what gantt --chunk-bytes 30000 $how
  read -r tasks steps <<<"$(tasks gantt.svg)"
  [ "$(count task gantt.svg)" = "$tasks" ] || fail "gantt $how: $(count task gantt.svg) rectangles, $tasks tasks"
  [ "$(count step gantt.svg)" -le "$steps" ] || fail "gantt $how: more steps than $steps"
  [ "$(count critical gantt.svg)" -gt 0 ] || fail "gantt $how: no critical path"
  [ "$(count binding gantt.svg)" -gt 0 ] || fail "gantt $how: nothing bound the time"
done
case $how in *eager*) grep -q 'scheduler eager;' gantt.svg || fail "--sched eager: another one" ;; esac

for how in '' '--variant push' '--variant spmv' '--variant levels' '--method lu'; do
  # shellcheck disable=SC2086
  picture dag.svg gen:poisson3d7:10 --what dag --chunk-bytes 20000 --engine tasks $how
  read -r tasks steps <<<"$(tasks dag.svg)"
  [[ $how == *spmv ]] && steps=$tasks
  [ "$(count node dag.svg)" = "$steps" ] || fail "dag $how: $(count node dag.svg) nodes, not $steps"
done
picture many.svg gen:s2d9pt:80 --what dag --engine tasks --variant unmerged+supernodes
[ "$(count node many.svg)" -le 2000 ] || fail "dag: too many nodes"
grep -q 'heaviest of' many.svg || fail "dag: not all nodes are drawn, and it does not say so"

picture levels.svg gen:s2d9pt:40 --what levels --chunk-bytes 30000 --engine tasks
[ "$(count count levels.svg)" -gt 4 ] || fail "levels: too few"
picture levels.svg gen:s2d9pt:80 --what levels --engine tasks --variant unmerged+supernodes

# ---- A factor
picture spy.svg gen:convdiff3d:8 --what spy
picture spy.svg gen:s2d9pt:60 --what spy --layout 2x2x2
grep -q 'process 7' spy.svg || fail "spy: no legend"
picture spy.svg gen:s2d9pt:60 --what spy --layout 4x4x2 --map cyclic --algo baseline
picture tree.svg gen:s2d9pt:40 --what tree
picture word.svg tree gen:s2d9pt:40
cmp -s tree.svg word.svg || fail "plot tree and --what tree differ"
picture roofline.svg gen:s2d9pt:30 --what roofline
[ "$(count point roofline.svg)" = 8 ] || fail "roofline: $(count point roofline.svg) points, not 8"

# ---- Pages
for what in gantt dag levels spy tree; do
  expect 0 '^page.html: written$' plot gen:s2d9pt:40 --what $what --engine tasks --out page.html
  ! sed 's|xmlns="http://www.w3.org/2000/svg"||' page.html | grep -nE 'https?:|src=|href=|@import' || fail "$what.html needs something else"
  ! grep -qiE '[" ]-?nan' page.html || fail "$what.html: nan"
  sed -n '/^<svg xmlns/,/^<div id="tip">/p' page.html | sed '$d' >inside.svg
  check inside.svg
  if command -v node >/dev/null; then
    sed -n '/^<script>/,/^<\/script>/p' page.html | sed '1d;$d' >page.js
    node --check page.js || fail "$what.html: its script"
  fi
done

# ---- The smallest matrices, and names that mean something to XML
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n' >'a<b>&c.mtx'
for what in gantt dag levels spy tree; do picture small.svg 'a<b>&c.mtx' --what $what; done
printf '%%%%MatrixMarket matrix coordinate real general\n0 0 0\n' >empty.mtx
for what in gantt dag levels spy roofline; do
  expect 1 'an empty matrix: nothing to draw$' plot empty.mtx --what $what --out small.svg
done

# ---- Wrong usage
expect 2 'nothing to plot given; known is: gantt, dag, spy, roofline, levels, tree$' plot
expect 2 "unknown plot 'gen:s2d9pt:5'; known is: " plot gen:s2d9pt:5
expect 2 '--what pie: not one of' plot gen:s2d9pt:5 --what pie --out x.svg
expect 2 'no MATRIX' plot --what gantt --out x.svg
expect 2 'one word too many: b' plot gen:s2d9pt:5 b --what gantt --out x.svg
expect 2 '--out FILE is missing' plot gen:s2d9pt:5 --what gantt
expect 2 '--layout belongs to --what spy' plot gen:s2d9pt:5 --what gantt --layout 1x1x1 --out x.svg
expect 2 'not three numbers' plot gen:s2d9pt:5 --what spy --layout 2 --out x.svg
expect 2 '--layout auto' plot gen:s2d9pt:5 --what spy --layout auto --out x.svg
expect 2 '--algo and --map need --layout' plot gen:s2d9pt:5 --what spy --map cyclic --out x.svg
expect 1 '^tristar: cannot write no/such/folder/x.svg' plot gen:s2d9pt:5 --what gantt --out no/such/folder/x.svg
expect 1 'KERNEL_SPMV' plot gen:s2d9pt:5 --what roofline --variant spmv --out x.svg
expect 1 'cannot write /dev/full' plot gen:s2d9pt:5 --what levels --out /dev/full
finish
