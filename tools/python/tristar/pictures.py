"""Pictures of a solve, drawn by the program `tristar plot`; notebooks show them."""
import os
import shutil
import subprocess
import tempfile

import numpy as np
from scipy import sparse
from scipy.io import mmwrite

from ._place import PROGRAM
from ._runtime import Error, UnsupportedError


class Picture:
    """A picture as text of SVG. Notebooks show it; `save` writes it."""

    def __init__(self, svg):
        self.svg = svg

    def save(self, file):
        """Writes the SVG to a path."""
        with open(file, "w", encoding="utf-8") as out:
            out.write(self.svg)

    def _repr_svg_(self):
        return self.svg

    def __repr__(self):
        return f"<Picture: {len(self.svg)} characters of SVG>"


def find_program():
    """The path of the program: of this build or installation, or the one in PATH."""
    beside = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), PROGRAM))
    path = beside if os.access(beside, os.X_OK) else shutil.which("tristar")
    if path is None:
        raise UnsupportedError("the program tristar is neither beside the package nor in PATH (Debian package: tristar)")
    return path


def arguments_of(options):
    """Arguments of the program for keyword arguments: nrhs=4 is --nrhs 4, laplacian=True is --laplacian."""
    arguments = []
    for name, value in options.items():
        if value is not None and value is not False:
            arguments.append("--" + name.replace("_", "-"))
            if value is not True:
                arguments.append(str(value))
    return arguments


def plot(A, picture="gantt", file=None, **options):
    """Draws a solve with a sparse matrix, by the program: factorization and solves run in another process.

    picture: "gantt" (tasks on workers over time), "dag", "tree", "spy", "levels", "roofline", "rhs", "reuse", "memory" and others, see
    `tristar plot --help`. options are those of the program: nrhs=4, ordering="amd", layout="2x1x2". A may also be the path of a
    matrix file, or "gen:KIND:K".

    Returns a Picture. With `file` the picture is written to that path instead: .svg, .html, .png or .pdf.
    """
    with tempfile.TemporaryDirectory() as folder:
        if sparse.issparse(A) or isinstance(A, np.ndarray):
            path = os.path.join(folder, "matrix.mtx")
            mmwrite(path, sparse.coo_matrix(A), symmetry="general")  # detecting a symmetry would take most of the time
        else:
            path = os.fspath(A)
        out = os.path.join(folder, "picture.svg") if file is None else os.fspath(file)
        command = [find_program(), "plot", path, "--what", picture, "--out", out, *arguments_of(options)]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                               env={"STARPU_SILENT": "1", **os.environ})
        if ended.returncode:
            raise Error(ended.stderr.strip().replace(path, "the matrix") if path.startswith(folder) else ended.stderr.strip())
        if file is not None:
            return None
        with open(out, encoding="utf-8") as text:
            return Picture(text.read())
