/*
 * fuzz_runinfo.c - any bytes as a run.json: refused or read, and what was read can be written and
 * reads back as the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/read/runinfo.h"

static char dir[64];

static void clean_up(void)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/run.json", dir);
	unlink(path);
	rmdir(dir);
}

static void set_up(void)
{
	strcpy(dir, access("/dev/shm", W_OK) ? "/tmp/fuzz-runinfo-XXXXXX"
					     : "/dev/shm/fuzz-runinfo-XXXXXX");
	if (!mkdtemp(dir))
		abort();
	atexit(clean_up);
}

static size_t length(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* Text that is not UTF-8 is mended when it is written, and may be longer then. */
static void read_back(const struct pasta_runinfo *was)
{
	struct pasta_runinfo is = {0};
	struct pasta_error err = {0};
	char path[80];

	snprintf(path, sizeof(path), "%s/run.json", dir);
	if (pasta_runinfo_save(was, path, &err) || pasta_runinfo_load(&is, dir, &err))
		abort();
	if (is.kinds != was->kinds || is.counted != was->counted || is.start != was->start ||
	    is.end != was->end || length(is.command) != length(was->command) ||
	    length(is.tools) != length(was->tools) || !is.cwd != !was->cwd ||
	    !is.host != !was->host || is.loss.expected != was->loss.expected ||
	    is.exited != was->exited)
		abort();
	pasta_runinfo_free(&is);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pasta_runinfo info = {0};
	struct pasta_error err = {0};
	char *text = malloc(size + 1);
	int r;

	if (!dir[0])
		set_up();
	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	r = pasta_runinfo_parse(&info, text, size, "run.json", &err);
	if (r && (!err.code || !*err.text))
		abort();
	if (!r || err.code == -EBADMSG)
		read_back(&info);
	pasta_runinfo_free(&info);
	free(text);
	return 0;
}
