/* answertext.c - the texts of findings: what, where, evidence, and what to do. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/strings.h"
#include "process/diagnosis/answers.h"
#include "process/join/sourceline.h"
#include "process/sdk/kernelname.h"

enum { TEXT = 512, SHORT = 32 };

static const struct {
	const char *name, *what, *action;
} rules[PASTA_RULE_COUNT] = {
	[PASTA_RULE_NONE] = {"none", "", ""},
	[PASTA_RULE_LAUNCH_BOUND] = {"launch-bound", "the device waits for launches", ""},
	[PASTA_RULE_HOST] = {"host", "the device waits for code on the host",
			     "run this code on another thread"},
	[PASTA_RULE_SYNC] = {"sync", "a synchronization leaves the device idle",
			     "read results less often"},
	[PASTA_RULE_DATA] = {"data", "the device waits for input",
			     "add data loader workers, or prefetch"},
	[PASTA_RULE_SMALL_COPIES] = {"small-copies", "many small copies", "combine these copies"},
	[PASTA_RULE_PAGEABLE] = {"pageable", "copies of pageable memory",
				 "use pinned memory (pin_memory=True)"},
	[PASTA_RULE_ALLOCATOR] = {"allocator",
				  "the device waits while memory is allocated or freed",
				  "reuse memory: cache allocations"},
	[PASTA_RULE_RECOMPILATION] = {"recompilation",
				      "the device waits while code is compiled or loaded",
				      "compile before the loop, use few shapes"},
	[PASTA_RULE_MEMORY_BOUND] = {"memory-bound", "memory bandwidth limits this layer",
				     "fuse operators, or use a smaller type"},
	[PASTA_RULE_UNFUSED] = {"unfused",
				"a chain of elementwise operators that could be one kernel",
				"fuse these operators (torch.compile)"},
	[PASTA_RULE_TENSOR_CORES] = {"tensor-cores", "float32 products do not use tensor cores",
				     "allow TF32 or bfloat16 (less precise)"},
	[PASTA_RULE_LAYOUT] = {"layout", "kernels convert between nchw and nhwc",
			       "use memory_format=torch.channels_last"},
	[PASTA_RULE_COMMUNICATION] = {"communication", "communication that no computation hides",
				      "overlap communication and computation"},
	[PASTA_RULE_STRAGGLER] = {"straggler", "a rank is late", "balance the work of the ranks"},
	[PASTA_RULE_TAIL] = {"tail",
			     "the last thread blocks of a kernel leave multiprocessors idle",
			     "use a grid that fills all processors"},
	[PASTA_RULE_ANOMALY] = {"anomaly", "steps that take much longer than the others",
				"see the tool anomaly"},
};

const char *pasta_rule_name(uint32_t rule)
{
	return rule < PASTA_RULE_COUNT ? rules[rule].name : NULL;
}

/* Writes a time with three digits, such as "31.2 ms". */
static const char *text_time(double ns, char text[SHORT])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	size_t unit = 0;

	for (; ns >= 999.5 && unit < 3; unit++)
		ns /= 1000;
	snprintf(text, SHORT, "%.*f %s",
		 !unit || ns >= 99.95 ? 0
		 : ns >= 9.995	      ? 1
				      : 2,
		 ns, units[unit]);
	return text;
}

static const char *text_bytes(double bytes, char text[SHORT])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t unit = 0;

	for (; bytes >= 1023.5 && unit < 4; unit++)
		bytes /= 1024;
	snprintf(text, SHORT, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
	return text;
}

/* Interns a text, which then lives as long as the process. Returns NULL when out of memory. */
__attribute__((format(printf, 1, 2))) static const char *text_new(const char *fmt, ...)
{
	char text[TEXT];
	va_list args;
	uint32_t id;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!*text)
		return "";
	id = pasta_strings_add(text, strlen(text));
	return id ? pasta_str(id) : NULL;
}

/* Returns a count per step, or the count if the process has no steps. */
static double per_step(const struct pasta_window *w, double count)
{
	return w && w->steps ? count / (double)w->steps : count;
}

static const char *each_step(const struct pasta_window *w)
{
	return w && w->steps ? " per step" : "";
}

/* -- Evidence -- */

static const char *launch_evidence(struct pasta_diagnosis *d, const struct answer_draft *draft,
				   const struct pasta_window *w)
{
	const struct pasta_usage *u = pasta_answers_usage(d, draft->proc, draft->device);
	char kernel[SHORT], launch[SHORT];

	return text_new("%.0f launches%s; the median kernel takes %s, the median launch %s",
			per_step(w, w ? (double)w->launches : 0), each_step(w),
			text_time((double)u->kernel_p50, kernel),
			text_time((double)u->launch_p50, launch));
}

static const char *gap_evidence(const struct answer_draft *draft, const struct pasta_window *w)
{
	const char *detail = pasta_str(draft->detail);
	char longest[SHORT];

	return text_new("%.4g gaps%s, the longest %s%s%s", per_step(w, (double)draft->count),
			each_step(w), text_time(draft->most, longest), *detail ? ", in " : "",
			detail);
}

static const char *copy_evidence(const struct answer_draft *draft, const struct pasta_window *w)
{
	char bytes[SHORT], rate[SHORT];
	double count = (double)draft->count;

	if (draft->rule == PASTA_RULE_SMALL_COPIES)
		return text_new("%.4g copies of less than 64 KiB%s", per_step(w, count),
				each_step(w));
	return text_new("%.4g copies%s, %s on average, at %s/s", per_step(w, count), each_step(w),
			text_bytes(draft->least / count, bytes),
			text_bytes(1e9 * draft->least / draft->most, rate));
}

static const char *work_evidence(const struct answer_draft *draft, const struct pasta_window *w)
{
	const char *detail = pasta_str(draft->detail), *in = *detail ? ", most time in " : "";
	double count = per_step(w, (double)draft->count);

	switch (draft->rule) {
	case PASTA_RULE_TENSOR_CORES:
		return text_new("%.4g kernels%s at %.3g TFLOP/s%s%s", count, each_step(w),
				draft->least / draft->most / 1000, in, detail);
	case PASTA_RULE_UNFUSED:
		return text_new("%.4g chains of %.3g kernels%s%s%s", count,
				draft->least / (double)draft->count, each_step(w), in, detail);
	case PASTA_RULE_COMMUNICATION:
		return "";
	default:
		return text_new("%.4g launches%s%s%s", count, each_step(w), in, detail);
	}
}

static const char *rank_evidence(const struct answer_draft *draft, const struct pasta_window *w)
{
	const char *detail = pasta_str(draft->detail);
	char longest[SHORT];

	if (draft->rule == PASTA_RULE_STRAGGLER)
		return text_new("late in %.0f of %.0f collectives", (double)draft->count,
				draft->least);
	return text_new("%.0f of %.0f steps, the longest by %s%s%s", (double)draft->count,
			w ? (double)w->steps : 0, text_time(draft->most, longest),
			*detail ? ", mostly in " : "", detail);
}

static const char *draft_evidence(struct pasta_diagnosis *d, const struct answer_draft *draft,
				  const struct pasta_window *w)
{
	switch (draft->rule) {
	case PASTA_RULE_LAUNCH_BOUND:
		return launch_evidence(d, draft, w);
	case PASTA_RULE_HOST:
	case PASTA_RULE_SYNC:
	case PASTA_RULE_DATA:
	case PASTA_RULE_ALLOCATOR:
	case PASTA_RULE_RECOMPILATION:
		return gap_evidence(draft, w);
	case PASTA_RULE_STRAGGLER:
	case PASTA_RULE_ANOMALY:
		return rank_evidence(draft, w);
	case PASTA_RULE_SMALL_COPIES:
	case PASTA_RULE_PAGEABLE:
		return copy_evidence(draft, w);
	default:
		return work_evidence(draft, w);
	}
}

/* Returns whether a device is of this vendor. Traces of other profilers name only the model. */
static bool device_is_of(const struct answer_draft *draft, const char *vendor)
{
	const struct pasta_device_info *info = pasta_device(draft->proc, draft->device);

	return !strncmp(info->vendor, vendor, strlen(vendor)) ||
	       !strncmp(info->name, vendor, strlen(vendor));
}

/* How to launch less depends on the vendor and on the framework. */
static const char *launch_action(const struct answer_draft *draft)
{
	bool torch = !strncmp(pasta_str(draft->detail), "aten::", 6);

	if (device_is_of(draft, "NVIDIA"))
		return torch ? "use CUDA graphs or torch.compile"
			     : "use CUDA graphs, or larger kernels";
	if (device_is_of(draft, "AMD"))
		return torch ? "use HIP graphs or torch.compile"
			     : "use HIP graphs, or larger kernels";
	return "launch fewer, larger kernels";
}

bool pasta_answer_texts(const struct pasta_answers *as, const struct answer_draft *draft,
			struct pasta_answer *answer)
{
	struct pasta_diagnosis *d = pasta_answers_diagnosis(as);
	const struct pasta_window *w = pasta_answers_window(d, draft->proc);
	char line[TEXT];
	const char *subject;

	if (draft->rule == PASTA_RULE_TAIL) {
		pasta_kernelname_short(pasta_str(draft->subject), line, sizeof(line));
		subject = line;
	} else {
		subject = pasta_sourceline_text(draft->subject, false, line, sizeof(line));
	}
	answer->what = rules[draft->rule].what;
	answer->where = draft->subject ? text_new("%s", subject) : "";
	answer->evidence = draft_evidence(d, draft, w);
	if (answer->evidence && draft->devices > 1)
		answer->evidence = text_new("%s%sthe worst of %u devices", answer->evidence,
					    *answer->evidence ? "; " : "", draft->devices);
	answer->action = draft->rule == PASTA_RULE_LAUNCH_BOUND ? launch_action(draft)
								: rules[draft->rule].action;
	return answer->where && answer->evidence;
}
