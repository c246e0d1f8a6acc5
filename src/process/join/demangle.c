/* demangle.c - demangles C++ names with libstdc++, which is loaded at run time. */
#include "process/join/demangle.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Mangled names refer to parts of themselves, so 300 bytes can expand to 10^13 bytes. libstdc++ has
 * no limit and cannot be interrupted, so names that might expand to a very long text are demangled
 * in a child process, which can be killed. After STOPPED_MAX children have been killed, such names
 * stay mangled. Names in real programs are shorter than LONG, and their demangled forms are shorter
 * than READ_MAX.
 */
enum { LONG = 4096, READ_MAX = 1 << 16, STOPPED_MAX = 8, CPU_US = 100000 };
/* Length of the longest text that a code can stand for. For a lower-case letter, that is "unsigned
 * long long". For a code that starts with S, it is the full name of std::iostream. */
enum { TYPE = 18, CLASS = 160 };
#define HARMLESS (UINT64_C(4) << 20)

static char *(*demangle)(const char *name, char *to, size_t *size, int *status);

static void demangle_bind(void)
{
	void *lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

	if (lib)
		*(void **)&demangle = dlsym(lib, "__cxa_demangle");
}

/* -- An upper bound on the length of a demangled name -- */

static uint64_t demangle_sum(uint64_t a, uint64_t b)
{
	return a + b < HARMLESS ? a + b : HARMLESS;
}

/* Returns the length of the reference at p, such as "S_", "S1Z_", "T_" or "T0_"; 0 if there is
 * none. */
static size_t demangle_reference(const char *p)
{
	size_t n = *p == 'S' || *p == 'T' ? 1 : 0;

	while (n && ((p[n] >= '0' && p[n] <= '9') || (p[n] >= 'A' && p[n] <= 'Z')))
		n++;
	return n && p[n] == '_' ? n + 1 : 0;
}

/*
 * Returns an upper bound on the length of the demangled name. A reference such as S1_ stands for
 * some text before it, so its expansion is at most as long as all text before it. T_ stands for a
 * different argument in each template. Any text that looks like a reference counts as one, because
 * only a full parser could recognize references reliably. A parameter pack expands once for each of
 * its elements.
 */
static uint64_t demangle_bound(const char *name)
{
	uint64_t read = 1, size = strlen(name), before[LONG];

	for (const char *p = name; *p; p++) {
		size_t n = demangle_reference(p);
		const char *first = n && *p == 'S' ? memmem(name, size, p, n) : p;

		before[p - name] = read;
		read = demangle_sum(read, *p == 'S' ? CLASS : *p >= 'a' && *p <= 'z' ? TYPE : 1);
		if (n)
			read = demangle_sum(read, before[first - name]);
		else if (!strncmp(p, "Dp", 2) || !strncmp(p, "sp", 2))
			read = read < HARMLESS / size ? read * size : HARMLESS;
		else if (!strncmp(p, "cv", 2))
			read = demangle_sum(read, read);
	}
	return read;
}

/* -- Demangling -- */

/* Returns the demangled name, which the caller frees. Returns NULL if `name` is not mangled, or the
 * result is too long. */
static char *demangle_here(const char *name)
{
	char *text = demangle(name, NULL, NULL, NULL);

	if (!text || strlen(text) < READ_MAX)
		return text;
	free(text);
	return NULL;
}

/* Demangles a name in a child process. The child's CPU time is limited, rather than its elapsed
 * time, so that the result does not depend on the load of the machine. */
static _Noreturn void demangle_in_child(const char *name, int to)
{
	const struct itimerval limit = {.it_value.tv_usec = CPU_US};
	const char *text, *end;
	sigset_t set;

	signal(SIGPROF, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	setitimer(ITIMER_PROF, &limit, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	text = demangle_here(name);
	end = text ? text + strlen(text) : NULL;
	while (text < end) {
		ssize_t n = write(to, text, (size_t)(end - text));

		if (n < 0 && errno != EINTR)
			break;
		text += n > 0 ? n : 0;
	}
	_exit(0);
}

/* Reads a descriptor to its end, and adds a NUL. The caller frees the text. Returns NULL if there
 * is no data. */
static char *demangle_receive(int from)
{
	char *text = malloc(READ_MAX);
	size_t size = 0;
	ssize_t n = 1;

	while (text && n && size < READ_MAX - 1) {
		n = read(from, text + size, READ_MAX - 1 - size);
		if (n < 0 && errno != EINTR)
			break;
		size += n > 0 ? (size_t)n : 0;
	}
	if (text && size) {
		text[size] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

static char *demangle_guarded(const char *name)
{
	static _Atomic int stopped;
	int fds[2], status = 0;
	char *text = NULL;
	pid_t pid;

	if (atomic_load(&stopped) >= STOPPED_MAX || pipe2(fds, O_CLOEXEC))
		return NULL;
	pid = fork();
	if (!pid)
		demangle_in_child(name, fds[1]);
	close(fds[1]);
	if (pid > 0) {
		text = demangle_receive(fds[0]);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(fds[0]);
	if (!status)
		return text;
	atomic_fetch_add(&stopped, 1);
	free(text);
	return NULL;
}

char *pasta_demangle(const char *name, size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char text[LONG];

	if (size < 3 || size >= LONG || memcmp(name, "_Z", 2) || memchr(name, '\0', size))
		return NULL;
	pthread_once(&once, demangle_bind);
	if (!demangle)
		return NULL;
	memcpy(text, name, size);
	text[size] = '\0';
	return demangle_bound(text) < HARMLESS ? demangle_here(text) : demangle_guarded(text);
}
