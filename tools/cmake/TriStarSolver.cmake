# tristar_find_solver(NAME HEADER file LIBRARIES lib... [PATH_SUFFIXES dir...] [MPI])
#
# Finds the solver whose factors the adapter NAME imports: its header (in one of the subfolders PATH_SUFFIXES
# of an include directory, or directly) and its libraries; MPI if the header needs it. Paths are set in the usual
# ways of CMake, such as CMAKE_PREFIX_PATH. Used to build TriStar, and by TriStarConfig.cmake.
#
# Defines the target TriStar::NAME_solver if all parts are found; otherwise NAME_solver_MISSING is the missing part.
include("${CMAKE_CURRENT_LIST_DIR}/TriStarMpi.cmake")

function(tristar_find_solver name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MPI" "HEADER" "LIBRARIES;PATH_SUFFIXES")
  string(TOUPPER ${name} upper)
  set(prefix TRISTAR_${upper})
  set(missing "")
  find_path(${prefix}_INCLUDE_DIR ${arg_HEADER} PATH_SUFFIXES ${arg_PATH_SUFFIXES})
  mark_as_advanced(${prefix}_INCLUDE_DIR)
  if(NOT ${prefix}_INCLUDE_DIR)
    list(APPEND missing ${arg_HEADER})
  endif()
  set(link "")
  foreach(library IN LISTS arg_LIBRARIES)
    find_library(${prefix}_LIBRARY_${library} ${library})
    mark_as_advanced(${prefix}_LIBRARY_${library})
    if(NOT ${prefix}_LIBRARY_${library})
      list(APPEND missing lib${library})
    endif()
    list(APPEND link "${${prefix}_LIBRARY_${library}}")
  endforeach()
  if(arg_MPI)
    tristar_find_mpi()
    if(NOT TARGET TriStar::mpi)
      list(APPEND missing MPI)
    endif()
    list(APPEND link TriStar::mpi)
  endif()
  list(JOIN missing ", " missing)
  set(${name}_solver_MISSING "${missing}" PARENT_SCOPE)
  if(NOT missing AND NOT TARGET TriStar::${name}_solver)
    add_library(TriStar::${name}_solver INTERFACE IMPORTED GLOBAL)
    set_target_properties(TriStar::${name}_solver PROPERTIES
                          INTERFACE_INCLUDE_DIRECTORIES "${${prefix}_INCLUDE_DIR}"
                          INTERFACE_LINK_LIBRARIES "${link}")
  endif()
endfunction()
