/* module.h - which module of the model the calling thread is in, as _modules.py tells. */
#ifndef PASTA_HANDLERS_TORCH_MODULE_H
#define PASTA_HANDLERS_TORCH_MODULE_H

#include <stdint.h>

/* Exported, for Python: the calling thread is in this module, such as "GPT2.blocks.3.attn"; NULL:
 * in none. The text is copied. */
void pasta_torch_module(const char *path);

/* Its interned path, for an operator's module field; 0: none, or not known. Any thread. */
uint32_t pasta_torch_module_now(void);

#endif
