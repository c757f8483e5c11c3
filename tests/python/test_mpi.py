"""tristar.mpi on the ranks of mpiexec: the results of one process, and errors that are the same on all ranks."""
import gc
import sys

import numpy as np
import scipy.sparse as sp
from mpi4py import MPI

import tristar
import tristar.mpi as many

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
rng = np.random.default_rng(5)


def block(n):
    """The rows of this rank; rank 1 of several has none."""
    shares = np.ones(ranks)
    if ranks > 2:
        shares[1] = 0
    ends = np.rint(np.cumsum(shares) / shares.sum() * n).astype(int)
    return slice(ends[rank] - int(round(shares[rank] / shares.sum() * n)) if rank == 0 else ends[rank - 1], ends[rank])


def grid(k, dtype="d", skew=0.0):
    line = sp.diags([-1 - skew, 2, -1 + skew], [-1, 0, 1], (k, k))
    A = sp.kronsum(line, line, format="csr").astype(dtype)
    if A.dtype.kind == "c":
        A = A + 0.5j * sp.eye(k * k, format="csr", dtype=dtype)
    return A.astype(dtype)


def whole(x):
    """The rows of all ranks, on all ranks."""
    return np.concatenate(comm.allgather(x))


def largest(x):
    return np.abs(x).max(initial=0)


def raises(kind, call, *words):
    """Checks that all ranks raise an exception of this class whose message has these words."""
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), str(error)
        assert comm.allreduce(1) == ranks
        return
    raise AssertionError(f"no {kind.__name__}")


def test_products():
    for dtype in "fdFD":
        A = grid(13, dtype, 0.2)
        n, mine = A.shape[0], block(A.shape[0])
        x = (rng.standard_normal((n, 3)) + (1j * rng.standard_normal((n, 3)) if dtype in "FD" else 0)).astype(dtype)
        M = many.Matrix(A[mine])
        assert M.shape == A.shape and M.dtype == A.dtype and M.first == mine.start and M.rows == mine.stop - mine.start
        near = 1e-5 if dtype in "fF" else 1e-13
        for trans, whole_matrix in (("N", A), ("T", A.T), ("H", A.conj().T)):
            assert largest(whole(M.multiply(x[mine], trans)) - whole_matrix @ x) < near * 20
        assert largest(whole(M @ x[mine, 0]) - A @ x[:, 0]) < near * 20
        assert abs(M.local_rows() - A[mine]).sum() == 0 and abs(M.diagonal_block() - A[mine, mine]).sum() == 0
        assert many.Matrix(A[mine], dtype=A.dtype).dtype == A.dtype
    half = sp.tril(grid(13), format="csr")
    M = many.Matrix(half[mine], symmetry="symmetric")
    assert abs(M.local_rows() - grid(13)[mine]).sum() == 0
    other = M.repartition()
    assert np.array_equal(np.sort(whole(other.origin())), np.arange(n))
    generated = many.Matrix.generate("poisson3d7", 6)
    assert generated.shape == (216, 216) and "216 rows" in repr(generated)
    assert many.Matrix.read("gen:poisson3d7:6").statistics().nnz_all == generated.statistics().nnz_all


def test_factors():
    layouts = {1: ["1x1x1"], 2: ["2x1x1", (1, 1, 2), None], 4: [(2, 2, 1), "2x1x2", "1x1x4"]}[ranks]
    for dtype in "fdFD":
        for skew in (0, 0.3):
            A = grid(15, dtype, skew)
            n, mine = A.shape[0], block(A.shape[0])
            b = (rng.standard_normal((n, 2)) + (1j * rng.standard_normal((n, 2)) if dtype in "FD" else 0)).astype(dtype)
            M = many.Matrix(A[mine])
            near = 1e-3 if dtype in "fF" else 1e-11
            for layout in layouts:
                lu = many.splu(M, layout, map="cyclic") if layout == "2x1x1" else many.splu(M, layout)
                for trans, op in (("N", A), ("T", A.T), ("H", A.conj().T)):
                    assert largest(op @ whole(lu.solve(b[mine], trans)) - b) < near, (dtype, skew, layout, trans)
                assert whole(lu.solve(b[mine, 0])).shape == (n,)
            x, report = lu.solve_refined(b[mine], forward_error=True)
            assert report.backward_error < near and largest(A @ whole(x) - b) < near
            assert 1 < lu.condition() < 1e4
            assert len(set(comm.allgather(lu.condition()))) == 1
            M.update(2 * A[mine])
            lu.refactor(M)
            assert largest(2 * A @ whole(lu.solve(b[mine])) - b) < 2 * near
            reports = lu.gather_statistics()
            assert (len(reports) == ranks and reports[0].rank == 0) if rank == 0 else reports is None
            assert lu.statistics().rank == rank
        lu.save("saved")
        loaded = many.DistributedLU.load("saved", M.rows)
        assert loaded.shape == lu.shape and loaded.dtype == lu.dtype and loaded.statistics().n == n
        assert np.array_equal(loaded.solve(b[mine], "T"), lu.solve(b[mine], "T"))
        loaded.refactor(M)
        assert many.DistributedLU.load("saved").rows == n * (rank + 1) // ranks - n * rank // ranks
    x = many.splu(A[mine], None if ranks == 1 else layouts[0]).solve(b[mine].astype(dtype))  # rows instead of a Matrix
    assert largest(A @ whole(x) - b) < near


def test_krylov():
    A = grid(20)
    n, mine = A.shape[0], block(A.shape[0])
    M, b = many.Matrix(A[mine]), rng.standard_normal((n, 2))
    steps = {}
    choices = {"none": None, "fsai": many.Preconditioner(M), "jacobi": many.Preconditioner(M, "jacobi"),
               "ic": many.Preconditioner(M, "ic"), "plan": many.Preconditioner(M, "plan", overlap=2),
               "lu": many.splu(M, (ranks, 1, 1))}
    for name, P in choices.items():
        solver = many.KrylovSolver(M, P, "cg", tolerance=1e-10)
        result = solver.solve(b[mine])
        assert result.converged and largest(A @ whole(result.x) - b) < 1e-7, name
        steps[name] = result.columns[0].iterations
        assert len(set(comm.allgather(steps[name]))) == 1
        again = solver.solve(b[mine], result.x)
        assert again.columns[0].iterations <= 1 and again.x is not result.x
    assert steps["fsai"] < 0.7 * steps["none"] and steps["lu"] <= 2, steps
    r = rng.standard_normal(n)
    s = whole(choices["fsai"].solve(r[mine]))
    assert r @ s > 0
    choices["fsai"].update(M)
    assert largest(whole(choices["fsai"].solve(r[mine])) - s) < 1e-12 * largest(s)
    raises(ValueError, lambda: choices["ic"].update(M), "fsai")
    S = grid(20, skew=0.4)
    M = many.Matrix(S[mine])
    restricted = many.Preconditioner(M, "ilu", overlap=1, restricted=True)
    for method in (many.bicgstab, many.gmres, many.fgmres):
        x, info = method(M, b[mine, 0], tol=1e-9, M=restricted)
        assert info == 0 and np.linalg.norm(S @ whole(x) - b[:, 0]) < 1e-8 * np.linalg.norm(b[:, 0])
    x, info = many.cg(many.Matrix(A[mine]), b[mine, 0], tol=1e-14, maxiter=3)
    assert info > 0

    def callback(column, iteration, residual):
        if iteration == 4 and rank == ranks - 1:
            raise KeyError("enough")

    try:
        many.KrylovSolver(many.Matrix(A[mine]), None, "cg", callback).solve(b[mine])
        failed = None
    except Exception as error:  # pylint: disable=broad-except
        failed = error
    assert isinstance(failed, KeyError) or rank != ranks - 1


def test_errors():
    A = grid(9)
    n, mine = A.shape[0], block(A.shape[0])
    M, b = many.Matrix(A[mine]), np.ones(n)[mine]
    lu = many.splu(M, (ranks, 1, 1))
    last = rank == ranks - 1
    raises(TypeError, lambda: lu.solve(b.astype("D") if last else b))
    raises(ValueError, lambda: lu.solve(b[:-1] if last else b), "rows")
    if ranks > 1:
        raises(ValueError, lambda: lu.solve(np.ones((M.rows, 3 if last else 2))), "right-hand sides")
        raises(tristar.ArgumentError, lambda: many.splu(M, (ranks + 1, 1, 1)), "processes")
        raises(tristar.ArgumentError, lambda: many.Matrix(A[mine].astype("f") if last else A[mine]))
    raises(TypeError, lambda: many.Matrix(A[mine].astype("g") if last else A[mine]))
    raises(ValueError, lambda: many.splu(M, method="qr"), "method")
    raises(TypeError, lambda: many.splu(M, methods="lu"), "methods")
    raises(ValueError, lambda: many.splu(M, "2x2"))
    raises(tristar.ArgumentError, lambda: many.Matrix(A[mine, :-1]))
    bad = A[mine].copy()
    if last:
        bad.data[-1] = np.nan
    raises(tristar.NotFiniteError, lambda: many.Matrix(bad))
    singular = sp.lil_matrix(A)
    singular[n // 2] = 0
    raises(tristar.SingularError, lambda: many.splu(many.Matrix(singular.tocsr()[mine]), (ranks, 1, 1)))
    raises(ValueError, lambda: lu.solve(b, "X"), "trans")
    raises(tristar.FileError, lambda: many.Matrix.read("/there/is/no/such.mtx"), "such.mtx")
    raises(TypeError, lambda: many.KrylovSolver(M, sp.eye(n)), "Preconditioner")
    solver = many.KrylovSolver(M, lu)
    lu.destroy()
    lu.destroy()
    raises(ValueError, lambda: solver.solve(b), "destroyed")
    raises(ValueError, lambda: lu.solve(b), "destroyed")
    assert whole(M @ b).shape == (n,)


def test_lifetime():
    A = grid(9)
    mine = block(A.shape[0])
    comm.Barrier()
    keep = []
    for step in range(30):
        M = many.Matrix(A[mine])
        lu = many.splu(M, (ranks, 1, 1))
        if (step + rank) % 3:  # ranks drop objects at different times
            keep.append((M, lu))
        if rank == step % ranks:
            keep.clear()
        lu.solve(np.ones(M.rows))
    keep.clear()
    del M, lu
    gc.collect()
    with many.Matrix(A[mine]) as M:
        live = M._ranks.live
        assert len(live) < 10 and len(set(comm.allgather(len(live)))) == 1, len(live)
    part = comm.Split(rank % 2, rank)
    A = grid(8)
    ends = np.arange(part.size + 1) * 64 // part.size
    mine = slice(ends[part.rank], ends[part.rank + 1])
    x = many.splu(many.Matrix(A[mine], part, context=many.Context(part)), (part.size, 1, 1)).solve(np.ones(64)[mine])
    assert largest(A @ np.concatenate(part.allgather(x)) - 1) < 1e-12
    part.Free()


names = sys.argv[1:] or [name for name in list(globals()) if name.startswith("test_")]
for name in names:
    globals()[name]()
    comm.Barrier()
    if rank == 0:
        print(name, "passed")
