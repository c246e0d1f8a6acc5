/*
 * launch - runs a program on a system that lacks something: a filter makes system calls fail.
 *
 *	launch WHAT PROGRAM [ARGUMENT...]
 *
 *	locks		flock and locks of fcntl: ENOLCK, as on some file systems of clusters
 *	shared		writable shared mappings of files: ENODEV
 *	threads		new threads: EAGAIN
 *	fallocate	fallocate: EOPNOTSUPP
 *	new		system calls introduced with Linux 5: ENOSYS
 *	sockets		sockets: EACCES
 *
 * The filter applies to the program, natively and under accelprof, and to accelprof.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))
#define IS(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise)
#define HAS(bits, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, then, otherwise)
#define FAIL(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
enum { TALLY = 16 /* bytes of harm.h's own mapping, which must work */ };

static struct sock_filter no_locks[] = {
	NUMBER,
	IS(SYS_flock, 6, 0),
	IS(SYS_fcntl, 0, 6),
	ARGUMENT(1),
	IS(F_SETLK, 3, 0),
	IS(F_SETLKW, 2, 0),
	IS(F_OFD_SETLK, 1, 0),
	IS(F_OFD_SETLKW, 0, 1),
	FAIL(ENOLCK),
	ALLOW,
};
static struct sock_filter no_shared[] = {
	NUMBER,
	IS(SYS_mmap, 0, 8),
	ARGUMENT(1),
	IS(TALLY, 6, 0),
	ARGUMENT(3),
	HAS(MAP_ANONYMOUS, 4, 0),
	HAS(MAP_SHARED, 0, 3),
	ARGUMENT(2),
	HAS(PROT_WRITE, 0, 1),
	FAIL(ENODEV),
	ALLOW,
};
static struct sock_filter no_threads[] = {
	NUMBER,
	IS(SYS_clone3, 3, 0),
	IS(SYS_clone, 0, 3),
	ARGUMENT(0),
	HAS(CLONE_THREAD, 2, 1),
	FAIL(ENOSYS),
	ALLOW,
	FAIL(EAGAIN),
};
static struct sock_filter no_fallocate[] = {
	NUMBER,
	IS(SYS_fallocate, 0, 1),
	FAIL(EOPNOTSUPP),
	ALLOW,
};
static struct sock_filter no_new[] = {
	NUMBER,
	IS(SYS_close_range, 6, 0),
	IS(SYS_openat2, 5, 0),
	IS(SYS_clone3, 4, 0),
	IS(SYS_pidfd_open, 3, 0),
	IS(SYS_memfd_create, 2, 0),
	IS(SYS_pidfd_send_signal, 1, 0),
	IS(SYS_faccessat2, 0, 1),
	FAIL(ENOSYS),
	ALLOW,
};
static struct sock_filter no_sockets[] = {
	NUMBER,
	IS(SYS_socket, 0, 1),
	FAIL(EACCES),
	ALLOW,
};

#define FILTER(name, code)                                                                         \
	{                                                                                          \
		name,                                                                              \
		{                                                                                  \
			sizeof(code) / sizeof(*(code)), code                                       \
		}                                                                                  \
	}
static const struct {
	const char *name;
	struct sock_fprog program;
} filters[] = {
	FILTER("locks", no_locks),     FILTER("shared", no_shared),
	FILTER("threads", no_threads), FILTER("fallocate", no_fallocate),
	FILTER("new", no_new),	       FILTER("sockets", no_sockets),
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(filters) / sizeof(*filters); i++) {
		if (strcmp(argv[1], filters[i].name) != 0)
			continue;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filters[i].program)) {
			perror("launch: seccomp");
			return 77;
		}
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		return 127;
	}
	fprintf(stderr,
		"launch: locks, shared, threads, fallocate, new or sockets, and a program\n");
	return 2;
}
