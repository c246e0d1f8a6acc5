/* liveness.c - finds out whether the process that made a ring file still runs. */
#include "process/read/liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "process/io/files.h"

enum { MAPS_NONE, MAPS_OTHERS, MAPS_IT };

/* Looks for a file in the mappings of a thread, by the file's name and inode. Returns MAPS_IT if
 * the thread has mapped the file, MAPS_OTHERS if it has mapped only other files, MAPS_NONE if the
 * thread has ended, or a negative errno. */
static int liveness_thread_maps(const char *path, int ring, const char *name)
{
	int found = MAPS_NONE;
	char line[8192];
	struct stat st;
	FILE *f;

	f = pasta_files_system(path);
	if (!f)
		return errno == ENOENT || errno == ESRCH ? MAPS_NONE : -errno;
	errno = 0;
	if (fstat(ring, &st))
		st.st_ino = 0;
	while (found != MAPS_IT && fgets(line, sizeof(line), f)) {
		unsigned long inode = 0;

		found = strstr(line, name) || (sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1 &&
					       inode && inode == (unsigned long)st.st_ino)
				? MAPS_IT
				: MAPS_OTHERS;
	}
	if (found != MAPS_IT && ferror(f))
		found = -EACCES;
	fclose(f);
	return found;
}

/* Returns 1 if a process has mapped the file, 0 if it has not, or a negative errno. All threads of
 * a process share their mappings. Nevertheless, this function checks each thread, because /proc
 * shows no mappings of a thread that has ended, and the main thread may end first. */
static int liveness_maps(uint32_t pid, int ring, const char *name)
{
	char path[PATH_MAX], **threads;
	size_t count, i;
	int folder, found;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	folder = pasta_files_folder(path);
	found = folder < 0 ? folder : pasta_files_list(folder, NULL, &threads, &count);
	if (folder >= 0)
		close(folder);
	if (found < 0)
		return found;
	for (i = 0; found == MAPS_NONE && i < count; i++) {
		snprintf(path, sizeof(path), "/proc/%u/task/%s/maps", pid, threads[i]);
		found = liveness_thread_maps(path, ring, name);
	}
	pasta_files_list_free(threads);
	return found < 0 ? found : found == MAPS_IT;
}

enum pasta_liveness pasta_liveness_by_lock(int ring, const char *name)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(ring, F_GETLK, &lock) || lock.l_type == F_UNLCK)
		return PASTA_LIVENESS_DEAD;
	/* On NFS, flock(2) acquires an fcntl(2) lock, so this may be the lock that another
	 * accelprof acquired with flock to read the run. */
	if (lock.l_pid > 0 && !liveness_maps((uint32_t)lock.l_pid, ring, name))
		return PASTA_LIVENESS_UNSURE;
	return PASTA_LIVENESS_ALIVE;
}

static bool liveness_same_boot(const struct pasta_ringfile *f)
{
	char text[64] = "";
	uint8_t boot[16] = {0};
	size_t n = 0;
	FILE *file = pasta_files_system("/proc/sys/kernel/random/boot_id");

	if (!file)
		return true;
	if (fgets(text, sizeof(text), file))
		for (const char *p = text; *p && n < sizeof(boot); p += *p == '-' ? 1 : 2)
			if (*p != '-' && sscanf(p, "%2hhx", &boot[n]) == 1)
				n++;
	fclose(file);
	return !memcmp(boot, f->boot, sizeof(boot));
}

/* Returns whether a ring file that names another boot was created after this host booted. Such a
 * file comes from another host with the same name. */
static bool liveness_is_elsewhere(const struct pasta_ringfile *f)
{
	struct timespec now, up;
	uint64_t real, since;

	if (clock_gettime(CLOCK_REALTIME, &now) || clock_gettime(CLOCK_BOOTTIME, &up))
		return true;
	real = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	since = (uint64_t)up.tv_sec * 1000000000u + (uint64_t)up.tv_nsec;
	return f->real > real - since;
}

/* Returns whether the ring file comes from this host. The file's name is HOST-PID. Compares the PID
 * as well, because a host name may itself end with a number, as in HOST-1. */
static bool liveness_same_host(const struct pasta_ringfile *f, const char *name)
{
	char host[256] = "", stem[300];
	int n;

	gethostname(host, sizeof(host) - 1);
	n = snprintf(stem, sizeof(stem), "%s-%u", host, f->pid);
	return !strncmp(name, stem, (size_t)n) && (name[n] == '-' || name[n] == '.');
}

/* Checks that the process with the ring file's PID has the start time in the ring file, and still
 * maps the file. exec retains the PID and the start time, but removes all mappings. */
static enum pasta_liveness liveness_by_proc(const struct pasta_ringfile *f, int ring,
					    const char *name)
{
	char path[64], line[8192], *p;
	FILE *file;
	int maps;

	snprintf(path, sizeof(path), "/proc/%u/stat", f->pid);
	file = pasta_files_system(path);
	if (!file) {
		file = pasta_files_system("/proc/self/stat");
		if (!file)
			return PASTA_LIVENESS_UNSURE; /* /proc is not mounted */
		fclose(file);
		return PASTA_LIVENESS_DEAD;
	}
	p = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || strtoull(p, NULL, 10) != f->start)
		return PASTA_LIVENESS_DEAD;
	maps = liveness_maps(f->pid, ring, name);
	return maps ? PASTA_LIVENESS_ALIVE : PASTA_LIVENESS_DEAD;
}

enum pasta_liveness pasta_liveness(const struct pasta_ringfile *f, int ring, const char *name)
{
	enum pasta_liveness lock = pasta_liveness_by_lock(ring, name);
	bool host = liveness_same_host(f, name);

	if (lock != PASTA_LIVENESS_DEAD)
		return lock;
	/* The ring file's PID is valid only on the host that wrote the file. A container with
	 * another host name has its own PIDs. */
	if (!host)
		return PASTA_LIVENESS_UNSURE;
	if (!liveness_same_boot(f)) /* the host has rebooted */
		return liveness_is_elsewhere(f) ? PASTA_LIVENESS_UNSURE : PASTA_LIVENESS_DEAD;
	return liveness_by_proc(f, ring, name);
}
