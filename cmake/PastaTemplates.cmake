# pasta_templates(VAR DIR): a C file that contains all files of DIR, for src/cli/templates.h.
#
# CMake writes the file while it configures, and configures again when a template has changed.
function(pasta_templates var dir)
	file(GLOB_RECURSE files RELATIVE "${PROJECT_SOURCE_DIR}/${dir}" CONFIGURE_DEPENDS
		"${PROJECT_SOURCE_DIR}/${dir}/*")
	list(FILTER files EXCLUDE REGEX "~$")
	set(arrays "")
	set(table "")
	set(number 0)
	foreach(file IN LISTS files)
		set(path "${PROJECT_SOURCE_DIR}/${dir}/${file}")
		set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
		file(READ "${path}" bytes HEX)
		string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
		string(APPEND arrays "static const unsigned char file${number}[] = {${bytes}};\n")
		string(APPEND table "\t{\"${file}\", file${number}, sizeof(file${number})},\n")
		math(EXPR number "${number} + 1")
	endforeach()
	set(source "${PROJECT_BINARY_DIR}/templates.c")
	file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT
"#include \"cli/templates.h\"\n\n${arrays}
const struct pasta_template pasta_templates[] = {\n${table}\t{NULL, NULL, 0},\n};\n")
	set(${var} "${source}" PARENT_SCOPE)
endfunction()
