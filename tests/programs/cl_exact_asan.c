/* cl_exact_asan - cl_exact with AddressSanitizer: ours must not be what it finds. */
#include "cl_exact.c"
