/* inject.h - how the CUDA driver loads the agent. */
#ifndef PASTA_HANDLERS_CUDA_INJECT_H
#define PASTA_HANDLERS_CUDA_INJECT_H

/* The CUDA driver loads the library in the first variable. If the user has set it, accelprof run
 * moves the value to the second one, and the agent loads that library as well. */
#define CUDA_INJECT_ENV "CUDA_INJECTION64_PATH"
#define CUDA_INJECT_CHAINED "PASTA_CUDA_INJECTION"

/* The driver calls this function, by name, while it is initialized. Always returns 1. */
int InitializeInjection(void);

#endif
