/* fuzz_rocprof.c - any bytes as a trace of rocprofv3. */
#define HEAD "{\"rocprofiler-sdk-tool\":[{"
#include "fuzz_import.h"
