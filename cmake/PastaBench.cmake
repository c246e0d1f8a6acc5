# Benchmarks: one program for each bench_*.c, and accelprof-gen and accelprof-gen-trace, which generate
# their input.

pasta_glob(gen_sources bench/gen*.c)
if(gen_sources)
	pasta_program(accelprof-gen bench ${gen_sources})
	pasta_runpath(accelprof-gen)
	target_link_libraries(accelprof-gen PRIVATE pasta-agent-static)
endif()

pasta_glob(trace_sources bench/trace*.c)
if(trace_sources)
	pasta_program(accelprof-gen-trace bench ${trace_sources} bench/gen_model.c)
	target_link_libraries(accelprof-gen-trace PRIVATE pasta-static)
endif()

pasta_glob(bench_sources bench/bench_*.c)
find_path(PASTA_OPENCL_INCLUDE CL/cl_layer.h)
find_library(PASTA_OPENCL OpenCL)
if(NOT PASTA_OPENCL)
	list(FILTER bench_sources EXCLUDE REGEX "/bench_opencl[^/]*$")
endif()
foreach(source IN LISTS bench_sources)
	get_filename_component(name "${source}" NAME_WE)
	pasta_program(${name} bench "${source}")
	if(name MATCHES "^bench_(agent_|emit|reduce|stack)")
		target_link_libraries(${name} PRIVATE pasta-agent-static)
	else()
		target_link_libraries(${name} PRIVATE pasta-static)
	endif()
	if(name MATCHES "^bench_opencl")
		target_link_libraries(${name} PRIVATE "${PASTA_OPENCL}")
	endif()
endforeach()

# Libraries that the CUDA driver loads instead of the agent: they measure what CUPTI and the Compute
# Sanitizer cost by themselves.
foreach(name floor sanfloor)
	add_library(bench-gpu-${name} MODULE bench/gpu/${name}.c)
	target_include_directories(bench-gpu-${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
	target_compile_options(bench-gpu-${name} PRIVATE -Wall -Wextra)
	if(PASTA_WERROR)
		target_compile_options(bench-gpu-${name} PRIVATE -Werror)
	endif()
	target_link_libraries(bench-gpu-${name} PRIVATE ${CMAKE_DL_LIBS})
	set_target_properties(bench-gpu-${name} PROPERTIES OUTPUT_NAME ${name} PREFIX ""
		C_EXTENSIONS ON LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench/gpu")
endforeach()
