/* rawfile.c - reads raw accesses from the files of a run. */
#include "process/read/rawfile.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "process/io/files.h"

/* Protects the variables below, which are the folder of each process's run, and the first
 * failure. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **folders;
static size_t folder_count;
static struct pasta_error first_failure;

static void rawfile_clear_folders(void)
{
	while (folder_count)
		free(folders[--folder_count]);
	free(folders);
	folders = NULL;
}

/* Returns the folder of the run that contains a shard. This is RUN if the path is RUN/shards/NAME.
 * The caller frees the text. */
static char *rawfile_run_folder(const char *path)
{
	char *folder;

	if (asprintf(&folder, "%.*s/..", (int)(strrchr(path, '/') ? strrchr(path, '/') - path : 1),
		     strrchr(path, '/') ? path : ".") < 0)
		return NULL;
	return folder;
}

static int rawfile_set_folders(const struct pasta_stream *s)
{
	size_t n = pasta_stream_shards(s);

	folders = calloc(n + 1, sizeof(*folders));
	if (!folders)
		return -ENOMEM;
	for (; folder_count < n; folder_count++) {
		folders[folder_count] =
			rawfile_run_folder(pasta_stream_shard(s, folder_count)->path);
		if (!folders[folder_count]) {
			rawfile_clear_folders();
			return -ENOMEM;
		}
	}
	return 0;
}

int pasta_rawfile_reset(const struct pasta_stream *s)
{
	int error;

	pthread_mutex_lock(&lock);
	rawfile_clear_folders();
	first_failure.code = 0;
	error = rawfile_set_folders(s);
	pthread_mutex_unlock(&lock);
	return error;
}

bool pasta_rawfile_failed(struct pasta_error *err)
{
	bool failed;

	pthread_mutex_lock(&lock);
	failed = first_failure.code;
	if (failed)
		*err = first_failure;
	pthread_mutex_unlock(&lock);
	return failed;
}

/* Stores the first failure, so that the report can warn that the run is damaged, even if the tool
 * ignores the error. */
static int rawfile_fail(const struct pasta_error *err)
{
	pthread_mutex_lock(&lock);
	if (!first_failure.code)
		first_failure = *err;
	pthread_mutex_unlock(&lock);
	return err->code;
}

void pasta_rawfile_note_failed(const struct pasta_error *err)
{
	rawfile_fail(err);
}

/* Returns whether a path has the form PASTA_RAW_FOLDER/NAME. A shard must not refer to files
 * outside its own run. */
static bool rawfile_is_name(const char *path)
{
	static const char folder[] = PASTA_RAW_FOLDER "/";
	const char *name = path + sizeof(folder) - 1;

	return !strncmp(path, folder, sizeof(folder) - 1) && *name && *name != '.' &&
	       !strchr(name, '/');
}

/* Returns the folder of the run that a batch of raw accesses belongs to; the caller frees it. On
 * failure, returns NULL and sets *err. */
static char *rawfile_folder(const struct pasta_event *ev, struct pasta_error *err)
{
	const char *name = pasta_str(ev->access_batch.path);
	char *folder = NULL;
	bool known;

	if (!rawfile_is_name(name)) {
		pasta_fail(err, -EINVAL,
			   "the shard is damaged: it names '%.100s', which is not the path of a "
			   "file of raw accesses",
			   name);
		return NULL;
	}
	pthread_mutex_lock(&lock);
	known = ev->proc < folder_count;
	if (known)
		folder = strdup(folders[ev->proc]);
	pthread_mutex_unlock(&lock);
	if (!folder)
		pasta_fail(err, known ? -ENOMEM : -ENOENT,
			   known ? "out of memory"
				 : "raw accesses can only be read from the folder of their run");
	return folder;
}

/* -- Reading -- */

static int rawfile_open(const char *folder, const char *path, uint64_t *size,
			struct pasta_error *err)
{
	int fd = pasta_files_open_in(folder, path, size);

	if (fd < 0)
		return pasta_fail(err, fd,
				  "cannot read %s/%s: %s; the run is incomplete without its folder "
				  "%s",
				  folder, path, pasta_files_why(fd), PASTA_RAW_FOLDER);
	return fd;
}

static bool rawfile_read_all(int fd, void *to, size_t size, uint64_t offset)
{
	return pasta_files_read_at(fd, to, size, offset) == (ssize_t)size;
}

struct pasta_access *pasta_rawfile_decode(const struct pasta_raw_block *head, const void *bytes,
					  int *error)
{
	struct pasta_access *accesses = calloc(head->count, sizeof(*accesses));
	uint8_t *raw = malloc(head->raw_size ? head->raw_size : 1);
	size_t n;

	*error = accesses && raw ? 0 : -ENOMEM;
	if (!*error) {
		n = ZSTD_decompress(raw, head->raw_size, bytes, head->size);
		if (n != head->raw_size ||
		    pasta_raw_decode(raw, n, accesses, head->count) != (ssize_t)head->count)
			*error = -EINVAL;
	}
	free(raw);
	if (!*error)
		return accesses;
	free(accesses);
	return NULL;
}

static bool rawfile_is_of_batch(const struct pasta_raw_block *head,
				const struct pasta_access_batch_record *batch)
{
	return pasta_raw_block_ok(head) && head->corr == batch->corr &&
	       head->count == batch->count && sizeof(*head) + head->size == batch->bytes;
}

/* Returns the bytes after the head of a block of accesses. The caller frees them. If the bytes are
 * missing or damaged, returns NULL and sets *error. */
static void *rawfile_read_bytes(int fd, const struct pasta_access_batch_record *batch,
				struct pasta_raw_block *head, int *error)
{
	void *bytes = NULL;

	*error = -EINVAL;
	if (!rawfile_read_all(fd, head, sizeof(*head), batch->offset) ||
	    !rawfile_is_of_batch(head, batch))
		return NULL;
	bytes = malloc(head->size ? head->size : 1);
	if (bytes && rawfile_read_all(fd, bytes, head->size, batch->offset + sizeof(*head)) &&
	    pasta_raw_bytes_ok(head, bytes)) {
		*error = 0;
		return bytes;
	}
	if (!bytes)
		*error = -ENOMEM;
	free(bytes);
	return NULL;
}

/* Returns the raw accesses of a batch; the caller frees them. On failure, returns NULL and sets
 * *err. */
static struct pasta_access *rawfile_read_block(const char *folder,
					       const struct pasta_access_batch_record *batch,
					       struct pasta_error *err)
{
	const char *path = pasta_str(batch->path);
	struct pasta_access *accesses = NULL;
	struct pasta_raw_block head;
	uint64_t size = 0;
	int fd = rawfile_open(folder, path, &size, err), error;
	void *bytes;

	if (fd < 0)
		return NULL;
	if (batch->offset > size || batch->bytes > size - batch->offset) {
		pasta_fail(err, -ENODATA,
			   "%s/%s was cut short: %llu accesses of a launch are missing", folder,
			   path, (unsigned long long)batch->count);
		close(fd);
		return NULL;
	}
	bytes = rawfile_read_bytes(fd, batch, &head, &error);
	close(fd);
	if (bytes)
		accesses = pasta_rawfile_decode(&head, bytes, &error);
	free(bytes);
	if (!accesses)
		pasta_fail(err, error,
			   error == -ENOMEM ? "out of memory"
					    : "%s/%s is damaged at byte %llu: %llu accesses of a "
					      "launch are missing",
			   folder, path, (unsigned long long)batch->offset,
			   (unsigned long long)batch->count);
	return accesses;
}

int pasta_accesses_each(const struct pasta_event *ev, pasta_access_fn fn, void *arg,
			struct pasta_error *err)
{
	struct pasta_access *accesses;
	struct pasta_error own = {0};
	uint64_t count = ev->access_batch.count;
	char *folder;
	int error = 0;

	if (ev->kind != PASTA_KIND_ACCESS_BATCH)
		return pasta_fail(err, -EINVAL, "only access_batch events have raw accesses");
	err = err ? err : &own;
	folder = rawfile_folder(ev, err);
	accesses = folder ? rawfile_read_block(folder, &ev->access_batch, err) : NULL;
	free(folder);
	if (!accesses)
		return rawfile_fail(err);
	for (uint64_t i = 0; i < count && !error; i++)
		error = fn(arg, &accesses[i]);
	free(accesses);
	return error;
}
