# Installation: programs, libraries, headers, and files for pkg-config and CMake.

# accelprof looks for the agent in ../lib, so that an installed tree can be moved. Therefore libraries
# are never in lib64 or lib/TRIPLET.
set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "libraries" FORCE)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(TARGET accelprof)
	install(TARGETS accelprof RUNTIME DESTINATION bin)
endif()
# Authors of tools generate test runs with known numbers with it.
if(TARGET accelprof-gen)
	install(TARGETS accelprof-gen RUNTIME DESTINATION bin)
endif()
# Manual pages and shell completion, which accelprof makes from its option tables.
if(TARGET accelprof AND NOT CMAKE_CROSSCOMPILING AND NOT PASTA_SANITIZE)
	set(made "${PROJECT_BINARY_DIR}/made")
	add_custom_command(OUTPUT "${made}/stamp"
		COMMAND "${CMAKE_COMMAND}" -E make_directory "${made}/man"
		COMMAND accelprof man -o "${made}/man"
		COMMAND accelprof completion bash > "${made}/accelprof"
		COMMAND accelprof completion zsh > "${made}/_accelprof"
		COMMAND accelprof completion fish > "${made}/accelprof.fish"
		COMMAND "${CMAKE_COMMAND}" -E touch "${made}/stamp"
		DEPENDS accelprof COMMENT "Making manual pages and shell completion" VERBATIM)
	add_custom_target(man ALL DEPENDS "${made}/stamp")
	install(DIRECTORY "${made}/man/" DESTINATION share/man/man1 FILES_MATCHING PATTERN "*.1")
	install(FILES "${made}/accelprof" DESTINATION share/bash-completion/completions)
	install(FILES "${made}/_accelprof" DESTINATION share/zsh/site-functions)
	install(FILES "${made}/accelprof.fish" DESTINATION share/fish/vendor_completions.d)
endif()

install(TARGETS pasta pasta-tool EXPORT PastaTargets LIBRARY DESTINATION lib)
install(TARGETS pasta-agent LIBRARY DESTINATION lib)
if(TARGET pasta-opencl)
	install(TARGETS pasta-opencl LIBRARY DESTINATION lib)
endif()
if(TARGET pasta-opencl-trace)
	install(TARGETS pasta-opencl-trace LIBRARY DESTINATION lib)
endif()
if(EXISTS "${PROJECT_SOURCE_DIR}/include/pasta")
	install(DIRECTORY include/pasta DESTINATION include
		FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.def" PATTERN "*.cuh")
endif()
# Internal headers that <pasta/reducer.cuh> includes; tests include them from sdk.
foreach(file accumulate.h gpu.h gpu_count.cuh gpu_device.cuh gpu_host.h)
	set(from "${PROJECT_SOURCE_DIR}/src/reduce/${file}")
	set(to "${PROJECT_BINARY_DIR}/sdk/pasta/gpu/${file}")
	set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${from}")
	file(READ "${from}" text)
	string(REPLACE "#include \"reduce/" "#include \"pasta/gpu/" text "${text}")
	file(WRITE "${to}.new" "${text}")
	file(COPY_FILE "${to}.new" "${to}" ONLY_IF_DIFFERENT)
	file(REMOVE "${to}.new")
	install(FILES "${to}" DESTINATION include/pasta/gpu)
endforeach()
# Python runs site/sitecustomize.py when it starts; the package beside it matches the agent's version.
install(DIRECTORY python/site python/accelprof DESTINATION share/accelprof/python
	FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
# The agent compiles the PyTorch shim on the machine where a program runs; in the build tree, it finds
# the sources at the same path.
install(FILES src/handlers/torch/shim.cpp src/handlers/torch/shim.h
	src/handlers/torch/shimvalues.hpp
	DESTINATION share/accelprof/torch/handlers/torch)
foreach(file shim.cpp shim.h shimvalues.hpp)
	file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/share/accelprof/torch/handlers/torch")
	file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src/handlers/torch/${file}"
		"${PROJECT_BINARY_DIR}/share/accelprof/torch/handlers/torch/${file}" SYMBOLIC)
endforeach()
install(DIRECTORY docs/schema/ DESTINATION share/accelprof FILES_MATCHING PATTERN "*.json")

configure_file(cmake/pasta.pc.in pasta.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/pasta.pc" DESTINATION lib/pkgconfig)

install(EXPORT PastaTargets NAMESPACE Pasta:: DESTINATION lib/cmake/Pasta)
configure_package_config_file(cmake/PastaConfig.cmake.in PastaConfig.cmake
	INSTALL_DESTINATION lib/cmake/Pasta NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(PastaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/PastaConfig.cmake"
	"${PROJECT_BINARY_DIR}/PastaConfigVersion.cmake" DESTINATION lib/cmake/Pasta)
