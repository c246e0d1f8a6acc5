/* exit.c - runs a function before the program calls _exit, which does not run atexit handlers. */
#include "handlers/cuda/exit.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "handlers/cuda/detour.h"

static struct detour exit_detour;
static void (*exit_flush)(void);
static pid_t exit_owner;

static void exit_replacement(int status)
{
	/* After a vfork, the child process runs this code in its parent's memory and must not
	 * flush. */
	if (getpid() == exit_owner)
		exit_flush();
	for (;;)
		syscall(SYS_exit_group, status);
}

void cuda_exit_watch(void (*flush)(void))
{
	/* _exit is looked up in libc itself, because the program may define its own _exit or link
	 * to a stub. */
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	if (!libc)
		return;
	exit_owner = getpid();
	exit_flush = flush;
	detour_set(&exit_detour, dlsym(libc, "_exit"), (void *)exit_replacement);
	dlclose(libc);
}
