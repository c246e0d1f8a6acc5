# Benchmarks: accelprof-gen, which makes runs to measure with, and a program a bench_*.c.

pasta_glob(gen_sources bench/gen*.c)
if(gen_sources)
	pasta_program(accelprof-gen bench ${gen_sources})
	target_link_libraries(accelprof-gen PRIVATE pasta-agent-static)
endif()

pasta_glob(bench_sources bench/bench_*.c)
foreach(source IN LISTS bench_sources)
	get_filename_component(name "${source}" NAME_WE)
	pasta_program(${name} bench "${source}")
	if(name MATCHES "^bench_(agent_|emit|stack)")
		target_link_libraries(${name} PRIVATE pasta-agent-static)
	else()
		target_link_libraries(${name} PRIVATE pasta-static)
	endif()
endforeach()
