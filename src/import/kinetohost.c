/* kinetohost.c - imports operators, annotations, API calls and Python functions of the PyTorch
 * Profiler. */
#include <string.h>

#include "import/collective.h"
#include "import/digits.h"
#include "import/kineto.h"

/* Adds a span to the event's thread. */
static int put_span(struct pasta_kineto *k, const struct pasta_chromeevent *e,
		    struct pasta_span *span)
{
	span->begin = e->ts;
	span->end = e->ts + e->dur;
	pasta_trace_span(k->t, pasta_chromeevent_track(&k->read, e), span);
	return 0;
}

/* Sets the process id of the trace to the process id of its operators and API calls. */
static void set_host(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	uint64_t pid;

	if (!k->host++ && !pasta_chromeevent_uint(e->tape, e->pid, &pid))
		k->world.pid = (uint32_t)pid;
}

int pasta_kineto_call(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_span span = {.what = PASTA_SPAN_CALL, .sub = k->category->sub};
	uint32_t corr = pasta_chromeevent_arg(e, "correlation");

	set_host(k, e);
	if (corr)
		pasta_chromeevent_uint(e->tape, corr, &span.a);
	span.b = pasta_trace_call(pasta_jsontape_text(e->tape, e->name));
	if (pasta_trace_enabled(k->t, PASTA_MASK(API) | PASTA_MASK(MODULE)))
		span.name = pasta_trace_token(k->t, e->tape, e->name);
	else if (!span.b)
		return 0;
	return put_span(k, e, &span);
}

/* Returns whether the operator is a wait for the next batch of a data loader. Older versions of the
 * profiler record the wait as an operator, newer ones as an annotation. */
static bool is_loader(struct pasta_slice name)
{
	static const char prefix[] = "enumerate(DataLoader)#";

	return name.size >= sizeof(prefix) - 1 && !memcmp(name.at, prefix, sizeof(prefix) - 1);
}

int pasta_kineto_op(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_span span = {.what = PASTA_SPAN_OP};
	struct pasta_kineto_args args = {0};
	uint64_t forward = 0;

	if (is_loader(pasta_jsontape_text(e->tape, e->name)))
		return pasta_kineto_annotation(k, e);
	set_host(k, e);
	if (!pasta_trace_enabled(k->t, PASTA_MASK(OP_BEGIN)))
		return 0;
	PASTA_JSON_EACH(e->tape, e->args, key, value)
	{
		struct pasta_slice name = pasta_jsontape_text(e->tape, key);

		if (pasta_slice_is(name, "Input type"))
			args.types = value;
		else if (pasta_slice_is(name, "Input Dims") || pasta_slice_is(name, "Input dims"))
			args.dims = value;
		else if (pasta_slice_is(name, "Input Strides"))
			args.strides = value;
		else if (pasta_slice_is(name, "Concrete Inputs"))
			args.values = value;
		else if (pasta_slice_is(name, "Sequence number") &&
			 !pasta_chromeevent_uint(e->tape, value, &span.a))
			span.a++; /* store the number plus 1: the profiler's numbers start at 0,
				   * but here, 0 means that there is none */
		else if (pasta_slice_is(name, "Fwd thread id"))
			pasta_chromeevent_uint(e->tape, value, &forward);
	}
	span.name = pasta_trace_token(k->t, e->tape, e->name);
	span.extra = pasta_kineto_inputs(k, e->tape, &args);
	span.b = pasta_pair(pasta_kineto_scalars(k, e->tape, &args),
			    pasta_kineto_strides(k, e->tape, &args));
	k->shapes += span.extra != 0;
	span.sub = forward != 0;
	return put_span(k, e, &span);
}

/* Returns the number of bytes of the operator's first input. */
static uint64_t first_input(const struct pasta_chromeevent *e, uint32_t type)
{
	uint32_t dims = pasta_chromeevent_arg(e, "Input Dims"), first = dims + 1;
	const struct pasta_json_token *k = e->tape->tokens;
	uint64_t bytes = pasta_collective_element(pasta_jsontape_text(e->tape, type)), n;

	if (!dims || k[dims].type != PASTA_JSON_ARRAY || first >= k[dims].next ||
	    k[first].type != PASTA_JSON_ARRAY)
		return 0;
	for (uint32_t i = first + 1; i < k[first].next; i = k[i].next)
		if (pasta_chromeevent_uint(e->tape, i, &n) ||
		    __builtin_mul_overflow(bytes, n, &bytes))
			return 0;
	return bytes;
}

/* Imports an annotation such as "nccl:all_reduce". Kernels launched in it belong to a
 * collective. */
static void read_collective(struct pasta_kineto *k, const struct pasta_chromeevent *e,
			    struct pasta_slice name, struct pasta_span *span)
{
	uint32_t types = pasta_chromeevent_arg(e, "Input type"), type = types + 1;
	const struct pasta_json_token *t = e->tape->tokens;
	uint32_t dtype = 0;

	if (types && t[types].type == PASTA_JSON_ARRAY && type < t[types].next &&
	    t[type].type == PASTA_JSON_STRING) {
		dtype = pasta_trace_token(k->t, e->tape, type);
		span->a = first_input(e, type);
	}
	span->sub = PASTA_REGION_COLLECTIVE;
	span->b = pasta_pair(pasta_trace_str(k->t, name.at, name.size), dtype);
}

static bool skip_prefix(struct pasta_slice *s, const char *with)
{
	size_t n = strlen(with);

	if (s->size <= n || memcmp(s->at, with, n) != 0)
		return false;
	s->at += n;
	s->size -= n;
	return true;
}

int pasta_kineto_annotation(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_slice name = pasta_jsontape_text(e->tape, e->name);
	struct pasta_span span = {.what = PASTA_SPAN_REGION};

	set_host(k, e);
	if (!pasta_trace_enabled(k->t, PASTA_MASK(REGION) | PASTA_MASK(ITERATION) |
					       PASTA_MASK(COLLECTIVE)))
		return 0;
	if (skip_prefix(&name, "ProfilerStep#")) {
		if (strspn(name.at, "0123456789") == name.size &&
		    !pasta_digits(name.at, name.size, 0, &span.a))
			span.sub = PASTA_REGION_ITERATION;
	} else if (skip_prefix(&name, "nccl:")) {
		read_collective(k, e, name, &span);
	}
	if (!k->annotation)
		k->annotation = pasta_trace_str(k->t, "annotation", strlen("annotation"));
	span.extra = k->annotation;
	span.name = pasta_trace_token(k->t, e->tape, e->name);
	return put_span(k, e, &span);
}

/* Imports a Python function such as "torch/nn/modules/module.py(1540): _call_impl", with file,
 * line and function. Other names have no file. */
int pasta_kineto_python(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_slice name = pasta_jsontape_text(e->tape, e->name);
	struct pasta_span span = {.what = PASTA_SPAN_FRAME};
	const char *colon = memmem(name.at, name.size, "): ", 3), *open = NULL;

	if (k->t->options->no_stacks ||
	    !pasta_trace_enabled(k->t, PASTA_MASK(OP_BEGIN) | PASTA_MASK(LAUNCH)))
		return 0;
	if (colon)
		open = memrchr(name.at, '(', (size_t)(colon - name.at));
	if (open && open > name.at && colon > open + 1 &&
	    !(e->tape->tokens[e->name].flags & PASTA_JSON_ESCAPED) &&
	    strspn(open + 1, "0123456789") == (size_t)(colon - open - 1) &&
	    !pasta_digits(open + 1, (size_t)(colon - open - 1), 0, &span.a)) {
		span.extra = pasta_trace_str(k->t, name.at, (size_t)(open - name.at));
		span.name =
			pasta_trace_str(k->t, colon + 3, (size_t)(name.at + name.size - colon - 3));
	} else {
		span.name = pasta_trace_token(k->t, e->tape, e->name);
	}
	return put_span(k, e, &span);
}

/* -- Links -- */

int pasta_kineto_flow(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_span span = {.what = PASTA_SPAN_FLOW, .sub = e->ph == 'f'};
	struct pasta_chromeevent here = *e;

	if (!pasta_trace_enabled(k->t, PASTA_MASK(LINK)) || e->ph == 't' ||
	    pasta_chromeevent_uint(e->tape, e->id, &span.a))
		return 0;
	here.dur = 0;
	return put_span(k, &here, &span);
}
