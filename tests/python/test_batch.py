"""Systems of one pattern in Python: Batch."""
import os
import unittest

import numpy as np
import scipy.sparse as sp

import tristar

RNG = np.random.default_rng(3)


def random_systems(dtype="d", n=60, count=21, form="csc"):
    """A pattern with typical values, and values of `count` systems."""
    A = (sp.random(n, n, 0.08, "csc", "d", 7) + 4 * sp.eye(n)).asformat(form).astype(dtype)
    values = A.data * (1 + 0.2 * RNG.random((count, A.nnz)))
    if A.dtype.kind == "c":
        values = values * np.exp(0.3j * RNG.random(values.shape))
    return A, values.astype(dtype)


def matrix(A, values):
    """The pattern with other values."""
    return type(A)((values, A.indices, A.indptr), A.shape)


class Systems(unittest.TestCase):
    def test_types(self):
        for dtype in "fdFD":
            for form in ("csc", "csr"):
                A, values = random_systems(dtype, form=form)
                near = 1e-4 if dtype in "fF" else 1e-11
                batch = tristar.Batch(A)
                b = RNG.random((21, 60)).astype(dtype)
                for trans, op in (("N", lambda M: M), ("T", lambda M: M.T), ("H", lambda M: M.conj().T)):
                    x = batch.factor_solve(values, b, trans)
                    for k in range(21):
                        self.assertLess(abs(op(matrix(A, values[k])) @ x[k] - b[k]).max(), near)
                self.assertLess(batch.errors.max(), near)
                self.assertEqual(set(batch.statuses), {"ok"})
                batch.factor([matrix(A, row) for row in values])
                self.assertTrue(np.array_equal(batch.solve(b, "H"), x))

    def test_shapes(self):
        A, values = random_systems()
        batch = tristar.Batch(A, tolerance=1e-13)
        one = batch.factor_solve(values, np.ones(60))
        self.assertEqual(one.shape, (21, 60))
        self.assertTrue(np.array_equal(one, batch.factor_solve(values, np.ones((21, 60)))))
        many = batch.factor_solve(values, np.ones((21, 60, 3)))
        self.assertEqual(many.shape, (21, 60, 3))
        self.assertTrue(np.array_equal(many[:, :, 2], one))
        self.assertEqual(batch.factor_solve(values[:0], np.ones(60)).shape, (0, 60))
        report = batch.statistics()
        self.assertEqual((report.n, report.lanes, report.apart), (60, 8, 0))
        self.assertIn("lanes", batch._repr_html_())

    def test_values_of_a_converted_matrix(self):
        """An array has no order that Batch knows then; matrices have."""
        A, values = random_systems(form="csr")
        batch, b = tristar.Batch(A.tocoo()), np.ones(60)
        for arrays in (values, list(values)):
            with self.assertRaisesRegex(ValueError, "pass a matrix"):
                batch.factor_solve(arrays, b)
        x = batch.factor_solve([matrix(A, row) for row in values], b)
        self.assertLess(max(abs(matrix(A, values[k]) @ x[k] - b).max() for k in range(21)), 1e-11)

    def test_failures(self):
        A, values = random_systems()
        batch, b = tristar.Batch(A), np.ones(60)
        values[4] = 0
        with self.assertRaisesRegex(tristar.SingularError, "system 4 of 21, counted from 0"):
            batch.factor_solve(values, b)
        x = batch.factor_solve(values, b, strict=False)
        self.assertTrue(np.isnan(x[4]).all() and not np.isnan(x[5]).any())
        self.assertEqual(batch.statuses[4], "err_singular")
        self.assertEqual(batch.statuses[5], "ok")
        batch.factor(values, strict=False)
        with self.assertRaises(tristar.StaleError):
            batch.solve(b)
        self.assertTrue(np.array_equal(batch.solve(b, strict=False)[5], x[5]))
        with self.assertRaises(ValueError):
            batch.factor(values[:, 1:])
        with self.assertRaises(ValueError):
            batch.factor_solve(values, np.ones((20, 60)))
        with self.assertRaises(TypeError):
            batch.factor_solve(values, np.ones(60, "D"))
        with self.assertRaises(ValueError):
            batch.factor_solve(values, b, "X")
        with self.assertRaises(tristar.StaleError):
            tristar.Batch(A).solve(b)
        with self.assertRaises(tristar.SingularError):
            tristar.Batch(sp.csc_matrix((3, 3)))
        with self.assertRaises(ValueError):
            tristar.Batch(sp.csc_matrix(np.ones((3, 2))))

    def test_failed_call(self):
        """A factorization without memory leaves no systems: a solve would have too few solutions for the previous ones."""
        A, values = random_systems()
        context = tristar.Context()
        batch, b = tristar.Batch(A, context), np.ones(60)
        batch.factor(values)
        self.assertEqual(batch.systems, 21)
        context.limit_memory(1)
        with self.assertRaises(tristar.OutOfMemoryError):
            batch.factor(values[:1])
        context.limit_memory(0)
        self.assertEqual(batch.systems, 0)
        with self.assertRaises(tristar.StaleError):
            batch.solve(b)
        batch.factor(values[:2])
        self.assertLess(abs(matrix(A, values[1]) @ batch.solve(b)[1] - b).max(), 1e-11)

    def test_changed_systems(self):
        """b may be converted while another call factors other systems: these are solved."""
        A, values = random_systems()
        batch, b = tristar.Batch(A), np.arange(60.0)
        batch.factor(values[:3])

        class Slow:
            def __array__(self, *arguments, **options):
                batch.factor(values)
                return b

        self.assertTrue(np.array_equal(batch.solve(Slow()), batch.factor_solve(values, b)))

    def test_fork(self):
        A, values = random_systems()
        batch, b = tristar.Batch(A), np.ones(60)
        x = batch.factor_solve(values, b)
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(batch.factor_solve(values, b), x) else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


unittest.main()
