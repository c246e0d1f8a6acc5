/* plugin.c - finds plug-in libraries, loads each library once, and reports errors in them. */
#include "process/run/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/io/files.h"
#include "process/run/parcel.h"
#include "process/run/tool.h"
#include "process/run/worker.h"

/* A plug-in library that was loaded, or that failed to load. */
struct library {
	struct library *next;
	dev_t dev;
	ino_t ino;
	char *file;
	struct pasta_error err; /* the library's first error, if any */
	void (*warn)(const char *line);
	/* Callback for each error, or NULL. */
	void (*report)(void *ctx, int code, const char *text);
	void *ctx;
};

static struct library *libraries;

/* -- What is wrong -- */

static void plugin_report(struct library *lib, int code, const char *text)
{
	if (!lib->err.code)
		pasta_fail(&lib->err, code, "%s", text);
	if (lib->warn)
		lib->warn(text);
	if (lib->report)
		lib->report(lib->ctx, code, text);
}

static void plugin_on_refused(void *ctx, const char *name, const struct pasta_error *why)
{
	struct library *lib = ctx;
	char text[PATH_MAX + sizeof(why->text) + 80];

	snprintf(text, sizeof(text), "%s: tool %s is left out: %s", lib->file, name, why->text);
	plugin_report(lib, why->code, text);
}

static void plugin_skip(struct library *lib, int code, const char *why, const char *action)
{
	char text[PATH_MAX + 600];

	snprintf(text, sizeof(text), "%s is left out: %s: %s", lib->file, why, action);
	plugin_report(lib, code, text);
}

/* Reports an error of dlopen. Removes the file name from the start of the error's text, because the
 * message already contains it. */
static void plugin_not_loaded(struct library *lib, const char *why)
{
	size_t size = strlen(lib->file);

	if (!why)
		why = "the library cannot be loaded";
	if (!strncmp(why, lib->file, size) && !strncmp(why + size, ": ", 2))
		why += size + 2;
	if (strstr(why, "undefined symbol: pasta_"))
		plugin_skip(lib, -ENOENT, why,
			    "build the library again with the SDK of this "
			    "accelprof");
	else if (strstr(why, "undefined symbol"))
		plugin_skip(lib, -ENOENT, why,
			    "link the plug-in with the library that defines "
			    "this symbol");
	else
		plugin_skip(lib, -ENOENT, why,
			    "install the libraries that the plug-in needs (ldd lists them), or "
			    "build the plug-in again");
}

/* Reads the header of an ELF file. The fields of the header that are compared have the same layout
 * in 32-bit and 64-bit files. */
static bool plugin_read_head(const char *path, ElfW(Ehdr) * head, int *fd)
{
	*fd = pasta_files_open_named(path, NULL);
	return *fd >= 0 && pread(*fd, head, sizeof(*head), 0) == sizeof(*head) &&
	       !memcmp(head->e_ident, ELFMAG, SELFMAG);
}

/* Returns whether the file is built for the processor that accelprof runs on. If it is built for
 * another one, dlopen would report that the file was not found. */
static bool plugin_is_ours(const ElfW(Ehdr) * head)
{
	ElfW(Ehdr) own;
	int fd;
	bool known = plugin_read_head("/proc/self/exe", &own, &fd);

	if (fd >= 0)
		close(fd);
	return !known || (head->e_machine == own.e_machine &&
			  head->e_ident[EI_CLASS] == own.e_ident[EI_CLASS] &&
			  head->e_ident[EI_DATA] == own.e_ident[EI_DATA]);
}

/* Returns whether the file contains all of its segments. For a truncated file, dlopen would crash
 * with SIGBUS. */
static bool plugin_is_whole(int fd, const ElfW(Ehdr) * head)
{
	ElfW(Phdr) segment;
	struct stat st;
	size_t i;

	if (fstat(fd, &st) || head->e_phentsize != sizeof(segment))
		return false;
	for (i = 0; i < head->e_phnum; i++) {
		off_t at = (off_t)(head->e_phoff + i * sizeof(segment));

		if (pread(fd, &segment, sizeof(segment), at) != sizeof(segment))
			return false;
		if (segment.p_type == PT_LOAD &&
		    (segment.p_filesz > (uint64_t)st.st_size ||
		     segment.p_offset > (uint64_t)st.st_size - segment.p_filesz))
			return false;
	}
	return true;
}

static bool plugin_is_loadable(struct library *lib)
{
	ElfW(Ehdr) head;
	int fd;
	bool elf = plugin_read_head(lib->file, &head, &fd);

	if (fd < 0 && fd != -EINVAL)
		plugin_skip(lib, fd, strerror(-fd), "make the file readable, or remove it");
	else if (!elf)
		plugin_skip(lib, -ENOEXEC, "the file is not a shared library",
			    "remove the file, or build it again");
	else if (!plugin_is_ours(&head))
		plugin_skip(lib, -ENOEXEC, "the library is for another processor",
			    "build the library again on this machine");
	else if (head.e_type != ET_DYN)
		plugin_skip(lib, -ENOEXEC, "the file is not a shared library",
			    "link the library with -shared");
	else if (!plugin_is_whole(fd, &head))
		plugin_skip(lib, -ENOEXEC, "the file is truncated",
			    "build or copy the library again");
	if (fd >= 0)
		close(fd);
	return !lib->err.code;
}

/* -- Loading -- */

static void plugin_load_here(struct library *lib, struct pasta_tool_source *from)
{
	void *handle;

	pasta_tool_from(from);
	handle = dlopen(lib->file, RTLD_NOW | RTLD_LOCAL);
	pasta_tool_from(NULL);
	if (!handle)
		plugin_not_loaded(lib, dlerror());
}

static void plugin_not_answered(struct library *lib, const struct pasta_worker *w, int error)
{
	char why[200];
	size_t tool;

	if (pasta_worker_failed(w))
		plugin_skip(lib, pasta_worker_code(w), pasta_worker_why(w, why, sizeof(why), &tool),
			    "remove the file, or build it again");
	else
		plugin_skip(lib, error,
			    error == -ENOMEM ? "out of memory"
					     : "the answer of the plug-in's worker is damaged",
			    "remove the file, or build it again");
}

/* Reports the errors that the worker sent, and registers the library's tools. */
static int plugin_read_answer(struct library *lib, struct pasta_tool_source *from,
			      struct pasta_wire_in *in)
{
	uint64_t i, count = pasta_wire_get_below(in, PASTA_PARCEL_TOOLS + 1);
	struct pasta_tool *tool;
	int error = 0;

	for (i = 0; i < count && !in->bad; i++) {
		int64_t code = (int64_t)pasta_wire_get_number(in);
		const char *text = pasta_wire_get_text(in);

		if (!in->bad)
			plugin_report(lib, code < 0 && code > -4096 ? (int)code : -EINVAL, text);
	}
	from->refused += count;
	count = pasta_wire_get_below(in, PASTA_PARCEL_TOOLS);
	pasta_tool_from(from);
	for (i = 0; i < count && !error; i++) {
		tool = pasta_parcel_get_tool(in, &error);
		/* A descriptor is never freed. Even a descriptor that was refused may be in use
		 * until the process ends. */
		if (tool)
			pasta_tool_register(tool);
	}
	pasta_tool_from(NULL);
	return error ? error : in->bad ? -EBADMSG : 0;
}

static void plugin_load_elsewhere(struct library *lib, struct pasta_tool_source *from)
{
	struct pasta_wire request = {0};
	struct pasta_worker_start start = {
		.verb = PASTA_WORKER_LOAD, .file = lib->file, .request = &request};
	struct pasta_error err = {0};
	struct pasta_worker *w;
	struct pasta_wire_in in;
	uint8_t *bytes = NULL;
	int error;

	pasta_wire_bytes(&request, lib->file);
	w = pasta_worker_start(&start, &err);
	free(request.data);
	if (!w) {
		plugin_report(lib, err.code, err.text);
		return;
	}
	while (!pasta_worker_wait(w, 100))
		if (pasta_worker_interrupted())
			pasta_worker_stop(w);
	error = pasta_worker_answer(w, &bytes, &in);
	error = error ? error : plugin_read_answer(lib, from, &in);
	if (error)
		plugin_not_answered(lib, w, error);
	free(bytes);
	pasta_worker_free(w);
}

static void plugin_load(struct library *lib)
{
	struct pasta_tool_source from = {
		.file = lib->file, .refuse = plugin_on_refused, .ctx = lib};

	if (!plugin_is_loadable(lib))
		return;
	if (pasta_worker_used())
		plugin_load_elsewhere(lib, &from);
	else
		plugin_load_here(lib, &from);
	if (!lib->err.code && !from.accepted && !from.refused)
		plugin_skip(lib, -ENOENT, "the library has no tools",
			    "describe one with PASTA_TOOL");
}

void pasta_plugin_load_here(const char *file, void (*report)(void *ctx, int code, const char *text),
			    void *ctx)
{
	/* A library is never freed, because its tools refer to its file name. */
	struct library *lib = calloc(1, sizeof(*lib));

	if (!lib) {
		report(ctx, -ENOMEM, "out of memory");
		return;
	}
	lib->file = strdup(file);
	lib->report = report;
	lib->ctx = ctx;
	lib->next = libraries;
	libraries = lib;
	if (lib->file)
		plugin_load_here(lib, &(struct pasta_tool_source){.file = lib->file,
								  .refuse = plugin_on_refused,
								  .ctx = lib});
}

static void library_free(struct library *lib)
{
	if (!lib)
		return;
	free(lib->file);
	free(lib);
}

static struct library *library_new(const char *path, const struct stat *st, struct pasta_error *err)
{
	struct library *lib = calloc(1, sizeof(*lib));

	if (lib)
		lib->file = realpath(path, NULL);
	if (lib && lib->file) {
		lib->dev = st->st_dev;
		lib->ino = st->st_ino;
		lib->next = libraries;
		libraries = lib;
		return lib;
	}
	pasta_fail(err, -ENOMEM, "cannot load %s: %s", path, strerror(errno));
	library_free(lib);
	return NULL;
}

/* Returns the library with this path. Loads the library if it was not loaded before. Returns NULL,
 * with *err, if `path` is not a regular file. */
static struct library *library_of(const char *path, void (*warn)(const char *line),
				  struct pasta_error *err)
{
	struct library *lib;
	struct stat st;

	if (stat(path, &st)) {
		pasta_fail(err, -errno, "cannot load %s: %s", path, strerror(errno));
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		pasta_fail(
			err, -EINVAL,
			S_ISDIR(st.st_mode)
				? "cannot load %s: the path is a folder; use --tool-path for folders"
				: "cannot load %s: the path is not a regular file",
			path);
		return NULL;
	}
	for (lib = libraries; lib; lib = lib->next)
		if (lib->dev == st.st_dev && lib->ino == st.st_ino)
			return lib;
	lib = library_new(path, &st, err);
	if (!lib)
		return NULL;
	lib->warn = warn;
	plugin_load(lib);
	lib->warn = NULL;
	return lib;
}

int pasta_plugin_load(const char *path, const char **file, struct pasta_error *err)
{
	struct pasta_error own = {0};
	struct library *lib = library_of(path, NULL, &own);

	if (!lib || lib->err.code) {
		const struct pasta_error *why = lib ? &lib->err : &own;

		return pasta_fail(err, why->code, "%s", why->text);
	}
	*file = lib->file;
	return 0;
}

int pasta_plugin_load_named(const char *names, struct pasta_error *err)
{
	char *list = strdup(names), *rest = list, *name;
	int error = list ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
	const char *file;

	while (!error && (name = strsep(&rest, ",")))
		if (strchr(name, '/'))
			error = pasta_plugin_load(name, &file, err);
	free(list);
	return error;
}

/* -- Folders -- */

static bool plugin_is_library(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot > name && !strcmp(dot, ".so");
}

/* Compares names byte by byte, independent of the locale. */
static int plugin_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void plugin_load_entry(const char *dir, const char *name, void (*warn)(const char *line))
{
	struct pasta_error err = {0};
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		warn("out of memory");
		return;
	}
	if (!library_of(path, warn, &err))
		warn(err.text);
	free(path);
}

static void plugin_load_dir(const char *dir, void (*warn)(const char *line))
{
	int folder = pasta_files_folder(dir), error;
	struct pasta_error err;
	char **names = NULL;
	size_t count = 0;

	error = folder < 0 ? folder : pasta_files_list(folder, plugin_is_library, &names, &count);
	if (folder >= 0)
		close(folder);
	if (error) {
		pasta_fail(&err, error, "cannot look for tools in %s: %s", dir, strerror(-error));
		warn(err.text);
		return;
	}
	qsort(names, count, sizeof(*names), plugin_by_name);
	for (size_t i = 0; i < count; i++)
		plugin_load_entry(dir, names[i], warn);
	pasta_files_list_free(names);
}

void pasta_plugin_load_dirs(const char *dirs, void (*warn)(const char *line))
{
	char *list = strdup(dirs), *rest = list, *dir;

	if (!list)
		warn("out of memory");
	while (list && (dir = strsep(&rest, ":")))
		if (*dir)
			plugin_load_dir(dir, warn);
	free(list);
}
