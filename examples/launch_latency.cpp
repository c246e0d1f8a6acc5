/*
 * launch_latency - from a launch to the start of its kernel: how long, and how much of it the
 * kernel waited for earlier work of its stream.
 *
 * What is left of the latency is the price of a launch, in the runtime and the driver. A program
 * whose kernels never wait for their stream gives the device its work too slowly.
 */
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pasta/pasta.h>

namespace
{

/* A histogram that is freed. Where there is no memory for one, add and merge fail. */
class hist
{
	pasta_hist *h = pasta_hist_new();

      public:
	hist() = default;
	hist(const hist &) = delete;
	hist &operator=(const hist &) = delete;
	~hist()
	{
		pasta_hist_free(h);
	}
	bool add(uint64_t value)
	{
		return h && !pasta_hist_add(h, value, 1);
	}
	bool merge(const hist &from)
	{
		return h && from.h && !pasta_hist_merge(h, from.h);
	}
	const pasta_hist *get() const
	{
		return h;
	}
};

struct kernel {
	hist latency;
	uint64_t queued = 0; /* ns of all latencies that the stream was busy */
};

struct stream {
	uint32_t proc, context, number;
	bool operator==(const stream &) const = default;
};

struct hash {
	size_t operator()(const stream &s) const
	{
		return pasta_pair(s.proc, s.number) * UINT64_C(0x9e3779b97f4a7c15) ^ s.context;
	}
};

struct tool {
	std::unordered_map<uint32_t, kernel> kernels;	 /* by name */
	std::unordered_map<stream, uint64_t, hash> ends; /* of the last work of a stream */
	uint64_t unknown = 0;				 /* kernels without a launch before them */
	bool failed = false;
};

/* accelprof is C: what it keeps for us is a pointer, and no exception may reach it. */
tool &of(void *state)
{
	return **static_cast<tool **>(state);
}

int open(void *state, const pasta_opts *, pasta_err *err)
{
	auto *t = new (std::nothrow) tool;

	*static_cast<tool **>(state) = t;
	return t ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

void close(void *state)
{
	delete *static_cast<tool **>(state);
}

/* Work of a graph has one launch for all of it. */
void on_kernel(tool &t, const pasta_event &ev, uint64_t &end)
{
	const pasta_where *where = pasta_where_of(&ev);

	if (ev.kernel.node)
		return;
	if (!(where->flags & PASTA_WHERE_LAUNCH) || where->launched > ev.time) {
		t.unknown++;
		return;
	}
	kernel &k = t.kernels[ev.kernel.name];

	if (!k.latency.add(ev.time - where->launched))
		t.failed = true;
	k.queued += std::clamp(end, where->launched, ev.time) - where->launched;
}

void take(tool &t, const pasta_event &ev)
{
	uint64_t *end;

	switch (ev.kind) {
	case PASTA_KIND_KERNEL:
		end = &t.ends[{ev.proc, ev.kernel.context, ev.kernel.stream}];
		on_kernel(t, ev, *end);
		*end = std::max(*end, ev.time + ev.kernel.dur);
		break;
	case PASTA_KIND_COPY:
		end = &t.ends[{ev.proc, ev.copy.context, ev.copy.stream}];
		*end = std::max(*end, ev.time + ev.copy.dur);
		break;
	case PASTA_KIND_SET:
		end = &t.ends[{ev.proc, ev.set.context, ev.set.stream}];
		*end = std::max(*end, ev.time + ev.set.dur);
		break;
	}
}

void on_event(void *state, const pasta_event *ev)
{
	try {
		take(of(state), *ev);
	} catch (const std::bad_alloc &) {
		of(state).failed = true;
	}
}

/* A process is in one shard: none of its streams is in another state. */
int merge(void *into, const void *from, struct pasta_error *err)
{
	const tool &other = **static_cast<tool *const *>(from);
	tool &t = of(into);

	t.failed |= other.failed;
	t.unknown += other.unknown;
	try {
		for (const auto &[name, k] : other.kernels) {
			kernel &mine = t.kernels[name];

			if (!mine.latency.merge(k.latency))
				t.failed = true;
			mine.queued += k.queued;
		}
	} catch (const std::bad_alloc &) {
		t.failed = true;
	}
}

/* -- Reporting. -- */

void put_kernel(pasta_table *t, uint32_t name, const kernel &k)
{
	const pasta_hist *h = k.latency.get();
	const uint64_t count = pasta_hist_count(h), total = pasta_hist_sum(h);

	pasta_cell_str(t, name ? pasta_str(name) : "(unnamed)");
	pasta_cell_int(t, static_cast<int64_t>(count));
	pasta_cell_int(t, static_cast<int64_t>(total));
	pasta_cell_int(t, static_cast<int64_t>(k.queued));
	pasta_cell_int(t, static_cast<int64_t>((total - k.queued) / count));
	pasta_cell_int(t, static_cast<int64_t>(pasta_hist_min(h)));
	pasta_cell_int(t, static_cast<int64_t>(pasta_hist_quantile(h, 0.5)));
	pasta_cell_int(t, static_cast<int64_t>(pasta_hist_quantile(h, 0.99)));
	pasta_cell_int(t, static_cast<int64_t>(pasta_hist_max(h)));
}

void find_starved(pasta_out *out, uint64_t total, uint64_t queued)
{
	if (!total || queued > total / 4)
		return;
	const std::string evidence = "of the time from launches to kernels, " +
				     std::to_string(100 * queued / total) +
				     "% is waiting for earlier work of the stream";
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .what = "kernels begin as soon as they are launched",
			 .evidence = evidence.c_str(),
			 .action = "launch earlier, or fewer and larger kernels");
}

void put(const tool &t, pasta_out *out)
{
	static const pasta_column columns[] = {
		{"kernel", PASTA_COLUMN_STRING, nullptr, PASTA_ROLE_KERNEL},
		{"count", PASTA_COLUMN_INT, nullptr, PASTA_ROLE_NONE},
		{"latency", PASTA_COLUMN_INT, "ns", PASTA_ROLE_TIME},
		{"queued", PASTA_COLUMN_INT, "ns", PASTA_ROLE_TIME},
		{"launch_mean", PASTA_COLUMN_INT, "ns", PASTA_ROLE_TIME},
		{"min", PASTA_COLUMN_INT, "ns", PASTA_ROLE_TIME},
		{"p50", PASTA_COLUMN_INT, "ns", PASTA_ROLE_TIME},
		{"p99", PASTA_COLUMN_INT, "ns", PASTA_ROLE_TIME},
		{"max", PASTA_COLUMN_INT, "ns", PASTA_ROLE_TIME},
	};
	pasta_table *table = pasta_out_table(out, "launch_latency", columns, 9);
	std::vector<std::pair<uint32_t, const kernel *>> sorted;
	uint64_t total = 0, queued = 0;

	for (const auto &[name, k] : t.kernels)
		sorted.emplace_back(name, &k);
	/* Texts, unlike the numbers of interned strings, are the same whenever a run is read. */
	std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
		const uint64_t x = pasta_hist_sum(a.second->latency.get()),
			       y = pasta_hist_sum(b.second->latency.get());

		return x != y ? x > y : std::strcmp(pasta_str(a.first), pasta_str(b.first)) < 0;
	});
	for (const auto &[name, k] : sorted) {
		put_kernel(table, name, *k);
		total += pasta_hist_sum(k->latency.get());
		queued += k->queued;
	}
	find_starved(out, total, queued);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .count = t.unknown, .counted = true,
			 .what = "kernels without a launch before them",
			 .evidence = "they are not in the table",
			 .action = "record launches too, or see whether the clocks are right");
}

int report(void *state, pasta_out *out)
{
	try {
		if (of(state).failed)
			return -ENOMEM;
		put(of(state), out);
		return 0;
	} catch (const std::bad_alloc &) {
		return -ENOMEM;
	}
}

} // namespace

PASTA_TOOL(.name = "launch_latency",
	   .summary = "from a launch to its kernel, and what it waited for",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET),
	   .needs = PASTA_NEED_SCOPES, .state_size = sizeof(tool *), .open = open,
	   .event = on_event, .merge = merge, .report = report, .close = close);
