# Finds SuiteSparse's AMD and CAMD, which have neither a pkg-config file nor a CMake package everywhere. Gives
# AMD::AMD, of both, and AMD_VERSION. Also installed beside TriStarConfig.cmake.
find_path(AMD_INCLUDE_DIR amd.h PATH_SUFFIXES suitesparse)
find_library(AMD_LIBRARY amd)
find_library(AMD_CAMD_LIBRARY camd)
mark_as_advanced(AMD_INCLUDE_DIR AMD_LIBRARY AMD_CAMD_LIBRARY)

set(AMD_VERSION "")
if(AMD_INCLUDE_DIR)
  file(STRINGS "${AMD_INCLUDE_DIR}/amd.h" amd_lines REGEX "^#define[ \t]+AMD_(MAIN|SUB|SUBSUB)_VERSION[ \t]+[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" amd_lines "${amd_lines}")
  list(JOIN amd_lines "." AMD_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(AMD REQUIRED_VARS AMD_LIBRARY AMD_CAMD_LIBRARY AMD_INCLUDE_DIR VERSION_VAR AMD_VERSION)

if(AMD_FOUND AND NOT TARGET AMD::AMD)
  add_library(AMD::AMD UNKNOWN IMPORTED)
  set_target_properties(AMD::AMD PROPERTIES IMPORTED_LOCATION "${AMD_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${AMD_INCLUDE_DIR}"
                        INTERFACE_LINK_LIBRARIES "${AMD_CAMD_LIBRARY}")
endif()
