/*
 * descriptors - a program that uses every descriptor number as its own.
 *
 *	descriptors list|closed|closefrom|dup2|zero|lowest|limit|pipe|lock|inherit
 *
 * What the program writes to its own files is compared with a native run too.
 */
#include "harm.h"

#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { THREADS = 3, LAST = 1023 };

static _Atomic int finished;
static char *self;

static void emit_all(void)
{
	for (unsigned int i = 0; i < HARM_CALLS; i++)
		harm_call(i);
}

/* Starts short-lived threads: each acquires a ring. */
static void *run_once(void *arg)
{
	for (unsigned int i = 0; i < 200; i++)
		harm_call(i);
	return arg;
}

static void *run_beside(void *arg)
{
	for (int i = 0; !atomic_load(&finished); i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run_once, NULL))
			broken("pthread_create");
		run_once(NULL);
		pthread_join(thread, NULL);
		if (i % 4 == 0)
			harm_nap(1); /* let the writer drain the rings too */
	}
	return arg;
}

static pthread_t beside[THREADS];

static void begin_beside(void)
{
	atomic_store(&finished, 0);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&beside[i], NULL, run_beside, NULL))
			broken("pthread_create");
}

static void end_beside(void)
{
	atomic_store(&finished, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(beside[i], NULL);
}

/* None of the program's descriptors belongs to the agent. */
static void list(int unused)
{
	(void)unused;
	harm_descriptors("before");
	emit_all();
	harm_descriptors("after the first");
	begin_beside();
	harm_nap(250); /* let the writer write */
	harm_descriptors("beside threads");
	end_beside();
	harm_descriptors("after threads");
}

/* No file is open at the first call; after it, open returns the same numbers as natively. */
static void closed(int unused)
{
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 900), fd[3];

	(void)unused;
	for (int i = 0; i < 3; i++)
		close(i);
	emit_all();
	for (int i = 0; i < 3; i++)
		fd[i] = open("/dev/null", O_RDWR);
	emit_all();
	dup2(out, STDOUT_FILENO);
	close(out);
	harm_print("opened as %d %d %d", fd[0], fd[1], fd[2]);
	harm_descriptors("at the end");
}

/* Closes all descriptors, as daemons and sandboxes do. */
static void closes(int unused)
{
	int fd;

	(void)unused;
	emit_all();
	begin_beside();
	for (int i = 0; i < 200; i++) {
		closefrom(3);
		syscall(SYS_close_range, 3, ~0U, 0);
		fd = open("own", O_RDWR | O_CREAT | O_APPEND, 0644);
		if (fd != 3)
			harm_print("open returned %d", fd);
		dprintf(fd, "line %d\n", i);
		harm_call((unsigned int)i);
	}
	end_beside();
	closefrom(3);
	emit_all();
	harm_descriptors("at the end");
}

/* Every number in turn is a file of the program, while threads emit and the writer writes. Nothing
 * else may appear in these files. */
static void duplicates(int rounds)
{
	enum { FILES = 8, LINE = 16 };
	const struct rlimit limit = {LAST + 1, LAST + 1};
	int own[FILES], wrong = 0;
	char text[32];

	setrlimit(RLIMIT_NOFILE, &limit);
	emit_all();
	for (int i = 0; i < FILES; i++) {
		snprintf(text, sizeof(text), "own%d", i);
		own[i] = open(text, O_RDWR | O_CREAT | O_APPEND, 0644);
	}
	begin_beside();
	for (int round = 0; round < rounds; round++)
		for (int fd = 3 + FILES; fd <= LAST; fd++) {
			int n = snprintf(text, sizeof(text), "%6d %7d\n", round, fd);

			if (dup2(own[fd % FILES], fd) != fd || write(fd, text, (size_t)n) != n)
				broken("descriptor %d", fd);
			if (fd % 3)
				close(fd);
		}
	end_beside();
	for (int i = 0; i < FILES; i++) {
		off_t size = lseek(own[i], 0, SEEK_END);
		char *all = malloc((size_t)size + 1);

		wrong += pread(own[i], all, (size_t)size, 0) != size;
		all[size] = '\0';
		harm_print("own%d: %d lines", i, (int)(size / LINE));
		for (off_t at = 0; at < size; at += LINE)
			wrong += strspn(all + at, " 0123456789") < LINE - 2 || all[at + 14] != '\n';
		free(all);
	}
	harm_print("wrong: %d", wrong);
}

/* close(0) and open: the number is 0, even while other threads open files. */
static void zero(int n)
{
	int wrong = 0;

	emit_all();
	begin_beside();
	for (int i = 0; i < n; i++) {
		close(0);
		wrong += open("/dev/null", O_RDONLY) != 0;
	}
	end_beside();
	harm_print("wrong: %d", wrong);
}

static void lowest(int n)
{
	int wrong = 0, fds[2];

	begin_beside(); /* its threads' first calls coincide with these */
	for (int i = 0; i < n; i++) {
		int a = open("/dev/null", O_RDONLY), b = dup(a);

		if (pipe(fds))
			broken("pipe");
		wrong += a != 3 || b != 4 || fds[0] != 5 || fds[1] != 6;
		close(a), close(b), close(fds[0]), close(fds[1]);
	}
	end_beside();
	harm_print("wrong: %d", wrong);
}

/* All numbers are in use at the first call. */
static void limit(int unused)
{
	const struct rlimit few = {16, 16};
	int opened = 0, n;

	(void)unused;
	setrlimit(RLIMIT_NOFILE, &few);
	while (open("/dev/null", O_RDONLY) >= 0)
		opened++;
	harm_print("opened %d, then %s", opened, strerror(errno));
	emit_all();
	begin_beside();
	harm_nap(150);
	end_beside();
	for (n = 3; n < 10; n++)
		close(n);
	emit_all();
	for (n = 0; open("/dev/null", O_RDONLY) >= 0; n++)
		;
	harm_print("opened %d again, then %s", n, strerror(errno));
	emit_all();
	harm_descriptors("at the end");
}

/* Returns 1 if the end of the file was reached. */
static int sees_end(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	char c;

	return poll(&p, 1, 10000) == 1 && read(fd, &c, 1) == 0;
}

/* A closed end of a pipe or socket is closed, even if the writer starts at that moment. */
static void pipes(int unused)
{
	enum { CHILDREN = 40 };
	int ends = 0, sockets = 0;

	(void)unused;
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			pthread_t thread;
			int fds[2], pair[2];

			if (pipe(fds) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
				_exit(4);
			if (i % 2) {
				if (pthread_create(&thread, NULL, run_once, NULL))
					_exit(5);
			} else {
				run_once(NULL);
			}
			harm_spin(harm_random() % 300000);
			close(fds[1]);
			close(pair[1]);
			_exit(sees_end(fds[0]) + 2 * sees_end(pair[0]));
		}
		status = harm_wait(pid);
		ends += WIFEXITED(status) && WEXITSTATUS(status) & 1;
		sockets += WIFEXITED(status) && WEXITSTATUS(status) & 2;
	}
	harm_print("of %d: %d pipes ended, %d sockets", CHILDREN, ends, sockets / 2);
}

/* The lock of an open file ends with its last descriptor. */
static void locks(int unused)
{
	(void)unused;
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();
		int fd, again;

		if (!pid) {
			fd = open("locked", O_RDWR | O_CREAT, 0644);
			if (fd < 0 || flock(fd, LOCK_EX))
				_exit(2);
			run_once(NULL); /* the writer starts while the file is open */
			close(fd);
			again = open("locked", O_RDWR);
			_exit(flock(again, LOCK_EX | LOCK_NB) ? 1 : 0);
		}
		harm_print("child: %s", harm_ended(harm_wait(pid)));
	}
}

/* An executed program inherits exactly what the program left open. */
static void inherit(int unused)
{
	pid_t pid;

	(void)unused;
	emit_all();
	dup2(STDOUT_FILENO, 700);
	begin_beside();
	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (!pid) {
			execl(self, self, "show", (char *)NULL);
			_exit(93);
		}
		harm_print("child: %s", harm_ended(harm_wait(pid)));
	}
	end_beside();
	execl(self, self, "show", (char *)NULL);
}

static void show(int unused)
{
	(void)unused;
	harm_descriptors("inherited");
	emit_all();
}

int main(int argc, char **argv)
{
	static const struct harm_modes modes[] = {
		{"list", list},	 {"closed", closed},   {"closefrom", closes}, {"dup2", duplicates},
		{"zero", zero},	 {"lowest", lowest},   {"limit", limit},      {"pipe", pipes},
		{"lock", locks}, {"inherit", inherit}, {"show", show},	      {NULL, NULL},
	};

	self = realpath("/proc/self/exe", NULL);
	return harm_main(argc, argv, modes);
}
