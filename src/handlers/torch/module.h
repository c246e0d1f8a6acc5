/* module.h - stores the PyTorch module that the calling thread runs, as _modules.py reports it. */
#ifndef PASTA_HANDLERS_TORCH_MODULE_H
#define PASTA_HANDLERS_TORCH_MODULE_H

#include <stdint.h>

/* Set the PyTorch module of the calling thread, such as "GPT2.blocks.3.attn", or NULL if the thread
 * runs no PyTorch module. The text is copied. Exported for the Python package. */
void pasta_torch_module(const char *path);

/* Returns the interned path of the PyTorch module that the calling thread runs, for an operator's
 * module field. Returns 0 if the thread runs no PyTorch module. Any thread may call this
 * function. */
uint32_t pasta_torch_module_now(void);

#endif
