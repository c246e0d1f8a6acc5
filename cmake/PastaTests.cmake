# Tests. Each test has the name of its folder as a label.
#
# Comment lines in a test's file add to that; each stands alone on its line:
#   labels: long         more labels. `make check` skips "long" and "gpu"
#   timeout: 300         seconds; the default is 60. Tests with a longer timeout start first
#   serial: yes          no other test runs at the same time
# Shell tests exit with 77 to skip. Scripts whose names begin with _, and lib.sh, are not tests.
#
# Tests that run under a sanitizer:
#   unit tests           all under AddressSanitizer. The build with ThreadSanitizer skips those labelled
#                        "onethread", which start no thread (the plain build aborts if they do), and
#                        "notsan", whose threads belong to other libraries
#   scripts              only those labelled "asan" or "tsan". A script gets the label if it runs C code
#                        in a way that no unit test does: the agent in a program that forks, is killed
#                        or has threads; callbacks of a vendor's interface; a verb on damaged or hostile
#                        input. Scripts that test shell, Python, packages, documents, compilers or other
#                        programs run only in the plain build
# The programs that labelled scripts run are compiled with the sanitizer as well, so that they can load
# the agent. SANITIZER is "asan" or "tsan" in the environment of a script, or empty.

set(sanitizer_env
	"ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
	"UBSAN_OPTIONS=print_stacktrace=1"
	# Tests fork while threads run, because programs do so.
	"TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:die_after_fork=0")

# The label of the scripts that run in this build; empty: all scripts run.
set(script_label "")
if("address" IN_LIST PASTA_SANITIZE)
	set(script_label asan)
elseif("thread" IN_LIST PASTA_SANITIZE)
	set(script_label tsan)
endif()

function(pasta_test name folder source)
	add_test(NAME ${name} COMMAND ${ARGN})
	set(labels ${folder})
	set(timeout 60)
	set(cost 0)
	set(serial OFF)
	set(marks "")
	file(STRINGS "${source}" lines REGEX "^[#/* ]+(labels|timeout|serial): *[a-z0-9, ]+[*/ ]*$")
	# A formatter may have joined such a comment with another line.
	file(STRINGS "${source}" all REGEX "(labels|timeout|serial):")
	if(NOT "${all}" STREQUAL "${lines}")
		message(FATAL_ERROR "${source}: put labels, timeout and serial each on a line of its own")
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
	if(PASTA_SANITIZE) # some tests are ten times slower
		math(EXPR timeout "3 * ${timeout}")
	endif()
	set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} COST ${cost}
		RUN_SERIAL ${serial} SKIP_RETURN_CODE 77
		ENVIRONMENT "ACCELPROF=${PROJECT_BINARY_DIR}/accelprof;BUILD=${PROJECT_BINARY_DIR};SRC=${PROJECT_SOURCE_DIR};SANITIZER=${script_label};${sanitizer_env}")
	# With a sanitizer, its own library must be preloaded first.
	if("onethread" IN_LIST labels AND NOT PASTA_SANITIZE)
		add_dependencies(${name} program-one_thread)
		set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
			"LD_PRELOAD=${PROJECT_BINARY_DIR}/tests/programs/one_thread.so")
	endif()
endfunction()

# NVIDIA's CUPTI headers: a test compares AccelProf's own declarations with them.
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

# The headers of the Compute Sanitizer, likewise.
find_path(PASTA_SANITIZER_INCLUDE sanitizer_callbacks.h
	HINTS ENV CUDA_HOME ENV CUDA_PATH
	PATHS /usr/local/cuda /usr/lib/cuda
	PATH_SUFFIXES compute-sanitizer/include extras/compute-sanitizer/include include)
find_path(PASTA_CUDA_INCLUDE cuda.h
	HINTS ENV CUDA_HOME ENV CUDA_PATH
	PATHS /usr/local/cuda /usr/lib/cuda
	PATH_SUFFIXES include)

# pasta_unit_tests(FOLDER PATTERN): one cmocka program for each file.
function(pasta_unit_tests folder pattern)
	pasta_glob(sources ${pattern})
	if(sources AND NOT (PASTA_CMOCKA AND PASTA_CMOCKA_INCLUDE))
		message(STATUS "no cmocka: skipped the tests in tests/${folder}")
		return()
	endif()
	foreach(source IN LISTS sources)
		get_filename_component(name "${source}" NAME_WE)
		if(name MATCHES "^test_cl_(trace|kernels|random)$" AND NOT (PASTA_LLVM AND PASTA_OPENCL))
			message(STATUS "no LLVM or no libOpenCL: skipped ${name}")
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
		if(name STREQUAL "test_engine") # runs all built-in tools
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
		if(name MATCHES "^test_sanitizer(_graphs|_held|_memory|_pages)?$") # contains the fake library
			pasta_glob(fake tests/programs/fake_sanitizer/*.c)
			target_sources(${name} PRIVATE tests/programs/fake_sanitizer.c ${fake})
		endif()
		if(name MATCHES "^test_cl_(trace|kernels|random)$") # runs kernels if there is a device
			target_link_libraries(${name} PRIVATE pasta-opencl-trace "${PASTA_OPENCL}")
		endif()
		pasta_test(${name} ${folder} "${source}" ${name})
	endforeach()
endfunction()

# pasta_script_tests(FOLDER): one test for each script. Sets FOLDER_tests to their names.
function(pasta_script_tests folder)
	find_program(PASTA_BASH bash REQUIRED)
	pasta_glob(scripts tests/${folder}/*.sh)
	set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${scripts}")
	set(tests "")
	foreach(script IN LISTS scripts)
		get_filename_component(name "${script}" NAME_WE)
		file(STRINGS "${script}" labelled REGEX "^# labels:.*[ ,]${script_label}(,|$)")
		if(name MATCHES "^_|^lib$" OR (script_label AND NOT labelled))
			continue()
		endif()
		pasta_test(${folder}/${name} ${folder} "${script}" "${PASTA_BASH}" "${script}")
		list(APPEND tests ${folder}/${name})
	endforeach()
	set(${folder}_tests "${tests}" PARENT_SCOPE)
endfunction()

# NVTX's headers, from CUDA's toolkit: a test compares AccelProf's own declarations with them.
find_path(PASTA_NVTX_INCLUDE nvtx3/nvToolsExt.h PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
	PATH_SUFFIXES include)
find_path(PASTA_OPENCL_INCLUDE CL/cl_layer.h)
find_library(PASTA_OPENCL OpenCL)
pasta_unit_tests(unit tests/unit/test_*.c)
pasta_unit_tests(unit share/new-tool/tests/unit/test_*.c)
pasta_unit_tests(gpu tests/gpu/test_*.c)
foreach(folder golden e2e harm python gpu)
	pasta_script_tests(${folder})
endforeach()

# pasta_studied(TARGET DIR SOURCE...): a program that tests record, or a library that such programs load,
# in DIR of the build tree. It uses nothing of AccelProf but annotate.h, and none of its flags but the
# sanitizer's.
set(studied_sanitize ${PASTA_SANITIZE})
list(REMOVE_ITEM studied_sanitize undefined)
list(TRANSFORM studied_sanitize PREPEND -fsanitize=)
function(pasta_studied target dir)
	get_filename_component(name "${ARGV2}" NAME_WE)
	if(name MATCHES "^(plugin_|preload_|fake_agent|fake_cupti|fake_sanitizer|fake_injection|one_thread)")
		add_library(${target} MODULE ${ARGN})
	else()
		add_executable(${target} ${ARGN})
		if(PASTA_SANITIZE)
			target_sources(${target} PRIVATE tests/programs/sanitized/options.c)
			target_compile_options(${target} PRIVATE ${studied_sanitize} -Wno-format-truncation)
			target_link_options(${target} PRIVATE ${studied_sanitize})
		endif()
	endif()
	target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include")
	target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter
		-Wno-missing-field-initializers)
	if(PASTA_WERROR)
		target_compile_options(${target} PRIVATE -Werror)
	endif()
	target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
	set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} PREFIX "" C_EXTENSIONS ON
		RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${dir}"
		LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${dir}")
endfunction()

# If a program has several files, the others are in a folder with its name.
pasta_glob(programs tests/programs/*.c tests/programs/*.cpp)
set(cxx_programs ${programs})
list(FILTER cxx_programs INCLUDE REGEX "\\.cpp$")
if(cxx_programs)
	include(CheckLanguage)
	check_language(CXX)
	if(CMAKE_CXX_COMPILER)
		enable_language(CXX)
	elseif(PASTA_REQUIRE_TESTS)
		message(FATAL_ERROR "missing: a C++ compiler\nTo install it, run scripts/bootstrap")
	else()
		message(STATUS "no C++ compiler: skipped the C++ test programs")
		list(REMOVE_ITEM programs ${cxx_programs})
	endif()
endif()
# Tests that run the patches for NVIDIA GPUs and the tools' reducers on an emulated device. Each of its
# lanes has a stack that ThreadSanitizer does not know.
if(CMAKE_CXX_COMPILER AND NOT PASTA_SANITIZE MATCHES "thread|fuzzer")
	set(flags ${PASTA_C_FLAGS})
	list(FILTER flags INCLUDE REGEX "sanitize|-Werror$|frame-pointer")
	foreach(source tests/unit/test_reduce_gpu.cpp tests/unit/test_reducer.cpp
			tests/unit/test_reducer_host.cpp examples/bank_conflicts/test_bank_conflicts.cpp)
		get_filename_component(name "${source}" NAME_WE)
		if(TARGET ${name}) # the tool's test has this name
			set(name ${name}_reducer)
		endif()
		add_executable(${name} ${source})
		target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter
			-Wno-unknown-pragmas ${flags})
		target_include_directories(${name} PRIVATE
			"${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests"
			"${PROJECT_BINARY_DIR}/sdk")
		target_link_options(${name} PRIVATE ${PASTA_LINK_FLAGS})
		target_link_libraries(${name} PRIVATE pasta-agent-static)
		set_target_properties(${name} PROPERTIES CXX_STANDARD 17
			RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
		pasta_test(${name} unit ${source} ${name})
	endforeach()
	target_sources(test_reduce_gpu PRIVATE tests/gpu/reduce_oracle.c)
endif()
# Programs whose names begin with cl_ use OpenCL.
if(NOT (PASTA_OPENCL AND PASTA_OPENCL_INCLUDE))
	if(PASTA_REQUIRE_TESTS)
		message(FATAL_ERROR "missing: libOpenCL\nTo install it, run scripts/bootstrap")
	endif()
	message(STATUS "no libOpenCL: skipped the OpenCL test programs")
	list(FILTER programs EXCLUDE REGEX "/cl_[^/]*$")
endif()
# Programs whose names end in _asan use AddressSanitizer in the plain build, too.
if("thread" IN_LIST PASTA_SANITIZE)
	list(FILTER programs EXCLUDE REGEX "_asan\\.c$")
endif()
foreach(source IN LISTS programs)
	get_filename_component(name "${source}" NAME_WE)
	pasta_glob(others tests/programs/${name}/*.c)
	pasta_studied(program-${name} tests/programs "${source}" ${others})
	if(name MATCHES "^fake_(cupti|sanitizer)$") # they replace CUDA's driver as well
		target_link_options(program-${name} PRIVATE -Wl,-soname,libcuda.so.1)
	endif()
	if(name MATCHES "_asan$")
		target_compile_options(program-${name} PRIVATE -fsanitize=address)
		target_link_options(program-${name} PRIVATE -fsanitize=address)
	endif()
	if(name MATCHES "^cl_")
		target_link_libraries(program-${name} PRIVATE "${PASTA_OPENCL}")
	endif()
endforeach()

# Programs of one file each, which tests/harm runs with and without accelprof to compare the two.
# preload_NAME.c is a library for LD_PRELOAD, e.g. to make a system call fail.
pasta_glob(harm_programs tests/harm/programs/*.c)
if(NOT (PASTA_OPENCL AND PASTA_OPENCL_INCLUDE))
	list(FILTER harm_programs EXCLUDE REGEX "/handler_cl\\.c$")
endif()
if(harm_tests OR NOT PASTA_SANITIZE)
	foreach(source IN LISTS harm_programs)
		get_filename_component(name "${source}" NAME_WE)
		pasta_studied(harm-${name} tests/harm "${source}")
		if(name STREQUAL "handler_cl")
			target_link_libraries(harm-${name} PRIVATE "${PASTA_OPENCL}")
		endif()
	endforeach()
endif()

# OpenCL layers that tests load together with AccelProf's. They use nothing of AccelProf.
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

# Programs with which end-to-end tests inspect runs.
pasta_glob(test_tools tests/tools/*.c)
foreach(source IN LISTS test_tools)
	get_filename_component(name "${source}" NAME_WE)
	pasta_program(${name} tests "${source}")
	# Programs that create runs link the agent.
	string(REGEX MATCH "^make_" makes "${name}")
	target_link_libraries(${name} PRIVATE $<IF:$<BOOL:${makes}>,pasta-agent-static,pasta-static>)
endforeach()

# Fuzzers, if the build has libFuzzer. scripts/fuzz runs them.
add_custom_target(fuzzers)
if("fuzzer" IN_LIST PASTA_SANITIZE)
	# Only the folders that parse untrusted input: they are compiled again for libFuzzer. A fuzzer that
	# needs another folder does not link.
	pasta_objects(pasta-fuzzed src/core/*.c src/process/*/*.c src/import/*.c
		src/handlers/sanitizer/cubin*.c)
	add_library(pasta-fuzzed-static STATIC $<TARGET_OBJECTS:pasta-fuzzed>)
	pasta_setup(pasta-fuzzed-static)
	target_link_libraries(pasta-fuzzed-static PUBLIC pasta-host-deps)
	pasta_glob(fuzz_sources tests/fuzz/fuzz_*.c)
	foreach(source IN LISTS fuzz_sources)
		get_filename_component(name "${source}" NAME_WE)
		pasta_program(${name} tests/fuzz "${source}")
		target_link_libraries(${name} PRIVATE pasta-fuzzed-static)
		# No header declares libFuzzer's entry points.
		target_compile_options(${name} PRIVATE -Wno-missing-prototypes)
		target_link_options(${name} PRIVATE -fsanitize=fuzzer)
		add_dependencies(fuzzers ${name})
	endforeach()
endif()
