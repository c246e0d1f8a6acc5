/* fuzz_kineto.c - any bytes as a trace of the PyTorch Profiler. */
#define HEAD "{\"schemaVersion\":1,"
#include "fuzz_import.h"
