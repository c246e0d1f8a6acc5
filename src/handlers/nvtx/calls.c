/* calls.c - implements the functions that the program calls through NVTX. */
#include <stdlib.h>

#include "handlers/nvtx/nvtx.h"

/* A domain. On each thread, the ranges of a domain nest independently of the ranges of other
 * domains. A NULL pointer to a domain stands for the default domain. */
struct domain {
	struct nvtx_text *name;
	uint32_t owner;
};

static _Atomic uint32_t last_owner = PASTA_OWNER_NVTX;

static uint32_t domain_owner(const struct domain *domain)
{
	return domain ? domain->owner : PASTA_OWNER_NVTX;
}

static uint32_t domain_name(const struct domain *domain)
{
	static struct nvtx_text none = {.text = "nvtx"};

	return nvtx_text_id(domain ? domain->name : &none);
}

/* -- Functions for ranges of a given domain -- */

static void domain_mark(const struct domain *domain, const struct nvtx_attributes *attributes)
{
	if (pasta_region_enabled())
		pasta_region_mark(nvtx_text_message(attributes), domain_name(domain));
}

static int domain_push(const struct domain *domain, const struct nvtx_attributes *attributes)
{
	if (!pasta_region_enabled())
		return pasta_region_push(domain_owner(domain), false, 0, 0);
	return pasta_region_push(domain_owner(domain), true, nvtx_text_message(attributes),
				 domain_name(domain));
}

static int domain_pop(const struct domain *domain)
{
	return pasta_region_pop(domain_owner(domain));
}

static uint64_t domain_start(const struct domain *domain, const struct nvtx_attributes *attributes)
{
	if (!pasta_region_enabled())
		return nvtx_range_start(false, 0, 0);
	return nvtx_range_start(true, nvtx_text_message(attributes), domain_name(domain));
}

static void domain_end(const struct domain *domain, uint64_t id)
{
	(void)domain;
	nvtx_range_end(id);
}

static const void *domain_register(const struct domain *domain, const char *text)
{
	(void)domain;
	return nvtx_text_copy(text);
}

static const void *domain_register_wide(const struct domain *domain, const wchar_t *text)
{
	(void)domain;
	return nvtx_text_copy_wide(text);
}

static struct domain *domain_new(struct nvtx_text *name)
{
	struct domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		/* If this function returns NULL, NVTX uses the default domain. */
		return NULL;
	domain->name = name;
	domain->owner = atomic_fetch_add(&last_owner, 1) + 1;
	return domain;
}

static struct domain *domain_create(const char *name)
{
	return domain_new(nvtx_text_copy(name));
}

static struct domain *domain_create_wide(const wchar_t *name)
{
	return domain_new(nvtx_text_copy_wide(name));
}

static void domain_destroy(struct domain *domain)
{
	free(domain);
}

/* -- Functions for ranges of the default domain -- */

static void call_mark_ex(const struct nvtx_attributes *attributes)
{
	domain_mark(NULL, attributes);
}

static int call_push_ex(const struct nvtx_attributes *attributes)
{
	return domain_push(NULL, attributes);
}

static uint64_t call_start_ex(const struct nvtx_attributes *attributes)
{
	return domain_start(NULL, attributes);
}

static int call_pop(void)
{
	return domain_pop(NULL);
}

static struct nvtx_attributes attributes_of(const char *text)
{
	return (struct nvtx_attributes){.size = sizeof(struct nvtx_attributes),
					.message_type = NVTX_ABI_MESSAGE_ASCII,
					.message.ascii = text};
}

static struct nvtx_attributes attributes_of_wide(const wchar_t *text)
{
	return (struct nvtx_attributes){.size = sizeof(struct nvtx_attributes),
					.message_type = NVTX_ABI_MESSAGE_WIDE,
					.message.wide = text};
}

static void call_mark(const char *text)
{
	struct nvtx_attributes a = attributes_of(text);

	domain_mark(NULL, &a);
}

static void call_mark_wide(const wchar_t *text)
{
	struct nvtx_attributes a = attributes_of_wide(text);

	domain_mark(NULL, &a);
}

static int call_push(const char *text)
{
	struct nvtx_attributes a = attributes_of(text);

	return domain_push(NULL, &a);
}

static int call_push_wide(const wchar_t *text)
{
	struct nvtx_attributes a = attributes_of_wide(text);

	return domain_push(NULL, &a);
}

static uint64_t call_start(const char *text)
{
	struct nvtx_attributes a = attributes_of(text);

	return domain_start(NULL, &a);
}

static uint64_t call_start_wide(const wchar_t *text)
{
	struct nvtx_attributes a = attributes_of_wide(text);

	return domain_start(NULL, &a);
}

/* The names of threads are recorded even while recording is off, because a named thread may emit
 * records later. */
static void call_name_thread(uint32_t tid, const char *text)
{
	if (pasta_agent_records(PASTA_KIND_THREAD) && text)
		pasta_emit_name(tid, nvtx_text_ascii(text));
}

static void call_name_thread_wide(uint32_t tid, const wchar_t *text)
{
	if (pasta_agent_records(PASTA_KIND_THREAD) && text)
		pasta_emit_name(tid, nvtx_text_wide(text));
}

#define F(f) ((nvtx_function)(f))

const nvtx_function nvtx_core[NVTX_ABI_CORE_COUNT] = {
	[NVTX_ABI_MARK_EX] = F(call_mark_ex),
	[NVTX_ABI_MARK_A] = F(call_mark),
	[NVTX_ABI_MARK_W] = F(call_mark_wide),
	[NVTX_ABI_START_EX] = F(call_start_ex),
	[NVTX_ABI_START_A] = F(call_start),
	[NVTX_ABI_START_W] = F(call_start_wide),
	[NVTX_ABI_END] = F(nvtx_range_end),
	[NVTX_ABI_PUSH_EX] = F(call_push_ex),
	[NVTX_ABI_PUSH_A] = F(call_push),
	[NVTX_ABI_PUSH_W] = F(call_push_wide),
	[NVTX_ABI_POP] = F(call_pop),
	[NVTX_ABI_NAME_THREAD_A] = F(call_name_thread),
	[NVTX_ABI_NAME_THREAD_W] = F(call_name_thread_wide),
};

const nvtx_function nvtx_core2[NVTX_ABI_CORE2_COUNT] = {
	[NVTX_ABI_DOMAIN_MARK_EX] = F(domain_mark),
	[NVTX_ABI_DOMAIN_START_EX] = F(domain_start),
	[NVTX_ABI_DOMAIN_END] = F(domain_end),
	[NVTX_ABI_DOMAIN_PUSH_EX] = F(domain_push),
	[NVTX_ABI_DOMAIN_POP] = F(domain_pop),
	[NVTX_ABI_DOMAIN_REGISTER_A] = F(domain_register),
	[NVTX_ABI_DOMAIN_REGISTER_W] = F(domain_register_wide),
	[NVTX_ABI_DOMAIN_CREATE_A] = F(domain_create),
	[NVTX_ABI_DOMAIN_CREATE_W] = F(domain_create_wide),
	[NVTX_ABI_DOMAIN_DESTROY] = F(domain_destroy),
};
