/* skeleton - kernels by name: how often they ran, and for how long. */
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pasta/tool.h>

namespace
{

/* What is known of one kernel. Change this to what you want to know. */
struct kernel {
	uint64_t count = 0, total = 0;
};

/* All that the tool remembers. There is nothing static beside it: several of these may be filled at
 * the same time, each from a part of the run. */
struct tool {
	std::unordered_map<uint32_t, kernel> kernels; /* by name: pasta_str() has its text */
	size_t top = 0;				      /* the option */
	bool failed = false;
};

/* accelprof is C: what it keeps for us is a pointer, and no exception may reach it. */
tool &of(void *state)
{
	return **static_cast<tool **>(state);
}

const pasta_option options[] = {
	{"top", "10", "rows of the table; 0: all", PASTA_OPTION_NUMBER},
	{},
};

int open(void *state, const pasta_opts *opts, pasta_err *err)
{
	auto *t = new (std::nothrow) tool;

	if (!t)
		return pasta_fail(err, -ENOMEM, "out of memory");
	*static_cast<tool **>(state) = t;
	t->top = pasta_opt_u64(opts, "top");
	return 0;
}

/* Every event of the kinds in .events, below. ev->kind says which it is, and the member of that
 * name has the rest: <pasta/events.def> lists them. This is called millions of times. */
void on_event(void *state, const pasta_event *ev)
{
	tool &t = of(state);

	try {
		kernel &k = t.kernels[ev->kernel.name];

		k.count++;
		k.total += ev->kernel.dur;
	} catch (const std::bad_alloc &) {
		t.failed = true; /* there is nobody to tell now: report does */
	}
}

/* Add what another state has seen. Leave it out, here and below, if the tool has to see the whole
 * run in one piece. */
int merge(void *into, const void *from, struct pasta_error *err)
{
	const tool &other = **static_cast<tool *const *>(from);
	tool &t = of(into);

	t.failed |= other.failed;
	try {
		for (const auto &[name, k] : other.kernels) {
			t.kernels[name].count += k.count;
			t.kernels[name].total += k.total;
		}
	} catch (const std::bad_alloc &) {
		t.failed = true;
	}
}

/* A finding is what a person should know: what, where, why you think so, and what to do. */
void find(pasta_out *out, uint32_t name, const kernel &k, uint64_t all)
{
	if (k.total <= all / 2)
		return;
	const std::string evidence = std::to_string(100 * k.total / all) + "% of it, in " +
				     std::to_string(k.count) + " runs";
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .what = "most device time is in one kernel", .where = pasta_str(name),
			 .evidence = evidence.c_str(), .action = "begin with that one");
}

void put_rows(const tool &t, pasta_out *out)
{
	static const pasta_column columns[] = {
		{"kernel", PASTA_COLUMN_STRING, nullptr, PASTA_ROLE_KERNEL},
		{"count", PASTA_COLUMN_INT, nullptr, PASTA_ROLE_NONE},
		{"total", PASTA_COLUMN_INT, "ns", PASTA_ROLE_TIME},
	};
	pasta_table *table = pasta_out_table(out, "skeleton", columns, 3);
	std::vector<std::pair<uint32_t, kernel>> sorted(t.kernels.begin(), t.kernels.end());
	uint64_t all = 0;
	size_t row = 0;

	/* Texts, unlike the numbers of interned strings, are the same whenever a run is read. */
	std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
		if (a.second.total != b.second.total)
			return a.second.total > b.second.total;
		return std::strcmp(pasta_str(a.first), pasta_str(b.first)) < 0;
	});
	for (const auto &[name, k] : sorted) {
		all += k.total;
		if (t.top && row++ >= t.top)
			continue;
		pasta_cell_str(table, pasta_str(name));
		pasta_cell_int(table, static_cast<int64_t>(k.count));
		pasta_cell_int(table, static_cast<int64_t>(k.total));
	}
	if (!sorted.empty())
		find(out, sorted[0].first, sorted[0].second, all);
}

/* Once, at the end. What is put here comes out as text, CSV, JSON and all else. */
int report(void *state, pasta_out *out)
{
	try {
		if (of(state).failed)
			return -ENOMEM;
		put_rows(of(state), out);
		return 0;
	} catch (const std::bad_alloc &) {
		return -ENOMEM;
	}
}

/* Once for each state, also if open failed half-way. */
void close(void *state)
{
	delete *static_cast<tool **>(state);
}

} // namespace

PASTA_TOOL(.name = "skeleton", .summary = "kernels by name: how often and how long",
	   .events = PASTA_MASK(KERNEL), .state_size = sizeof(tool *), .options = options,
	   .open = open, .event = on_event, .merge = merge, .report = report, .close = close);
