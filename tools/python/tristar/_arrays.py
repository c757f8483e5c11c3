"""Matrices and vectors of NumPy and SciPy as the library reads them. Arrays that match are not copied."""
import warnings
from types import SimpleNamespace

import numpy as np
from scipy import sparse

from ._runtime import FormatError, check, ffi, lib, new_cell, usable

SCALARS = {np.dtype("f"): "S", np.dtype("d"): "D", np.dtype("F"): "C", np.dtype("D"): "Z"}
LETTERS = {"S": ord("s"), "D": ord("d"), "C": ord("c"), "Z": ord("z")}
from_buffer = ffi.from_buffer


def as_sparse(A, caller):
    """A as CSC or CSR with a floating-point type of LAPACK. The library converts BSR with square blocks to CSR. If another format
    has to be converted, this warns, as SciPy does."""
    if hasattr(A, "to_scipy_sparse"):  # pydata/sparse
        A = A.to_scipy_sparse()
    A = without_unused(A)
    if not is_lines(A) and not (sparse.issparse(A) and has_square_blocks(A)):
        A = sparse.csc_matrix(require_format(A))
        warnings.warn(f"{caller} converted its input to CSC format", sparse.SparseEfficiencyWarning, stacklevel=3)
    A = A.asfptype()
    if not A.dtype.isnative:
        A = A.astype(A.dtype.newbyteorder("="))
    if A.dtype not in SCALARS:
        raise TypeError(f"{caller}: matrices of type {A.dtype} are not supported")
    return of_blocks(A) if A.format == "bsr" else A


def without_unused(A):
    """A matrix of SciPy without array elements after its last entry, which conversions in SciPy would take for entries."""
    if not sparse.issparse(A) or A.format not in ("csc", "csr", "bsr"):
        return A
    used = A.indptr[-1] if len(A.indptr) else 0
    if not 0 <= used <= min(len(A.indices), len(A.data)) or used == max(len(A.indices), len(A.data)):
        return A
    return type(A)((A.data[:used], A.indices[:used], A.indptr), shape=A.shape)


def require_format(A):
    """A, or a FormatError if A is a matrix of SciPy with wrong pointers or indices. Functions of SciPy trust these, and would use memory
    outside of the arrays. The library checks matrices itself: this is for those that SciPy computes with before."""
    if not sparse.issparse(A) or A.ndim != 2 or A.format not in ("csc", "csr", "bsr", "coo"):
        return A
    rows, columns = (size // block for size, block in zip(A.shape, getattr(A, "blocksize", (1, 1))))
    if A.format == "coo":
        if not len(A.row) == len(A.col) == len(A.data):
            raise FormatError(f"the matrix has {len(A.row)} rows and {len(A.col)} columns of {len(A.data)} entries")
        require_range(A.row, rows, lambda entry: f"entry {entry}: row")
        require_range(A.col, columns, lambda entry: f"entry {entry}: column")
        return A
    lines, size = (columns, rows) if A.format == "csc" else (rows, columns)
    ptr, index = A.indptr, A.indices
    if ptr.shape != (lines + 1,):
        raise FormatError(f"the matrix has {ptr.size} pointers for {lines} lines")
    falls = np.flatnonzero(ptr[1:] < ptr[:-1])
    if ptr[0] or len(falls):
        place = falls[0] + 1 if len(falls) else 0
        raise FormatError(f"pointer {place} is {ptr[place]}: pointers begin with 0 and never fall")
    if ptr[-1] > min(len(index), len(A.data)):
        raise FormatError(f"the last pointer, {ptr[-1]}, exceeds the number of entries")

    def name(entry):
        line = np.searchsorted(ptr, entry, "right") - 1
        return f"{'column' if A.format == 'csc' else 'row'} {line}, entry {entry - ptr[line]}: index"

    require_range(index[:ptr[-1]], size, name)
    return A


def require_range(numbers, size, name):
    """Raises FormatError for a number outside 0 .. size - 1. name(k): what number k is."""
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < size:
        wrong = np.flatnonzero((numbers < 0) | (numbers >= size))[0]
        raise FormatError(f"{name(wrong)} {numbers[wrong]} is outside 0..{size - 1} (all from 0)")


def is_lines(A):
    """Is A a CSC or CSR matrix of SciPy? Then as_sparse keeps the order of its values."""
    return sparse.issparse(A) and A.format in ("csc", "csr")


def order_of(A):
    """Does as_sparse keep the order of the values of A? If A.data has unused elements after the last entry: its length, else a bool."""
    if not is_lines(A) or without_unused(A) is A:
        return is_lines(A)
    return len(A.data)


def has_square_blocks(A):
    """Is a matrix of SciPy one of square blocks?"""
    return A.format == "bsr" and A.blocksize[0] == A.blocksize[1]


def of_blocks(A):
    """A BSR matrix of square blocks as CSR. Its arrays belong to a matrix of the library, which lives as long as they."""
    size = A.blocksize[0]
    if not 0 <= A.indptr[-1] <= len(A.data):
        raise ValueError(f"the last pointer, {A.indptr[-1]}, exceeds the number of blocks")
    shape = (A.shape[0] // size, A.shape[1] // size)
    blocks = MatrixArrays(SimpleNamespace(format="csr", shape=shape, indptr=A.indptr, indices=A.indices, data=A.data.reshape(-1)))
    matrix, view = new_cell("matrix"), ffi.new("tristar_view *")
    check(lib.tristar_matrix_from_blocks(usable(None).handle, blocks.view, size, lib.TRISTAR_CSR, matrix))
    check(lib.tristar_matrix_get_view(matrix[0], view))

    def borrow(address_of_first, count, dtype):
        # The array refers to the buffer, that to the pointer, and its destructor to the matrix.
        pointer = ffi.gc(ffi.cast("char *", address_of_first), lambda _, owner=matrix: None)
        return np.frombuffer(ffi.buffer(pointer, count * dtype.itemsize), dtype) if count else np.empty(0, dtype)

    ptr = borrow(view.ptr, A.shape[0] + 1, np.dtype(np.int64))
    arrays = borrow(view.values, int(ptr[-1]), blocks.values.dtype), borrow(view.index, int(ptr[-1]), np.dtype(np.int32)), ptr
    return (sparse.csr_array if isinstance(A, sparse.bsr_array) else sparse.csr_matrix)(arrays, shape=A.shape)


def require_square(A):
    """Raises the exception of SuperLU for a matrix that is not square."""
    if A.shape[0] != A.shape[1]:
        raise ValueError("can only factor square matrices")


def plain_array(array, dtypes, what):
    """A contiguous 1-D array in the byte order of the machine; the array itself if it is one already."""
    array = np.ascontiguousarray(array)
    if array.ndim != 1:
        raise ValueError(f"{what} must have 1 dimension")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype not in dtypes:
        raise TypeError(f"{what} of type {array.dtype} are not supported")
    return array


class MatrixArrays:
    """The arrays of a CSC or CSR matrix, and the `tristar_view` of them.

    copy: copies them, so that later changes of A have no effect. same_order: are the values in the order of the caller's matrix?
    If the arrays of that matrix have unused elements, same_order is their length (order_of).
    """

    def __init__(self, A, copy=False, same_order=True):
        integers = (np.dtype(np.int32), np.dtype(np.int64))
        self.format, self.shape, self.same_order = A.format, A.shape, same_order
        self.ptr = plain_array(A.indptr, integers, "pointers")
        self.index = plain_array(A.indices, integers, "indices")
        self.values = plain_array(A.data, SCALARS, "values")
        lines = self.shape[self.format == "csc"]
        if len(self.ptr) != lines + 1:
            raise ValueError(f"the matrix has {len(self.ptr)} pointers for {lines} lines")
        if not 0 <= self.ptr[-1] <= min(len(self.index), len(self.values)):
            raise ValueError(f"the last pointer, {self.ptr[-1]}, exceeds the number of entries")
        if copy:
            self.ptr, self.index, self.values = self.ptr.copy(), self.index.copy(), self.values.copy()
        self.view = ffi.new("tristar_view *")
        lib.tristar_view_init(self.view)
        self.view.format = lib.TRISTAR_CSC if self.format == "csc" else lib.TRISTAR_CSR
        self.view.scalar = LETTERS[SCALARS[self.values.dtype]]
        self.view.rows, self.view.cols = self.shape
        self.view.ptr_bits, self.view.index_bits = 8 * self.ptr.itemsize, 8 * self.index.itemsize
        self.view.ptr, self.view.index = from_buffer(self.ptr), from_buffer(self.index)
        self.view.values = from_buffer(self.values)

    def values_of(self, A, caller):
        """The values of a matrix in the order of this pattern. Raises ValueError if A has an entry outside the pattern.

        Entries that A lacks are zeros: sums of matrices in SciPy drop entries that cancel.
        """
        A = A if sparse.issparse(A) and not has_square_blocks(A) else as_sparse(A, caller)
        other = MatrixArrays(as_sparse(A if A.format == self.format else require_format(A).asformat(self.format), caller))
        if other.shape != self.shape:
            raise ValueError(f"{caller}: the matrix has the shape {other.shape}, the first one {self.shape}")
        if np.array_equal(self.ptr, other.ptr) and np.array_equal(self.index, other.index):
            return other.values
        require_format(A)
        mine, its = self._keys(), other._keys()
        order = np.argsort(mine, kind="stable")
        place = np.searchsorted(mine[order], its)
        if len(its) and (not len(mine) or np.any(mine[order[np.minimum(place, len(mine) - 1)]] != its)):
            raise ValueError(f"{caller}: the matrix has entries outside the first pattern: make a new object")
        values = np.zeros(len(self.values), other.values.dtype)
        np.add.at(values, order[place], other.values[:len(its)])
        return values

    def _keys(self):
        """A number for each entry, by its row and column."""
        lines = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        return lines * max(self.shape) + self.index[:len(lines)]

    def array_of(self, values, caller):
        """Values as an array. Raises ValueError if these arrays may have another order than the matrix of the caller."""
        if not self.same_order:
            raise ValueError(f"{caller}: pass a matrix: the order of an array is open, because the first matrix was converted or loaded")
        values = np.asarray(values)
        unused = self.same_order is not True and values.shape[-1:] == (self.same_order,)
        return values[..., :len(self.values)] if unused else values

    def take_values(self, values):
        """Copies new values into arrays that are copies. Raises TypeError if their type is of another kind."""
        require_kind(values.dtype, self.values.dtype)
        self.values[:] = values

    def matrix(self):
        """The matrix, without a copy."""
        kind = sparse.csc_matrix if self.format == "csc" else sparse.csr_matrix
        return kind((self.values, self.index, self.ptr), shape=self.shape)


def of_view(view):
    """(MatrixArrays, places): a copy of the matrix that a view describes, and the places of the values of the view in it.

    If the view has one triangle, the copy has both. Places are None if all values keep their order. same_order is false: files do not
    have the order of the caller's matrix, which may have been converted.
    """
    lines = view.cols if view.format == lib.TRISTAR_CSC else view.rows
    dtype = next(dtype for dtype, letter in SCALARS.items() if LETTERS[letter] == view.scalar)
    ptr = copy_of(view.ptr, lines + 1, f"i{view.ptr_bits // 8}") - view.base
    index = copy_of(view.index, int(ptr[-1]), f"i{view.index_bits // 8}") - view.base
    values = copy_of(view.values, int(ptr[-1]), dtype)
    kind = sparse.csc_matrix if view.format == lib.TRISTAR_CSC else sparse.csr_matrix
    stored = kind((values, index.astype(ptr.dtype), ptr), (view.rows, view.cols))
    if view.symmetry == lib.TRISTAR_GENERAL:
        return MatrixArrays(stored, same_order=False), None
    mirrored = stored.T.asformat(stored.format)
    if view.symmetry == lib.TRISTAR_HERMITIAN:
        mirrored = mirrored.conj()
    elif view.symmetry == lib.TRISTAR_SKEW_SYMMETRIC:
        mirrored = -mirrored
    halves = stored.tocoo(), mirrored.tocoo()
    other = halves[1].row != halves[1].col
    parts = [(halves[0].data, halves[1].data[other]), (halves[0].row, halves[1].row[other]), (halves[0].col, halves[1].col[other])]
    data, row, col = (np.concatenate(part) for part in parts)
    full = kind((data, (row, col)), (view.rows, view.cols))
    full.sort_indices()
    arrays = MatrixArrays(full, same_order=False)
    return arrays, np.searchsorted(arrays._keys(), MatrixArrays(stored)._keys())


def row_numbers(rows, what):
    """Numbers of rows or columns as a contiguous array of 64-bit integers. Raises TypeError or ValueError for all else."""
    rows = np.asarray(rows)
    if rows.size and rows.dtype.kind not in "iu":
        raise TypeError(f"{what} must be integers")
    if rows.dtype.kind == "u" and rows.size and rows.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{what}: {rows.max()} is no number of a row")
    return np.asarray(rows, np.int64, order="C")  # ascontiguousarray would make an array of a single number


def copy_of(address_of_first, count, dtype):
    """A copy of `count` numbers in memory of the library."""
    dtype = np.dtype(dtype)
    return np.frombuffer(ffi.buffer(address_of_first, count * dtype.itemsize), dtype).copy() if count else np.empty(0, dtype)


def require_kind(given, dtype):
    """Raises TypeError for values of another kind, such as complex ones of a real matrix: a cast would drop imaginary parts."""
    if not np.can_cast(given, dtype, "same_kind"):
        raise TypeError(f"values of type {given} for a matrix of type {dtype}")


def require_cast(given, dtype):
    """Raises the exception of SuperLU.solve for right-hand sides that would lose digits in a conversion."""
    if not np.can_cast(given, dtype, "safe"):
        raise TypeError(f"Cannot cast array data from {given!r} to {dtype!r} according to the rule 'safe'")


def as_vectors(b, n, dtype):
    """b as an array of n rows with 1 or 2 dimensions and this type. Raises the exceptions of SuperLU.solve."""
    b = np.asarray(b)
    require_cast(b.dtype, dtype)
    if b.ndim > 2:
        raise ValueError("object too deep for desired array")
    if b.ndim == 0:
        raise ValueError("object of too small depth for desired array")
    if b.shape[0] != n:
        raise ValueError(f"b is of incompatible size: it has {b.shape[0]} rows, the matrix {n}")
    return b.astype(dtype, copy=False)


def strides_of(array):
    """(row stride, column stride) in scalars, or None where the library does not support them."""
    size = array.itemsize
    strides = array.strides if array.ndim == 2 else (array.strides[0], size * max(1, array.shape[0]))
    ones = [shape == 1 for shape in array.shape] + [True]
    strides = [size if one and stride <= 0 else stride for stride, one in zip(strides, ones)]
    if any(stride <= 0 or stride % size for stride in strides) or not array.flags.aligned:
        return None
    return strides[0] // size, strides[1] // size


def address(array):
    """The address of an array of any strides, for a call that gets its strides, too."""
    return ffi.cast("void *", array.__array_interface__["data"][0])


def sparse_columns(B, count):
    """Blocks of at most `count` columns of a CSC matrix, each with the rows that have entries: (rows, dense block)."""
    for first in range(0, B.shape[1], count):
        block = B[:, first:first + count]
        rows = np.unique(block.indices).astype(np.int64)
        place = np.zeros(B.shape[0], np.int64)
        place[rows] = np.arange(len(rows))
        dense = np.zeros((len(rows), block.shape[1]), B.dtype, order="F")
        columns = np.repeat(np.arange(block.shape[1]), np.diff(block.indptr))
        np.add.at(dense, (place[block.indices], columns), block.data)
        yield rows, dense
