# tristar_find_mpi()
#
# Defines the target TriStar::mpi, MPI's C interface, if MPI is found. FindMPI supports only the languages that a project has
# enabled, and C++ programs can use the C interface, too. So this searches for C, or otherwise for C++. Used to build TriStar,
# and by TriStarConfig.cmake.
function(tristar_find_mpi)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
  foreach(language C CXX)
    if(TARGET TriStar::mpi OR NOT language IN_LIST languages)
      continue()
    endif()
    find_package(MPI QUIET COMPONENTS ${language})
    if(TARGET MPI::MPI_${language})
      add_library(TriStar::mpi INTERFACE IMPORTED GLOBAL)
      set_target_properties(TriStar::mpi PROPERTIES INTERFACE_LINK_LIBRARIES MPI::MPI_${language})
    endif()
  endforeach()
endfunction()
