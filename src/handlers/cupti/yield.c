/*
 * yield.c - give way to a program that begins to use CUPTI itself.
 *
 * CUPTI has one subscriber in a process, and refuses the second: a program that brings its own
 * profiler (PyTorch does) would lose its trace to us. So the calls of cuptiSubscribe that are
 * linked into its libraries come by here first, by way of the slots that the dynamic loader fills
 * in. Those that look the function up by its name do not.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handlers/cupti/cupti.h"

#if defined(__x86_64__)
#define IS_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define IS_SLOT(type) 0
#endif

/* What of an object's dynamic section leads to its slots. */
struct object {
	ElfW(Addr) base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * tables[2];
	size_t sizes[2]; /* bytes */
};

static void yield_to(const void *caller)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;
	const char *name = "the program", *slash;
	char why[300];
	Dl_info info;

	if (atomic_flag_test_and_set(&done))
		return;
	if (dladdr(caller, &info) && info.dli_fname) {
		slash = strrchr(info.dli_fname, '/');
		name = slash ? slash + 1 : info.dli_fname;
	}
	cupti_activity_stop();
	cupti_callbacks_stop();
	snprintf(why, sizeof(why),
		 "%s began to use CUPTI itself, which serves one at a time: its own trace goes on, "
		 "and CUDA is recorded until then",
		 name);
	pasta_agent_say("cupti", why);
}

static int subscribe(cupti_subscriber *to, cupti_callback callback, void *user)
{
	yield_to(__builtin_return_address(0));
	return cupti.Subscribe(to, callback, user);
}

/* -- Slots -- */

/* Older loaders leave addresses as the file has them. */
static const void *address(ElfW(Addr) base, ElfW(Addr) p)
{
	return (const void *)(p < base ? base + p : p);
}

static bool read_dynamic(const ElfW(Dyn) * d, struct object *o)
{
	bool rela = true;

	for (; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB:
			o->symbols = address(o->base, d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			o->strings = address(o->base, d->d_un.d_ptr);
			break;
		case DT_JMPREL:
			o->tables[0] = address(o->base, d->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			o->sizes[0] = d->d_un.d_val;
			break;
		case DT_RELA:
			o->tables[1] = address(o->base, d->d_un.d_ptr);
			break;
		case DT_RELASZ:
			o->sizes[1] = d->d_un.d_val;
			break;
		case DT_PLTREL:
			rela = d->d_un.d_val == DT_RELA;
			break;
		default:
			break;
		}
	}
	return rela && o->symbols && o->strings;
}

/* The loader may have made it read-only since. */
static void set_slot(void **slot, void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)slot & ~(page - 1);
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long from, end;
	char line[512], mode[5];
	bool writable = false;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %4s", &from, &end, mode) == 3 && at >= from && at < end)
			writable = mode[1] == 'w';
	if (maps)
		fclose(maps);
	if (!writable && mprotect((void *)at, page, PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(slot, to, __ATOMIC_RELEASE);
	if (!writable)
		mprotect((void *)at, page, PROT_READ);
}

static void hook(const struct object *o)
{
	for (int t = 0; t < 2; t++) {
		size_t n = o->tables[t] ? o->sizes[t] / sizeof(**o->tables) : 0;

		for (size_t i = 0; i < n; i++) {
			const ElfW(Rela) *r = &o->tables[t][i];
			const ElfW(Sym) *s = &o->symbols[ELF64_R_SYM(r->r_info)];

			if (IS_SLOT(ELF64_R_TYPE(r->r_info)) &&
			    !strcmp(o->strings + s->st_name, "cuptiSubscribe"))
				set_slot((void **)(o->base + r->r_offset), (void *)subscribe);
		}
	}
}

/* Only libraries that name CUPTI among those they need have such a slot. */
static bool needs_cupti(const ElfW(Dyn) * d, const struct object *o)
{
	for (; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && strstr(o->strings + d->d_un.d_val, "libcupti"))
			return true;
	return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object o = {.base = info->dlpi_addr};

	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Dyn) *d = (const void *)(o.base + info->dlpi_phdr[i].p_vaddr);

		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC && read_dynamic(d, &o) &&
		    needs_cupti(d, &o))
			hook(&o);
	}
	return 0;
}

void cupti_yield_watch(void)
{
	dl_iterate_phdr(look, NULL);
}
