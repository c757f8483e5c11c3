#!/usr/bin/env bash
# driver_krylov_mpi.sh PROGRAM MPIEXEC [FLAG...] -- : `tristar krylov` under mpiexec: iterations and X of one process,
# statistics of all processes, more processes than rows, failures that are reported once, a process that is killed. Works in
# the current folder.
. "$(dirname "$0")/driver_ranks.sh"
rm -f -- *.json *.svg *.mtx *.txt # of an earlier run

# ---- The same iterations and X as on one process, with a preconditioner that is the same there
"$tristar" gen poisson3d7 7 --out A.mtx >output.txt 2>&1 || fail "tristar gen"
for count in 2 4; do
  ranks $count 0 '^accuracy +converged' krylov A.mtx --precond jacobi --nrhs 2 --repeat 2 --json k$count.json --out x$count.mtx --svg norms.svg
done
expect 0 '^accuracy +converged' krylov A.mtx --precond jacobi --nrhs 2 --json k1.json --out x1.mtx
[ "$(head -c 4 norms.svg)" = '<svg' ] || fail "norms.svg is no SVG"
python3 - <<'END' || fail "krylov on many processes: other figures than on one"
import json
def read(name): return [float(l) for l in open(name).read().split("\n")[3:] if l]
one, x = json.load(open("k1.json")), read("x1.mtx")
for count in (2, 4):
    r, y = json.load(open("k%d.json" % count)), read("x%d.mtx" % count)
    assert abs(r["iterations"] - one["iterations"]) <= 1 and r["converged"] and r["nnz"] == one["nnz"], r
    assert len(x) == len(y) and all(abs(a - b) < 1e-6 * max(map(abs, x)) for a, b in zip(x, y))
    p = r["processes"]
    assert len(p) == count and sum(q["rows"] for q in p) == r["n"] == 343 and sum(q["nnz"] for q in p) == r["nnz"]
    # each process but the last ones has two neighbours: planes of the grid, or a little more
    products = r["products"] # of the latest solve; true residuals are among them
    for q in p:
        assert q["product_messages"] == (1 if q["rank"] in (0, count - 1) else 2), q
        assert q["messages"] == products * q["product_messages"] and q["bytes"] == products * q["product_bytes"], q
        assert q["ghosts"] >= 49 and q["product_bytes"] >= 49 * 8, q
END

# ---- Entries whose squares are out of range
awk '!/^%/ && sized++ { $3 = $3 "e-200" } { print }' A.mtx >tiny.mtx
for method in cg block-cg bicgstab gmres; do
  ranks 3 0 '^accuracy +converged' krylov tiny.mtx --method $method --precond jacobi --nrhs 2
done

# ---- Sparse approximate inverses: of all rows, or only of the blocks
expect 0 '^accuracy +converged' krylov gen:diffusion3d:10 --precond fsai --json f1.json
for count in 2 4; do
  ranks $count 0 '^precond +fsai, .* density' krylov gen:diffusion3d:10 --precond fsai --json f$count.json
  ranks $count 0 '^accuracy +converged' krylov gen:diffusion3d:10 --precond fsai --fsai levels=0 --json g$count.json
done
for method in bicgstab gmres; do # two factors
  expect 0 '^accuracy +converged' krylov gen:convdiff3d:10 --method $method --precond fsai --json p1$method.json
  ranks 3 0 '^accuracy +converged' krylov gen:convdiff3d:10 --method $method --precond fsai --json p3$method.json
done
python3 - <<'END' || fail "fsai on many processes"
import json
def read(name): return json.load(open(name))
one = read("f1.json")
for count in (2, 4):
    r, blocks = read("f%d.json" % count), read("g%d.json" % count)
    assert abs(r["iterations"] - one["iterations"]) <= 1 + one["iterations"] / 50, (r["iterations"], one["iterations"])
    assert abs(r["density"] - one["density"]) < 0.02 * one["density"], (r["density"], one["density"])
    assert blocks["iterations"] > r["iterations"] and blocks["nnz_factor"] < r["nnz_factor"]
for method in ("bicgstab", "gmres"):
    one, r = read("p1%s.json" % method), read("p3%s.json" % method)
    assert abs(r["iterations"] - one["iterations"]) <= 1 and r["nnz_factor"] == one["nnz_factor"], (r, one)
END

# ---- Three unknowns a point, which share patterns: as many iterations on any number of processes
expect 0 '^accuracy +converged' krylov gen:elasticity3d:5 --precond fsai --fsai block=3,levels=100 --json n1.json
for count in 2 4; do
  for block in 3 auto; do
    ranks $count 0 '^precond +fsai, .* by 180 nodes, density' krylov gen:elasticity3d:5 --precond fsai \
      --fsai block=$block,levels=100 --json n$count$block.json
  done
done
python3 - <<'END' || fail "unknowns of points on many processes"
import json
def read(name): return json.load(open(name))
one = read("n1.json")
for name in ("n23", "n2auto", "n43", "n4auto"):
    r = read(name + ".json")
    assert r["iterations"] == one["iterations"] and r["nnz_factor"] == one["nnz_factor"], (name, r["iterations"], one["iterations"])
END

# ---- Rows in parts: the same solution, fewer columns of others
"$tristar" gen poisson3d7 12 --out G.mtx >output.txt 2>&1 || fail "tristar gen"
python3 - <<'END' || fail "a grid in another order"
import random
lines = open("G.mtx").read().split("\n")
at = next(k for k, line in enumerate(lines) if not line.startswith("%"))
n = int(lines[at].split()[0])
number = list(range(1, n + 1))
random.Random(1).shuffle(number)
with open("S.mtx", "w") as out:
    print("\n".join(lines[:at + 1]), file=out)
    for line in lines[at + 1:]:
        if line:
            i, j, value = line.split()
            i, j = number[int(i) - 1], number[int(j) - 1]
            print(max(i, j), min(i, j), value, file=out)
END
for split in blocks metis; do
  ranks 4 0 '^accuracy +converged' krylov S.mtx --precond jacobi --split $split --json s$split.json --out s$split.mtx
done
python3 - <<'END' || fail "rows in parts by METIS"
import json
def read(name): return [float(l) for l in open(name).read().split("\n")[3:] if l]
blocks, metis = json.load(open("sblocks.json")), json.load(open("smetis.json"))
x, y = read("sblocks.mtx"), read("smetis.mtx")
assert len(x) == len(y) and all(abs(a - b) < 1e-5 * max(map(abs, x)) for a, b in zip(x, y))
assert abs(blocks["iterations"] - metis["iterations"]) <= 2 + blocks["iterations"] / 20
ghosts = [sum(p["ghosts"] for p in r["processes"]) for r in (blocks, metis)]
assert 3 * ghosts[1] < 2 * ghosts[0], ghosts
END

# ---- Other methods, precisions and preconditioners; more processes than rows
for precond in none ic0 factor; do ranks 2 0 '^accuracy +converged' krylov A.mtx --precond $precond; done
ranks 2 0 '^method +GMRES\(30\) on' krylov gen:convdiff3d:5 --precond ilu0
ranks 2 0 '^accuracy +converged' krylov gen:convdiff3d:5 --method bicgstab --precision c
ranks 2 0 'complex double, hermitian' krylov gen:poisson3d7:4 --precision z
for method in pipelined-cg block-cg; do ranks 2 0 '^accuracy +converged' krylov A.mtx --method $method --precond fsai --nrhs 3; done
matrix spd.mtx 'real symmetric' '3 3 5' '1 1 4' '2 1 1' '2 2 3' '3 2 -1' '3 3 5'
printf '6\n4\n13\n' >b.txt
for split in blocks metis; do ranks 4 0 '^processes 1 of 4 have no rows$' krylov spd.mtx --split $split; done
ranks 3 0 '^accuracy +converged' krylov spd.mtx --split metis
! grep -q 'have no rows' output.txt || fail 'three rows on three processes: one has none'
for precond in none jacobi ic0 factor fsai; do
  ranks 4 0 '^accuracy +converged' krylov spd.mtx --rhs b.txt --out x.mtx --tol 1e-12 --precond $precond
  tail -n 3 x.mtx | awk '{ if (($1 - NR) ^ 2 > 1e-18) wrong = 1 } END { exit NR != 3 || wrong }' ||
    fail "$precond: x is not (1, 2, 3): $(tail -n 3 x.mtx | tr '\n' ' ')"
done

# ---- Subdomains that overlap: fewer iterations; one process has none
for overlap in 0 3; do
  ranks 2 0 '^accuracy +converged' krylov gen:poisson3d7:14 --precond factor --overlap $overlap --json o$overlap.json
done
[ "$(value iterations o3.json | head -n 1)" -lt "$(value iterations o0.json | head -n 1)" ] || fail "overlap takes no fewer iterations"
[ "$(value nnz_factor o3.json)" -gt "$(value nnz_factor o0.json)" ] || fail "overlap has no more entries"
ranks 2 0 '^accuracy +converged' krylov A.mtx --precond ic0 --overlap 1
ranks 2 0 '^accuracy +converged' krylov gen:convdiff3d:8 --precond ilu0 --overlap 1
ranks 2 - '--overlap belongs to a --precond of each process, which fsai is not' krylov A.mtx --precond fsai --overlap 1
expect 2 '--overlap needs several processes' krylov A.mtx --precond ic0 --overlap 1

# ---- Failures are reported once
once() { [ "$(grep -c '^tristar:' output.txt)" -eq 1 ] || fail "reported more than once: $(cat output.txt)"; }
matrix indefinite.mtx 'real symmetric' '2 2 3' '1 1 1' '2 1 2' '2 2 1'
printf '1\n-1\n' >b2.txt
matrix broken.mtx 'real general' '3 3 3' '1 1 4' '2 2 4' '3 4 4'
matrix hole.mtx 'real symmetric' '4 4 3' '1 1 4' '2 2 4' '3 3 4'
ranks 2 0 'CG, the first choice for a symmetric matrix, has found it indefinite' krylov indefinite.mtx --rhs b2.txt
ranks 2 - '^tristar: indefinite.mtx: right-hand side 1, iteration 1: the matrix is not positive definite$' krylov indefinite.mtx --rhs b2.txt --method cg --precond none
once
ranks 2 - '^tristar: .*broken.mtx:5: column outside 1..3' krylov broken.mtx
once
ranks 2 - '^tristar: rank 1: hole.mtx: .*row 1' krylov hole.mtx --precond jacobi
once
ranks 2 - '^tristar: hole.mtx: .*row 3' krylov hole.mtx --precond fsai
once
matrix singular.mtx 'real symmetric' '4 4 7' '1 1 1' '2 1 -1' '2 2 2' '3 2 -1' '3 3 2' '4 3 -1' '4 4 1'
ranks 2 - '^tristar: singular.mtx: (.*row 3|right-hand side 1, iteration [0-9]+: the matrix is not positive definite)' krylov singular.mtx --method cg --precond fsai
once
ranks 4 - '^tristar: singular.mtx: right-hand side 1, iteration' krylov singular.mtx --precond jacobi --max-iterations 40
once
matrix one.mtx 'real symmetric' '1 1 1' '1 1 4'
for precond in jacobi ic0 fsai; do ranks 3 0 '^accuracy +converged' krylov one.mtx --precond $precond --method pipelined-cg; done
ranks 2 - '^tristar: cannot open missing.mtx|^tristar: missing.mtx' krylov missing.mtx
once
ranks 2 - 'b2.txt.* rows, but the matrix has 3' krylov spd.mtx --rhs b2.txt
once
for method in pipelined-cg block-cg; do
  ranks 2 - '^tristar: indefinite.mtx: right-hand side 1, iteration 1: the matrix is not positive definite$' krylov indefinite.mtx --rhs b2.txt --method $method --precond none
  once
done
ranks 2 - 'not converged within the limit of iterations' krylov A.mtx --max-iterations 3 --precond none
once
ranks 2 - '--laplacian needs one process' krylov A.mtx --laplacian
once

# ---- A process is killed: the run ends, long before the solves would
killed krylov A.mtx --repeat 1000000
killed krylov A.mtx --repeat 1000000 --method pipelined-cg --precond fsai
finish
