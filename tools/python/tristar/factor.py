"""A matrix that the library factors: analysis, new values, files. The base of LU and Cholesky."""
import io
import os

import numpy as np
from scipy import sparse

from ._arrays import MatrixArrays, address, as_sparse, copy_of, from_buffer, of_view, require_square, row_numbers
from ._runtime import NULL, Error, FileError, FormatError, call_interruptibly, check, ffi, generation, lib, make_options, new_cell, usable
from .reports import Report
from .solver import LONG_CALL, OPS, Solver, integers

# A factorization of fewer entries seldom takes longer than LONG_SECONDS.
LONG_ENTRIES = 100000
# What a refactorization returns if METHOD_AUTO would choose another method for the values.
OTHER_METHOD = (lib.TRISTAR_ERR_ARGUMENT, lib.TRISTAR_ERR_NOT_POSITIVE_DEFINITE, lib.TRISTAR_ERR_STALE)
PLAN_OPTIONS = [name for name, _ in ffi.typeof("tristar_plan_options").fields if name not in ("size", "place", "nrhs")]


class Factorization(Solver):
    """A matrix that the library factors. `options` are fields of tristar_analysis_options and tristar_plan_options."""

    def __init__(self, A, context=None, keep=True, same_order=True, **options):
        self._arrays = MatrixArrays(A, copy=keep, same_order=same_order)
        super().__init__(context, A.shape[0], self._arrays.values.dtype)
        self._keep = keep
        self._analysis_options = {name: value for name, value in options.items() if name not in PLAN_OPTIONS}
        self._make({name: value for name, value in options.items() if name in PLAN_OPTIONS})

    # Of a loaded factor: the order of its values (ValueOrder). None: the order of the arrays.
    _order_of_values = None

    def _make_factor(self):
        """Analyzes and factors the matrix. Ctrl-C cancels the analysis of a large one."""
        arrays, cancelled = self._arrays, []
        self._order_of_values = None
        values = dict(self._analysis_options)
        long_call = len(arrays.index) >= LONG_ENTRIES
        progress = values.pop("progress", None)
        if long_call or progress is not None:
            values["progress"] = ffi.callback("tristar_analysis_progress_fn", progress_of(progress, cancelled), error=1)
        options, kept = make_analysis_options(self._n, values)
        analysis, factor = new_cell("analysis"), new_cell("factor")
        context = self._context

        def work():  # local variables live until the end of the call, also after Ctrl-C
            status = lib.tristar_analyze(context.handle, arrays.view, options, analysis)
            return status or lib.tristar_factor(analysis[0], arrays.view.values, factor) if kept else 0

        try:
            if long_call:
                call_interruptibly(work, on_interrupt=lambda: cancelled.append(KeyboardInterrupt()))
            else:
                check(work())
        except Error as failure:
            if cancelled and failure.status == "TRISTAR_ERR_CANCELLED":
                raise cancelled[0] from None
            raise
        return factor

    def refactor(self, A):
        """Factors new values: a matrix whose entries are in the pattern of the first one, or an array in the order of its `data`.

        Raises ValueError for an entry outside the pattern, and for an array whose order is open: the first matrix was not CSC or
        CSR, the factor was loaded from a file, or `cholesky` has made other arrays (the lower triangle and its mirror image, sorted).
        The analysis is repeated only if the method of the factorization no longer suits the values. After a failure solves raise
        StaleError until a later call succeeds. Waits for solves of other threads.
        """
        self._ready()
        arrays = self._arrays
        values = arrays.values_of(A, "refactor") if np.ndim(A) == 2 else arrays.array_of(A, "refactor")
        if values.shape != arrays.values.shape:
            raise ValueError(f"refactor: {values.shape} values for a matrix with {arrays.values.shape}")
        with self._lock:
            arrays.take_values(values)
            self._forget_explicit()
            if len(arrays.index) < LONG_ENTRIES:
                check(self._take_values())
            else:
                call_interruptibly(self._take_values)

    def _take_values(self):
        """Factors the new values while no solve runs, with a new analysis if they need another method."""
        with self._gate.exclusive():
            order, values = self._order_of_values, self._arrays.values
            if order is not None:
                values = order.given(values)
            status = lib.tristar_refactor(self._factor[0], from_buffer(values))
            if status in OTHER_METHOD and self._analysis_options.get("method", "auto") == "auto":
                self._install(*self._build())
                status = lib.TRISTAR_OK
            elif not status:
                self._new_values()
            return status

    def _forget_explicit(self):
        """Called when the values change."""

    def inverse_pattern(self, trans="N"):
        """The entries of op(A)^-1 where A has entries, as a matrix. They are cheapest with trans="T": the trace of A^-1 B is the sum of
        these entries times those of B."""
        if trans not in OPS:
            raise ValueError("trans must be N, T, or H")
        self._ready()
        pattern = self._arrays.matrix().copy()
        pattern.prune()
        order = self._order_of_values
        if order is None or not order.halves:
            entries = pattern.data if order is None else np.empty(order.count, self.dtype)
            self._call(LONG_CALL, lambda: lib.tristar_inverse_pattern(self._plan, OPS[trans], address(entries)), solves=False)
            if order is not None:
                pattern.data[:] = entries[order.first]
        else:
            places = pattern.tocoo()
            rows, columns = (places.row, places.col) if trans == "N" else (places.col, places.row)
            pattern.data[:] = self.inverse_entries(rows, columns)
            if trans == "H":
                np.conj(pattern.data, out=pattern.data)
        if not pattern.has_canonical_format:  # duplicates of A are duplicates of the result
            count = type(pattern)((np.ones(pattern.nnz), pattern.indices, pattern.indptr), pattern.shape, copy=True)
            pattern.sum_duplicates()
            count.sum_duplicates()
            pattern.data /= count.data.astype(pattern.dtype)
        return pattern

    # ---- Files

    def save(self, file):
        """Writes plan, factor and matrix to a file, which `load` reads: a path, or an object with a method write(bytes).

        A path is replaced when the new file is complete. The guide describes the format (save.md).
        """
        self._ready()
        failures = []
        if not hasattr(file, "write"):
            path = os.fsencode(file)
            self._call(LONG_CALL, lambda: lib.tristar_plan_save(self._plan, path), solves=False)
            return

        def write(_, data, size):
            try:
                rest = bytes(ffi.buffer(data, size))
                while rest:  # an unbuffered file may take a part
                    taken = file.write(rest)
                    if taken is None and not isinstance(file, io.RawIOBase):
                        taken = len(rest)  # many objects return nothing
                    if not taken or taken < 0:  # None: a raw file that does not block took nothing
                        raise FileError("the file takes no bytes")
                    rest = rest[taken:]
                return 0
            except BaseException as exception:  # pylint: disable=broad-except
                failures.append(exception)
                return 1

        function = ffi.callback("tristar_write_fn", write, error=1)
        raise_first(failures, lambda: self._call(LONG_CALL, lambda: lib.tristar_plan_write(self._plan, function, NULL), solves=False))

    @classmethod
    def load(cls, file, context=None):
        """Loads an object that `save`, `tristar solve --save` or `tristar_plan_save` wrote, without analysis and factorization.

        file: a path, or an object with a method read(size). Solutions have the bits of the saved object on the same kind of processor.
        """
        context = usable(context)
        factor, plan, failures = new_cell("factor"), new_cell("plan"), []
        if not hasattr(file, "read"):
            path = os.fsencode(file)
            call_interruptibly(lambda: lib.tristar_plan_load(context.handle, path, factor, plan))
        else:

            def read(_, data, size):
                try:
                    place = ffi.buffer(data, size)
                    at = 0
                    while at < size:
                        piece = file.read(size - at)
                        if not piece:
                            raise FormatError(f"the saved object ends early: {size - at} of the next {size} bytes are missing")
                        place[at:at + len(piece)] = piece
                        at += len(piece)
                    return 0
                except BaseException as exception:  # pylint: disable=broad-except
                    failures.append(exception)
                    return 1

            function = ffi.callback("tristar_read_fn", read, error=1)
            raise_first(failures,
                        lambda: call_interruptibly(lambda: lib.tristar_plan_read(context.handle, function, NULL, factor, plan)))
        view = ffi.new("tristar_view *")
        check(lib.tristar_factor_get_matrix(factor[0], view))
        made = cls.__new__(cls)
        made._arrays, stored = of_view(view)
        made._order_of_values = ValueOrder(factor[0], stored, len(made._arrays.values))
        Solver.__init__(made, context, view.rows, made._arrays.values.dtype)
        made._keep, made._generation, made._plan_options = True, generation(), {}
        made._install(factor, plan)
        made._analysis_options = {"method": made.analysis_statistics().method}
        made._loaded()
        return made

    def _loaded(self):
        """Called at the end of load."""

    def analysis_statistics(self):
        """A report of the analysis: order, entries, method, ordering, supernodes, seconds."""
        self._ready()
        stats, factor = ffi.new("tristar_analysis_stats *"), self._factor  # refactorizations do not change an analysis
        check(lib.tristar_analysis_get_stats(lib.tristar_factor_get_analysis(factor[0]), stats))
        return Report("Analysis", stats)

    def __reduce__(self):
        options = {**self._analysis_options, **self._plan_options, "same_order": self._arrays.same_order}
        self._ready()
        with self._lock:  # no new values while the arrays are copied
            return _restore, (type(self), self._arrays.matrix().copy(), options)

    def __repr__(self):
        stats = self.analysis_statistics()
        return (f"<{type(self).__name__}: {self._n} rows, {self.dtype}, {stats.method}, ordering {stats.ordering}, "
                f"{self.statistics().nnz_factor} entries>")

    def _repr_html_(self):
        return self.analysis_statistics()._repr_html_() + self.statistics()._repr_html_()


class ValueOrder:
    """The order of the values that a loaded factor takes: the order of the arrays that were analyzed, which may have duplicates."""

    def __init__(self, factor, stored, entries):
        """stored: places, in the arrays of the object, of the entries that the factor stores; None: all, in their order."""
        count, place = ffi.new("int64_t *"), ffi.new("int64_t **")
        check(lib.tristar_factor_get_places(factor, count, place))
        self.halves = stored is not None
        self.count = count[0]
        self._stored = np.arange(entries) if stored is None else stored
        place = np.arange(self.count) if place[0] == NULL else copy_of(place[0], self.count, np.int64)
        self.first = np.unique(place, return_index=True)[1]  # of each stored entry, the first of its values

    def given(self, values):
        """Values of the arrays of the object in the order of the factor. Duplicates after the first are zeros."""
        given = np.zeros(self.count, values.dtype)
        given[self.first] = values[self._stored]
        return given


def make_analysis_options(n, values):
    """The options of an analysis of n rows, some of which are arrays of rows. Returns (struct, what must stay alive)."""
    lists = {name: row_numbers(values[name], name) for name in ("permutation", "schur") if name in values}
    if "permutation" in lists and lists["permutation"].shape != (n,):
        raise ValueError(f"permutation must have {n} entries")
    options, kept = make_options("analysis_options", {**values, **{name: integers(rows) for name, rows in lists.items()}})
    return options, [*kept, lists]


def forecast(A, *, nrhs=1, context=None, **settings):
    """Forecasts memory and time of a factorization and of a solve with nrhs columns. Returns a report.

    settings: fields of tristar_analysis_options and tristar_plan_options, as in splu. The call analyzes the matrix.
    The report has the fields of tristar_forecast in tristar_forecast.h: `peak_bytes`, the most bytes of the context from now on;
    `factor_peak_bytes`, `plan_bytes`, `solve_bytes`, `factor_seconds`, `solve_seconds`, and others. The guide describes the figures
    (forecast.md).
    """
    A = as_sparse(A, "forecast")
    require_square(A)
    arrays, context, analysis = MatrixArrays(A, copy=False), usable(context), new_cell("analysis")
    settings.pop("progress", None)
    values = {name: value for name, value in settings.items() if name not in PLAN_OPTIONS}
    options, kept = make_analysis_options(A.shape[0], values)
    plan, kept_of_plan = make_options("plan_options", {**{name: settings[name] for name in settings.keys() - values.keys()}, "nrhs": nrhs})
    expected = ffi.new("tristar_forecast *")
    kept += kept_of_plan + [arrays]

    def work():  # local variables live until the end of the call, also after Ctrl-C
        status = lib.tristar_analyze(context.handle, arrays.view, options, analysis) if kept else 0
        return status or lib.tristar_analysis_forecast(analysis[0], plan, expected)

    call_interruptibly(work)
    return Report("Forecast", expected)


def _restore(kind, A, options):
    return kind(A, **options)


def raise_first(failures, call):
    """Makes a call. If a callback raised an exception, raises it instead of the exception of the call."""
    try:
        call()
    except Error:
        if failures:
            raise failures[0] from None
        raise


def progress_of(function, cancelled):
    """The progress function of an analysis. function(seconds, share) of the caller: true cancels."""

    def progress(_, point):
        if not cancelled and function is not None:
            try:
                if function(point.seconds, point.share):
                    return 1
            except BaseException as exception:  # pylint: disable=broad-except
                cancelled.append(exception)
        return len(cancelled) > 0

    return progress
