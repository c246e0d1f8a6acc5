/* workload - reports the work of each layer, operator and kernel: FLOPs, bytes, and what limits
 * them. */
#include <math.h>
#include <stdio.h>

#include <pasta/tool.h>

/* The work of a row. FLOPs and bytes are the least that the operators need. */
struct amount {
	uint64_t time, launches, flops, bytes;
	/* ns for which a roof is known, and the roofs in that time */
	uint64_t known, roof;
};

/* A layer in one phase. */
struct layer {
	struct {
		uint32_t proc, device, layer, phase;
	} key;
	struct amount amount;
	uint64_t working_set, modules, wait, memory, compute;
	uint32_t bound;
};

/* The calls of an operator with the same inputs, in one layer and phase. */
struct op {
	struct {
		uint32_t proc, device, layer, phase, op, inputs;
	} key;
	struct amount amount;
};

struct kernel {
	struct {
		uint32_t proc, device, kernel, dtype;
	} key;
	struct amount amount;
	uint64_t tail;
	uint32_t flags;
};

struct chain {
	struct {
		uint32_t proc, device, layer, phase, ops, inputs, length;
	} key;
	uint64_t chains, kernels, time, bytes, saving;
};

struct workload {
	struct pasta_diagnosis *diagnosis;
	struct pasta_group *layers, *ops, *kernels, *chains;
	uint32_t devices; /* 0, 1, or 2 for more than one */
};

static const char *const phases[] = {"forward", "backward", "optimizer", NULL};
static const char *const bounds[] = {"unknown",	      "memory",	 "compute", "launch",
				     "communication", "latency", NULL};

/* -- Columns -- */

/* Returns a number per second, or no value if the time or the number is 0. */
static double rate(uint64_t number, uint64_t ns)
{
	return number && ns ? (double)number / (double)ns * 1e9 : __builtin_nan("");
}

/* Returns the name of the row's device, if the run has several devices. All keys begin with the
 * numbers of the process and of the device. */
static const char *device_name(const void *row, const void *state, char *text, size_t size)
{
	const struct workload *s = state;
	const uint32_t *key = row;

	return s->devices > 1 ? pasta_device(key[0], key[1])->text : NULL;
}

/* Defines the columns that all rows with a struct amount have. */
#define AMOUNT_FUNCTIONS(row)                                                                      \
	static double row##_speed(const void *r, const void *state)                                \
	{                                                                                          \
		const struct amount *a = &((const struct row *)r)->amount;                         \
		return rate(a->flops, a->time);                                                    \
	}                                                                                          \
	static double row##_bandwidth(const void *r, const void *state)                            \
	{                                                                                          \
		const struct amount *a = &((const struct row *)r)->amount;                         \
		return rate(a->bytes, a->time);                                                    \
	}                                                                                          \
	static double row##_intensity(const void *r, const void *state)                            \
	{                                                                                          \
		const struct amount *a = &((const struct row *)r)->amount;                         \
		return a->flops ? pasta_ratio(a->flops, a->bytes) : __builtin_nan("");             \
	}
AMOUNT_FUNCTIONS(layer)
AMOUNT_FUNCTIONS(op)
AMOUNT_FUNCTIONS(kernel)

#define AMOUNT_COLUMNS(row)                                                                        \
	PASTA_MEMBER(SUM, struct row, amount.time, .unit = "ns", .column = "time"),                \
		PASTA_MEMBER(SHARE, struct row, amount.time, .column = "share"),                   \
		PASTA_MEMBER_BY(RATIO, .ratio = row##_speed, .unit = "FLOP/s", .column = "speed",  \
				.flags = PASTA_MEMBER_REST),                                       \
		PASTA_MEMBER_BY(RATIO, .ratio = row##_bandwidth, .unit = "bytes/s",                \
				.column = "bandwidth", .flags = PASTA_MEMBER_REST),                \
		PASTA_MEMBER_OF(PERCENT, struct row, amount.roof, amount.known,                    \
				.column = "of_roof",                                               \
				.flags = PASTA_MEMBER_BLANK_ZERO | PASTA_MEMBER_REST),             \
		PASTA_MEMBER(SUM, struct row, amount.known),                                       \
		PASTA_MEMBER(SUM, struct row, amount.roof)
#define TOTAL_COLUMNS(row)                                                                         \
	PASTA_MEMBER(SUM, struct row, amount.launches, .column = "launches"),                      \
		PASTA_MEMBER(SUM, struct row, amount.flops, .unit = "FLOP", .column = "flops",     \
			     .flags = PASTA_MEMBER_BLANK_ZERO),                                    \
		PASTA_MEMBER(SUM, struct row, amount.bytes, .unit = "bytes", .column = "bytes",    \
			     .flags = PASTA_MEMBER_BLANK_ZERO),                                    \
		PASTA_MEMBER_BY(RATIO, .ratio = row##_intensity, .unit = "FLOP/byte",              \
				.column = "intensity", .flags = PASTA_MEMBER_REST)
#define POSITION_COLUMNS(row)                                                                      \
	PASTA_MEMBER(U32, struct row, key.proc), PASTA_MEMBER(U32, struct row, key.device),        \
		PASTA_MEMBER_BY(TEXT, .text = device_name, .column = "device",                     \
				.flags = PASTA_MEMBER_OPTIONAL)
#define LAYER_COLUMNS(row)                                                                         \
	PASTA_MEMBER(NAME, struct row, key.layer, .column = "layer", .none = "(none)"),            \
		PASTA_MEMBER(ENUM, struct row, key.phase, .names = phases, .column = "phase")

/* The numbers behind the column `bound`, in percent of the layer's time. */
static const char *layer_evidence(const void *row, const void *state, char *text, size_t size)
{
	const struct layer *l = row;
	uint64_t time = l->amount.time;

	switch (l->bound) {
	case PASTA_BOUND_LAUNCH:
		snprintf(text, size, "idle for %.3f ms", (double)l->wait / 1e6);
		return text;
	case PASTA_BOUND_COMMUNICATION:
		return "collectives";
	case PASTA_BOUND_UNKNOWN:
		return l->amount.known ? "too few formulas" : "no formula or no peaks";
	default:
		snprintf(text, size, "%.0f%% memory, %.0f%% compute",
			 pasta_percent(l->memory, time), pasta_percent(l->compute, time));
		return text;
	}
}

static const struct pasta_member layer_members[] = {
	POSITION_COLUMNS(layer),
	LAYER_COLUMNS(layer),
	PASTA_MEMBER(U64, struct layer, modules, .column = "modules",
		     .flags = PASTA_MEMBER_OPTIONAL | PASTA_MEMBER_BLANK_ZERO),
	AMOUNT_COLUMNS(layer),
	PASTA_MEMBER(ENUM, struct layer, bound, .names = bounds, .column = "bound"),
	PASTA_MEMBER_BY(TEXT, .text = layer_evidence, .column = "evidence"),
	TOTAL_COLUMNS(layer),
	PASTA_MEMBER(MAX, struct layer, working_set, .unit = "bytes", .column = "working_set",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_SUMS(struct layer, wait, compute),
	{0},
};

static const struct pasta_member op_members[] = {
	POSITION_COLUMNS(op),
	LAYER_COLUMNS(op),
	PASTA_MEMBER(NAME, struct op, key.op, .column = "op", .role = PASTA_ROLE_OP,
		     .none = "(none)"),
	PASTA_MEMBER(NAME, struct op, key.inputs, .column = "inputs", .none = "",
		     .flags = PASTA_MEMBER_OPTIONAL),
	AMOUNT_COLUMNS(op),
	TOTAL_COLUMNS(op),
	{0},
};

static bool uses_tensor_cores(const void *row, const void *state)
{
	return ((const struct kernel *)row)->flags & PASTA_WORK_MATRIX;
}

static const char *tensor_cores(const void *row, const void *state, char *text, size_t size)
{
	if (!uses_tensor_cores(row, state))
		return "";
	return ((const struct kernel *)row)->flags & PASTA_WORK_TENSOR_CORE ? "yes" : "no";
}

static const struct pasta_member kernel_members[] = {
	POSITION_COLUMNS(kernel),
	PASTA_MEMBER(NAME, struct kernel, key.kernel, .column = "kernel",
		     .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(NAME, struct kernel, key.dtype, .column = "dtype", .none = "",
		     .flags = PASTA_MEMBER_OPTIONAL),
	AMOUNT_COLUMNS(kernel),
	PASTA_MEMBER_BY(TEXT, .text = tensor_cores, .column = "tensor_cores"),
	TOTAL_COLUMNS(kernel),
	PASTA_MEMBER(SUM, struct kernel, tail, .unit = "ns", .column = "tail",
		     .flags = PASTA_MEMBER_OPTIONAL | PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(U32, struct kernel, flags),
	{0},
};

static const struct pasta_member chain_members[] = {
	POSITION_COLUMNS(chain),
	LAYER_COLUMNS(chain),
	PASTA_MEMBER(NAME, struct chain, key.ops, .column = "ops"),
	PASTA_MEMBER(NAME, struct chain, key.inputs, .column = "inputs", .none = ""),
	PASTA_MEMBER(U32, struct chain, key.length, .column = "length"),
	PASTA_MEMBER(SUM, struct chain, chains, .column = "chains"),
	PASTA_MEMBER(SUM, struct chain, kernels, .column = "kernels"),
	PASTA_MEMBER(SUM, struct chain, time, .unit = "ns", .column = "time"),
	PASTA_MEMBER(SUM, struct chain, bytes, .unit = "bytes", .column = "fused_bytes"),
	PASTA_MEMBER(SUM, struct chain, saving, .unit = "ns", .column = "saving",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct workload, layers, struct layer, layer_members, .table = "layers",
		    .order = "-time layer phase", .limit_option = "layers",
		    .flags = PASTA_GROUP_REST, .rest = "other layers"),
	PASTA_GROUP(struct workload, ops, struct op, op_members, .table = "operators",
		    .order = "-time op layer phase inputs", .limit_option = "operators",
		    .flags = PASTA_GROUP_REST, .rest = "other operators"),
	PASTA_GROUP(struct workload, kernels, struct kernel, kernel_members, .table = "kernels",
		    .order = "-time kernel dtype", .limit_option = "kernels",
		    .flags = PASTA_GROUP_REST, .rest = "other kernels"),
	PASTA_GROUP(struct workload, chains, struct chain, chain_members, .table = "chains",
		    .order = "-time ops layer phase inputs", .limit_option = "chains",
		    .flags = PASTA_GROUP_OPTIONAL | PASTA_GROUP_REST, .rest = "other chains"),
	{0},
};

/* -- Rows -- */

static uint64_t whole(double number)
{
	return number >= 0x1p63 ? UINT64_MAX / 2 : number > 0 ? (uint64_t)llround(number) : 0;
}

static void add_amount(struct amount *to, const struct pasta_work *w)
{
	to->time += w->ns;
	to->launches += w->launches;
	to->flops += whole(w->flops);
	to->bytes += whole(w->bytes);
	if (w->roof <= 0)
		return;
	to->known += w->ns;
	to->roof += whole(w->roof);
}

static void add_work(const struct workload *s)
{
	const struct pasta_work *w;

	for (size_t at = 0; (w = pasta_diagnosis_work(s->diagnosis, &at));) {
		struct op *op = PASTA_ROW(s->ops, struct op, w->proc, w->device, w->layer, w->phase,
					  w->op, w->inputs);
		struct layer *layer =
			PASTA_ROW(s->layers, struct layer, w->proc, w->device, w->layer, w->phase);
		struct kernel *kernel;

		add_amount(&op->amount, w);
		add_amount(&layer->amount, w);
		if (!w->kernel)
			continue;
		kernel = PASTA_ROW(s->kernels, struct kernel, w->proc, w->device, w->kernel,
				   w->dtype);
		add_amount(&kernel->amount, w);
		kernel->tail += whole(w->tail);
		kernel->flags |= w->flags;
	}
}

static void add_layers(const struct workload *s)
{
	const struct pasta_layer *l;

	for (size_t at = 0; (l = pasta_diagnosis_layer(s->diagnosis, &at));) {
		struct layer *layer =
			PASTA_ROW(s->layers, struct layer, l->proc, l->device, l->layer, l->phase);

		layer->modules = l->count;
		layer->working_set = l->working_set;
		layer->bound = l->bound;
		layer->wait = l->wait;
		layer->memory = whole(l->memory);
		layer->compute = whole(l->compute);
	}
}

static void add_chains(const struct workload *s)
{
	const struct pasta_chain *c;

	for (size_t at = 0; (c = pasta_diagnosis_chain(s->diagnosis, &at));) {
		struct chain *chain = PASTA_ROW(s->chains, struct chain, c->proc, c->device,
						c->layer, c->phase, c->ops, c->inputs, c->length);
		uint64_t roof = whole(c->roof);

		chain->chains += c->chains;
		chain->kernels += c->kernels;
		chain->time += c->ns;
		chain->bytes += whole(c->bytes);
		chain->saving += roof && roof < c->ns ? c->ns - roof : 0;
	}
}

static uint32_t count_devices(const struct workload *s)
{
	uint32_t last[2] = {UINT32_MAX, UINT32_MAX}, count = 0;
	const struct layer *l;

	for (size_t at = 0; (l = pasta_group_next(s->layers, &at)) && count < 2;) {
		count += l->key.proc != last[0] || l->key.device != last[1];
		last[0] = l->key.proc;
		last[1] = l->key.device;
	}
	return count;
}

/* -- Roofline -- */

enum { SPOTS = 200 };

/* Shows the first device's peaks as limits. */
static void draw_limits(struct pasta_chart *chart, const struct pasta_peaks *p)
{
	const struct {
		const char *name;
		double level;
	} levels[] = {{"float32", p->fp32}, {"tf32", p->tf32}, {"half", p->half}};

	if (p->memory > 0)
		pasta_chart_limit_slope(chart, "memory", p->memory);
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (levels[i].level > 0)
			pasta_chart_limit_level(chart, levels[i].name, levels[i].level);
}

static void draw_roofline(const struct workload *s, struct pasta_out *out)
{
	const struct pasta_chart_def def =
		PASTA_CHART_DEF(.type = PASTA_CHART_SCATTER, .name = "roofline",
				.x = {.name = "intensity",
				      .unit = "FLOP/byte",
				      .scale = PASTA_SCALE_LOG},
				.y = {.name = "speed", .unit = "FLOP/s", .scale = PASTA_SCALE_LOG},
				.value = {.name = "time", .unit = "ns"});
	struct pasta_chart *chart = NULL;
	const struct layer *l;
	size_t spots = 0;

	for (size_t at = 0; spots < SPOTS && (l = pasta_group_next_by(s->layers, "-time", &at));) {
		const struct amount *a = &l->amount;
		char label[256];

		if (!a->flops || !a->bytes || !a->time)
			continue;
		if (!chart) {
			chart = pasta_out_chart(out, &def);
			draw_limits(chart, pasta_device_peaks(l->key.proc, l->key.device));
		}
		snprintf(label, sizeof(label), "%s, %s",
			 l->key.layer ? pasta_str(l->key.layer) : "(none)", phases[l->key.phase]);
		pasta_chart_spot(chart, layer_intensity(l, s), layer_speed(l, s), (double)a->time,
				 label);
		spots++;
	}
}

/* -- Report -- */

static void note_peaks(const struct workload *s, struct pasta_out *out)
{
	const struct pasta_device_info *of[3] = {NULL, NULL, NULL};
	static const char *const what[] = {
		"the peaks of the devices were measured by 'accelprof doctor --measure'",
		"the peaks of the devices come from datasheets, which programs rarely reach",
		"the peaks of some devices are not known, so there are no roofs for them"};
	const struct layer *l;

	for (size_t at = 0; (l = pasta_group_next(s->layers, &at));) {
		const struct pasta_peaks *p = pasta_device_peaks(l->key.proc, l->key.device);

		of[p->measured	   ? 0
		   : p->memory > 0 ? 1
				   : 2] = pasta_device(l->key.proc, l->key.device);
	}
	for (size_t i = 0; i < 3; i++) {
		if (!of[i])
			continue;
		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what[i],
				 .evidence = of[i]->name[0] ? of[i]->name : of[i]->text,
				 .action =
					 i ? "run 'accelprof doctor --measure' on a machine with "
					     "this device, then report this run on the same machine"
					   : NULL);
	}
}

/* Reports how much of the time has a formula, because without inputs there is none. */
static void note_formulas(const struct workload *s, struct pasta_out *out)
{
	uint64_t time = PASTA_SUM(s->layers, struct layer, amount.time), with = 0;
	const struct op *op;

	for (size_t at = 0; (op = pasta_group_next(s->ops, &at));)
		with += op->amount.flops || op->amount.bytes ? op->amount.time : 0;
	if (!time || with >= time / 2)
		return;
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .what = pasta_out_text(out,
						"FLOPs and bytes are known for %.1f%% of the "
						"time",
						pasta_percent(with, time)),
			 .evidence =
				 "there are formulas for operators of PyTorch, and they need the "
				 "operators' inputs",
			 .action = "record operators with their inputs: accelprof run -t workload, "
				   "or torch.profiler with record_shapes=True");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct workload *s = state;

	add_work(s);
	add_layers(s);
	add_chains(s);
	s->devices = count_devices(s);
	note_peaks(s, out);
	note_formulas(s, out);
	draw_roofline(s, out);
	return pasta_out_groups(out, state, err);
}

static const struct pasta_option options[] = {
	{"layers", "50", "maximum number of rows of table 'layers'; 0: all", PASTA_OPTION_NUMBER},
	{"operators", "30", "maximum number of rows of table 'operators'; 0: all",
	 PASTA_OPTION_NUMBER},
	{"kernels", "30", "maximum number of rows of table 'kernels'; 0: all", PASTA_OPTION_NUMBER},
	{"chains", "20", "maximum number of rows of table 'chains'; 0: all", PASTA_OPTION_NUMBER},
	{0},
};

static const struct pasta_diagnosis_def diagnosis = PASTA_DIAGNOSIS(struct workload, diagnosis);

PASTA_TOOL(.name = "workload",
	   .summary = "FLOPs and bytes of layers, operators and kernels, and "
		      "what limits them",
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS | PASTA_NEED_PYTHON | PASTA_NEED_MODULES,
	   .flags = PASTA_TOOL_SHARDED, .charts = PASTA_CHART_MASK(SCATTER),
	   .state_size = sizeof(struct workload), .options = options, .groups = groups,
	   .report = report, .diagnosis = &diagnosis);
