/* kernelkind.h - what the name of a kernel shows about its work. */
#ifndef PASTA_PROCESS_DIAGNOSIS_KERNELKIND_H
#define PASTA_PROCESS_DIAGNOSIS_KERNELKIND_H

#include <pasta/diagnosis.h>

/* Returns the flags of enum pasta_work_flags that the name shows. The name of a kernel without
 * tensor cores may not show what the kernel computes. */
uint32_t pasta_kernelkind_flags(const char *name);

#endif
