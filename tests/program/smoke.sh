#!/bin/sh
# smoke.sh PREFIX: uses the TriStar installed in PREFIX as an ordinary user does: the program, its manual page and the
# documents; programs in C (pkg-config and CMake), C++ and Fortran; Python; PETSc. It works in the current folder, builds
# the installed examples there, and runs them. A line "-- NAME" begins each part. A part is omitted if its package of
# TriStar, or its compiler, is not installed. PREFIX is /usr, or a folder that variables add to the paths of pkg-config,
# CMake, Python and the loader.
set -eu
prefix=$1
documents=$prefix/share/doc/tristar examples=$prefix/share/doc/tristar/examples
export OMPI_MCA_rmaps_base_oversubscribe=1 STARPU_SILENT=1
say() { echo "-- $*"; }
fail() { echo "smoke.sh: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null; }
installed() { find "$prefix"/lib* -name "$1" | head -n 1; }
if [ "$prefix" != /usr ]; then
  libraries=$(dirname "$(installed libtristar.so)")
  export PATH="$prefix/bin:$PATH" MANPATH="$prefix/share/man:" PKG_CONFIG_PATH="$libraries/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
  export CMAKE_PREFIX_PATH="$prefix" LD_LIBRARY_PATH="$libraries"
  PYTHONPATH=$(dirname "$(dirname "$(installed _place.py)")") && export PYTHONPATH
fi
# loaded PROGRAM: the program loads the library of PREFIX and no other one.
loaded() {
  [ "$prefix" = /usr ] || ldd "$1" | grep -q "libtristar.*=> $prefix/" || { ldd "$1"; fail "$1 loads no library of $prefix"; }
}

say program
[ "$(command -v tristar)" = "$prefix/bin/tristar" ] || fail "$(command -v tristar) is not the program of $prefix"
tristar solve gen:s2d9pt:50 --report
tristar plot tree gen:s2d9pt:20 --out tree.svg
[ -x "$prefix/libexec/tristar/order_part" ] || fail "there is no order_part"
[ -n "$(find "$prefix/share/man" -name 'tristar.1*')" ] || fail "there is no manual page"
! have man || man -w tristar
[ -s "$documents/guide/README.md" ] || fail "there is no guide"

say C
cc "$examples/example_short.c" $(pkg-config --cflags --libs tristar) -lm -o short
./short
loaded ./short
if have cmake; then
  say CMake
  mkdir -p project && cp "$examples/example_short.c" project
  cat >project/CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.18)
project(Smoke C)
find_package(TriStar 0.3 REQUIRED COMPONENTS shared)
add_executable(short example_short.c)
target_link_libraries(short PRIVATE TriStar::tristar m)
C
  cmake -S project -B project/build
  cmake --build project/build
  project/build/short
  loaded project/build/short
fi
if have c++; then
  say C++
  c++ -std=c++17 "$examples/example_cxx.cpp" $(pkg-config --cflags --libs tristar) -o in_cxx
  ./in_cxx
fi
module=$(pkg-config --variable=includedir tristar)/tristar.f90
if have gfortran && [ -f "$module" ]; then
  say Fortran
  gfortran "$module" "$examples/example_fortran.f90" $(pkg-config --libs tristar) -o in_fortran
  ./in_fortran
fi
if [ -n "$(installed _place.py)" ]; then
  say Python
  python3 "$examples/python/4_conjugate_gradients.py"
  python3 - "$prefix" <<'P'
import sys
import numpy
import scipy.sparse
import tristar

assert tristar.__file__.startswith(sys.argv[1]), tristar.__file__
A = scipy.sparse.identity(5, format="csc") * 2
assert numpy.allclose(tristar.splu(A).solve(numpy.ones(5)), 0.5)
assert tristar.plot(A, "spy") is not None
P
fi
plugin=$(installed libtristar_petsc.so)
if [ -n "$plugin" ] && pkg-config --exists PETSc; then
  say PETSc
  mpicc "$examples/example_petsc.c" $(pkg-config --cflags --libs PETSc) -lm -o in_petsc
  PETSC_OPTIONS="-dll_prepend $plugin" mpiexec -n 2 ./in_petsc -ksp_view -pc_type lu -pc_factor_mat_solver_type tristar >petsc.log 2>&1 ||
    { cat petsc.log; exit 1; }
  grep TriStar petsc.log
fi
