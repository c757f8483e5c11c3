# Installs header, libraries, program, the CMake package TriStar and tristar.pc.
#
# The static library is an export of its own: only who links it needs the development files of StarPU,
# OpenBLAS, hwloc, METIS and zlib.
include(CMakePackageConfigHelpers)

set(tsi_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/TriStar")

install(DIRECTORY runtime/include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
foreach(kind shared static)
  if(kind STREQUAL shared)
    set(target tristar)
  else()
    set(target tristar_static)
  endif()
  install(TARGETS ${target} EXPORT TriStar-${kind}
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
          INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT TriStar-${kind} NAMESPACE TriStar:: DESTINATION "${tsi_package_dir}")
endforeach()
if(TRISTAR_WITH_PROGRAM)
  install(TARGETS tristar_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

configure_package_config_file(tools/cmake/TriStarConfig.cmake.in TriStarConfig.cmake
                              INSTALL_DESTINATION "${tsi_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(TriStarConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/TriStarConfig.cmake"
              "${PROJECT_BINARY_DIR}/TriStarConfigVersion.cmake" tools/cmake/FindMETIS.cmake
        DESTINATION "${tsi_package_dir}")

# tristar.pc finds its prefix from its own place, unless the library directory lies elsewhere.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(tsi_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH tsi_pc_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  string(PREPEND tsi_pc_prefix [[${pcfiledir}/]])
endif()
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY [[${prefix}]] OUTPUT_VARIABLE tsi_pc_libdir)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY [[${prefix}]]
           OUTPUT_VARIABLE tsi_pc_includedir)
# What the static library needs, as flags: Requires.private would drag in what the static forms of StarPU and
# OpenBLAS need, and would make --cflags fail for users of the shared library who have neither.
cmake_path(GET METIS_LIBRARY PARENT_PATH tsi_metis_dir)
set(tsi_pc_private ${TRISTAR_STARPU_LDFLAGS} ${TRISTAR_OPENBLAS_LDFLAGS} ${TRISTAR_HWLOC_LDFLAGS}
    "-L${tsi_metis_dir}" -lmetis -lz -lpthread -lm)
list(REMOVE_DUPLICATES tsi_pc_private)
list(JOIN tsi_pc_private " " tsi_pc_private)
configure_file(tools/cmake/tristar.pc.in tristar.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tristar.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
