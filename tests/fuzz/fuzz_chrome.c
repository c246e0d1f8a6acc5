/* fuzz_chrome.c - any bytes as a trace in Chrome's format. */
#define HEAD "[{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\"},"
#include "fuzz_import.h"
