# Tests, by room; each has its room as a label.
#
# A test's file may say more about it, in a line of a comment that says nothing else:
#   labels: long         more labels; "long" and "gpu" are left out of `make check`. ThreadSanitizer's
#                        build has no tests that are "onethread", which begin no threads and are held
#                        to it, nor "notsan", whose threads are not ours
#   timeout: 300         seconds; 60 unless told. Those with longer ones start first
#   serial: yes          nothing else runs at the same time
# Shell tests exit with 77 to skip. A script whose name begins with _ is no test, nor is lib.sh.

set(sanitizer_env
	"ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
	"UBSAN_OPTIONS=print_stacktrace=1"
	# Tests fork with threads running: that is what the agent must stand.
	"TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:die_after_fork=0")

function(pasta_test name room source)
	add_test(NAME ${name} COMMAND ${ARGN})
	set(labels ${room})
	set(timeout 60)
	set(cost 0)
	set(serial OFF)
	set(marks "")
	file(STRINGS "${source}" lines REGEX "^[#/* ]+(labels|timeout|serial): *[a-z0-9, ]+[*/ ]*$")
	# What a formatter has put behind other words would say nothing.
	file(STRINGS "${source}" all REGEX "(labels|timeout|serial):")
	if(NOT "${all}" STREQUAL "${lines}")
		message(FATAL_ERROR "${source}: labels, timeout and serial stand alone, each in its line")
	endif()
	foreach(line IN LISTS lines)
		string(REGEX MATCH "(labels|timeout|serial): *([a-z0-9, ]+)" line "${line}")
		set(value "${CMAKE_MATCH_2}")
		if(CMAKE_MATCH_1 STREQUAL "labels")
			string(REGEX MATCHALL "[a-z0-9]+" value "${value}")
			list(APPEND labels ${value})
		elseif(CMAKE_MATCH_1 STREQUAL "timeout")
			string(STRIP "${value}" timeout)
			set(cost ${timeout})
		else()
			set(serial ON)
		endif()
	endforeach()
	if(PASTA_SANITIZE) # ten times slower, some of them
		math(EXPR timeout "3 * ${timeout}")
	endif()
	set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} COST ${cost}
		RUN_SERIAL ${serial} SKIP_RETURN_CODE 77
		ENVIRONMENT "ACCELPROF=${PROJECT_BINARY_DIR}/accelprof;BUILD=${PROJECT_BINARY_DIR};SRC=${PROJECT_SOURCE_DIR};${sanitizer_env}")
	# A sanitizer's library wants to be the first itself.
	if("onethread" IN_LIST labels AND NOT PASTA_SANITIZE)
		add_dependencies(${name} program-one_thread)
		set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
			"LD_PRELOAD=${PROJECT_BINARY_DIR}/tests/programs/one_thread.so")
	endif()
endfunction()

# NVIDIA's headers, with which a test compares what we know of CUPTI. Nothing else needs them.
find_path(PASTA_CUPTI_INCLUDE cupti.h
	HINTS ENV CUDA_HOME ENV CUDA_PATH
	PATHS /usr/local/cuda /usr/local/cuda/extras/CUPTI /usr/lib/cuda
	PATH_SUFFIXES include)
if(PASTA_CUPTI_INCLUDE)
	include(CheckIncludeFile)
	set(CMAKE_REQUIRED_INCLUDES ${PASTA_CUPTI_INCLUDE})
	check_include_file(cupti.h PASTA_CUPTI_COMPILES)
	unset(CMAKE_REQUIRED_INCLUDES)
endif()

# The same of the Compute Sanitizer.
find_path(PASTA_SANITIZER_INCLUDE sanitizer_callbacks.h
	HINTS ENV CUDA_HOME ENV CUDA_PATH
	PATHS /usr/local/cuda /usr/lib/cuda
	PATH_SUFFIXES compute-sanitizer/include extras/compute-sanitizer/include include)
find_path(PASTA_CUDA_INCLUDE cuda.h
	HINTS ENV CUDA_HOME ENV CUDA_PATH
	PATHS /usr/local/cuda /usr/lib/cuda
	PATH_SUFFIXES include)

# pasta_unit_tests(ROOM PATTERN): a cmocka program a file.
function(pasta_unit_tests room pattern)
	pasta_glob(sources ${pattern})
	if(sources AND NOT (PASTA_CMOCKA AND PASTA_CMOCKA_INCLUDE))
		message(STATUS "no cmocka: the tests in tests/${room} are left out")
		return()
	endif()
	foreach(source IN LISTS sources)
		get_filename_component(name "${source}" NAME_WE)
		if(name MATCHES "^test_cl_(trace|kernels|random)$" AND NOT (PASTA_LLVM AND PASTA_OPENCL))
			message(STATUS "no LLVM or no libOpenCL: ${name} is left out")
			continue()
		endif()
		file(STRINGS "${source}" no_races REGEX "^[#/* ]+labels: .*(onethread|notsan)")
		if(no_races AND "thread" IN_LIST PASTA_SANITIZE)
			continue()
		endif()
		pasta_program(${name} tests "${source}")
		target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
		target_include_directories(${name} SYSTEM PRIVATE "${PASTA_CMOCKA_INCLUDE}")
		target_link_libraries(${name} PRIVATE pasta-agent-static "${PASTA_CMOCKA}")
		if(name STREQUAL "test_nvtx" AND PASTA_NVTX_INCLUDE)
			target_include_directories(${name} SYSTEM PRIVATE "${PASTA_NVTX_INCLUDE}")
		endif()
		if(name STREQUAL "test_crew") # it runs all the tools there are
			target_sources(${name} PRIVATE $<TARGET_OBJECTS:pasta-tools>)
		endif()
		if(name STREQUAL "test_cupti_abi" AND PASTA_CUPTI_COMPILES)
			target_include_directories(${name} SYSTEM PRIVATE ${PASTA_CUPTI_INCLUDE})
			target_compile_definitions(${name} PRIVATE PASTA_HAVE_CUPTI)
		endif()
		if(name STREQUAL "test_sanitizer_abi" AND PASTA_SANITIZER_INCLUDE AND PASTA_CUDA_INCLUDE)
			target_include_directories(${name} SYSTEM PRIVATE ${PASTA_SANITIZER_INCLUDE}
				${PASTA_CUDA_INCLUDE})
			target_compile_definitions(${name} PRIVATE PASTA_HAVE_SANITIZER)
		endif()
		if(name MATCHES "^test_sanitizer(_graphs|_held|_memory|_pages)?$") # it has the fake inside
			pasta_glob(fake tests/programs/fake_sanitizer/*.c)
			target_sources(${name} PRIVATE tests/programs/fake_sanitizer.c ${fake})
		endif()
		if(name MATCHES "^test_cl_(trace|kernels|random)$") # it runs kernels, where there is a device
			target_link_libraries(${name} PRIVATE pasta-opencl-trace "${PASTA_OPENCL}")
		endif()
		pasta_test(${name} ${room} "${source}" ${name})
	endforeach()
endfunction()

# pasta_script_tests(ROOM): a test a script.
function(pasta_script_tests room)
	find_program(PASTA_BASH bash REQUIRED)
	pasta_glob(scripts tests/${room}/*.sh)
	set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${scripts}")
	foreach(script IN LISTS scripts)
		get_filename_component(name "${script}" NAME_WE)
		if(NOT name MATCHES "^_|^lib$")
			pasta_test(${room}/${name} ${room} "${script}" "${PASTA_BASH}" "${script}")
		endif()
	endforeach()
endfunction()

# NVTX's own headers, where CUDA's toolkit is: a test holds ours against them.
find_path(PASTA_NVTX_INCLUDE nvtx3/nvToolsExt.h PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
	PATH_SUFFIXES include)
find_path(PASTA_OPENCL_INCLUDE CL/cl_layer.h)
find_library(PASTA_OPENCL OpenCL)
pasta_unit_tests(unit tests/unit/test_*.c)
pasta_unit_tests(unit share/new-tool/tests/unit/test_*.c)
pasta_unit_tests(gpu tests/gpu/test_*.c)
pasta_script_tests(golden)
# A sanitized agent cannot be loaded into a program that is not sanitized itself.
if(NOT PASTA_SANITIZE)
	pasta_script_tests(e2e)
	pasta_script_tests(harm)
	pasta_script_tests(python)
	pasta_script_tests(gpu)
endif()

# Programs under study. They know nothing of us but annotate.h, and have none of our flags. One of
# many files has the others in a folder of its name.
pasta_glob(programs tests/programs/*.c tests/programs/*.cpp)
set(cxx_programs ${programs})
list(FILTER cxx_programs INCLUDE REGEX "\\.cpp$")
if(cxx_programs)
	include(CheckLanguage)
	check_language(CXX)
	if(CMAKE_CXX_COMPILER)
		enable_language(CXX)
	elseif(PASTA_REQUIRE_TESTS)
		message(FATAL_ERROR "A C++ compiler is missing\nTo install it, run scripts/bootstrap")
	else()
		message(STATUS "no C++ compiler: C++ programs under study are left out")
		list(REMOVE_ITEM programs ${cxx_programs})
	endif()
endif()
# The patches for NVIDIA's devices, on one that is emulated. Its lanes are stacks that
# ThreadSanitizer is not told of.
if(CMAKE_CXX_COMPILER AND NOT PASTA_SANITIZE MATCHES "thread|fuzzer")
	set(flags ${PASTA_C_FLAGS})
	list(FILTER flags INCLUDE REGEX "sanitize|-Werror$|frame-pointer")
	foreach(name test_reduce_gpu test_reducer)
		add_executable(${name} tests/unit/${name}.cpp tests/unit/emulated/warp.cpp)
		target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter ${flags}
			# What is CUDA's alone; and its atomics are not of the type that the words have.
			-Wno-unknown-pragmas -fno-strict-aliasing)
		target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/unit/emulated"
			"${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests"
			"${PROJECT_BINARY_DIR}/sdk")
		target_link_options(${name} PRIVATE ${PASTA_LINK_FLAGS})
		target_link_libraries(${name} PRIVATE pasta-agent-static)
		set_target_properties(${name} PROPERTIES CXX_STANDARD 17
			RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
		pasta_test(${name} unit tests/unit/${name}.cpp ${name})
	endforeach()
	target_sources(test_reduce_gpu PRIVATE tests/gpu/reduce_oracle.c)
endif()
# Those whose names begin with cl_ are OpenCL programs.
if(NOT (PASTA_OPENCL AND PASTA_OPENCL_INCLUDE))
	if(PASTA_REQUIRE_TESTS)
		message(FATAL_ERROR "libOpenCL is missing\nTo install it, run scripts/bootstrap")
	endif()
	message(STATUS "no libOpenCL: OpenCL programs under study are left out")
	list(FILTER programs EXCLUDE REGEX "/cl_[^/]*$")
endif()
foreach(source IN LISTS programs)
	get_filename_component(name "${source}" NAME_WE)
	pasta_glob(others tests/programs/${name}/*.c)
	# A library that programs and tests load: tests/programs/NAME.so.
	if(name MATCHES "^(plugin_|fake_cupti|fake_sanitizer|fake_injection|one_thread)")
		add_library(program-${name} MODULE "${source}" ${others})
	else()
		add_executable(program-${name} "${source}" ${others})
	endif()
	target_include_directories(program-${name} PRIVATE "${PROJECT_SOURCE_DIR}/include")
	target_compile_options(program-${name} PRIVATE -Wall -Wextra)
	if(PASTA_WERROR)
		target_compile_options(program-${name} PRIVATE -Werror)
	endif()
	target_link_libraries(program-${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
	if(name MATCHES "^fake_(cupti|sanitizer)$") # they are fakes of CUDA's driver as well
		target_link_options(program-${name} PRIVATE -Wl,-soname,libcuda.so.1)
	endif()
	set_target_properties(program-${name} PROPERTIES OUTPUT_NAME ${name} C_EXTENSIONS ON
		RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/programs"
		LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/programs" PREFIX "")
	if(name MATCHES "_asan$")
		target_compile_options(program-${name} PRIVATE -fsanitize=address)
		target_link_options(program-${name} PRIVATE -fsanitize=address)
	endif()
	if(name MATCHES "^cl_")
		target_link_libraries(program-${name} PRIVATE "${PASTA_OPENCL}")
	endif()
endforeach()

# Programs that tests/harm runs natively and under accelprof, to compare the two: each is one file.
# Like those in tests/programs they include annotate.h at most and have none of our flags.
pasta_glob(harm_programs tests/harm/programs/*.c)
foreach(source IN LISTS harm_programs)
	get_filename_component(name "${source}" NAME_WE)
	# A library for LD_PRELOAD, e.g. one that makes a system call fail: tests/harm/preload_NAME.so.
	if(name MATCHES "^preload_")
		add_library(harm-${name} MODULE "${source}")
	else()
		add_executable(harm-${name} "${source}")
	endif()
	target_include_directories(harm-${name} PRIVATE "${PROJECT_SOURCE_DIR}/include")
	target_compile_options(harm-${name} PRIVATE -Wall -Wextra)
	if(PASTA_WERROR)
		target_compile_options(harm-${name} PRIVATE -Werror)
	endif()
	target_link_libraries(harm-${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
	set_target_properties(harm-${name} PROPERTIES OUTPUT_NAME ${name} PREFIX "" C_EXTENSIONS ON
		RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/harm"
		LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/harm")
endforeach()

# OpenCL layers of others, to be chained with ours. They know nothing of us.
pasta_glob(layers tests/layers/*.c)
foreach(source IN LISTS layers)
	get_filename_component(name "${source}" NAME_WE)
	add_library(layer-${name} MODULE "${source}")
	target_compile_options(layer-${name} PRIVATE -Wall -Wextra)
	if(PASTA_WERROR)
		target_compile_options(layer-${name} PRIVATE -Werror)
	endif()
	set_target_properties(layer-${name} PROPERTIES OUTPUT_NAME ${name} PREFIX "" C_EXTENSIONS ON
		LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/layers")
endforeach()

# What end-to-end tests use to look into runs.
pasta_glob(test_tools tests/tools/*.c)
foreach(source IN LISTS test_tools)
	get_filename_component(name "${source}" NAME_WE)
	pasta_program(${name} tests "${source}")
	# Those that make runs have the agent inside.
	string(REGEX MATCH "^make_" makes "${name}")
	target_link_libraries(${name} PRIVATE $<IF:$<BOOL:${makes}>,pasta-agent-static,pasta-static>)
endforeach()

# Fuzzers: only with libFuzzer. scripts/fuzz runs them.
add_custom_target(fuzzers)
if("fuzzer" IN_LIST PASTA_SANITIZE)
	pasta_glob(fuzz_sources tests/fuzz/fuzz_*.c)
	foreach(source IN LISTS fuzz_sources)
		get_filename_component(name "${source}" NAME_WE)
		pasta_program(${name} tests/fuzz "${source}")
		target_link_libraries(${name} PRIVATE pasta-agent-static)
		# libFuzzer's entry points have no prototype anywhere.
		target_compile_options(${name} PRIVATE -Wno-missing-prototypes)
		target_link_options(${name} PRIVATE -fsanitize=fuzzer)
		add_dependencies(fuzzers ${name})
	endforeach()
endif()
