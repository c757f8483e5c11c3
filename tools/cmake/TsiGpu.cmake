# GPU kernels: nvcc and hipcc compile them where they are found, as TRISTAR_WITH_CUDA and TRISTAR_WITH_HIP say (AUTO, ON, OFF).
#
# Target gpu_objects (not in `all`): of codelets/gpu sweep.cu for each scalar type, rows.cu and variants.cu for those of one precision,
# BUILD/gpu/sweep_NAME.cuda.o and .hip.o and so on; what the compiler tells of registers and spills is in
# BUILD/gpu/sweep_NAME.cuda.txt and .hip.txt.
#
# TRISTAR_DEVICES: cuda or hip, if StarPU has it too. Then the library has runtime/starpu/devices_*.c of it, which needs
# tsi_device_includes, and the objects tsi_device_objects, which target tsi_device_sweeps makes, and needs tsi_device_libraries.
set(TRISTAR_WITH_CUDA AUTO CACHE STRING "Kernels for NVIDIA's GPUs, target gpu_objects: AUTO (where nvcc is found), ON or OFF")
set(TRISTAR_WITH_HIP AUTO CACHE STRING "Kernels for AMD's GPUs, target gpu_objects: AUTO (where hipcc is found), ON or OFF")
set_property(CACHE TRISTAR_WITH_CUDA TRISTAR_WITH_HIP PROPERTY STRINGS AUTO ON OFF)

# Names of kernels, and the scalars of the factor and of the workspace.
set(tsi_gpu_names s d c z sd cz)
set(tsi_gpu_scalars float,float double,double gpu_complex<float>,gpu_complex<float> gpu_complex<double>,gpu_complex<double>
    float,double gpu_complex<float>,gpu_complex<double>)

# tsi_gpu_compiler(OPTION PROGRAM HINT): TRISTAR_PROGRAM, if it is wanted and found.
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

# tsi_gpu_object(KIND SOURCE NAME STORED WORK LIST COMMAND...): one object, added to the list.
function(tsi_gpu_object kind source name stored work to)
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/codelets/gpu/*.h")
  set(base "${PROJECT_BINARY_DIR}/gpu/${source}_${name}.${kind}")
  add_custom_command(
    OUTPUT "${base}.o" BYPRODUCTS "${base}.txt"
    COMMAND sh -c "report=$1; shift; \"$@\" >\"$report\" 2>&1 || { cat \"$report\"; exit 1; }" sh "${base}.txt" ${ARGN}
            -std=c++17 -O3 "-I${PROJECT_SOURCE_DIR}" "-I${PROJECT_SOURCE_DIR}/runtime/include" -DTSI_GPU_NAME=${name}
            "-DTSI_GPU_STORED=${stored}" "-DTSI_GPU_WORK=${work}" -c "${PROJECT_SOURCE_DIR}/codelets/gpu/${source}.cu" -o "${base}.o"
    DEPENDS "${PROJECT_SOURCE_DIR}/codelets/gpu/${source}.cu" ${headers}
    COMMENT "GPU kernels ${source} ${name}, ${kind}" VERBATIM)
  set(${to} ${${to}} "${base}.o" PARENT_SCOPE)
endfunction()

# tsi_gpu_objects(KIND COMMAND...): one object for each source and name.
function(tsi_gpu_objects kind)
  set(outputs "")
  foreach(name scalars IN ZIP_LISTS tsi_gpu_names tsi_gpu_scalars)
    string(REPLACE "," ";" scalars "${scalars}")
    list(GET scalars 0 stored)
    list(GET scalars 1 work)
    tsi_gpu_object(${kind} sweep ${name} "${stored}" "${work}" outputs ${ARGN})
    if(stored STREQUAL work)
      tsi_gpu_object(${kind} rows ${name} "${stored}" "${work}" outputs ${ARGN})
      tsi_gpu_object(${kind} variants ${name} "${stored}" "${work}" outputs ${ARGN})
    endif()
  endforeach()
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/gpu")
  add_custom_target(gpu_objects_${kind} DEPENDS ${outputs})
  add_dependencies(gpu_objects gpu_objects_${kind})
endfunction()

tsi_gpu_compiler(TRISTAR_WITH_CUDA nvcc "/usr/local/cuda/bin;$ENV{CUDA_PATH}/bin")
tsi_gpu_compiler(TRISTAR_WITH_HIP hipcc "/opt/rocm/bin;$ENV{ROCM_PATH}/bin")
set(tsi_gpu_compilers ${tsi_gpu_nvcc} ${tsi_gpu_hipcc} CACHE INTERNAL "for tools/check: what gpu_objects is made with")
if(tsi_gpu_compilers)
  add_custom_target(gpu_objects)
endif()
if(tsi_gpu_nvcc)
  # Nothing in the kernels is of one architecture only: both are made of the same PTX, a third less to compile.
  tsi_gpu_objects(cuda "${tsi_gpu_nvcc}" "-gencode=arch=compute_80,code=[sm_80,sm_90]"
                  -Xptxas -v -Werror all-warnings -Xcompiler -Wall,-Wextra,-fPIC,-fvisibility=hidden,-fno-exceptions)
endif()
if(tsi_gpu_hipcc)
  tsi_gpu_objects(hip "${tsi_gpu_hipcc}" -x hip --offload-arch=gfx90a -fPIC -fvisibility=hidden -fno-exceptions -Wall -Wextra -Werror
                  -Rpass-analysis=kernel-resource-usage)
endif()

# ---- For the library -----------------------------------------------------------------------------------
# tsi_gpu_devices(KIND RUNTIME MACRO HINT...): TRISTAR_DEVICES is KIND if StarPU has it (MACRO is defined) and the library
# of its runtime is there. HINT: folders to look in for it, and for its headers in include.
function(tsi_gpu_devices kind runtime macro)
  string(TOUPPER ${kind} variable)
  set(includes "")
  set(folders "")
  foreach(root IN LISTS ARGN)
    list(APPEND includes "${root}/include")
    list(APPEND folders "${root}/lib64" "${root}/lib")
  endforeach()
  find_library(TRISTAR_${variable}_RUNTIME ${runtime} HINTS ${folders})
  mark_as_advanced(TRISTAR_${variable}_RUNTIME)
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
    list(APPEND objects "${PROJECT_BINARY_DIR}/gpu/sweep_${name}.${kind}.o")
  endforeach()
  add_custom_target(tsi_device_sweeps DEPENDS ${objects})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(TRISTAR_DEVICES ${kind} CACHE INTERNAL "")
  set(tsi_device_includes ${includes} CACHE INTERNAL "")
  set(tsi_device_objects ${objects} CACHE INTERNAL "")
  set(tsi_device_libraries "${TRISTAR_${variable}_RUNTIME}" stdc++ CACHE INTERNAL "")
endfunction()

set(TRISTAR_DEVICES "" CACHE INTERNAL "Tasks run on GPUs: cuda, hip, or empty")
if(TRISTAR_WITH_STARPU AND tsi_gpu_compilers)
  include(CheckCSourceCompiles)
  include(CMakePushCheckState)
  if(tsi_gpu_nvcc)
    cmake_path(GET tsi_gpu_nvcc PARENT_PATH tsi_cuda_bin)
    cmake_path(GET tsi_cuda_bin PARENT_PATH tsi_cuda_root)
    tsi_gpu_devices(cuda cudart STARPU_USE_CUDA "${tsi_cuda_root}")
  endif()
  if(tsi_gpu_hipcc AND NOT TRISTAR_DEVICES)
    tsi_gpu_devices(hip amdhip64 STARPU_USE_HIP $ENV{ROCM_PATH} /opt/rocm)
  endif()
  message(STATUS "Tasks on GPUs: ${TRISTAR_DEVICES}")
endif()
