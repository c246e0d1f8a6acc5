/* cover.c - measures for how long intervals of two types run, alone and at the same time. */
#include <pasta/cover.h>

static uint64_t cover_earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Advances to a time. Adds the time that has passed to the sum for the types of intervals that were
 * running. These types change only when an interval ends, so the loop runs at most three times. */
static void cover_advance(struct pasta_cover *c, uint64_t to)
{
	while (c->at < to) {
		unsigned int mask = 0;
		uint64_t next = to;

		for (unsigned int i = 0; i < 2; i++) {
			if (c->end[i] <= c->at)
				continue;
			mask |= 1u << i;
			next = cover_earlier(next, c->end[i]);
		}
		c->time[mask] += next - c->at;
		c->at = next;
	}
}

void pasta_cover_add(struct pasta_cover *c, unsigned int type, uint64_t begin, uint64_t dur)
{
	uint64_t end = begin + dur < begin ? UINT64_MAX : begin + dur;

	if (!c->count++)
		c->at = begin;
	cover_advance(c, begin);
	if (end > c->end[type & 1])
		c->end[type & 1] = end;
}

void pasta_cover_finish(struct pasta_cover *c)
{
	cover_advance(c, c->end[0] > c->end[1] ? c->end[0] : c->end[1]);
}
