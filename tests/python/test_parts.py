"""Files of factors, Schur complements, entries of the inverse, forecasts, limits of memory, progress."""
import io
import os
import pickle
import subprocess
import tempfile
import unittest
import warnings

import numpy as np
from scipy import sparse
from scipy.io import mmwrite

import tristar
from systems import DTYPES, assert_solves, laplacian, unsymmetric, vectors

OPS = {"N": lambda A: A, "T": lambda A: A.T, "H": lambda A: A.conj().T}


def digits(dtype):
    """A tolerance for well-conditioned systems."""
    return 1e-4 if np.finfo(dtype).eps > 1e-10 else 1e-11


class Forecasts(unittest.TestCase):
    """forecast, Context.limit_memory, Context.follow."""

    def setUp(self):
        self.context = tristar.Context(use_starpu=False)

    def test_bytes(self):
        for dtype in DTYPES:
            A = laplacian(40, dtype)
            expected = tristar.forecast(A, nrhs=3, context=self.context)
            self.assertEqual(expected.workers, 1)
            self.assertGreater(expected.solve_seconds, 0)
            before = self.context.memory().current_bytes
            lu = tristar.splu(A, context=self.context)
            self.assertLessEqual(lu.statistics().peak_bytes, expected.factor_peak_bytes)
            self.assertLess(0.8 * expected.factor_bytes, self.context.memory().current_bytes - before)
            del lu

    def test_options(self):
        A = unsymmetric(100)
        n = A.shape[0]
        narrow = tristar.forecast(sparse.eye(n, format="csc"), ordering="natural", refine="never")
        wide = tristar.forecast(A, ordering="user", permutation=np.arange(n))
        self.assertLess(narrow.factor_bytes, wide.factor_bytes)
        for wrong in ({"permutation": [1, 2]}, {"ordering": "best"}):
            with self.assertRaises(ValueError):
                tristar.forecast(A, **wrong)
        with self.assertRaises(TypeError):
            tristar.forecast(A, nothing=1)
        with self.assertRaises(ValueError):
            tristar.forecast(A[:, :50])

    def test_limit(self):
        A, b = laplacian(40), vectors(1600)
        self.context.limit_memory(100000)
        with self.assertRaises(tristar.OutOfMemoryError):
            tristar.splu(A, context=self.context)
        self.context.limit_memory(0)
        assert_solves(A, tristar.splu(A, context=self.context).solve(b), b)

    def test_follow(self):
        A, seen = laplacian(40), []
        self.context.follow(lambda phase, share: seen.append((phase, share)))
        tristar.splu(A, context=self.context).solve(vectors(1600))
        self.assertEqual({phase for phase, _ in seen}, {"analysis", "factor", "plan", "solve"})
        self.assertTrue(all(0 <= share <= 1 for _, share in seen))
        self.context.follow(lambda phase, share: phase == "factor")
        with self.assertRaises(tristar.CancelledError):
            tristar.splu(A, context=self.context)
        self.context.follow(None)
        count = len(seen)
        tristar.splu(A, context=self.context)
        self.assertEqual(len(seen), count)


class Files(unittest.TestCase):
    """save and load."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "A.tristar")

    def test_same_bits_from_path_and_object(self):
        for dtype in DTYPES:
            for A in (laplacian(12, dtype), unsymmetric(144, dtype), unsymmetric(144, dtype).tocsr()):
                lu, b = tristar.splu(A), vectors((144, 3), dtype)
                lu.save(self.path)
                file = io.BytesIO()
                lu.save(file)
                with open(self.path, "rb") as saved:
                    self.assertEqual(saved.read(), file.getvalue())
                file.seek(0)
                for other in (tristar.load(self.path), tristar.load(file)):
                    self.assertEqual((other.shape, other.dtype), (A.shape, A.dtype))
                    for trans in OPS:
                        np.testing.assert_array_equal(other.solve(b, trans), lu.solve(b, trans))

    def test_new_values_and_copies(self):
        A, b = unsymmetric(60), vectors(60)
        tristar.splu(A).save(self.path)
        lu = tristar.load(self.path)
        lu.refactor(3 * A)
        assert_solves(3 * A, lu.solve(b), b)
        assert_solves(3 * A, pickle.loads(pickle.dumps(lu)).solve(b), b)
        with self.assertRaises(ValueError):
            lu.refactor(sparse.csc_matrix(np.ones((60, 60))))

    def test_matrices_with_duplicates_and_unsorted_lines(self):
        """A loaded factor takes new values in the order of the arrays that were analyzed."""
        A, b = unsymmetric(30), vectors(30)
        for kind in (sparse.csc_matrix, sparse.csr_matrix):
            ordered = kind(A)
            for halves in (1, 2):
                lines = [slice(ordered.indptr[j], ordered.indptr[j + 1]) for j in range(30)]
                index = np.concatenate([np.tile(ordered.indices[line][::-1], halves) for line in lines])
                values = np.concatenate([np.tile(ordered.data[line][::-1] / halves, halves) for line in lines])
                loose = kind((values, index, halves * ordered.indptr), (30, 30))
                tristar.splu(loose, method="lu").save(self.path)
                lu = tristar.load(self.path)
                lu.refactor(3 * ordered)
                assert_solves(3 * A, lu.solve(b), b)
                inverse = np.linalg.inv(3 * A.toarray())
                for trans in OPS:
                    pattern = lu.inverse_pattern(trans).tocoo()
                    self.assertEqual(pattern.nnz, A.nnz)
                    np.testing.assert_allclose(pattern.data, OPS[trans](inverse)[pattern.row, pattern.col], rtol=1e-9, atol=1e-12)
                loose.data *= 2
                lu.refactor(loose)
                assert_solves(2 * A, lu.solve(b), b)

    def test_arrays_for_loaded_factors(self):
        """A file does not have the order of the caller's values, so loaded factors take matrices only, and so do their copies."""
        A, b = unsymmetric(40), vectors(40)
        unsorted = sparse.csc_matrix(A.tocsr()[::-1].tocsc()[::-1])
        self.assertFalse(unsorted.has_sorted_indices)
        for first in (A, A.tocsr(), unsorted, A.tocsr().tocoo(), A.tobsr((4, 4)), A.toarray()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tristar.splu(first).save(self.path)
            lu = tristar.load(self.path)
            for factor in (lu, pickle.loads(pickle.dumps(lu))):
                with self.assertRaisesRegex(ValueError, "pass a matrix"):
                    factor.refactor(2 * factor._arrays.values)
                assert_solves(A, factor.solve(b), b)
                factor.refactor(2 * first)
                assert_solves(2 * A, factor.solve(b), b)

    def test_cholesky(self):
        A, b = laplacian(10), vectors(100)
        tristar.cholesky(A).save(self.path)
        factor = tristar.CholeskyFactor.load(self.path)
        with self.assertRaisesRegex(ValueError, "pass a matrix"):
            factor.refactor(A.data)
        np.testing.assert_allclose(factor.logdet(), np.linalg.slogdet(A.toarray())[1])
        assert_solves(A, factor(b), b)
        factor.cholesky_inplace(A, beta=2)
        assert_solves(A + 2 * sparse.eye(100), factor(b), b)
        tristar.splu(unsymmetric(20)).save(self.path)
        with self.assertRaisesRegex(ValueError, "method lu"):
            tristar.CholeskyFactor.load(self.path)

    def test_files_of_the_program_with_one_triangle(self):
        program = os.environ["TRISTAR_PROGRAM"]
        rng = np.random.default_rng(3)
        half = sparse.tril(sparse.random(40, 40, 0.1, random_state=5), -1)
        imaginary = half.copy()
        imaginary.data = rng.random(half.nnz)
        complex_half = half + 1j * imaginary
        diagonal = 5 * sparse.eye(40)
        for kind, A in (("symmetric", half + half.T + diagonal), ("symmetric", complex_half + complex_half.T + diagonal),
                        ("hermitian", complex_half + complex_half.conj().T + diagonal)):
            A = sparse.csc_matrix(A)
            matrix = os.path.join(self.folder.name, "A.mtx")
            mmwrite(matrix, A, symmetry=kind)
            subprocess.run([program, "solve", matrix, "--save", self.path], check=True, stdout=subprocess.DEVNULL)
            lu, b = tristar.load(self.path), vectors(40, A.dtype)
            assert_solves(A, lu.solve(b), b)
            inverse = np.linalg.inv(A.toarray())
            for trans in OPS:
                pattern = lu.inverse_pattern(trans)
                np.testing.assert_array_equal(pattern.tocsc().indices, A.sorted_indices().indices)
                rows, columns = pattern.nonzero()
                np.testing.assert_allclose(pattern.toarray()[rows, columns], OPS[trans](inverse)[rows, columns], rtol=1e-9, atol=1e-12)
            lu.refactor(A + sparse.eye(40))
            assert_solves(A + sparse.eye(40), lu.solve(b), b)
            assert_solves(A + sparse.eye(40), pickle.loads(pickle.dumps(lu)).solve(b), b)

    def test_errors(self):
        lu = tristar.splu(laplacian(8))
        with self.assertRaisesRegex(OSError, "nowhere"):
            lu.save(os.path.join(self.folder.name, "nowhere", "A.tristar"))
        with self.assertRaises(OSError):
            tristar.load(self.path)
        lu.save(self.path)
        with open(self.path, "r+b") as file:
            file.truncate(1000)
        with self.assertRaises(tristar.FormatError):
            tristar.load(self.path)
        with self.assertRaises(tristar.FormatError):
            tristar.load(io.BytesIO(b"no file of TriStar" * 100))

        class Full(io.RawIOBase):
            """A file whose writes fail."""

            def write(self, data):
                raise OSError("the disk is full")

        with self.assertRaisesRegex(OSError, "the disk is full"):
            lu.save(Full())

        class Unbuffered(io.RawIOBase):
            """A file that takes at most `most` bytes of a write, as a pipe may."""

            def __init__(self, most):
                super().__init__()
                self.most, self.data = most, b""

            def write(self, data):
                self.data += data[:self.most]
                return min(self.most, len(data))

        file, whole = Unbuffered(100), io.BytesIO()
        lu.save(file)
        lu.save(whole)
        self.assertEqual(file.data, whole.getvalue())
        with self.assertRaisesRegex(OSError, "takes no bytes"):
            lu.save(Unbuffered(0))

        class Blocked(io.RawIOBase):
            """A file that does not block, and can take nothing now."""

            def write(self, data):
                return None

        with self.assertRaisesRegex(OSError, "takes no bytes"):
            lu.save(Blocked())

        class Plain:
            """An object with a method write that returns nothing."""
            data = b""

            def write(self, data):
                self.data += data

        plain = Plain()
        lu.save(plain)
        self.assertEqual(plain.data, whole.getvalue())
        for size in (0, 5, 2000):
            with self.assertRaisesRegex(tristar.FormatError, "ends early"):
                tristar.load(io.BytesIO(whole.getvalue()[:size]))
        with self.assertRaisesRegex(TypeError, "NoneType"):
            lu.save(None)


class Schur(unittest.TestCase):
    """schur and SchurFactor."""

    def test_against_dense(self):
        rng = np.random.default_rng(7)
        for dtype in DTYPES:
            for A in (laplacian(9, dtype), unsymmetric(81, dtype)):
                s = rng.permutation(81)[:11]
                others = np.setdiff1d(np.arange(81), s)
                dense = A.toarray().astype(complex)
                expected = dense[np.ix_(s, s)] - dense[np.ix_(s, others)] @ np.linalg.solve(dense[np.ix_(others, others)],
                                                                                           dense[np.ix_(others, s)])
                factor = tristar.schur(A, s)
                np.testing.assert_array_equal(factor.unknowns, s)
                np.testing.assert_allclose(factor.complement, expected, atol=digits(dtype) * abs(expected).max())
                for trans, op in OPS.items():
                    for shape in (81, (81, 4)):
                        b = vectors(shape, dtype)
                        g, y = factor.condense(b, trans)
                        x = factor.expand(y, np.linalg.solve(op(factor.complement), g), trans)
                        assert_solves(op(A), x, b)

    def test_new_values_copies_singular(self):
        A, b = laplacian(6), vectors(36)
        neumann = sparse.csc_matrix(A - sparse.diags(np.asarray(A.sum(axis=1)).reshape(-1)))  # singular: rows add up to 0
        factor = tristar.schur(neumann, [3, 20])
        self.assertLess(abs(factor.complement.sum()), 1e-12)
        factor.refactor(neumann + sparse.eye(36))
        for one in (factor, pickle.loads(pickle.dumps(factor))):
            g, y = one.condense(b)
            assert_solves(neumann + sparse.eye(36), one.expand(y, np.linalg.solve(one.complement, g)), b)

    def test_errors(self):
        A = laplacian(6)
        for rows in ([], [[1]], [1.5]):
            with self.assertRaises(ValueError):
                tristar.schur(A, rows)
        for rows in ([36], [1, 1], [-1]):
            with self.assertRaises(tristar.ArgumentError):
                tristar.schur(A, rows)
        factor = tristar.schur(A, [0, 1])
        with self.assertRaises(tristar.UnsupportedError):
            factor.solve(np.ones(36))
        with self.assertRaises(ValueError):
            factor.condense(np.ones(35))
        with self.assertRaises(ValueError):
            factor.expand(np.ones(36), np.ones((2, 2)))
        with self.assertRaises(ValueError):
            factor.condense(np.ones(36), "Q")


class Inverse(unittest.TestCase):
    """inverse_diagonal, inverse_entries, inverse_pattern."""

    def test_against_dense(self):
        for dtype in DTYPES:
            for A in (laplacian(9, dtype), unsymmetric(81, dtype), unsymmetric(81, dtype).tocsr()):
                lu, inverse = tristar.splu(A), np.linalg.inv(A.toarray().astype(complex))
                bound = digits(dtype) * abs(inverse).max()
                np.testing.assert_allclose(lu.inverse_diagonal(), np.diag(inverse), atol=bound)
                rows, columns = np.array([0, 5, 5, 80]), np.array([[3], [0], [80]])
                entries = lu.inverse_entries(rows, columns)
                self.assertEqual((entries.shape, entries.dtype), ((3, 4), A.dtype))
                np.testing.assert_allclose(entries, inverse[rows, columns], atol=bound)
                for trans, op in OPS.items():
                    pattern = lu.inverse_pattern(trans)
                    self.assertEqual(pattern.format, A.format)
                    np.testing.assert_array_equal(pattern.indices, A.indices)
                    places = A.tocoo()
                    np.testing.assert_allclose(pattern.data, op(inverse)[places.row, places.col], atol=bound)

    def test_derivative_of_log_det(self):
        A, B = laplacian(8), laplacian(8) @ sparse.diags(np.arange(64.0)) + sparse.diags(np.arange(64.0)) @ laplacian(8)
        factor = tristar.cholesky(A)
        exact = np.trace(np.linalg.solve(A.toarray(), B.toarray()))
        np.testing.assert_allclose(factor.inverse_pattern("T").multiply(B).sum(), exact, rtol=1e-10)

    def test_entries_that_a_matrix_has_twice(self):
        A = sparse.csc_matrix((np.array([1.0, 1.0, 4.0, 1.0]), np.array([1, 0, 0, 1]), np.array([0, 3, 4])), (2, 2))
        np.testing.assert_allclose(tristar.splu(A).inverse_pattern().toarray(), [[0.2, 0], [-0.2, 1]])

    def test_errors(self):
        lu = tristar.splu(laplacian(4))
        for entry in ((16, 0), (0, -1)):
            with self.assertRaises(tristar.ArgumentError):
                lu.inverse_entries(*entry)
        with self.assertRaises(TypeError):
            lu.inverse_entries(0.5, 1)
        with self.assertRaisesRegex(ValueError, "18446744073709551613"):
            lu.inverse_entries(np.uint64(2**64 - 3), 0)
        for none in ([], np.zeros(0, int)):
            self.assertEqual(lu.inverse_entries(none, none).shape, (0,))
        self.assertEqual(lu.inverse_entries(1, 0).shape, ())
        with self.assertRaises(ValueError):
            lu.inverse_pattern("Q")


unittest.main()
