/* plugin.c - tools in shared libraries: found, loaded once, and what is wrong with them told. */
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

/* A library that was loaded, or could not be. */
struct library {
	struct library *next;
	dev_t dev;
	ino_t ino;
	char *file;
	struct pasta_error err; /* the first, if any */
	void (*warn)(const char *line);
	void (*tell)(void *ctx, int code, const char *text); /* likewise, or NULL */
	void *ctx;
};

static struct library *libraries;

/* -- What is wrong -- */

static void tell(struct library *lib, int code, const char *text)
{
	if (!lib->err.code)
		pasta_fail(&lib->err, code, "%s", text);
	if (lib->warn)
		lib->warn(text);
	if (lib->tell)
		lib->tell(lib->ctx, code, text);
}

static void on_refused(void *ctx, const char *name, const struct pasta_error *why)
{
	struct library *lib = ctx;
	char text[PATH_MAX + sizeof(why->text) + 80];

	snprintf(text, sizeof(text), "%s: tool %s is left out: %s", lib->file, name, why->text);
	tell(lib, why->code, text);
}

static void unusable(struct library *lib, int code, const char *why, const char *action)
{
	char text[PATH_MAX + 600];

	snprintf(text, sizeof(text), "%s is left out: %s: %s", lib->file, why, action);
	tell(lib, code, text);
}

/* What dlopen says begins with the file, and so do we. */
static void not_loaded(struct library *lib, const char *why)
{
	size_t size = strlen(lib->file);

	if (!why)
		why = "it cannot be loaded";
	if (!strncmp(why, lib->file, size) && !strncmp(why + size, ": ", 2))
		why += size + 2;
	if (strstr(why, "undefined symbol: pasta_"))
		unusable(lib, -ENOENT, why, "build it again with the SDK of this accelprof");
	else if (strstr(why, "undefined symbol"))
		unusable(lib, -ENOENT, why, "link it with what defines that");
	else
		unusable(lib, -ENOENT, why,
			 "install what it needs (ldd shows it), or build it again");
}

/* The first bytes of an ELF file. Classes differ only after what is compared. */
static bool read_head(const char *path, ElfW(Ehdr) * head, int *fd)
{
	*fd = pasta_files_open_named(path, NULL);
	return *fd >= 0 && pread(*fd, head, sizeof(*head), 0) == sizeof(*head) &&
	       !memcmp(head->e_ident, ELFMAG, SELFMAG);
}

/* Ours is the processor of accelprof. What is for another one is "not found" to dlopen. */
static bool is_ours(const ElfW(Ehdr) * head)
{
	ElfW(Ehdr) own;
	int fd;
	bool known = read_head("/proc/self/exe", &own, &fd);

	if (fd >= 0)
		close(fd);
	return !known || (head->e_machine == own.e_machine &&
			  head->e_ident[EI_CLASS] == own.e_ident[EI_CLASS] &&
			  head->e_ident[EI_DATA] == own.e_ident[EI_DATA]);
}

/* dlopen maps what the headers say and touches it: past the end of the file that is SIGBUS. */
static bool is_whole(int fd, const ElfW(Ehdr) * head)
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

static bool loadable(struct library *lib)
{
	ElfW(Ehdr) head;
	int fd;
	bool elf = read_head(lib->file, &head, &fd);

	if (fd < 0 && fd != -EINVAL)
		unusable(lib, fd, strerror(-fd), "make it readable, or take it away");
	else if (!elf)
		unusable(lib, -ENOEXEC, "it is no shared library",
			 "take it away, or build it again");
	else if (!is_ours(&head))
		unusable(lib, -ENOEXEC, "it is for another processor", "build it again here");
	else if (head.e_type != ET_DYN)
		unusable(lib, -ENOEXEC, "it is no shared library", "link it with -shared");
	else if (!is_whole(fd, &head))
		unusable(lib, -ENOEXEC, "a part of it is missing", "build or copy it again");
	if (fd >= 0)
		close(fd);
	return !lib->err.code;
}

/* -- Loading -- */

static void load_here(struct library *lib, struct pasta_tool_source *from)
{
	void *handle;

	pasta_tool_from(from);
	handle = dlopen(lib->file, RTLD_NOW | RTLD_LOCAL);
	pasta_tool_from(NULL);
	if (!handle)
		not_loaded(lib, dlerror());
}

static void not_answered(struct library *lib, const struct pasta_worker *w, int error)
{
	char why[200];
	size_t tool;

	if (pasta_worker_failed(w))
		unusable(lib, pasta_worker_code(w), pasta_worker_why(w, why, sizeof(why), &tool),
			 "take it away, or build it again");
	else
		unusable(lib, error,
			 error == -ENOMEM ? "out of memory" : "what it answers is damaged",
			 "take it away, or build it again");
}

/* What was told there is told here, and its tools are registered. */
static int take_answer(struct library *lib, struct pasta_tool_source *from,
		       struct pasta_wire_in *in)
{
	uint64_t i, count = pasta_wire_get_below(in, PASTA_PARCEL_TOOLS + 1);
	struct pasta_tool *tool;
	int error = 0;

	for (i = 0; i < count && !in->bad; i++) {
		int64_t code = (int64_t)pasta_wire_get_number(in);
		const char *text = pasta_wire_get_text(in);

		if (!in->bad)
			tell(lib, code < 0 && code > -4096 ? (int)code : -EINVAL, text);
	}
	from->refused += count;
	count = pasta_wire_get_below(in, PASTA_PARCEL_TOOLS);
	pasta_tool_from(from);
	for (i = 0; i < count && !error; i++) {
		tool = pasta_parcel_get_tool(in, &error);
		/* It lives as long as the process; one that is refused is told of, and lost. */
		if (tool)
			pasta_tool_register(tool);
	}
	pasta_tool_from(NULL);
	return error ? error : in->bad ? -EBADMSG : 0;
}

static void load_elsewhere(struct library *lib, struct pasta_tool_source *from)
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
		tell(lib, err.code, err.text);
		return;
	}
	while (!pasta_worker_wait(w, 100))
		if (pasta_worker_asked_to_stop())
			pasta_worker_stop(w);
	error = pasta_worker_answer(w, &bytes, &in);
	error = error ? error : take_answer(lib, from, &in);
	if (error)
		not_answered(lib, w, error);
	free(bytes);
	pasta_worker_free(w);
}

static void load(struct library *lib)
{
	struct pasta_tool_source from = {.file = lib->file, .refuse = on_refused, .ctx = lib};

	if (!loadable(lib))
		return;
	if (pasta_worker_used())
		load_elsewhere(lib, &from);
	else
		load_here(lib, &from);
	if (!lib->err.code && !from.accepted && !from.refused)
		unusable(lib, -ENOENT, "there is no tool in it", "describe one with PASTA_TOOL");
}

void pasta_plugin_load_here(const char *file, void (*tell_)(void *ctx, int code, const char *text),
			    void *ctx)
{
	/* As tools of it point to its name, it lives as long as they do. */
	struct library *lib = calloc(1, sizeof(*lib));

	if (!lib) {
		tell_(ctx, -ENOMEM, "out of memory");
		return;
	}
	lib->file = strdup(file);
	lib->tell = tell_;
	lib->ctx = ctx;
	lib->next = libraries;
	libraries = lib;
	if (lib->file)
		load_here(lib, &(struct pasta_tool_source){
				       .file = lib->file, .refuse = on_refused, .ctx = lib});
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

/* NULL, with *err, for what is no file; else the library, loaded now or before. */
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
		pasta_fail(err, -EINVAL, "cannot load %s: it is no file%s", path,
			   S_ISDIR(st.st_mode) ? "; --tool-path is for folders" : "");
		return NULL;
	}
	for (lib = libraries; lib; lib = lib->next)
		if (lib->dev == st.st_dev && lib->ino == st.st_ino)
			return lib;
	lib = library_new(path, &st, err);
	if (!lib)
		return NULL;
	lib->warn = warn;
	load(lib);
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

static bool is_library(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot > name && !strcmp(dot, ".so");
}

/* As bytes, whatever the locale. */
static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void load_entry(const char *dir, const char *name, void (*warn)(const char *line))
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

static void load_dir(const char *dir, void (*warn)(const char *line))
{
	int folder = pasta_files_folder(dir), error;
	struct pasta_error err;
	char **names = NULL;
	size_t count = 0;

	error = folder < 0 ? folder : pasta_files_list(folder, is_library, &names, &count);
	if (folder >= 0)
		close(folder);
	if (error) {
		pasta_fail(&err, error, "cannot look for tools in %s: %s", dir, strerror(-error));
		warn(err.text);
		return;
	}
	qsort(names, count, sizeof(*names), by_name);
	for (size_t i = 0; i < count; i++)
		load_entry(dir, names[i], warn);
	pasta_files_list_free(names);
}

void pasta_plugin_load_dirs(const char *dirs, void (*warn)(const char *line))
{
	char *list = strdup(dirs), *rest = list, *dir;

	if (!list)
		warn("out of memory");
	while (list && (dir = strsep(&rest, ":")))
		if (*dir)
			load_dir(dir, warn);
	free(list);
}
