# Finds PT-Scotch 7, whose contexts make it deterministic; it has no pkg-config file everywhere. Gives
# PTSCOTCH::PTSCOTCH and PTSCOTCH_VERSION. Needs MPI's C interface as TriStar::mpi. Also installed beside
# TriStarConfig.cmake.
find_path(PTSCOTCH_INCLUDE_DIR ptscotch.h PATH_SUFFIXES scotch ptscotch)
find_library(PTSCOTCH_LIBRARY ptscotch)
find_library(PTSCOTCH_SCOTCH_LIBRARY scotch)
find_library(PTSCOTCH_ERROR_LIBRARY ptscotcherr)
mark_as_advanced(PTSCOTCH_INCLUDE_DIR PTSCOTCH_LIBRARY PTSCOTCH_SCOTCH_LIBRARY PTSCOTCH_ERROR_LIBRARY)

set(PTSCOTCH_VERSION "")
if(PTSCOTCH_INCLUDE_DIR AND EXISTS "${PTSCOTCH_INCLUDE_DIR}/scotch.h")
  file(STRINGS "${PTSCOTCH_INCLUDE_DIR}/scotch.h" ptscotch_lines
       REGEX "^#define[ \t]+SCOTCH_(VERSION|RELEASE|PATCHLEVEL)[ \t]+[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" ptscotch_lines "${ptscotch_lines}")
  list(JOIN ptscotch_lines "." PTSCOTCH_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PTSCOTCH REQUIRED_VARS PTSCOTCH_LIBRARY PTSCOTCH_SCOTCH_LIBRARY
                                  PTSCOTCH_ERROR_LIBRARY PTSCOTCH_INCLUDE_DIR VERSION_VAR PTSCOTCH_VERSION)

if(PTSCOTCH_FOUND AND NOT TARGET PTSCOTCH::PTSCOTCH)
  add_library(PTSCOTCH::PTSCOTCH UNKNOWN IMPORTED)
  set_target_properties(PTSCOTCH::PTSCOTCH PROPERTIES IMPORTED_LOCATION "${PTSCOTCH_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${PTSCOTCH_INCLUDE_DIR}"
                        INTERFACE_LINK_LIBRARIES
                        "${PTSCOTCH_SCOTCH_LIBRARY};${PTSCOTCH_ERROR_LIBRARY};TriStar::mpi")
endif()
