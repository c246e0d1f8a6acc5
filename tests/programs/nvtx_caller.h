/*
 * nvtx_caller.h - what NVTX's headers do in a program, where those are not there: the same names,
 * the way to the tool by NVTX_INJECTION64_PATH, and the tables. One file a program; not all of it.
 */
#ifndef NVTX_CALLER_H
#define NVTX_CALLER_H

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomain *nvtxDomainHandle_t;
typedef struct nvtxString *nvtxStringHandle_t;
enum { NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE, NVTX_MESSAGE_TYPE_REGISTERED };

typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	uint64_t payload;
	int32_t messageType;
	union {
		const char *ascii;
		const wchar_t *unicode;
		nvtxStringHandle_t registered;
	} message;
} nvtxEventAttributes_t;

enum { CORE = 1, CORE2 = 5, SLOTS = 16 };
typedef void (*nvtx_slot)(void);
static nvtx_slot slots[2][SLOTS];
static nvtx_slot *slot_pointers[2][SLOTS + 1];

static int get_functions(int module, nvtx_slot ***table, unsigned int *count)
{
	int which = module == CORE2;

	if (module != CORE && module != CORE2)
		return 0;
	for (int i = 1; i < SLOTS; i++)
		slot_pointers[which][i] = &slots[which][i];
	*table = slot_pointers[which];
	*count = SLOTS;
	return 1;
}

static void set_version(uint32_t version)
{
	if (version != NVTX_VERSION)
		abort();
}

static const void *get_table(uint32_t id)
{
	static const struct {
		size_t size;
		int (*get)(int, nvtx_slot ***, unsigned int *);
	} callbacks = {sizeof(callbacks), get_functions};
	static const struct {
		size_t size;
		uint32_t version, reserved;
		void (*set)(uint32_t);
	} info = {sizeof(info), NVTX_VERSION, 0, set_version};

	return id == 1 ? (const void *)&callbacks : id == 3 ? (const void *)&info : NULL;
}

static void nvtx_find(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *lib = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(const void *(*)(uint32_t)) = NULL;

	if (lib)
		*(void **)&initialize = dlsym(lib, "InitializeInjectionNvtx2");
	if (!initialize || !initialize(get_table))
		for (int i = 0; i < 2 * SLOTS; i++)
			slots[i / SLOTS][i % SLOTS] = NULL;
}

static void nvtx_initialize(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, nvtx_find);
}

/* A function of the table; without a tool it returns none. */
#define DEFINE(type, name, module, slot, none, parameters, arguments)                              \
	static inline type name parameters                                                         \
	{                                                                                          \
		type(*f) parameters;                                                               \
                                                                                                   \
		nvtx_initialize();                                                                 \
		f = (type(*) parameters)slots[(module) == CORE2][slot];                            \
		if (f)                                                                             \
			return f arguments;                                                        \
		return none;                                                                       \
	}

#define ATTRIBUTES const nvtxEventAttributes_t *a
DEFINE(void, nvtxMarkA, CORE, 2, , (const char *text), (text))
DEFINE(nvtxRangeId_t, nvtxRangeStartA, CORE, 5, 0, (const char *text), (text))
DEFINE(void, nvtxRangeEnd, CORE, 7, , (nvtxRangeId_t id), (id))
DEFINE(int, nvtxRangePushEx, CORE, 8, -2, (ATTRIBUTES), (a))
DEFINE(int, nvtxRangePushA, CORE, 9, -2, (const char *text), (text))
DEFINE(int, nvtxRangePushW, CORE, 10, -2, (const wchar_t *text), (text))
DEFINE(int, nvtxRangePop, CORE, 11, -2, (void), ())
DEFINE(void, nvtxNameOsThreadA, CORE, 14, , (uint32_t tid, const char *name), (tid, name))
DEFINE(void, nvtxDomainMarkEx, CORE2, 1, , (nvtxDomainHandle_t d, ATTRIBUTES), (d, a))
DEFINE(nvtxRangeId_t, nvtxDomainRangeStartEx, CORE2, 2, 0, (nvtxDomainHandle_t d, ATTRIBUTES),
       (d, a))
DEFINE(void, nvtxDomainRangeEnd, CORE2, 3, , (nvtxDomainHandle_t d, nvtxRangeId_t id), (d, id))
DEFINE(int, nvtxDomainRangePushEx, CORE2, 4, -2, (nvtxDomainHandle_t d, ATTRIBUTES), (d, a))
DEFINE(int, nvtxDomainRangePop, CORE2, 5, -2, (nvtxDomainHandle_t d), (d))
DEFINE(nvtxStringHandle_t, nvtxDomainRegisterStringA, CORE2, 10, NULL,
       (nvtxDomainHandle_t d, const char *text), (d, text))
DEFINE(nvtxDomainHandle_t, nvtxDomainCreateA, CORE2, 12, NULL, (const char *name), (name))
DEFINE(void, nvtxDomainDestroy, CORE2, 14, , (nvtxDomainHandle_t d), (d))

#endif
