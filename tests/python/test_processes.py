"""Threads, children of fork(), Ctrl-C, and memory."""
import io
import multiprocessing
import os
import pickle
import resource
import signal
import threading
import time
import unittest
import warnings

import numpy as np
from scipy import sparse

import tristar
from systems import assert_solves, laplacian, unsymmetric, vectors

fork = multiprocessing.get_context("fork")
shared = {}


def solve_shared(k):
    """Runs in a worker: the factor of the parent is computed again, and solves."""
    return shared["lu"].solve(k * shared["b"])


def run_child(function):
    """The exit status of a child that calls a function. A child that hangs is killed."""
    child = fork.Process(target=function)
    child.start()
    child.join(60)
    if child.is_alive():
        child.kill()
        return "hangs"
    return child.exitcode


class Threads(unittest.TestCase):
    """The lock of the interpreter is released; results do not depend on other threads."""

    def test_ten_threads(self):
        A = laplacian(20)
        lu, rows = tristar.splu(A), vectors((10, 400))
        expected = [lu.solve(b) for b in rows]
        failures = []

        def work(k):
            try:
                for _ in range(1000):
                    if not np.array_equal(lu.solve(rows[k]), expected[k]):
                        failures.append(k)
            except Exception as exception:  # pylint: disable=broad-except
                failures.append(exception)

        self.run_threads([threading.Thread(target=work, args=(k,)) for k in range(10)])
        self.assertEqual(failures, [])

    def run_threads(self, threads):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_new_values_between_solves(self):
        """A refactorization waits for solves: each result is the solution with one of the matrices."""
        A, b = unsymmetric(300), vectors(300)
        lu = tristar.splu(A)
        results = [tristar.splu(A).solve(b), tristar.splu(2 * A).solve(b)]
        failures, stop = [], threading.Event()

        def work():
            while not stop.is_set():
                try:
                    x, X = lu.solve(b), lu.solve(np.stack([b, b], 1))
                except Exception as exception:  # pylint: disable=broad-except
                    failures.append(exception)
                    return
                for column in (x, X[:, 0]):
                    if not any(np.allclose(column, result, rtol=1e-9) for result in results):
                        failures.append(column)

        def refactor():
            for k in range(100):
                lu.refactor(A if k % 2 else 2 * A)
            stop.set()

        self.run_threads([threading.Thread(target=work) for _ in range(3)] + [threading.Thread(target=refactor)])
        self.assertEqual(failures, [])

    def test_new_method_between_solves(self):
        """Values that need another method replace the factor; solves that run keep the old one."""
        A, b = laplacian(20), vectors(400)
        lu, failures, stop = tristar.splu(A), [], threading.Event()
        indefinite = A - 2.9 * sparse.eye(400, format="csc")
        results = [tristar.splu(matrix).solve(b) for matrix in (A, indefinite)]

        def work():
            while not stop.is_set():
                try:
                    x = lu.solve(b)
                except Exception as exception:  # pylint: disable=broad-except
                    failures.append(exception)
                    return
                if not any(np.allclose(x, result, rtol=1e-6) for result in results):
                    failures.append(x)

        def refactor():
            for k in range(60):
                lu.refactor(A if k % 2 else indefinite)
            stop.set()

        self.run_threads([threading.Thread(target=work) for _ in range(3)] + [threading.Thread(target=refactor)])
        self.assertEqual(failures, [])

    def test_other_threads_run_during_a_factorization(self):
        A, counts = laplacian(250), [0]
        done = threading.Event()

        def count():
            while not done.is_set():
                counts[0] += 1
                time.sleep(1e-3)

        thread = threading.Thread(target=count)
        thread.start()
        tristar.splu(A)
        done.set()
        thread.join()
        self.assertGreater(counts[0], 3)


class Children(unittest.TestCase):
    """fork() after import, after solves."""

    def test_pool_uses_the_factor_of_the_parent(self):
        A, b = laplacian(30), vectors(900)
        shared.update(lu=tristar.splu(A), b=b)
        expected = shared["lu"].solve(b)
        with fork.Pool(2) as pool:
            results = pool.map_async(solve_shared, range(1, 7)).get(60)
        for k, x in enumerate(results, 1):
            np.testing.assert_allclose(x, k * expected, rtol=1e-9)
        np.testing.assert_array_equal(shared["lu"].solve(b), expected)

    def test_arrays_of_values(self):
        """A child factors the matrix again, and still accepts only arrays whose order is that of the first matrix."""
        A, b, file = sparse.csc_matrix(laplacian(10).tocsr()[::-1].tocsc()[::-1]), vectors(100), io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lu, converted, batch = tristar.splu(A), tristar.splu(A.tocoo()), tristar.Batch(A.tocoo())
        lu.save(file)
        file.seek(0)
        loaded = tristar.load(file)

        def child():
            for call in (converted.refactor, loaded.refactor, lambda values: batch.factor([values])):
                with self.assertRaisesRegex(ValueError, "pass a matrix"):
                    call(2 * A.data)
            lu.refactor(2 * A.data)
            loaded.refactor(2 * A)
            for factor in (lu, loaded):
                assert_solves(2 * A, factor.solve(b), b)
            os._exit(0)

        self.assertEqual(run_child(child), 0)

    def test_all_objects(self):
        A, b = laplacian(10), vectors(100)
        lu, ilu, triangle = tristar.splu(A), tristar.spilu(A), tristar.TriangularSolver(sparse.tril(A).tocsr())
        factor, krylov = tristar.cholesky(A), tristar.KrylovSolver(A, M=ilu)
        x = lu.solve(b)
        krylov.solve(b, x0=x)
        determinant = factor.logdet()

        def child():
            assert abs(factor.logdet() - determinant) < 1e-9
            assert_solves(A, factor.solve_A(b), b)
            assert krylov.solve(b, x0=x).columns[0].iterations == 0
            assert krylov.solve(b).converged
            assert_solves(A, lu.solve(np.stack([b, b], 1))[:, 0], b)
            lu.refactor(2 * A)
            assert_solves(2 * A, lu.solve(b), b)
            assert_solves(sparse.tril(A), triangle.solve(b), b)
            assert np.isfinite(ilu.solve(b)).all()
            assert_solves(A, tristar.spsolve(A, b), b)
            os._exit(0)

        self.assertEqual(run_child(child), 0)
        assert_solves(A, lu.solve(b), b)

    def test_fork_during_solves(self):
        A, b = laplacian(30), vectors(900)
        lu, stop = tristar.splu(A), threading.Event()

        def work():
            while not stop.is_set():
                lu.solve(b)

        def child():
            assert_solves(A, lu.solve(b), b)
            os._exit(0)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        statuses = [run_child(child) for _ in range(5)]
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [0] * 5)


    def test_fork_during_a_refactorization(self):
        """Locks that a thread of the parent held are free in the child."""
        A, b = laplacian(30), vectors(900)
        solves = "solve_L", "solve_Lt", "solve_LD", "solve_DLt", "solve_LDLt"
        calls = [lambda factor, name=name: getattr(factor, name)(b) for name in solves]
        calls += [lambda factor, name=name: getattr(factor, name)() for name in ("statistics", "plan_statistics", "analysis_statistics")]
        for call in (*calls, pickle.dumps):
            factor, held, done = tristar.cholesky(A), threading.Event(), threading.Event()

            def refactor(factor=factor, held=held, done=done):
                with factor._lock, factor._gate.exclusive():
                    held.set()
                    done.wait()

            def child(factor=factor, call=call):
                signal.alarm(20)  # ends a child that hangs
                call(factor)
                os._exit(0)

            thread = threading.Thread(target=refactor)
            thread.start()
            held.wait()
            status = run_child(child)
            done.set()
            thread.join()
            self.assertEqual(status, 0)


    def test_statistics_during_a_refactorization(self):
        """A callback of a refactorization gets the figures of the values before: statistics do not wait."""
        lu = tristar.splu(laplacian(10))

        def child():
            signal.alarm(20)  # ends a child that hangs
            entries, chunks = lu.statistics().nnz_factor, lu.plan_statistics().chunks
            with lu._gate.exclusive():
                assert lu.statistics().nnz_factor == entries
                assert lu.plan_statistics().chunks == chunks
                assert lu.analysis_statistics().n == 100
            os._exit(0)

        self.assertEqual(run_child(child), 0)


class Interrupts(unittest.TestCase):
    """Ctrl-C ends long calls at once, and objects stay usable."""

    def setUp(self):
        # A shell's background job ignores Ctrl-C from the start: then Python installs no handler of its own.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def interrupted(self, function, after=0.1):
        """Calls a function repeatedly until Ctrl-C, which must end the loop within a second of processor time of each core."""
        began, clock = [], time.monotonic()
        # A signal, as the terminal sends it: _thread.interrupt_main would not wake up a main thread that waits.
        timer = threading.Timer(after, lambda: (began.append(time.process_time()), os.kill(os.getpid(), signal.SIGINT)))
        timer.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                for _ in range(50):
                    function()
                self.fail("the calls ended before Ctrl-C")
            ended = time.process_time()
        finally:
            timer.join()
        self.assertLess(ended - began[0], len(os.sched_getaffinity(0)))  # by the clock, a busy machine takes longer
        self.assertLess(time.monotonic() - clock, after + 30)

    def test_factorization(self):
        A = laplacian(400)
        for after in (0.1, 0.6):
            self.interrupted(lambda: tristar.splu(A), after)
        small = laplacian(5)
        assert_solves(small, tristar.splu(small).solve(np.ones(25)), np.ones(25))

    def test_refactorization(self):
        A = laplacian(300)
        lu, b = tristar.splu(A), vectors(90000)
        self.interrupted(lambda: lu.refactor(A), 0.2)
        lu.refactor(2 * A)  # waits for the one that was interrupted
        assert_solves(2 * A, lu.solve(b), b)

    def test_solve(self):
        A = laplacian(200)
        lu, B = tristar.splu(A), np.ones((40000, 400))
        lu._seconds = 1.0  # as predicted for a larger matrix
        self.interrupted(lambda: lu.solve(B), 0.3)
        assert_solves(A, lu.solve(B[:, 0]), B[:, 0])

    def test_krylov(self):
        A, b = laplacian(200), np.ones(40000)
        solver = tristar.KrylovSolver(A, tolerance=0, max_iterations=10**6, patience=0)
        self.interrupted(lambda: solver.solve(b), 0.2)

    def test_progress(self):
        A, points = laplacian(300), []
        tristar.splu(A, progress=lambda seconds, share: points.append((seconds, share)))
        with self.assertRaises(tristar.CancelledError):
            tristar.splu(A, progress=lambda seconds, share: True, ordering="metis")

        def fail(seconds, share):
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            tristar.splu(A, progress=fail, ordering="metis")
        with self.assertRaises(KeyError):  # of a small matrix, too
            tristar.splu(laplacian(10), progress=fail, ordering="metis")


class Memory(unittest.TestCase):
    """10,000 factorizations leak no memory."""

    def test_no_leak(self):
        A, b = unsymmetric(40), vectors(40)

        def cycle():
            lu = tristar.splu(A)
            lu.solve(b)
            lu.refactor(A)
            try:
                lu.solve(b[:3])
            except ValueError:
                pass

        def bytes_now():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * resource.getpagesize()

        for _ in range(500):
            cycle()
        before, objects = bytes_now(), tristar.default_context().memory().current_bytes
        for _ in range(10000):
            cycle()
        self.assertLessEqual(tristar.default_context().memory().current_bytes, objects + 100000)
        self.assertLess(bytes_now() - before, 10e6)  # 1 kB a cycle


if __name__ == "__main__":
    unittest.main()
