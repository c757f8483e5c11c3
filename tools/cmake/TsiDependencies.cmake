# Finds the libraries that TriStar uses. Each is told to CMake in the usual ways: PKG_CONFIG_PATH for StarPU,
# OpenBLAS and hwloc, CMAKE_PREFIX_PATH for METIS, AMD and cJSON.
#
# The imported targets are global because tristar_static names them to whoever links it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(METIS REQUIRED GLOBAL)
find_package(AMD REQUIRED GLOBAL)
pkg_check_modules(TRISTAR_OPENBLAS REQUIRED IMPORTED_TARGET GLOBAL openblas)

# OpenBLAS can be built without its LAPACK part.
include(CheckFunctionExists)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::TRISTAR_OPENBLAS)
set(CMAKE_REQUIRED_QUIET ON)
check_function_exists(dpotrf_ TRISTAR_OPENBLAS_HAS_LAPACK)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_QUIET)
if(NOT TRISTAR_OPENBLAS_HAS_LAPACK)
  message(FATAL_ERROR "OpenBLAS (${TRISTAR_OPENBLAS_LINK_LIBRARIES}) has no LAPACK: dpotrf_ is missing")
endif()

# Sets TRISTAR_HAVE_NAME: the option TRISTAR_WITH_NAME allows the package, and it was found. The variable REASON: why not.
macro(tsi_find_optional name version missing reason)
  set(TRISTAR_HAVE_${name} FALSE)
  set(${reason} "TRISTAR_WITH_${name}=${TRISTAR_WITH_${name}}")
  if(TRISTAR_WITH_${name} STREQUAL AUTO OR TRISTAR_WITH_${name})
    find_package(${name} ${version} QUIET GLOBAL)
    if(${name}_FOUND)
      set(TRISTAR_HAVE_${name} TRUE)
    else()
      set(${reason} "${missing}")
      if(NOT TRISTAR_WITH_${name} STREQUAL AUTO)
        message(FATAL_ERROR "TRISTAR_WITH_${name}=${TRISTAR_WITH_${name}}: ${missing}")
      endif()
    endif()
  endif()
endmacro()

# Scotch is one of the orderings.
set(tsi_scotch "")
tsi_find_optional(SCOTCH 7.0 "no Scotch 7 found (Debian: libscotch-dev)" tsi_scotch_off)
if(TRISTAR_HAVE_SCOTCH)
  set(tsi_scotch SCOTCH::SCOTCH)
  message(STATUS "Orderings by Scotch: on, Scotch ${SCOTCH_VERSION}")
else()
  message(STATUS "Orderings by Scotch: off, ${tsi_scotch_off}")
endif()

set(TRISTAR_HAVE_MPI FALSE CACHE INTERNAL "Distributed solves are built")
if(NOT TRISTAR_WITH_STARPU)
  message(STATUS "Without StarPU: OpenBLAS ${TRISTAR_OPENBLAS_VERSION}, METIS ${METIS_VERSION}, AMD ${AMD_VERSION}")
  return()
endif()

include(TriStarMpi)
find_package(ZLIB REQUIRED GLOBAL)

# StarPU 1.4 also installs a file starpu-1.3.pc, so the newer name is asked for first.
pkg_search_module(TRISTAR_STARPU REQUIRED IMPORTED_TARGET GLOBAL starpu-1.4 starpu-1.3)
pkg_check_modules(TRISTAR_HWLOC REQUIRED IMPORTED_TARGET GLOBAL hwloc>=2.0)
message(STATUS "StarPU ${TRISTAR_STARPU_VERSION} (${TRISTAR_STARPU_MODULE_NAME}), "
               "OpenBLAS ${TRISTAR_OPENBLAS_VERSION}, hwloc ${TRISTAR_HWLOC_VERSION}, METIS ${METIS_VERSION}, AMD ${AMD_VERSION}")

# A StarPU that was built with SimGrid simulates a machine: the program tells what solves would take there.
include(CheckCSourceCompiles)
include(CMakePushCheckState)
cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_INCLUDES ${TRISTAR_STARPU_INCLUDE_DIRS})
set(CMAKE_REQUIRED_QUIET ON)
check_c_source_compiles("#include <starpu_config.h>
  #ifndef STARPU_SIMGRID
  #error
  #endif
  int main(void) { return 0; }" "TRISTAR_STARPU_SIMGRID_${TRISTAR_STARPU_VERSION}_${TRISTAR_STARPU_PREFIX}")
cmake_pop_check_state()
set(TRISTAR_SIMULATED FALSE CACHE INTERNAL "StarPU simulates a machine")
if(TRISTAR_STARPU_SIMGRID_${TRISTAR_STARPU_VERSION}_${TRISTAR_STARPU_PREFIX})
  set(TRISTAR_SIMULATED TRUE CACHE INTERNAL "StarPU simulates a machine")
  message(STATUS "StarPU simulates a machine, by SimGrid")
endif()

# MPI, and the StarPU-MPI that belongs to this StarPU (PKG_CONFIG_PATH); MPI is told by MPI_C_COMPILER or PATH.
set(tsi_mpi_off "TRISTAR_WITH_MPI=${TRISTAR_WITH_MPI}")
if(TRISTAR_WITH_MPI STREQUAL AUTO OR TRISTAR_WITH_MPI)
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
  find_package(MPI QUIET COMPONENTS C) # here, since what it tells besides targets would stay in a function
  unset(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL)
  tristar_find_mpi()
  string(REPLACE starpu starpumpi tsi_starpumpi "${TRISTAR_STARPU_MODULE_NAME}")
  pkg_check_modules(TRISTAR_STARPUMPI QUIET IMPORTED_TARGET GLOBAL "${tsi_starpumpi}=${TRISTAR_STARPU_VERSION}")
  if(NOT TARGET TriStar::mpi)
    set(tsi_mpi_off "no MPI found (Debian: libopenmpi-dev)")
  elseif(NOT TRISTAR_STARPUMPI_FOUND)
    set(tsi_mpi_off "no ${tsi_starpumpi} ${TRISTAR_STARPU_VERSION} found: this StarPU was built without MPI")
  else()
    set(TRISTAR_HAVE_MPI TRUE CACHE INTERNAL "Distributed solves are built")
  endif()
  if(NOT TRISTAR_HAVE_MPI AND NOT TRISTAR_WITH_MPI STREQUAL AUTO)
    message(FATAL_ERROR "TRISTAR_WITH_MPI=${TRISTAR_WITH_MPI}: ${tsi_mpi_off}")
  endif()
endif()
if(TRISTAR_HAVE_MPI)
  message(STATUS "Distributed solves: on, MPI ${MPI_C_VERSION}, ${tsi_starpumpi} ${TRISTAR_STARPUMPI_VERSION}")
else()
  message(STATUS "Distributed solves: off, ${tsi_mpi_off}")
endif()

# PT-Scotch orders matrices whose rows lie on all ranks.
set(TRISTAR_HAVE_PTSCOTCH FALSE)
if(TRISTAR_HAVE_MPI)
  tsi_find_optional(PTSCOTCH 7.0 "no PT-Scotch 7 found (Debian: libptscotch-dev)" tsi_ptscotch_off)
endif()
if(TRISTAR_HAVE_PTSCOTCH)
  message(STATUS "Orderings by all ranks: on, PT-Scotch ${PTSCOTCH_VERSION}")
elseif(TRISTAR_HAVE_MPI)
  message(STATUS "Orderings by all ranks: off, ${tsi_ptscotch_off}")
endif()

# librsvg and cairo turn pictures of the program into .png and .pdf. Their headers are needed here; the program loads
# the library itself, when it is asked for such a picture.
set(TRISTAR_HAVE_RSVG FALSE)
set(tsi_rsvg_off "TRISTAR_WITH_RSVG=${TRISTAR_WITH_RSVG}")
if(TRISTAR_WITH_PROGRAM AND (TRISTAR_WITH_RSVG STREQUAL AUTO OR TRISTAR_WITH_RSVG))
  pkg_check_modules(TRISTAR_RSVG QUIET librsvg-2.0>=2.46 cairo-pdf cairo-png)
  if(TRISTAR_RSVG_FOUND)
    set(TRISTAR_HAVE_RSVG TRUE)
  else()
    set(tsi_rsvg_off "no librsvg 2.46 or later found (Debian: librsvg2-dev)")
    if(NOT TRISTAR_WITH_RSVG STREQUAL AUTO)
      message(FATAL_ERROR "TRISTAR_WITH_RSVG=${TRISTAR_WITH_RSVG}: ${tsi_rsvg_off}")
    endif()
  endif()
endif()
if(TRISTAR_HAVE_RSVG)
  message(STATUS "Pictures as .png and .pdf: on, librsvg ${TRISTAR_RSVG_librsvg-2.0_VERSION}")
elseif(TRISTAR_WITH_PROGRAM)
  message(STATUS "Pictures as .png and .pdf: off, ${tsi_rsvg_off}")
endif()

# The Python package reads the library by cffi. Debian's python3 first: others on the PATH seldom have its packages.
set(TRISTAR_HAVE_PYTHON FALSE)
set(tsi_python_off "TRISTAR_WITH_PYTHON=${TRISTAR_WITH_PYTHON}")
if(TRISTAR_SANITIZE)
  set(tsi_python_off "the library has a sanitizer, the interpreter has none")
elseif(TRISTAR_WITH_PYTHON STREQUAL AUTO OR TRISTAR_WITH_PYTHON)
  find_program(TRISTAR_PYTHON python3 HINTS /usr/bin)
  mark_as_advanced(TRISTAR_PYTHON)
  if(TRISTAR_PYTHON)
    execute_process(COMMAND "${TRISTAR_PYTHON}" -c "import sys, cffi, numpy, scipy; print('%d.%d' % sys.version_info[:2], end='')"
                    OUTPUT_VARIABLE TRISTAR_PYTHON_VERSION RESULT_VARIABLE tsi_python_failed ERROR_QUIET)
  endif()
  if(TRISTAR_PYTHON AND tsi_python_failed EQUAL 0)
    set(TRISTAR_HAVE_PYTHON TRUE)
  else()
    set(tsi_python_off "no Python with cffi, NumPy and SciPy found (Debian: python3-cffi python3-numpy python3-scipy)")
    if(NOT TRISTAR_WITH_PYTHON STREQUAL AUTO)
      message(FATAL_ERROR "TRISTAR_WITH_PYTHON=${TRISTAR_WITH_PYTHON}: ${tsi_python_off}")
    endif()
  endif()
endif()
if(TRISTAR_HAVE_PYTHON)
  message(STATUS "Python package: on, ${TRISTAR_PYTHON} ${TRISTAR_PYTHON_VERSION}")
else()
  message(STATUS "Python package: off, ${tsi_python_off}")
endif()

if(TRISTAR_WITH_PROGRAM)
  find_path(CJSON_INCLUDE_DIR cjson/cJSON.h)
  find_library(CJSON_LIBRARY cjson)
  mark_as_advanced(CJSON_INCLUDE_DIR CJSON_LIBRARY)
  if(NOT CJSON_INCLUDE_DIR OR NOT CJSON_LIBRARY)
    message(FATAL_ERROR "cJSON not found (Debian: libcjson-dev); "
                        "-DTRISTAR_WITH_PROGRAM=OFF builds the library alone")
  endif()
  add_library(TriStar::cjson UNKNOWN IMPORTED GLOBAL)
  set_target_properties(TriStar::cjson PROPERTIES IMPORTED_LOCATION "${CJSON_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${CJSON_INCLUDE_DIR}")
endif()
