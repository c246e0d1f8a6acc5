/* cursor.c - a JSON text of any length, read from its begin to its end. */
#include "import/cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define RESCUE_MAX ((size_t)1 << 20) /* after damage, an element is no longer than this */
#define RESCUE_DEPTH 16		     /* nor nested deeper: what is tried is tried that often */
#define ZERO 256		     /* a byte of 0, which is no end */

void pasta_cursor_free(struct pasta_cursor *c)
{
	pasta_jsontape_free(&c->tape);
}

int pasta_cursor_restart(struct pasta_cursor *c)
{
	int r = pasta_tracefile_restart(c->file, c->err);

	/* A byte order mark is no part of the text. */
	c->pos = !r && c->file->size >= 3 && !memcmp(c->file->data, "\xef\xbb\xbf", 3) ? 3 : 0;
	c->fresh = c->ended = c->lost = false;
	c->damaged = c->damaged_bytes = 0;
	return r;
}

static const char *here(const struct pasta_cursor *c)
{
	return c->file->data + c->pos;
}

static uint64_t offset(const struct pasta_cursor *c)
{
	return c->file->offset + c->pos;
}

/* Keep what is from here on. */
static int more(struct pasta_cursor *c)
{
	int r = pasta_tracefile_more(c->file, c->pos, c->err);

	c->pos = 0;
	return r;
}

static int fail_at(struct pasta_cursor *c, uint64_t at, const char *what)
{
	return pasta_fail(c->err, -EBADMSG, "%s: byte %" PRIu64 ": %s%s", c->file->path, at, what,
			  c->recover ? "" : " (--recover keeps what is valid)");
}

/* Nothing more can be read. With recover that is the end, and no error. */
static int broken(struct pasta_cursor *c, const char *what)
{
	if (!c->recover)
		return fail_at(c, offset(c), what);
	c->damaged++;
	c->ended = c->lost = true;
	return 0;
}

/* The character that comes after white space; 0 at the end; a negative errno. */
static int next_char(struct pasta_cursor *c)
{
	while (!c->err->code && !c->ended) {
		const char *p = here(c), *end = c->file->data + c->file->size;

		while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
			p++;
		c->pos = (size_t)(p - c->file->data);
		if (p < end)
			return *p ? (unsigned char)*p : ZERO;
		if (c->file->end)
			return 0;
		if (more(c))
			break;
	}
	return c->err->code;
}

int pasta_cursor_peek(struct pasta_cursor *c)
{
	return next_char(c);
}

int pasta_cursor_enter(struct pasta_cursor *c)
{
	int first = next_char(c);

	if (first < 0)
		return first;
	if (first != '{' && first != '[')
		return broken(c, "neither an object nor an array");
	c->pos++;
	c->fresh = true;
	return 0;
}

/* A member comes: 1; what was entered has ended: 0. */
static int member(struct pasta_cursor *c, char close)
{
	bool fresh = c->fresh;
	int next = next_char(c);

	c->fresh = false;
	if (next < 0 || c->ended)
		return next;
	if (next == ',' && !fresh) {
		c->pos++;
		next = next_char(c);
		if (next < 0 || (next && (next != close || !c->loose)))
			return next < 0 ? next : 1;
	} else if (next && next != close && fresh) {
		return 1;
	}
	if (next == close) {
		c->pos++;
		return 0;
	}
	if (!next && c->loose)
		return 0;
	return broken(c, next ? "neither ',' nor the end of what is open"
			      : "the text ends before what is open");
}

/* The value that comes, on the tape. -EAGAIN is not returned. */
static int parse(struct pasta_cursor *c, size_t *used, const char **what)
{
	int r;

	do {
		r = pasta_jsontape_parse(&c->tape, here(c), c->file->size - c->pos, c->file->end,
					 used, what);
	} while (r == -EAGAIN && !(r = more(c)) && (r = -EAGAIN));
	return r;
}

/* A member's name and its ':', which must be in the window together, for what is kept moves. 1;
 * -EAGAIN: they are not; 0 and other errors as broken has them. */
static int name(struct pasta_cursor *c, struct pasta_slice *key)
{
	const char *p, *what, *end;
	size_t used;
	int r = parse(c, &used, &what);

	if (r && r != -EBADMSG)
		return c->err->code ? c->err->code : pasta_fail(c->err, r, "out of memory");
	if (r || c->tape.tokens[0].type != PASTA_JSON_STRING)
		return broken(c, "no name of a member where one should be");
	end = c->file->data + c->file->size;
	for (p = here(c) + used; *p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'; p++)
		;
	if (p == end && !c->file->end)
		return -EAGAIN;
	/* A name that lost its end may have swallowed elements. */
	if (*p == ':' || !c->recover)
		c->pos = (size_t)(p - c->file->data);
	if (*p != ':')
		return broken(c, "no ':' after a member's name");
	c->pos++;
	*key = pasta_jsontape_text(&c->tape, 0);
	return 1;
}

int pasta_cursor_key(struct pasta_cursor *c, struct pasta_slice *key)
{
	int r = member(c, '}');

	if (r <= 0)
		return r;
	while ((r = name(c, key)) == -EAGAIN)
		if (more(c))
			return c->err->code;
	return r;
}

/* -- Damage -- */

/* Whether an element begins here; more of the text may have been read. */
static int element_here(struct pasta_cursor *c)
{
	size_t used;
	const char *what;
	int r;

	c->tape.limit = RESCUE_DEPTH;
	do {
		r = pasta_jsontape_parse(&c->tape, here(c), c->file->size - c->pos, c->file->end,
					 &used, &what);
		if (r != -EAGAIN || c->file->size - c->pos > RESCUE_MAX)
			break;
		r = more(c);
	} while (!r);
	c->tape.limit = 0;
	if (c->err->code)
		return c->err->code;
	return !r && (!c->is_element || c->is_element(&c->tape));
}

/* From here on, the next place where an element begins. */
static int rescue(struct pasta_cursor *c)
{
	uint64_t from = offset(c);
	int r = 0;

	c->damaged += !c->lost;
	c->lost = false;
	for (;; c->pos++) {
		const char *p = memchr(here(c), '{', c->file->size - c->pos);

		c->pos = p ? (size_t)(p - c->file->data) : c->file->size;
		if (p) {
			r = element_here(c);
			if (r)
				break;
			continue;
		}
		if (c->file->end)
			break;
		r = more(c);
		if (r)
			break;
		c->pos--; /* the loop moves it on */
	}
	c->damaged_bytes += offset(c) - from;
	c->fresh = true;
	c->ended = !r;
	return r < 0 ? r : 1;
}

int pasta_cursor_rescue(struct pasta_cursor *c)
{
	int r;

	if (!c->lost)
		return 0;
	c->ended = false;
	r = rescue(c);
	return r < 0 ? r : !c->ended;
}

int pasta_cursor_element(struct pasta_cursor *c)
{
	int r = member(c, ']');

	/* Damage may lie between two elements as well. */
	if (!r && (r = pasta_cursor_rescue(c)) > 0)
		c->fresh = false; /* what was found is given at once */
	return r;
}

int pasta_cursor_value(struct pasta_cursor *c)
{
	int first = next_char(c), r;
	const char *what;
	size_t used;

	if (first < 0)
		return first;
	c->at = offset(c);
	r = parse(c, &used, &what);
	if (!r) {
		c->pos += used;
		return 0;
	}
	if (r == -ENOMEM && !c->err->code)
		return pasta_fail(c->err, r, "out of memory");
	if (c->recover && (r == -EBADMSG || r == -EFBIG)) {
		memset(c->err, 0, sizeof(*c->err));
		c->pos += c->pos < c->file->size; /* a value may be missing at the very end */
		return rescue(c);
	}
	return c->err->code ? c->err->code : fail_at(c, offset(c) + used, what);
}

int pasta_cursor_wrong(struct pasta_cursor *c, uint32_t token, const char *what)
{
	return fail_at(c, c->at + c->tape.tokens[token].at, what);
}

/* Its members are put on the tape one by one: only those must fit into a window. */
int pasta_cursor_skip(struct pasta_cursor *c)
{
	int first = next_char(c), r;
	struct pasta_slice key;

	if (first != '{' && first != '[') {
		r = first < 0 ? first : pasta_cursor_value(c);
		return r < 0 ? r : 0;
	}
	r = pasta_cursor_enter(c);
	while (!r) {
		r = first == '{' ? pasta_cursor_key(c, &key) : member(c, ']');
		if (r <= 0)
			return r;
		r = pasta_cursor_value(c);
	}
	/* What was found after damage is an element of another array: it is not to be passed over.
	 */
	return r < 0 ? r : 0;
}

int pasta_cursor_end(struct pasta_cursor *c)
{
	int next = next_char(c);

	if (next < 0 || c->ended || !next)
		return next < 0 ? next : 0;
	return broken(c, "more text after the end");
}
