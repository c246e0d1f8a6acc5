/* devices.h - emits a device record for each device of a CUDA program. */
#ifndef PASTA_HANDLERS_CUDA_DEVICES_H
#define PASTA_HANDLERS_CUDA_DEVICES_H

/* Emits a device record for each device that the CUDA driver reports. Only the first call in a
 * process has an effect. Call this function after CUDA is initialized, on any thread. */
void cuda_devices_emit(void);

#endif
