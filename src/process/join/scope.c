/* scope.c - stores paths of nested regions and operators, one struct for each path. */
#include "process/join/scope.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SCOPES_MAX (1 << 22)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pasta_map *scopes; /* struct pasta_scope, by pasta_scope_key */

/* Fills in a scope. `pure` is the scope whose path has only the regions of this path, or only its
 * operators, depending on `kind`. `pure` is NULL if this path has only regions or only
 * operators. */
static void scope_fill(struct pasta_scope *scope, const struct pasta_scope *up, unsigned int kind,
		       uint32_t name, const struct pasta_scope *pure)
{
	pure = pure ? pure : scope;
	scope->up = up;
	scope->region = kind == PASTA_KIND_REGION ? scope : up ? up->region : NULL;
	scope->op = kind == PASTA_KIND_OP_BEGIN ? scope : up ? up->op : NULL;
	scope->path = kind == PASTA_KIND_REGION ? pure : up ? up->path : NULL;
	scope->ops = kind == PASTA_KIND_OP_BEGIN ? pure : up ? up->ops : NULL;
	scope->name = name;
	scope->depth = up ? up->depth + 1 : 1;
	scope->kind = kind;
	scope->id = (uint32_t)pasta_map_count(scopes);
}

/* Finds or creates a scope. Creates the scope `pure` first (see scope_fill), so that the new
 * scope's id is still its position in the map. */
static const struct pasta_scope *scope_below(const struct pasta_scope *up, unsigned int kind,
					     uint32_t name)
{
	uint64_t key = pasta_scope_key(up, kind, name);
	struct pasta_scope *scope = pasta_map_find(scopes, key);
	const struct pasta_scope *around, *pure = NULL;

	if (scope)
		return scope;
	around = !up ? NULL : kind == PASTA_KIND_REGION ? up->path : up->ops;
	if (around != up) {
		pure = scope_below(around, kind, name);
		if (!pure)
			return NULL;
	}
	scope = pasta_map_count(scopes) < SCOPES_MAX ? pasta_map_add(scopes, key) : NULL;
	if (scope)
		scope_fill(scope, up, kind, name, pure);
	return scope;
}

const struct pasta_scope *pasta_scope_below(const struct pasta_scope *up, unsigned int kind,
					    uint32_t name)
{
	const struct pasta_scope *scope = NULL;

	pthread_mutex_lock(&lock);
	if (!scopes)
		scopes = pasta_map_new(sizeof(struct pasta_scope));
	if (scopes)
		scope = scope_below(up, kind, name);
	pthread_mutex_unlock(&lock);
	return scope;
}

/* Scopes are never removed, so the map iterates over them in the order of their ids. */
const struct pasta_scope *pasta_scope_find(uint32_t id)
{
	const struct pasta_scope *scope = NULL;
	size_t at = id - 1;

	pthread_mutex_lock(&lock);
	if (scopes && id && id <= pasta_map_count(scopes))
		scope = pasta_map_next(scopes, &at, NULL);
	pthread_mutex_unlock(&lock);
	return scope;
}

/* Returns the next outer scope of the same kind (region or operator). */
static const struct pasta_scope *scope_above(const struct pasta_scope *scope)
{
	if (!scope->up)
		return NULL;
	return scope->kind == PASTA_KIND_REGION ? scope->up->region : scope->up->op;
}

static const char *scope_label(const struct pasta_scope *scope)
{
	return scope->name ? pasta_str(scope->name) : "(unnamed)";
}

/* Writes the names of the scopes of one kind, separated by slashes. The outermost scope comes
 * first. */
static const char *scope_labels(const struct pasta_scope *innermost, char *text, size_t size)
{
	const struct pasta_scope *s;
	size_t length = 0, at;

	if (!size)
		return text;
	for (s = innermost; s; s = scope_above(s))
		length += strlen(scope_label(s)) + (s != innermost);
	text[length < size ? length : size - 1] = '\0';
	/* Fill the text from its end, because each scope refers only to its outer scope. */
	for (at = length, s = innermost; s; s = scope_above(s)) {
		const char *name = scope_label(s);
		size_t n = strlen(name), i;

		at -= n;
		for (i = 0; i < n && at + i < size - 1; i++)
			text[at + i] = name[i];
		if (at && --at < size - 1)
			text[at] = '/';
	}
	return text;
}

const char *pasta_scope_regions(const struct pasta_scope *scope, char *text, size_t size)
{
	return scope_labels(scope ? scope->region : NULL, text, size);
}

const char *pasta_scope_ops(const struct pasta_scope *scope, char *text, size_t size)
{
	return scope_labels(scope ? scope->op : NULL, text, size);
}
