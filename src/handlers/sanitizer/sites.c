/* sites.c - numbers the instructions that access memory (sites) and emits a SITE event for each
 * one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/sanitizer/modules.h"
#include "handlers/sanitizer/patching.h"
#include "handlers/sanitizer/sites.h"
#include "handlers/sanitizer/slots.h"
#include "core/lock.h"

/* Returns the launched function that contains the address; NULL if there is none. The caller holds
 * san.lock. */
static const struct san_code *code_of(const struct san_module *m, uint64_t pc)
{
	for (uint32_t i = 0; i < m->code_count; i++)
		if (pc - m->code[i].pc < m->code[i].size)
			return &m->code[i];
	return NULL;
}

/* If out of memory, sites of this function are reported with an unknown function. */
void san_code(struct san_module *m, const char *name, uint64_t pc, uint64_t size)
{
	struct san_code *code;

	pasta_lock(&san.lock);
	if (!code_of(m, pc)) {
		code = realloc(m->code, (m->code_count + 1) * sizeof(*code));
		if (code) {
			m->code = code;
			code += m->code_count;
			*code = (struct san_code){strdup(name), pc, size};
			m->code_count += code->name != NULL;
		}
	}
	pasta_unlock(&san.lock);
}

static bool code_has(const struct san_module *m, uint64_t pc)
{
	return code_of(m, pc) != NULL;
}

void san_code_remove(struct san_module *m, const struct san_module *unloaded)
{
	uint32_t remaining = 0, *number;
	size_t at = 0;
	uint64_t pc;

	for (uint32_t i = 0; i < m->code_count; i++)
		if (code_has(unloaded, m->code[i].pc))
			free(m->code[i].name);
		else
			m->code[remaining++] = m->code[i];
	m->code_count = remaining;
	while (m->sites && (number = pasta_map_next(m->sites, &at, &pc)))
		if (code_has(unloaded, pc))
			/* the next access of this instruction emits another SITE event */
			*number = 0;
}

/* Sets the source line of a SITE event. The caller holds san.lock, because only one thread at a
 * time may look up lines. */
static void site_find_line(const struct san_module *m, const struct san_code *code, uint64_t pc,
			   struct pasta_event *ev)
{
	const struct pasta_cubin_function *f =
		m->cubin ? pasta_cubin_find(m->cubin, code->name) : NULL;
	struct pasta_cubin_line line;

	if (!f || !pasta_cubin_line(m->cubin, f, pc - code->pc, &line))
		return;
	ev->site.file = pasta_intern_str(line.file);
	ev->site.line = line.line;
}

/* An address outside of all kernels belongs to a function that a kernel calls. */
static void site_emit(const struct san_module *m, uint64_t pc, uint32_t number, uint32_t flags)
{
	const struct san_code *code;
	struct pasta_event ev;
	char position[64];

	if (!pasta_agent_records(PASTA_KIND_SITE))
		return;
	pasta_event_init(&ev, PASTA_KIND_SITE, 0, PASTA_EVENT_SIZE(site));
	ev.site.id = number;
	ev.site.flags = flags;
	pasta_lock(&san.lock);
	code = code_of(m, pc);
	if (code) {
		snprintf(position, sizeof(position), "+0x%" PRIx64, pc - code->pc);
		ev.site.function = pasta_intern_str(code->name);
		site_find_line(m, code, pc, &ev);
	} else {
		snprintf(position, sizeof(position), "at 0x%" PRIx64, pc);
		ev.site.function = pasta_intern_str("(function called by a kernel)");
	}
	pasta_unlock(&san.lock);
	ev.site.callee = pasta_intern_str(position);
	ev.time = pasta_now();
	pasta_emit(&ev);
}

/* Emits a SITE event without access kinds. Such an event reports instructions whose accesses are
 * not counted. */
static void site_emit_uncounted(const char *kernel, const char *what, uint32_t count,
				const char *where)
{
	uint32_t number = count ? pasta_accesses_sites(1) : 0;
	struct pasta_event ev;
	char text[120];

	if (!number)
		return;
	snprintf(text, sizeof(text), "%s (%" PRIu32 " in %s)", what, count, where);
	pasta_event_init(&ev, PASTA_KIND_SITE, 0, PASTA_EVENT_SIZE(site));
	ev.site.id = number;
	ev.site.function = pasta_intern_str(kernel);
	ev.site.callee = pasta_intern_str(text);
	ev.time = pasta_now();
	pasta_emit(&ev);
}

static void site_emit_coverage(const char *kernel, const struct pasta_cubin_mix *mix,
			       const char *where)
{
	site_emit_uncounted(kernel, "tensor copies", mix->tensor_copies, where);
	site_emit_uncounted(kernel, "textures and surfaces", mix->textures, where);
	if (!san_patching_spaces())
		return;
	site_emit_uncounted(kernel, "reads of shared memory by tensor cores", mix->tensor_cores,
			    where);
	site_emit_uncounted(kernel, "bulk stores to shared memory", mix->bulk_sets, where);
}

void san_coverage(struct san_module *m, const void *function, const char *kernel)
{
	const struct pasta_cubin_function *f;

	if (!m->cubin || !pasta_agent_records(PASTA_KIND_SITE))
		return;
	f = san_module_emits(m, function) ? pasta_cubin_find(m->cubin, kernel) : NULL;
	if (!f || !f->mix_known)
		return;
	site_emit_coverage(kernel, &f->mix, "its code");
	site_emit_coverage(kernel, pasta_cubin_called(m->cubin),
			   "functions that the kernel may "
			   "call");
}

/* Several threads may process launches of the same module at the same time. */
uint32_t san_site(const struct san_slot *s, uint64_t pc, uint32_t flags)
{
	struct san_module *m = s->module;
	uint32_t *at, number = 0;
	bool is_new = false;

	pasta_lock(&san.lock);
	if (!m->sites)
		m->sites = pasta_map_new(sizeof(uint32_t));
	at = m->sites ? pasta_map_add(m->sites, pc) : NULL;
	if (at && !*at) {
		*at = pasta_accesses_sites(1);
		is_new = *at != 0;
	}
	number = at ? *at : 0;
	pasta_unlock(&san.lock);
	if (is_new)
		site_emit(m, pc, number, flags);
	return number;
}
