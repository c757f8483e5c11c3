# Finds Scotch 7, whose contexts make it deterministic; it has no pkg-config file everywhere. Gives SCOTCH::SCOTCH,
# SCOTCH_INCLUDE_DIR and SCOTCH_VERSION. Also installed beside TriStarConfig.cmake.
#
# The target has no include directory: beside scotch.h there may be a metis.h with other types than METIS's.
find_path(SCOTCH_INCLUDE_DIR scotch.h PATH_SUFFIXES scotch)
find_library(SCOTCH_LIBRARY scotch)
find_library(SCOTCH_ERROR_LIBRARY scotcherr)
mark_as_advanced(SCOTCH_INCLUDE_DIR SCOTCH_LIBRARY SCOTCH_ERROR_LIBRARY)

set(SCOTCH_VERSION "")
if(SCOTCH_INCLUDE_DIR AND EXISTS "${SCOTCH_INCLUDE_DIR}/scotch.h")
  file(STRINGS "${SCOTCH_INCLUDE_DIR}/scotch.h" scotch_lines
       REGEX "^#define[ \t]+SCOTCH_(VERSION|RELEASE|PATCHLEVEL)[ \t]+[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" scotch_lines "${scotch_lines}")
  list(JOIN scotch_lines "." SCOTCH_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SCOTCH REQUIRED_VARS SCOTCH_LIBRARY SCOTCH_ERROR_LIBRARY SCOTCH_INCLUDE_DIR
                                  VERSION_VAR SCOTCH_VERSION)

if(SCOTCH_FOUND AND NOT TARGET SCOTCH::SCOTCH)
  add_library(SCOTCH::SCOTCH UNKNOWN IMPORTED)
  set_target_properties(SCOTCH::SCOTCH PROPERTIES IMPORTED_LOCATION "${SCOTCH_LIBRARY}"
                        INTERFACE_LINK_LIBRARIES "${SCOTCH_ERROR_LIBRARY}")
endif()
