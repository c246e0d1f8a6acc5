/* roctables.c - reads the tables of a rocprofv3 trace, to which its records refer by number. */
#include "import/roctables.h"

#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/strings.h"
#include "import/digits.h"

enum { AGENT_GPU = 2 }; /* type of an agent */

int pasta_roctables_open(struct pasta_roctables *x, struct pasta_trace *t)
{
	*x = (struct pasta_roctables){.t = t};
	x->agents = pasta_map_new(sizeof(struct pasta_rocagent));
	x->objects = pasta_map_new(sizeof(struct pasta_rocobject));
	x->symbols = pasta_map_new(sizeof(struct pasta_rocsymbol));
	x->messages = pasta_map_new(sizeof(struct pasta_roctext));
	x->kinds = pasta_map_new(sizeof(struct pasta_roctext));
	x->operations = pasta_map_new(sizeof(struct pasta_roctext));
	if (x->agents && x->objects && x->symbols && x->messages && x->kinds && x->operations)
		return 0;
	return pasta_fail(t->err, -ENOMEM, "out of memory");
}

void pasta_roctables_close(struct pasta_roctables *x)
{
	pasta_map_free(x->agents);
	pasta_map_free(x->objects);
	pasta_map_free(x->symbols);
	pasta_map_free(x->messages);
	pasta_map_free(x->kinds);
	pasta_map_free(x->operations);
	free(x->text);
	free(x->by_address);
	*x = (struct pasta_roctables){0};
}

static const char *no_memory(struct pasta_roctables *x)
{
	pasta_fail(x->t->err, -ENOMEM, "out of memory");
	return NULL;
}

/* -- Values -- */

static bool number_of(const struct pasta_jsontape *tape, uint32_t token, uint64_t *value)
{
	struct pasta_slice s = pasta_jsontape_text(tape, token);

	return token && tape->tokens[token].type == PASTA_JSON_NUMBER &&
	       !pasta_digits(s.at, s.size, 0, value);
}

bool pasta_roc_number(const struct pasta_jsontape *tape, uint32_t object, const char *name,
		      uint64_t *value)
{
	return number_of(tape, pasta_jsontape_get(tape, object, name), value);
}

uint32_t pasta_roc_u32(const struct pasta_jsontape *tape, uint32_t object, const char *name)
{
	uint64_t value;

	if (!pasta_roc_number(tape, object, name, &value))
		return 0;
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static bool hexadecimal(struct pasta_slice s, uint64_t *value)
{
	char text[24] = "", *end;

	if (s.size < 3 || s.size >= sizeof(text) || s.at[0] != '0' || (s.at[1] | 0x20) != 'x')
		return false;
	memcpy(text, s.at, s.size);
	*value = strtoull(text, &end, 16);
	return !*end && s.size <= 18;
}

bool pasta_roc_handle(const struct pasta_jsontape *tape, uint32_t object, const char *name,
		      uint64_t *value)
{
	uint32_t token = pasta_jsontape_get(tape, object, name);

	if (token && tape->tokens[token].type == PASTA_JSON_OBJECT)
		token = pasta_jsontape_get(tape, token, "handle");
	if (token && tape->tokens[token].type == PASTA_JSON_STRING)
		return hexadecimal(pasta_jsontape_text(tape, token), value);
	return number_of(tape, token, value);
}

/* -- Text -- */

/* Makes room for `size` more bytes. Returns NULL when out of memory. */
static char *text_room(struct pasta_roctables *x, size_t size)
{
	size_t capacity = 2 * x->text_capacity + size + 4096;
	char *text;

	if (x->text && x->text_capacity - x->text_size >= size)
		return x->text + x->text_size;
	text = realloc(x->text, capacity);
	if (!text) {
		no_memory(x);
		return NULL;
	}
	x->text = text;
	x->text_capacity = capacity;
	return text + x->text_size;
}

/* Appends a string of the tape to a text, which must be the last text in the buffer. */
static void add_text(struct pasta_roctables *x, const struct pasta_jsontape *tape, uint32_t token,
		     struct pasta_roctext *text)
{
	struct pasta_slice from = pasta_jsontape_text(tape, token);
	size_t size = from.size;
	char *to;

	if (!token || tape->tokens[token].type != PASTA_JSON_STRING)
		return;
	to = text_room(x, size);
	if (!to)
		return;
	if (tape->tokens[token].flags & PASTA_JSON_ESCAPED)
		size = pasta_jsontape_unescape(from, to);
	else
		memcpy(to, from.at, size);
	x->text_size += size;
	text->size += (uint32_t)size;
}

static void store_text(struct pasta_roctables *x, const struct pasta_jsontape *tape, uint32_t token,
		       struct pasta_roctext *text)
{
	*text = (struct pasta_roctext){.at = x->text_size};
	add_text(x, tape, token, text);
}

uint32_t pasta_roctables_str(struct pasta_roctables *x, struct pasta_roctext *text)
{
	if (text && text->size && !text->id)
		text->id = pasta_trace_str(x->t, x->text + text->at, text->size);
	return text ? text->id : 0;
}

/* -- Agents -- */

/* Reads the agent's UUID. The file stores the UUID as 16 members "value0", "value1", ... */
static void read_uuid(const struct pasta_jsontape *tape, struct pasta_rocagent *agent)
{
	uint32_t uuid = pasta_jsontape_get(tape, 0, "uuid");
	uint32_t bytes = uuid ? pasta_jsontape_get(tape, uuid, "bytes") : 0;
	uint64_t half[2] = {0}, byte;
	char name[16];

	for (unsigned int i = 0; bytes && i < 16; i++) {
		snprintf(name, sizeof(name), "value%u", i);
		if (!pasta_roc_number(tape, bytes, name, &byte) || byte > 255)
			return;
		half[i / 8] = half[i / 8] << 8 | byte;
	}
	agent->uuid_hi = half[0];
	agent->uuid_lo = half[1];
}

static uint64_t memory_of(const struct pasta_jsontape *tape)
{
	uint32_t banks = pasta_jsontape_get(tape, 0, "mem_banks");
	uint64_t sum = 0, size;

	if (!banks || tape->tokens[banks].type != PASTA_JSON_ARRAY)
		return 0;
	for (uint32_t i = banks + 1; i < tape->tokens[banks].next; i = tape->tokens[i].next)
		if (pasta_roc_number(tape, i, "size_in_bytes", &size))
			sum += size;
	return sum;
}

const char *pasta_roctables_agent(struct pasta_roctables *x, const struct pasta_jsontape *tape)
{
	struct pasta_rocagent *agent;
	uint64_t handle, device;

	if (!pasta_roc_handle(tape, 0, "id", &handle))
		return "an agent has no id";
	agent = pasta_map_add(x->agents, handle);
	if (!agent)
		return no_memory(x);
	agent->described = true;
	agent->gpu = pasta_roc_u32(tape, 0, "type") == AGENT_GPU;
	if (!agent->gpu)
		return NULL;
	agent->device = x->gpus;
	if (pasta_roc_number(tape, 0, "logical_node_type_id", &device) && device < UINT32_MAX)
		agent->device = (uint32_t)device;
	if (x->gpus <= agent->device)
		x->gpus = agent->device + 1;
	agent->gfx = pasta_roc_u32(tape, 0, "gfx_target_version");
	agent->units = pasta_roc_u32(tape, 0, "cu_count");
	agent->clock_mhz = pasta_roc_u32(tape, 0, "max_engine_clk_fcompute");
	agent->memory = memory_of(tape);
	read_uuid(tape, agent);
	store_text(x, tape, pasta_jsontape_get(tape, 0, "name"), &agent->name);
	store_text(x, tape, pasta_jsontape_get(tape, 0, "product_name"), &agent->product);
	return NULL;
}

const struct pasta_rocagent *pasta_roctables_gpu(struct pasta_roctables *x, uint64_t handle)
{
	struct pasta_rocagent *agent = pasta_map_find(x->agents, handle);

	if (agent)
		return agent;
	agent = pasta_map_add(x->agents, handle);
	if (!agent) {
		no_memory(x);
		return NULL;
	}
	agent->gpu = true;
	agent->device = x->gpus++;
	return agent;
}

/* -- Code -- */

const char *pasta_roctables_object(struct pasta_roctables *x, const struct pasta_jsontape *tape)
{
	struct pasta_rocobject *object;
	struct pasta_slice uri;
	uint64_t id;

	if (!pasta_roc_number(tape, 0, "code_object_id", &id))
		return "a code object has no code_object_id";
	if (!id) /* the first row of the table is empty */
		return NULL;
	object = pasta_map_add(x->objects, id);
	if (!object)
		return no_memory(x);
	pasta_roc_number(tape, 0, "load_base", &object->base);
	pasta_roc_number(tape, 0, "load_size", &object->size);
	pasta_roc_handle(tape, 0, "agent_id", &object->agent);
	store_text(x, tape, pasta_jsontape_get(tape, 0, "uri"), &object->uri);
	uri = pasta_roctables_slice(x, &object->uri);
	object->hash = XXH3_64bits_withSeed(uri.at, uri.size, object->size);
	return NULL;
}

static void drop_end(const struct pasta_roctables *x, struct pasta_roctext *text, const char *end)
{
	size_t size = strlen(end);

	if (text->size > size && !memcmp(x->text + text->at + text->size - size, end, size))
		text->size -= (uint32_t)size;
}

const char *pasta_roctables_symbol(struct pasta_roctables *x, const struct pasta_jsontape *tape)
{
	static const char *const names[] = {"formatted_kernel_name", "demangled_kernel_name",
					    "kernel_name"};
	struct pasta_rocsymbol *symbol;
	uint64_t id;

	if (!pasta_roc_number(tape, 0, "kernel_id", &id))
		return "a kernel symbol has no kernel_id";
	if (!id) /* the first row of the table is empty */
		return NULL;
	symbol = pasta_map_add(x->symbols, id);
	if (!symbol)
		return no_memory(x);
	symbol->registers = pasta_roc_u32(tape, 0, "arch_vgpr_count");
	pasta_roc_number(tape, 0, "code_object_id", &symbol->object);
	pasta_roc_handle(tape, 0, "kernel_address", &symbol->address);
	for (size_t i = 0; !symbol->name.size && i < sizeof(names) / sizeof(*names); i++)
		store_text(x, tape, pasta_jsontape_get(tape, 0, names[i]), &symbol->name);
	/* Remove the suffix of the kernel descriptor's symbol, in its demangled and in its plain
	 * form. */
	drop_end(x, &symbol->name, " [clone .kd]");
	drop_end(x, &symbol->name, ".kd");
	return NULL;
}

static int by_address(const void *a, const void *b)
{
	const struct pasta_rocsymbol *x = *(const struct pasta_rocsymbol *const *)a;
	const struct pasta_rocsymbol *y = *(const struct pasta_rocsymbol *const *)b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static void sort_symbols(struct pasta_roctables *x)
{
	struct pasta_rocsymbol *symbol;
	size_t at = 0;

	x->by_address = calloc(pasta_map_count(x->symbols) + 1, sizeof(*x->by_address));
	if (!x->by_address) {
		no_memory(x);
		return;
	}
	while ((symbol = pasta_map_next(x->symbols, &at, NULL)))
		if (symbol->address)
			x->by_address[x->by_address_count++] = symbol;
	qsort(x->by_address, x->by_address_count, sizeof(*x->by_address), by_address);
}

struct pasta_rocsymbol *pasta_roctables_symbol_at(struct pasta_roctables *x, uint64_t object,
						  uint64_t offset)
{
	const struct pasta_rocobject *o = pasta_map_find(x->objects, object);
	struct pasta_rocsymbol key = {.object = object};
	struct pasta_rocsymbol *at = &key, *found;
	size_t low = 0, high;

	if (!o || offset >= o->size)
		return NULL;
	if (!x->by_address)
		sort_symbols(x);
	key.address = o->base + offset;
	for (high = x->by_address_count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (by_address(&x->by_address[middle], &at) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	found = low ? x->by_address[low - 1] : NULL;
	return found && found->object == object && found->address >= o->base ? found : NULL;
}

/* -- Strings -- */

/* {"kind": "HIP_RUNTIME_API", "operations": [...]} */
const char *pasta_roctables_kind(struct pasta_roctables *x, const struct pasta_jsontape *tape)
{
	uint32_t list = pasta_jsontape_get(tape, 0, "operations");
	uint64_t kind = pasta_map_count(x->kinds), operation = 0;
	struct pasta_roctext *text = pasta_map_add(x->kinds, kind);

	if (!text)
		return no_memory(x);
	store_text(x, tape, pasta_jsontape_get(tape, 0, "kind"), text);
	if (!list || tape->tokens[list].type != PASTA_JSON_ARRAY)
		return "a record kind has no list of operations";
	for (uint32_t i = list + 1; i < tape->tokens[list].next; i = tape->tokens[i].next) {
		text = pasta_map_add(x->operations, kind << 32 | operation++);
		if (!text)
			return no_memory(x);
		store_text(x, tape, i, text);
	}
	return NULL;
}

/* {"key": correlation, "value": message} */
const char *pasta_roctables_message(struct pasta_roctables *x, const struct pasta_jsontape *tape)
{
	struct pasta_roctext *text;
	uint64_t key;

	if (!pasta_roc_number(tape, 0, "key", &key))
		return "the message of a marker has no key";
	text = pasta_map_add(x->messages, key);
	if (!text)
		return no_memory(x);
	store_text(x, tape, pasta_jsontape_get(tape, 0, "value"), text);
	return NULL;
}

/* -- Process, devices and modules -- */

const char *pasta_roctables_metadata(struct pasta_roctables *x, const struct pasta_jsontape *tape)
{
	uint32_t command = pasta_jsontape_get(tape, 0, "command");
	uint32_t node = pasta_jsontape_get(tape, 0, "node");
	char *space;

	pasta_roc_number(tape, 0, "pid", &x->pid);
	if (node)
		store_text(x, tape, pasta_jsontape_get(tape, node, "hostname"), &x->host);
	x->command = (struct pasta_roctext){.at = x->text_size};
	if (!command || tape->tokens[command].type != PASTA_JSON_ARRAY)
		return NULL;
	for (uint32_t i = command + 1; i < tape->tokens[command].next; i = tape->tokens[i].next) {
		if (x->command.size && (space = text_room(x, 1))) {
			*space = ' ';
			x->text_size++;
			x->command.size++;
		}
		add_text(x, tape, i, &x->command);
	}
	return NULL;
}

/* Returns the string id of the agent's architecture. For example, the number 90402 stands for
 * gfx942: its parts are 9, 4 and 2, and the last two become hexadecimal digits. */
static uint32_t arch_of(struct pasta_roctables *x, struct pasta_rocagent *agent)
{
	struct pasta_slice name = pasta_roctables_slice(x, &agent->name);
	char text[32];
	int n;

	if (name.size > 3 && !memcmp(name.at, "gfx", 3))
		return pasta_roctables_str(x, &agent->name);
	if (!agent->gfx)
		return 0;
	n = snprintf(text, sizeof(text), "gfx%u%x%x", agent->gfx / 10000, agent->gfx / 100 % 100,
		     agent->gfx % 100);
	return pasta_trace_str(x->t, text, (size_t)n);
}

static void put_device(struct pasta_roctables *x, struct pasta_rocagent *agent)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(device), .kind = PASTA_KIND_DEVICE};

	ev.device.memory = agent->memory;
	ev.device.uuid_hi = agent->uuid_hi;
	ev.device.uuid_lo = agent->uuid_lo;
	ev.device.name =
		pasta_roctables_str(x, agent->product.size ? &agent->product : &agent->name);
	ev.device.vendor = pasta_trace_str(x->t, "AMD", 3);
	ev.device.arch = arch_of(x, agent);
	ev.device.id = agent->device;
	ev.device.units = agent->units;
	ev.device.clock_mhz = agent->clock_mhz;
	pasta_trace_state(x->t, &ev);
}

static void put_module(struct pasta_roctables *x, uint64_t id, struct pasta_rocobject *object)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(module),
				 .kind = PASTA_KIND_MODULE,
				 .sub = PASTA_MODULE_LOAD};
	const struct pasta_rocagent *agent = pasta_map_find(x->agents, object->agent);

	ev.module.id = id;
	ev.module.addr = object->base;
	ev.module.bytes = object->size;
	ev.module.crc = object->hash;
	ev.module.name = pasta_roctables_str(x, &object->uri);
	ev.module.device = agent ? agent->device : 0;
	pasta_trace_state(x->t, &ev);
}

/* Returns a copy of the text, which lives as long as the process. */
static const char *permanent_text(const struct pasta_roctables *x, const struct pasta_roctext *text)
{
	return text->size ? pasta_str(pasta_strings_add(x->text + text->at, text->size)) : NULL;
}

void pasta_roctables_state(struct pasta_roctables *x, struct pasta_trace_world *world)
{
	struct pasta_rocobject *object;
	struct pasta_rocagent *agent;
	size_t at = 0;
	uint64_t id;

	world->pid = (uint32_t)x->pid;
	world->command = permanent_text(x, &x->command);
	world->host = permanent_text(x, &x->host);
	while (pasta_trace_enabled(x->t, PASTA_MASK(DEVICE)) &&
	       (agent = pasta_map_next(x->agents, &at, NULL)))
		if (agent->gpu && agent->described) {
			put_device(x, agent);
			world->kinds |= PASTA_MASK(DEVICE);
		}
	at = 0;
	while (pasta_trace_enabled(x->t, PASTA_MASK(MODULE)) &&
	       (object = pasta_map_next(x->objects, &at, &id))) {
		put_module(x, id, object);
		world->kinds |= PASTA_MASK(MODULE);
	}
}
