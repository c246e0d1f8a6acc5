/* trace_text.h - the state of a trace's writer: texts that are built once. */
#ifndef PASTA_BENCH_TRACE_TEXT_H
#define PASTA_BENCH_TRACE_TEXT_H

#include "trace.h"

enum { TRACE_BUFFER = 1 << 20, TRACE_EVENT_MAX = 16384, TRACE_STORED_MAX = 8192 };
enum { TRACE_HOST_PID = 24000, TRACE_GRAD_TID = 311 };

struct text {
	char *p;
	size_t n;
};

struct trace_writer {
	const struct trace_options *o;
	uint32_t rank, device, pid;
	int fd, error;
	uint64_t bytes, events, index, peak;
	char *buffer, *at;
	char *stored[TRACE_STORED_MAX];
	size_t stored_count;
	struct text open[TRACE_CATS], names[TRACE_NODES_MAX],
		inputs[TRACE_NODES_MAX][TRACE_LENGTHS];
	struct text kernel_names[TRACE_KERNELS], kernels[TRACE_KERNELS][TRACE_LENGTHS];
	struct text copy_names[TRACE_COPIES], set_name, call_names[TRACE_CALLS], calls[TRACE_CALLS];
	struct text instant[TRACE_THREADS], on_thread[TRACE_THREADS], on_stream[TRACE_STREAMS];
	struct text flow_thread[TRACE_THREADS], flow_stream[TRACE_STREAMS];
	struct text stream[TRACE_STREAMS], stream_copy[TRACE_STREAMS];
	struct text group[TRACE_COLLECTIVES], kernel_group[TRACE_COLLECTIVES];
	struct text dur, args, external, after_external, record, sequence, forward, at_index, close,
		comma, parent, python, module, reserved, allocated, size, address, memory, copied,
		speed, flow_begin[2], flow_end[2], flow_open[2], seq, kernel_seq;
};

/* Removes white space outside strings. */
void trace_squeeze(char *text);
/* PyTorch lists up to a limited number of ranks, then "...". */
void trace_list_ranks(char *list, size_t size, uint32_t world);

#endif
