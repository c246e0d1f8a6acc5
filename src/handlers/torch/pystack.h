/* pystack.h - the Python stack of the calling thread. */
#ifndef PASTA_HANDLERS_TORCH_PYSTACK_H
#define PASTA_HANDLERS_TORCH_PYSTACK_H

#include <stdint.h>

/* The interned innermost node of the path, as core/pathnode.h has it; 0: it is not known. Needs
 * no GIL. */
uint32_t pasta_pystack_capture(void);

#endif
