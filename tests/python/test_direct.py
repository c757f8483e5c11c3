"""splu, factorized, spsolve: types, formats, right-hand sides, factors, new values, errors."""
import gc
import io
import pickle
import unittest
import warnings
from unittest import mock

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import MatrixRankWarning, eigsh

import tristar
from systems import DTYPES, assert_solves, laplacian, unsymmetric, vectors

OPS = {"N": lambda A: A, "T": lambda A: A.T, "H": lambda A: A.conj().T}


class Matrices(unittest.TestCase):
    """Matrices that can be factored: types and formats."""

    def test_types_and_ops(self):
        for dtype in DTYPES:
            for A in (laplacian(12, dtype), unsymmetric(144, dtype)):
                lu = tristar.splu(A)
                self.assertEqual(lu.shape, A.shape)
                self.assertEqual(lu.dtype, A.dtype)
                b = vectors(144, dtype)
                for trans, op in OPS.items():
                    x = lu.solve(b, trans)
                    self.assertEqual(x.dtype, A.dtype)
                    assert_solves(op(A), x, b)

    def test_formats(self):
        A, b = unsymmetric(30), vectors(30)
        expected = tristar.splu(A).solve(b)
        for name in ("csc", "csr", "bsr", "coo", "dia", "lil", "dok"):
            with warnings.catch_warnings():
                warnings.simplefilter("error" if name in ("csc", "csr", "bsr") else "ignore", sparse.SparseEfficiencyWarning)
                np.testing.assert_allclose(tristar.splu(A.asformat(name)).solve(b), expected, rtol=1e-12)
        with self.assertWarns(sparse.SparseEfficiencyWarning):
            tristar.splu(A.tocoo())
        np.testing.assert_allclose(tristar.splu(sparse.csc_array(A)).solve(b), expected, rtol=1e-12)

    def test_blocks(self):
        for dtype in DTYPES:
            for size in (1, 2, 3, 6):
                A = unsymmetric(60, dtype).tobsr((size, size))
                A.data += np.eye(size, dtype=dtype)[::-1] / 8
                rows, b = A.tocsr(), vectors(60, dtype)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    lu, expected = tristar.splu(A), tristar.splu(rows)
                    gc.collect()
                    np.testing.assert_array_equal(lu.solve(b), expected.solve(b))
                    A.data *= 2
                    lu.refactor(A)
                    expected.refactor(A.tocsr())
                    np.testing.assert_array_equal(lu.solve(b), expected.solve(b))
                    columns = tristar.splu(rows.tocsc())
                    columns.refactor(A)
                    assert_solves(A, columns.solve(b), b)
                    for kind in (sparse.bsr_matrix, sparse.bsr_array):
                        np.testing.assert_array_equal(tristar.spsolve(kind(A), b), tristar.spsolve(A.tocsr(), b))
        with self.assertRaises(ValueError):
            lu.refactor(unsymmetric(60, seed=4).tobsr((6, 6)))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(lu)).solve(b), lu.solve(b))

    def test_blocks_of_other_shapes(self):
        A, b = unsymmetric(60), vectors(60)
        with self.assertWarns(sparse.SparseEfficiencyWarning):
            np.testing.assert_allclose(tristar.splu(A.tobsr((2, 3))).solve(b), tristar.splu(A).solve(b), rtol=1e-12)
        with self.assertRaisesRegex(ValueError, "square"):
            tristar.splu(A[:, :30].tobsr((2, 2)))
        self.assertEqual(tristar.splu(sparse.bsr_matrix((0, 0), blocksize=(1, 1))).solve(np.zeros(0)).shape, (0,))

    def test_malformed_blocks(self):
        A = unsymmetric(60).tobsr((2, 2))
        A.data[5, 1, 0] = np.nan
        with self.assertRaisesRegex(tristar.NotFiniteError, "block row"):
            tristar.splu(A)
        A = unsymmetric(60).tobsr((2, 2))
        A.indices[3] = 30
        with self.assertRaisesRegex(tristar.FormatError, "block row"):
            tristar.splu(A)
        A = unsymmetric(60).tobsr((2, 2))
        A.indptr[-1] += 1
        with self.assertRaises(ValueError):
            tristar.splu(A)

    def test_indices_of_64_bits(self):
        A, b = unsymmetric(30), vectors(30)
        expected = tristar.splu(A).solve(b)
        A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
        np.testing.assert_array_equal(tristar.splu(A).solve(b), expected)

    def test_integers_become_doubles(self):
        A = sparse.csc_matrix([[2, 1], [1, 3]])
        x = tristar.splu(A).solve([3, 4])
        self.assertEqual(x.dtype, np.float64)
        np.testing.assert_allclose(x, [1, 1])

    def test_duplicates_and_unsorted_indices(self):
        A = sparse.csc_matrix((np.array([1.0, 1.0, 4.0, 1.0]), np.array([1, 0, 0, 1]), np.array([0, 3, 4])), (2, 2))
        data = A.data.copy()
        x = tristar.splu(A).solve(np.array([5.0, 2.0]))
        np.testing.assert_allclose(x, [1, 1])
        np.testing.assert_array_equal(A.data, data)  # SuperLU would have sorted and summed

    def test_unused_elements_of_arrays(self):
        """SciPy permits elements after the last entry, as its method prune removes them. They belong to no column."""
        A, b = laplacian(5), vectors(25)
        for kind in (sparse.csc_matrix, sparse.csr_matrix):
            longer = kind(A)
            longer.data = np.append(longer.data, [50.0, 60.0, 70.0])
            longer.indices = np.append(longer.indices, np.array([3, 4, 5], longer.indices.dtype))
            for solve in (tristar.splu(longer).solve, tristar.cholesky(longer), lambda b, A=longer: tristar.spsolve(A, b)):
                assert_solves(A, solve(b), b)
            lu = tristar.splu(3 * A)
            lu.refactor(longer)
            assert_solves(A, lu.solve(b), b)
            self.assertEqual(len(longer.data), A.nnz + 3)
        lower = sparse.csr_matrix(([2.0, 3, 9], [0, 1, 0], [0, 1, 2]), shape=(2, 2))
        np.testing.assert_array_equal(tristar.spsolve_triangular(lower, np.array([2.0, 6])), [1, 2])

    def test_matrix_is_read_only(self):
        A, b = unsymmetric(30), vectors(30)
        expected = tristar.splu(A).solve(b)
        for array in (A.data, A.indices, A.indptr):
            array.flags.writeable = False
        np.testing.assert_array_equal(tristar.splu(A).solve(b), expected)

    def test_changes_of_the_matrix_have_no_effect(self):
        A, b = unsymmetric(30), vectors(30)
        lu = tristar.splu(A)
        before = lu.solve(b)
        A.data[:] = 0
        np.testing.assert_array_equal(lu.solve(b), before)
        np.testing.assert_allclose(pickle.loads(pickle.dumps(lu)).solve(b), before)

    def test_byte_order(self):
        A, b = unsymmetric(30), vectors(30)
        expected = tristar.splu(A).solve(b)
        np.testing.assert_allclose(tristar.splu(A).solve(b.astype(">f8")), expected)
        other = A.copy()
        for name in ("data", "indices", "indptr"):  # the constructors of SciPy convert
            array = getattr(other, name)
            setattr(other, name, array.astype(array.dtype.newbyteorder(">")))
        np.testing.assert_array_equal(tristar.splu(other).solve(b), expected)
        lu = tristar.splu(2 * A)
        lu.refactor(other)
        np.testing.assert_array_equal(lu.solve(b), expected)

    def test_empty(self):
        x = tristar.splu(sparse.csc_matrix((0, 0))).solve(np.zeros(0))
        self.assertEqual(x.shape, (0,))

    def test_malformed(self):
        A = unsymmetric(10)
        A.indices[3] = 99
        with self.assertRaises(tristar.FormatError):
            tristar.splu(A)
        A = unsymmetric(10)
        A.indptr[-1] += 1000
        with self.assertRaises(ValueError):
            tristar.splu(A)
        with self.assertRaises(ValueError):
            tristar.splu(unsymmetric(10)[:, :4])
        with self.assertRaises(TypeError):
            tristar.splu(unsymmetric(10).astype(np.longdouble))
        A = unsymmetric(10)
        A.data[2] = np.nan
        with self.assertRaises(tristar.NotFiniteError):
            tristar.splu(A)

    def test_malformed_before_computations_of_scipy(self):
        """Wrong indices and pointers are errors also where SciPy, which trusts them, computes with the matrix first."""
        A = laplacian(4)
        lu, factor, rows = tristar.splu(A), tristar.cholesky(A), tristar.splu(A.tocsr())
        lower, b = sparse.csr_matrix(sparse.tril(A)), vectors(16)
        calls = [(A, call) for call in (tristar.cholesky, factor.cholesky_inplace, factor.update_inplace, factor.apply_P, factor.solve_L,
                                        factor.solve_D, tristar.spilu, lu.refactor, rows.refactor, lu.solve,
                                        lambda wrong: tristar.spsolve(A, wrong), tristar.Preconditioner(A, "ic").update,
                                        tristar.KrylovSolver(A).update_values, lambda wrong: tristar.Batch(A).factor([wrong]),
                                        lambda wrong: tristar.cg(A, b, M=wrong))]
        calls += [(lower, lambda wrong: tristar.spsolve_triangular(wrong, b)), (A.tocoo(), tristar.splu), (A.tobsr((2, 4)), tristar.splu)]
        for good, call in calls:
            for name, entry, value in (("indices", 0, 99), ("indices", 1, -1), ("indptr", 0, 1), ("indptr", 1, -5), ("indptr", 1, 50),
                                       ("row", 2, 16), ("col", 2, -1)):
                wrong = good.copy()
                if hasattr(wrong, name):
                    getattr(wrong, name)[entry] = value
                    with warnings.catch_warnings(), self.assertRaises(tristar.FormatError):
                        warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
                        call(wrong)
        wrong = A.copy()
        wrong.indices[A.indptr[5]] = 77
        with self.assertRaisesRegex(tristar.FormatError, "column 5, entry 0: index 77 is outside 0..15"):
            tristar.cholesky(wrong)
        np.testing.assert_array_equal(lu.solve(b), tristar.splu(A).solve(b))  # nothing was taken

    def test_singular(self):
        A = sparse.csc_matrix([[1.0, 1.0], [1.0, 1.0]])
        with self.assertRaises(np.linalg.LinAlgError) as raised:
            tristar.splu(A)
        self.assertIsInstance(raised.exception, (tristar.SingularError, RuntimeError))
        self.assertEqual(raised.exception.status, "TRISTAR_ERR_SINGULAR")
        with self.assertWarns(MatrixRankWarning):
            x = tristar.spsolve(A, np.ones(2))
        self.assertTrue(np.isnan(x).all())
        with self.assertRaises(tristar.NotPositiveDefiniteError):
            tristar.splu(sparse.csc_matrix([[1.0, 2.0], [2.0, 1.0]]), method="llt")


class RightHandSides(unittest.TestCase):
    """Arrays of all kinds."""

    def setUp(self):
        self.A = unsymmetric(50)
        self.lu = tristar.splu(self.A)

    def test_shapes_and_orders(self):
        B = vectors((50, 7))
        big = vectors((100, 14))
        for b in (B, np.asfortranarray(B), B[:, ::2], B[:, 3], B[:, 3:4], big[::2, ::2], big[50:, 7:], B[::-1], B[:, ::-1],
                  np.broadcast_to(B[:, :1], (50, 3)), B[:, :0], np.asfortranarray(big)[::2, 1]):
            for trans, op in OPS.items():
                x = self.lu.solve(b, trans)
                self.assertEqual(x.shape, b.shape)
                assert_solves(op(self.A), x, b)

    def test_read_only(self):
        for shape in ((50,), (50, 3)):
            b = vectors(shape)
            b.flags.writeable = False
            assert_solves(self.A, self.lu.solve(b), b)

    def test_lists_and_integers(self):
        b = list(range(50))
        assert_solves(self.A, self.lu.solve(b), np.array(b))

    def test_matrix_class(self):
        x = self.lu.solve(np.asmatrix(vectors((50, 2))))
        self.assertEqual(x.shape, (50, 2))

    def test_sparse(self):
        for B in (sparse.random(50, 130, 0.02, random_state=3, format="csc"), sparse.csr_matrix((50, 3)), sparse.csc_matrix((50, 0))):
            for trans, op in OPS.items():
                X = self.lu.solve(B, trans)
                self.assertTrue(sparse.issparse(X))
                self.assertEqual(X.shape, B.shape)
                self.assertLess(abs(op(self.A) @ X - B).max() if B.shape[1] else 0, 1e-12)

    def test_refused(self):
        for b, exception in ((np.ones(49), ValueError), (np.ones((50, 2, 2)), ValueError), (np.float64(1), ValueError),
                             (np.array(1.0), ValueError), (np.ones(50) * 1j, TypeError), (np.ones(50, np.longdouble), TypeError),
                             (np.array(["a"] * 50), TypeError), (sparse.csc_matrix((49, 1)), ValueError)):
            with self.assertRaises(exception):
                self.lu.solve(b)
        with self.assertRaises(ValueError):
            self.lu.solve(np.ones(50), "X")
        single = tristar.splu(self.A.astype(np.float32))
        with self.assertRaises(TypeError):
            single.solve(np.ones(50))

    def test_nan(self):
        b = np.ones(50)
        b[3] = np.nan
        self.assertTrue(np.isnan(self.lu.solve(b)).any())

    def test_same_bits_in_all_orders(self):
        B = vectors((50, 4))
        expected = self.lu.solve(np.asfortranarray(B))
        np.testing.assert_array_equal(self.lu.solve(B), expected)


class Factors(unittest.TestCase):
    """L, U and permutations."""

    def check(self, A, **options):
        lu = tristar.splu(A, **options)
        n = A.shape[0]
        Pr = sparse.csc_matrix((np.ones(n), (lu.perm_r, np.arange(n))), (n, n))
        Pc = sparse.csc_matrix((np.ones(n), (np.arange(n), lu.perm_c)), (n, n))
        tolerance = 1e3 * np.finfo(A.dtype).eps * abs(A).max()
        self.assertLess(abs(Pr @ A @ Pc - lu.L @ lu.U).max(), tolerance)
        self.assertEqual(sparse.triu(lu.L, 1).nnz + sparse.tril(lu.U, -1).nnz, 0)
        np.testing.assert_array_equal(lu.L.diagonal(), 1)
        return lu

    def test_narrow_storage(self):
        """The rounding errors of a plan's copy are not in L and U."""
        A = laplacian(12)
        for options in ({"storage": "bfloat16"}, {"storage": "single", "release_factor": True}, {"compress": 0.5}):
            for method in ("lu", "llt", "ldlt"):
                self.check(A, method=method, **options)
            factor = tristar.cholesky(A, **{name: value for name, value in options.items() if name != "release_factor"})
            PAPt, L = A.toarray()[factor.P()][:, factor.P()], factor.L().toarray()
            self.assertLess(abs(L @ L.T - PAPt).max(), 1e-12)
            np.testing.assert_allclose(factor.D(), factor.L_D()[1].diagonal(), rtol=1e-13)

    def test_identity(self):
        for dtype in DTYPES:
            self.check(laplacian(15, dtype))
            self.check(unsymmetric(200, dtype))
            self.check(laplacian(9, dtype) - 2.9 * sparse.eye(81, dtype=dtype, format="csc"))  # indefinite

    def test_badly_scaled(self):
        scale = sparse.diags(10.0 ** np.arange(-10, 10))
        self.check(sparse.csc_matrix(scale @ unsymmetric(20)))

    def test_zero_diagonal(self):
        A = sparse.csc_matrix([[0, 2.0, 0], [1, 0, 3], [0, 1, 1]])
        self.check(A)

    def test_weak_pivots(self):
        """New values for which the pivots of the first ones are weak: L U still is the matrix."""
        for seed, dtype, digits in ((721, np.float64, 9), (787, np.float64, 9), (82, np.float32, 4)):
            rng = np.random.default_rng(seed)
            n = int(rng.choice([20, 40]))
            places = (rng.random((n, n)) < 0.15) | np.eye(n, dtype=bool)
            A = sparse.csc_matrix(np.where(places, rng.standard_normal((n, n)), 0) + 5 * n * np.eye(n), dtype=dtype)
            lu, B = tristar.splu(A), A.copy()
            B.data = (rng.standard_normal(A.nnz) * 10 ** rng.uniform(-digits, 0, A.nnz)).astype(dtype)
            lu.refactor(B)
            PAQ = np.empty((n, n))
            PAQ[np.ix_(lu.perm_r, lu.perm_c)] = B.toarray()
            size = (abs(lu.L) @ abs(lu.U)).max()
            product = (lu.L.astype(np.float64) @ lu.U.astype(np.float64)).toarray()
            self.assertLess(abs(PAQ - product).max(), (1e-14 if dtype == np.float64 else 2e-5) * size)

    def test_single_factors(self):
        """L and U have the errors of single precision."""
        A = unsymmetric(60)
        for matrix in (A, sparse.csc_matrix(A + A.T), laplacian(9) - 2.9 * sparse.eye(81, format="csc")):
            lu = tristar.splu(matrix, single_factors=1)
            PAQ = np.empty(matrix.shape)
            PAQ[np.ix_(lu.perm_r, lu.perm_c)] = matrix.toarray()
            self.assertLess(abs(PAQ - (lu.L @ lu.U).toarray()).max(), 1e-5)

    def test_better_pair(self):
        """If the first L and U have lost digits, a second factorization replaces them only if its error is smaller."""
        A = unsymmetric(20)
        for errors, expected in (((1e-12, 1e-15), 1e-15), ((1e-12, 1e-11), 1e-12), ((1e-12, np.inf), 1e-12), ((1, 1e-11), 1e-11)):
            with mock.patch("tristar.explicit.error_of", side_effect=errors):
                self.assertEqual(tristar.splu(A).factors.error, expected)
        for error, bad in ((1e-12, False), (1e-10, True)):
            with mock.patch("tristar.explicit.error_of", return_value=error):
                with mock.patch("tristar.explicit.require_pivots", side_effect=(None, tristar.Error("perturbed"))):
                    lu = tristar.splu(A)
                    if bad:
                        with self.assertRaisesRegex(tristar.Error, "too weak"):
                            lu.factors
                    else:
                        self.assertEqual(lu.factors.error, error)

    def test_natural(self):
        lu = self.check(unsymmetric(200), permc_spec="NATURAL")
        np.testing.assert_array_equal(lu.perm_c, np.arange(200))
        A = [[2, 0, -1, 4, 0], [0, 2, 0, 1, 0], [0, 0, -3, 0, -3], [-3, -5, 0, 3, 0], [-1, 0, 0, 0, -2]]
        lu = self.check(sparse.csc_matrix(A, dtype=float), permc_spec="NATURAL")  # merged supernodes exchange rows
        np.testing.assert_array_equal(lu.perm_c, np.arange(5))
        A = [[0, 0, 0, 0, 0, -2, 4, 0, 5, -4], [0, 4, 0, 0, 5, -1, -3, 0, 2, 0], [-3, 2, -5, 0, 0, 0, 0, 0, 5, 0],
             [0, -3, -5, 0, 0, -5, -5, 0, 1, 0], [-3, 2, -2, 4, -5, 0, -4, 5, 3, 2], [4, 0, -3, 5, 0, 3, 5, 0, 0, 0],
             [2, 4, 0, 0, 5, 0, 0, -2, 0, 0], [0, 3, 0, 5, 0, -5, 0, 5, 0, 0], [0, 0, -4, 0, 0, 0, 0, 4, 0, 0],
             [-2, 0, 3, 0, 0, -1, -1, 0, 0, 0]]
        self.check(sparse.csc_matrix(A, dtype=float), permc_spec="NATURAL")  # its pivots may need another order: L and U are triangles

    def test_counts(self):
        lu = tristar.splu(laplacian(15))
        self.assertEqual(lu.nnz, lu.L.nnz + lu.U.nnz)

    def test_options(self):
        for options in ({"ordering": "metis"}, {"method": "lu"}, {"engine": "serial"}, {"permc_spec": "COLAMD"},
                        {"diag_pivot_thresh": 0.5, "options": {"Equil": False}}):
            self.check(laplacian(10), **options)
        for options in ({"ordering": "no such"}, {"permc_spec": "no such"}, {"options": {"no such": 1}}):
            with self.assertRaises(ValueError):
                tristar.splu(laplacian(3), **options)
        with self.assertRaises(TypeError):
            tristar.splu(laplacian(3), no_such_option=1)

    def test_permutation_of_the_caller(self):
        lu = self.check(laplacian(5), ordering="user", permutation=np.arange(25)[::-1])
        self.assertEqual(lu.analysis_statistics().ordering, "user")
        with self.assertRaises(ValueError):
            tristar.splu(laplacian(5), ordering="user", permutation=[0])
        with self.assertRaisesRegex(TypeError, "integers"):
            tristar.splu(laplacian(2), ordering="user", permutation=[2.5, 0, 1, 3])


class NewValues(unittest.TestCase):
    """refactor"""

    def test_matrix_and_array(self):
        A, b = unsymmetric(40), vectors(40)
        lu = tristar.splu(A)
        lu.L
        for B in (2 * A, sparse.csc_matrix(A + 0.1 * sparse.eye(40))):
            lu.refactor(B)
            assert_solves(B, lu.solve(b), b)
            self.assertLess(abs(lu.L @ lu.U).max(), 100)
        lu.refactor(3 * A.data)
        assert_solves(3 * A, lu.solve(b), b)

    def test_array_with_unused_elements(self):
        """Arrays of a matrix may be longer than its last pointer; so may those of new values."""
        for A, make in ((unsymmetric(40), tristar.splu), (laplacian(6), tristar.cholesky)):
            longer = A.copy()
            longer.data, longer.indices = np.append(A.data, [7, 7]), np.append(A.indices, [0, 0]).astype(A.indices.dtype)
            self.assertEqual(longer.data.size, A.data.size + 2)  # constructors of SciPy would cut them
            b = vectors(A.shape[0])
            for factor in (make(longer), pickle.loads(pickle.dumps(make(longer)))):
                for values in (2 * longer.data, 2 * A.data):
                    factor.refactor(values)
                    assert_solves(2 * A, factor.solve(b), b)
                with self.assertRaises(ValueError):
                    factor.refactor(longer.data[:-1])
            batch = tristar.Batch(longer)
            for values in (np.array([2 * longer.data]), [2 * longer.data]):
                assert_solves(2 * A, batch.factor_solve(values, b)[0], b)

    def test_array_of_unsorted_values(self):
        """An array has the order of the caller's matrix, which may be unsorted or have duplicates; so it has in copies."""
        A, b = unsymmetric(40), vectors(40)
        unsorted = sparse.csc_matrix(A.tocsr()[::-1].tocsc()[::-1])
        self.assertFalse(unsorted.has_sorted_indices)
        twice = sparse.hstack([unsorted] * 2, format="csc")  # columns j and 40 + j become column j
        order = np.argsort(np.repeat(np.arange(80) % 40, np.diff(twice.indptr)), kind="stable")
        twice = sparse.csc_matrix((twice.data[order] / 2, twice.indices[order], 2 * unsorted.indptr), (40, 40))
        for first in (unsorted, unsorted.T, twice, twice.T):
            dense = first.toarray()
            for factor in (tristar.splu(first), pickle.loads(pickle.dumps(tristar.splu(first))), tristar.schur(first, [39])):
                factor.refactor(2 * first.data)
                if not hasattr(factor, "complement"):
                    assert_solves(2 * dense, factor.solve(b), b)
                    continue
                eliminated = dense[39, :39] @ np.linalg.solve(dense[:39, :39], dense[:39, 39])
                np.testing.assert_allclose(factor.complement, 2 * (dense[39, 39] - eliminated), rtol=1e-10)

    def test_array_for_a_converted_matrix(self):
        """The values of the converted matrix are in another order than those of the caller."""
        A, b = unsymmetric(40), vectors(40)
        for first in (A.tocsr().tocoo(), sparse.bsr_matrix(A.toarray(), blocksize=(4, 4)), A.toarray()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                lu = tristar.splu(first)
                part = tristar.schur(first, [39])
            for factor in (lu, pickle.loads(pickle.dumps(lu)), part):
                with self.assertRaisesRegex(ValueError, "pass a matrix"):
                    factor.refactor(np.ones(factor._arrays.values.shape))
            for factor in (lu, pickle.loads(pickle.dumps(lu))):
                assert_solves(A, factor.solve(b), b)
                for second in (2 * A, 2 * A.toarray()):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        factor.refactor(second)
                    assert_solves(2 * A, factor.solve(b), b)

    def test_missing_entries_are_zeros(self):
        """SciPy drops entries that cancel in a sum; the pattern may be unsorted, with duplicates, or of another format."""
        A, b = unsymmetric(40), vectors(40)
        B = A.copy()
        B.data[::3] = 0
        B.setdiag(5)
        B.eliminate_zeros()
        columns = [np.tile(A.indices[A.indptr[j]:A.indptr[j + 1]][::-1], 2) for j in range(40)]
        values = [np.tile(A.data[A.indptr[j]:A.indptr[j + 1]][::-1], 2) for j in range(40)]
        unsorted = sparse.csc_matrix((np.concatenate(values), np.concatenate(columns), 2 * A.indptr), A.shape)
        for first in (A, A.tocsr(), unsorted):
            lu = tristar.splu(first)
            for second in (B, B.tocsr(), A.tocoo(), first):
                lu.refactor(second)
                assert_solves(second.tocsc(), lu.solve(b), b)

    def test_another_pattern(self):
        lu = tristar.splu(unsymmetric(40))
        for A in (unsymmetric(40, seed=7), unsymmetric(41), np.ones(3)):
            with self.assertRaises(ValueError):
                lu.refactor(A)
        with self.assertRaises(TypeError):
            lu.refactor(unsymmetric(40, np.complex128))

    def test_another_method(self):
        """From positive definite over indefinite to unsymmetric values."""
        A, b = laplacian(8), vectors(64)
        lu = tristar.splu(A)
        self.assertEqual(lu.analysis_statistics().method, "llt")
        indefinite = A - 3 * sparse.eye(64, format="csc")
        twisted = A.copy()
        twisted.data[1] *= 2
        for B in (indefinite, twisted, A):
            lu.refactor(B)
            assert_solves(B, lu.solve(b), b)

    def test_values_that_need_refinement(self):
        """All kinds of right-hand sides are refined if the new values need it: sparse ones, and large ones in any order."""
        first = sparse.csc_matrix(sparse.random(60, 60, 0.15, random_state=28) + 10 * sparse.eye(60))
        second, rng = first.copy(), np.random.default_rng(14)
        second.data = rng.standard_normal(first.nnz) * 10 ** rng.uniform(-8, 0, first.nnz)
        B = rng.standard_normal((60, 300))
        for options in ({}, {"storage": "single"}):
            lu = tristar.splu(first, **options)
            self.assertEqual(lu.plan_statistics().refines, 0)
            lu.refactor(second)
            self.assertEqual(lu.plan_statistics().refines, 1)
            for trans, op in OPS.items():
                for X in (lu.solve(B, trans), lu.solve(sparse.csc_matrix(B[:, :3]), trans).toarray()):
                    self.assertLess(lu.backward_error(X, B[:, :X.shape[1]], trans), 1e-13)
                    self.assertLess(abs(op(second) @ X - B[:, :X.shape[1]]).max(), 1e-12 * abs(X).max())
            lu.refactor(first)
            self.assertEqual(lu.plan_statistics().refines, 0)
            self.assertLess(lu.backward_error(lu.solve(sparse.csc_matrix(B)).toarray(), B), 1e-5)

    def test_released_factor(self):
        """With release_factor the first solve after new values releases the entries; until then all functions can read them."""
        A, b, file = unsymmetric(40), vectors(40), io.BytesIO()
        lu, expected = tristar.splu(A, storage="single", release_factor=True), np.linalg.slogdet(2 * A.toarray())
        lu.solve(b)
        lu.refactor(2 * A)
        self.assertEqual(lu.plan_statistics().factor_released, 0)
        np.testing.assert_allclose(lu.slogdet(), expected, rtol=1e-12)
        lu.save(file)
        file.seek(0)
        assert_solves(2 * A, tristar.load(file).solve(b), b, 1e10)
        assert_solves(2 * A, lu.solve(b), b, 1e10)
        self.assertEqual(lu.plan_statistics().factor_released, 1)
        with self.assertRaises(tristar.StaleError):
            lu.slogdet()

    def test_failure(self):
        A, b = unsymmetric(40), vectors(40)
        lu = tristar.splu(A)
        with self.assertRaises(tristar.NotFiniteError):
            lu.refactor(A.data * np.nan)
        with self.assertRaises(tristar.StaleError):
            lu.solve(b)
        lu.refactor(A)
        assert_solves(A, lu.solve(b), b)

    def test_failure_of_all(self):
        # statistics and the analysis stay: they describe no values
        spd, b = laplacian(6), vectors(36)
        x, rows = np.zeros(36), np.zeros(3)
        common = {"backward_error": (x, x), "solve_refined": (x,), "condition": (), "inverse_diagonal": (), "slogdet": (),
                  "inverse_entries": ([0], [0]), "inverse_pattern": ()}
        whole = {"solve": (x,), "null_space": (), "explain": (), "save": (io.BytesIO(),)}
        for factor, calls in ((tristar.splu(spd), whole), (tristar.cholesky(spd), {**whole, "inertia": (), "solve_L": (x,), "D": ()}),
                              (tristar.schur(spd, [3, 7, 20]), {"condense": (x,), "expand": (x, rows)})):
            with self.assertRaises(tristar.NotFiniteError):
                factor.refactor(spd.data * np.nan)
            for name, arguments in {**common, **calls}.items():
                with self.subTest(f"{type(factor).__name__}.{name}"), self.assertRaises(tristar.StaleError):
                    getattr(factor, name)(*arguments)
            if isinstance(factor, tristar.SchurFactor):
                with self.assertRaises(tristar.StaleError):
                    factor.complement  # pylint: disable=pointless-statement
            factor.refactor(spd)
            self.assertLess(factor.backward_error(np.linalg.solve(spd.toarray(), b), b), 1e-14)


class Services(unittest.TestCase):
    """Accuracy, figures, operators."""

    def test_refined(self):
        A, b = unsymmetric(60), vectors((60, 3))
        lu = tristar.splu(A)
        x, report = lu.solve_refined(b, forward_error=True)
        assert_solves(A, x, b)
        self.assertLess(report.backward_error, 1e-14)
        self.assertLess(0, report.forward_error)
        self.assertLess(report["forward_error"], 1e-8)
        self.assertIn("<table>", report._repr_html_())
        self.assertLess(lu.backward_error(x, b), 1e-14)

    def test_condition(self):
        self.assertAlmostEqual(tristar.splu(sparse.identity(9, format="csc")).condition(), 1)

    def test_determinants_and_inertia(self):
        for dtype in DTYPES:
            tolerance = 1e3 * np.finfo(dtype).eps
            for A in (laplacian(7, dtype), unsymmetric(49, dtype)):
                sign, logarithm = tristar.splu(A).slogdet()
                expected_sign, expected = np.linalg.slogdet(A.toarray())
                self.assertLess(abs(sign - expected_sign), tolerance)
                self.assertLess(abs(logarithm - expected), tolerance * abs(expected))
        A = laplacian(7) - 2.9 * sparse.identity(49, format="csc")
        eigenvalues = np.linalg.eigvalsh(A.toarray())
        self.assertEqual(tristar.splu(A).inertia(), ((eigenvalues > 0).sum(), (eigenvalues < 0).sum(), 0))
        with self.assertRaises(tristar.UnsupportedError):
            tristar.splu(unsymmetric(20)).inertia()

    def test_null_space(self):
        path = sparse.diags([[-1.0] * 8, [1] + [2.0] * 7 + [1], [-1.0] * 8], [-1, 0, 1])
        lu = tristar.splu(sparse.csc_matrix(sparse.block_diag([path, path])), singular="perturb")
        for trans in OPS:
            basis = lu.null_space(trans)
            self.assertEqual(basis.shape, (18, 2))
            np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
            np.testing.assert_allclose(np.ptp(basis[:9], axis=0) + np.ptp(basis[9:], axis=0), 0, atol=1e-12)
        self.assertEqual(lu.inertia(), (16, 0, 2))
        self.assertEqual(tristar.splu(laplacian(5)).null_space().shape, (25, 0))
        with self.assertRaises(ValueError):
            lu.null_space(most=1)
        for wrong in ({"trans": "X"}, {"most": -1}):
            with self.assertRaisesRegex(ValueError, "must"):
                lu.null_space(**wrong)

    def test_reports(self):
        lu = tristar.splu(laplacian(10))
        self.assertEqual(lu.analysis_statistics().n, 100)
        self.assertEqual(lu.analysis_statistics()["method"], "llt")
        self.assertGreater(lu.statistics().factor_bytes, 0)
        self.assertGreater(lu.plan_statistics().chunks, 0)
        self.assertTrue(lu.explain().reason)
        self.assertIn("100 rows", repr(lu))
        self.assertIn("nnz_factor", lu._repr_html_())
        with self.assertRaises(AttributeError):
            lu.statistics().no_such_figure
        self.assertGreater(tristar.default_context().memory().current_bytes, 0)

    def test_consistent_star(self):
        """Neumann problems of graphs with a node that all others join. The last pivot of Cholesky is a rounding error."""
        n = 800
        for seed in (801, 805, 807):
            r = np.random.default_rng(seed - 800 + 1000 * n)
            weight = 2.0 ** r.integers(-8, 9, n - 1)
            leaf, centre = np.arange(1, n), np.zeros(n - 1, int)
            off = sparse.coo_matrix((-weight, (leaf, centre)), (n, n))
            A = sparse.csc_matrix(off + off.T + sparse.diags(np.append(weight.sum(), weight)))
            order = r.permutation(n)
            A = A[order][:, order].tocsc()
            b = A @ r.uniform(-1, 1, n)
            x = tristar.splu(A, singular="perturb").solve(b)
            self.assertLess(abs(A @ x - b).max(), 1e-10 * abs(b).max())

    def test_perturbed(self):
        """A singular matrix with singular="perturb": consistent systems are solved, and L and U raise an error."""
        B = sparse.csc_matrix(np.outer([1, -1, 0], [1, -1, 0]) + np.outer([0, 1, -1], [0, 1, -1]), dtype=float)
        with self.assertRaises(tristar.SingularError):
            tristar.splu(B)
        lu = tristar.splu(B, singular="perturb", method="lu")
        with self.assertRaises(tristar.Error):
            lu.L
        b = B @ np.array([1.0, 2.0, 4.0])
        np.testing.assert_allclose(B @ lu.solve(b), b, atol=1e-10)
        np.testing.assert_allclose(B @ lu.solve(np.stack([b, 2 * b], 1)), np.stack([b, 2 * b], 1), atol=1e-10)

    def test_operator(self):
        A = laplacian(12)
        sigma = 0.5
        operator = tristar.splu(A - sigma * sparse.identity(144, format="csc")).as_operator()
        found = eigsh(A, k=3, sigma=sigma, OPinv=operator, return_eigenvectors=False)
        every = np.linalg.eigvalsh(A.toarray())
        np.testing.assert_allclose(np.sort(found), np.sort(every[np.argsort(abs(every - sigma))[:3]]))
        X = vectors((144, 3))
        np.testing.assert_allclose(operator.rmatmat(X), operator.matmat(X), atol=1e-12)

    def test_context(self):
        context = tristar.Context(use_starpu=False, log=lambda level, text: lines.append((level, text)), log_level="info")
        lines = []
        A, b = unsymmetric(30), vectors(30)
        assert_solves(A, tristar.splu(A, context=context).solve(b), b)
        self.assertTrue(any(level == "info" for level, _ in lines))
        with self.assertRaises(ValueError):
            tristar.Context(log_level="no such")


class Spsolve(unittest.TestCase):
    """spsolve and factorized beyond SciPy's own tests."""

    def test_types(self):
        A, b = unsymmetric(30), vectors(30)
        self.assertEqual(tristar.spsolve(A, b.astype(np.complex64)).dtype, np.complex128)
        self.assertEqual(tristar.spsolve(A.astype(np.float32), b.astype(np.float32)).dtype, np.float32)
        self.assertEqual(tristar.spsolve(A, b[:, None]).shape, (30,))
        self.assertEqual(tristar.spsolve(A, vectors((30, 2))).shape, (30, 2))
        self.assertEqual(tristar.spsolve(A.tocsr(), sparse.eye(30, format="csc")).format, "csr")

    def test_factorized(self):
        A, b = unsymmetric(30), vectors(30)
        assert_solves(A, tristar.factorized(A)(b), b)


if __name__ == "__main__":
    unittest.main()
