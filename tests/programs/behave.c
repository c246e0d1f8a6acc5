/*
 * behave - a program that executes its arguments in order, inside a region.
 *
 * args ..., await, cat, caught, count N, env NAME, events N, exit N, fds, group N, ignored N,
 * leave, nest N, print N, ready, region NAME, signal N, sleep MS
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <pasta/annotate.h>

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	(void)sig;
	caught++;
}

static void print_signal(int sig)
{
	char text[] = "got 00\n";
	ssize_t n;

	text[4] = (char)('0' + sig / 10);
	text[5] = (char)('0' + sig % 10);
	n = write(1, text, sizeof(text) - 1);
	(void)n;
}

static void nap(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static void cat(void)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(0, buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && write(1, buf, (size_t)n) != n)
			_exit(9);
}

/* Wait for a signal, ten seconds at most, and then a moment for a second one. */
static void await(void)
{
	int i;

	for (i = 0; i < 1000 && !caught; i++)
		nap(10);
	nap(200);
	printf("caught %d\n", (int)caught);
}

/* Which of the first ten files are open. */
static void fds(void)
{
	int fd;

	for (fd = 0; fd < 10; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			dprintf(2, "fd %d\n", fd);
}

static void on(int sig, void (*handler)(int sig))
{
	struct sigaction action = {.sa_handler = handler};

	sigfillset(&action.sa_mask); /* one after the other, in the order of their numbers */
	sigaction(sig, &action, NULL);
}

static void ignored(int sig)
{
	struct sigaction action;
	sigset_t mask;

	sigaction(sig, NULL, &action);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	printf("%s %s\n", action.sa_handler == SIG_IGN ? "ignored" : "default",
	       sigismember(&mask, sig) ? "blocked" : "open");
}

/* As fast as nothing is dropped. */
static void events(long n)
{
	for (; n > 0; n--) {
		pasta_region_begin("event");
		pasta_region_end();
		if (n % 1000 == 0)
			nap(1);
	}
}

static void nest(long n)
{
	long i;

	for (i = 0; i < n; i++)
		pasta_region_begin("deep");
	for (i = 0; i < n; i++)
		pasta_region_end();
}

int main(int argc, char **argv)
{
	int i;

	pasta_region_begin("main");
	for (i = 1; i < argc; i++) {
		const char *what = argv[i], *arg = i + 1 < argc ? argv[i + 1] : "0";

		if (!strcmp(what, "args")) {
			for (i++; i < argc; i++)
				printf("[%s]\n", argv[i]);
			break;
		}
		if (!strcmp(what, "cat")) {
			cat();
			continue;
		}
		if (!strcmp(what, "leave")) {
			setsid();
			continue;
		}
		if (!strcmp(what, "fds")) {
			fds();
			continue;
		}
		if (!strcmp(what, "ready")) {
			printf("ready %ld\n", (long)getpid());
			fflush(stdout);
			continue;
		}
		if (!strcmp(what, "await")) {
			await();
			continue;
		}
		if (!strcmp(what, "caught")) {
			printf("caught %d\n", (int)caught);
			continue;
		}
		i++;
		if (!strcmp(what, "exit"))
			exit(atoi(arg));
		else if (!strcmp(what, "signal"))
			raise(atoi(arg));
		else if (!strcmp(what, "env"))
			printf("%s\n", getenv(arg) ? getenv(arg) : "(unset)");
		else if (!strcmp(what, "count"))
			on(atoi(arg), on_signal);
		else if (!strcmp(what, "print"))
			on(atoi(arg), print_signal);
		else if (!strcmp(what, "group"))
			kill(0, atoi(arg));
		else if (!strcmp(what, "ignored"))
			ignored(atoi(arg));
		else if (!strcmp(what, "sleep"))
			nap(atol(arg));
		else if (!strcmp(what, "region"))
			pasta_region_begin(arg);
		else if (!strcmp(what, "events"))
			events(atol(arg));
		else if (!strcmp(what, "nest"))
			nest(atol(arg));
	}
	pasta_region_end();
	return 0;
}
