/* openrun.c - opens runs and handles interrupts. */
#include "cli/openrun.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/importrun.h"
#include "process/run/notes.h"

static volatile sig_atomic_t openrun_signal; /* the last signal; 0: none */

static void openrun_on_signal(int sig)
{
	openrun_signal = sig;
}

bool pasta_openrun_stop(void *ctx)
{
	return openrun_signal;
}

/* If a signal was ignored when accelprof was started, accelprof continues to ignore it. */
static void openrun_catch(int sig)
{
	struct sigaction action = {.sa_handler = openrun_on_signal, .sa_flags = SA_RESETHAND},
			 before;

	if (!sigaction(sig, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(sig, &action, NULL);
}

void pasta_openrun_catch_interrupt(void)
{
	openrun_catch(SIGINT);
}

void pasta_openrun_hold_end(void)
{
	openrun_catch(SIGTERM);
	openrun_catch(SIGHUP);
}

/* Skips signals for which accelprof has set no handler: they were ignored when accelprof was
 * started, and stay ignored. */
void pasta_openrun_let_end(void)
{
	static const int ends[] = {SIGTERM, SIGHUP};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct sigaction now;

		if (!sigaction(ends[i], NULL, &now) && now.sa_handler == openrun_on_signal)
			signal(ends[i], SIG_DFL);
	}
	if (openrun_signal == SIGTERM || openrun_signal == SIGHUP)
		raise(openrun_signal);
}

/* Returns 1 if importing the files failed, else 0. */
static int openrun_import(struct pasta_input *in, struct pasta_importrun *im)
{
	struct pasta_error err = {0};
	int r = pasta_importrun_input(im, in, &err);

	if (r)
		pasta_cli_message("%s", r == -EINTR ? "interrupted" : err.text);
	else
		pasta_importrun_print_losses(im);
	return r != 0;
}

int pasta_openrun_open(struct pasta_input *in, char **paths)
{
	struct pasta_importrun im = {0};
	int failed = 0;

	in->warn = pasta_cli_warn;
	for (; *paths; paths++) {
		struct pasta_error err = {0};
		int r = pasta_importrun_is(*paths) ? pasta_importrun_add(&im, *paths, &err)
						   : pasta_input_add(in, *paths, &err);

		if (!r)
			continue;
		pasta_cli_message("%s", err.text);
		failed++;
	}
	if (im.count)
		failed += openrun_import(in, &im);
	pasta_importrun_free(&im);
	if (!failed && !in->shards && in->failed)
		pasta_cli_message("nothing was recorded in this run, and %llu events were "
				  "dropped: %s",
				  (unsigned long long)in->dropped, in->why);
	else if (!failed && !in->shards && in->alive)
		pasta_cli_message("the program has written no events yet: try again later");
	else if (!failed && !in->shards)
		pasta_cli_message("nothing was recorded in this run: 'accelprof doctor' shows "
				  "what can be recorded on this machine; to record regions, a "
				  "program must call the functions of <pasta/annotate.h>");
	return failed;
}

bool pasta_openrun_remarks(const struct pasta_input *in, const struct pasta_loss_summary *loss,
			   const char *what)
{
	pasta_notes_unrecorded(in, pasta_cli_warn);
	return pasta_notes_incomplete(in, loss, what, pasta_openrun_stop(NULL), pasta_cli_warn);
}
