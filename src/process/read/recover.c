/* recover.c - adds the events that a crashed process left in its rings to its shard. */
#include "process/read/recover.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "core/shardfile.h"
#include "process/io/files.h"
#include "process/read/liveness.h"
#include "process/read/rings.h"

enum { HALF_MADE_S = 10, DAMAGED_MAX = 100 };

struct recover {
	int folder;
	const char *name, *path; /* the shard's file name and its path */
	char ring_name[NAME_MAX + 1];
	bool commit; /* whether it still seems safe to write to the run's folder */

	int ring, file, tail; /* descriptors, or -1 */
	uint64_t file_size;   /* size of the shard's file when it was scanned */
	uint64_t end;	      /* end of the part of the shard's file that is used */
	struct pasta_rings rings;
	struct pasta_decoder *decoder;
	/* The shard's file, scanned; NULL if it does not exist or is not a shard. */
	struct pasta_shard *shard;
	/* The shard cannot be read, and the error was already reported. */
	bool refused;
	struct pasta_rings_found found;
	struct pasta_recovered *out;
	struct pasta_error *err;
};

static int recover_fail(struct recover *s, int code, const char *name, const char *what)
{
	s->out->failed++;
	s->commit = false;
	return pasta_fail(s->err, code, "cannot read %.*s%s: %s",
			  (int)(strlen(s->path) - strlen(s->name)), s->path, name, what);
}

/* -- The ring file -- */

/* Locks the ring file. If this process cannot lock it, for example because the file system does not
 * support locks, the events of the ring are not written to the shard. */
static void recover_lock(struct recover *s)
{
	if (s->commit && flock(s->ring, LOCK_EX | LOCK_NB))
		s->commit = false;
}

/* Opens the ring file. Returns 1 if it was opened, 0 if the shard has no ring file, or a negative
 * errno. */
static int recover_open_ring(struct recover *s, uint64_t *size)
{
	struct stat st;

	s->ring = s->commit ? pasta_files_open_ours(s->folder, s->ring_name) : -EPERM;
	if (s->ring == -EPERM || s->ring == -EACCES || s->ring == -EROFS) {
		s->commit = false;
		s->ring = pasta_files_open(s->folder, s->ring_name, NULL);
	}
	if (s->ring == -ENOENT)
		return 0; /* there is no ring file, or another process removed it */
	if (s->ring < 0)
		return recover_fail(s, s->ring, s->ring_name, pasta_files_why(s->ring));
	recover_lock(s);
	if (fstat(s->ring, &st))
		return recover_fail(s, -errno, s->ring_name, strerror(errno));
	*size = (uint64_t)st.st_size;
	return 1;
}

/* -- The shard -- */

static bool recover_is_of_another(const struct recover *s)
{
	static const uint8_t unknown[sizeof(s->shard->head.guid)];
	const uint8_t *guid = s->shard->head.guid;

	return memcmp(guid, unknown, sizeof(unknown)) &&
	       memcmp(guid, s->rings.file->guid, sizeof(unknown));
}

/* Opens the shard. If that fails, the report still includes the events of the rings. */
static int recover_open_shard(struct recover *s)
{
	struct pasta_shard_parts parts = {.path = s->path, .end = UINT64_MAX, .tail = -1};

	s->file = pasta_files_open(s->folder, s->name, &s->file_size);
	if (s->file == -ENOENT)
		return 0;
	s->refused = s->file < 0;
	if (s->file < 0)
		return recover_fail(s, s->file, s->name, pasta_files_why(s->file));
	if (s->file_size < sizeof(struct pasta_shard_head))
		return 0; /* the process died before it wrote the head of the ring file */
	parts.file = fcntl(s->file, F_DUPFD_CLOEXEC, 3);
	if (parts.file < 0)
		return recover_fail(s, -errno, s->name, strerror(errno));
	s->shard = pasta_shard_open(&parts, 0, s->decoder, s->err);
	if (!s->shard) {
		s->refused = true;
		s->out->failed++;
		s->commit = false;
		return s->err->code;
	}
	s->file_size = s->shard->size;
	if (s->shard->error)
		return recover_fail(s, s->shard->error, s->name, strerror(-s->shard->error));
	return 0;
}

/* -- Committing -- */

static int recover_copy(int from, int to, uint64_t at)
{
	struct pasta_shardfile out = {.fd = to, .end = at};
	char *bytes = malloc(PASTA_FRAME_BYTES);
	uint64_t offset = 0;
	int error = bytes ? 0 : -ENOMEM;
	ssize_t n = 1;

	while (!error && n) {
		n = pasta_files_read_at(from, bytes, PASTA_FRAME_BYTES, offset);
		error = n < 0 ? (int)n : pasta_shardfile_append(&out, bytes, (size_t)n);
		offset += n > 0 ? (uint64_t)n : 0;
	}
	free(bytes);
	return error;
}

/* Opens the shard's file for appending, unless the file has changed since it was scanned. Sets
 * *made if the file is new. */
static int recover_open_to_append(struct recover *s, bool *made)
{
	struct stat st;
	int fd;

	*made = s->file < 0;
	if (fstat(s->ring, &st))
		return -errno;
	if (*made)
		return pasta_files_create(s->folder, s->name, st.st_mode & 0666);
	if (!pasta_files_is_still(s->folder, s->name, s->file))
		return -ESTALE;
	fd = pasta_files_open_ours(s->folder, s->name);
	if (fd >= 0 && !fstat(fd, &st) && (uint64_t)st.st_size == s->file_size)
		return fd;
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : -ESTALE;
}

static int recover_append(struct recover *s)
{
	bool made;
	int error = 0, fd = recover_open_to_append(s, &made);

	if (fd < 0)
		return fd;
	/* Remove an incomplete frame at the end of the file, because frames that are appended after
	 * it would look like its payload. */
	if (s->file_size > s->end && !made && ftruncate(fd, (off_t)s->end))
		error = -errno;
	if (!error)
		error = recover_copy(s->tail, fd, (s->end + 7) & ~UINT64_C(7));
	if (!error)
		error = pasta_files_sync(fd);
	if (!error)
		error = pasta_files_sync(s->folder);
	if (error && made)
		pasta_files_undo(s->folder, s->name, false);
	else if (error && ftruncate(fd, (off_t)s->end))
		error = -errno; /* the shard may now end with an incomplete frame */
	close(fd);
	return error;
}

/* Renames a damaged ring file, so that the next report does not read it again. */
static int recover_set_aside(struct recover *s)
{
	size_t stem = strlen(s->ring_name) - strlen(PASTA_RECOVER_RING);
	char to[NAME_MAX + 1];
	int error = -EEXIST;

	for (int i = 1; error == -EEXIST && i < DAMAGED_MAX; i++) {
		char number[16] = "";

		if (i > 1)
			snprintf(number, sizeof(number), "-%d", i);
		if (snprintf(to, sizeof(to), "%.*s" PASTA_RECOVER_DAMAGED "%s", (int)stem,
			     s->ring_name, number) >= (int)sizeof(to))
			return -ENAMETOOLONG;
		error = pasta_files_rename(s->folder, s->ring_name, s->ring, to);
	}
	return error;
}

/* Commits the recovered events to disk. Removes the ring file only after its events are on the
 * disk. */
static int recover_commit(struct recover *s)
{
	int error;

	if (!pasta_files_is_still(s->folder, s->ring_name, s->ring))
		return -ESTALE;
	error = recover_append(s);
	if (!error)
		error = s->found.damaged ? recover_set_aside(s)
					 : pasta_files_remove(s->folder, s->ring_name, s->ring);
	if (!error)
		error = pasta_files_sync(s->folder);
	return error;
}

/* -- Reading -- */

static int recover_report_damage(struct recover *s, bool aside)
{
	char missing[80] = "no event is missing";

	s->out->damaged++;
	if (s->found.unread)
		snprintf(missing, sizeof(missing), "the file could not be read completely");
	else if (s->found.uncounted && !s->found.missing)
		snprintf(missing, sizeof(missing), "an unknown number of events may be missing");
	else if (s->found.missing)
		snprintf(missing, sizeof(missing), "%s%" PRIu64 " events are missing",
			 s->found.uncounted ? "at least " : "", s->found.missing);
	return pasta_fail(
		s->err, -EBADMSG, "%.*s%s is damaged: %s; the report has the other events, and %s",
		(int)(strlen(s->path) - strlen(s->name)), s->path, s->ring_name, missing,
		aside ? "the name of the file now ends with .damaged" : "the file is unchanged");
}

/* Reports that the process could not store all its rings in the ring file. */
static int recover_report_unfiled(struct recover *s)
{
	return pasta_fail(s->err, -ENODATA,
			  "%.*s%s lacks %llu rings of its process; an unknown number of events is "
			  "missing",
			  (int)(strlen(s->path) - strlen(s->name)), s->path, s->ring_name,
			  (unsigned long long)s->found.unfiled);
}

/* Finds the events in the rings that the shard lacks, and stores them in memory. Also appends them
 * to the shard's file if that is safe. */
static int recover_read(struct recover *s)
{
	int error, shard_error = recover_open_shard(s);
	bool committed = false;

	if (s->shard && recover_is_of_another(s))
		return recover_fail(s, -EINVAL, s->ring_name,
				    "the ring file belongs to another "
				    "shard");
	s->tail = pasta_files_memory();
	error = s->tail < 0 ? s->tail
			    : pasta_rings_extract(&s->rings, s->shard, s->tail, &s->found);
	if (error) {
		if (s->tail >= 0)
			close(s->tail);
		s->tail = -1;
		return recover_fail(s, error, s->ring_name, strerror(-error));
	}
	/* Only the file's name suggests that the file is a ring file, so don't make a shard of
	 * it. */
	if (s->rings.head == PASTA_RINGS_DAMAGED && !s->shard && !s->found.events) {
		close(s->tail);
		s->tail = -1;
		s->found.uncounted = true;
		return recover_report_damage(s, false);
	}
	s->out->processes++;
	s->out->events += s->found.events;
	/* Overwrite an incomplete frame after the last complete frame, because the ring still has
	 * its events. But if events are missing from the rings, retain the whole file of the
	 * shard. */
	s->end = !s->shard ? 0 : s->found.gap ? s->file_size : s->shard->at;
	if (s->commit && !s->found.unread) {
		error = recover_commit(s);
		committed = !error;
		s->out->committed += committed;
	}
	if (shard_error)
		return shard_error;
	if (s->found.damaged)
		return recover_report_damage(s, committed);
	if (error && error != -ESTALE) {
		s->out->unwritten++;
		return pasta_fail(
			s->err, error,
			"cannot write %s: %s; the report has the events of the ring file, which is "
			"unchanged",
			s->path, strerror(-error));
	}
	return s->found.unfiled ? recover_report_unfiled(s) : 0;
}

/* Handles a ring file whose head is incomplete. If its process has not written frames to the shard,
 * the ring file has no events. */
static int recover_half(struct recover *s, time_t changed)
{
	int error = recover_open_shard(s);
	time_t age;

	if (error)
		return error;
	if (s->shard && s->shard->frame_count) {
		s->found.damaged = s->found.uncounted = true;
		return recover_report_damage(s, false);
	}
	age = time(NULL) - changed;
	/* The file's time is in the future, so the file comes from a host with another clock. */
	if (age < -HALF_MADE_S)
		s->out->unsure++;
	else if (age < HALF_MADE_S)
		s->out->alive++;
	else if (s->commit && s->file >= 0) /* the agent creates the shard before the ring file */
		pasta_files_remove(s->folder, s->ring_name, s->ring);
	return 0;
}

static int recover_ring(struct recover *s, uint64_t size)
{
	enum pasta_liveness alive = pasta_liveness_by_lock(s->ring, s->ring_name);
	struct stat st;
	int error;

	if (alive == PASTA_LIVENESS_ALIVE) {
		s->out->alive++;
		return 0;
	}
	error = pasta_rings_open(&s->rings, s->ring, size);
	if (!error && fstat(s->ring, &st))
		error = -errno;
	if (error)
		return recover_fail(s, error, s->ring_name, strerror(-error));
	if (s->rings.head == PASTA_RINGS_OTHER)
		return recover_fail(
			s, -EPROTONOSUPPORT, s->ring_name,
			"the ring file has another version: use the accelprof that recorded the "
			"run");
	if (s->rings.head == PASTA_RINGS_HALF)
		return recover_half(s, st.st_mtime);
	/* If the head is damaged, the process is unknown, so it may still be running. */
	alive = s->rings.head == PASTA_RINGS_DAMAGED
			? PASTA_LIVENESS_UNSURE
			: pasta_liveness(s->rings.file, s->ring, s->ring_name);
	if (alive == PASTA_LIVENESS_ALIVE) {
		s->out->alive++;
		return 0;
	}
	if (alive == PASTA_LIVENESS_UNSURE) {
		s->commit = false;
		s->out->unsure++;
	}
	return recover_read(s);
}

static void recover_free(struct recover *s)
{
	pasta_rings_close(&s->rings);
	pasta_shard_close(s->shard);
	pasta_decoder_free(s->decoder);
	if (s->ring >= 0)
		close(s->ring);
	free(s);
}

/* Sets the two parts of the shard: the used part of the shard's file, and the tail of recovered
 * events. Without a tail, the used part has no end, because the file may still grow. */
static int recover_parts(struct recover *s, struct pasta_shard_parts *parts)
{
	int error = 0;

	if (s->file >= 0 && (s->refused || (s->tail >= 0 && !s->shard))) {
		close(s->file);
		s->file = -1;
	} else if (s->file == -1 && s->tail < 0 && !s->refused) {
		s->file = pasta_files_open(s->folder, s->name, NULL);
		if (s->file < 0 && s->file != -ENOENT)
			error = recover_fail(s, s->file, s->name, pasta_files_why(s->file));
	}
	parts->file = s->file < 0 ? -1 : s->file;
	parts->tail = s->tail;
	parts->end = s->tail < 0 ? UINT64_MAX : s->end;
	return error;
}

int pasta_recover_shard(int folder, const char *name, const char *path, bool commit,
			struct pasta_shard_parts *parts, struct pasta_recovered *out,
			struct pasta_error *err)
{
	struct recover *s = calloc(1, sizeof(*s));
	size_t stem = strlen(name) - strlen(".pst");
	uint64_t size = 0;
	int r, last;

	*parts =
		(struct pasta_shard_parts){.path = path, .file = -1, .end = UINT64_MAX, .tail = -1};
	if (!s || !(s->decoder = pasta_decoder_new())) {
		free(s);
		return pasta_fail(err, -ENOMEM, "out of memory");
	}
	s->folder = folder;
	s->name = name;
	s->path = path;
	s->commit = commit && pasta_files_folder_is_ours(folder);
	s->ring = s->file = s->tail = -1;
	s->out = out;
	s->err = err;
	r = snprintf(s->ring_name, sizeof(s->ring_name), "%.*s" PASTA_RECOVER_RING, (int)stem,
		     name) < (int)sizeof(s->ring_name)
		    ? recover_open_ring(s, &size)
		    : 0;
	if (r > 0)
		r = recover_ring(s, size);
	last = recover_parts(s, parts);
	recover_free(s);
	return r < 0 ? r : last;
}

static bool recover_is_ring(const char *name)
{
	size_t n = strlen(name), end = strlen(PASTA_RECOVER_RING);

	return n > end && !strcmp(name + n - end, PASTA_RECOVER_RING);
}

static int recover_one(int folder, const char *dir, const char *ring, struct pasta_recovered *out,
		       struct pasta_error *err)
{
	int stem = (int)(strlen(ring) - strlen(PASTA_RECOVER_RING)), r;
	struct pasta_shard_parts parts;
	char *path, *name;

	if (asprintf(&path, "%s/%.*s.pst", dir, stem, ring) < 0)
		return pasta_fail(err, -ENOMEM, "out of memory");
	name = path + strlen(dir) + 1;
	r = pasta_recover_shard(folder, name, path, true, &parts, out, err);
	if (parts.file >= 0)
		close(parts.file);
	if (parts.tail >= 0)
		close(parts.tail);
	free(path);
	return r;
}

int pasta_recover_sweep(const char *shards_dir, struct pasta_recovered *out,
			struct pasta_error *err)
{
	const char *name;
	int one, r = 0, run = pasta_files_folder_of(shards_dir, &name);
	int folder = run < 0 ? run : pasta_files_subfolder(run, name);
	struct pasta_error own = {0};
	char **names = NULL;
	size_t count = 0;

	err = err ? err : &own;
	if (run >= 0)
		close(run);
	r = folder < 0 ? folder : pasta_files_list(folder, recover_is_ring, &names, &count);
	if (r)
		pasta_fail(err, r, "cannot open %s: %s", shards_dir, pasta_files_why(r));
	for (size_t i = 0; i < count; i++) {
		one = recover_one(folder, shards_dir, names[i], out, err);
		r = one < 0 ? one : r;
	}
	pasta_files_list_free(names);
	if (folder >= 0)
		close(folder);
	return r;
}
