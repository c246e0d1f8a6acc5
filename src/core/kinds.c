/* kinds.c - events.def as data: the kinds, their fields, the schema that shards carry. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/err.h"
#include "core/frame.h"

#define FIELD(kind, type, name, summary)                                                           \
	{#name, PASTA_FIELD_##type,                                                                \
	 (uint16_t)(PASTA_EVENT_HEAD + offsetof(struct pasta_##kind, name))},
#define KIND(number, NAME, name, summary, ...)                                                     \
	static const struct pasta_field fields_##name[] = {__VA_ARGS__};                           \
	_Static_assert((number) > 0 && (number) < PASTA_KIND_MAX, "kinds fit a mask");             \
	_Static_assert(PASTA_EVENT_SIZE(name) <= sizeof(struct pasta_event), "records fit");
#include <pasta/events.def>
#undef KIND
#undef FIELD

_Static_assert(offsetof(struct pasta_event, kernel) == PASTA_EVENT_HEAD, "the head has no hole");

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

/* Each line begins with its number; fields are separated by one space. */
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
