/*
 * dump - the events of a run, or of shards, in order of time: a JSON object a line.
 *
 *	dump RUN|SHARD... [kind...]
 *
 * Every object has kind, sub, time, tid and proc, and the kind's fields by name; strings are
 * resolved, other interned bytes are their ids. The last line is the account, of kind "account".
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/frame.h"
#include "process/read/input.h"

static void put_text(const char *text)
{
	putchar('"');
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p == '"' || *p == '\\')
			printf("\\%c", *p);
		else if (*p < 0x20 || *p >= 0x7f)
			printf("\\u%04x", *p); /* bytes as Latin 1: enough for a test */
		else
			putchar(*p);
	putchar('"');
}

static void put_field(const struct pasta_event *ev, const struct pasta_field *f)
{
	uint64_t wide = 0;
	uint32_t narrow = 0;
	double real;

	if (pasta_field_size(f->type) == 8)
		memcpy(&wide, (const char *)ev + f->offset, sizeof(wide));
	else
		memcpy(&narrow, (const char *)ev + f->offset, sizeof(narrow));
	printf(",\"%s\":", f->name);
	switch (f->type) {
	case PASTA_FIELD_str:
		put_text(pasta_str(narrow));
		break;
	case PASTA_FIELD_f64:
		memcpy(&real, &wide, sizeof(real));
		printf("%.17g", real);
		break;
	case PASTA_FIELD_i64:
		printf("%" PRId64, (int64_t)wide);
		break;
	default:
		printf("%" PRIu64, pasta_field_size(f->type) == 8 ? wide : narrow);
	}
}

static void put_event(const struct pasta_event *ev)
{
	const struct pasta_kind_info *kind = &pasta_kinds[ev->kind];

	printf("{\"kind\":\"%s\",\"sub\":%u,\"time\":%" PRIu64 ",\"tid\":%" PRIu32
	       ",\"proc\":%" PRIu32,
	       kind->name, ev->sub, ev->time, ev->tid, ev->proc);
	for (unsigned int i = 0; i < kind->count; i++)
		put_field(ev, &kind->fields[i]);
	puts("}");
}

static void put_account(const struct pasta_input *in)
{
	struct pasta_loss_summary a = {0};

	pasta_stream_loss(in->stream, &a);
	printf("{\"kind\":\"account\",\"expected\":%" PRIu64 ",\"captured\":%" PRIu64
	       ",\"dropped\":%" PRIu64 ",\"source\":%" PRIu64 ",\"damaged\":%" PRIu64
	       ",\"late\":%" PRIu64 ",\"lost\":%" PRIu64 "}\n",
	       a.expected, a.captured, a.dropped, a.by_reason[PASTA_LOSS_SOURCE], a.damaged, a.late,
	       in->dropped);
}

static uint64_t kind_mask(const char *name)
{
	for (unsigned int kind = 0; kind < PASTA_KIND_MAX; kind++)
		if (pasta_kind_name(kind) && !strcmp(pasta_kind_name(kind), name))
			return UINT64_C(1) << kind;
	return 0;
}

int main(int argc, char **argv)
{
	const struct pasta_event *ev;
	struct pasta_input in = {0};
	struct pasta_error err = {0};
	uint64_t kinds = 0;
	struct stat st;

	for (int i = 1; i < argc; i++) {
		uint64_t kind = stat(argv[i], &st) ? kind_mask(argv[i]) : 0;

		kinds |= kind;
		if (!kind && pasta_input_add(&in, argv[i], &err)) {
			fprintf(stderr, "dump: %s\n", err.text);
			return 1;
		}
	}
	if (!in.stream) {
		fputs("usage: dump RUN|SHARD... [kind...]\n", stderr);
		return 2;
	}
	if (kinds)
		pasta_stream_set_kinds(in.stream, kinds);
	while ((ev = pasta_stream_next(in.stream)))
		if (!kinds || kinds >> ev->kind & 1)
			put_event(ev);
	put_account(&in);
	pasta_input_free(&in);
	return 0;
}
