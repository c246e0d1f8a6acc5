# What is installed, and how others find it.

# accelprof looks for the agent in ../lib beside its own folder, so that a tree can be moved:
# there is no lib64 and no lib/TRIPLET.
set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "libraries" FORCE)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(TARGET accelprof)
	install(TARGETS accelprof RUNTIME DESTINATION bin)
endif()
# What authors of tools make runs with, whose numbers they know.
if(TARGET accelprof-gen)
	install(TARGETS accelprof-gen RUNTIME DESTINATION bin)
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
# What <pasta/reducer.cuh> is made of, as authors of reducers include it; tests have it from sdk.
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
# Python looks into site at its start; the package beside it is the one that fits the agent.
install(DIRECTORY python/site python/accelprof DESTINATION share/accelprof/python
	FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
# The PyTorch shim is compiled where a program runs; in the build tree it is found the same way.
install(FILES src/handlers/torch/shim.cpp src/handlers/torch/shim.h
	DESTINATION share/accelprof/torch/handlers/torch)
foreach(file shim.cpp shim.h)
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
