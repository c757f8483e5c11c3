"""Triangles, incomplete factors, preconditioners, Krylov methods."""
import pickle
import unittest
import warnings

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sla

import tristar
from systems import DTYPES, assert_solves, laplacian, unsymmetric, vectors

OPS = {"N": lambda A: A, "T": lambda A: A.T, "H": lambda A: A.conj().T}


class Triangles(unittest.TestCase):
    """TriangularSolver and spsolve_triangular."""

    def test_solver(self):
        for dtype in DTYPES:
            A = unsymmetric(80, dtype).tocsr()
            for lower in (True, False):
                for unit in (True, False):
                    T = (sparse.tril if lower else sparse.triu)(A).tocsr()
                    solver = tristar.TriangularSolver(A, lower, unit)
                    if unit:
                        T.setdiag(1)
                    for b in (vectors(80, dtype), vectors((80, 3), dtype)):
                        for trans, op in OPS.items():
                            x = solver.solve(b, trans)
                            self.assertLess(abs(op(T) @ x - b).max() / max(1, abs(x).max()), 1e3 * np.finfo(dtype).eps)

    def test_partitions_and_copies(self):
        A, b = sparse.tril(unsymmetric(80)).tocsr(), vectors(80)
        for partition in ("auto", "supernodes", "levels", "supersteps", "whole", "column", "row", "recursive"):
            solver = tristar.TriangularSolver(A, partition=partition)
            assert_solves(A, solver.solve(b), b)
        assert_solves(A, pickle.loads(pickle.dumps(solver)).solve(b), b)

    def test_function(self):
        A, b = sparse.tril(unsymmetric(20)).tocsr(), vectors(20)
        x = tristar.spsolve_triangular(A, b, overwrite_b=True)
        self.assertIs(x, b)
        np.testing.assert_allclose(x, sla.spsolve_triangular(A, vectors(20)))
        self.assertEqual(tristar.spsolve_triangular(A.astype(np.float32), b.astype(np.float32)).dtype, np.float64)
        with warnings.catch_warnings():  # the blocks of BSR have zeros in the other triangle
            warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
            np.testing.assert_allclose(tristar.spsolve_triangular(A.tobsr((2, 2)), vectors(20)), x)
        with self.assertRaises(np.linalg.LinAlgError):
            tristar.spsolve_triangular(unsymmetric(20).tocsr(), b)
        with self.assertRaises(ValueError):
            tristar.spsolve_triangular(A, np.arange(20), overwrite_b=True)


class Incomplete(unittest.TestCase):
    """spilu and Preconditioner."""

    def test_spilu(self):
        for dtype in DTYPES:
            A, b = unsymmetric(200, dtype), vectors(200, dtype)
            ilu = tristar.spilu(A, drop_tol=0, fill_factor=200)
            for trans, op in OPS.items():
                assert_solves(op(A), ilu.solve(b, trans), b)
            self.assertGreater(ilu.nnz, A.nnz)
            rough = tristar.spilu(A, drop_tol=0.1, fill_factor=1)
            self.assertLess(rough.nnz, ilu.nnz)
            self.assertEqual(sorted(ilu.perm_c), list(range(200)))

    def test_spilu_with_zero_diagonal(self):
        A = sparse.csc_matrix([[0, 2.0, 0], [1, 0, 3], [0, 1, 1]])
        assert_solves(A, tristar.spilu(A).solve(np.ones(3)), np.ones(3))

    def test_spilu_refused(self):
        A = unsymmetric(10)
        for options in ({"drop_tol": -1}, {"drop_rule": "no such"}, {"fill_factor": 0}):
            with self.assertRaises(ValueError):
                tristar.spilu(A, **options)
        with self.assertRaises(NotImplementedError):
            tristar.spilu(A).L
        with self.assertRaises(tristar.SingularError) as raised:
            tristar.spilu(sparse.csc_matrix(np.array([[1.0, 1], [0, 0]])))
        self.assertEqual(raised.exception.status, "TRISTAR_ERR_SINGULAR")

    def test_kinds(self):
        A, b = laplacian(20), vectors(400)
        for kind, options in (("none", {}), ("jacobi", {}), ("ssor", {"omega": 1.2}), ("ilu", {"level": 1}), ("ilut", {"drop": 0.01}),
                              ("ic", {}), ("ict", {}), ("fsai", {"steps": 2})):
            M = tristar.Preconditioner(A, kind, **options)
            self.assertIsInstance(M, sla.LinearOperator)
            x, info = sla.cg(A, b, tol=1e-10, atol=0, M=M)
            self.assertEqual(info, 0)
            assert_solves(A, x, b, 1e7)
            np.testing.assert_allclose(M.matmat(np.stack([b, b], 1))[:, 1], M.matvec(b))
            np.testing.assert_allclose(M.rmatvec(b), M.matvec(b), rtol=1e-8)
            self.assertEqual(M.statistics().kind, kind)
            self.assertIn("<table>", M._repr_html_())
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(M)).matvec(b), M.matvec(b))
        with self.assertRaises(ValueError):
            tristar.Preconditioner(A, "no such")

    def test_update(self):
        A, b = laplacian(20), vectors(400)
        M = tristar.Preconditioner(A, "ic")
        M.update(4 * A)
        np.testing.assert_allclose(M.solve(b), tristar.Preconditioner(4 * A, "ic").solve(b))
        M.update(A.tocsr())
        np.testing.assert_allclose(M.solve(b), tristar.Preconditioner(A, "ic").solve(b))
        for wrong in (laplacian(20) @ laplacian(20), A.data):
            with self.assertRaises(ValueError):
                M.update(wrong)


class Krylov(unittest.TestCase):
    """Methods, preconditioners, callbacks."""

    def test_methods(self):
        for dtype in DTYPES:
            A, b = laplacian(15, dtype), vectors((225, 3), dtype)
            tolerance = 1e3 * np.finfo(dtype).eps
            for method in (tristar.cg, tristar.bicgstab, tristar.gmres, tristar.fgmres):
                result = method(A, b, tol=tolerance)
                x, info = result
                self.assertEqual(info, 0, result.columns)
                self.assertLessEqual(np.linalg.norm(A @ x - b), 2 * tolerance * np.linalg.norm(b))
                self.assertEqual([report.reason for report in result.columns], ["converged"] * 3)
                self.assertIn("iterations", result._repr_html_())

    def test_preconditioners(self):
        A, b = laplacian(30), vectors(900)
        plain = tristar.cg(A, b).columns[0].iterations
        jacobi = sla.LinearOperator(A.shape, lambda x: x / 4, lambda x: x / 4, dtype=A.dtype)
        for M, most in ((jacobi, plain), (tristar.Preconditioner(A, "ic"), plain // 2), (tristar.splu(A), 2),
                        (tristar.splu(A).as_operator(), 2), (tristar.spilu(A), plain // 2)):
            for method in (tristar.cg, tristar.gmres, tristar.bicgstab):
                if method is tristar.cg or most < plain:
                    result = method(A, b, M=M)
                    self.assertEqual(result[1], 0)
                    self.assertLessEqual(result.columns[0].iterations, most)

    def test_operator(self):
        A, b = unsymmetric(100), vectors(100)
        x, info = tristar.gmres(sla.aslinearoperator(A), b, tol=1e-10)
        self.assertEqual(info, 0)
        self.assertLess(np.linalg.norm(A @ x - b), 1e-9 * np.linalg.norm(b))

    def test_guess_and_limits(self):
        A, b = laplacian(15), vectors(225)
        x, _ = tristar.cg(A, b, tol=1e-10)
        self.assertEqual(tristar.cg(A, b, x0=x).columns[0].iterations, 0)
        result = tristar.cg(A, b, maxiter=3)
        self.assertEqual(result[1], 3)
        self.assertEqual(result.columns[0].reason, "limit")
        self.assertFalse(result.converged)
        copy = pickle.loads(pickle.dumps(result))
        self.assertEqual((copy[1], copy.columns[0].iterations, copy.converged), (3, 3, False))
        solver = tristar.KrylovSolver(A)
        self.assertEqual(solver.statistics().method, "cg")
        np.testing.assert_allclose(solver.solve(b, x0=x).x, x)
        self.assertEqual(solver.solve(b)[1], 0)

    def test_new_values(self):
        A, b = laplacian(15), vectors(225)
        solver = tristar.KrylovSolver(A, tolerance=1e-10)
        solver.update_values(2 * A)
        np.testing.assert_allclose(2 * A @ solver.solve(b).x, b, atol=1e-7)
        for wrong in (A @ A, A.data, [1.0, 2.0]):
            with self.assertRaises(ValueError):
                solver.update_values(wrong)

    def test_new_values_of_the_preconditioner(self):
        """Also where other values need another method and so another plan."""
        A, b = laplacian(15), vectors(225)
        for as_preconditioner in (lambda lu: lu, lambda lu: lu.as_operator()):
            lu = tristar.splu(A)
            solver = tristar.KrylovSolver(A, as_preconditioner(lu), "gmres", tolerance=1e-10)
            for factor in (1, -1, 2):
                lu.refactor(factor * A)
                result = solver.solve(b)
                self.assertLessEqual(result.columns[0].iterations, 2)
                assert_solves(A, result.x, b, 1e6)

    def test_callbacks(self):
        A, b, points = laplacian(15), vectors((225, 2)), []
        tristar.cg(A, b, callback=lambda *point: points.append(point))
        self.assertEqual({column for column, _, _ in points}, {0, 1})
        self.assertLess(points[-1][2], 1e-5)
        result = tristar.cg(A, b, callback=lambda column, iteration, residual: iteration == 2)
        self.assertEqual(result.columns[0].reason, "cancelled")

        def fail(*_):
            raise KeyError("mine")

        broken = sla.LinearOperator(A.shape, fail, dtype=A.dtype)
        for call in (lambda: tristar.cg(A, b, callback=fail), lambda: tristar.gmres(broken, b), lambda: tristar.cg(A, b, M=broken)):
            with self.assertRaises(KeyError):
                call()

    def test_refused(self):
        A = laplacian(5)
        for call in (lambda: tristar.cg(A, np.ones(7)), lambda: tristar.cg(A[:, :3], np.ones(25)),
                     lambda: tristar.KrylovSolver(A, method="no such")):
            with self.assertRaises(ValueError):
                call()
        with self.assertRaises(TypeError):
            tristar.cg(A, np.ones(25) * 1j)
        turn = sla.LinearOperator(A.shape, matvec=lambda x: (1 + 1j) * x, dtype=float)  # complex results of a real operator
        for operator, M in ((turn, None), (A, turn)):
            with self.assertRaises(TypeError):
                tristar.gmres(operator, np.ones(25), M=M)
        with self.assertRaises(tristar.NotFiniteError):
            tristar.cg(A, np.full(25, np.nan))


if __name__ == "__main__":
    unittest.main()
