"""The object of cholesky: each method of scikit-sparse's Factor against dense arithmetic."""
import pickle
import threading
import unittest
from unittest import mock

import numpy as np
from scipy import sparse

import tristar
from systems import DTYPES, assert_solves, laplacian, vectors


def positive(n, dtype=np.float64, scaled=False):
    """A positive definite matrix of random pattern; Hermitian if complex."""
    G = sparse.random(n, n, 0.05, random_state=5, format="csc")
    if np.issubdtype(dtype, np.complexfloating):
        G = G + 1j * sparse.random(n, n, 0.05, random_state=6, format="csc")
    A = G @ G.conj().T + sparse.identity(n)
    if scaled:
        D = sparse.diags(10.0 ** np.linspace(-3, 3, n))
        A = D @ A @ D
    return sparse.csc_matrix(A, dtype=dtype)


class Methods(unittest.TestCase):
    """All identities hold for real and complex, scaled and unscaled matrices."""

    def each(self):
        for dtype in (np.float64, np.complex128):
            for scaled in (False, True):
                A = positive(70, dtype, scaled)
                yield A, tristar.cholesky(A), vectors(70, dtype)

    def test_solves(self):
        for dtype in DTYPES:
            A = positive(60, dtype)
            b, B = vectors(60, dtype), vectors((60, 3), dtype)
            factor = tristar.cholesky(A)
            for solve in (factor, factor.solve_A, factor.solve):
                assert_solves(A, solve(b), b)
                assert_solves(A, solve(B), B)

    def test_sparse_right_hand_side(self):
        A = positive(60)
        X = tristar.cholesky(A).solve_A(sparse.identity(60, format="csc"))
        self.assertTrue(sparse.issparse(X))
        np.testing.assert_allclose((A @ X).toarray(), np.eye(60), atol=1e-10)

    def test_factors(self):
        for A, factor, _ in self.each():
            PAPt = A.toarray()[factor.P()][:, factor.P()]
            L = factor.L().toarray()
            unit, D = (M.toarray() for M in factor.L_D())
            scale = np.sqrt(np.outer(PAPt.diagonal().real, PAPt.diagonal().real))
            self.assertLess(abs((L @ L.conj().T - PAPt) / scale).max(), 1e-12)
            self.assertLess(abs((unit @ D @ unit.conj().T - PAPt) / scale).max(), 1e-12)
            np.testing.assert_array_equal(unit.diagonal(), 1)
            np.testing.assert_allclose(factor.D(), D.diagonal())
            LD = factor.LD().toarray()
            np.testing.assert_allclose(np.tril(LD, -1) + np.diag(factor.D()), LD)

    def test_factors_of_ill_conditioned_matrices(self):
        """L L^T is A up to rounding errors, though entries of L have larger errors. A stiff spring joins unknowns 0 and 2."""
        for stiff in (1e6, 1e8):
            A = np.array([[3.0, -1, 0, -1], [-1, 3, 0, -2], [0, 0, 1, -1], [-1, -2, -1, 4]])
            A[::2, ::2] += stiff * np.array([[1, -1], [-1, 1]])
            factor = tristar.cholesky(sparse.csc_matrix(A))
            PAPt = A[factor.P()][:, factor.P()]
            scale = np.sqrt(np.outer(PAPt.diagonal(), PAPt.diagonal()))
            L = factor.L().toarray()
            unit, D = (M.toarray() for M in factor.L_D())
            for product in (L @ L.T, unit @ D @ unit.T):
                self.assertLess(abs((product - PAPt) / scale).max(), 1e-12)

    def test_parts(self):
        for A, factor, b in self.each():
            L, (unit, D) = factor.L(), factor.L_D()
            for solve, matrix in ((factor.solve_L, unit), (factor.solve_Lt, unit.conj().T), (factor.solve_D, D),
                                  (factor.solve_LD, unit @ D), (factor.solve_DLt, D @ unit.conj().T),
                                  (factor.solve_LDLt, unit @ D @ unit.conj().T),
                                  (lambda b: factor.solve_L(b, False), L), (lambda b: factor.solve_Lt(b, False), L.conj().T)):
                expected = np.linalg.solve(matrix.toarray(), b)
                x = solve(b)
                self.assertEqual(x.shape, b.shape)
                self.assertLess(np.linalg.norm(x - expected), 1e-8 * np.linalg.norm(expected))
                X = solve(np.stack([b, 2 * b], 1))
                self.assertLess(np.linalg.norm(X[:, 1] - 2 * expected), 1e-8 * np.linalg.norm(expected))
            y = factor.apply_Pt(factor.solve_LDLt(factor.apply_P(b)))
            expected = factor.solve_A(b)
            self.assertLess(np.linalg.norm(y - expected), 1e-8 * np.linalg.norm(expected))
            np.testing.assert_array_equal(factor.apply_Pt(factor.apply_P(b)), b)
            np.testing.assert_array_equal(factor.apply_Pt(factor.apply_P(A)).toarray(), A.toarray())
            self.assertTrue(sparse.issparse(factor.solve_L(A)))
            self.assertTrue(sparse.issparse(factor.solve_D(A)))

    def test_determinants(self):
        for A, factor, _ in self.each():
            _, expected = np.linalg.slogdet(A.toarray())
            self.assertAlmostEqual(factor.logdet(), expected, delta=1e-9 * abs(expected) + 1e-9)
            self.assertEqual(factor.slogdet(), (1, factor.logdet()))
            self.assertAlmostEqual(factor.det() / np.exp(expected), 1, delta=1e-6)

    def test_determinant_of_a_large_matrix(self):
        k = 60
        eigenvalues = 2 - 2 * np.cos(np.pi * np.arange(1, k + 1) / (k + 1))
        expected = np.log(np.add.outer(eigenvalues, eigenvalues)).sum()
        self.assertAlmostEqual(tristar.cholesky(laplacian(k)).logdet(), expected, delta=1e-8)

    def test_inverse(self):
        A = positive(40)
        np.testing.assert_allclose(tristar.cholesky(A).inv().toarray(), np.linalg.inv(A.toarray()), atol=1e-10)

    def test_only_the_lower_triangle(self):
        A, b = positive(40), vectors(40)
        for B in (sparse.tril(A), sparse.csc_matrix(sparse.tril(A) + 7 * sparse.triu(A, 1))):
            assert_solves(A, tristar.cholesky(B.tocsc()).solve_A(b), b)

    def test_beta_and_new_values(self):
        A, b, identity = positive(40), vectors(40), sparse.identity(40)
        factor = tristar.cholesky(A, beta=3)
        assert_solves(A + 3 * identity, factor(b), b)
        before = factor.logdet()
        factor.cholesky_inplace(2 * A, beta=1)
        assert_solves(2 * A + identity, factor(b), b)
        self.assertNotAlmostEqual(factor.logdet(), before)
        assert_solves(5 * A, factor.cholesky(5 * A)(b), b)
        assert_solves(2 * A + identity, pickle.loads(pickle.dumps(factor))(b), b)

    def test_array_of_values(self):
        """An array of values is accepted only if its order is that of the matrix that was factored."""
        for dtype in DTYPES:
            b, A = vectors(60, dtype), positive(60, dtype)
            A.sort_indices()
            tangled = sparse.csc_matrix(A.tocsr()[:, ::-1])[:, ::-1].tocsr()[::-1].tocsc()[::-1]
            self.assertFalse(np.array_equal(tangled.indices, A.indices))
            for first in (A, A.tocsr(), tangled, A.tocoo()):
                factor = pickle.loads(pickle.dumps(tristar.cholesky(first)))
                if first is A or first.format == "csr" and dtype in (np.float32, np.float64):
                    factor.refactor(2 * first.data)
                    assert_solves(2 * A, factor(b), b)
                else:
                    with self.assertRaisesRegex(ValueError, "pass a matrix"):
                        factor.refactor(2 * first.data)

    def test_low_rank(self):
        for dtype in DTYPES:
            A, b = positive(60, dtype), vectors(60, dtype)
            factor = tristar.cholesky(A)
            row, column = A.tocoo().row, A.tocoo().col
            pair = np.flatnonzero(row != column)[7]
            C = sparse.csc_matrix(([1.5, -0.5, 2], ([row[pair], column[pair], 11], [0, 0, 1])), shape=(60, 2), dtype=dtype)
            factor.update_inplace(C)
            assert_solves(A + C @ C.conj().T, factor(b), b)
            factor.update_inplace(C, subtract=True)
            assert_solves(A, factor(b), b)
            before = factor(b)
            with self.assertRaises(tristar.NotPositiveDefiniteError):
                factor.update_inplace(100 * C, subtract=True)
            self.assertTrue(np.array_equal(before, factor(b)))

    def test_orderings(self):
        A, b = positive(40), vectors(40)
        for name in ("default", "natural", "amd", "metis", "nesdis", "best"):
            factor = tristar.cholesky(A, ordering_method=name)
            assert_solves(A, factor(b), b)
            PAPt, L = A.toarray()[factor.P()][:, factor.P()], factor.L().toarray()
            np.testing.assert_allclose(L @ L.T, PAPt, atol=1e-13 * abs(PAPt).max())
            np.testing.assert_allclose(L @ factor.solve_L(b, False), b, atol=1e-12)
            np.testing.assert_allclose(L.T @ factor.solve_Lt(b, False), b, atol=1e-12)
            np.testing.assert_allclose(factor.D(), L.diagonal() ** 2)
            np.testing.assert_allclose(factor.apply_Pt(factor.solve_LDLt(factor.apply_P(b))), factor(b), atol=1e-12)
            if name == "natural":
                np.testing.assert_array_equal(factor.P(), np.arange(40))
        with self.assertRaises(ValueError):
            tristar.cholesky(A, ordering_method="no such")

    def test_new_values_of_another_thread(self):
        """The factors, and solves with them, belong to one set of values: a refactorization in between waits."""
        A, b = positive(40), vectors(40)
        D = sparse.diags(np.linspace(1, 3, 40))
        B = sparse.csc_matrix(D @ A @ D)
        for name, compute in (("triangle", lambda factor: factor.L().toarray()), ("Solver._solve_rows", lambda factor: factor.solve_LDLt(b))):
            factor = tristar.cholesky(A)
            expected = compute(tristar.cholesky(A))
            threads = []
            place = ("tristar.explicit." if name == "triangle" else "tristar.solver.") + name
            function = tristar.explicit.triangle if name == "triangle" else tristar.solver.Solver._solve_rows

            def interrupted(*arguments, function=function, factor=factor, threads=threads, **options):
                if not threads:
                    threads.append(threading.Thread(target=factor.refactor, args=(B,)))
                    threads[0].start()
                    threads[0].join(0.5)
                return function(*arguments, **options)

            factor.D()
            with mock.patch(place, interrupted):
                found = compute(factor)
            threads[0].join()
            np.testing.assert_array_equal(found, expected)
            assert_solves(B, factor(b), b)

    def test_sweeps_at_the_same_time(self):
        """Two threads are in the sweep of solve_L at once."""
        A, b, barrier, found = positive(40), vectors(40), threading.Barrier(2), []
        factor, function = tristar.cholesky(A), tristar.solver.Solver._solve_rows
        expected = factor.solve_L(b)

        def meet(*arguments, **options):
            barrier.wait(20)
            return function(*arguments, **options)

        with mock.patch("tristar.solver.Solver._solve_rows", meet):
            threads = [threading.Thread(target=lambda: found.append(factor.solve_L(b))) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        np.testing.assert_array_equal(found, [expected, expected])

    def test_refused(self):
        A = positive(40)
        with self.assertRaises(tristar.NotPositiveDefiniteError) as raised:
            tristar.cholesky(-A)
        self.assertIsInstance(raised.exception, np.linalg.LinAlgError)
        with self.assertRaises(ValueError):
            tristar.cholesky(A).update_inplace(sparse.csc_matrix(np.ones((40, 1))))
        with self.assertRaises(ValueError):
            tristar.cholesky(A[:, :3])
        factor = tristar.cholesky(A)
        for call in (tristar.cholesky, factor.cholesky_inplace):
            with self.assertRaises(TypeError):  # the cast would drop the imaginary part
                call(A, np.complex128(1 + 1j))
        for permute in (factor.apply_P, factor.apply_Pt):
            for b in (vectors(41), vectors((39, 2)), sparse.eye(41, format="csc")):
                with self.assertRaises(ValueError):
                    permute(b)
        with self.assertRaises(TypeError):
            factor.update_inplace(sparse.csc_matrix(([1 + 1j], ([0], [0])), shape=(40, 1)))
        assert_solves(A, factor(vectors(40)), vectors(40))


if __name__ == "__main__":
    unittest.main()
