/* layer.c - finds the layer and the phase of work: which modules of a model a kernel belongs to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "process/diagnosis/workset.h"

enum { FRAMES = 256, DEPTH = 64, TEXT = 4096 };

/* A module or line that was found, and its layer. */
struct layerspot {
	struct pasta_layerplace place;
	uint32_t known;
};

struct pasta_layers {
	struct pasta_map *folded; /* by module: its layer, uint32_t */
	struct pasta_map *paths;  /* by process and call path: struct layerspot */
	struct pasta_map *phases; /* by scope: phase plus 1, uint32_t */
	int error;
};

struct pasta_layers *pasta_layers_new(void)
{
	struct pasta_layers *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->folded = pasta_map_new(sizeof(uint32_t));
	l->paths = pasta_map_new(sizeof(struct layerspot));
	l->phases = pasta_map_new(sizeof(uint32_t));
	if (l->folded && l->paths && l->phases)
		return l;
	pasta_layers_free(l);
	return NULL;
}

void pasta_layers_free(struct pasta_layers *l)
{
	if (!l)
		return;
	pasta_map_free(l->phases);
	pasta_map_free(l->paths);
	pasta_map_free(l->folded);
	free(l);
}

int pasta_layers_error(const struct pasta_layers *l)
{
	return l->error;
}

static uint32_t layer_intern(struct pasta_layers *l, const char *text, size_t size)
{
	uint32_t id = size ? pasta_strings_add(text, size) : 0;

	if (size && !id)
		l->error = -ENOMEM;
	return id;
}

/* -- Modules -- */

uint32_t pasta_layer_fold(const char *path)
{
	char text[TEXT];
	size_t size = 0;

	for (const char *p = path; *p && size < sizeof(text) - 1; size++) {
		if (*p < '0' || *p > '9') {
			text[size] = *p++;
			continue;
		}
		text[size] = '*';
		while (*p >= '0' && *p <= '9')
			p++;
	}
	return pasta_strings_add(text, size);
}

static uint32_t layer_of_module(struct pasta_layers *l, uint32_t module)
{
	uint32_t *layer = pasta_map_add(l->folded, module);

	if (layer && !*layer)
		*layer = pasta_layer_fold(pasta_str(module));
	if (!layer || !*layer)
		l->error = -ENOMEM;
	return layer ? *layer : 0;
}

/* Appends a name to a path of names. Returns the size of the path. */
static size_t layer_append(char *text, size_t size, const char *name, size_t length)
{
	size_t room = TEXT - size;

	if (length + 1 > room)
		return size;
	if (size)
		text[size++] = '.';
	memcpy(text + size, name, length);
	return size + length;
}

/* PyTorch's profiler has a function "nn.Module: GPT2Block_3" for each call of a module. Joins the
 * names of these functions, from the outermost to the innermost. The layer is the path without the
 * numbers of the modules. */
static void layer_from_frames(struct pasta_layers *l, const struct pasta_stack_frame *frames,
			      size_t count, struct pasta_layerplace *place)
{
	static const char head[] = "nn.Module: ";
	char module[TEXT], layer[TEXT];
	size_t module_size = 0, layer_size = 0;

	while (count-- > 0) {
		const char *name = frames[count].function, *number;

		if (strncmp(name, head, sizeof(head) - 1) != 0)
			continue;
		name += sizeof(head) - 1;
		number = strrchr(name, '_');
		if (!number || !number[1] || number[1 + strspn(number + 1, "0123456789")])
			number = name + strlen(name);
		module_size = layer_append(module, module_size, name, strlen(name));
		layer_size = layer_append(layer, layer_size, name, (size_t)(number - name));
	}
	place->module = layer_intern(l, module, module_size);
	place->layer = layer_intern(l, layer, layer_size);
}

/* Without modules, the functions "GPT2Block.forward" on the call path show the modules' classes.
 * Joins the names of the classes like layer_from_frames. Returns 0 if there are none. */
static uint32_t layer_from_classes(struct pasta_layers *l, const struct pasta_stack_frame *frames,
				   size_t count)
{
	static const char tail[] = ".forward";
	char text[TEXT];
	size_t size = 0;

	while (count-- > 0) {
		const char *name = frames[count].function, *class = name;
		size_t length = strlen(name);

		if (length < sizeof(tail) || strcmp(name + length - (sizeof(tail) - 1), tail) != 0)
			continue;
		length -= sizeof(tail) - 1;
		for (const char *p = name; p < name + length; p++)
			class = *p == '.' ? p + 1 : class;
		size = layer_append(text, size, class, length - (size_t)(class - name));
	}
	return layer_intern(l, text, size);
}

/* Returns the innermost line outside of PyTorch itself, or else the innermost line. */
static uint32_t layer_line(struct pasta_layers *l, const struct pasta_stack_frame *frames,
			   size_t count)
{
	const struct pasta_stack_frame *found = NULL;
	char text[1024];

	for (size_t i = 0; i < count; i++) {
		if (!frames[i].file[0] || frames[i].file[0] == '<')
			continue;
		if (!found)
			found = &frames[i];
		if (!strstr(frames[i].file, "/torch/")) {
			found = &frames[i];
			break;
		}
	}
	if (!found)
		return 0;
	pasta_stack_frame_text(found, text, sizeof(text));
	return layer_intern(l, text, strlen(text));
}

static struct pasta_layerplace layer_from_path(struct pasta_layers *l, uint32_t proc, uint32_t path)
{
	struct layerspot *spot = pasta_map_add(l->paths, (uint64_t)proc << 32 | path);
	struct pasta_stack_frame frames[FRAMES];
	size_t count;

	if (!spot) {
		l->error = -ENOMEM;
		return (struct pasta_layerplace){0};
	}
	if (spot->known)
		return spot->place;
	spot->known = 1;
	count = pasta_stack_frames(proc, path, frames, FRAMES);
	count = count < FRAMES ? count : FRAMES;
	layer_from_frames(l, frames, count, &spot->place);
	if (!spot->place.module)
		spot->place.fallback = layer_from_classes(l, frames, count);
	if (!spot->place.module && !spot->place.fallback)
		spot->place.fallback = layer_line(l, frames, count);
	return spot->place;
}

struct pasta_layerplace pasta_layers_find(struct pasta_layers *l, const struct pasta_event *ev,
					  const struct pasta_where *where)
{
	struct pasta_layerplace place = {.module = where->module};
	const struct pasta_scope *scope = where->scope;

	if (place.module) {
		place.layer = layer_of_module(l, place.module);
		return place;
	}
	if (where->python)
		place = layer_from_path(l, ev->proc, where->python);
	if (place.module || place.fallback || !scope)
		return place;
	/* Without a line, the outermost operator describes the work best. */
	scope = scope->ops ? scope->ops : scope;
	for (unsigned int i = 0; i < DEPTH && scope->up; i++)
		scope = scope->up;
	place.fallback = scope->name;
	return place;
}

/* -- Phases -- */

static bool layer_begins(const char *name, const char *head)
{
	return !strncmp(name, head, strlen(head));
}

/* Returns the phase that a scope's own name states, plus 1; 0: none. */
static uint32_t layer_named_phase(const struct pasta_scope *scope)
{
	const char *name = pasta_str(scope->name);

	if (layer_begins(name, "Optimizer.step"))
		return PASTA_TRAIN_OPTIMIZER + 1;
	if (layer_begins(name, "autograd::engine::evaluate_function") ||
	    layer_begins(name, "torch::autograd::"))
		return PASTA_TRAIN_BACKWARD + 1;
	return 0;
}

uint32_t pasta_layers_phase(struct pasta_layers *l, const struct pasta_where *where)
{
	uint32_t phase = 0, *known;

	if (where->scope) {
		known = pasta_map_add(l->phases, where->scope->id);
		if (!known) {
			l->error = -ENOMEM;
			return PASTA_TRAIN_FORWARD;
		}
		phase = *known ? *known - 1 : 0;
		if (!*known) {
			const struct pasta_scope *scope = where->scope;

			for (unsigned int i = 0; i < DEPTH && scope && !phase; i++) {
				phase = layer_named_phase(scope);
				scope = scope->up;
			}
			*known = phase + 1;
		}
	}
	/* A gradient may be computed in an optimizer's step, so the scope decides first. */
	if (phase)
		return phase - 1;
	return where->flags & PASTA_WHERE_BACKWARD ? PASTA_TRAIN_BACKWARD : PASTA_TRAIN_FORWARD;
}
