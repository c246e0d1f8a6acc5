/* sites.c - instructions that access memory, by their addresses. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/sanitizer/sanitizer.h"
#include "core/lock.h"

/* Under the lock. NULL: it is in none that was launched. */
static const struct san_code *code_of(const struct san_module *m, uint64_t pc)
{
	for (uint32_t i = 0; i < m->code_count; i++)
		if (pc - m->code[i].pc < m->code[i].size)
			return &m->code[i];
	return NULL;
}

/* Without memory its instructions are those of an unknown function. */
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

static bool is_in(const struct san_module *m, uint64_t pc)
{
	return code_of(m, pc) != NULL;
}

void san_code_forget(struct san_module *m, const struct san_module *gone)
{
	uint32_t kept = 0, *number;
	size_t at = 0;
	uint64_t pc;

	for (uint32_t i = 0; i < m->code_count; i++)
		if (is_in(gone, m->code[i].pc))
			free(m->code[i].name);
		else
			m->code[kept++] = m->code[i];
	m->code_count = kept;
	while (m->sites && (number = pasta_map_next(m->sites, &at, &pc)))
		if (is_in(gone, pc))
			*number = 0; /* it is a new one, then */
}

/* Under the lock: lines are read by one thread at a time. */
static void find_line(const struct san_module *m, const struct san_code *code, uint64_t pc,
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

/* One that is in no kernel is in a function that one calls. */
static void emit_site(const struct san_module *m, uint64_t pc, uint32_t number, uint32_t flags)
{
	const struct san_code *code;
	struct pasta_event ev;
	char place[64];

	if (!pasta_agent_records(PASTA_KIND_SITE))
		return;
	pasta_event_init(&ev, PASTA_KIND_SITE, 0, PASTA_EVENT_SIZE(site));
	ev.site.id = number;
	ev.site.flags = flags;
	pasta_lock(&san.lock);
	code = code_of(m, pc);
	if (code) {
		snprintf(place, sizeof(place), "+0x%" PRIx64, pc - code->pc);
		ev.site.function = pasta_intern_str(code->name);
		find_line(m, code, pc, &ev);
	} else {
		snprintf(place, sizeof(place), "at 0x%" PRIx64, pc);
		ev.site.function = pasta_intern_str("(a function that a kernel calls)");
	}
	pasta_unlock(&san.lock);
	ev.site.callee = pasta_intern_str(place);
	ev.time = pasta_now();
	pasta_emit(&ev);
}

/* Without a kind: its accesses are not counted. */
static void emit_unseen(const char *kernel, const char *what, uint32_t count, const char *where)
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

static void emit_all(const char *kernel, const struct pasta_cubin_mix *mix, const char *where)
{
	emit_unseen(kernel, "tensor copies", mix->tensor_copies, where);
	emit_unseen(kernel, "textures and surfaces", mix->textures, where);
	if (!san_modules_spaces())
		return;
	emit_unseen(kernel, "reads of shared memory by tensor cores", mix->tensor_cores, where);
	emit_unseen(kernel, "bulk stores to shared memory", mix->bulk_sets, where);
}

void san_coverage(struct san_module *m, const void *function, const char *kernel)
{
	const struct pasta_cubin_function *f;

	if (!m->cubin || !pasta_agent_records(PASTA_KIND_SITE))
		return;
	f = san_module_emits(m, function) ? pasta_cubin_find(m->cubin, kernel) : NULL;
	if (!f || !f->mix_known)
		return;
	emit_all(kernel, &f->mix, "its code");
	emit_all(kernel, pasta_cubin_called(m->cubin), "functions that it may call");
}

/* Many threads may tell of launches of one module. */
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
		emit_site(m, pc, number, flags);
	return number;
}
