/* traceevent.c - writes Chrome's trace-event format, a JSON document, event by event. */
#include "sink/traceevent.h"

#include <errno.h>
#include <inttypes.h>

#include "process/read/loss.h"

int pasta_traceevent_open(struct pasta_traceevent *t, FILE *file)
{
	*t = (struct pasta_traceevent){.json = pasta_json_new(file, false)};
	if (!t->json)
		return -ENOMEM;
	pasta_json_map(t->json);
	pasta_json_key(t->json, "traceEvents");
	pasta_json_list(t->json);
	return 0;
}

int pasta_traceevent_close(struct pasta_traceevent *t, const struct pasta_loss_summary *loss)
{
	char start[24];

	pasta_json_list_end(t->json);
	pasta_json_key(t->json, "displayTimeUnit");
	pasta_json_str(t->json, "ns");
	pasta_json_key(t->json, "otherData");
	pasta_json_map(t->json);
	/* Write the number as text, because programs that read JSON would convert it to a
	 * double. */
	snprintf(start, sizeof(start), "%" PRIu64, t->start);
	pasta_json_key(t->json, "start");
	pasta_json_str(t->json, start);
	pasta_json_key(t->json, "loss");
	pasta_loss_json(loss, t->json);
	pasta_json_map_end(t->json);
	pasta_json_map_end(t->json);
	return pasta_json_free(t->json);
}

void pasta_traceevent_begin(struct pasta_traceevent *t, char phase, const char *name,
			    struct pasta_track track, uint64_t time)
{
	const char ph[] = {phase, '\0'};

	t->start = t->start ? t->start : time;
	pasta_json_map(t->json);
	pasta_traceevent_member(t, "ph", ph);
	if (name)
		pasta_traceevent_member(t, "name", *name ? name : "(unnamed)");
	pasta_json_key(t->json, "pid");
	pasta_json_uint(t->json, track.pid);
	pasta_json_key(t->json, "tid");
	pasta_json_uint(t->json, track.tid);
	if (phase == 'M')
		return;
	pasta_json_key(t->json, "ts");
	pasta_json_micros(t->json, (int64_t)(time - t->start));
}

void pasta_traceevent_member(struct pasta_traceevent *t, const char *key, const char *value)
{
	pasta_json_key(t->json, key);
	pasta_json_str(t->json, value);
}

void pasta_traceevent_dur(struct pasta_traceevent *t, uint64_t ns)
{
	pasta_json_key(t->json, "dur");
	pasta_json_micros(t->json, ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
}

static void traceevent_argument(struct pasta_traceevent *t, const char *key)
{
	if (!t->in_args) {
		pasta_json_key(t->json, "args");
		pasta_json_map(t->json);
		t->in_args = true;
	}
	pasta_json_key(t->json, key);
}

void pasta_traceevent_uint(struct pasta_traceevent *t, const char *key, uint64_t value)
{
	traceevent_argument(t, key);
	pasta_json_uint(t->json, value);
}

void pasta_traceevent_float(struct pasta_traceevent *t, const char *key, double value)
{
	traceevent_argument(t, key);
	pasta_json_float(t->json, value);
}

void pasta_traceevent_text(struct pasta_traceevent *t, const char *key, const char *value)
{
	traceevent_argument(t, key);
	pasta_json_str(t->json, value);
}

void pasta_traceevent_list(struct pasta_traceevent *t, const char *key)
{
	traceevent_argument(t, key);
	pasta_json_list(t->json);
}

void pasta_traceevent_end(struct pasta_traceevent *t)
{
	if (t->in_args)
		pasta_json_map_end(t->json);
	t->in_args = false;
	pasta_json_map_end(t->json);
}

void pasta_traceevent_name(struct pasta_traceevent *t, const char *what, struct pasta_track track,
			   const char *name)
{
	pasta_traceevent_begin(t, 'M', what, track, t->start);
	pasta_traceevent_text(t, "name", name);
	pasta_traceevent_end(t);
}

void pasta_traceevent_order(struct pasta_traceevent *t, const char *what, struct pasta_track track,
			    uint32_t order)
{
	pasta_traceevent_begin(t, 'M', what, track, t->start);
	pasta_traceevent_uint(t, "sort_index", order);
	pasta_traceevent_end(t);
}

void pasta_traceevent_flow(struct pasta_traceevent *t, bool ends, uint64_t id,
			   struct pasta_track track, uint64_t time)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, id);
	pasta_traceevent_begin(t, ends ? 'f' : 's', "launch", track, time);
	pasta_traceevent_member(t, "cat", "launch");
	pasta_traceevent_member(t, "id", text);
	if (ends)
		pasta_traceevent_member(t, "bp", "e"); /* attach the arrow to its enclosing slice */
	pasta_traceevent_end(t);
}
