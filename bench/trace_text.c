/* trace_text.c - builds the repeated texts of a generated trace once, and stores them. */
#include "trace_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_LISTED = 30 };

void trace_squeeze(char *text)
{
	char *to = text;
	bool quoted = false;

	for (; *text; text++) {
		quoted ^= *text == '"';
		if (quoted || (*text != ' ' && *text != '\n'))
			*to++ = *text;
	}
	*to = '\0';
}

static struct text store_text(struct trace_writer *w, const char *from)
{
	struct text t = {NULL, 0};

	if (w->stored_count < TRACE_STORED_MAX)
		t.p = w->stored[w->stored_count++] = strdup(from);
	if (t.p)
		t.n = strlen(from);
	else
		w->error = -ENOMEM;
	return t;
}

/* Builds a text of complete strings. */
__attribute__((format(printf, 2, 3))) static struct text make(struct trace_writer *w,
							      const char *fmt, ...)
{
	char line[TRACE_TEXT_MAX];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(line)) {
		w->error = -E2BIG;
		return (struct text){NULL, 0};
	}
	if (w->o->compact)
		trace_squeeze(line);
	return store_text(w, line);
}

static struct text inputs_of(struct trace_writer *w, const char *spec, uint32_t length)
{
	struct trace_inputs *in = malloc(sizeof(*in));
	struct text t = {NULL, 0};

	if (!in) {
		w->error = -ENOMEM;
		return t;
	}
	trace_inputs(in, spec, length);
	t = make(w,
		 "\"Concrete Inputs\": [%s], \"Input type\": [%s], \"Input Strides\": [%s], "
		 "\"Input Dims\": [%s], ",
		 in->values, in->types, in->strides, in->dims);
	free(in);
	return t;
}

static void make_nodes(struct trace_writer *w)
{
	for (size_t i = 0; i < trace_node_count; i++) {
		const struct trace_node *n = &trace_nodes[i];
		char name[512];
		size_t size;

		if (!n->name)
			continue;
		/* Names that end this way are followed by a number and the end of the string. */
		size = strlen(n->name);
		snprintf(name, sizeof(name), "\"%s%s", n->name,
			 n->kind == TRACE_MODULE || n->name[size - 1] == '#' ? "" : "\"");
		w->names[i] = store_text(w, name);
		for (size_t k = 0; w->o->shapes && n->in && k < TRACE_LENGTHS; k++)
			w->inputs[i][k] = inputs_of(w, n->in, trace_lengths[k]);
	}
}

/* The text behind a kernel's correlation id. */
static struct text kernel_args(struct trace_writer *w, const struct gen_kernel *k, uint32_t length)
{
	uint32_t grid = k->scales ? (k->grid[0] * length + 1023) / 1024 : k->grid[0];
	uint32_t threads = (uint32_t)k->block[0] * k->block[1] * k->block[2];
	double blocks = (double)grid * k->grid[1] * k->grid[2] / 132;
	double warps = blocks * threads / 32, most = warps < 64 ? warps : 64;

	return make(w,
		    ",      \"registers per thread\": %u,      \"shared memory\": %u,      "
		    "\"blocks per SM\": %f,      \"warps per SM\": %f,      "
		    "\"grid\": [%u, %u, %u],      \"block\": [%u, %u, %u],      "
		    "\"est. achieved occupancy %%\": %d",
		    k->registers, k->shared_static + k->shared_dynamic, blocks, warps, grid,
		    k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2],
		    (int)(0.5 + most / 64 * 100));
}

static void make_kernels(struct trace_writer *w)
{
	char name[2048];

	for (unsigned int i = 0; i < TRACE_KERNELS; i++) {
		const struct gen_kernel *k;

		if (i >= gen_kernel_count && i < GEN_KERNELS_MAX)
			continue;
		k = trace_kernel(i);
		snprintf(name, sizeof(name), "\"%s\"", k->name);
		w->kernel_names[i] = store_text(w, name);
		for (size_t l = 0; l < TRACE_LENGTHS; l++)
			w->kernels[i][l] = kernel_args(w, k, trace_lengths[l]);
	}
}

void trace_list_ranks(char *list, size_t size, uint32_t world)
{
	bool all = world <= RANKS_LISTED;

	trace_add(list, size, "%s", all ? "[" : "\"[");
	for (uint32_t i = 0; i < world && i < RANKS_LISTED; i++)
		trace_add(list, size, "%s%u", i ? ", " : "", i);
	trace_add(list, size, "%s", all ? "]" : ", ...]\"");
}

static void make_collectives(struct trace_writer *w)
{
	uint32_t world = trace_world(w->o);
	char ranks[512] = "";

	trace_list_ranks(ranks, sizeof(ranks), world);
	for (size_t i = 0; i < TRACE_COLLECTIVES; i++) {
		const struct trace_collective *c = &trace_collectives[i];

		w->group[i] = make(w,
				   "\"Rank\": %u, \"Process Group Ranks\": %s, "
				   "\"Process Group Description\": \"default_pg\", "
				   "\"Process Group Name\": \"0\", \"Out split size\": [], "
				   "\"In split size\": [], \"Group size\": %u, \"dtype\": \"%s\", "
				   "\"Out msg nelems\": %u, \"In msg nelems\": %u, "
				   "\"Collective name\": \"%s\", ",
				   w->rank, ranks, world, c->dtype, c->out, c->in, c->name);
		w->kernel_group[i] =
			make(w,
			     ", \"Collective name\": \"%s\", \"In msg nelems\": %u, "
			     "\"Out msg nelems\": %u, \"Group size\": %u, \"dtype\": \"%s\", "
			     "\"In split size\": [], \"Out split size\": [], "
			     "\"Process Group Name\": \"0\", \"Process Group Description\": "
			     "\"default_pg\", \"Process Group Ranks\": %s",
			     c->name, c->in, c->out, world, c->dtype, ranks);
	}
	w->seq = make(w, "\"Seq\": ");
	w->kernel_seq = make(w, ", \"Seq\": ");
}

static void make_tracks(struct trace_writer *w)
{
	for (uint32_t i = 0; i < TRACE_THREADS; i++) {
		uint32_t tid = w->pid + i * TRACE_GRAD_TID;

		w->on_thread[i] = make(w, ", \"pid\": %u, \"tid\": %u,\n    \"ts\": ", w->pid, tid);
		w->instant[i] = make(w,
				     "\n  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", "
				     "\"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": %u, "
				     "\"tid\": %u,\n    \"ts\": ",
				     w->pid, tid);
		w->flow_thread[i] = make(w, ", \"pid\": %u, \"tid\": %u, \"ts\": ", w->pid, tid);
	}
	for (uint32_t i = 0; i < TRACE_STREAMS; i++) {
		uint32_t d = w->device, s = trace_streams[i];

		w->on_stream[i] = make(w, ", \"pid\": %u, \"tid\": %u,\n    \"ts\": ", d, s);
		w->flow_stream[i] = make(w, ", \"pid\": %u, \"tid\": %u, \"ts\": ", d, s);
		w->stream[i] = make(w,
				    "\"queued\": 0, \"device\": %u, \"context\": 1,      "
				    "\"stream\": %u, \"correlation\": ",
				    d, s);
		w->stream_copy[i] = make(w,
					 "\"device\": %u, \"context\": 1,      \"stream\": %u, "
					 "\"correlation\": ",
					 d, s);
	}
}

static void make_flows(struct trace_writer *w)
{
	static const char *const names[] = {"ac2g", "fwdbwd"};

	w->flow_open[0] = make(w, "\n  {\n    \"ph\": \"s\", \"id\": ");
	w->flow_open[1] = make(w, "\n  {\n    \"ph\": \"f\", \"id\": ");
	for (size_t i = 0; i < 2; i++) {
		const char *n = names[i];

		w->flow_begin[i] = make(w, ",\n    \"cat\": \"%s\", \"name\": \"%s\"\n  },", n, n);
		w->flow_end[i] = make(
			w, ",\n    \"cat\": \"%s\", \"name\": \"%s\", \"bp\": \"e\"\n  },", n, n);
	}
}

static void make_names(struct trace_writer *w)
{
	char name[100];

	for (size_t i = 0; i < TRACE_CATS; i++)
		w->open[i] = make(w, "\n  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": ",
				  trace_categories[i]);
	for (size_t i = 0; i < TRACE_COPIES; i++) {
		snprintf(name, sizeof(name), "\"%s\"", trace_copies[i]);
		w->copy_names[i] = store_text(w, name);
	}
	w->set_name = store_text(w, "\"Memset (Device)\"");
	for (size_t i = 0; i < TRACE_CALLS; i++) {
		snprintf(name, sizeof(name), "\"%s\"", trace_calls[i].name);
		w->call_names[i] = store_text(w, name);
		w->calls[i] = make(w, "\"cbid\": %u, \"correlation\": ", trace_calls[i].cbid);
	}
}

static void make_rest(struct trace_writer *w)
{
	w->dur = make(w, ", \"dur\": ");
	w->args = make(w, ",\n    \"args\": {\n      ");
	w->external = make(w, "\"External id\": ");
	w->after_external = make(w, ",      ");
	w->record = make(w, ",\"Record function id\": 0, ");
	w->sequence = make(w, "\"Sequence number\": ");
	w->forward = make(w, ", \"Fwd thread id\": ");
	w->at_index = make(w, "\"Ev Idx\": ");
	w->close = make(w, "\n    }\n  },");
	w->comma = make(w, ", ");
	w->parent = make(w, "\"Python parent id\": ");
	w->python = make(w, ", \"Python id\": ");
	w->module = make(w, ", \"Python module id\": ");
	w->reserved = make(w, "\"Total Reserved\": ");
	w->allocated = make(w, ", \"Total Allocated\": ");
	w->size = make(w, ", \"Bytes\": ");
	w->address = make(w, ", \"Addr\": ");
	w->memory = make(w, ", \"Device Id\": %u, \"Device Type\": 1, ", w->device);
	w->copied = make(w, ",      \"bytes\": ");
	w->speed = make(w, ", \"memory bandwidth (GB/s)\": ");
}

struct trace_writer *trace_writer_new(const struct trace_options *o, uint32_t rank, int fd)
{
	struct trace_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->buffer = w->at = malloc(TRACE_BUFFER);
	w->o = o;
	w->rank = rank;
	w->device = rank % GEN_HOST_RANKS;
	w->pid = TRACE_HOST_PID + 1000 * w->device;
	w->fd = fd;
	make_names(w);
	make_rest(w);
	make_tracks(w);
	make_flows(w);
	make_collectives(w);
	make_kernels(w);
	make_nodes(w);
	if (w->buffer && !w->error)
		return w;
	trace_writer_free(w);
	return NULL;
}

int trace_writer_free(struct trace_writer *w)
{
	int r;

	if (!w)
		return -ENOMEM;
	r = w->error;
	for (size_t i = 0; i < w->stored_count; i++)
		free(w->stored[i]);
	free(w->buffer);
	free(w);
	return r;
}
