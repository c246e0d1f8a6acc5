# lib/pasta-patches.fatbin: device code that counts memory accesses on NVIDIA GPUs. The agent loads it
# from its own folder. Without it accelprof cannot count accesses of CUDA kernels, and doctor reports
# that.

option(PASTA_CUDA "build the patches for NVIDIA GPUs, if nvcc is found" ON)
set(PASTA_CUDA_ARCHS "" CACHE STRING
	"architectures to build for, such as 80;90 (empty: all of 7.5 to 12.1 that nvcc supports)")
find_program(PASTA_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)

# pasta_cuda_archs(VAR): the requested architectures that nvcc supports, the newest last.
function(pasta_cuda_archs var)
	execute_process(COMMAND "${PASTA_NVCC}" --list-gpu-arch OUTPUT_VARIABLE listed
		RESULT_VARIABLE failed ERROR_VARIABLE why)
	if(failed)
		message(FATAL_ERROR "${PASTA_NVCC} --list-gpu-arch: ${failed} ${why}\n"
			"Set PASTA_NVCC to CUDA's compiler, or PASTA_CUDA to OFF")
	endif()
	string(REGEX MATCHALL "[0-9]+" known "${listed}")
	set(requested ${PASTA_CUDA_ARCHS})
	if(NOT requested)
		set(requested 75 80 86 89 90 100 103 110 120 121)
	endif()
	set(archs "")
	foreach(arch IN LISTS requested)
		if(arch IN_LIST known)
			list(APPEND archs ${arch})
		elseif(PASTA_CUDA_ARCHS)
			message(FATAL_ERROR "PASTA_CUDA_ARCHS: ${PASTA_NVCC} does not support ${arch}, "
				"only ${known}")
		endif()
	endforeach()
	list(SORT archs COMPARE NATURAL)
	if(NOT archs)
		message(FATAL_ERROR "${PASTA_NVCC} supports none of ${requested}, only ${known}\n"
			"Set PASTA_NVCC to another compiler, or PASTA_CUDA to OFF")
	endif()
	set(${var} ${archs} PARENT_SCOPE)
endfunction()

# Tests load an agent with sanitizers into no CUDA program.
if(PASTA_CUDA AND PASTA_NVCC AND NOT PASTA_SANITIZE)
	pasta_cuda_archs(archs)
	list(GET archs -1 newest)
	# Machine code for each architecture, and PTX, which the driver compiles for newer ones.
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
	# Without --compile-as-tools-patch nvcc would drop functions that no kernel calls.
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
	message(STATUS "no nvcc: accelprof will not count memory accesses of CUDA kernels "
		"(install nvcc, or set PASTA_NVCC to its path)")
endif()
