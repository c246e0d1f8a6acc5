/* cursor.c - reads JSON text of any length from start to end. */
#include "import/cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define RESCUE_MAX                                                                                 \
	((size_t)1 << 20) /* longest element in bytes that the search after damage accepts */
#define RESCUE_DEPTH                                                                               \
	16 /* maximum nesting depth of the elements that the search after damage tries to parse */
#define ZERO 256 /* value returned for a zero byte, because 0 means the end of the text */

void pasta_cursor_free(struct pasta_cursor *c)
{
	pasta_jsontape_free(&c->tape);
}

int pasta_cursor_restart(struct pasta_cursor *c)
{
	int r = pasta_tracefile_restart(c->file, c->err);

	/* Skip a byte order mark. */
	c->pos = !r && c->file->size >= 3 && !memcmp(c->file->data, "\xef\xbb\xbf", 3) ? 3 : 0;
	c->fresh = c->ended = c->ended_by_damage = false;
	c->damaged = c->damaged_bytes = 0;
	return r;
}

static const char *cursor_here(const struct pasta_cursor *c)
{
	return c->file->data + c->pos;
}

static uint64_t cursor_offset(const struct pasta_cursor *c)
{
	return c->file->offset + c->pos;
}

/* Reads more text. Discards the part of the window before the current position. */
static int cursor_more(struct pasta_cursor *c)
{
	int r = pasta_tracefile_more(c->file, c->pos, c->err);

	c->pos = 0;
	return r;
}

static int cursor_fail(struct pasta_cursor *c, uint64_t at, const char *what)
{
	return pasta_fail(c->err, -EBADMSG, "%s: byte %" PRIu64 ": %s%s", c->file->path, at, what,
			  c->recover ? "" : " (--recover skips the damage)");
}

/* Handles a syntax error. With `recover`, treats the error as the end of the text. */
static int cursor_broken(struct pasta_cursor *c, const char *what)
{
	if (!c->recover)
		return cursor_fail(c, cursor_offset(c), what);
	c->damaged++;
	c->ended = c->ended_by_damage = true;
	return 0;
}

/* Skips white space. Returns the next character, 0 at the end, or a negative errno. */
static int cursor_next_char(struct pasta_cursor *c)
{
	while (!c->err->code && !c->ended) {
		const char *p = cursor_here(c), *end = c->file->data + c->file->size;

		while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
			p++;
		c->pos = (size_t)(p - c->file->data);
		if (p < end)
			return *p ? (unsigned char)*p : ZERO;
		if (c->file->end)
			return 0;
		if (cursor_more(c))
			break;
	}
	return c->err->code;
}

int pasta_cursor_peek(struct pasta_cursor *c)
{
	return cursor_next_char(c);
}

int pasta_cursor_enter(struct pasta_cursor *c)
{
	int first = cursor_next_char(c);

	if (first < 0)
		return first;
	if (first != '{' && first != '[')
		return cursor_broken(c, "expected an object or an array");
	c->pos++;
	c->fresh = true;
	return 0;
}

/* Returns 1 if the entered object or array has another member, 0 at its end. */
static int cursor_member(struct pasta_cursor *c, char close)
{
	bool fresh = c->fresh;
	int next = cursor_next_char(c);

	c->fresh = false;
	if (next < 0 || c->ended)
		return next;
	if (next == ',' && !fresh) {
		c->pos++;
		next = cursor_next_char(c);
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
	return cursor_broken(c, next ? "expected ',' or the end of the object or array"
				     : "the text ends inside of a JSON object or array");
}

/* Parses the next value and puts it on the tape. Never returns -EAGAIN. */
static int cursor_parse(struct pasta_cursor *c, size_t *used, const char **what)
{
	int r;

	do {
		r = pasta_jsontape_parse(&c->tape, cursor_here(c), c->file->size - c->pos,
					 c->file->end, used, what);
	} while (r == -EAGAIN && !(r = cursor_more(c)) && (r = -EAGAIN));
	return r;
}

/* Reads a member's name and the colon after it. Both must be in the window, because reading more
 * text moves the window. Returns 1; -EAGAIN if they are not in the window; or the result of
 * cursor_broken. */
static int cursor_name(struct pasta_cursor *c, struct pasta_slice *key)
{
	const char *p, *what, *end;
	size_t used;
	int r = cursor_parse(c, &used, &what);

	if (r && r != -EBADMSG)
		return c->err->code ? c->err->code : pasta_fail(c->err, r, "out of memory");
	if (r || c->tape.tokens[0].type != PASTA_JSON_STRING)
		return cursor_broken(c, "expected the name of a member of a JSON object");
	end = c->file->data + c->file->size;
	for (p = cursor_here(c) + used; *p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'; p++)
		;
	if (p == end && !c->file->end)
		return -EAGAIN;
	/* Do not skip a string without a closing quote: it may contain whole elements. */
	if (*p == ':' || !c->recover)
		c->pos = (size_t)(p - c->file->data);
	if (*p != ':')
		return cursor_broken(c, "expected ':' after a member's name");
	c->pos++;
	*key = pasta_jsontape_text(&c->tape, 0);
	return 1;
}

int pasta_cursor_key(struct pasta_cursor *c, struct pasta_slice *key)
{
	int r = cursor_member(c, '}');

	if (r <= 0)
		return r;
	while ((r = cursor_name(c, key)) == -EAGAIN)
		if (cursor_more(c))
			return c->err->code;
	return r;
}

/* -- Damage -- */

/* Returns whether an element begins at the current position. May read more text. */
static int cursor_at_element(struct pasta_cursor *c)
{
	size_t used;
	const char *what;
	int r;

	c->tape.limit = RESCUE_DEPTH;
	do {
		r = pasta_jsontape_parse(&c->tape, cursor_here(c), c->file->size - c->pos,
					 c->file->end, &used, &what);
		if (r != -EAGAIN || c->file->size - c->pos > RESCUE_MAX)
			break;
		r = cursor_more(c);
	} while (!r);
	c->tape.limit = 0;
	if (c->err->code)
		return c->err->code;
	return !r && (!c->is_element || c->is_element(&c->tape));
}

/* Moves to the next position at which an element begins. */
static int cursor_rescue(struct pasta_cursor *c)
{
	uint64_t from = cursor_offset(c);
	int r = 0;

	c->damaged += !c->ended_by_damage;
	c->ended_by_damage = false;
	for (;; c->pos++) {
		const char *p = memchr(cursor_here(c), '{', c->file->size - c->pos);

		c->pos = p ? (size_t)(p - c->file->data) : c->file->size;
		if (p) {
			r = cursor_at_element(c);
			if (r)
				break;
			continue;
		}
		if (c->file->end)
			break;
		r = cursor_more(c);
		if (r)
			break;
		c->pos--; /* the loop increments it */
	}
	c->damaged_bytes += cursor_offset(c) - from;
	c->fresh = true;
	c->ended = !r;
	return r < 0 ? r : 1;
}

int pasta_cursor_rescue(struct pasta_cursor *c)
{
	int r;

	if (!c->ended_by_damage)
		return 0;
	c->ended = false;
	r = cursor_rescue(c);
	return r < 0 ? r : !c->ended;
}

int pasta_cursor_element(struct pasta_cursor *c)
{
	int r = cursor_member(c, ']');

	/* Check for damage between two elements. */
	if (!r && (r = pasta_cursor_rescue(c)) > 0)
		c->fresh = false; /* no comma precedes an element that was found after damage */
	return r;
}

int pasta_cursor_value(struct pasta_cursor *c)
{
	int first = cursor_next_char(c), r;
	const char *what;
	size_t used;

	if (first < 0)
		return first;
	c->at = cursor_offset(c);
	r = cursor_parse(c, &used, &what);
	if (!r) {
		c->pos += used;
		return 0;
	}
	if (r == -ENOMEM && !c->err->code)
		return pasta_fail(c->err, r, "out of memory");
	if (c->recover && (r == -EBADMSG || r == -EFBIG)) {
		memset(c->err, 0, sizeof(*c->err));
		c->pos += c->pos <
			  c->file->size; /* at the end of the text, there is no value to skip */
		return cursor_rescue(c);
	}
	return c->err->code ? c->err->code : cursor_fail(c, cursor_offset(c) + used, what);
}

int pasta_cursor_wrong(struct pasta_cursor *c, uint32_t token, const char *what)
{
	return cursor_fail(c, c->at + c->tape.tokens[token].at, what);
}

/* Parses the members one by one, so that only a single member has to fit into the window. */
int pasta_cursor_skip(struct pasta_cursor *c)
{
	int first = cursor_next_char(c), r;
	struct pasta_slice key;

	if (first != '{' && first != '[') {
		r = first < 0 ? first : pasta_cursor_value(c);
		return r < 0 ? r : 0;
	}
	r = pasta_cursor_enter(c);
	while (!r) {
		r = first == '{' ? pasta_cursor_key(c, &key) : cursor_member(c, ']');
		if (r <= 0)
			return r;
		r = pasta_cursor_value(c);
	}
	/* Do not skip the element that was found after damage: it may belong to another array. */
	return r < 0 ? r : 0;
}

int pasta_cursor_end(struct pasta_cursor *c)
{
	int next = cursor_next_char(c);

	if (next < 0 || c->ended || !next)
		return next < 0 ? next : 0;
	return cursor_broken(c, "more text follows the end of the JSON value");
}
