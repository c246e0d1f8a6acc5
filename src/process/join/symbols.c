/* symbols.c - resolves call paths to functions and source lines, and caches the results. */
#include "process/join/symbols.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/pathnode.h"
#include "core/strings.h"
#include "process/join/dwarf.h"

/* Maximum number of frames per address; functions are rarely inlined more deeply. */
enum { FRAMES = 32 };

/* The frames of one address: a range of the array of frames in struct object. */
struct known {
	uint32_t first, count;
};

/* A program or library file. All processes that loaded the file share this struct. */
struct object {
	uint32_t name;
	uint64_t build;
	struct object *next;
	bool opened;
	int changed;
	/* Debug information of the file; NULL if the file cannot be read. */
	struct pasta_dwarf *dwarf;
	struct pasta_map *known; /* struct known, by offset */
	struct pasta_stack_frame *frames;
	size_t count, room;
};

/* A file that is mapped into a process. */
struct module {
	uint64_t addr, bytes;
	struct object *object;
};

struct process {
	struct module *modules; /* array, in the order in which the process loaded the modules */
	size_t count, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pasta_map *processes;
static struct object *objects;

static bool symbols_grow(void **array, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *bigger;

	if (count < *room)
		return true;
	bigger = reallocarray(*array, more, size);
	if (!bigger)
		return false;
	*array = bigger;
	*room = more;
	return true;
}

static void symbols_object_free(struct object *o)
{
	pasta_dwarf_close(o->dwarf);
	pasta_map_free(o->known);
	free(o->frames);
	free(o);
}

void pasta_symbols_reset(void)
{
	struct process *p;
	size_t at = 0;

	pthread_mutex_lock(&lock);
	while (processes && (p = pasta_map_next(processes, &at, NULL)))
		free(p->modules);
	pasta_map_free(processes);
	processes = NULL;
	while (objects) {
		struct object *next = objects->next;

		symbols_object_free(objects);
		objects = next;
	}
	pthread_mutex_unlock(&lock);
}

/* -- Modules -- */

static struct object *symbols_object(uint32_t name, uint64_t build)
{
	struct object *o;

	for (o = objects; o; o = o->next)
		if (o->name == name && o->build == build)
			return o;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->name = name;
	o->build = build;
	o->next = objects;
	objects = o;
	return o;
}

/* Adds a module that a process loaded. When out of memory, does nothing; the module's addresses
 * then remain unresolved. */
static void symbols_load(struct process *p, const struct pasta_module_record *m)
{
	struct object *o = symbols_object(m->name, m->crc);

	if (!o || !symbols_grow((void **)&p->modules, p->count, &p->room, sizeof(*p->modules)))
		return;
	p->modules[p->count++] = (struct module){.addr = m->addr, .bytes = m->bytes, .object = o};
}

void pasta_symbols_module(const struct pasta_event *ev)
{
	struct process *p;

	/* An unloaded module is not removed, because most call paths are resolved at the end. If
	 * several modules were loaded at an address, the last one counts. */
	if (ev->module.device != PASTA_MODULE_HOST || ev->sub != PASTA_MODULE_LOAD)
		return;
	pthread_mutex_lock(&lock);
	if (!processes)
		processes = pasta_map_new(sizeof(struct process));
	p = processes ? pasta_map_add(processes, ev->proc) : NULL;
	if (p)
		symbols_load(p, &ev->module);
	pthread_mutex_unlock(&lock);
}

/* Returns the module that contains an address. If several modules contain it, the one that starts
 * nearest to the address counts: a program that is not position independent starts at address 0 and
 * overlaps other modules. */
static const struct module *symbols_module_at(const struct process *p, uint64_t pc)
{
	const struct module *best = NULL;

	for (size_t i = 0; p && i < p->count; i++) {
		const struct module *m = &p->modules[i];

		if (pc >= m->addr && pc - m->addr < m->bytes && (!best || m->addr >= best->addr))
			best = m;
	}
	return best;
}

size_t pasta_symbols_changed(const char **first)
{
	size_t n = 0;

	*first = NULL;
	pthread_mutex_lock(&lock);
	for (const struct object *o = objects; o; o = o->next) {
		if (!o->changed)
			continue;
		if (!n++ || strcmp(pasta_str(o->name), *first) < 0)
			*first = pasta_str(o->name);
	}
	pthread_mutex_unlock(&lock);
	return n;
}

/* -- Frames -- */

/* Resolves an offset of the file, and adds the resulting frames to struct object. Returns false
 * when out of memory. */
static bool symbols_resolve(struct object *o, uint64_t offset, struct known *k)
{
	struct pasta_stack_frame found[FRAMES] = {{.function = "", .file = ""}};
	size_t n = o->dwarf ? pasta_dwarf_find(o->dwarf, offset, found, FRAMES) : 0;

	n = n ? n : 1;
	k->first = (uint32_t)o->count;
	for (size_t i = 0; i < n; i++) {
		if (!symbols_grow((void **)&o->frames, o->count, &o->room, sizeof(*o->frames)))
			return false;
		found[i].module = pasta_str(o->name);
		found[i].offset = offset;
		o->frames[o->count++] = found[i];
	}
	k->count = (uint32_t)n;
	return true;
}

static const struct known *symbols_known(struct object *o, uint64_t offset)
{
	struct known *k;

	if (!o->opened) {
		o->opened = true;
		o->dwarf = pasta_dwarf_open(pasta_str(o->name), o->build, &o->changed);
	}
	if (!o->known)
		o->known = pasta_map_new(sizeof(struct known));
	k = o->known ? pasta_map_add(o->known, offset) : NULL;
	return k && (k->count || symbols_resolve(o, offset, k)) ? k : NULL;
}

/* A return address follows the call instruction, so this function looks up the preceding
 * address. */
static size_t symbols_frames(const struct process *p, uint64_t pc, struct pasta_stack_frame *frames,
			     size_t max)
{
	const struct module *m = symbols_module_at(p, pc - 1);
	const struct known *k = m ? symbols_known(m->object, pc - 1 - m->addr) : NULL;
	size_t n = k ? k->count : 1;

	if (k)
		memcpy(frames, m->object->frames + k->first, (n < max ? n : max) * sizeof(*frames));
	else if (max)
		*frames = (struct pasta_stack_frame){
			.function = "", .file = "", .module = "", .offset = pc - 1};
	return n;
}

static uint64_t symbols_little_endian(const unsigned char *bytes)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | bytes[i];
	return v;
}

static bool symbols_node(uint32_t ref, struct pasta_pathnode *node)
{
	size_t size;
	const char *bytes = pasta_bytes(ref, &size);

	return pasta_pathnode_decode(bytes, size, node);
}

bool pasta_symbols_interpreted(uint32_t *ref, struct pasta_stack_frame *frame)
{
	struct pasta_pathnode node;

	if (!symbols_node(*ref, &node))
		return false;
	*frame = (struct pasta_stack_frame){.function = pasta_str(node.function),
					    .file = pasta_str(node.file),
					    .module = "",
					    .line = node.line};
	*ref = node.parent < *ref ? node.parent : 0;
	return true;
}

/* Follows an interpreter's call path from the innermost frame outwards. */
static size_t symbols_walk(uint32_t ref, struct pasta_stack_frame *frames, size_t max)
{
	struct pasta_stack_frame frame;
	size_t n = 0;

	for (; n < PASTA_SYMBOLS_DEPTH && pasta_symbols_interpreted(&ref, &frame); n++)
		if (n < max)
			frames[n] = frame;
	return n;
}

size_t pasta_stack_frames(uint32_t proc, uint32_t ref, struct pasta_stack_frame *frames, size_t max)
{
	size_t size, n = 0;
	const unsigned char *bytes = (const void *)pasta_bytes(ref, &size);
	const struct process *p;

	if (size == PASTA_PATHNODE_SIZE)
		return symbols_walk(ref, frames, max);
	if (size % 8)
		return 0;
	/* Write to the caller's pointer before acquiring the lock: if a tool passes an invalid
	 * pointer, the write crashes while no lock is held. */
	if (max)
		memset(frames, 0, max * sizeof(*frames));
	pthread_mutex_lock(&lock);
	p = processes ? pasta_map_find(processes, proc) : NULL;
	for (; size; size -= 8, bytes += 8)
		n += symbols_frames(p, symbols_little_endian(bytes), frames + (n < max ? n : max),
				    n < max ? max - n : 0);
	pthread_mutex_unlock(&lock);
	return n;
}

static const char *symbols_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *pasta_stack_frame_text(const struct pasta_stack_frame *f, char *text, size_t size)
{
	const char *name = symbols_base_name(*f->file ? f->file : f->module);
	char line[16] = "";

	if (*f->file && f->line)
		snprintf(line, sizeof(line), ":%" PRIu32, f->line);
	if (*f->function && *name)
		snprintf(text, size, "%s (%s%s)", f->function, name, line);
	else if (*f->function)
		snprintf(text, size, "%s", f->function);
	else if (*f->module)
		snprintf(text, size, "%s+0x%" PRIx64, symbols_base_name(f->module), f->offset);
	else if (f->offset)
		snprintf(text, size, "0x%" PRIx64, f->offset);
	else
		snprintf(text, size, "%s%s", *name ? name : "(unknown)", line);
	return text;
}
