/* measure.h - measures the peaks of the devices of this machine. */
#ifndef PASTA_CLI_MEASURE_H
#define PASTA_CLI_MEASURE_H

#include <stdbool.h>

#include <pasta/diagnosis.h>

/* Receives the result for one device. `error` is NULL, or the reason why the device could not be
 * measured. In that case `peaks` has what was measured before the error, and may be NULL. */
typedef void pasta_measure_fn(void *ctx, const char *product, const struct pasta_peaks *peaks,
			      const char *error);

/* Measure all devices that CUDA or OpenCL finds. If there are none, they write the reason to `why`
 * and return false. */
bool pasta_measure_cuda(pasta_measure_fn *result, void *ctx, char *why, size_t size);
bool pasta_measure_opencl(pasta_measure_fn *result, void *ctx, char *why, size_t size);

/* accelprof doctor --measure: measures all devices, prints the results and stores them. Returns an
 * exit status. */
int pasta_measure(void);

#endif
