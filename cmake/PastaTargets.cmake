# Functions that create targets from source folders.

# pasta_glob(VAR PATTERN...): the files that match; patterns are relative to the source tree.
function(pasta_glob var)
	list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE patterns)
	file(GLOB files LIST_DIRECTORIES false CONFIGURE_DEPENDS ${patterns})
	set(${var} "${files}" PARENT_SCOPE)
endfunction()

# pasta_setup(TARGET): the include folders and flags of all targets.
function(pasta_setup target)
	target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include"
		"${PROJECT_SOURCE_DIR}/src")
	target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:pasta-includes>)
	# With an empty value, "#define _GNU_SOURCE" in a file is not a redefinition.
	target_compile_definitions(${target} PRIVATE _GNU_SOURCE=
		PASTA_VERSION_STRING="${PROJECT_VERSION}")
	target_compile_options(${target} PRIVATE ${PASTA_C_FLAGS})
	get_target_property(type ${target} TYPE)
	if(NOT type MATCHES "OBJECT|STATIC")
		target_link_options(${target} PRIVATE ${PASTA_LINK_FLAGS})
	endif()
endfunction()

# pasta_runpath(TARGET [PATH...]): where the loader looks for the target's libraries, in the build tree
# and where it is installed: PATH, then the folders of the libraries that it was linked with.
#
# CMake's default is to link with one path and to edit it at installation, in place. For that it pads
# the path with colons, and the loader treats each empty entry as the current folder.
function(pasta_runpath target)
	set_target_properties(${target} PROPERTIES INSTALL_RPATH "${ARGN}"
		BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
endfunction()

# pasta_objects(NAME PATTERN...): an object library of the files that match.
function(pasta_objects name)
	pasta_glob(sources ${ARGN})
	if(NOT sources)
		# CMake does not allow empty libraries.
		set(sources "${PROJECT_BINARY_DIR}/empty.c")
		file(CONFIGURE OUTPUT "${sources}" CONTENT "typedef int pasta_empty;\n")
	endif()
	add_library(${name} OBJECT ${sources})
	pasta_setup(${name})
endfunction()

# pasta_program(NAME DIR SOURCE...): an executable in DIR of the build tree.
function(pasta_program name dir)
	add_executable(${name} ${ARGN})
	pasta_setup(${name})
	set_target_properties(${name} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${dir}")
endfunction()
