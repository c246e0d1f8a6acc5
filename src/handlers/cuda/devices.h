/* devices.h - the device records of CUDA programs. */
#ifndef PASTA_HANDLERS_CUDA_DEVICES_H
#define PASTA_HANDLERS_CUDA_DEVICES_H

/* Emit a device record for each device that the CUDA driver reports, once in a process. Call it
 * after CUDA is initialized. Any thread. */
void cuda_devices_emit(void);

#endif
