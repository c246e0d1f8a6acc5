/* spansort.c - sorts time spans: sorts parts in memory, and then merges these parts. */
#include "import/spansort.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/io/files.h"

enum { PIECE = 1 << 10 }; /* number of spans to read at a time while merging */

/* A sorted sequence of spans. Either the whole sequence is in memory, or the sequence is in the
 * file and only a part of it is in memory. */
struct run {
	const struct pasta_span *at, *end; /* the part in memory */
	/* Buffer for a part of the sequence; NULL if the whole sequence is in memory. */
	struct pasta_span *buffer;
	/* position of the sequence in the file, and number of spans that are still in the file */
	uint64_t file_at, left;
};

struct pasta_spansort {
	struct pasta_span *spans;
	size_t count, capacity, max;
	bool sorted; /* whether the spans were added in sorted order, and need no sorting */
	uint64_t added;
	char *folder;
	int fd; /* -1: no file yet */
	uint64_t written;
	struct run *runs;
	size_t run_count, run_capacity;
	/* A heap of the sequences that have spans left, ordered by the time of their next span. */
	size_t *heap;
	size_t heap_count;
	bool merging;
};

struct pasta_spansort *pasta_spansort_new(size_t memory, const char *folder)
{
	struct pasta_spansort *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->max = (memory ? memory : PASTA_SPANSORT_MEMORY) / sizeof(*s->spans);
	s->max = s->max < 2 ? 2 : s->max;
	s->fd = -1;
	s->sorted = true;
	s->folder = folder ? strdup(folder) : NULL;
	if (s->folder || !folder)
		return s;
	free(s);
	return NULL;
}

void pasta_spansort_free(struct pasta_spansort *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->run_count; i++)
		free(s->runs[i].buffer);
	if (s->fd >= 0)
		close(s->fd);
	free(s->runs);
	free(s->heap);
	free(s->spans);
	free(s->folder);
	free(s);
}

uint64_t pasta_spansort_count(const struct pasta_spansort *s)
{
	return s->added;
}

static bool span_before(const struct pasta_span *a, const struct pasta_span *b)
{
	if (a->begin != b->begin)
		return a->begin < b->begin;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->end != b->end)
		return a->end > b->end;
	return a->order < b->order;
}

static int span_compare(const void *a, const void *b)
{
	/* Spans always differ in their order of adding, so no two are equal. */
	return span_before(a, b) ? -1 : 1;
}

/* -- Runs -- */

static struct run *add_run(struct pasta_spansort *s)
{
	if (s->run_count == s->run_capacity) {
		size_t n = s->run_capacity ? 2 * s->run_capacity : 16;
		void *runs = reallocarray(s->runs, n, sizeof(*s->runs));

		if (!runs)
			return NULL;
		s->runs = runs;
		s->run_capacity = n;
	}
	s->runs[s->run_count] = (struct run){0};
	return &s->runs[s->run_count++];
}

/* The temporary file has no name, so the system removes it however the process ends. */
static int spansort_open_file(struct pasta_spansort *s, struct pasta_error *err)
{
	s->fd = pasta_files_temporary(s->folder);
	if (s->fd >= 0)
		return 0;
	return pasta_fail(err, s->fd, "cannot create a temporary file in %s: %s",
			  s->folder ? s->folder : "TMPDIR", strerror(-s->fd));
}

static int write_all(struct pasta_spansort *s, struct pasta_error *err)
{
	const char *p = (const char *)s->spans;
	size_t left = s->count * sizeof(*s->spans);
	uint64_t at = s->written * sizeof(*s->spans);

	while (left) {
		ssize_t n = pwrite(s->fd, p, left, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return pasta_fail(err, n ? -errno : -EIO,
					  "cannot write a temporary file in %s: %s", s->folder,
					  strerror(n ? errno : EIO));
		p += n;
		at += (uint64_t)n;
		left -= (size_t)n;
	}
	return 0;
}

static void spansort_sort(struct pasta_spansort *s)
{
	if (!s->sorted)
		qsort(s->spans, s->count, sizeof(*s->spans), span_compare);
	s->sorted = true;
}

/* Writes the spans in memory to the file, as a sorted sequence. */
static int spill(struct pasta_spansort *s, struct pasta_error *err)
{
	struct run *run;
	int r = s->fd < 0 ? spansort_open_file(s, err) : 0;

	spansort_sort(s);
	if (!r)
		r = write_all(s, err);
	if (r)
		return r;
	run = add_run(s);
	if (!run)
		return pasta_fail(err, -ENOMEM, "out of memory");
	run->file_at = s->written;
	run->left = s->count;
	s->written += s->count;
	s->count = 0;
	return 0;
}

static int spansort_make_room(struct pasta_spansort *s, struct pasta_error *err)
{
	size_t n = s->capacity ? 2 * s->capacity : 4096;
	struct pasta_span *spans;

	if (s->count < s->capacity)
		return 0;
	if (s->capacity == s->max)
		return spill(s, err);
	n = n < s->max ? n : s->max;
	spans = reallocarray(s->spans, n, sizeof(*spans));
	if (!spans)
		return pasta_fail(err, -ENOMEM, "out of memory");
	s->spans = spans;
	s->capacity = n;
	return 0;
}

int pasta_spansort_add(struct pasta_spansort *s, const struct pasta_span *span,
		       struct pasta_error *err)
{
	struct pasta_span *to;

	if (s->count == s->capacity && spansort_make_room(s, err))
		return err->code;
	to = &s->spans[s->count];
	*to = *span;
	to->order = s->added++;
	if (s->count && s->sorted && span_before(to, to - 1))
		s->sorted = false;
	s->count++;
	return 0;
}

/* -- Merging -- */

static int refill(struct pasta_spansort *s, struct run *run, struct pasta_error *err)
{
	size_t n = run->left < PIECE ? (size_t)run->left : PIECE, size = n * sizeof(*run->buffer);
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(s->fd, (char *)run->buffer + done, size - done,
				    (off_t)(run->file_at * sizeof(*run->buffer) + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return pasta_fail(err, got ? -errno : -EIO,
					  "cannot read a temporary file in %s: %s", s->folder,
					  strerror(got ? errno : EIO));
		done += (size_t)got;
	}
	run->at = run->buffer;
	run->end = run->buffer + n;
	run->file_at += n;
	run->left -= n;
	return 0;
}

static void sift(struct pasta_spansort *s, size_t i)
{
	for (;;) {
		size_t least = i, child = 2 * i + 1, t;

		for (size_t k = child; k < child + 2 && k < s->heap_count; k++)
			if (span_before(s->runs[s->heap[k]].at, s->runs[s->heap[least]].at))
				least = k;
		if (least == i)
			return;
		t = s->heap[i];
		s->heap[i] = s->heap[least];
		s->heap[least] = t;
		i = least;
	}
}

static int spansort_begin(struct pasta_spansort *s, struct pasta_error *err)
{
	struct run *run = s->count ? add_run(s) : NULL;

	spansort_sort(s);
	if (run) {
		run->at = s->spans;
		run->end = s->spans + s->count;
	}
	s->heap = calloc(s->run_count + 1, sizeof(*s->heap));
	if (!s->heap || (s->count && !run))
		return pasta_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < s->run_count; i++) {
		run = &s->runs[i];
		if (run->left) {
			run->buffer = calloc(PIECE, sizeof(*run->buffer));
			if (!run->buffer)
				return pasta_fail(err, -ENOMEM, "out of memory");
			if (refill(s, run, err))
				return err->code;
		}
		s->heap[s->heap_count++] = i;
	}
	for (size_t i = s->heap_count; i-- > 0;)
		sift(s, i);
	s->merging = true;
	return 0;
}

/* Advances the sequence that delivered the last span to the next span of that sequence. */
static int advance(struct pasta_spansort *s, struct pasta_error *err)
{
	struct run *run = &s->runs[s->heap[0]];

	if (++run->at == run->end) {
		if (run->left && refill(s, run, err))
			return err->code;
		if (run->at == run->end)
			s->heap[0] = s->heap[--s->heap_count];
	}
	sift(s, 0);
	return 0;
}

int pasta_spansort_next(struct pasta_spansort *s, const struct pasta_span **span,
			struct pasta_error *err)
{
	int r = 0;

	if (!s->merging)
		r = spansort_begin(s, err);
	else if (s->heap_count)
		r = advance(s, err);
	if (r)
		return r;
	if (!s->heap_count)
		return 0;
	*span = s->runs[s->heap[0]].at;
	return 1;
}
