/* sites.c - instructions that access memory, by their addresses. */
#include <inttypes.h>
#include <stdio.h>

#include "handlers/sanitizer/sanitizer.h"

/* An instruction has a place in its function. Its line is in the module's cubin: this is where to
 * ask for it. One that is outside of the kernel is in a function that it calls. */
static void emit_site(const struct san_slot *s, uint64_t pc, uint32_t number, uint32_t kind)
{
	bool inside = pc - s->pc < s->pc_size;
	struct pasta_event ev;
	char place[64];

	if (!pasta_agent_wants(PASTA_SITE))
		return;
	if (inside)
		snprintf(place, sizeof(place), "+0x%" PRIx64, pc - s->pc);
	else
		snprintf(place, sizeof(place), "at 0x%" PRIx64, pc);
	pasta_event_init(&ev, PASTA_SITE, 0, PASTA_EVENT_SIZE(site));
	ev.site.id = number;
	ev.site.function = pasta_intern_str(s->function);
	ev.site.callee = pasta_intern_str(place);
	ev.site.flags = kind;
	ev.time = pasta_now();
	pasta_emit(&ev);
}

/* Two threads may fold launches of one module. */
uint32_t san_site(const struct san_slot *s, uint64_t pc, uint32_t kind)
{
	struct san_module *m = s->module;
	uint32_t *at, number = 0;
	bool is_new = false;

	pthread_mutex_lock(&san.lock);
	if (!m->sites)
		m->sites = pasta_map_new(sizeof(uint32_t));
	at = m->sites ? pasta_map_add(m->sites, pc) : NULL;
	if (at && !*at) {
		*at = pasta_accesses_sites(1);
		is_new = *at != 0;
	}
	number = at ? *at : 0;
	pthread_mutex_unlock(&san.lock);
	if (is_new)
		emit_site(s, pc, number, kind);
	return number;
}
