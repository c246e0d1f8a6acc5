/* kinds.c - tables of all kinds and their fields, and the text of the schema. All of them are
 * generated from events.def. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/err.h"
#include "core/frame.h"

#define FIELD(kind, type, name, summary)                                                           \
	{#name, PASTA_FIELD_##type,                                                                \
	 (uint16_t)(PASTA_EVENT_HEAD + offsetof(struct pasta_##kind##_record, name))},
#define KIND(number, NAME, name, summary, ...)                                                     \
	static const struct pasta_field fields_##name[] = {__VA_ARGS__};                           \
	_Static_assert((number) > 0 && (number) < PASTA_KIND_MAX, "kinds fit a mask");             \
	_Static_assert(PASTA_EVENT_SIZE(name) <= sizeof(struct pasta_event), "records fit");
#include <pasta/events.def>
#undef KIND
#undef FIELD

_Static_assert(offsetof(struct pasta_event, kernel) == PASTA_EVENT_HEAD,
	       "the head of a record must have no padding");

const struct pasta_kind_info pasta_kinds[PASTA_KIND_MAX] = {
#define FIELD(...)
#define KIND(number, NAME, name_, summary_, ...)                                                   \
	[number] = {.name = #name_,                                                                \
		    .summary = summary_,                                                           \
		    .fields = fields_##name_,                                                      \
		    .count = sizeof(fields_##name_) / sizeof(fields_##name_[0]),                   \
		    .size = PASTA_EVENT_SIZE(name_)},
#include <pasta/events.def>
#undef KIND
#undef FIELD
};

/* The schema has one line per kind: the kind's number, its name and its fields, separated by
 * spaces. */
static const char schema[] =
#define FIELD(kind, type, name, summary) " " #type ":" #name
#define KIND(number, NAME, name, summary, ...) #number " " #name __VA_ARGS__ "\n"
#include <pasta/events.def>
#undef KIND
#undef FIELD
	;

const char *pasta_schema_text(size_t *size)
{
	*size = sizeof(schema) - 1;
	return schema;
}

const char *pasta_kind_name(unsigned int kind)
{
	return kind < PASTA_KIND_MAX ? pasta_kinds[kind].name : NULL;
}

/* -- Subtypes -- */

enum { SUBTYPES_MAX = 16 };

static const char *const memory_types[SUBTYPES_MAX] = {
	[PASTA_ALLOC_DEVICE] = "device",     [PASTA_ALLOC_HOST] = "host",
	[PASTA_ALLOC_MANAGED] = "managed",   [PASTA_ALLOC_POOL] = "pool",
	[PASTA_ALLOC_SEGMENT] = "segment",   [PASTA_ALLOC_IMAGE] = "image",
	[PASTA_ALLOC_PHYSICAL] = "physical", [PASTA_ALLOC_MAPPED] = "mapped",
};
static const char *const copies[SUBTYPES_MAX] = {
	[PASTA_COPY_H2D] = "h2d",     [PASTA_COPY_D2H] = "d2h", [PASTA_COPY_D2D] = "d2d",
	[PASTA_COPY_H2H] = "h2h",     [PASTA_COPY_P2P] = "p2p", [PASTA_COPY_MAP] = "map",
	[PASTA_COPY_UNMAP] = "unmap",
};
static const char *const syncs[SUBTYPES_MAX] = {
	[PASTA_SYNC_EVENT] = "event",
	[PASTA_SYNC_STREAM_WAIT] = "stream_wait",
	[PASTA_SYNC_STREAM] = "stream",
	[PASTA_SYNC_CONTEXT] = "context",
};
static const char *const uvm[SUBTYPES_MAX] = {
	[PASTA_UVM_TO_DEVICE] = "to_device",   [PASTA_UVM_TO_HOST] = "to_host",
	[PASTA_UVM_BETWEEN] = "between",       [PASTA_UVM_GPU_FAULT] = "gpu_fault",
	[PASTA_UVM_CPU_FAULT] = "cpu_fault",   [PASTA_UVM_THRASHING] = "thrashing",
	[PASTA_UVM_THROTTLING] = "throttling", [PASTA_UVM_REMOTE_MAP] = "remote_map",
};
static const char *const apis[SUBTYPES_MAX] = {
	[PASTA_API_RUNTIME] = "runtime",
	[PASTA_API_DRIVER] = "driver",
	[PASTA_API_LIBRARY] = "library",
};
static const char *const access_launches[SUBTYPES_MAX] = {
	[PASTA_ACCESS_LAUNCH_COUNTED] = "counted",   [PASTA_ACCESS_LAUNCH_SAMPLED] = "sampled",
	[PASTA_ACCESS_LAUNCH_FILTERED] = "filtered", [PASTA_ACCESS_LAUNCH_REFUSED] = "refused",
	[PASTA_ACCESS_LAUNCH_LOST] = "lost",	     [PASTA_ACCESS_LAUNCH_ENDED] = "ended",
};
static const char *const losses[SUBTYPES_MAX] = {
	[PASTA_LOSS_FULL] = "full",	[PASTA_LOSS_NESTED] = "nested",
	[PASTA_LOSS_MEMORY] = "memory", [PASTA_LOSS_CLOSED] = "closed",
	[PASTA_LOSS_SOURCE] = "source", [PASTA_LOSS_DEPTH] = "depth",
	[PASTA_LOSS_RAW] = "unkept",
};
static const char *const regions[SUBTYPES_MAX] = {
	[PASTA_REGION_BEGIN] = "begin",
	[PASTA_REGION_END] = "end",
	[PASTA_REGION_MARK] = "mark",
	[PASTA_REGION_UNMATCHED_END] = "stray",
};
static const char *const op_ends[SUBTYPES_MAX] = {[PASTA_OP_END_SUPPLIED] = "supplied"};
static const char *const op_args[SUBTYPES_MAX] = {
	[PASTA_OP_ARG_IN] = "in", [PASTA_OP_ARG_OUT] = "out"};
static const char *const modules[SUBTYPES_MAX] = {
	[PASTA_MODULE_LOAD] = "load",
	[PASTA_MODULE_UNLOAD] = "unload",
};
static const char *const links[SUBTYPES_MAX] = {
	[PASTA_LINK_BACKWARD] = "backward",
	[PASTA_LINK_EXTERNAL] = "external",
};
static const char *const tensors[SUBTYPES_MAX] = {
	[PASTA_TENSOR_NEW] = "new",
	[PASTA_TENSOR_FOUND] = "found",
};

static const char *const *const subtypes[PASTA_KIND_MAX] = {
	[PASTA_KIND_ALLOC] = memory_types,
	[PASTA_KIND_FREE] = memory_types,
	[PASTA_KIND_COPY] = copies,
	[PASTA_KIND_SYNC] = syncs,
	[PASTA_KIND_UVM] = uvm,
	[PASTA_KIND_API] = apis,
	[PASTA_KIND_ACCESS_LAUNCH] = access_launches,
	[PASTA_KIND_LOSS] = losses,
	[PASTA_KIND_REGION] = regions,
	[PASTA_KIND_OP_END] = op_ends,
	[PASTA_KIND_OP_ARG] = op_args,
	[PASTA_KIND_MODULE] = modules,
	[PASTA_KIND_LINK] = links,
	[PASTA_KIND_TENSOR] = tensors,
};

const char *pasta_subtype_name(unsigned int kind, unsigned int sub)
{
	if (!pasta_kind_name(kind))
		return NULL;
	if (!sub)
		return "unspecified";
	return sub < SUBTYPES_MAX && subtypes[kind] ? subtypes[kind][sub] : NULL;
}

const char *pasta_memory_name(unsigned int memory)
{
	static const char *const names[] = {
		[PASTA_MEMORY_UNKNOWN] = "unspecified", [PASTA_MEMORY_PAGEABLE] = "pageable",
		[PASTA_MEMORY_PINNED] = "pinned",	[PASTA_MEMORY_DEVICE] = "device",
		[PASTA_MEMORY_ARRAY] = "array",		[PASTA_MEMORY_MANAGED] = "managed"};

	return memory < sizeof(names) / sizeof(*names) ? names[memory] : NULL;
}
