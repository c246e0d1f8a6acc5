/* inject.h - declares the function and the variables by which the CUDA driver loads the agent. */
#ifndef PASTA_HANDLERS_CUDA_INJECT_H
#define PASTA_HANDLERS_CUDA_INJECT_H

/* The CUDA driver loads the library that CUDA_INJECTION64_PATH names. If the user has set this
 * variable, accelprof run moves its value to PASTA_CUDA_INJECTION, and the agent loads that library
 * too. */
#define CUDA_INJECT_ENV "CUDA_INJECTION64_PATH"
#define CUDA_INJECT_CHAINED "PASTA_CUDA_INJECTION"

/* The CUDA driver finds this function by its name, and calls it during the driver's initialization.
 * The function always returns 1. */
int InitializeInjection(void);

#endif
