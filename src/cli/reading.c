/* reading.c - runs opened, and an interrupt while they are read. */
#include "cli/reading.h"

#include <inttypes.h>
#include <signal.h>

#include "cli/cli.h"
#include "cli/show.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = 1;
}

bool pasta_reading_stop(void *ctx)
{
	return interrupted;
}

/* One that whoever started us ignores stays ignored. */
void pasta_reading_catch_interrupt(void)
{
	struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND}, before;

	if (!sigaction(SIGINT, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(SIGINT, &action, NULL);
}

static void warn(const char *line)
{
	pasta_cli_say("%s", line);
}

int pasta_reading_open(struct pasta_input *in, char **paths)
{
	int failed = 0;

	in->warn = warn;
	for (; *paths; paths++) {
		struct pasta_err err = {0};

		if (!pasta_input_add(in, *paths, &err))
			continue;
		pasta_cli_say("%s", err.text);
		failed++;
	}
	if (!failed && !in->shards && in->failed)
		pasta_cli_say("nothing was recorded in this run: %s", in->why);
	else if (!failed && !in->shards && in->alive)
		pasta_cli_say("nothing is written yet: the program still runs, try again later");
	else if (!failed && !in->shards)
		pasta_cli_say("nothing was recorded in this run: see 'accelprof doctor', and "
			      "<pasta/annotate.h> for what a program can say");
	return failed;
}

bool pasta_reading_remarks(const struct pasta_input *in, const struct pasta_account *loss,
			   const char *what)
{
	pasta_show_trouble(in);
	if (in->alive)
		pasta_cli_say("still running: %" PRIu64 " of the program's processes; this is what "
			      "they have written so far",
			      in->alive);
	if (loss->damaged_bytes || loss->damaged)
		pasta_cli_say("%" PRIu64 " bytes of the shards are damaged, %" PRIu64
			      " events are lost with them; all else is in the %s: keep a copy",
			      loss->damaged_bytes, loss->damaged, what);
	return loss->damaged_bytes || loss->damaged || in->refused;
}
