/*
 * killat - runs a program and kills it at the Nth system call that has an effect outside of it.
 *
 *	killat N PROGRAM ARGS...
 *
 * The calls that count create, write, truncate, rename or remove files, map them shared, or start
 * threads. Each counts twice: before and after the call. All threads of the process count, its
 * children do not. After the kill, killat dies from the same signal. If the program ends before,
 * killat has its status or signal. With N = 0 killat kills nothing, and writes the number of
 * moments to file descriptor 3. Status 77: the system does not permit ptrace, or is older than
 * Linux 5.3.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL, THREADS = 256 };

static const long changing[] = {
#ifdef SYS_open
	SYS_creat,	     SYS_mkdir,	    SYS_rmdir,	   SYS_link,	     SYS_symlink,
	SYS_unlink,	     SYS_rename,
#endif
	SYS_mkdirat,	     SYS_linkat,    SYS_symlinkat, SYS_unlinkat,     SYS_write,
	SYS_writev,	     SYS_pwrite64,  SYS_pwritev,   SYS_fsync,	     SYS_fdatasync,
	SYS_ftruncate,	     SYS_clone,	    SYS_msync,	   SYS_memfd_create, SYS_sendfile,
	SYS_flock,	     SYS_fallocate, SYS_renameat2, SYS_clone3,	     SYS_munmap,
	SYS_copy_file_range,
#ifdef SYS_renameat
	SYS_renameat,
#endif
};

/* Threads that are in a system call that counts. */
static pid_t under_way[THREADS];

static int opens_to_change(const struct __ptrace_syscall_info *info)
{
	unsigned long long flags = 0;

	if (info->entry.nr == SYS_openat)
		flags = info->entry.args[2];
#ifdef SYS_open
	else if (info->entry.nr == SYS_open)
		flags = info->entry.args[1];
#endif
	return (flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT;
}

static int changes(const struct __ptrace_syscall_info *info)
{
	for (size_t i = 0; i < sizeof(changing) / sizeof(*changing); i++)
		if ((long)info->entry.nr == changing[i])
			return 1;
	if (info->entry.nr == SYS_mmap)
		return (info->entry.args[3] & MAP_TYPE) == MAP_SHARED;
	return opens_to_change(info);
}

/* Whether to count this stop of a thread. */
static int counts(pid_t thread)
{
	struct __ptrace_syscall_info info = {0};
	size_t i;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof(info), &info) <= 0)
		exit(77);
	for (i = 0; i < THREADS; i++)
		if (under_way[i] == thread)
			break;
	if (i < THREADS) {
		under_way[i] = 0;
		return 1;
	}
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY || !changes(&info))
		return 0;
	for (i = 0; i < THREADS && under_way[i]; i++)
		;
	if (i < THREADS)
		under_way[i] = thread;
	return 1;
}

static int end_like(int status)
{
	const struct rlimit none = {0, 0};

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	kill(getpid(), WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

/* Returns the signal to continue the thread with; 0 for a stop that killat caused. */
static int signal_of(int status)
{
	int sig = WSTOPSIG(status);

	return sig == (SIGTRAP | 0x80) || sig == SIGTRAP || sig == SIGSTOP ? 0 : sig;
}

static int follow(pid_t child, unsigned long wanted)
{
	unsigned long moments = 0;
	int status;
	pid_t pid;

	ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(long)OPTIONS);
	ptrace(PTRACE_SYSCALL, child, NULL, NULL);
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (pid == child && !WIFSTOPPED(status))
			break;
		if (pid < 0 || !WIFSTOPPED(status))
			continue;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && counts(pid) && ++moments == wanted)
			kill(child, SIGKILL);
		ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)signal_of(status));
	}
	if (!wanted)
		dprintf(3, "%lu\n", moments);
	return end_like(status);
}

int main(int argc, char **argv)
{
	pid_t child;
	int status;

	if (argc < 3) {
		fprintf(stderr, "killat N PROGRAM ARGS...\n");
		return 2;
	}
	child = fork();
	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 2;
	if (!WIFSTOPPED(status))
		return end_like(status);
	return follow(child, strtoul(argv[1], NULL, 10));
}
