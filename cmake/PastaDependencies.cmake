# Libraries that the build needs, and messages about missing ones.

find_package(Threads REQUIRED)

set(missing "")
macro(pasta_need variable what)
	if(NOT ${variable})
		string(APPEND missing "\n  ${what}")
	endif()
endmacro()

find_path(PASTA_ZSTD_INCLUDE zstd.h)
find_library(PASTA_ZSTD zstd)
find_library(PASTA_ZSTD_STATIC libzstd.a)
find_path(PASTA_ZLIB_INCLUDE zlib.h)
find_library(PASTA_ZLIB z)
find_path(PASTA_XXHASH_INCLUDE xxhash.h)
find_path(PASTA_YAJL_INCLUDE yajl/yajl_parse.h)
find_library(PASTA_YAJL NAMES yajl yajl_s)
find_path(PASTA_SQLITE_INCLUDE sqlite3.h)
find_library(PASTA_SQLITE sqlite3)

pasta_need(PASTA_ZSTD_INCLUDE "zstd.h")
pasta_need(PASTA_ZSTD "libzstd")
pasta_need(PASTA_ZSTD_STATIC "libzstd.a (for the agent, which contains zstd)")
pasta_need(PASTA_ZLIB_INCLUDE "zlib.h")
pasta_need(PASTA_ZLIB "libz")
pasta_need(PASTA_XXHASH_INCLUDE "xxhash.h")
pasta_need(PASTA_YAJL_INCLUDE "yajl/yajl_parse.h")
pasta_need(PASTA_YAJL "libyajl")
pasta_need(PASTA_SQLITE_INCLUDE "sqlite3.h")
pasta_need(PASTA_SQLITE "libsqlite3")

# Without libdw accelprof shows native frames as addresses in files, and doctor reports that.
find_path(PASTA_DW_INCLUDE elfutils/libdwfl.h)
find_library(PASTA_DW dw)
if(NOT PASTA_DW_INCLUDE OR NOT PASTA_DW)
	message(STATUS "no libdw: native stacks will have no names (scripts/bootstrap installs it)")
endif()

# LLVM, for the memory accesses of OpenCL kernels: the version of PoCL, whose kernels it instruments.
find_file(PASTA_POCL NAMES libpocl.so.2 libpocl.so PATHS ${CMAKE_SYSTEM_LIBRARY_PATH}
	PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE} lib/${CMAKE_LIBRARY_ARCHITECTURE} lib lib64)
set(llvm_version "")
if(PASTA_POCL)
	file(STRINGS "${PASTA_POCL}" llvm_soname REGEX "^libLLVM[-.0-9a-z]*$")
	string(REGEX MATCH "[0-9][0-9]" llvm_version "${llvm_soname}")
endif()
find_program(PASTA_LLVM_CONFIG NAMES llvm-config-${llvm_version} llvm-config${llvm_version} llvm-config)
if(PASTA_LLVM_CONFIG AND NOT PASTA_LLVM)
	execute_process(COMMAND "${PASTA_LLVM_CONFIG}" --version OUTPUT_VARIABLE llvm_found)
	execute_process(COMMAND "${PASTA_LLVM_CONFIG}" --includedir OUTPUT_VARIABLE llvm_include
		OUTPUT_STRIP_TRAILING_WHITESPACE)
	execute_process(COMMAND "${PASTA_LLVM_CONFIG}" --libdir OUTPUT_VARIABLE llvm_lib
		OUTPUT_STRIP_TRAILING_WHITESPACE)
	string(REGEX MATCH "^[0-9]+" llvm_found "${llvm_found}")
	if(llvm_found VERSION_GREATER_EQUAL 15 AND (NOT llvm_version OR llvm_found EQUAL llvm_version))
		find_path(PASTA_LLVM_INCLUDE llvm-c/Core.h PATHS "${llvm_include}" NO_DEFAULT_PATH)
		find_library(PASTA_LLVM NAMES LLVM-${llvm_found} LLVM PATHS "${llvm_lib}" NO_DEFAULT_PATH)
	endif()
endif()
if(NOT PASTA_LLVM)
	message(STATUS "no LLVM ${llvm_version}, which PoCL uses: accelprof will not count memory "
		"accesses of OpenCL kernels (scripts/bootstrap installs it)")
endif()

# Building needs no test library; `make check` requires it.
if(PASTA_TESTS)
	find_path(PASTA_CMOCKA_INCLUDE cmocka.h)
	find_library(PASTA_CMOCKA cmocka)
	if(PASTA_REQUIRE_TESTS)
		pasta_need(PASTA_CMOCKA_INCLUDE "cmocka.h")
		pasta_need(PASTA_CMOCKA "libcmocka")
		pasta_need(PASTA_LLVM "llvm-c/Core.h and libLLVM, of PoCL's version")
	endif()
endif()

if(missing)
	message(FATAL_ERROR "missing:${missing}\nTo install them, run scripts/bootstrap")
endif()

add_library(pasta-includes INTERFACE)
target_include_directories(pasta-includes SYSTEM INTERFACE "${PASTA_ZSTD_INCLUDE}" "${PASTA_ZLIB_INCLUDE}"
	"${PASTA_XXHASH_INCLUDE}" "${PASTA_YAJL_INCLUDE}" "${PASTA_SQLITE_INCLUDE}")

add_library(pasta-host-deps INTERFACE)
target_link_libraries(pasta-host-deps INTERFACE "${PASTA_ZSTD}" "${PASTA_ZLIB}" "${PASTA_YAJL}"
	"${PASTA_SQLITE}" Threads::Threads m ${CMAKE_DL_LIBS})
if(PASTA_DW_INCLUDE AND PASTA_DW)
	target_include_directories(pasta-includes SYSTEM INTERFACE "${PASTA_DW_INCLUDE}")
	target_compile_definitions(pasta-includes INTERFACE PASTA_HAVE_LIBDW)
	target_link_libraries(pasta-host-deps INTERFACE "${PASTA_DW}")
endif()
