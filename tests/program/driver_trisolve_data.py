#!/usr/bin/env python3
"""driver_trisolve_data.py PROGRAM [LEAST]: `tristar trisolve` with both triangles of every matrix that INDEX.tsv of the data
folder lists (TRISTAR_DATA, or ../shared/data beside the repository); a pattern as its Laplacian. Works in the current folder.

One line for each matrix. The exit status is 1 if
  - a rectangular matrix is not refused,
  - a triangle is not solved to a backward error of 1e-13 though its diagonal is complete, unless substitution here leaves
    the range of numbers too and the message names a row,
  - a triangle with a zero on its diagonal is not refused with a message that names the row,
  - both sweeps (--uplo LU) give other bits than one after the other,
  - fewer than LEAST matrices (default 60) are solved.
Backward errors are those that the program reports. For Matrix Market files with at most a million entries, this script also reads the
file and computes them. The exit status is 77 if there is no data.
"""
import csv
import gzip
import json
import math
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BOUND = 1e-13
OWN_ENTRIES = 1000000  # larger matrices would take too long in this script


class Matrix:
    """The entries (row, column, value) of a Matrix Market file, including those that symmetry implies."""

    def __init__(self, path, symmetry):
        self.entries = []
        with gzip.open(path, "rt") as file:
            parts = 2 if file.readline().split()[3].lower() == "complex" else 1
            line = file.readline()
            while line.startswith("%") or not line.strip():
                line = file.readline()
            self.n = int(line.split()[0])
            for words in map(str.split, file):
                if words:
                    value = complex(float(words[2]), float(words[3])) if parts == 2 else float(words[2])
                    self.add(int(words[0]) - 1, int(words[1]) - 1, value, symmetry)
        self.diagonal = [0] * self.n
        for i, j, value in self.entries:
            if i == j:
                self.diagonal[i] += value

    def add(self, i, j, value, symmetry):
        self.entries.append((i, j, value))
        if symmetry != "general" and i != j:
            mirrored = value.conjugate() if symmetry == "hermitian" else value
            self.entries.append((j, i, -mirrored if symmetry == "skew-symmetric" else mirrored))

    def triangle(self, upper):
        return ((i, j, value) for i, j, value in self.entries if (i <= j if upper else i >= j))

    def backward_error(self, upper, b, x):
        """max |b - T x| / (|T| |x| + |b|), with compensated sums."""
        total, lost, size = list(b), [0] * self.n, [abs(value) for value in b]
        for i, j, value in self.triangle(upper):
            product = -value * x[j]
            added = total[i] + product
            part = added - total[i]
            lost[i] += (total[i] - (added - part)) + (product - part)
            total[i] = added
            size[i] += abs(product)
        return max((abs(t + l) / s if s > 0 else (0 if t + l == 0 else math.inf) for t, l, s in zip(total, lost, size)), default=0)

    def overflows(self, upper, b):
        """Returns whether substitution exceeds the range of numbers."""
        x, columns = list(b), {}
        for i, j, value in self.triangle(upper):
            columns.setdefault(j, []).append((i, value))
        for j in reversed(range(self.n)) if upper else range(self.n):
            try:
                x[j] /= self.diagonal[j]
                for i, value in columns[j]:
                    if i != j:
                        x[i] -= value * x[j]
            except (OverflowError, ZeroDivisionError):
                return True
            if not abs(x[j]) < 1e308:
                return True
        return False


def read_vector(path):
    """A Matrix Market array of one column."""
    with open(path) as file:
        header = file.readline()
        lines = [line for line in file if not line.startswith("%")][1:]
    parts = 2 if " complex " in header else 1
    return [complex(*map(float, line.split())) if parts == 2 else float(line) for line in lines]


class Case:
    """A matrix of the index."""

    def __init__(self, program, folder, row):
        self.program, self.row, self.wrong = program, row, []
        self.path = os.path.join(folder, row["file"])
        self.options = ["--laplacian"] if row["field"] == "pattern" else []
        self.own = None
        if row["file"].endswith(".mtx.gz") and row["field"] != "pattern" and int(row["nnz_stored"]) <= OWN_ENTRIES:
            self.own = Matrix(self.path, row["symmetry"])

    def solve(self, uplo, out, rhs=None):
        """(exit status, the last line of standard error, the figures)"""
        for file in (out, "figures.json"):
            if os.path.exists(file):
                os.remove(file)
        command = [self.program, "trisolve", self.path, "--uplo", uplo, "--out", out, "--json", "figures.json", "--tolerance", "1"]
        done = subprocess.run(command + self.options + (["--rhs", rhs] if rhs else []), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        try:
            with open("figures.json") as file:
                figures = json.load(file)
        except (OSError, ValueError):
            figures = {}
        return done.returncode, (done.stderr.strip().splitlines() or [""])[-1], figures

    def refused(self, uplo, message, rhs):
        """A text for a triangle that was not solved. Adds to self.wrong if it should have been solved."""
        zero = re.search(r": (?:L|U): diagonal entry (\d+) \(counted from 0\) is zero or missing$", message)
        beyond = re.search(r"row (\d+) of .*beyond the range of numbers", message)
        if zero:
            if self.own and self.own.diagonal.index(0) != int(zero[1]):
                self.wrong.append("%s: diagonal entry %s is not the first zero" % (uplo, zero[1]))
            if not self.own and self.row["file"].endswith(".mtx.gz") and "zero/absent diagonals" not in self.row["notes"]:
                self.wrong.append("%s: INDEX.tsv lists no zero on the diagonal: %s" % (uplo, message))
            return "zero on the diagonal, row %s" % zero[1]
        if beyond and self.own and self.own.overflows(uplo == "U", read_vector(rhs)):
            return "overflow, row %s" % beyond[1]
        self.wrong.append("%s: %s" % (uplo, message))
        return "not solved"

    def one_sweep(self, uplo, rhs, out):
        status, message, figures = self.solve(uplo, out, rhs)
        if status != 0:
            return False, self.refused(uplo, message, rhs)
        errors = [figures["backward_error"]]
        if self.own:
            errors.append(self.own.backward_error(uplo == "U", read_vector(rhs), read_vector(out)))
            if 0 in self.own.diagonal:
                self.wrong.append("%s: solved, though there is a zero on the diagonal" % uplo)
        if not all(error <= BOUND for error in errors):  # also wrong for NaN
            self.wrong.append("%s: backward error %s" % (uplo, ", found here ".join("%.1e" % e for e in errors)))
        return True, "%.1e %s" % (max(errors), figures["partition"])

    def run(self):
        """(both triangles were solved, text)"""
        if self.row["rows"] != self.row["cols"]:
            status, message, _ = self.solve("L", "x.mtx")
            if status != 1 or "the matrix is not square" not in message:
                self.wrong.append("exit status %d, %s" % (status, message))
            return False, "not square"
        rhs = self.write_rhs()
        lower, text = self.one_sweep("L", rhs, "lower.mtx")
        upper, text_upper = self.one_sweep("U", "lower.mtx" if lower else rhs, "upper.mtx")
        if lower and upper:
            status, message, figures = self.solve("LU", "both.mtx", rhs)
            if status != 0 or not figures["backward_error"] <= BOUND:
                self.wrong.append("LU: exit status %d, %s" % (status, message))
            elif read_vector("both.mtx") != read_vector("upper.mtx"):
                self.wrong.append("LU: other bits than L, then U")
        return lower and upper, "L %s; U %s" % (text, text_upper)

    def write_rhs(self):
        """Writes numbers between 1/2 and 1 without loss to a file, and returns its name."""
        state, is_complex = 1, self.row["field"] == "complex"
        with open("b.mtx", "w") as file:
            file.write("%%%%MatrixMarket matrix array %s general\n%s 1\n" % ("complex" if is_complex else "real", self.row["rows"]))
            for _ in range(int(self.row["rows"])):
                state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
                file.write("%r%s\n" % (0.5 + (state >> 12) / 2**53, " 0" if is_complex else ""))
        return "b.mtx"


def main():
    program = sys.argv[1]
    least = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    folder = os.environ.get("TRISTAR_DATA") or os.path.join(ROOT, "..", "shared", "data")
    index = os.path.join(folder, "INDEX.tsv")
    if not os.path.exists(index):
        print("skipped: no matrices: %s is not there (TRISTAR_DATA names the folder)" % index)
        return 77
    with open(index, newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    solved = failed = 0
    for row in rows:
        case = Case(program, folder, row)
        good, text = case.run()
        solved += good
        failed += bool(case.wrong)
        print("%-34s %8s rows  %s%s" % (row["name"], row["rows"], text, "".join("  WRONG: " + wrong for wrong in case.wrong)), flush=True)
    print("%d of %d matrices solved, %d wrong" % (solved, len(rows), failed))
    return failed > 0 or solved < least


sys.exit(main())
