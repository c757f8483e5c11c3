#!/usr/bin/env bash
# driver_plot.sh PROGRAM CONVERTS: `tristar plot`: each picture is well-formed XML with the right number of shapes; its axes
# have names; its texts are inside the canvas and do not overlap. Pages contain no external references. Also .png and .pdf,
# which the program can write if CONVERTS is TRUE; timelines for viewers; wrong usage. Works in the current folder.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/driver.sh"
converts=$2
rm -f -- *.svg *.html *.mtx *.json *.png *.pdf *.trace # of an earlier run

if command -v xmllint >/dev/null; then
  is_xml() { xmllint --noout "$1"; }
elif command -v python3 >/dev/null; then
  is_xml() { python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1"; }
else
  echo "$name: neither xmllint nor python3: whether pictures are XML is not checked" >&2
  is_xml() { true; }
fi

# check FILE: XML, one <svg> for each </svg>, no NaN or infinity, no external references, less than 2 MB.
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
# looks FILE AXES [CLASS COUNT]...: names of axes and marks of a class, as a reader sees them.
looks() { ! command -v python3 >/dev/null || "$here/check_picture" "$@" || fail "$1 is no good picture"; }
count() { grep -c "class=\"$1\"" "$2"; }
# tasks FILE: the number of tasks in the line below the title, with commas for thousands.
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
  grep -q 'median of 9 solves' gantt.svg || fail "gantt $how: not the median of several solves"
  looks gantt.svg 1 task "$tasks"
done
case $how in *eager*) grep -q 'scheduler eager;' gantt.svg || fail "--sched eager: another one" ;; esac

picture gantt.svg gen:s2d9pt:40 --what gantt --repeat 1
grep -q ' one solve, ' gantt.svg || fail "--repeat 1: not one solve"

for how in '' '--variant push' '--variant spmv' '--variant levels' '--method lu'; do
  # shellcheck disable=SC2086
  picture dag.svg gen:poisson3d7:10 --what dag --chunk-bytes 20000 --engine tasks $how
  read -r tasks steps <<<"$(tasks dag.svg)"
  [[ $how == *spmv ]] && steps=$tasks
  [ "$(count node dag.svg)" = "$steps" ] || fail "dag $how: $(count node dag.svg) nodes, not $steps"
  [ "$(count size dag.svg)" -gt 0 ] || fail "dag $how: no legend of sizes"
  looks dag.svg 1
done
picture many.svg gen:s2d9pt:80 --what dag --engine tasks --variant unmerged+supernodes
[ "$(count node many.svg)" -le 2000 ] || fail "dag: too many nodes"
grep -q 'heaviest of' many.svg || fail "dag: not all nodes are drawn, and it does not say so"

picture levels.svg gen:s2d9pt:40 --what levels --chunk-bytes 30000 --engine tasks
[ "$(count count levels.svg)" -gt 4 ] || fail "levels: too few"
picture levels.svg gen:s2d9pt:80 --what levels --engine tasks --variant unmerged+supernodes
looks levels.svg 3
grep -q '>steps, logarithmic<' levels.svg || fail "levels: the label does not show that an axis is logarithmic"

# ---- A factor
picture spy.svg gen:convdiff3d:8 --what spy
picture spy.svg gen:s2d9pt:60 --what spy --layout 2x2x2
grep -q 'process 7' spy.svg || fail "spy: no legend"
looks spy.svg 2
picture spy.svg gen:s2d9pt:60 --what spy --layout 4x4x2 --map cyclic --algo levelwise
looks spy.svg 2
picture tree.svg gen:s2d9pt:40 --what tree
picture word.svg tree gen:s2d9pt:40
cmp -s tree.svg word.svg || fail "plot tree and --what tree differ"
picture roofline.svg gen:s2d9pt:30 --what roofline
[ "$(count point roofline.svg)" = 8 ] || fail "roofline: $(count point roofline.svg) points, not 8"
looks roofline.svg 2 point 8
# So small a factor stays in caches: some machines read from there faster than from memory with one right-hand side.
if command -v python3 >/dev/null; then
  picture roofline.svg gen:s2d9pt:120 --what roofline --repeat 3 --json roofline.json
  python3 - <<'END' || fail "roofline: points above the roof are not explained, or others are"
import json
p = json.load(open("roofline.json"))["picture"]
above = any(i["gflops"] > min(p["dgemm_gflops"], p["bandwidth_gbps"] * i["flops"] / i["bytes"]) for i in p["items"])
assert above == ("points above the roof" in open("roofline.svg").read())
END
fi

picture placement.svg gen:s2d9pt:20 --what placement
grep -q '>All subtrees are solved on the cores.<' placement.svg || fail "placement: subtrees that are not on the cores"
looks placement.svg 0 piece 0 subtree 0
for devices in 1 4; do
  picture placement.svg gen:poisson3d7:24 --what placement --gpu A100 --devices $devices --workers 1 --json placement.json
  [ "$(count piece placement.svg)" -ge 3 ] || fail "placement: $(count piece placement.svg) pieces of bars"
  looks placement.svg 1
  ! command -v python3 >/dev/null || python3 - $devices <<'END' || fail "placement: figures"
import json, sys
p = json.load(open("placement.json"))["picture"]
there = [i for i in p["items"] if i["device"] >= 0]
assert p["devices"] == int(sys.argv[1]) and "A100" in p["gpu"] and p["predicted_s"] > 0, p
assert there and all(i["device"] < p["devices"] and i["predicted_s"] > 0 and i["up_bytes"] == i["down_bytes"] > 0 for i in there), p
assert open("placement.svg").read().count('class="subtree"') == len(p["items"]), p
END
done

# ---- Figures behind the pictures
for what in gantt dag levels spy tree; do
  expect 0 '"picture":' plot gen:s2d9pt:40 --what $what --engine tasks --out x.svg --json -
  cp output.txt $what.json
  no_row 'written'
done
if command -v python3 >/dev/null; then
  python3 - <<'END' || fail "figures"
import json
f = {what: json.load(open(what + ".json")) for what in ("gantt", "dag", "levels", "spy", "tree")}
for what, object in f.items():
    assert object["what"] == what and object["status"] == "TRISTAR_OK" and len(object["picture"]["items"]) > 0
for what in ("gantt", "dag", "levels"):
    p = f[what]["picture"]
    assert p["solves"] == 9 and 0 < p["solve_least_s"] <= p["solve_s"] <= p["solve_most_s"]
assert all(0 <= i["start_s"] <= i["end_s"] <= f["gantt"]["picture"]["solve_s"] for i in f["gantt"]["picture"]["items"])
assert all(k < number for number, i in enumerate(f["dag"]["picture"]["items"]) for k in i["before"])
assert sum(i["steps"] for i in f["levels"]["picture"]["items"]) == len(f["dag"]["picture"]["items"])
END
fi

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

# ---- The smallest matrices, and names that mean something to XML, are long, or are no text
long=$(printf 'a%.0s' {1..120})
for matrix in 'a<b>&c.mtx' "it's \"<&>\" $long.mtx" $'\xff\xc3\x28 \xc3\xa4\x01.mtx'; do
  matrix "$matrix" 'real general' '1 1 1' '1 1 2'
  for what in gantt dag levels spy tree; do
    picture small.svg "$matrix" --what $what
    case $what in levels) axes=3 ;; spy) axes=2 ;; tree) axes=0 ;; *) axes=1 ;; esac
    looks small.svg $axes
  done
done
picture small.svg 'a<b>&c.mtx' --what spy
! grep -E '>[0-9]*\.[0-9]+<' small.svg || fail "spy: rows and columns that are no integers"

# ---- Endings
for ending in png pdf; do
  if [ "$converts" = TRUE ]; then
    expect 0 "^x.$ending: written\$" plot tree gen:s2d9pt:20 --out x.$ending
    ln -sf /dev/full full.$ending
    expect 1 "^tristar: cannot write full.$ending: " plot tree gen:s2d9pt:20 --out full.$ending
  else
    expect 2 "^tristar: plot: --out x.$ending: no .$ending without librsvg: " plot tree missing.mtx --out x.$ending
  fi
done
if [ "$converts" = TRUE ]; then
  [ "$(head -c 8 x.png | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ] || fail "x.png is no PNG"
  [ "$(head -c 5 x.pdf)" = %PDF- ] || fail "x.pdf is no PDF"
fi

# ---- Timelines for viewers
if command -v python3 >/dev/null; then
  for how in '--engine tasks' '--engine serial' '--engine tasks --variant spmv' '--engine tasks --variant levels'; do
    for file in tasks.json TASKS.trace; do
      # shellcheck disable=SC2086 # options and values
      expect 0 "^$file: written\$" plot gantt gen:s2d9pt:40 --chunk-bytes 30000 --repeat 1 $how --out $file --json figures.json
      "$here/check_timeline" $file 1 "$(python3 -c 'import json; print(len(json.load(open("figures.json"))["picture"]["items"]))')" ||
        fail "$file $how is no timeline"
    done
  done
  expect 0 '^accuracy ' solve gen:s2d9pt:20 --gantt tasks.trace
  "$here/check_timeline" tasks.trace 1 some || fail "solve --gantt: no timeline"
fi
expect 2 '^tristar: plot: --out x.json: no picture has the ending .json; known are .svg, .html, .png, .pdf$' plot tree missing.mtx --out x.json
expect 2 '^tristar: plot: --out x.gif: .* known are .svg, .html, .png, .pdf, .json, .trace$' plot gantt missing.mtx --out x.gif
ln -sf /dev/full full.trace
ln -sf /dev/full full.json
expect 1 '^tristar: cannot write full.trace: No space left' plot gantt gen:s2d9pt:20 --out full.trace
expect 1 '^tristar: cannot write full.json: No space left' plot gantt gen:s2d9pt:20 --out full.json
for bad in x.gif x.svg.gz x.; do
  expect 2 "^tristar: plot: --out $bad: no picture has the ending \." plot tree missing.mtx --out $bad
  expect 2 "^tristar: info: --tree $bad: no picture has the ending \." info missing.mtx --tree $bad
  expect 2 "^tristar: bench: --svg $bad: no picture has the ending \." bench missing.mtx --svg $bad
done
expect 0 '^x.d/tree: written$' plot tree gen:s2d9pt:20 --out "$(mkdir -p x.d && echo x.d/tree)"
check x.d/tree
matrix empty.mtx 'real general' '0 0 0'
for what in gantt dag levels spy roofline; do
  expect 1 'an empty matrix: nothing to draw$' plot empty.mtx --what $what --out small.svg
done

# ---- Wrong usage
expect 2 'no picture given; the pictures are gantt, dag, spy, roofline, levels, tree, rhs, reuse, refinement, communication, memory, scaling, placement, study$' plot
expect 2 "unknown picture 'gen:s2d9pt:5'; the pictures are " plot gen:s2d9pt:5
expect 2 '--what pie: not one of gantt\|dag\|spy\|' plot gen:s2d9pt:5 --what pie --out x.svg
expect 2 'no MATRIX' plot --what gantt --out x.svg
expect 2 'unexpected argument: b' plot gen:s2d9pt:5 b --what gantt --out x.svg
expect 2 '--out FILE is missing' plot gen:s2d9pt:5 --what gantt
expect 2 '--layout belongs to --what spy, communication$' plot gen:s2d9pt:5 --what gantt --layout 1x1x1 --out x.svg
expect 2 '--gpu belongs to --what placement$' plot gen:s2d9pt:5 --what tree --gpu A100 --out x.svg
expect 2 '--devices needs --gpu$' plot gen:s2d9pt:5 --what placement --devices 2 --out x.svg
expect 2 '--place is for the GPUs of this machine' plot gen:s2d9pt:5 --what placement --gpu A100 --place gpu --out x.svg
expect 2 'not three numbers' plot gen:s2d9pt:5 --what spy --layout 2 --out x.svg
expect 2 '--layout auto' plot gen:s2d9pt:5 --what spy --layout auto --out x.svg
expect 2 '--algo and --map need --layout' plot gen:s2d9pt:5 --what spy --map cyclic --out x.svg
expect 1 '^tristar: cannot write no/such/folder/x.svg' plot gen:s2d9pt:5 --what gantt --out no/such/folder/x.svg
expect 1 'KERNEL_SPMV' plot gen:s2d9pt:5 --what roofline --variant spmv --out x.svg
expect 1 'cannot write /dev/full' plot gen:s2d9pt:5 --what levels --out /dev/full
finish
