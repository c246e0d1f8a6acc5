/* skeleton - kernels by name: how often they ran, and for how long. */
#include <string>

#include <pasta/pasta.hpp>

namespace
{

/* A row: the values of one kernel. Replace them with the values that your tool counts. */
struct kernel {
	struct {
		uint32_t name; /* an interned string: pasta_str() has its text */
	} key;
	uint64_t count, total;
};

/* The tool's state. Do not use static variables: threads may fill several states at the same time,
 * each from a part of the run. An exception becomes the tool's error. */
class skeleton
{
      public:
	/* Rows by key. The framework creates, merges and frees them. */
	struct groups {
		pasta::group<kernel> kernels;
	};

	skeleton(groups &g, const pasta_opts *) : g(g)
	{
	}

	/* Called for each event of the kinds in .events, below; perhaps millions of times. The
	 * member with the name of the kind, such as ev.kernel, has its fields: see
	 * <pasta/events.def>. */
	void event(const pasta_event &ev, const pasta_where *)
	{
		kernel &k = g.kernels[{ev.kernel.name}];

		k.count++;
		k.total += ev.kernel.dur;
	}

	/* Merges another state. The groups are merged already. */
	void merge(const skeleton &)
	{
	}

	/* Called once, at the end; the tables of the groups follow. A finding is a conclusion for
	 * the user: what, where, the evidence for it, and what to do. */
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
					     "% of device time, in " + std::to_string(most->count) +
					     " launches";

		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
				 .what = "most device time is in one kernel",
				 .where = pasta_name(most->key.name), .evidence = evidence.c_str(),
				 .action = "optimize this kernel first");
	}

      private:
	groups &g;
};

using tool = pasta::adapter<skeleton>;

const pasta_option options[] = {
	{"top", "10", "rows of the table; 0: all", PASTA_OPTION_NUMBER},
	{},
};

/* The columns of the table, and how to merge two rows of one kernel: see <pasta/group.h>. */
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
