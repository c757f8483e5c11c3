# Installs headers, libraries, adapters, program, the CMake package TriStar, tristar.pc, and tristar_NAME.pc for each further
# header tristar_NAME.h.
#
# The static library is an export of its own: only who links it needs the development files of StarPU,
# OpenBLAS, hwloc, METIS, AMD and zlib, and of Scotch, MPI and StarPU-MPI if it was built with them. So is each adapter: only
# who links it needs those of its solver.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)

set(tsi_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/TriStar")

set(tsi_headers_off "")
foreach(name IN LISTS tsi_adapters_off)
  list(APPEND tsi_headers_off PATTERN tristar_${name}.h EXCLUDE)
endforeach()
if(NOT TRISTAR_HAVE_MPI)
  list(APPEND tsi_headers_off PATTERN "*_mpi.h" EXCLUDE)
endif()
install(DIRECTORY runtime/include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp"
        ${tsi_headers_off})

# tsi_install_library(TARGET EXPORT COMPONENT): the library, and TriStar-EXPORT.cmake, which makes TriStar::TARGET of it. COMPONENT
# has the shared library.
function(tsi_install_library target export component)
  install(TARGETS ${target} EXPORT TriStar-${export}
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component} NAMELINK_COMPONENT dev
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
          INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT TriStar-${export} NAMESPACE TriStar:: DESTINATION "${tsi_package_dir}")
endfunction()
tsi_install_library(tristar shared runtime)
tsi_install_library(tristar_static static dev)
foreach(name IN LISTS tsi_adapters)
  tsi_install_library(tristar_${name} ${name}-shared adapters)
  tsi_install_library(tristar_${name}_static ${name}-static dev)
endforeach()
install(TARGETS tristar_order_part RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/tristar" COMPONENT runtime)
if(TRISTAR_WITH_PROGRAM)
  install(TARGETS tristar_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
  install(DIRECTORY tools/machines DESTINATION "${CMAKE_INSTALL_DATADIR}/tristar" COMPONENT program)
endif()

set(tsi_config_modules "")
set(tsi_config_packages "")
if(TRISTAR_HAVE_MPI)
  set(tsi_config_modules STARPUMPI=${tsi_starpumpi})
endif()
if(TRISTAR_HAVE_SCOTCH)
  list(APPEND tsi_config_packages SCOTCH)
endif()
if(TRISTAR_HAVE_PTSCOTCH)
  list(APPEND tsi_config_packages PTSCOTCH)
endif()
list(JOIN tsi_config_packages " " tsi_config_packages)
configure_package_config_file(tools/cmake/TriStarConfig.cmake.in TriStarConfig.cmake
                              INSTALL_DESTINATION "${tsi_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(TriStarConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/TriStarConfig.cmake"
              "${PROJECT_BINARY_DIR}/TriStarConfigVersion.cmake" tools/cmake/FindMETIS.cmake tools/cmake/FindAMD.cmake
              tools/cmake/FindSCOTCH.cmake tools/cmake/FindPTSCOTCH.cmake
              tools/cmake/TriStarSolver.cmake tools/cmake/TriStarMpi.cmake
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
# tsi_pc_mpi(LIST PROPERTY): appends what MPI needs; a compiler that is one of MPI's needs nothing.
function(tsi_pc_mpi list property)
  get_target_property(found MPI::MPI_C ${property})
  list(FILTER found EXCLUDE REGEX "-NOTFOUND$")
  set(${list} ${${list}} ${found} PARENT_SCOPE)
endfunction()
# tsi_pc_libraries(LIST): paths of libraries as flags.
macro(tsi_pc_libraries list)
  list(TRANSFORM ${list} REPLACE "^(/.*)/lib([^/]*)\\.(so|a|dylib)$" "-L\\1 -l\\2")
endmacro()
# What the static library needs, as flags: Requires.private would drag in what the static forms of StarPU and
# OpenBLAS need, and would make --cflags fail for users of the shared library who have neither.
cmake_path(GET METIS_LIBRARY PARENT_PATH tsi_metis_dir)
cmake_path(GET AMD_LIBRARY PARENT_PATH tsi_amd_dir)
set(tsi_pc_private ${TRISTAR_STARPU_LDFLAGS} ${TRISTAR_OPENBLAS_LDFLAGS} ${TRISTAR_HWLOC_LDFLAGS}
    "-L${tsi_metis_dir}" -lmetis "-L${tsi_amd_dir}" -lamd -lcamd -lz -lpthread -ldl -lm)
if(TRISTAR_HAVE_MPI)
  tsi_pc_mpi(tsi_pc_private INTERFACE_LINK_LIBRARIES)
  tsi_pc_libraries(tsi_pc_private)
  list(PREPEND tsi_pc_private ${TRISTAR_STARPUMPI_LDFLAGS})
endif()
if(TRISTAR_HAVE_SCOTCH)
  set(tsi_scotch_flags "${SCOTCH_LIBRARY}" "${SCOTCH_ERROR_LIBRARY}")
  tsi_pc_libraries(tsi_scotch_flags)
  list(PREPEND tsi_pc_private ${tsi_scotch_flags})
endif()
if(TRISTAR_HAVE_PTSCOTCH)
  set(tsi_ptscotch_flags "${PTSCOTCH_LIBRARY}" "${PTSCOTCH_SCOTCH_LIBRARY}" "${PTSCOTCH_ERROR_LIBRARY}")
  tsi_pc_libraries(tsi_ptscotch_flags)
  list(PREPEND tsi_pc_private ${tsi_ptscotch_flags})
endif()
if(TRISTAR_DEVICES)
  set(tsi_device_flags ${tsi_device_libraries})
  list(REMOVE_ITEM tsi_device_flags stdc++)
  tsi_pc_libraries(tsi_device_flags)
  list(APPEND tsi_pc_private ${tsi_device_flags} -lstdc++)
endif()
list(REMOVE_DUPLICATES tsi_pc_private)
list(JOIN tsi_pc_private " " tsi_pc_private)
configure_file(tools/cmake/tristar.pc.in tristar.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tristar.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# Further modules: headers that need more than tristar.h does, and adapters. As above flags, not Requires.
#
#   tsi_pc_module(NAME DESCRIPTION d [REQUIRES module...] [CFLAGS flag...] [LIBS flag...]): tristar_NAME.pc
function(tsi_pc_module tsi_pc_name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESCRIPTION" "REQUIRES;CFLAGS;LIBS")
  set(tsi_pc_description "${arg_DESCRIPTION}")
  list(TRANSFORM arg_REQUIRES APPEND " = ${PROJECT_VERSION}")
  list(JOIN arg_REQUIRES ", " tsi_pc_requires)
  list(REMOVE_DUPLICATES arg_CFLAGS)
  list(JOIN arg_CFLAGS " " tsi_pc_cflags)
  list(JOIN arg_LIBS " " tsi_pc_libs)
  configure_file(tools/cmake/tristar_module.pc.in tristar_${tsi_pc_name}.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/tristar_${tsi_pc_name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
tsi_pc_module(starpu DESCRIPTION "Solves among the tasks of a StarPU program" REQUIRES tristar
              CFLAGS ${TRISTAR_STARPU_CFLAGS} LIBS ${TRISTAR_STARPU_LDFLAGS})
if(TRISTAR_HAVE_MPI)
  set(tsi_mpi_cflags "")
  set(tsi_mpi_libs "")
  tsi_pc_mpi(tsi_mpi_cflags INTERFACE_INCLUDE_DIRECTORIES)
  tsi_pc_mpi(tsi_mpi_libs INTERFACE_LINK_LIBRARIES)
  list(TRANSFORM tsi_mpi_cflags PREPEND "-I")
  tsi_pc_libraries(tsi_mpi_libs)
  tsi_pc_module(mpi DESCRIPTION "Solves on the processes of an MPI communicator" REQUIRES tristar
                CFLAGS ${tsi_mpi_cflags} LIBS ${tsi_mpi_libs})
  tsi_pc_module(starpu_mpi DESCRIPTION "Solves among the tasks of a StarPU-MPI program"
                REQUIRES tristar_mpi tristar_starpu
                CFLAGS ${TRISTAR_STARPUMPI_CFLAGS} LIBS ${TRISTAR_STARPUMPI_LDFLAGS})
endif()
foreach(name IN LISTS tsi_adapters)
  get_target_property(tsi_solver_cflags TriStar::${name}_solver INTERFACE_INCLUDE_DIRECTORIES)
  get_target_property(tsi_solver_libs TriStar::${name}_solver INTERFACE_LINK_LIBRARIES)
  list(TRANSFORM tsi_solver_cflags PREPEND "-I")
  if(TriStar::mpi IN_LIST tsi_solver_libs)
    list(REMOVE_ITEM tsi_solver_libs TriStar::mpi)
    list(APPEND tsi_solver_cflags ${tsi_mpi_cflags})
    list(APPEND tsi_solver_libs ${tsi_mpi_libs})
  endif()
  tsi_pc_libraries(tsi_solver_libs)
  tsi_pc_module(${name} DESCRIPTION "Solves with the factors of ${name} through TriStar" REQUIRES tristar
                CFLAGS ${tsi_solver_cflags} LIBS -ltristar_${name} ${tsi_solver_libs})
endforeach()
