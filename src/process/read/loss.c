/* loss.c - writes a run's loss counts as text and JSON. */
#include "process/read/loss.h"

#include <inttypes.h>
#include <stdarg.h>

const char *pasta_loss_reason(unsigned int reason)
{
	return reason ? pasta_subtype_name(PASTA_KIND_LOSS, reason) : NULL;
}

void pasta_loss_add_closed(struct pasta_loss_summary *a, uint64_t events)
{
	a->expected += events;
	a->dropped += events;
	a->by_reason[PASTA_LOSS_CLOSED] += events;
}

__attribute__((format(printf, 4, 5))) static size_t loss_append(char *text, size_t size, size_t at,
								const char *fmt, ...)
{
	va_list args;
	int n;

	if (at >= size)
		return at;
	va_start(args, fmt);
	n = vsnprintf(text + at, size - at, fmt, args);
	va_end(args);
	return n < 0 ? size : at + (size_t)n;
}

const char *pasta_loss_line(const struct pasta_loss_summary *a, char *text, size_t size)
{
	const char *before = " (";
	unsigned int i;
	size_t at;

	at = loss_append(text, size, 0,
			 "events: %" PRIu64 " expected, %" PRIu64 " captured, %" PRIu64 " dropped",
			 a->expected, a->captured, a->dropped);
	if (!a->dropped)
		return text;
	for (i = 0; i < PASTA_LOSS_COUNT; i++) {
		if (!a->by_reason[i] || !pasta_loss_reason(i))
			continue;
		at = loss_append(text, size, at, "%s%s %" PRIu64, before, pasta_loss_reason(i),
				 a->by_reason[i]);
		before = ", ";
	}
	if (a->damaged) {
		at = loss_append(text, size, at, "%sdamaged %" PRIu64, before, a->damaged);
		before = ", ";
	}
	if (*before == ',')
		loss_append(text, size, at, ")");
	return text;
}

static void loss_member(struct pasta_json *j, const char *key, uint64_t value)
{
	pasta_json_key(j, key);
	pasta_json_uint(j, value);
}

void pasta_loss_json(const struct pasta_loss_summary *a, struct pasta_json *j)
{
	unsigned int i;

	pasta_json_map(j);
	loss_member(j, "expected", a->expected);
	loss_member(j, "captured", a->captured);
	loss_member(j, "dropped", a->dropped);
	pasta_json_key(j, "reasons");
	pasta_json_map(j);
	for (i = 0; i < PASTA_LOSS_COUNT; i++)
		if (pasta_loss_reason(i))
			loss_member(j, pasta_loss_reason(i), a->by_reason[i]);
	loss_member(j, "damaged", a->damaged);
	pasta_json_map_end(j);
	loss_member(j, "damaged_bytes", a->damaged_bytes);
	loss_member(j, "unknown", a->unknown);
	loss_member(j, "late", a->late);
	pasta_json_map_end(j);
}
