/*
 * nvtxabi.h - declares the part of NVTX's tool interface that the handler uses, as defined by NVTX
 * version 3. The declarations are repeated here, so that the build does not need NVIDIA's headers.
 * A test compares these declarations with NVIDIA's headers.
 */
#ifndef PASTA_HANDLERS_NVTX_NVTXABI_H
#define PASTA_HANDLERS_NVTX_NVTXABI_H

#include <stddef.h>
#include <stdint.h>

enum { NVTX_ABI_VERSION = 3 };

/* -- Arguments that the program passes -- */

enum nvtx_message_type {
	NVTX_ABI_MESSAGE_NONE,
	NVTX_ABI_MESSAGE_ASCII,
	NVTX_ABI_MESSAGE_WIDE,
	NVTX_ABI_MESSAGE_REGISTERED,
};

struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *registered;
	} message;
};

/* -- The tables that a tool receives and fills in -- */

typedef void (*nvtx_function)(void);

enum nvtx_table { NVTX_ABI_CALLBACKS = 1, NVTX_ABI_VERSION_INFO = 3 };
enum nvtx_module { NVTX_ABI_CORE = 1, NVTX_ABI_CORE2 = 5 };

struct nvtx_callbacks {
	size_t size;
	/* Returns 1 on success, and stores the slots of the functions of an NVTX module. Functions
	 * are numbered from 1. Returns 0 on failure. */
	int (*get_functions)(int module, nvtx_function ***functions, unsigned int *count);
};

struct nvtx_version_info {
	size_t size;
	uint32_t version, reserved;
	void (*set_tool_version)(uint32_t version);
};

typedef const void *(*nvtx_get_table)(uint32_t table);

enum nvtx_core {
	NVTX_ABI_MARK_EX = 1,
	NVTX_ABI_MARK_A,
	NVTX_ABI_MARK_W,
	NVTX_ABI_START_EX,
	NVTX_ABI_START_A,
	NVTX_ABI_START_W,
	NVTX_ABI_END,
	NVTX_ABI_PUSH_EX,
	NVTX_ABI_PUSH_A,
	NVTX_ABI_PUSH_W,
	NVTX_ABI_POP,
	NVTX_ABI_NAME_THREAD_A = 14,
	NVTX_ABI_NAME_THREAD_W,
	NVTX_ABI_CORE_COUNT,
};

enum nvtx_core2 {
	NVTX_ABI_DOMAIN_MARK_EX = 1,
	NVTX_ABI_DOMAIN_START_EX,
	NVTX_ABI_DOMAIN_END,
	NVTX_ABI_DOMAIN_PUSH_EX,
	NVTX_ABI_DOMAIN_POP,
	NVTX_ABI_DOMAIN_REGISTER_A = 10,
	NVTX_ABI_DOMAIN_REGISTER_W,
	NVTX_ABI_DOMAIN_CREATE_A,
	NVTX_ABI_DOMAIN_CREATE_W,
	NVTX_ABI_DOMAIN_DESTROY,
	NVTX_ABI_CORE2_COUNT = 16,
};

#endif
