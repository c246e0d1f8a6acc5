# Options, and flags of all targets.

set(werror OFF)
if(DEFINED ENV{CI} AND NOT "$ENV{CI}" STREQUAL "")
	set(werror ON)
endif()
option(PASTA_WERROR "treat warnings as errors" ${werror})
option(PASTA_TESTS "build the tests" ON)
option(PASTA_BENCH "build the benchmarks" ON)
option(PASTA_REQUIRE_TESTS "fail if a test cannot be built, instead of skipping it" OFF)
set(PASTA_SANITIZE "" CACHE STRING "sanitizers: address;undefined, thread, or fuzzer;address;undefined")

if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "build type" FORCE)
endif()
# Without -DNDEBUG, so that asserts in tests and benchmarks work. Code that runs in the program has no
# asserts.
set(optimize "-O2 -g")
# For sanitizers: builds in half the time, -g1 suffices for their reports, and less code is optimized
# away before they check it. Fuzzers must be fast, and use -O2.
if(PASTA_SANITIZE AND NOT "fuzzer" IN_LIST PASTA_SANITIZE)
	set(optimize "-O1 -g1")
endif()
set(CMAKE_C_FLAGS_RELWITHDEBINFO "${optimize}")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "${optimize}")

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

set(PASTA_C_FLAGS
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
	-Wvla -Wpointer-arith -Wundef -Wformat=2 -Wwrite-strings
	# Callbacks need not use all parameters.
	-Wno-unused-parameter
	# Members of SDK structs that an initializer omits are 0, on purpose.
	-Wno-missing-field-initializers
	# Always errors, even without PASTA_WERROR.
	-Werror=implicit-function-declaration -Werror=incompatible-pointer-types
	-Werror=int-conversion
	-fvisibility=hidden
	# __FILE__ is relative to the source tree.
	"-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(PASTA_WERROR)
	list(APPEND PASTA_C_FLAGS -Werror)
endif()

set(PASTA_LINK_FLAGS -Wl,--as-needed)
set(PASTA_NO_UNDEFINED -Wl,-z,defs)
if(PASTA_SANITIZE)
	# With clang the executable has the sanitizer's symbols: libraries leave them undefined.
	set(PASTA_NO_UNDEFINED "")
	list(JOIN PASTA_SANITIZE "," sanitize)
	list(APPEND PASTA_LINK_FLAGS "-fsanitize=${sanitize}")
	# All code is instrumented for coverage, but only the fuzzers link libFuzzer's main.
	string(REPLACE "fuzzer" "fuzzer-no-link" sanitize "${sanitize}")
	list(APPEND PASTA_C_FLAGS "-fsanitize=${sanitize}" -fno-sanitize-recover=all
		-fno-omit-frame-pointer)
	list(TRANSFORM PASTA_LINK_FLAGS REPLACE "fuzzer" "fuzzer-no-link")
	# With sanitizers gcc knows less about the lengths of strings; the plain build has this warning.
	if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
		list(APPEND PASTA_C_FLAGS -Wno-format-truncation)
	endif()
endif()
