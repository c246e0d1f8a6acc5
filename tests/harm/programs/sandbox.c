/*
 * sandbox - a program that confines itself, before its first call or after some.
 *
 *	sandbox strict|kill|kill-all|deny|trap|newuser|newpid|newns|newnet|chroot|setuid|
 *		setuid-exec|identity [1]
 *
 * With the argument 1 the first call comes after the confinement, not before.
 */
#include "harm.h"

#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { NOBODY = 65534 };

static _Atomic int traps;
static char *self;

static void emit_all(void)
{
	for (unsigned int i = 0; i < 50 * HARM_CALLS; i++)
		harm_call(i);
}

static void *run(void *arg)
{
	emit_all();
	return arg;
}

/* Whether threads can start depends on the sandbox. They must start as they do natively. */
static const char *with_thread(void)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, run, NULL);

	if (!error)
		pthread_join(thread, NULL);
	return error ? strerror(error) : "runs";
}

static void with_child(void)
{
	pid_t pid = fork();

	if (pid < 0) {
		harm_print("child: %s", strerror(errno));
		return;
	}
	if (!pid) {
		emit_all();
		exit(3);
	}
	harm_print("child: %s", harm_ended(harm_wait(pid)));
}

/* Waits until the writer has written the earlier events. */
static void before(int first)
{
	if (first)
		return;
	emit_all();
	harm_nap(250);
}

/* Only read, write, exit and sigreturn are allowed. */
static void strict(int first)
{
	before(first);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	emit_all();
	harm_print("strict");
	syscall(SYS_exit, 4);
}

/* System calls that open, create or extend files have the given action, for this thread or for
 * all. */
static void filter(unsigned int action, unsigned int flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ftruncate, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, action),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program))
		broken("seccomp");
}

static void after_filter(void)
{
	emit_all();
	harm_print("thread: %s", with_thread());
	with_child();
	harm_nap(250);
	emit_all();
	harm_print("traps: %d", atomic_load(&traps));
}

static void kills(int first)
{
	before(first);
	filter(SECCOMP_RET_KILL_PROCESS, 0);
	after_filter();
}

static void kills_all(int first)
{
	before(first);
	filter(SECCOMP_RET_KILL_PROCESS, SECCOMP_FILTER_FLAG_TSYNC);
	after_filter();
}

static void denies(int first)
{
	before(first);
	filter(SECCOMP_RET_ERRNO | EPERM, SECCOMP_FILTER_FLAG_TSYNC);
	after_filter();
}

static void on_trap(int sig)
{
	(void)sig;
	atomic_fetch_add(&traps, 1);
}

/* The program prints each system call that it did not expect. */
static void trapped(int first)
{
	harm_handle(SIGSYS, on_trap, SA_RESTART);
	before(first);
	filter(SECCOMP_RET_TRAP, 0);
	after_filter();
}

static void separate(int flags)
{
	harm_print("unshare: %s", unshare(flags) ? strerror(errno) : "done");
	emit_all();
	harm_print("thread: %s", with_thread());
	with_child();
	with_child();
	emit_all();
}

static void newuser(int first)
{
	before(first);
	separate(CLONE_NEWUSER);
}

static void newpid(int first)
{
	before(first);
	separate(CLONE_NEWPID);
}

static void newnet(int first)
{
	before(first);
	separate(CLONE_NEWNET);
}

/* The run's folder is not reachable any more. */
static void newns(int first)
{
	const char *tally = getenv("HARM_TALLY");
	char folder[1024];
	int own;

	before(first);
	harm_nap(first ? 0 : 20); /* let the writer start */
	own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	harm_print("setns: %s", setns(own, CLONE_NEWNS) ? strerror(errno) : "done");
	close(own);
	harm_print("unshare: %s", unshare(CLONE_NEWNS) ? strerror(errno) : "done");
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(tally, '/') - tally), tally);
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", folder, "tmpfs", 0, NULL))
		broken("mount");
	emit_all();
	harm_print("thread: %s", with_thread());
	with_child();
	with_child();
	emit_all();
}

static void new_root(int first)
{
	before(first);
	if (mkdir("root", 0755) || chroot("root") || chdir("/"))
		broken("chroot");
	emit_all();
	harm_print("thread: %s", with_thread());
	with_child();
	with_child();
	close(open("inside", O_WRONLY | O_CREAT, 0644));
	emit_all();
}

static void drop(int first)
{
	before(first);
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		broken("setuid");
	emit_all();
	harm_print("thread: %s", with_thread());
	with_child();
	with_child();
	harm_print("user %d", (int)getuid());
	emit_all();
}

/* Another program attaches as another user. */
static void drop_and_exec(int first)
{
	drop(first);
	execl(self, self, "identity", (char *)NULL);
	broken("exec");
}

static void identity(int unused)
{
	(void)unused;
	emit_all();
	harm_print("user %d, effective %d, secure %lu", (int)getuid(), (int)geteuid(),
		   getauxval(AT_SECURE));
	with_child();
}

int main(int argc, char **argv)
{
	static const struct harm_modes modes[] = {
		{"strict", strict},	{"kill", kills},   {"kill-all", kills_all},
		{"deny", denies},	{"trap", trapped}, {"newuser", newuser},
		{"newpid", newpid},	{"newns", newns},  {"newnet", newnet},
		{"chroot", new_root},	{"setuid", drop},  {"setuid-exec", drop_and_exec},
		{"identity", identity}, {NULL, NULL},
	};

	self = realpath("/proc/self/exe", NULL);
	return harm_main(argc, argv, modes);
}
