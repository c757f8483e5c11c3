# Finds METIS 5, which has neither a pkg-config file nor a CMake package everywhere. Gives METIS::METIS and
# METIS_VERSION. Also installed beside TriStarConfig.cmake.
find_path(METIS_INCLUDE_DIR metis.h)
find_library(METIS_LIBRARY metis)
mark_as_advanced(METIS_INCLUDE_DIR METIS_LIBRARY)

set(METIS_VERSION "")
if(METIS_INCLUDE_DIR)
  file(STRINGS "${METIS_INCLUDE_DIR}/metis.h" metis_lines
       REGEX "^#define[ \t]+METIS_VER_(MAJOR|MINOR|SUBMINOR)[ \t]+[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" metis_lines "${metis_lines}")
  list(JOIN metis_lines "." METIS_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(METIS REQUIRED_VARS METIS_LIBRARY METIS_INCLUDE_DIR
                                  VERSION_VAR METIS_VERSION)

if(METIS_FOUND AND NOT TARGET METIS::METIS)
  add_library(METIS::METIS UNKNOWN IMPORTED)
  set_target_properties(METIS::METIS PROPERTIES IMPORTED_LOCATION "${METIS_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${METIS_INCLUDE_DIR}")
endif()
