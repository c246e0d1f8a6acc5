/* dwarf.c - finds the functions and source lines of addresses with libdw (elfutils). */
#include "process/join/dwarf.h"

#ifdef PASTA_HAVE_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <elfutils/version.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/strings.h"
#include "process/join/demangle.h"
#include "process/io/files.h"

#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x

struct pasta_dwarf {
	Dwfl *dwfl;
	Dwfl_Module *module;
};

static const char *dwarf_intern(const char *text)
{
	return text ? pasta_str(pasta_strings_add(text, strlen(text))) : "";
}

static const char *dwarf_readable(const char *name)
{
	char *text = name ? pasta_demangle(name, strlen(name)) : NULL;
	const char *interned = dwarf_intern(text ? text : name);

	free(text);
	return interned;
}

/* -- Files -- */

static bool dwarf_is_build(Dwfl_Module *module, uint64_t build)
{
	const unsigned char *id;
	GElf_Addr at;
	int n = dwfl_module_build_id(module, &id, &at);
	uint64_t found = 0;

	for (int i = 0; i < 8 && i < n; i++)
		found = found << 8 | id[i];
	return !build || found == build;
}

/* Returns whether libdw may open a path. A run can name any file of this machine, and debug
 * information can name further files, so only regular files are opened. */
static bool dwarf_may_open(const char *path)
{
	int fd = pasta_files_open_named(path, NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || fd == -ENOENT || fd == -ENOTDIR;
}

/* Finds the file with debug information. libdw itself would also search the file's folder, and
 * would block if it found a FIFO there. */
static int dwarf_find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
				const char *file, const char *link, GElf_Word crc, char **found)
{
	const char *slash = file ? strrchr(file, '/') : NULL;
	int folder = slash ? (int)(slash + 1 - file) : 0;
	char beside[4096], below[4096];

	if (link && *link &&
	    (snprintf(beside, sizeof(beside), "%.*s%s", *link == '/' ? 0 : folder, file ? file : "",
		      link) >= (int)sizeof(beside) ||
	     snprintf(below, sizeof(below), "%.*s.debug/%s", folder, file ? file : "", link) >=
		     (int)sizeof(below) ||
	     !dwarf_may_open(beside) || !dwarf_may_open(below)))
		return -1;
	return dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, found);
}

struct pasta_dwarf *pasta_dwarf_open(const char *path, uint64_t build, int *changed)
{
	static char *no_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwarf_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &no_path,
	};
	struct pasta_dwarf *d = calloc(1, sizeof(*d));
	int fd = -1;

	/* A name without a slash at its start, such as that of the vDSO, is not a file. */
	if (!d || *path != '/')
		goto fail;
	fd = pasta_files_open_named(path, NULL);
	d->dwfl = fd < 0 ? NULL : dwfl_begin(&callbacks);
	if (!d->dwfl)
		goto fail;
	d->module = dwfl_report_elf(d->dwfl, path, path, fd, 0, true);
	dwfl_report_end(d->dwfl, NULL, NULL);
	if (!d->module)
		goto fail;
	fd = -1; /* the module now owns the descriptor */
	*changed = !dwarf_is_build(d->module, build);
	if (*changed)
		goto fail;
	return d;
fail:
	if (fd >= 0)
		close(fd);
	pasta_dwarf_close(d);
	return NULL;
}

void pasta_dwarf_close(struct pasta_dwarf *d)
{
	if (d && d->dwfl)
		dwfl_end(d->dwfl);
	free(d);
}

/* -- Frames -- */

static const char *dwarf_function(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));

	return dwarf_readable(name ? name : dwarf_diename(die));
}

/* Sets the source line that an inlined function was called from. */
static void dwarf_call_site(Dwarf_Die *unit, Dwarf_Die *inlined, struct pasta_stack_frame *caller)
{
	Dwarf_Attribute attr;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	caller->file = "";
	caller->line = 0;
	if (dwarf_getsrcfiles(unit, &files, &count) ||
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &file) ||
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &line))
		return;
	caller->file = dwarf_intern(dwarf_filesrc(files, file, NULL, NULL));
	caller->line = (uint32_t)line;
}

/* Sets the function of each frame, from the innermost inlined function to the function that
 * contains them all. frames[0] already has its file and line. */
static size_t dwarf_functions(Dwarf_Die *unit, Dwarf_Addr at, struct pasta_stack_frame *frames,
			      size_t max)
{
	Dwarf_Die *scopes = NULL, innermost;
	int count = dwarf_getscopes(unit, at, &scopes);
	size_t n = 0;

	if (count <= 0)
		return 0;
	/* dwarf_getscopes returns the scopes that contain a function's definition;
	 * dwarf_getscopes_die returns the functions into which the function was inlined. */
	innermost = scopes[0];
	free(scopes);
	scopes = NULL;
	count = dwarf_getscopes_die(&innermost, &scopes);
	for (int i = 0; i < count && n < max; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
			continue;
		frames[n].function = dwarf_function(&scopes[i]);
		frames[n].inlined = tag == DW_TAG_inlined_subroutine;
		n++;
		if (tag == DW_TAG_subprogram)
			break;
		if (n < max)
			dwarf_call_site(unit, &scopes[i], &frames[n]);
	}
	free(scopes);
	return n;
}

size_t pasta_dwarf_find(struct pasta_dwarf *d, uint64_t addr, struct pasta_stack_frame *frames,
			size_t max)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = dwfl_module_addrdie(d->module, addr, &bias);
	Dwfl_Line *line = dwfl_module_getsrc(d->module, addr);
	const char *file = NULL, *symbol;
	int number = 0;
	size_t n;

	if (!max)
		return 0;
	if (line)
		file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	frames[0].file = dwarf_intern(file);
	frames[0].line = number > 0 ? (uint32_t)number : 0;
	n = unit ? dwarf_functions(unit, addr - bias, frames, max) : 0;
	if (n)
		return n;
	symbol = dwfl_module_addrname(d->module, addr);
	frames[0].function = dwarf_readable(symbol);
	frames[0].inlined = 0;
	return symbol || file ? 1 : 0;
}

const char *pasta_dwarf_version(void)
{
	return "libdw 0." TEXT(_ELFUTILS_VERSION);
}

#else

struct pasta_dwarf *pasta_dwarf_open(const char *path, uint64_t build, int *changed)
{
	return NULL;
}

void pasta_dwarf_close(struct pasta_dwarf *d)
{
}

size_t pasta_dwarf_find(struct pasta_dwarf *d, uint64_t addr, struct pasta_stack_frame *frames,
			size_t max)
{
	return 0;
}

const char *pasta_dwarf_version(void)
{
	return NULL;
}

#endif
