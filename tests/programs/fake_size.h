/* fake_size.h - how long CUPTI's records are, by its version; a test compares with its headers. */
#ifndef FAKE_SIZE_H
#define FAKE_SIZE_H

#include "../../src/handlers/cupti/cuptiabi.h"

enum { FAKE_OVERHEAD = 17 }; /* a kind that the handler does not know */

/* 0: CUPTI knows no such kind. */
static inline size_t fake_size_in(uint32_t version, uint32_t kind)
{
	switch (kind) {
	case CUPTI_KERNEL:
		return version >= 130400 ? 248 : version >= 130000 ? 216 : 208;
	case CUPTI_MEMCPY:
		return version >= 130400 ? 112 : 96;
	case CUPTI_MEMSET:
		return version >= 130400 ? 104 : 88;
	case CUPTI_MEMCPY_P2P:
		return 96;
	case CUPTI_MEMORY:
		return 128;
	case CUPTI_SYNC:
		return 56;
	case CUPTI_UVM:
		return version >= 28 ? 104 : 64;
	case CUPTI_EVENT:
		return version >= 26 ? 56 : 24;
	case CUPTI_STREAM:
	case CUPTI_EXTERNAL:
		return 24;
	case CUPTI_DRIVER:
	case CUPTI_RUNTIME:
		return 40;
	case FAKE_OVERHEAD:
		return 56;
	default:
		return 0;
	}
}

#endif
