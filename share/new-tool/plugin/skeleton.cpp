/* skeleton - kernels by name: how often they ran, and for how long. */
#include <string>

#include <pasta/pasta.hpp>

namespace
{

/* What is known of one kernel. Change this to what you want to know. */
struct kernel {
	struct {
		uint32_t name; /* an interned string: pasta_str() has its text */
	} key;
	uint64_t count, total;
};

/* All that the tool remembers. There is nothing static beside it: several of these may be filled at
 * the same time, each from a part of the run. An exception becomes the tool's error. */
class skeleton
{
      public:
	/* Rows by key: made, merged and freed by the framework. */
	struct groups {
		pasta::group<kernel> kernels;
	};

	skeleton(groups &g, const pasta_opts *) : g(g)
	{
	}

	/* Every event of the kinds in .events, below. ev.kind is its kind, and the member of that
	 * name has the rest: <pasta/events.def> lists them. This is called millions of times. */
	void event(const pasta_event &ev, const pasta_where *)
	{
		kernel &k = g.kernels[{ev.kernel.name}];

		k.count++;
		k.total += ev.kernel.dur;
	}

	/* Add what another one has seen and is in no group. */
	void merge(const skeleton &)
	{
	}

	/* Once, at the end; the tables of the groups follow. A finding is what a person should
	 * know: what, where, the evidence for it, and what to do. */
	void report(pasta_out *out)
	{
		const kernel *most = nullptr;
		uint64_t all = 0;

		for (const kernel &k : g.kernels) {
			all += k.total;
			if (!most || k.total > most->total)
				most = &k;
		}
		if (!most || most->total <= all / 2)
			return;
		const std::string evidence = std::to_string(100 * most->total / all) +
					     "% of it, in " + std::to_string(most->count) + " runs";

		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
				 .what = "most device time is in one kernel",
				 .where = pasta_name(most->key.name), .evidence = evidence.c_str(),
				 .action = "begin with that one");
	}

      private:
	groups &g;
};

using tool = pasta::adapter<skeleton>;

const pasta_option options[] = {
	{"top", "10", "rows of the table; 0: all", PASTA_OPTION_NUMBER},
	{},
};

/* The columns of the table, and how two rows of one kernel become one: <pasta/group.h>. */
const pasta_member members[] = {
	PASTA_MEMBER(NAME, kernel, key.name, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(SUM, kernel, count, .column = "count"),
	PASTA_MEMBER(SUM, kernel, total, .column = "total", .unit = "ns"),
	{},
};
const pasta_group_def groups[] = {
	PASTA_GROUP(tool::state, groups.kernels, kernel, members, .table = "skeleton",
		    .order = "-total kernel", .limit_option = "top"),
	{},
};

} // namespace

PASTA_TOOL(.name = "skeleton", .summary = "kernels by name: how often and how long",
	   .events = PASTA_MASK(KERNEL), .flags = PASTA_TOOL_SHARDED,
	   .state_size = sizeof(tool::state), .options = options, .groups = groups,
	   .open = tool::open, .event = tool::event, .merge = tool::merge, .report = tool::report,
	   .close = tool::close);
