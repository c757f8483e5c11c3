"""The entries of L and U, computed from the solves of a factor.

The library stores inverted diagonal blocks and has no function that returns entries. A few solves are enough to compute them. In the order
of the factor, F = L D U is the scaled and permuted matrix, and row k of L has entries in columns of descendants of k in the
elimination tree. Columns of equal depth have disjoint subtrees, so one right-hand side is enough for all of them:

    U(k, l) = (L^-1 B)(k, depth(l))     B(k, depth(l)) = F(k, l) for k <= l
    L(l, k) = (U^-T C)(k, depth(l))     C(k, depth(l)) = F(l, k) for k <= l

for each k and each ancestor l of k. The number of right-hand sides is the height of the tree.
"""
import numpy as np
from scipy import sparse

from ._runtime import NULL, Error, check, ffi, lib, new_cell

BLOCK = 64


class Order:
    """Permutations and scalings of a factor, and its elimination tree: row_scale[r] A(r, c) column_scale[c] = F(k, l)."""

    def __init__(self, factor):
        n = factor.shape[0]
        self.n = n
        self.rows, self.columns = np.empty(n, np.int64), np.empty(n, np.int64)
        self.row_scale, self.column_scale = np.empty(n), np.empty(n)
        check(lib.tristar_factor_get_order(
            factor._factor[0], *(ffi.cast("int64_t *", ffi.from_buffer(a)) for a in (self.rows, self.columns)),
            *(ffi.cast("double *", ffi.from_buffer(a)) for a in (self.row_scale, self.column_scale))))
        self.parent, self.depth = tree_of(factor, n)
        self.height = int(self.depth.max()) + 1 if n else 0

    def permuted(self, factor):
        """F, CSC."""
        A = factor._arrays.matrix().tocsc()
        A = sparse.diags(self.row_scale.astype(factor.dtype)) @ A @ sparse.diags(self.column_scale.astype(factor.dtype))
        return A.tocsr()[self.rows].tocsc()[:, self.columns].tocsc()


def tree_of(factor, n):
    """(parent, depth) of each column in the elimination tree, whose supernodes are chains. Roots have parent -1, depth 0."""
    tree = ffi.new("tristar_assembly_tree *")
    check(lib.tristar_analysis_get_assembly_tree(lib.tristar_factor_get_analysis(factor._factor[0]), tree))
    count = tree.supernodes
    first = np.frombuffer(ffi.buffer(tree.first_column, 4 * (count + 1)), np.int32).astype(np.int64)
    above = np.frombuffer(ffi.buffer(tree.parent, 4 * count), np.int32) if count else np.zeros(0, np.int32)
    parent = np.arange(1, n + 1)
    depth = np.zeros(n, np.int64)
    for s in range(count - 1, -1, -1):  # parents come after their children
        begin, end = first[s], first[s + 1]
        base = 0 if above[s] < 0 else depth[first[above[s]]] + 1
        depth[begin:end] = base + np.arange(end - begin - 1, -1, -1)
        parent[end - 1] = first[above[s]] if above[s] >= 0 else -1
    return parent, depth


def full_plan(factor):
    """A cell with a plan whose solves read the entries of the factor. A plan with a narrower or compressed copy has their errors."""
    stats = factor.plan_statistics()
    if stats.storage == "full" and stats.compress == 0:
        return factor._plan_cell
    plan = new_cell("plan")
    check(lib.tristar_plan(factor._factor[0], NULL, plan))
    return plan


def triangle(factor, order, entries, op, part, plan):
    """The entries X(k, depth(l)) of all ancestors l of k, as a matrix at (k, l). entries: COO at (k, l), k <= l."""
    n, found = order.n, []
    current, depth = np.arange(n), order.depth
    depth_of_entry = depth[entries.col]
    everything = np.arange(n)
    for end in range(order.height, 0, -BLOCK):
        begin = max(0, end - BLOCK)
        inside = (depth_of_entry >= begin) & (depth_of_entry < end)
        block = np.zeros((n, end - begin), factor.dtype, order="F")
        np.add.at(block, (entries.row[inside], depth_of_entry[inside] - begin), entries.data[inside])
        X = factor._solve_rows(everything, block, op, part, 1, plan)
        for t in range(end - 1, begin - 1, -1):
            climbs = depth[current] > t
            current[climbs] = order.parent[current[climbs]]
            rows = np.flatnonzero((depth[current] == t) & (X[:, t - begin] != 0))
            found.append((rows, current[rows], X[rows, t - begin]))
    rows, columns, values = (np.concatenate(part) for part in zip(*found)) if found else ([], [], [])
    return sparse.coo_matrix((values, (rows, columns)), shape=(n, n), dtype=factor.dtype)


def place_of(factor, order):
    """The row of each row of the factor in the triangles of the user. The factor has a postorder of the natural order, in which they
    are triangles, too."""
    return order.columns if factor.analysis_statistics().ordering == "natural" else np.arange(order.n)


def error_of(F, L, U):
    """|F x - L U x| / (|L| |U| |x|) for a vector x of random signs: rounding errors, or more if the solves with weak pivots lose digits."""
    x = np.random.default_rng(1).choice([-1.0, 1.0], F.shape[0]).astype(F.dtype)
    size = (abs(L) @ (abs(U) @ abs(x))).max(initial=0)
    error = abs(F @ x - L @ (U @ x)).max(initial=0) / size if size else 0.0
    return error if np.isfinite(error) else np.inf


class ExplicitFactors:
    """L, U (CSC), perm_r and perm_c with Pr A Pc = L U and a unit diagonal of L."""

    def __init__(self, factor):
        order = Order(factor)
        F, plan = order.permuted(factor), full_plan(factor)
        U = triangle(factor, order, sparse.triu(F, format="coo"), lib.TRISTAR_N, lib.TRISTAR_PART_L, plan)
        definite = factor.analysis_statistics().method == "llt"
        if definite:
            pivots = U.diagonal()
            L = U.conj().T.tocoo()
            L.data /= pivots[L.col]
            U.data *= pivots[U.row]
        else:
            lower = sparse.tril(F).T.tocoo()
            L = triangle(factor, order, lower, lib.TRISTAR_T, lib.TRISTAR_PART_U, plan).T.tocoo()
        L.data[L.row == L.col] = 1
        self.error = error_of(F, L.tocsr(), U.tocsr())
        row_scale = order.row_scale[order.rows]
        column_scale = order.column_scale[order.columns]
        L.data *= (row_scale[L.col] / row_scale[L.row]).astype(factor.dtype)
        U.data /= (row_scale[U.row] * column_scale[U.col]).astype(factor.dtype)
        place = place_of(factor, order)
        # Row exchanges inside a merged supernode, whose columns need be no chain of the tree, can fill the other triangles.
        self.in_order = definite or not (np.any(place[L.row] < place[L.col]) or np.any(place[U.row] > place[U.col]))
        if not self.in_order:
            place = np.arange(order.n)
        self.L, self.U = (sparse.csc_matrix((M.data, (place[M.row], place[M.col])), shape=M.shape) for M in (L, U))
        self.perm_r, self.perm_c = np.empty(order.n, np.int32), np.empty(order.n, np.int32)
        self.perm_r[order.rows] = place
        self.perm_c[order.columns] = place

    def rank(self, limit):
        """A key: of two results the one with the smaller key is better."""
        return not self.error <= limit, not self.in_order, self.error

    @classmethod
    def of(cls, factor):
        """The factors of a SparseLU. For an L D L^H with pivots of order 2 these are the factors of a second factorization, by L U.
        There is a second factorization, too, if the plan has released the entries of the factor, if pivots were perturbed, if solves
        with it lose digits, or if its triangles are not in the natural order that was chosen: the second one is analyzed for the present
        values, without merged supernodes for the natural order. The result is in this order if possible, and else has the smaller error."""
        method = factor.analysis_statistics().method
        options = {**factor._analysis_options, "method": "lu" if method == "ldlt" else method}
        if factor.analysis_statistics().ordering == "natural":
            options["merge"] = "none"

        def again():
            return type(factor)(factor._arrays.matrix(), context=factor._context, keep=False, **options)

        single = factor._analysis_options.get("single_factors")
        eps = np.finfo(np.float32 if single else factor.dtype).eps
        limit, found, failure = eps ** (2 / 3), None, None
        for attempt in [again] if method == "ldlt" or factor._plan_options.get("release_factor") else [lambda: factor, again]:
            try:
                made = attempt()
                require_pivots(made)
                candidate = cls(made)
            except Error as raised:
                failure = failure or raised
                continue
            if found is None or candidate.rank(limit) < found.rank(limit):
                found = candidate
            if found.in_order and found.error <= min(1000 * eps, limit):
                break
        if found is None:
            raise failure
        if not found.error <= limit:
            raise Error(f"L U differs from the matrix by {found.error:.1e} in relation to |L| |U|: pivots are too weak")
        return found


def require_pivots(factor):
    """Raises an exception if pivots were perturbed."""
    if factor.statistics().perturbed_pivots:
        raise Error("pivots were perturbed, so L U is not the matrix: solve() refines, but there are no L and U")


def inverse_diagonal(factor, order):
    """The diagonal of U^-1, by solves with ones at all columns of one depth, whose subtrees are disjoint."""
    result, everything, plan = np.empty(order.n, factor.dtype), np.arange(order.n), full_plan(factor)
    for begin in range(0, order.height, BLOCK):
        columns = min(BLOCK, order.height - begin)
        block = np.zeros((order.n, columns), factor.dtype, order="F")
        k = np.flatnonzero((order.depth >= begin) & (order.depth < begin + columns))
        block[k, order.depth[k] - begin] = 1
        X = factor._solve_rows(everything, block, lib.TRISTAR_T, lib.TRISTAR_PART_U, 1, plan)
        result[k] = X[k, order.depth[k] - begin]
    return result
