/* modules.c - emits MODULE events as the program's libraries are loaded and unloaded. */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/agent.h"
#include "collect/state.h"

/* A module for which a MODULE event was emitted. */
struct pasta_host_module {
	uint64_t id, addr, bytes, build;
	uint32_t name;
	uint32_t round; /* number of the last update that found the module loaded */
};

static int modules_read_counters(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *counters = arg;

	counters[0] = info->dlpi_adds;
	counters[1] = info->dlpi_subs;
	return 1;
}

static void module_emit(unsigned int sub, const struct pasta_host_module *m)
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

/* Returns the first bytes of the build id in a segment of notes, or 0 if the segment contains no
 * build id. */
static uint64_t module_build_id(const char *at, size_t size)
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

static struct pasta_host_module module_describe(const struct dl_phdr_info *info)
{
	struct pasta_host_module m = {.addr = info->dlpi_addr};

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_vaddr + p->p_memsz > m.bytes)
			m.bytes = p->p_vaddr + p->p_memsz;
		if (p->p_type == PT_NOTE && !m.build)
			m.build = module_build_id((const char *)(info->dlpi_addr + p->p_vaddr),
						  p->p_memsz);
	}
	return m;
}

/* Returns the id of the file's interned path. The loader has no name for the program itself, and
 * relative names for some libraries. */
static uint32_t module_path(const struct dl_phdr_info *info)
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

static struct pasta_host_module *modules_find(struct pasta_host_modules *all,
					      const struct pasta_host_module *m)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].addr == m->addr && all->list[i].bytes == m->bytes &&
		    all->list[i].build == m->build)
			return &all->list[i];
	return NULL;
}

static bool modules_grow(struct pasta_host_modules *all)
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

/* Compares a loaded library with the known modules, and emits a MODULE event if the library is new.
 * Two libraries without a build id count as the same library if their sizes and addresses are
 * equal. */
static int modules_visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct pasta_host_modules *all = arg;
	struct pasta_host_module m = module_describe(info), *known = modules_find(all, &m);

	if (known) {
		known->round = all->round;
		return 0;
	}
	if (!modules_grow(all))
		return 1;
	m.id = ++all->last_id;
	m.round = all->round;
	m.name = module_path(info);
	all->list[all->count++] = m;
	module_emit(PASTA_MODULE_LOAD, &m);
	return 0;
}

static void modules_remove_unloaded(struct pasta_host_modules *all)
{
	size_t left = 0;

	for (size_t i = 0; i < all->count; i++) {
		if (all->list[i].round != all->round)
			module_emit(PASTA_MODULE_UNLOAD, &all->list[i]);
		else
			all->list[left++] = all->list[i];
	}
	all->count = left;
}

uint64_t pasta_modules_unloaded(void)
{
	uint64_t counters[2] = {0};

	dl_iterate_phdr(modules_read_counters, counters);
	return counters[1];
}

uint64_t pasta_modules_update(void)
{
	struct pasta_host_modules *all = &pasta_state->modules;
	uint64_t counters[2] = {0};

	dl_iterate_phdr(modules_read_counters, counters);
	if (atomic_load(&all->adds) == counters[0] && atomic_load(&all->subs) == counters[1])
		return counters[1];
	/* If an update is already running, on another thread or in code that a signal handler
	 * interrupted, that update finds the changes. */
	if (!pasta_agent_records(PASTA_KIND_MODULE) || atomic_exchange(&all->busy, 1))
		return counters[1];
	all->round++;
	if (!dl_iterate_phdr(modules_visit, all)) {
		modules_remove_unloaded(all);
		atomic_store(&all->adds, counters[0]);
		atomic_store(&all->subs, counters[1]);
	}
	atomic_store(&all->busy, 0);
	return counters[1];
}
