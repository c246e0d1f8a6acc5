/* pystack.c - Python's frames, read where they lie, to nodes of call paths. */
#include "handlers/torch/pystack.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collect/agent.h"
#include "collect/stack.h"
#include "core/pathnode.h"
#include "handlers/torch/pyabi.h"

enum {
	PATHS = 1024, /* that a thread knows the nodes of */
	NODES = 4096, /* likewise */
	TEXT = 1000,  /* characters of a name; longer ones are cut */
	LINKS = 1024, /* frames to look at, C's included */
};

/*
 * A place in a function. Code objects are freed, and others made where they were: the strings'
 * addresses and the first line tell them apart. One that has all three in common, at the same
 * address, is the same function of a file, compiled again.
 */
struct place {
	uint64_t code, file, name;
	int32_t line; /* the first one */
	int32_t at;   /* bytes into the code; < 0: before it */
};

struct known {
	uint64_t hash;
	uint32_t id; /* 0: empty */
};

/* A thread of the program. A child that forks finds its parent's gen here. */
struct thread {
	uint32_t gen;
	bool busy;
	struct known paths[PATHS], nodes[NODES];
};

static struct pasta_pystack_python py;
static struct py_layout at;
static pthread_key_t thread_end;
static bool has_key;
static uint64_t interp; /* the main one */
static _Atomic bool on;
static _Atomic uint64_t hidden; /* a code object */
static _Thread_local struct thread *self;

/* -- Reading -- */

/* With a pipe's two ends, what cannot be read is an error and no fault. */
static int peek_careful(const int *pipe_, uint64_t from, void *to, size_t n)
{
	ssize_t got = write(pipe_[1], (const void *)(uintptr_t)from, n);

	if (got < 0)
		return -errno;
	return read(pipe_[0], to, (size_t)got) == (ssize_t)n ? 0 : -EFAULT;
}

static inline __attribute__((always_inline)) bool peek(const int *pipe_, uint64_t from, void *to,
						       size_t n)
{
	if (pipe_)
		return !peek_careful(pipe_, from, to, n);
	memcpy(to, (const void *)(uintptr_t)from, n);
	return true;
}

static inline __attribute__((always_inline)) bool read_place(const int *pipe_, uint64_t frame,
							     struct place *p)
{
	uint64_t code = 0, place = 0, type = 0;
	int32_t n = 0;
	bool ok = peek(pipe_, frame + at.code, &code, 8);

	/* Where Python is asked about code it has to be some. */
	if (pipe_ &&
	    (!ok || !peek(pipe_, code + PY_TYPE, &type, 8) || type != (uintptr_t)py.code_type))
		return false;
	p->code = code;
	ok = peek(pipe_, code + at.file, &p->file, 8) && peek(pipe_, code + at.name, &p->name, 8) &&
	     peek(pipe_, code + at.line, &p->line, 4);
	if (at.lasti_is == PY_LASTI_PLACE) {
		ok = ok && peek(pipe_, frame + at.lasti, &place, 8);
		p->at = (int32_t)(place - (code + at.text));
	} else {
		ok = ok && peek(pipe_, frame + at.lasti, &n, 4);
		p->at = at.lasti_is == PY_LASTI_UNITS ? 2 * n : n;
	}
	return ok;
}

/* Python 3.13 has a frame of its own around an __init__ that is called often, which Python itself
 * does not show: one string is its name and its file, and it has no line. */
static inline bool is_shim(const struct place *p)
{
	return !p->line && p->file == p->name;
}

/* The calling thread's frames, innermost first: how many. -1: something could not be read. */
static inline __attribute__((always_inline)) int walk(const int *pipe_, struct place *places)
{
	uint64_t state = (uintptr_t)py.thread_state(), frame = 0, whose = 0;
	uint64_t hide = atomic_load_explicit(&hidden, memory_order_relaxed);
	int n = 0, links = 0;
	char owner = 0;

	if (!state)
		return 0;
	if (!peek(pipe_, state + at.interp, &whose, 8) || whose != interp)
		return pipe_ ? -1 : 0;
	if (!peek(pipe_, state + at.top, &frame, 8))
		return -1;
	if (frame && at.current >= 0 && !peek(pipe_, frame + (uint32_t)at.current, &frame, 8))
		return -1;
	for (; frame && n < PASTA_PYSTACK_FRAMES && links < LINKS; links++) {
		if (at.owner >= 0 && !peek(pipe_, frame + (uint32_t)at.owner, &owner, 1))
			return -1;
		if (owner != PY_OWNER_C && !read_place(pipe_, frame, &places[n]))
			return -1;
		n += owner != PY_OWNER_C && !is_shim(&places[n]) && places[n].code != hide;
		if (!peek(pipe_, frame + at.back, &frame, 8))
			return -1;
	}
	return n;
}

static size_t put_utf8(char *to, uint32_t c)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (size_t i = n; i-- > 1; c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(first[n] | c);
	return n;
}

static uint32_t character(const uint8_t *from, uint32_t kind, size_t i)
{
	uint16_t two;
	uint32_t four;

	if (kind == 1)
		return from[i];
	memcpy(&two, from + 2 * i, 2);
	if (kind == 2) /* a surrogate is half a character: it stands for a byte of a path */
		return two >= 0xd800 && two < 0xe000 ? 0xfffd : two;
	memcpy(&four, from + 4 * i, 4);
	return four > 0x10ffff ? 0xfffd : four;
}

/* A string of Python's, as UTF-8. False: it cannot be read, or is none that we know. */
static bool read_text(const int *pipe_, uint64_t from, char text[4 * TEXT + 1])
{
	uint8_t raw[4 * TEXT] = {0};
	uint32_t state = 0, kind;
	uint64_t n = 0;
	size_t used = 0;

	if (!from || !peek(pipe_, from + PY_LENGTH, &n, 8) ||
	    !peek(pipe_, from + PY_STATE, &state, 4) || !(state & PY_COMPACT))
		return false;
	kind = state >> PY_KIND_SHIFT & PY_KIND;
	if (kind != 1 && kind != 2 && kind != 4)
		return false;
	n = n > TEXT ? TEXT : n;
	from += state & PY_ASCII ? at.ascii : at.other;
	if (n && !peek(pipe_, from, raw, n * kind))
		return false;
	for (size_t i = 0; i < n; i++)
		used += put_utf8(text + used, character(raw, kind, i));
	text[used] = '\0';
	return true;
}

static int line_of(const struct place *p)
{
	return p->at < 0 ? p->line : py.line((void *)(uintptr_t)p->code, p->at);
}

/* -- Stacks to nodes -- */

static void thread_free(void *arg)
{
	self = NULL;
	free(arg);
}

__attribute__((noinline)) static struct thread *thread_new(void)
{
	int saved = errno;
	struct thread *t = calloc(1, sizeof(*t));

	errno = saved;
	if (!t)
		return NULL;
	t->gen = pasta_agent_gen();
	pthread_setspecific(thread_end, t);
	self = t;
	return t;
}

static uint32_t text_id(uint64_t from)
{
	char text[4 * TEXT + 1];

	return read_text(NULL, from, text) ? pasta_intern(text, strlen(text)) : 0;
}

__attribute__((noinline)) static uint32_t node_new(const struct place *p, uint32_t parent)
{
	int line = line_of(p);
	struct pasta_pathnode node = {
		.parent = parent,
		.function = text_id(p->name),
		.file = text_id(p->file),
		.line = line > 0 ? (uint32_t)line : 0,
	};

	return pasta_stack_node(&node);
}

/* Equal hashes of 64 bits are taken for equal places. */
static uint32_t node_of(struct thread *t, const struct place *p, uint32_t parent)
{
	uint64_t hash = XXH3_64bits_withSeed(p, sizeof(*p), parent);
	struct known *k = &t->nodes[hash % NODES];

	if (!k->id || k->hash != hash) {
		k->id = node_new(p, parent);
		k->hash = hash;
	}
	return k->id;
}

/* Outermost first: a node has its caller's. */
__attribute__((noinline)) static uint32_t path_new(struct thread *t, const struct place *places,
						   int n)
{
	uint32_t id = 0;

	while (n--) {
		id = node_of(t, &places[n], id);
		if (!id) /* no room: what follows would seem to be outermost */
			return 0;
	}
	return id;
}

static uint32_t path_of(struct thread *t, const struct place *places, int n)
{
	uint64_t hash = XXH3_64bits(places, (size_t)n * sizeof(*places));
	struct known *k = &t->paths[hash % PATHS];

	if (t->gen != pasta_agent_gen()) {
		memset(t->paths, 0, sizeof(t->paths));
		memset(t->nodes, 0, sizeof(t->nodes));
		t->gen = pasta_agent_gen();
	}
	if (!k->id || k->hash != hash) {
		k->id = path_new(t, places, n);
		k->hash = hash;
	}
	return k->id;
}

bool pasta_pystack_on(void)
{
	return atomic_load_explicit(&on, memory_order_acquire);
}

__attribute__((visibility("default"))) uint32_t pasta_pystack_capture(void)
{
	struct place places[PASTA_PYSTACK_FRAMES];
	struct thread *t = self;
	uint32_t id = 0;
	int n, saved;

	if (!pasta_pystack_on())
		return 0;
	if (!t)
		t = thread_new();
	if (!t || t->busy)
		return 0;
	saved = errno;
	t->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	n = walk(NULL, places);
	if (n > 0)
		id = path_of(t, places, n);
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = false;
	errno = saved;
	return id;
}

/* -- Before it is trusted -- */

static int no(char *why, size_t size, int error, const char *reason)
{
	snprintf(why, size, "%s", reason);
	return error;
}

int pasta_pystack_begin_with(const struct pasta_pystack_python *python, uint32_t version, char *why,
			     size_t size)
{
	const struct py_layout *known = py_layout_of(version >> 16 & 0xff);

	atomic_store(&on, false);
	if (version >> 24 != 3 || !known) {
		snprintf(why, size, "Python %u.%u is not one of 3.8 to 3.13", version >> 24,
			 version >> 16 & 0xff);
		return -ENOTSUP;
	}
	at = *known;
	py = *python;
	if (!py.thread_state || !py.main_interp || !py.line || !py.code_type)
		return no(why, size, -ENOENT,
			  "this process has no CPython that shows its functions");
	if (py_layout_report(&at, py.runtime))
		return no(
			why, size, -ENOTSUP,
			"this build of Python is free-threaded, or does not say where its frames are");
	interp = (uintptr_t)py.main_interp();
	if (!has_key && pthread_key_create(&thread_end, thread_free))
		return no(why, size, -EAGAIN, "the process has no room for thread-local memory");
	has_key = true;
	return 0;
}

__attribute__((visibility("default"))) int pasta_pystack_begin(uint32_t version, char *why,
							       size_t size)
{
	struct pasta_pystack_python found = {0};

	if (!pasta_agent_attach_vendor())
		return no(why, size, -ENODEV, "there is no run to record into");
	*(void **)&found.thread_state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
	*(void **)&found.main_interp = dlsym(RTLD_DEFAULT, "PyInterpreterState_Main");
	*(void **)&found.line = dlsym(RTLD_DEFAULT, "PyCode_Addr2Line");
	found.code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
	found.runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
	return pasta_pystack_begin_with(&found, version, why, size);
}

static size_t describe(const int *pipe_, const struct place *p, char *text, size_t size)
{
	char name[4 * TEXT + 1], file[4 * TEXT + 1];

	if (!read_text(pipe_, p->name, name) || !read_text(pipe_, p->file, file))
		return 0;
	return (size_t)snprintf(text, size, "%s\n%s\n%d\n", name, file, line_of(p));
}

__attribute__((visibility("default"))) int pasta_pystack_check(char *text, size_t size)
{
	struct place places[PASTA_PYSTACK_FRAMES] = {0};
	size_t used = 0, more;
	int pipe_[2], n;

	if (!size || !py.thread_state)
		return -EINVAL;
	text[0] = '\0';
	if (pipe2(pipe_, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	n = walk(pipe_, places);
	for (int i = 0; i < n; i++) {
		more = describe(pipe_, &places[i], text + used, size - used);
		if (!more)
			n = -EFAULT;
		if (used + more >= size)
			n = i;
		used += more;
	}
	close(pipe_[0]);
	close(pipe_[1]);
	return n < 0 ? -EFAULT : n;
}

__attribute__((visibility("default"))) void pasta_pystack_hide(const void *code)
{
	atomic_store(&hidden, (uintptr_t)code);
}

__attribute__((visibility("default"))) void pasta_pystack_trust(int right)
{
	atomic_store(&on, right && has_key);
}
