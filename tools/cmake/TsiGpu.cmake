# GPU kernels: compiled by nvcc and hipcc, depending on TRISTAR_WITH_CUDA and TRISTAR_WITH_HIP (AUTO: if found; ON; OFF).
#
# Target gpu_objects (not in `all`): compiles files of codelets/gpu: sweep.cu for each scalar type, program.cu, spread.cu, front.cu and
# apart.cu for the types of one precision, mixed.cu for those of two: BUILD/gpu/sweep_NAME.cuda.o and .hip.o and so on. The reports of
# the compiler on registers and spills are BUILD/gpu/sweep_NAME.cuda.txt and .hip.txt. Target gpu_objects_widest: only the objects of the
# scalar that needs most registers.
#
# Architectures: CMAKE_CUDA_ARCHITECTURES, numbers only (default: 80, 90, 100 if nvcc supports it, and code that the driver
# compiles for later ones), and CMAKE_HIP_ARCHITECTURES (gfx90a).
#
# Targets gpu_check_cuda and gpu_check_hip (not in `all`): the program of tools/gpu_check, from the parts without StarPU, the kernels and
# the toolkit's libraries; tsi_gpu_check_sources are its files except those of one toolkit.
#
# TRISTAR_DEVICES: cuda or hip, if StarPU has it, too. Then the library contains runtime/exec/starpu/devices_*.c for it, which need
# tsi_device_includes, and the objects tsi_device_objects of the target tsi_device_sweeps, and links tsi_device_libraries.
set(TRISTAR_WITH_CUDA AUTO CACHE STRING "Kernels for NVIDIA's GPUs, target gpu_objects: AUTO (where nvcc is found), ON or OFF")
set(TRISTAR_WITH_HIP AUTO CACHE STRING "Kernels for AMD's GPUs, target gpu_objects: AUTO (where hipcc is found), ON or OFF")
set_property(CACHE TRISTAR_WITH_CUDA TRISTAR_WITH_HIP PROPERTY STRINGS AUTO ON OFF)

# Names of kernels, and the scalars of the factor and of the workspace.
set(tsi_gpu_names s d c z sd cz)
set(tsi_gpu_scalars float,float double,double gpu_complex<float>,gpu_complex<float> gpu_complex<double>,gpu_complex<double>
    float,double gpu_complex<float>,gpu_complex<double>)
set(tsi_gpu_widest z)

# tsi_gpu_compiler(OPTION PROGRAM HINT): sets TRISTAR_PROGRAM, if the option allows it and it is found.
function(tsi_gpu_compiler option program hint)
  set(wanted ${${option}})
  string(TOUPPER ${program} variable)
  if(wanted STREQUAL AUTO OR wanted)
    find_program(TRISTAR_${variable} ${program} HINTS ${hint})
    mark_as_advanced(TRISTAR_${variable})
    if(NOT TRISTAR_${variable} AND NOT wanted STREQUAL AUTO)
      message(FATAL_ERROR "${option}=${wanted}: ${program} not found")
    endif()
  endif()
  if(TRISTAR_${variable} AND (wanted STREQUAL AUTO OR wanted))
    set(tsi_gpu_${program} "${TRISTAR_${variable}}" PARENT_SCOPE)
    message(STATUS "GPU kernels: ${TRISTAR_${variable}}")
  endif()
endfunction()

# tsi_gpu_compile(KIND SOURCE BASE LIST COMMAND...): one object, BUILD/gpu/BASE.KIND.o, added to the list.
function(tsi_gpu_compile kind source base to)
  file(GLOB parts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/codelets/gpu/*.h" "${PROJECT_SOURCE_DIR}/codelets/gpu/tables/*.h" "${PROJECT_SOURCE_DIR}/codelets/gpu/*.cu")
  set(base "${PROJECT_BINARY_DIR}/gpu/${base}.${kind}")
  add_custom_command(
    OUTPUT "${base}.o" BYPRODUCTS "${base}.txt"
    COMMAND sh -c "report=$1; shift; \"$@\" >\"$report\" 2>&1 || { cat \"$report\"; exit 1; }" sh "${base}.txt" ${ARGN}
            -std=c++17 -O3 "-I${PROJECT_SOURCE_DIR}" "-I${PROJECT_SOURCE_DIR}/runtime/include" -c "${PROJECT_SOURCE_DIR}/${source}"
            -o "${base}.o"
    DEPENDS "${PROJECT_SOURCE_DIR}/${source}" ${parts} "${PROJECT_SOURCE_DIR}/tools/gpu/board.h"
    COMMENT "GPU kernels ${base}.o" VERBATIM)
  set(${to} ${${to}} "${base}.o" PARENT_SCOPE)
endfunction()

# tsi_gpu_object(KIND SOURCE NAME STORED WORK LIST COMMAND...): the kernels of one file for one name.
function(tsi_gpu_object kind source name stored work to)
  tsi_gpu_compile(${kind} codelets/gpu/${source}.cu ${source}_${name} ${to} ${ARGN} -DTSI_GPU_NAME=${name}
                  "-DTSI_GPU_STORED=${stored}" "-DTSI_GPU_WORK=${work}")
  set(${to} ${${to}} PARENT_SCOPE)
endfunction()

# tsi_gpu_objects(KIND COMMAND...): one object for each source and name, listed in tsi_gpu_objects_KIND; and the board's of
# tools/gpu in tsi_gpu_board_KIND.
function(tsi_gpu_objects kind)
  set(outputs "")
  set(widest "")
  foreach(name scalars IN ZIP_LISTS tsi_gpu_names tsi_gpu_scalars)
    string(REPLACE "," ";" scalars "${scalars}")
    list(GET scalars 0 stored)
    list(GET scalars 1 work)
    tsi_gpu_object(${kind} sweep ${name} "${stored}" "${work}" outputs ${ARGN})
    if(stored STREQUAL work)
      tsi_gpu_object(${kind} program ${name} "${stored}" "${work}" outputs ${ARGN})
      tsi_gpu_object(${kind} spread ${name} "${stored}" "${work}" outputs ${ARGN})
      tsi_gpu_object(${kind} front ${name} "${stored}" "${work}" outputs ${ARGN})
      tsi_gpu_object(${kind} apart ${name} "${stored}" "${work}" outputs ${ARGN})
    else()
      tsi_gpu_object(${kind} mixed ${name} "${stored}" "${work}" outputs ${ARGN})
    endif()
    if(name IN_LIST tsi_gpu_widest)
      list(GET outputs -2 -1 these)
      list(APPEND widest ${these})
    endif()
  endforeach()
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/gpu")
  set(board "")
  tsi_gpu_compile(${kind} tools/gpu/board.cu board board ${ARGN})
  add_custom_target(gpu_objects_${kind} DEPENDS ${outputs} ${board})
  add_dependencies(gpu_objects gpu_objects_${kind})
  add_custom_target(gpu_objects_widest_${kind} DEPENDS ${widest} ${board})
  add_dependencies(gpu_objects_widest gpu_objects_widest_${kind})
  set(tsi_gpu_objects_${kind} ${outputs} PARENT_SCOPE)
  set(tsi_gpu_board_${kind} ${board} PARENT_SCOPE)
endfunction()

# tsi_gpu_check(KIND [SOURCES s...] [INCLUDES i...] LIBRARIES l...): the program gpu_check_KIND.
function(tsi_gpu_check kind)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;INCLUDES;LIBRARIES;DEFINE")
  set(objects ${tsi_gpu_objects_${kind}} ${tsi_gpu_board_${kind}})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  add_executable(gpu_check_${kind} EXCLUDE_FROM_ALL ${tsi_gpu_check_sources} ${arg_SOURCES} ${objects})
  add_dependencies(gpu_check_${kind} gpu_objects_${kind})
  target_include_directories(gpu_check_${kind} SYSTEM PRIVATE ${arg_INCLUDES})
  target_compile_definitions(gpu_check_${kind} PRIVATE ${arg_DEFINE})
  target_link_libraries(gpu_check_${kind} PRIVATE tsi_core tsi_internal ${arg_LIBRARIES} stdc++ m)
  set_target_properties(gpu_check_${kind} PROPERTIES LINKER_LANGUAGE C)
endfunction()

tsi_gpu_compiler(TRISTAR_WITH_CUDA nvcc "/usr/local/cuda/bin;$ENV{CUDA_PATH}/bin")
tsi_gpu_compiler(TRISTAR_WITH_HIP hipcc "/opt/rocm/bin;$ENV{ROCM_PATH}/bin")
set(tsi_gpu_compilers ${tsi_gpu_nvcc} ${tsi_gpu_hipcc} CACHE INTERNAL "for tools/check: what gpu_objects is made with")
if(tsi_gpu_compilers)
  add_custom_target(gpu_objects)
  add_custom_target(gpu_objects_widest)
endif()
if(tsi_gpu_nvcc)
  # No kernel is specific to one of these architectures: all codes are made from the same PTX, which saves a third of the time.
  execute_process(COMMAND "${tsi_gpu_nvcc}" --list-gpu-code OUTPUT_VARIABLE tsi_gpu_known ERROR_QUIET)
  set(tsi_gpu_codes "sm_80,sm_90")
  if(tsi_gpu_known MATCHES "sm_100")
    string(APPEND tsi_gpu_codes ",sm_100")
  endif()
  set(tsi_gpu_codes "-gencode=arch=compute_80,code=[${tsi_gpu_codes},compute_80]")
  if(CMAKE_CUDA_ARCHITECTURES)
    set(tsi_gpu_codes "")
    foreach(number IN LISTS CMAKE_CUDA_ARCHITECTURES)
      if(NOT number MATCHES "^[0-9]+[a-z]?$")
        message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES: ${number} is not the number of an architecture, such as 90")
      endif()
      list(APPEND tsi_gpu_codes "-gencode=arch=compute_${number},code=sm_${number}")
    endforeach()
  endif()
  tsi_gpu_objects(cuda "${tsi_gpu_nvcc}" ${tsi_gpu_codes}
                  -Xptxas -v -Werror all-warnings -Xcompiler -Wall,-Wextra,-fPIC,-fvisibility=hidden,-fno-exceptions)
endif()
if(tsi_gpu_hipcc)
  set(tsi_gpu_codes gfx90a)
  if(CMAKE_HIP_ARCHITECTURES)
    set(tsi_gpu_codes ${CMAKE_HIP_ARCHITECTURES})
  endif()
  list(TRANSFORM tsi_gpu_codes PREPEND --offload-arch=)
  tsi_gpu_objects(hip "${tsi_gpu_hipcc}" -x hip ${tsi_gpu_codes} -fPIC -fvisibility=hidden -fno-exceptions -Wall -Wextra -Werror
                  -Rpass-analysis=kernel-resource-usage)
endif()

# ---- The program of tools/gpu_check ----------------------------------------------------------------------
set(tsi_gpu_check_sources "")
foreach(name gpu_check cases inverse_cases problem solve inverse report)
  list(APPEND tsi_gpu_check_sources "${PROJECT_SOURCE_DIR}/tools/gpu/${name}.c")
endforeach()
list(APPEND tsi_gpu_check_sources "${PROJECT_SOURCE_DIR}/runtime/machine/devices.c")

# Without TRISTAR_BUILD_TESTS there is no tsi_core.
if(TRISTAR_BUILD_TESTS AND tsi_gpu_nvcc)
  cmake_path(GET tsi_gpu_nvcc PARENT_PATH tsi_cuda_bin)
  cmake_path(GET tsi_cuda_bin PARENT_PATH tsi_cuda_root)
  set(tsi_cuda_places HINTS "${tsi_cuda_root}/lib64" "${tsi_cuda_root}/lib")
  find_library(TRISTAR_CUDART cudart ${tsi_cuda_places})
  find_library(TRISTAR_CUSPARSE cusparse ${tsi_cuda_places})
  find_library(TRISTAR_CUBLAS cublas ${tsi_cuda_places})
  find_library(TRISTAR_CUDSS cudss)
  find_path(TRISTAR_CUDSS_INCLUDE cudss.h)
  mark_as_advanced(TRISTAR_CUDART TRISTAR_CUSPARSE TRISTAR_CUBLAS TRISTAR_CUDSS TRISTAR_CUDSS_INCLUDE)
  set(tsi_gpu_peers "${PROJECT_SOURCE_DIR}/tools/gpu/peers_none.c")
  set(tsi_gpu_peer_libraries "")
  set(tsi_gpu_peer_includes "${tsi_cuda_root}/include")
  set(tsi_gpu_peer_define "")
  if(TRISTAR_CUSPARSE AND TRISTAR_CUBLAS)
    set(tsi_gpu_peers "${PROJECT_SOURCE_DIR}/tools/gpu/peers_cuda.c" "${PROJECT_SOURCE_DIR}/tools/gpu/cusparse.c")
    set(tsi_gpu_peer_libraries "${TRISTAR_CUSPARSE}" "${TRISTAR_CUBLAS}")
    if(TRISTAR_CUDSS AND TRISTAR_CUDSS_INCLUDE)
      list(APPEND tsi_gpu_peers "${PROJECT_SOURCE_DIR}/tools/gpu/cudss.c")
      list(APPEND tsi_gpu_peer_libraries "${TRISTAR_CUDSS}")
      list(APPEND tsi_gpu_peer_includes "${TRISTAR_CUDSS_INCLUDE}")
      set(tsi_gpu_peer_define TSI_HAVE_CUDSS)
    endif()
  endif()
  if(TRISTAR_CUDART)
    set(tsi_gpu_runtime_cuda "${TRISTAR_CUDART}")
    tsi_gpu_check(cuda SOURCES ${tsi_gpu_peers} INCLUDES ${tsi_gpu_peer_includes} DEFINE ${tsi_gpu_peer_define}
                  LIBRARIES ${tsi_gpu_peer_libraries} "${TRISTAR_CUDART}")
  endif()
endif()
if(TRISTAR_BUILD_TESTS AND tsi_gpu_hipcc)
  find_library(TRISTAR_AMDHIP amdhip64 HINTS /opt/rocm/lib "$ENV{ROCM_PATH}/lib")
  mark_as_advanced(TRISTAR_AMDHIP)
  if(TRISTAR_AMDHIP)
    set(tsi_gpu_runtime_hip "${TRISTAR_AMDHIP}")
    tsi_gpu_check(hip SOURCES "${PROJECT_SOURCE_DIR}/tools/gpu/peers_none.c" LIBRARIES "${TRISTAR_AMDHIP}")
  endif()
endif()

# ---- For the library -----------------------------------------------------------------------------------
# tsi_gpu_devices(KIND RUNTIME MACRO BLAS HEADER HINT...): TRISTAR_DEVICES is KIND if StarPU has it (MACRO is defined) and the library
# of its runtime is found. HINT: folders to search for the library, and their subfolder include for its headers. TRISTAR_DEVICE_BLAS: the
# library BLAS and its HEADER are found, too: factorizations can use devices.
function(tsi_gpu_devices kind runtime macro blas header)
  string(TOUPPER ${kind} variable)
  set(includes "")
  set(folders "")
  foreach(root IN LISTS ARGN)
    list(APPEND includes "${root}/include")
    list(APPEND folders "${root}/lib64" "${root}/lib")
  endforeach()
  find_library(TRISTAR_${variable}_RUNTIME ${runtime} HINTS ${folders})
  find_library(TRISTAR_${variable}_BLAS ${blas} HINTS ${folders})
  find_path(TRISTAR_${variable}_BLAS_INCLUDE ${header} HINTS ${includes})
  mark_as_advanced(TRISTAR_${variable}_RUNTIME TRISTAR_${variable}_BLAS TRISTAR_${variable}_BLAS_INCLUDE)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_INCLUDES ${TRISTAR_STARPU_INCLUDE_DIRS} ${includes})
  check_c_source_compiles("#include <starpu_config.h>
    #ifndef ${macro}
    #error
    #endif
    int main(void) { return 0; }" "TRISTAR_STARPU_${variable}_${TRISTAR_STARPU_VERSION}")
  cmake_pop_check_state()
  if(NOT TRISTAR_STARPU_${variable}_${TRISTAR_STARPU_VERSION} OR NOT TRISTAR_${variable}_RUNTIME)
    return()
  endif()
  set(objects "")
  foreach(name s d c z)
    list(APPEND objects "${PROJECT_BINARY_DIR}/gpu/sweep_${name}.${kind}.o" "${PROJECT_BINARY_DIR}/gpu/front_${name}.${kind}.o"
                "${PROJECT_BINARY_DIR}/gpu/program_${name}.${kind}.o" "${PROJECT_BINARY_DIR}/gpu/spread_${name}.${kind}.o")
  endforeach()
  add_custom_target(tsi_device_sweeps DEPENDS ${objects})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(libraries "${TRISTAR_${variable}_RUNTIME}" stdc++)
  if(TRISTAR_${variable}_BLAS AND TRISTAR_${variable}_BLAS_INCLUDE)
    list(PREPEND libraries "${TRISTAR_${variable}_BLAS}")
    list(APPEND includes "${TRISTAR_${variable}_BLAS_INCLUDE}")
    set(TRISTAR_DEVICE_BLAS TRUE CACHE INTERNAL "")
  endif()
  set(TRISTAR_DEVICES ${kind} CACHE INTERNAL "")
  set(tsi_device_includes ${includes} CACHE INTERNAL "")
  set(tsi_device_objects ${objects} CACHE INTERNAL "")
  set(tsi_device_libraries ${libraries} CACHE INTERNAL "")
endfunction()

set(TRISTAR_DEVICES "" CACHE INTERNAL "Tasks run on GPUs: cuda, hip, or empty")
set(TRISTAR_DEVICE_BLAS FALSE CACHE INTERNAL "... and have BLAS for factorizations")
if(TRISTAR_WITH_STARPU AND tsi_gpu_compilers)
  include(CheckCSourceCompiles)
  include(CMakePushCheckState)
  if(tsi_gpu_nvcc)
    cmake_path(GET tsi_gpu_nvcc PARENT_PATH tsi_cuda_bin)
    cmake_path(GET tsi_cuda_bin PARENT_PATH tsi_cuda_root)
    tsi_gpu_devices(cuda cudart STARPU_USE_CUDA cublas cublas_v2.h "${tsi_cuda_root}")
  endif()
  if(tsi_gpu_hipcc AND NOT TRISTAR_DEVICES)
    tsi_gpu_devices(hip amdhip64 STARPU_USE_HIP hipblas hipblas/hipblas.h $ENV{ROCM_PATH} /opt/rocm)
  endif()
  message(STATUS "Tasks on GPUs: ${TRISTAR_DEVICES}; BLAS for factorizations: ${TRISTAR_DEVICE_BLAS}")
endif()
