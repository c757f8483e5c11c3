# Targets of the build: flags that all share, one object library per layer and per kind of kernel, and the
# libraries made of them.
#
#   tsi_flags                          warnings, sanitizers: for all that is compiled here
#   tsi_internal                       tsi_flags, and the way to the internal headers
#   tsi_sources(OUT DIR...)            the C files of the folders [EXCLUDE PREFIX | ONLY PREFIX]
#   tsi_layer(NAME DIR...)             object library tsi_NAME [EXCLUDE PREFIX] [LINK target...]
#   tsi_typed(DIR... SCALARS s d ...)  DIR/typed_*.c once for each scalar type [LINK ...]
#   tsi_kernels(DIR... SCALARS s d ..) DIR/kernel_*.c once for each scalar type and instruction set [LINK ...];
#                                      those of SOURCES for entries stored as STORED: S, B (codelets/cpu/base/entry.h)
#   tsi_core_library(NAME)             a static library of the layers so far, which need no StarPU: for tests
#   tsi_add_layers(TARGET)             all layers [EXCLUDE object library...] and what they need
#   tsi_library(NAME SHARED|STATIC)    a library of all layers
include(CheckCCompilerFlag)
include(CheckCSourceRuns)
include(CMakePushCheckState)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Debian's packages find all libraries where the system has them.
if(NOT CMAKE_INSTALL_PREFIX STREQUAL /usr)
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()

add_library(tsi_flags INTERFACE)
# TRISTAR_NO_COMPAT: code of TriStar includes the headers that it uses, not all that version 0.2 had in tristar.h.
target_compile_definitions(tsi_flags INTERFACE _GNU_SOURCE $<$<COMPILE_LANGUAGE:C>:TRISTAR_NO_COMPAT>)
# The prefix map makes __FILE__, which error messages show, relative to the source tree.
target_compile_options(tsi_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion
                       "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(TRISTAR_WERROR)
  target_compile_options(tsi_flags INTERFACE -Werror)
endif()
if(TRISTAR_SANITIZE)
  target_compile_options(tsi_flags INTERFACE "-fsanitize=${TRISTAR_SANITIZE}" -fno-omit-frame-pointer
                         "$<$<BOOL:${TRISTAR_NO_SANITIZE}>:-fno-sanitize=${TRISTAR_NO_SANITIZE}>")
  target_link_options(tsi_flags INTERFACE "-fsanitize=${TRISTAR_SANITIZE}")
endif()

add_library(tsi_internal INTERFACE)
target_include_directories(tsi_internal INTERFACE "${PROJECT_SOURCE_DIR}"
                           "${PROJECT_SOURCE_DIR}/runtime/include")
target_link_libraries(tsi_internal INTERFACE tsi_flags Threads::Threads)
if(TRISTAR_HAVE_MPI)
  target_compile_definitions(tsi_internal INTERFACE TSI_HAVE_MPI)
endif()
if(TRISTAR_SIMULATED)
  target_compile_definitions(tsi_internal INTERFACE TSI_SIMULATED)
endif()

# Instruction sets of the kernels: the best that the processor has is chosen when the program runs.
set(tsi_isas base)
set(tsi_isa_flags_base "")
set(tsi_isa_flags_avx2 -mavx2 -mfma)
set(tsi_isa_flags_avx512 ${tsi_isa_flags_avx2} -mavx512f -mavx512dq -mavx512vl -mavx512bw
    -mprefer-vector-width=512)
if(NOT TRISTAR_KERNELS MATCHES "^(ALL|NATIVE|WIDEST|BASE)$")
  message(FATAL_ERROR "TRISTAR_KERNELS is \"${TRISTAR_KERNELS}\"; it can be ALL, NATIVE, WIDEST or BASE")
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND NOT TRISTAR_KERNELS STREQUAL BASE)
  check_c_compiler_flag("${tsi_isa_flags_avx512}" TRISTAR_COMPILER_HAS_AVX512)
  if(TRISTAR_COMPILER_HAS_AVX512)
    list(APPEND tsi_isas avx2 avx512)
  endif()
  if(TRISTAR_KERNELS MATCHES "NATIVE|WIDEST")
    foreach(isa avx2 avx512f)
      check_c_source_runs("int main(void) { return !__builtin_cpu_supports(\"${isa}\"); }" TRISTAR_MACHINE_HAS_${isa})
      if(NOT TRISTAR_MACHINE_HAS_${isa})
        list(FILTER tsi_isas EXCLUDE REGEX "avx512|^${isa}$") # AVX-512 has AVX2
      endif()
    endforeach()
  endif()
  if(TRISTAR_KERNELS STREQUAL WIDEST)
    list(GET tsi_isas -1 tsi_isas)
  endif()
endif()
# If other sets are built, only processors from before 2013 use the plainest one. With -Os it is a fifth shorter than with -O2.
list(LENGTH tsi_isas tsi_isa_count)
if(tsi_isa_count GREATER 1)
  set(tsi_isa_flags_base $<$<CONFIG:Release,RelWithDebInfo>:-Os>)
endif()
string(TOUPPER "${tsi_isas}" tsi_isa_definitions)
list(TRANSFORM tsi_isa_definitions PREPEND TSI_KERNELS_) # for codelets/cpu/kernels.c

set(tsi_objects "" CACHE INTERNAL "Object libraries that make up the library")

function(tsi_sources out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXCLUDE;ONLY" "")
  set(sources "")
  foreach(dir IN LISTS arg_UNPARSED_ARGUMENTS)
    file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${dir}/${arg_ONLY}*.c")
    list(APPEND sources ${found})
  endforeach()
  if(arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "/${arg_EXCLUDE}[^/]*$")
  endif()
  set(${out} "${sources}" PARENT_SCOPE)
endfunction()

# -ffunction-sections: the shared library leaves out functions that only the program and the tests call.
function(tsi_objects target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_library(${target} OBJECT ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE tsi_internal ${arg_LINK})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-ffunction-sections>)
  set(tsi_objects ${tsi_objects} ${target} CACHE INTERNAL "")
endfunction()

# For all but kernels -O2 in the place of -O3: factorizations and solves take at most 1 % more instructions, and the code a fifth
# less room. gcc vectorizes as with -O3.
function(tsi_plain_options target)
  if(CMAKE_C_FLAGS_RELEASE MATCHES "-O3")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>
                           $<$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>:-fvect-cost-model=dynamic>)
  endif()
endfunction()

function(tsi_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXCLUDE" "LINK")
  tsi_sources(sources ${arg_UNPARSED_ARGUMENTS} EXCLUDE "${arg_EXCLUDE}")
  if(sources)
    tsi_objects(tsi_${name} SOURCES ${sources} LINK ${arg_LINK})
    tsi_plain_options(tsi_${name})
  endif()
endfunction()

# Nobody reads errno or floating-point exceptions after a kernel; -ffast-math stays out, it would reorder sums.
# Nothing unwinds through a kernel: tables for that would be a hundredth of the library. With debug information gdb has its own.
# -Wpsabi warns of passing vectors wider than the registers: kernels pass them to inlined functions only.
function(tsi_typed)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SCALARS;LINK")
  tsi_sources(sources ${arg_UNPARSED_ARGUMENTS} ONLY typed_)
  foreach(scalar IN LISTS arg_SCALARS)
    string(TOUPPER ${scalar} letter)
    tsi_objects(tsi_typed_${scalar} SOURCES ${sources} LINK ${arg_LINK})
    tsi_plain_options(tsi_typed_${scalar})
    target_compile_definitions(tsi_typed_${scalar} PRIVATE TSI_SCALAR_${letter})
    # as kernels: nobody reads errno, no exception passes these functions, and debug information has tables of its own
    target_compile_options(tsi_typed_${scalar} PRIVATE -fno-math-errno $<$<CONFIG:Release,RelWithDebInfo>:-fno-asynchronous-unwind-tables>)
  endforeach()
endfunction()

function(tsi_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "STORED" "SCALARS;SOURCES;LINK")
  if(NOT TARGET tsi_kernel_flags)
    add_library(tsi_kernel_flags INTERFACE)
    if(TRISTAR_SANITIZE)
      # Of sanitized code they alone take longer to run than to compile.
      target_compile_options(tsi_kernel_flags INTERFACE -O1)
    endif()
    if(TRISTAR_SANITIZE MATCHES undefined)
      # The address sanitizer sees what these see, and with them nothing stays in registers: twice the time to compile
      # and to run.
      target_compile_options(tsi_kernel_flags INTERFACE -fno-sanitize=null,object-size,pointer-overflow)
    endif()
    add_library(tsi_kernel_flags_plain INTERFACE)
    target_link_libraries(tsi_kernel_flags_plain INTERFACE tsi_kernel_flags)
    target_compile_options(tsi_kernel_flags_plain INTERFACE -fno-sanitize=all)
    # Kernels without a sanitizer and without optimization compile in a fifth of the time.
    add_library(tsi_kernel_flags_quick INTERFACE)
    target_compile_options(tsi_kernel_flags_quick INTERFACE $<$<CONFIG:Debug>:-O0>)
  endif()
  if(arg_SOURCES)
    set(sources ${arg_SOURCES})
  else()
    tsi_sources(sources ${arg_UNPARSED_ARGUMENTS} ONLY kernel_)
  endif()
  foreach(scalar IN LISTS arg_SCALARS)
    string(TOUPPER ${scalar} upper)
    set(flags tsi_kernel_flags)
    if(TRISTAR_SANITIZE AND NOT scalar IN_LIST TRISTAR_SANITIZE_SCALARS)
      set(flags tsi_kernel_flags_plain tsi_kernel_flags_quick)
    elseif(NOT TRISTAR_SANITIZE)
      list(APPEND flags tsi_kernel_flags_quick)
    endif()
    foreach(isa IN LISTS tsi_isas)
      set(target tsi_kernels_${scalar}${arg_STORED}_${isa})
      set(isa_sources ${sources})
      if(isa STREQUAL avx512 AND avx2 IN_LIST tsi_isas) # has the kernels of AVX2 that tsi_shared_kernels names
        list(FILTER isa_sources EXCLUDE REGEX "${tsi_shared_kernels}")
      endif()
      tsi_objects(${target} SOURCES ${isa_sources} LINK ${arg_LINK} ${flags})
      target_compile_definitions(${target} PRIVATE TSI_SCALAR_${upper} TSI_ISA=${isa})
      if(isa STREQUAL base AND tsi_isa_count GREATER 1)
        set_target_properties(${target} PROPERTIES TSI_SMALL ON)
      endif()
      if(arg_STORED)
        target_compile_definitions(${target} PRIVATE TSI_STORED_${arg_STORED})
      endif()
      # clang warns of each loop that it does not unroll as it is asked to: no matter of right or wrong
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O3>
                             $<$<CONFIG:Release,RelWithDebInfo>:-fno-asynchronous-unwind-tables> -ffp-contract=fast
                             -fno-math-errno -fno-trapping-math -Wno-psabi
                             $<$<C_COMPILER_ID:Clang,AppleClang>:-Wno-pass-failed> ${tsi_isa_flags_${isa}})
    endforeach()
  endforeach()
endfunction()

function(tsi_core_library name)
  add_library(${name} STATIC)
  foreach(object IN LISTS tsi_objects)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
  target_link_libraries(${name} PRIVATE PkgConfig::TRISTAR_OPENBLAS METIS::METIS AMD::AMD ${tsi_scotch} Threads::Threads ${CMAKE_DL_LIBS} m)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
endfunction()

# Puts the objects of the layers, but for those of EXCLUDE, into a target, with the libraries that they need.
function(tsi_add_layers target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EXCLUDE")
  set(objects ${tsi_objects})
  list(REMOVE_ITEM objects ${arg_EXCLUDE} "")
  foreach(object IN LISTS objects)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
  target_link_libraries(${target} PRIVATE PkgConfig::TRISTAR_STARPU PkgConfig::TRISTAR_OPENBLAS
                        PkgConfig::TRISTAR_HWLOC METIS::METIS AMD::AMD ${tsi_scotch} ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS} m)
  if(TRISTAR_DEVICES)
    target_sources(${target} PRIVATE ${tsi_device_objects})
    target_link_libraries(${target} PRIVATE ${tsi_device_libraries})
    add_dependencies(${target} tsi_device_sweeps)
  endif()
endfunction()

# Relocations of tables of addresses can be packed to a twentieth of their size. The linker must know how, and the C library
# of this machine (glibc 2.36): the test is position-independent, because other programs have no such relocations.
if(NOT CMAKE_CROSSCOMPILING)
  cmake_push_check_state()
  string(APPEND CMAKE_REQUIRED_FLAGS " -fPIE")
  list(APPEND CMAKE_REQUIRED_LINK_OPTIONS -pie -Wl,-z,pack-relative-relocs)
  check_c_source_runs("static int a, *volatile p = &a; int main(void) { return *p; }" TRISTAR_LOADS_RELR)
  cmake_pop_check_state()
endif()

# The objects carry the symbols; what they need is linked by the library (privately: its header needs nothing).
# --discard-all: a release lacks the names of static functions and tables, which take a fiftieth of the library.
function(tsi_library name kind)
  add_library(${name} ${kind})
  tsi_add_layers(${name})
  target_include_directories(${name} PUBLIC
                             $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(TRISTAR_HAVE_MPI)
    target_link_libraries(${name} PRIVATE PkgConfig::TRISTAR_STARPUMPI TriStar::mpi)
  endif()
  if(TRISTAR_HAVE_PTSCOTCH)
    target_link_libraries(${name} PRIVATE PTSCOTCH::PTSCOTCH)
  endif()
  if(TRISTAR_SANITIZE)
    target_link_options(${name} PRIVATE "-fsanitize=${TRISTAR_SANITIZE}")
  elseif(kind STREQUAL SHARED)
    target_link_options(${name} PRIVATE -Wl,--no-undefined $<$<CONFIG:Release,RelWithDebInfo>:-Wl,--gc-sections>
                        $<$<CONFIG:Release>:-Wl,--discard-all>)
    if(TRISTAR_LOADS_RELR)
      target_link_options(${name} PRIVATE -Wl,-z,pack-relative-relocs)
    endif()
  endif()
  set_target_properties(${name} PROPERTIES OUTPUT_NAME tristar LINKER_LANGUAGE C)
  add_library(TriStar::${name} ALIAS ${name})
endfunction()
