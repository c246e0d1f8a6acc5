# Options, and the flags that every target has.

set(werror OFF)
if(DEFINED ENV{CI} AND NOT "$ENV{CI}" STREQUAL "")
	set(werror ON)
endif()
option(PASTA_WERROR "warnings are errors" ${werror})
option(PASTA_TESTS "build the tests" ON)
option(PASTA_BENCH "build the benchmarks" ON)
option(PASTA_REQUIRE_TESTS "fail where the tests cannot be built, instead of leaving them out" OFF)
set(PASTA_SANITIZE "" CACHE STRING "sanitizers: address;undefined, thread, or fuzzer;address;undefined")

if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "build type" FORCE)
endif()
# Without -DNDEBUG: an assert in a test or a benchmark means what it says. The code that runs in the
# program under study has none.
set(optimize "-O2 -g")
# Twice as fast to build; a sanitizer's report needs no more than lines, and less is optimized away
# before it looks. A fuzzer is to be fast: it stays as it is.
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
	# Callbacks have the parameters of their table, used or not.
	-Wno-unused-parameter
	# The SDK's structs grow at their ends; what is left out is 0.
	-Wno-missing-field-initializers
	# Never what was meant, whatever PASTA_WERROR says.
	-Werror=implicit-function-declaration -Werror=incompatible-pointer-types
	-Werror=int-conversion
	-fvisibility=hidden
	# Messages name files as the tree has them, not as this machine has the tree.
	"-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(PASTA_WERROR)
	list(APPEND PASTA_C_FLAGS -Werror)
endif()

set(PASTA_LINK_FLAGS -Wl,--as-needed)
set(PASTA_NO_UNDEFINED -Wl,-z,defs)
if(PASTA_SANITIZE)
	# With clang the sanitizer's symbols are in the executable: a library leaves them undefined.
	set(PASTA_NO_UNDEFINED "")
	list(JOIN PASTA_SANITIZE "," sanitize)
	list(APPEND PASTA_LINK_FLAGS "-fsanitize=${sanitize}")
	# Only the fuzzers have libFuzzer's main; all code has its coverage.
	string(REPLACE "fuzzer" "fuzzer-no-link" sanitize "${sanitize}")
	list(APPEND PASTA_C_FLAGS "-fsanitize=${sanitize}" -fno-sanitize-recover=all
		-fno-omit-frame-pointer)
	list(TRANSFORM PASTA_LINK_FLAGS REPLACE "fuzzer" "fuzzer-no-link")
	# Guessed from how long strings are, of which gcc knows less here; the plain build is held to it.
	if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
		list(APPEND PASTA_C_FLAGS -Wno-format-truncation)
	endif()
endif()
