#!/usr/bin/env bash
# driver_mpi.sh PROGRAM MPIEXEC [FLAG...] -- : `tristar solve --layout` under mpiexec: results, bits, wrong usage that is
# reported once, failures on rank 0, many processes on few cores, a process that is killed. Works in the current folder.
. "$(dirname "$0")/driver_ranks.sh"
rm -f -- *.json *.svg *.mtx # of an earlier run

# ---- Subcommands that run on one process
ranks 2 - '^tristar: plot: runs on one process, but 2 were started' plot tree gen:s2d9pt:9 --out one.svg
[ "$(grep -c 'runs on one process' output.txt)" -eq 1 ] && [ ! -e one.svg ] || fail "plot on two processes: $(cat output.txt)"
ranks 2 0 '^StarPU' env
[ "$(grep -c '^StarPU ' output.txt)" -eq 1 ] || fail "env on two processes: $(cat output.txt)"

printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 4\n2 1 1\n2 2 3\n3 2 -1\n3 3 5\n' >spd.mtx
ranks 4 0 '^ +[1-3] of 4 processes have no part of the factor$' solve spd.mtx --layout 4x1x1

# ---- Results, and the same bits when repeated
for layout in 2x1x1 1x2x1 1x1x2; do
  for algo in replicated levelwise; do
    ranks 2 0 '^accuracy ' solve gen:s2d9pt:40 --layout $layout --algo $algo --repeat 3 --checksum --json $layout.$algo.json
    python3 - $layout.$algo.json <<'EOF' || fail "$layout, $algo: figures"
import json, sys
r = json.load(open(sys.argv[1]))
assert r["backward_error"] < 1e-13 and r["sweep_s"] <= r["solve_s"], r
p = r["processes"]
assert len(p) == 2 and sum(q["factor_bytes"] for q in p) > 0
assert all(q["compute_s"] >= 0 and q["xy_s"] >= 0 and q["z_s"] >= 0 for q in p)
assert all((q["z_messages"] > 0) == (r["layout"]["pz"] > 1) for q in p), p
EOF
  done
  [ "$(value checksum $layout.replicated.json)" != '' ] || fail "$layout: no checksum"
  awk '/ messages /{ gsub(",", ""); rows++; bad += !($(NF - 2) <= $(NF - 1) && $(NF - 1) <= $NF) }
    END { exit rows < 2 || bad }' output.txt || { fail "$layout: a mean beyond least and most"; cat output.txt >&2; }
done
ranks 2 0 '^accuracy ' solve gen:convdiff3d:8 --layout 2x1x1 --map cyclic --message-tree flat --nrhs 5 --op T --out x.mtx
[ "$(wc -l <x.mtx)" -gt 2560 ] || fail "x.mtx has $(wc -l <x.mtx) lines"
ranks 4 0 '^layout ' solve gen:poisson3d7:8 --precision z --layout auto --svg bars.svg
ranks 4 0 'chosen for 1 solve: predicted .* for a factorization, .* for a solve$' solve gen:poisson3d7:10 --layout auto --solves 1 --json once.json
ranks 4 0 'chosen for solves alone: predicted ' solve gen:poisson3d7:10 --layout auto --json ever.json
python3 - <<'EOF' || fail "--solves: figures"
import json
once, ever = (json.load(open(f))["layout"] for f in ("once.json", "ever.json"))
assert once["solves"] == 1 and ever["solves"] == 0
for l in (once, ever):
    assert 0 < l["predicted_solve_s"] < 1 and 0 < l["predicted_factor_s"] < 10, l
    assert l["simulated"] >= 6 and l["predicted_sixteen_grids_s"] == 0
    assert min(l["predicted_one_grid_s"], l["predicted_process_grids_s"]) > 0
assert ever["predicted_solve_s"] <= min(ever["predicted_one_grid_s"], ever["predicted_process_grids_s"])
EOF

# ---- The cluster that the processes run on, for `tristar simulate`
ranks 2 0 '^written +cluster.json$' calibrate --cluster cluster.json
ranks 1 0 'measured by 2 processes: 2 processes a node' simulate gen:s2d9pt:40 --ranks 4 --machine cluster.json
grep -q '"ranks_per_node":.*2' cluster.json || fail "cluster.json does not have two processes on a node"
grep -q '"dense_flops_per_second":.*40000000000,*$' cluster.json && fail "cluster.json has the default rate of products"
ranks 1 0 '^factoring ' simulate gen:s2d9pt:40 --ranks 4 --machine cluster.json --factorization
ranks 2 - 'cannot write nowhere/x.json: ' calibrate --cluster nowhere/x.json
ranks 2 - '--json cannot be combined with --cluster' calibrate --cluster cluster.json --json figures.json
ranks 2 - 'runs on one process, but 2 were started' calibrate
ranks 2 0 "^analysis " solve gen:s2d9pt:20 --layout 2x1x1 --solves 3
expect 0 "ordering" solve gen:s2d9pt:20 --solves 3 --report
python3 -c 'import xml.dom.minidom, sys; sys.exit(len(xml.dom.minidom.parse("bars.svg").getElementsByTagName("rect")) < 21)' ||
  fail "bars.svg is no picture of four processes"
"$(dirname "$0")/check_picture" bars.svg 2 || fail "bars.svg is no good picture"
# the tasks and messages of all processes; few rows; several solves in flight: X equals that of one process
ranks 4 0 '^layout ' solve gen:poisson3d7:8 --layout 2x1x2 --repeat 3 --gantt tasks.svg
"$(dirname "$0")/check_picture" tasks.svg 1 || fail "tasks.svg is no good picture"
for word in 'rank 0' 'rank 3' 'class="task"' 'class="message"' 'in 4 processes'; do
  grep -q "$word" tasks.svg || fail "tasks.svg has no $word"
done
for file in tasks.json tasks.trace; do
  ranks 4 0 '^layout ' solve gen:poisson3d7:8 --layout 2x1x2 --gantt $file
  "$(dirname "$0")/check_timeline" $file 4 some 1 || fail "$file is no timeline of four processes"
done
printf '3\n400 7\n' >rows.txt
ranks 4 0 '4 in flight, each for .*' solve gen:s2d9pt:20 --layout 2x1x2 --rows rows.txt --repeat 12 --in-flight 4 --out few.mtx --json few.json
grep -q '^ *only what is needed: .* and 3 rows of X that are computed$' output.txt || fail "no share reported: $(cat output.txt)"
"$tristar" solve gen:s2d9pt:20 --rows rows.txt --out one.mtx >output.txt 2>&1 || fail "rows on one process: $(cat output.txt)"
python3 - <<'EOF' || fail "few rows: other numbers than on one process"
import json
def read(name): return [float(l) for l in open(name).read().split("\n")[3:] if l]
x, y = read("few.mtx"), read("one.mtx")
assert len(x) == len(y) == 3 and all(abs(a - b) < 1e-12 * max(map(abs, y)) for a, b in zip(x, y)), (x, y)
r = json.load(open("few.json"))
assert r["rows_wanted"] == 3 and 0 < r["share"] <= 1 and r["in_flight"] == 4 and r["latency_s"] > 0, r
EOF
ranks 2 0 '^layout .* flat trees' solve gen:s2d9pt:20 --layout 2x1x1 --tree flat # the older word
ranks 1 0 '^layout +1 x 1 x 1' solve gen:s2d9pt:20 --layout 1x1x1

# each process reads rows of the matrix if possible; the bits are the same as if rank 0 reads the matrix
python3 - >rows.mtx <<'EOF'
n = 300
entries = [(i, j, 5 if i == j else -1 + i % 3 / 8) for i in range(n) for j in (i - 17, i - 1, i) if j >= 0]
print("%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d" % (n, n, len(entries)))
print("\n".join("%d %d %.17g" % (i + 1, j + 1, v) for i, j, v in entries))
EOF
gzip -c rows.mtx >rows.mtx.gz
"$tristar" gen poisson3d7 9 --out generated.mtx >output.txt 2>&1 || fail "gen: $(cat output.txt)"
for file in rows.mtx rows.mtx.gz gen:poisson3d7:9; do
  input=''
  ranks 4 0 'each process has read its rows of the matrix, none has all of it$' solve $file --layout 2x1x2 --checksum --json all.json
  input=$file
  [ -e $file ] || input=generated.mtx
  ranks 4 0 '^layout ' solve - --layout 2x1x2 --checksum --json one.json # rank 0 alone reads that
  python3 - <<'EOF' || fail "$file: other numbers than of a matrix on rank 0"
import json
a, b = (json.load(open(f)) for f in ("all.json", "one.json"))
assert a["matrix_on"] == "all" and b["matrix_on"] == "rank 0", (a["matrix_on"], b["matrix_on"])
for key in ("checksum", "nnz_factor", "backward_error", "factor_bytes", "smallest_pivot"):
    assert a[key] == b[key], (key, a[key], b[key])
assert all(p["peak_bytes"] > p["factor_bytes"] for p in a["processes"] + b["processes"])
EOF
done
input=''
while read -r on solved; do
  ranks 2 0 '^accuracy ' solve $solved --layout 2x1x1 --json which.json
  grep -q "\"matrix_on\":[[:space:]]*\"${on//_/ }\"" which.json || fail "$solved: $(grep matrix_on which.json)"
done <<'EOF'
all gen:kkt3d:4
all gen:kkt3d:4 --matching off
rank_0 gen:circuit:300
all gen:convdiff3d:6 --matching on
all gen:convdiff3d:6 --precision cz
EOF

# ---- Delayed pivots: [0 B; B^T H], whose first diagonal entries are zero
python3 - >saddle.mtx <<'EOF'
rows, first = 300, 90
entries = [(first + (11 * j + 50 * k) % (rows - first), j, 1 + j % 5 / 4 + k) for j in range(first) for k in range(3)]
entries += [(i, j, 3 if i == j else -1) for i in range(first, rows) for j in (i - 1, i) if j >= first]
print("%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d" % (rows, rows, len(entries)))
print("\n".join("%d %d %.17g" % (i + 1, j + 1, v) for i, j, v in entries))
EOF
for layout in 1x1x2 2x1x1; do
  ranks 2 0 'the first one had all of it to search pivots$' solve saddle.mtx --ordering natural --matching off \
    --pivoting delayed --layout $layout --json delayed.json
  python3 - <<'EOF' || fail "$layout: delayed pivots"
import json
r = json.load(open("delayed.json"))
assert r["delayed_pivots"] > 0 and r["pivot_rounds"] > 0 and r["perturbed_pivots"] == 0, r
assert r["backward_error"] < 1e-14, r["backward_error"]
EOF
done

# ---- Saved factors, one file a process: the bits of the run that saved them; other layouts, damaged files
rm -f -- set.*
for source in gen:kkt3d:5 'gen:convdiff3d:6 --precision cz' 'gen:circuit:300 --algo levelwise'; do
  # shellcheck disable=SC2086
  ranks 4 0 '^checksum' solve $source --layout 2x1x2 --nrhs 3 --save set --checksum --json made.json
  [ -s set.0 ] && [ -s set.3 ] && [ ! -e set.4 ] || fail "$source: the files of 4 processes: $(echo set.*)"
  ranks 4 0 'with its factor: .* are of the run that saved it$' solve set --layout 2x1x2 --nrhs 3 --checksum --json loaded.json
  python3 - <<'EOF' || fail "$source: other numbers than of the factor that was saved"
import json
a, b = (json.load(open(f)) for f in ("made.json", "loaded.json"))
assert (a["saved"], b["saved"], b["matrix_on"]) == (False, True, "all")
for key in ("checksum", "nnz_factor", "backward_error", "factor_bytes", "smallest_pivot", "layout", "perturbed_pivots"):
    assert a[key] == b[key], (key, a[key], b[key])
assert [p["factor_bytes"] for p in a["processes"]] == [p["factor_bytes"] for p in b["processes"]]
EOF
done
ranks 4 0 '^accuracy ' solve set --layout auto --op T --condition
ranks 4 - '^tristar: set: saved in layout 2x1x2, levelwise, subtree map, binary trees$' solve set --layout 4x1x1
ranks 4 - '^tristar: set: saved in layout 2x1x2, levelwise' solve set --layout 2x1x2 --algo replicated
ranks 2 - '^tristar: set: set.0: saved by 4 ranks, in layout 2x1x2; here are 2$' solve set --layout 1x1x2
ranks 4 - 'without --laplacian and --precision' solve set --layout 2x1x2 --precision s
expect 1 '^tristar: set: files of a factor on many processes, such as set.0: ' solve set
truncate -s -9 set.2
ranks 4 - '^tristar: set: rank 2: set.2: damaged: ' solve set --layout 2x1x2
[ "$(grep -c damaged output.txt)" -eq 1 ] || fail "a damaged file is reported more than once: $(cat output.txt)"
rm set.3
ranks 4 - '^tristar: set: rank 3: cannot read set.3: No such file or directory$' solve set --layout 2x1x2
ranks 4 - '^tristar: cannot write no/such/set: No such file or directory$' solve gen:kkt3d:5 --layout 2x1x2 --save no/such/set
expect 1 'set.0: it has the share of one rank of a distributed factor' solve set.0

for precision in d sd cz; do
  ranks 4 0 'bound of the forward error [0-9.]+e-1[2-6]$' solve gen:circuit:300 --layout 2x1x2 --precision $precision --condition --forward-error --json mpi.json
  grep -q '"rcond"' mpi.json || fail "no condition in $(cat mpi.json)"
done

# ---- Rank 0 reports the failure of another rank
words=(solve gen:s2d9pt:20 --layout 2x1x1)
"${mpiexec[@]}" -n 1 "$tristar" "${words[@]}" : -n 1 env TRISTAR_IDLE=snore "$tristar" "${words[@]}" >output.txt 2>&1
status=$?
[ $status -ne 0 ] && [ "$(grep -c '^tristar:' output.txt)" -eq 1 ] && grep -q '^tristar: .*rank 1: cannot start' output.txt ||
  fail "one of two ranks cannot start: exit status $status, $(cat output.txt)"

# ---- Wrong usage is reported once
mkdir -p outside && echo 500 >outside/rows.txt
ranks 2 - '^tristar: solve: --layout 3x1x1: 3 processes, but mpiexec has started 2$' solve gen:s2d9pt:20 --layout 3x1x1
[ "$(grep -c '^tristar:' output.txt)" -eq 1 ] || fail "reported more than once: $(cat output.txt)"
ranks 2 - '^tristar: solve: --svg x.gif: no picture has the ending .gif; ' solve gen:s2d9pt:20 --layout 2x1x1 --svg x.gif
[ "$(grep -c '^tristar:' output.txt)" -eq 1 ] || fail "reported more than once: $(cat output.txt)"
ranks 3 - '^tristar: solve: --layout 1x1x3: the last number is not a power of two$' solve gen:s2d9pt:20 --layout 1x1x3
ranks 2 - '2 processes need --layout PXxPYxPZ, or --layout auto, to share the work$' solve gen:s2d9pt:20
ranks 2 - 'cannot be combined with --layout$' solve gen:s2d9pt:20 --layout 2x1x1 --report
ranks 2 - 'in-flight 4 needs --repeat N with an N that is not smaller$' solve gen:s2d9pt:20 --layout 2x1x1 --in-flight 4
[ "$(grep -c '^tristar:' output.txt)" -eq 1 ] || fail "reported more than once: $(cat output.txt)"
ranks 2 - 'no picture has the ending .gif; ' solve gen:s2d9pt:20 --layout 2x1x1 --gantt x.gif
ranks 2 - 'rows.txt:1: row 500 is outside 1 .. 400$' solve gen:s2d9pt:20 --layout 2x1x1 --rows outside/rows.txt
ranks 2 - 'no/such/folder/x.svg' solve gen:s2d9pt:20 --layout 2x1x1 --gantt no/such/folder/x.svg
expect 2 'need --layout$' solve gen:s2d9pt:20 --algo replicated

# ---- The forecast of a layout, and a limit that one process exceeds by it
while read -r count layout matrix; do
  # shellcheck disable=SC2086
  expect 0 '^forecast +a process needs at most ' info $matrix --layout $layout --json forecast.json
  # shellcheck disable=SC2086
  ranks $count 0 '^factoring, the peak ' solve $matrix --layout $layout --engine serial --json peaks.json
  python3 - <<'EOF' || fail "$matrix, $layout: the forecast is far from the peaks"
import json
f, p = json.load(open("forecast.json")), [q["factor_peak_bytes"] for q in json.load(open("peaks.json"))["processes"]]
bytes = f["forecast"]["factor_peak_bytes"]
assert 0.85 < bytes["max"] / max(p) < 1.1 and 0.85 < bytes["total"] / sum(p) < 1.1, (bytes, p)
assert f["forecast_bytes"]["max"] >= bytes["max"] and f["forecast_s"] > 0
EOF
done <<'EOF'
2 2x1x1 gen:poisson3d7:18
2 1x1x2 gen:convdiff3d:12 --precision z
4 2x1x2 gen:kkt3d:9
4 2x2x1 gen:elasticity3d:8 --precision s
EOF
ranks 2 - '^tristar: gen:poisson3d7:20: .*the factorization would need .* \(forecast\): more than the limit of 8388608 bytes \(--memory-limit\)$' \
  solve gen:poisson3d7:20 --layout 2x1x1 --engine serial --memory-limit 8M
[ "$(grep -c '^tristar:' output.txt)" -eq 1 ] || fail "reported more than once: $(cat output.txt)"
ranks 2 0 '^accuracy ' solve gen:poisson3d7:20 --layout 2x1x1 --engine serial --memory-limit 24M

# ---- Schur complements: as on one process, of rows on all processes and, where they cannot be read so, on the first
printf '2\n9 70\n' >unknowns.txt
printf '1 2\n3 4\n5 6\n' >xs.txt
for ((k = 0; k < 125; k++)); do echo "$((k % 7 - 3)) $((k % 5))"; done >b.txt
for of in "" --laplacian; do
  expect 0 '^schur +3 unknowns, ' schur gen:convdiff3d:5 $of --unknowns unknowns.txt --out one.mtx --rhs b.txt --reduced one_g.mtx \
    --interface xs.txt --solution one_x.mtx
  ranks 2 0 '^schur +3 unknowns, ' schur gen:convdiff3d:5 $of --unknowns unknowns.txt --layout 1x1x2 --out two.mtx --rhs b.txt \
    --reduced two_g.mtx --interface xs.txt --solution two_x.mtx
  python3 - <<'EOF' || fail "complements of one process and of two differ"
for name, count in (("%s.mtx", 9), ("%s_g.mtx", 6), ("%s_x.mtx", 250)):
    one, two = ([float(l) for l in open(name % f) if l[0] != "%" and len(l.split()) == 1] for f in ("one", "two"))
    assert len(one) == len(two) == count and all(abs(a - b) <= 1e-13 * max(map(abs, one)) for a, b in zip(one, two)), (name, one, two)
EOF
done
ranks 2 0 ' double \(single factors\)' schur gen:convdiff3d:5 --laplacian --precision sd --unknowns unknowns.txt --layout 2x1x1
ranks 2 - '^tristar: schur: 2 processes need --layout ' schur gen:s2d9pt:9 --unknowns unknowns.txt
ranks 2 - 'b.txt: the right-hand side has 125 rows, but the matrix has 100' schur gen:s2d9pt:10 --unknowns unknowns.txt --layout 2x1x1 \
  --rhs b.txt --reduced g.mtx
ranks 2 - 'unknowns.txt:2: row 70 is outside 1 .. 49' schur gen:s2d9pt:7 --unknowns unknowns.txt --layout auto
expect 2 '--algo, --map and --message-tree need --layout' schur gen:s2d9pt:9 --unknowns unknowns.txt --map cyclic

# ---- Entries of the inverse: as on one process
printf '1 1\n125 3\n7 70\n' >entries.txt
for of in "" --laplacian '--precision z'; do
  for what in --diagonal --pattern '--entries entries.txt'; do
    # shellcheck disable=SC2086
    expect 0 '^written +one.mtx$' inverse gen:convdiff3d:5 $of $what --out one.mtx
    # shellcheck disable=SC2086
    ranks 2 0 '^written +two.mtx$' inverse gen:convdiff3d:5 $of $what --layout 2x1x1 --out two.mtx
    # shellcheck disable=SC2086
    ranks 4 0 '^layout +2 x 1 x 2 ' inverse gen:convdiff3d:5 $of $what --layout 2x1x2 --algo levelwise --out four.mtx --json four.json
    python3 - <<'EOF' || fail "$of $what: entries of the inverse of one process and of many differ"
import json
one, two, four = ([[float(v) for v in l.split()] for l in open(f + ".mtx") if l[0] != "%"] for f in ("one", "two", "four"))
for many in (two, four):
    assert len(one) == len(many) >= 4, (len(one), len(many))
    assert all(abs(a - b) <= 1e-13 * max(abs(w) for v in one[1:] for w in v[-2:])
               for v, w in zip(one, many) for a, b in zip(v, w)), (one, many)
assert json.load(open("four.json"))["inverse_entries"] == (one[0][2] if len(one[0]) > 2 else one[0][0])
EOF
  done
done
entries=()
for ((i = 1; i <= 12; i++)); do
  for ((j = 1; j <= i; j++)); do entries+=("$i $j $(((7 * i + 3 * j) % 11 - 5)) $((i == j ? 0 : (5 * i + j) % 7 - 3))"); done
done
matrix hermitian.mtx 'complex hermitian' "12 12 ${#entries[@]}" "${entries[@]}"
matrix skew.mtx 'real skew-symmetric' '4 4 6' '2 1 3' '3 1 1' '4 1 7' '3 2 0.3' '4 2 11' '4 3 13'
for of in hermitian skew; do # which have no imaginary parts, or zeros, on the diagonal
  expect 0 '^written +one.mtx$' inverse $of.mtx --pattern --out one.mtx
  ranks 2 0 '^written +two.mtx$' inverse $of.mtx --pattern --layout 2x1x1 --out two.mtx
  python3 - <<'EOF' || fail "$of: entries of the inverse of one process and of many differ"
one, two = ([[float(v) for v in l.split()] for l in open(f + ".mtx") if l[0] != "%"] for f in ("one", "two"))
assert len(one) == len(two) > 6 and one[0] == two[0]
assert all(abs(a - b) <= 1e-12 for v, w in zip(one, two) for a, b in zip(v, w)), (one, two)
EOF
done
expect 0 '^inverse ' inverse gen:kkt3d:5 --diagonal --out one.mtx
ranks 2 0 'diagonal of the inverse, in .*, written to two.mtx$' solve gen:kkt3d:5 --layout 1x1x2 --inverse-diagonal two.mtx --save inverse.set
ranks 2 0 'diagonal of the inverse, in .*, written to loaded.mtx$' solve inverse.set --layout 1x1x2 --inverse-diagonal loaded.mtx
cmp <(grep -v '^%' two.mtx) <(grep -v '^%' loaded.mtx) || fail "other entries of a loaded factor"
python3 - <<'EOF' || fail "diagonals of solve --layout and of one process differ"
one, two = ([float(l) for l in open(f + ".mtx") if l[0] != "%" and len(l.split()) == 1] for f in ("one", "two"))
assert len(one) == len(two) == 375 and all(abs(a - b) <= 1e-12 * max(map(abs, one)) for a, b in zip(one, two))
EOF
while IFS='|' read -r words message; do
  # shellcheck disable=SC2086
  ranks 2 - "^tristar: inverse: $message" inverse gen:s2d9pt:9 $words
  [ "$(grep -c '^tristar:' output.txt)" -eq 1 ] || fail "reported more than once: $(cat output.txt)"
done <<'EOF'
--diagonal|2 processes need --layout 
--layout 2x1x1|one of --diagonal, --pattern and --entries FILE is needed
--diagonal --layout 3x1x1|--layout 3x1x1: 3 processes, but mpiexec has started 2
--diagonal --layout 2x1x1 --store s|unknown or ambiguous option --store
EOF
ranks 2 - 'entries.txt:2: row 125 is outside 1 .. 49' inverse gen:s2d9pt:7 --entries entries.txt --layout auto
ranks 2 - 'cannot write nowhere/x.mtx: ' solve gen:s2d9pt:7 --layout 2x1x1 --inverse-diagonal nowhere/x.mtx
expect 2 '--algo, --map and --message-tree need --layout' inverse gen:s2d9pt:9 --diagonal --map cyclic

# ---- What rank 0 finds wrong ends all of them
expect 0 '^solve ' solve gen:s2d9pt:7 --save one.plan
ranks 2 - 'one.plan: a plan of one process: solve without mpiexec and --layout$' solve --load one.plan --layout 2x1x1
ranks 2 - '^tristar: .*no-such-file' solve no-such-file.mtx --layout 2x1x1
[ "$(grep -c '^tristar:' output.txt)" -eq 1 ] || fail "reported more than once: $(cat output.txt)"
matrix singular.mtx 'real general' '2 2 2' '1 1 1' '1 2 1'
ranks 2 - '^tristar: singular.mtx: ' solve singular.mtx --layout 2x1x1
# A chain without boundary: the same verdict in each layout.
{
  echo '%%MatrixMarket matrix coordinate real symmetric'
  echo '200 200 399'
  for i in $(seq 200); do
    echo "$i $i $((i == 1 || i == 200 ? 1 : 2))"
    [ "$i" -eq 200 ] || echo "$((i + 1)) $i -1"
  done
} >neumann.mtx
{ echo 1; yes 0 | head -n 198; echo -1; } >consistent.txt
for layout in 2x1x1 1x1x2; do
  ranks 2 - '^tristar: neumann.mtx: the matrix is singular to working precision: .*; --singular perturb ' solve neumann.mtx --layout $layout
  ranks 2 0 'X is one of many solutions' solve neumann.mtx --layout $layout --singular perturb --rhs consistent.txt
  ranks 2 - 'no solution was found' solve neumann.mtx --layout $layout --singular perturb
done
TRISTAR_TRANSPORT=pigeon ranks 2 - 'TRISTAR_TRANSPORT is "pigeon"' solve gen:s2d9pt:20 --layout 2x1x1

# ---- PT-Scotch, where it is there; on one process it never is
if "$tristar" version | grep -q PT-Scotch; then
  ranks 2 0 '^analysis +Cholesky, PT-Scotch ordering, ' solve gen:s2d9pt:30 --layout 1x1x2 --ordering ptscotch
else
  ranks 2 - 'built without PT-Scotch' solve gen:s2d9pt:30 --layout 1x1x2 --ordering ptscotch
fi
expect 1 'PT-Scotch orders matrices whose rows lie on all ranks' solve gen:s2d9pt:30 --ordering ptscotch

# ---- Eight processes on however few cores, 100 solves
ranks 8 0 '^accuracy ' solve gen:s2d9pt:30 --layout 2x2x2 --repeat 100
ranks 8 0 '^accuracy ' solve gen:s2d9pt:30 --layout 2x2x2 --algo levelwise --map cyclic --engine serial --repeat 100

# ---- A process is killed: the run ends, long before the solves would
killed solve gen:s2d9pt:60 --layout 2x1x1 --repeat 1000000
finish
