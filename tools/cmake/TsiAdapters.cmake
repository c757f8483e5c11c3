# Adapters: separate libraries that import the factors of other solvers.
#
#   tsi_adapter(NAME HEADER file LIBRARIES lib... [PATH_SUFFIXES dir...] [MPI] [SCALARS s d ...])
#
# defines tristar_NAME (shared) and tristar_NAME_static, and TriStar::tristar_NAME as an alias, if the solver is
# found. Option TRISTAR_ADAPTER_NAME: AUTO (if it is found), ON (an error if it is not found), OFF. HEADER,
# LIBRARIES, PATH_SUFFIXES and MPI are the arguments of the search for the solver (TriStarSolver.cmake).
#
# Sources: runtime/adapters/NAME.c and NAME_*.c once; typed_NAME.c and typed_NAME_*.c once for each of SCALARS,
# with -DTSI_SCALAR_S, _D, _C or _Z. (A file belongs to the adapter with the longest name that it starts with.)
# They include "runtime/adapters/....h", "tristar_adapter.h", "tristar_NAME.h" and the headers of the solver.
# Public header: runtime/include/tristar_NAME.h.
#
# tsi_adapters are the names of the adapters that are built, tsi_adapters_off of those that are not;
# tsi_adapter_NAME_off is the reason why a solver was not found.
include(TriStarSolver)
set(tsi_adapters "")
set(tsi_adapters_off "")
set(tsi_adapters_find "") # for TriStarConfig.cmake: a line of code for each adapter

# tsi_adapter_sources(OUT PREFIX NAME): the files runtime/adapters/PREFIXNAME.c and PREFIXNAME_*.c.
function(tsi_adapter_sources out prefix name)
  set(folder "${PROJECT_SOURCE_DIR}/runtime/adapters")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/${prefix}${name}.c" "${folder}/${prefix}${name}_*.c")
  file(GLOB longer CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/runtime/include/tristar_${name}_*.h")
  foreach(header IN LISTS longer)
    string(REGEX REPLACE ".*/tristar_([^/]*)\\.h$" "\\1" other "${header}")
    list(FILTER sources EXCLUDE REGEX "/${prefix}${other}[._][^/]*$")
  endforeach()
  set(${out} "${sources}" PARENT_SCOPE)
endfunction()

# tsi_adapter_objects(TARGET NAME SOURCES...): an object library; adds it to the caller's list `objects`.
function(tsi_adapter_objects target name)
  add_library(${target} OBJECT ${ARGN})
  target_link_libraries(${target} PRIVATE tsi_internal TriStar::${name}_solver)
  set(objects ${objects} ${target} PARENT_SCOPE)
endfunction()

function(tsi_adapter_library target kind name core)
  add_library(${target} ${kind})
  foreach(object IN LISTS ARGN)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
  target_link_libraries(${target} PUBLIC TriStar::${core} TriStar::${name}_solver)
  if(TRISTAR_SANITIZE)
    target_link_options(${target} PRIVATE "-fsanitize=${TRISTAR_SANITIZE}")
  elseif(kind STREQUAL SHARED)
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(${target} PROPERTIES OUTPUT_NAME tristar_${name} LINKER_LANGUAGE C)
  if(kind STREQUAL SHARED)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} INSTALL_RPATH $ORIGIN
                          SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  endif()
  add_library(TriStar::${target} ALIAS ${target})
endfunction()

# Searches for the solver according to the option. If there is none, tsi_adapter_NAME_off is the reason.
macro(tsi_adapter_find name option)
  set(tsi_adapter_${name}_off "")
  if("${${option}}" STREQUAL AUTO OR "${${option}}")
    tristar_find_solver(${name} ${ARGN})
    if(${name}_solver_MISSING)
      set(tsi_adapter_${name}_off "${${name}_solver_MISSING} not found")
      if(NOT "${${option}}" STREQUAL AUTO)
        message(FATAL_ERROR "${option}=${${option}}: ${${name}_solver_MISSING} not found")
      endif()
    endif()
  else()
    set(tsi_adapter_${name}_off "${option}=${${option}}")
  endif()
endmacro()

function(tsi_adapter name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SCALARS")
  string(TOUPPER "TRISTAR_ADAPTER_${name}" option)
  set(${option} AUTO CACHE STRING "Import factors of ${name}: AUTO (where it is found), ON or OFF")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  tsi_adapter_sources(sources "" ${name})
  tsi_adapter_sources(typed typed_ ${name})
  if(sources OR typed)
    tsi_adapter_find(${name} ${option} ${arg_UNPARSED_ARGUMENTS})
  else()
    set(tsi_adapter_${name}_off "no sources in runtime/adapters")
  endif()
  set(tsi_adapter_${name}_off "${tsi_adapter_${name}_off}" PARENT_SCOPE)
  if(tsi_adapter_${name}_off)
    message(STATUS "Adapter ${name}: off, ${tsi_adapter_${name}_off}")
    set(tsi_adapters_off ${tsi_adapters_off} ${name} PARENT_SCOPE)
    return()
  endif()

  set(objects "")
  if(sources)
    tsi_adapter_objects(tsi_adapter_${name} ${name} ${sources})
  endif()
  if(typed)
    foreach(scalar IN LISTS arg_SCALARS)
      string(TOUPPER ${scalar} letter)
      tsi_adapter_objects(tsi_adapter_${name}_${scalar} ${name} ${typed})
      target_compile_definitions(tsi_adapter_${name}_${scalar} PRIVATE TSI_SCALAR_${letter})
    endforeach()
  endif()
  tsi_adapter_library(tristar_${name} SHARED ${name} tristar ${objects})
  tsi_adapter_library(tristar_${name}_static STATIC ${name} tristar_static ${objects})
  message(STATUS "Adapter ${name}: on")
  list(JOIN arg_UNPARSED_ARGUMENTS " " words)
  set(tsi_adapters ${tsi_adapters} ${name} PARENT_SCOPE)
  set(tsi_adapters_find "${tsi_adapters_find}set(TriStar_find_${name} ${words})\n" PARENT_SCOPE)
endfunction()
