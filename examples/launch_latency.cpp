/*
 * launch_latency - the time from a launch to the start of its kernel, and the part of it in which
 * the kernel waited for earlier work of its stream.
 *
 * The rest of the latency is the cost of a launch, in the runtime and the driver. A program whose
 * kernels never wait for their stream launches work too slowly for the device.
 */
#include <algorithm>
#include <string>

#include <pasta/pasta.hpp>

namespace
{

struct kernel {
	struct {
		uint32_t name;
	} key;
	pasta_hist *latency;
	uint64_t queued; /* part of all latencies in which the stream was busy, ns */
};

/* A stream belongs to one process, and so to one shard. */
struct stream {
	struct {
		uint32_t proc, context, number;
	} key;
	uint64_t end; /* of the stream's last work so far */
};

class latency
{
      public:
	struct groups {
		pasta::group<kernel> kernels;
		pasta::group<stream> streams;
	};

	latency(groups &g, const pasta_opts *) : g(g)
	{
	}

	void event(const pasta_event &ev, const pasta_where *where)
	{
		switch (ev.kind) {
		case PASTA_KIND_KERNEL:
			on_kernel(ev, where);
			on_work(ev, ev.kernel.context, ev.kernel.stream, ev.kernel.dur);
			break;
		case PASTA_KIND_COPY:
			on_work(ev, ev.copy.context, ev.copy.stream, ev.copy.dur);
			break;
		case PASTA_KIND_SET:
			on_work(ev, ev.set.context, ev.set.stream, ev.set.dur);
			break;
		}
	}

	void merge(const latency &other)
	{
		unknown += other.unknown;
	}

	void report(pasta_out *out)
	{
		report_starved(out);
		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(unknown),
				 .what = "kernels without a launch before them",
				 .evidence = "the table leaves them out",
				 .action = "record launches, too, or check the clocks");
	}

      private:
	groups &g;
	uint64_t unknown = 0; /* kernels without a launch before them */

	void on_work(const pasta_event &ev, uint32_t context, uint32_t number, uint64_t dur)
	{
		uint64_t &end = g.streams[{ev.proc, context, number}].end;

		end = std::max(end, ev.time + dur);
	}

	/* All work of a graph has the same launch. */
	void on_kernel(const pasta_event &ev, const pasta_where *where)
	{
		if (ev.kernel.node)
			return;
		if (!(where->flags & PASTA_WHERE_LAUNCH) || where->launched > ev.time) {
			unknown++;
			return;
		}
		kernel &k = g.kernels[{ev.kernel.name}];
		const uint64_t end = g.streams[{ev.proc, ev.kernel.context, ev.kernel.stream}].end;

		g.kernels.add(k.latency, ev.time - where->launched);
		k.queued += std::clamp(end, where->launched, ev.time) - where->launched;
	}

	void report_starved(pasta_out *out)
	{
		uint64_t total = 0, queued = 0;

		for (const kernel &k : g.kernels) {
			total += pasta_hist_sum(k.latency);
			queued += k.queued;
		}
		if (!total || queued > total / 4)
			return;
		const std::string evidence = "of the time from launches to kernels, " +
					     std::to_string(100 * queued / total) +
					     "% is waiting for earlier work of the stream";

		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
				 .what = "kernels start as soon as they are launched",
				 .evidence = evidence.c_str(),
				 .action = "launch earlier, or fewer and larger kernels");
	}
};

using tool = pasta::adapter<latency>;

int64_t launch_mean(const void *row, const void *)
{
	const kernel &k = *static_cast<const kernel *>(row);

	return static_cast<int64_t>((pasta_hist_sum(k.latency) - k.queued) /
				    pasta_hist_count(k.latency));
}

const pasta_member kernel_members[] = {
	PASTA_MEMBER(NAME, kernel, key.name, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(HIST, kernel, latency, .column = "count,total=latency", .unit = "ns"),
	PASTA_MEMBER(SUM, kernel, queued, .column = "queued", .unit = "ns"),
	PASTA_MEMBER_BY(CALL, .column = "launch_mean", .unit = "ns", .call = launch_mean),
	PASTA_MEMBER(HIST, kernel, latency, .column = "min,p50,p99,max", .unit = "ns",
		     .flags = PASTA_MEMBER_MORE),
	{},
};
const pasta_member stream_members[] = {
	PASTA_MEMBER(U32, stream, key.proc),
	PASTA_MEMBER(U32, stream, key.context),
	PASTA_MEMBER(U32, stream, key.number),
	PASTA_MEMBER(MAX, stream, end),
	{},
};
const pasta_group_def groups[] = {
	PASTA_GROUP(tool::state, groups.kernels, kernel, kernel_members, .table = "launch_latency",
		    .order = "-latency kernel"),
	PASTA_GROUP(tool::state, groups.streams, stream, stream_members),
	{},
};

PASTA_TOOL(.name = "launch_latency",
	   .summary = "time from launches to their kernels, and time in the queue",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET),
	   .needs = PASTA_NEED_SCOPES, .state_size = sizeof(tool::state), .groups = groups,
	   .open = tool::open, .event = tool::event, .merge = tool::merge, .report = tool::report,
	   .close = tool::close);

} // namespace
