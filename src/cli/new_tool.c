/* new_tool.c - accelprof new-tool: writes a small working tool as a starting point. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/templates.h"
#include "process/io/files.h"
#include "process/run/tool.h"

#define SKELETON "skeleton" /* placeholder for the name of the tool in the templates */
#define MAKEFILE "Makefile"
#define MAKEFILE_MARK "Written by accelprof new-tool."
#define FILES 3
#define NAME_SIZE 24 /* with a longer name, lines of the templates would exceed 100 columns */

enum { LANG = 256 };

struct file {
	char path[PATH_MAX];
	const char *from; /* the template's name */
	bool written;
};

struct job {
	const char *name, *dir; /* dir: -o, or "." */
	bool cplusplus, in_tree, made_dir, foreign_makefile;
	struct file files[FILES];
	size_t count;
	char include[PATH_MAX], accelprof[PATH_MAX]; /* paths in the Makefile; "": unknown */
};

/* -- Which files to write -- */

static int newtool_path(const struct job *job, char *path, const char *prefix, const char *name,
			const char *suffix)
{
	const char *dir = strcmp(job->dir, ".") ? job->dir : "";

	return snprintf(path, PATH_MAX, "%s%s%s%s%s", dir, *dir ? "/" : "", prefix, name, suffix) <
			       PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

static bool newtool_exists(const struct job *job, const char *prefix, const char *name,
			   const char *suffix)
{
	char path[PATH_MAX];

	return !newtool_path(job, path, prefix, name, suffix) && !access(path, F_OK);
}

/* Returns whether a file in the folder has a line that contains the text. */
static bool newtool_file_has(const struct job *job, const char *name, const char *text)
{
	char path[PATH_MAX], line[400];
	bool found = false;
	FILE *file;
	int fd;

	if (newtool_path(job, path, "", name, ""))
		return false;
	fd = pasta_files_open_named(path, NULL);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, text) != NULL;
	if (file)
		fclose(file);
	return found;
}

static bool newtool_is_source_tree(const struct job *job)
{
	return newtool_exists(job, "", "tools", "") &&
	       newtool_exists(job, "", "include/pasta/pasta.h", "") &&
	       newtool_file_has(job, "CMakeLists.txt", "project(AccelProf");
}

static int newtool_add(struct job *job, const char *from, const char *prefix, const char *name,
		       const char *suffix, struct pasta_error *err)
{
	struct file *file = &job->files[job->count++];

	file->from = from;
	if (newtool_path(job, file->path, prefix, name, suffix))
		return pasta_fail(err, -ENAMETOOLONG,
				  "the path of the folder for the tool's files is too long");
	return 0;
}

static int newtool_plan(struct job *job, struct pasta_error *err)
{
	int error;

	if (job->in_tree) {
		error = newtool_add(job, "tools/" SKELETON ".c", "tools/", job->name, ".c", err);
		return error ? error
			     : newtool_add(job, "tests/unit/test_" SKELETON ".c",
					   "tests/unit/test_", job->name, ".c", err);
	}
	error = job->cplusplus
			? newtool_add(job, "plugin/" SKELETON ".cpp", "", job->name, ".cpp", err)
			: newtool_add(job, "tools/" SKELETON ".c", "", job->name, ".c", err);
	if (!error)
		error = newtool_add(job, "plugin/test_" SKELETON ".sh", "test_", job->name, ".sh",
				    err);
	if (!error && !newtool_exists(job, "", MAKEFILE, ""))
		return newtool_add(job, "plugin/" MAKEFILE, "", MAKEFILE, "", err);
	job->foreign_makefile = !newtool_file_has(job, MAKEFILE, MAKEFILE_MARK);
	return error;
}

/* -- Checks -- */

static int newtool_check_name(const char *name, struct pasta_error *err)
{
	const struct pasta_tool *tool;

	if (!islower((unsigned char)*name) || strlen(name) > NAME_SIZE ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(name))
		return pasta_fail(err, -EINVAL,
				  "'%s' is not a valid tool name: use at most %d characters "
				  "from a-z, 0-9 and _, and begin with a letter",
				  name, NAME_SIZE);
	tool = pasta_tool_find(name);
	if (!tool)
		return 0;
	return pasta_fail(err, -EEXIST,
			  "a tool named '%s' already exists (%s): choose another name", name,
			  pasta_tool_file(tool) ? pasta_tool_file(tool) : "built in");
}

/* Check that none of the files exists. NAME.c and NAME.cpp count as the same file, because they
 * build the same library. */
static int newtool_check_absent(const struct job *job, struct pasta_error *err)
{
	const char *other = job->cplusplus ? ".c" : ".cpp";
	size_t i;

	for (i = 0; i < job->count; i++)
		if (!access(job->files[i].path, F_OK))
			return pasta_fail(err, -EEXIST,
					  "%s exists: choose another name, or remove that file",
					  job->files[i].path);
	if (!job->in_tree && newtool_exists(job, "", job->name, other))
		return pasta_fail(err, -EEXIST,
				  "%s%s exists: choose another name, or remove that file",
				  job->name, other);
	return 0;
}

/* -- Writing -- */

/* Copy a path; but if it has a character that make or the shell would interpret, copy ""
 * instead. */
static void newtool_plain_path(char *path, const char *own)
{
	const char *p;

	snprintf(path, PATH_MAX, "%s", own ? own : "");
	for (p = path; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("/._-+,=@", *p)) {
			*path = '\0';
			return;
		}
}

static void newtool_find_sdk(struct job *job)
{
	char *include = pasta_cli_own("include/pasta/pasta.h"), *self;

	if (include)
		include[strlen(include) - strlen("/pasta/pasta.h")] = '\0';
	self = realpath("/proc/self/exe", NULL);
	newtool_plain_path(job->include, include);
	newtool_plain_path(job->accelprof, self);
	free(include);
	free(self);
}

static const struct pasta_template *newtool_template(const char *name)
{
	const struct pasta_template *t;

	for (t = pasta_templates; t->name; t++)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

static int newtool_write_text(const struct job *job, const struct pasta_template *t, FILE *file)
{
	const struct {
		const char *from, *to;
	} words[] = {
		{SKELETON, job->name},
		{"@VERSION@", PASTA_VERSION_STRING},
		{"@INCLUDE@", job->include},
		{"@ACCELPROF@", job->accelprof},
	};
	size_t at = 0, i;

	while (at < t->size) {
		for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
			size_t size = strlen(words[i].from);

			if (size > t->size - at || memcmp(t->data + at, words[i].from, size))
				continue;
			fputs(words[i].to, file);
			at += size;
			break;
		}
		if (i == sizeof(words) / sizeof(*words))
			fputc(t->data[at++], file);
	}
	return ferror(file) ? -EIO : 0;
}

static int newtool_write_file(const struct job *job, struct file *f, struct pasta_error *err)
{
	const struct pasta_template *t = newtool_template(f->from);
	FILE *file;
	int fd, error;

	if (!t)
		return pasta_fail(err, -ENOENT,
				  "the template %s is missing: build or install accelprof again",
				  f->from);
	fd = pasta_files_create(AT_FDCWD, f->path, 0666);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	f->written = fd >= 0;
	if (!file) {
		error = fd < 0 ? fd : -errno;
		pasta_fail(err, error, "cannot write %s: %s", f->path, strerror(-error));
		if (fd >= 0)
			close(fd);
		return err->code;
	}
	error = newtool_write_text(job, t, file);
	if (fclose(file) || error)
		return pasta_fail(err, -errno, "cannot write %s: %s", f->path, strerror(errno));
	return 0;
}

/* Write all files. If writing one of them fails, remove the files that were already written. */
static int newtool_write_all(struct job *job, struct pasta_error *err)
{
	size_t i;
	int error;

	error = pasta_files_make_folder(AT_FDCWD, job->dir, 0777);
	job->made_dir = !error;
	if (error && error != -EEXIST)
		return pasta_fail(err, error, "cannot create folder %s: %s", job->dir,
				  strerror(-error));
	error = 0;
	for (i = 0; !error && i < job->count; i++)
		error = newtool_write_file(job, &job->files[i], err);
	for (i = 0; error && i < job->count; i++)
		if (job->files[i].written)
			pasta_files_undo(AT_FDCWD, job->files[i].path, false);
	if (error && job->made_dir)
		pasta_files_undo(AT_FDCWD, job->dir, true);
	return error;
}

static void newtool_print_next(const struct job *job)
{
	const char *name = job->name;
	size_t i;

	for (i = 0; i < job->count; i++)
		printf("wrote %s\n", job->files[i].path);
	if (job->foreign_makefile)
		printf("the Makefile was not changed: add a rule that builds %s.so with -shared -fPIC\n",
		       name);
	printf("\nNext:\n");
	if (strcmp(job->dir, "."))
		printf("  cd %s\n", job->dir);
	printf("  make\n");
	if (job->in_tree) {
		printf("  ctest --test-dir build -R 'test_%s$'\n", name);
		printf("  build/accelprof report RUN -t %s\n", name);
		printf("Then change tools/%s.c, and describe it in docs/tools/%s.md.\n", name,
		       name);
		return;
	}
	printf("  make check\n");
	printf("  accelprof report RUN -t ./%s.so\n", name);
	printf("Then change %s.\n",
	       job->files[0].path + (strcmp(job->dir, ".") ? strlen(job->dir) + 1 : 0));
}

static int newtool_run(struct job *job, struct pasta_error *err)
{
	int error = newtool_check_name(job->name, err);

	if (error)
		return error;
	job->in_tree = newtool_is_source_tree(job);
	if (job->in_tree && job->cplusplus)
		return pasta_fail(
			err, -EINVAL,
			"tools in AccelProf's own source tree must be written in C: remove --lang, "
			"or choose a folder outside of the tree with -o DIR");
	newtool_find_sdk(job);
	error = newtool_plan(job, err);
	if (!error)
		error = newtool_check_absent(job, err);
	return error ? error : newtool_write_all(job, err);
}

/* Ignore warnings about other plug-ins: they don't concern the new tool. */
static void newtool_ignore(const char *line)
{
}

static int newtool_main(int argc, char **argv)
{
	struct job *job = calloc(1, sizeof(*job));
	struct pasta_error err = {0};
	const char *arg;
	int id, first, status = PASTA_CLI_FAILED;

	if (!job) {
		pasta_cli_message("out of memory");
		return PASTA_CLI_FAILED;
	}
	job->dir = ".";
	while ((id = pasta_cli_next(&pasta_verb_new_tool, argc, argv, &arg, &first)) > 0) {
		if (id == 'o') {
			job->dir = arg;
		} else if (!strcmp(arg, "c") || !strcmp(arg, "c++")) {
			job->cplusplus = arg[1] != '\0';
		} else {
			status = pasta_cli_usage(&pasta_verb_new_tool,
						 "--lang needs c or c++, not '%s'", arg);
			goto out;
		}
	}
	if (id < 0) {
		status = first;
	} else if (argc - first != 1) {
		status = pasta_cli_usage(&pasta_verb_new_tool,
					 "expected one argument, the name of the new tool");
	} else {
		job->name = argv[first];
		pasta_cli_plugins(NULL, 0, newtool_ignore);
		if (newtool_run(job, &err)) {
			pasta_cli_message("%s", err.text);
		} else {
			newtool_print_next(job);
			status = PASTA_CLI_OK;
		}
	}
out:
	free(job);
	return status;
}

static const struct pasta_cli_option options[] = {
	{LANG, "lang", "c|c++", "the tool's language (default: c)"},
	{'o', "output", "DIR", "write into DIR (default: the current folder)"},
	{0, NULL, NULL, NULL},
};

const struct pasta_verb pasta_verb_new_tool = {
	.name = "new-tool",
	.summary = "write the files of a new tool",
	.usage = "[OPTIONS] NAME",
	.more = "Writes NAME.c or NAME.cpp, a test and a Makefile. In AccelProf's own source tree, writes\n"
		"tools/NAME.c and its unit test, which 'make' builds. Never overwrites a file.\n",
	.options = options,
	.main = newtool_main,
};
