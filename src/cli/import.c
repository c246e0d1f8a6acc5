/* import.c - accelprof import: converts other profilers' traces into a run. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/importrun.h"
#include "cli/openrun.h"

enum { OPTION_KINDS = 1000, OPTION_NO_STACKS, OPTION_RECOVER, OPTION_SHARE };

static int import_parse_kinds(const char *text, uint64_t *kinds, struct pasta_error *err)
{
	while (*text) {
		size_t n = strcspn(text, ",");
		unsigned int k;

		for (k = 0; k < PASTA_KIND_MAX; k++) {
			const char *name = pasta_kind_name(k);

			if (name && strlen(name) == n && !memcmp(name, text, n))
				break;
		}
		if (k == PASTA_KIND_MAX)
			return pasta_fail(err, -EINVAL,
					  "unknown kind of events '%.*s': use launch, kernel, copy "
					  "or another kind from docs/shards.md",
					  (int)n, text);
		*kinds |= UINT64_C(1) << k;
		text += n + (text[n] == ',');
	}
	return 0;
}

static void import_print_summary(const struct pasta_importrun *im, const struct pasta_run *run,
				 const char *dir)
{
	uint64_t events = 0;

	for (size_t i = 0; i < im->count; i++)
		events += im->infos[i].events;
	printf("%s: %zu %s, %" PRIu64 " events\n", dir ? dir : run->path, im->count,
	       im->count == 1 ? "file" : "files", events);
}

static int import_run(struct pasta_importrun *im, const char *dir, bool shared)
{
	struct pasta_run run = {.shared = shared};
	struct pasta_error err = {0};
	int r, status = PASTA_CLI_OK;

	pasta_openrun_hold_end();
	r = pasta_run_create(&run, dir, &err);
	if (r) {
		pasta_cli_message("%s", err.text);
		return PASTA_CLI_FAILED;
	}
	r = pasta_importrun_run(im, &run, &err);
	if (r) {
		pasta_run_discard(&run);
		pasta_openrun_let_end();
		pasta_cli_message("%s", r == -EINTR ? "interrupted: no run was written" : err.text);
		status = r == -EINTR ? PASTA_CLI_INTERRUPTED : PASTA_CLI_FAILED;
	} else {
		import_print_summary(im, &run, dir);
		pasta_importrun_print_losses(im);
	}
	pasta_run_free(&run);
	return status;
}

static int import_main(int argc, char **argv)
{
	struct pasta_importrun im = {0};
	struct pasta_error err = {0};
	const char *arg, *dir = NULL;
	int id, first, status = PASTA_CLI_OK;
	bool shared = false;

	/* with SIGXFSZ ignored, exceeding the file-size limit is an error */
	signal(SIGXFSZ, SIG_IGN);
	while ((id = pasta_cli_next(&pasta_verb_import, argc, argv, &arg, &first)) > 0) {
		if (id == 'o')
			dir = arg;
		else if (id == OPTION_NO_STACKS)
			im.options.no_stacks = true;
		else if (id == OPTION_SHARE)
			shared = true;
		else if (id == OPTION_RECOVER)
			im.options.recover = true;
		else if (import_parse_kinds(arg, &im.options.kinds, &err))
			return pasta_cli_usage(&pasta_verb_import, "%s", err.text);
	}
	if (id < 0)
		return first;
	if (first == argc)
		return pasta_cli_usage(&pasta_verb_import, "no file or folder given");
	pasta_openrun_catch_interrupt();
	for (; first < argc && !status; first++) {
		if (!pasta_importrun_add(&im, argv[first], &err))
			continue;
		pasta_cli_message("%s", err.text);
		status = PASTA_CLI_FAILED;
	}
	if (!status)
		status = import_run(&im, dir, shared);
	pasta_importrun_free(&im);
	return status;
}

static const struct pasta_cli_option options[] = {
	{'o', "output", "DIR", "write the run into DIR (default: a new accelprof-run-N)"},
	{OPTION_SHARE, "share", NULL,
	 "let other users read the run, as the umask permits (default: owner only)"},
	{OPTION_RECOVER, "recover", NULL,
	 "import the undamaged parts of damaged files, and count the rest"},
	{OPTION_KINDS, "kinds", "KIND,...", "import only these kinds of events"},
	{OPTION_NO_STACKS, "no-stacks", NULL, "do not import stacks"},
	{0, NULL, NULL, NULL},
};

const struct pasta_verb pasta_verb_import = {
	.name = "import",
	.summary = "convert other profilers' traces into a run",
	.usage = "[OPTIONS] FILE|FOLDER... [-o DIR]",
	.more = "Several files become the ranks of one run. A file may be compressed with gzip or zstd.\n"
		"The content of a file determines its format: PyTorch Profiler (Kineto) JSON, rocprofv3\n"
		"JSON, or another Chrome trace, whose events become regions.\n"
		"Exit status: 0; 1 if a file could not be imported (no run is written then); 2 for wrong\n"
		"usage; 130 if interrupted.\n",
	.args = PASTA_CLI_ARGS_FILES,
	.options = options,
	.main = import_main,
};
