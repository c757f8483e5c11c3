# Finds the libraries that TriStar uses. Paths are set in the usual ways of CMake: PKG_CONFIG_PATH for StarPU,
# OpenBLAS and hwloc, CMAKE_PREFIX_PATH for METIS, AMD and cJSON.
#
# The imported targets are global because targets that link tristar_static need them.
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

# Around the search for a part of the build. tsi_wanted: the option TRISTAR_WITH_NAME allows the part.
macro(tsi_begin_part name)
  set(TRISTAR_HAVE_${name} FALSE)
  set(tsi_wanted FALSE)
  if(TRISTAR_WITH_${name} STREQUAL AUTO OR TRISTAR_WITH_${name})
    set(tsi_wanted TRUE)
  endif()
endmacro()
# Sets TRISTAR_HAVE_NAME and reports the part; tsi_off is the reason if it is off. MISSING: the part that was not found.
macro(tsi_end_part name what found version missing)
  set(tsi_off "TRISTAR_WITH_${name}=${TRISTAR_WITH_${name}}")
  if(tsi_wanted AND "${found}")
    set(TRISTAR_HAVE_${name} TRUE)
    message(STATUS "${what}: on, ${version}")
  else()
    if(tsi_wanted AND NOT TRISTAR_WITH_${name} STREQUAL AUTO)
      message(FATAL_ERROR "${tsi_off}: ${missing}")
    elseif(tsi_wanted)
      set(tsi_off "${missing}")
    endif()
    message(STATUS "${what}: off, ${tsi_off}")
  endif()
endmacro()
macro(tsi_find_part name what version missing)
  tsi_begin_part(${name})
  if(tsi_wanted)
    find_package(${name} ${version} QUIET GLOBAL)
  endif()
  tsi_end_part(${name} "${what}" "${${name}_FOUND}" "${name} ${${name}_VERSION}" "${missing}")
endmacro()

# Scotch is one of the orderings.
tsi_find_part(SCOTCH "Orderings by Scotch" 7.0 "no Scotch 7 found (Debian: libscotch-dev)")
set(tsi_scotch "")
if(TRISTAR_HAVE_SCOTCH)
  set(tsi_scotch SCOTCH::SCOTCH)
endif()

set(TRISTAR_HAVE_MPI FALSE)
if(NOT TRISTAR_WITH_STARPU)
  message(STATUS "Without StarPU: OpenBLAS ${TRISTAR_OPENBLAS_VERSION}, METIS ${METIS_VERSION}, AMD ${AMD_VERSION}")
  return()
endif()

include(TriStarMpi)
find_package(ZLIB REQUIRED GLOBAL)

# StarPU 1.4 also installs a file starpu-1.3.pc, so the newer name is searched first.
pkg_search_module(TRISTAR_STARPU REQUIRED IMPORTED_TARGET GLOBAL starpu-1.4 starpu-1.3)
pkg_check_modules(TRISTAR_HWLOC REQUIRED IMPORTED_TARGET GLOBAL hwloc>=2.0)
message(STATUS "StarPU ${TRISTAR_STARPU_VERSION} (${TRISTAR_STARPU_MODULE_NAME}), "
               "OpenBLAS ${TRISTAR_OPENBLAS_VERSION}, hwloc ${TRISTAR_HWLOC_VERSION}, METIS ${METIS_VERSION}, AMD ${AMD_VERSION}")

# A StarPU that was built with SimGrid simulates a machine: the program reports the times of solves there.
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

# MPI (found by MPI_C_COMPILER or PATH), and the StarPU-MPI that belongs to this StarPU (PKG_CONFIG_PATH).
tsi_begin_part(MPI)
if(tsi_wanted)
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
  find_package(MPI QUIET COMPONENTS C) # here, since the variables that it sets would be local to a function
  unset(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL)
  tristar_find_mpi()
  string(REPLACE starpu starpumpi tsi_starpumpi "${TRISTAR_STARPU_MODULE_NAME}")
  pkg_check_modules(TRISTAR_STARPUMPI QUIET IMPORTED_TARGET GLOBAL "${tsi_starpumpi}=${TRISTAR_STARPU_VERSION}")
  set(tsi_missing "no ${tsi_starpumpi} ${TRISTAR_STARPU_VERSION} found: this StarPU was built without MPI")
  if(NOT TARGET TriStar::mpi)
    set(tsi_missing "no MPI found (Debian: libopenmpi-dev)")
    set(TRISTAR_STARPUMPI_FOUND FALSE)
  endif()
endif()
tsi_end_part(MPI "Distributed solves" "${TRISTAR_STARPUMPI_FOUND}"
             "MPI ${MPI_C_VERSION}, ${tsi_starpumpi} ${TRISTAR_STARPUMPI_VERSION}" "${tsi_missing}")
set(TRISTAR_HAVE_MPI ${TRISTAR_HAVE_MPI} CACHE INTERNAL "Distributed solves are built") # rules look it up there

# PT-Scotch orders matrices whose rows are distributed over all ranks.
set(TRISTAR_HAVE_PTSCOTCH FALSE)
if(TRISTAR_HAVE_MPI)
  tsi_find_part(PTSCOTCH "Orderings by all ranks" 7.0 "no PT-Scotch 7 found (Debian: libptscotch-dev)")
endif()

# librsvg and cairo turn pictures of the program into .png and .pdf. Their headers are needed here; the program loads
# the library itself when it writes such a picture.
set(TRISTAR_HAVE_RSVG FALSE)
if(TRISTAR_WITH_PROGRAM)
  tsi_begin_part(RSVG)
  if(tsi_wanted)
    pkg_check_modules(TRISTAR_RSVG QUIET librsvg-2.0>=2.46 cairo-pdf cairo-png)
  endif()
  tsi_end_part(RSVG "Pictures as .png and .pdf" "${TRISTAR_RSVG_FOUND}" "librsvg ${TRISTAR_RSVG_librsvg-2.0_VERSION}"
               "no librsvg 2.46 or later found (Debian: librsvg2-dev)")
endif()

# The Python package calls the library by cffi. Debian's python3 is preferred: others in PATH seldom have its packages.
set(TRISTAR_HAVE_PYTHON FALSE)
set(tsi_python_off "the library has a sanitizer, the interpreter has none")
if(NOT TRISTAR_SANITIZE)
  tsi_begin_part(PYTHON)
  set(tsi_python_found FALSE)
  if(tsi_wanted)
    find_program(TRISTAR_PYTHON python3 HINTS /usr/bin)
    mark_as_advanced(TRISTAR_PYTHON)
    if(TRISTAR_PYTHON)
      execute_process(COMMAND "${TRISTAR_PYTHON}" -c "import sys, cffi, numpy, scipy; print('%d.%d' % sys.version_info[:2], end='')"
                      OUTPUT_VARIABLE TRISTAR_PYTHON_VERSION RESULT_VARIABLE tsi_python_failed ERROR_QUIET)
      if(tsi_python_failed EQUAL 0)
        set(tsi_python_found TRUE)
      endif()
    endif()
  endif()
  tsi_end_part(PYTHON "Python package" "${tsi_python_found}" "${TRISTAR_PYTHON} ${TRISTAR_PYTHON_VERSION}"
               "no Python with cffi, NumPy and SciPy found (Debian: python3-cffi python3-numpy python3-scipy)")
  set(tsi_python_off "${tsi_off}")
endif()

include(TsiPetsc)

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
