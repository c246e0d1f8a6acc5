# lib/pasta-patches.fatbin: what counts memory accesses on NVIDIA's devices. It is data to the agent,
# which looks for it beside itself; without it CUDA's kernels run as they are, and doctor says so.

option(PASTA_CUDA "build the patches for NVIDIA's devices, where nvcc is found" ON)
set(PASTA_CUDA_ARCHS "" CACHE STRING
	"devices to build for, such as 80;90 (empty: all of 7.5 to 12.1 that nvcc knows)")
find_program(PASTA_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)

# pasta_cuda_archs(VAR): those that are wanted and that nvcc knows, the newest last.
function(pasta_cuda_archs var)
	execute_process(COMMAND "${PASTA_NVCC}" --list-gpu-arch OUTPUT_VARIABLE listed
		RESULT_VARIABLE failed ERROR_VARIABLE why)
	if(failed)
		message(FATAL_ERROR "${PASTA_NVCC} --list-gpu-arch: ${failed} ${why}\n"
			"Set PASTA_NVCC to CUDA's compiler, or PASTA_CUDA to OFF")
	endif()
	string(REGEX MATCHALL "[0-9]+" known "${listed}")
	set(wanted ${PASTA_CUDA_ARCHS})
	if(NOT wanted)
		set(wanted 75 80 86 89 90 100 103 110 120 121)
	endif()
	set(archs "")
	foreach(arch IN LISTS wanted)
		if(arch IN_LIST known)
			list(APPEND archs ${arch})
		elseif(PASTA_CUDA_ARCHS)
			message(FATAL_ERROR "PASTA_CUDA_ARCHS: ${PASTA_NVCC} does not know ${arch}, "
				"but ${known}")
		endif()
	endforeach()
	list(SORT archs COMPARE NATURAL)
	if(NOT archs)
		message(FATAL_ERROR "${PASTA_NVCC} knows none of ${wanted}, but ${known}")
	endif()
	set(${var} ${archs} PARENT_SCOPE)
endfunction()

# A sanitized agent is loaded into no CUDA program.
if(PASTA_CUDA AND PASTA_NVCC AND NOT PASTA_SANITIZE)
	pasta_cuda_archs(archs)
	list(GET archs -1 newest)
	# Code for each, and text that the driver compiles for those that are newer.
	set(codes -gencode arch=compute_${newest},code=compute_${newest})
	foreach(arch IN LISTS archs)
		list(APPEND codes -gencode arch=compute_${arch},code=sm_${arch})
	endforeach()
	set(fatbin "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/pasta-patches.fatbin")
	pasta_glob(cuda_sources src/reduce/*.cu src/reduce/*.cuh)
	set(cuda_werror "")
	if(PASTA_WERROR)
		set(cuda_werror -Werror all-warnings)
	endif()
	# Functions that no kernel calls are dropped but for --compile-as-tools-patch.
	add_custom_command(OUTPUT "${fatbin}"
		COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}"
		COMMAND "${PASTA_NVCC}" --fatbin --compile-as-tools-patch -std=c++17 --threads 2
			${cuda_werror} ${codes} "-I${PROJECT_SOURCE_DIR}/include"
			"-I${PROJECT_SOURCE_DIR}/src" -o "${fatbin}"
			"${PROJECT_SOURCE_DIR}/src/reduce/gpu.cu"
		DEPENDS ${cuda_sources} "${PROJECT_SOURCE_DIR}/src/reduce/gpu.h"
			"${PROJECT_SOURCE_DIR}/src/reduce/accumulate.h"
			"${PROJECT_SOURCE_DIR}/include/pasta/device.h"
		COMMENT "Compiling patches for ${archs}" VERBATIM)
	add_custom_target(pasta-patches ALL DEPENDS "${fatbin}")
	install(FILES "${fatbin}" DESTINATION lib)
elseif(PASTA_CUDA AND NOT PASTA_NVCC)
	message(STATUS "no nvcc: memory accesses of CUDA kernels will not be counted "
		"(install CUDA's compiler, or set PASTA_NVCC to its path)")
endif()
