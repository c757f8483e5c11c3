# Debian packages, which `cpack` makes of a build whose prefix is /usr (tools/package): a package for each component of
# the installation. Dependences on libraries are read off the binaries by dpkg-shlibdeps.
#
#   runtime   libtristarM.N     the library, and the program that orders a part
#   program   tristar           the program and its manual page
#   adapters  libtristar-adapters  the libraries that read other solvers' factors
#   dev       libtristar-dev    headers, static libraries, CMake package, pkg-config, module of Fortran
#   python    python3-tristar   the Python package
#   petsc     libtristar-petsc  the plug-in for PETSc
#   peers     tristar-peers     the other solvers of `tristar bench`
#   doc       tristar-doc       guide and examples
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "TriStar developers <maintainers@tristar.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(tsi_runtime_package "libtristar${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(CPACK_COMPONENTS_ALL "")
# Each package has the licence and a list of changes, as Debian demands.
if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
  string(TIMESTAMP tsi_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE "${PROJECT_BINARY_DIR}/changelog" "tristar (${PROJECT_VERSION}) unstable; urgency=medium

  * See guide/changes.md of the package tristar-doc.

 -- ${CPACK_PACKAGE_CONTACT}  ${tsi_date}
")
  execute_process(COMMAND gzip -9nf "${PROJECT_BINARY_DIR}/changelog" COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE "${PROJECT_BINARY_DIR}/triggers" "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/triggers")
  set(CPACK_DEBIAN_ADAPTERS_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/triggers")
endif()
# tsi_package(COMPONENT NAME DESCRIPTION [DEPENDS]): DEPENDS as in debian/control, beside the libraries.
macro(tsi_package component name description)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${ARGN}")
  if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
    install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${name}" RENAME copyright
            COMPONENT ${component})
    install(FILES "${PROJECT_BINARY_DIR}/changelog.gz" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${name}" COMPONENT ${component})
  endif()
endmacro()
set(tsi_same "(= ${PROJECT_VERSION})")
tsi_package(runtime ${tsi_runtime_package} "Shared library of TriStar: sparse triangular solves on StarPU")
tsi_package(adapters libtristar-adapters "Solves with the factors of CHOLMOD, UMFPACK, KLU and SuperLU"
            "${tsi_runtime_package} ${tsi_same}")
tsi_package(dev libtristar-dev "Headers, static libraries, CMake package and Fortran module of TriStar"
            "${tsi_runtime_package} ${tsi_same}, libtristar-adapters ${tsi_same}")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "libstarpu-dev | libstarpu-contrib-dev, libopenmpi-dev, pkg-config")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
tsi_package(doc tristar-doc "Guide and examples of TriStar")
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
if(TRISTAR_WITH_PROGRAM)
  tsi_package(program tristar "Program that solves sparse linear systems, measures and draws")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "${tsi_runtime_package}, librsvg2-2")
endif()
if(TRISTAR_HAVE_PYTHON)
  tsi_package(python python3-tristar "TriStar from Python: direct and iterative solvers like scipy.sparse.linalg"
              "${tsi_runtime_package} ${tsi_same}, python3, python3-numpy, python3-scipy, python3-cffi")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
endif()
if(TRISTAR_PETSC_KINDS)
  tsi_package(petsc libtristar-petsc "TriStar as a solver and preconditioner of PETSc" "${tsi_runtime_package} ${tsi_same}")
endif()
if(TRISTAR_BUILD_PEERS)
  tsi_package(peers tristar-peers "Other solvers, for comparisons by tristar bench" "tristar ${tsi_same}")
endif()
include(CPack)
