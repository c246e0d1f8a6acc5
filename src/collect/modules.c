/* modules.c - the program and its libraries, told to the shard as they come and go. */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/agent.h"
#include "collect/state.h"

/* An object that the shard knows of. */
struct pasta_host_module {
	uint64_t id, addr, bytes, build;
	uint32_t name;
	uint32_t round; /* when it was seen last */
};

static int read_counters(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *counters = arg;

	counters[0] = info->dlpi_adds;
	counters[1] = info->dlpi_subs;
	return 1;
}

static void emit(unsigned int sub, const struct pasta_host_module *m)
{
	struct pasta_event ev;

	pasta_event_init(&ev, PASTA_KIND_MODULE, sub, PASTA_EVENT_SIZE(module));
	ev.time = pasta_now();
	ev.module.id = m->id;
	ev.module.addr = m->addr;
	ev.module.bytes = m->bytes;
	ev.module.crc = m->build;
	ev.module.name = ev.module.path = m->name;
	ev.module.device = PASTA_MODULE_HOST;
	pasta_emit(&ev);
}

/* The first bytes of the build id in a segment of notes; 0: none is there. */
static uint64_t build_in(const char *at, size_t size)
{
	const char *end = at + size;
	uint64_t build = 0;

	while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		const char *name = at + sizeof(*note);
		const unsigned char *bytes = (const void *)(name + ((note->n_namesz + 3) & ~3u));

		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    !memcmp(name, "GNU", 4) && note->n_descsz >= sizeof(build)) {
			for (size_t i = 0; i < sizeof(build); i++)
				build = build << 8 | bytes[i];
			return build;
		}
		at = (const char *)bytes + ((note->n_descsz + 3) & ~3u);
	}
	return 0;
}

static struct pasta_host_module describe(const struct dl_phdr_info *info)
{
	struct pasta_host_module m = {.addr = info->dlpi_addr};

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_vaddr + p->p_memsz > m.bytes)
			m.bytes = p->p_vaddr + p->p_memsz;
		if (p->p_type == PT_NOTE && !m.build)
			m.build =
				build_in((const char *)(info->dlpi_addr + p->p_vaddr), p->p_memsz);
	}
	return m;
}

/* The file's path: the program has no name here, and others may have one that is relative. */
static uint32_t name_of(const struct dl_phdr_info *info)
{
	char path[4096] = "", cwd[2048];
	ssize_t n;

	if (!*info->dlpi_name) {
		n = readlink("/proc/self/exe", path, sizeof(path) - 1);
		path[n > 0 ? n : 0] = '\0';
		return pasta_intern_str(path);
	}
	if (*info->dlpi_name == '/' || !strchr(info->dlpi_name, '/') || !getcwd(cwd, sizeof(cwd)))
		return pasta_intern_str(info->dlpi_name);
	snprintf(path, sizeof(path), "%s/%s", cwd, info->dlpi_name);
	return pasta_intern_str(path);
}

static struct pasta_host_module *find(struct pasta_host_modules *all,
				      const struct pasta_host_module *m)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].addr == m->addr && all->list[i].bytes == m->bytes &&
		    all->list[i].build == m->build)
			return &all->list[i];
	return NULL;
}

static bool grow(struct pasta_host_modules *all)
{
	size_t room = all->room ? 2 * all->room : 256;
	struct pasta_host_module *list;

	if (all->count < all->room)
		return true;
	list = pasta_memory_new(room * sizeof(*list));
	if (!list)
		return false;
	if (all->count)
		memcpy(list, all->list, all->count * sizeof(*list));
	pasta_memory_free(all->list, all->room * sizeof(*list));
	all->list = list;
	all->room = room;
	return true;
}

/* Without a build id two libraries may be taken for one: they are of one size at one place. */
static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct pasta_host_modules *all = arg;
	struct pasta_host_module m = describe(info), *known = find(all, &m);

	if (known) {
		known->round = all->round;
		return 0;
	}
	if (!grow(all))
		return 1;
	m.id = ++all->last_id;
	m.round = all->round;
	m.name = name_of(info);
	all->list[all->count++] = m;
	emit(PASTA_MODULE_LOAD, &m);
	return 0;
}

static void forget_gone(struct pasta_host_modules *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->count; i++) {
		if (all->list[i].round != all->round)
			emit(PASTA_MODULE_UNLOAD, &all->list[i]);
		else
			all->list[kept++] = all->list[i];
	}
	all->count = kept;
}

uint64_t pasta_modules_unloaded(void)
{
	uint64_t counters[2] = {0};

	dl_iterate_phdr(read_counters, counters);
	return counters[1];
}

uint64_t pasta_modules_update(void)
{
	struct pasta_host_modules *all = &pasta_state->modules;
	uint64_t counters[2] = {0};

	dl_iterate_phdr(read_counters, counters);
	if (atomic_load(&all->adds) == counters[0] && atomic_load(&all->subs) == counters[1])
		return counters[1];
	/* Another thread is at it, or we interrupted it: it will do. */
	if (!pasta_agent_records(PASTA_KIND_MODULE) || atomic_exchange(&all->busy, 1))
		return counters[1];
	all->round++;
	if (!dl_iterate_phdr(visit, all)) {
		forget_gone(all);
		atomic_store(&all->adds, counters[0]);
		atomic_store(&all->subs, counters[1]);
	}
	atomic_store(&all->busy, 0);
	return counters[1];
}
