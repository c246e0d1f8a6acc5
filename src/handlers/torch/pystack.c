/* pystack.c - reads the calling thread's Python frames and interns them as stack nodes. */
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
#include "core/lock.h"
#include "core/pathnode.h"
#include "handlers/torch/pyabi.h"

enum {
	PATHS = 1024, /* stacks in a thread's cache */
	NODES = 4096, /* nodes in a thread's cache */
	TEXT = 1000,  /* maximum length of a name in characters; longer names are truncated */
	NAPS = 200,   /* maximum number of waits, of 100 us each, for captures to end */
	LINKS = 1024, /* maximum number of frames to visit, including frames of C code */
};

/*
 * A frame is a position in a function. Python may free a code object and create another one at the
 * same address. The code object of another function has another file string, name string or first
 * line. If all three are the same, the new code object is the same function, compiled again.
 */
struct pyframe {
	uint64_t code, file, name;
	int32_t line; /* the function's first line */
	int32_t at;   /* offset into the code, in bytes; negative if the function has not started */
};

struct pystack_cached {
	uint64_t hash;
	uint32_t id; /* 0: empty */
};

/* A thread's cache of stacks. In a forked child, gen is still the generation (pasta_agent_gen) of
 * the parent process, so the child clears the cache. */
struct pystack_thread {
	uint32_t gen;
	bool busy;
	struct pystack_cached paths[PATHS], nodes[NODES];
};

static struct pasta_pystack_python py;
static struct py_layout at;
static pthread_key_t thread_end;
static bool has_key;
static uint64_t interp; /* the main interpreter */
static _Atomic bool on;
static _Atomic uint32_t captures; /* number of threads that read frames at present */
/* a code object of AccelProf, whose frames are left out of stacks */
static _Atomic uint64_t hidden;
static _Thread_local struct pystack_thread *self;

/* -- Reading -- */

/* Read memory through a pipe, because write returns EFAULT for an unreadable address, whereas
 * memcpy would crash. */
static int pystack_peek_safely(const int *pipe_, uint64_t from, void *to, size_t n)
{
	ssize_t got = write(pipe_[1], (const void *)(uintptr_t)from, n);

	if (got < 0)
		return -errno;
	return read(pipe_[0], to, (size_t)got) == (ssize_t)n ? 0 : -EFAULT;
}

__attribute__((always_inline)) static inline bool pystack_peek(const int *pipe_, uint64_t from,
							       void *to, size_t n)
{
	if (pipe_)
		return !pystack_peek_safely(pipe_, from, to, n);
	memcpy(to, (const void *)(uintptr_t)from, n);
	return true;
}

__attribute__((always_inline)) static inline bool
pystack_read_frame(const int *pipe_, uint64_t frame, struct pyframe *p)
{
	uint64_t code = 0, instruction = 0, type = 0;
	int32_t n = 0;
	bool ok = pystack_peek(pipe_, frame + at.code, &code, 8);

	/* pyframe_line passes this pointer to Python, so it must point to a code object. */
	if (pipe_ && (!ok || !pystack_peek(pipe_, code + PY_TYPE, &type, 8) ||
		      type != (uintptr_t)py.code_type))
		return false;
	p->code = code;
	ok = pystack_peek(pipe_, code + at.file, &p->file, 8) &&
	     pystack_peek(pipe_, code + at.name, &p->name, 8) &&
	     pystack_peek(pipe_, code + at.line, &p->line, 4);
	if (at.lasti_is == PY_LASTI_ADDRESS) {
		ok = ok && pystack_peek(pipe_, frame + at.lasti, &instruction, 8);
		p->at = (int32_t)(instruction - (code + at.text));
	} else {
		ok = ok && pystack_peek(pipe_, frame + at.lasti, &n, 4);
		p->at = at.lasti_is == PY_LASTI_UNITS ? 2 * n : n;
	}
	return ok;
}

/* Returns whether a frame is internal to Python. Python 3.13 puts an internal frame around an
 * __init__ that is called often, and hides this frame from tracebacks. An internal frame has no
 * line, and its name and its file are the same string. */
static inline bool pyframe_is_shim(const struct pyframe *p)
{
	return !p->line && p->file == p->name;
}

/* Store the calling thread's frames, innermost first. Returns the number of frames, or -1 if memory
 * could not be read. If pipe_ is NULL, reads memory directly. */
__attribute__((always_inline)) static inline int pystack_walk(const int *pipe_,
							      struct pyframe *frames)
{
	uint64_t state = (uintptr_t)py.thread_state(), frame = 0, whose = 0;
	uint64_t hide = atomic_load_explicit(&hidden, memory_order_relaxed);
	int n = 0, links = 0;
	char owner = 0;

	if (!state)
		return 0;
	if (!pystack_peek(pipe_, state + at.interp, &whose, 8) || whose != interp)
		return pipe_ ? -1 : 0;
	if (!pystack_peek(pipe_, state + at.top, &frame, 8))
		return -1;
	if (frame && at.current >= 0 &&
	    !pystack_peek(pipe_, frame + (uint32_t)at.current, &frame, 8))
		return -1;
	for (; frame && n < PASTA_PYSTACK_FRAMES && links < LINKS; links++) {
		if (at.owner >= 0 && !pystack_peek(pipe_, frame + (uint32_t)at.owner, &owner, 1))
			return -1;
		if (owner != PY_OWNER_C && !pystack_read_frame(pipe_, frame, &frames[n]))
			return -1;
		n += owner != PY_OWNER_C && !pyframe_is_shim(&frames[n]) && frames[n].code != hide;
		if (!pystack_peek(pipe_, frame + at.back, &frame, 8))
			return -1;
	}
	return n;
}

static size_t pytext_put_utf8(char *to, uint32_t c)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (size_t i = n; i-- > 1; c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(first[n] | c);
	return n;
}

static uint32_t pytext_character(const uint8_t *from, uint32_t kind, size_t i)
{
	uint16_t two;
	uint32_t four;

	if (kind == 1)
		return from[i];
	memcpy(&two, from + 2 * i, 2);
	if (kind == 2) /* a lone surrogate stands for a byte of a path that is not UTF-8 */
		return two >= 0xd800 && two < 0xe000 ? 0xfffd : two;
	memcpy(&four, from + 4 * i, 4);
	return four > 0x10ffff ? 0xfffd : four;
}

/* Store a Python string as UTF-8. Returns false if the string cannot be read or has an unknown
 * layout. */
static bool pytext_read(const int *pipe_, uint64_t from, char text[4 * TEXT + 1])
{
	uint8_t raw[4 * TEXT] = {0};
	uint32_t state = 0, kind;
	uint64_t n = 0;
	size_t used = 0;

	if (!from || !pystack_peek(pipe_, from + PY_LENGTH, &n, 8) ||
	    !pystack_peek(pipe_, from + PY_STATE, &state, 4) || !(state & PY_COMPACT))
		return false;
	kind = state >> PY_KIND_SHIFT & PY_KIND;
	if (kind != 1 && kind != 2 && kind != 4)
		return false;
	n = n > TEXT ? TEXT : n;
	from += state & PY_ASCII ? at.ascii : at.other;
	if (n && !pystack_peek(pipe_, from, raw, n * kind))
		return false;
	for (size_t i = 0; i < n; i++)
		used += pytext_put_utf8(text + used, pytext_character(raw, kind, i));
	text[used] = '\0';
	return true;
}

static int pyframe_line(const struct pyframe *p)
{
	return p->at < 0 ? p->line : py.line((void *)(uintptr_t)p->code, p->at);
}

/* -- From stacks to nodes -- */

static void pystack_thread_free(void *arg)
{
	self = NULL;
	free(arg);
}

__attribute__((noinline)) static struct pystack_thread *pystack_thread_new(void)
{
	int saved = errno;
	struct pystack_thread *t = calloc(1, sizeof(*t));

	errno = saved;
	if (!t)
		return NULL;
	t->gen = pasta_agent_gen();
	pthread_setspecific(thread_end, t);
	self = t;
	return t;
}

static uint32_t pytext_id(uint64_t from)
{
	char text[4 * TEXT + 1];

	return pytext_read(NULL, from, text) ? pasta_intern(text, strlen(text)) : 0;
}

__attribute__((noinline)) static uint32_t pynode_new(const struct pyframe *p, uint32_t parent)
{
	int line = pyframe_line(p);
	struct pasta_pathnode node = {
		.parent = parent,
		.function = pytext_id(p->name),
		.file = pytext_id(p->file),
		.line = line > 0 ? (uint32_t)line : 0,
	};

	return pasta_stack_node(&node);
}

/* Frames with equal 64-bit hashes are assumed to be equal. */
static uint32_t pynode_of(struct pystack_thread *t, const struct pyframe *p, uint32_t parent)
{
	uint64_t hash = XXH3_64bits_withSeed(p, sizeof(*p), parent);
	struct pystack_cached *k = &t->nodes[hash % NODES];

	if (!k->id || k->hash != hash) {
		k->id = pynode_new(p, parent);
		k->hash = hash;
	}
	return k->id;
}

/* Starts with the outermost frame, because each node refers to the node of its caller. */
__attribute__((noinline)) static uint32_t pypath_new(struct pystack_thread *t,
						     const struct pyframe *frames, int n)
{
	uint32_t id = 0;

	while (n--) {
		id = pynode_of(t, &frames[n], id);
		/* stop when out of memory, because without this node the next frame would appear to
		 * be the outermost frame */
		if (!id)
			return 0;
	}
	return id;
}

static uint32_t pypath_of(struct pystack_thread *t, const struct pyframe *frames, int n)
{
	uint64_t hash = XXH3_64bits(frames, (size_t)n * sizeof(*frames));
	struct pystack_cached *k = &t->paths[hash % PATHS];

	if (t->gen != pasta_agent_gen()) {
		memset(t->paths, 0, sizeof(t->paths));
		memset(t->nodes, 0, sizeof(t->nodes));
		t->gen = pasta_agent_gen();
	}
	if (!k->id || k->hash != hash) {
		k->id = pypath_new(t, frames, n);
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
	struct pyframe frames[PASTA_PYSTACK_FRAMES];
	struct pystack_thread *t = self;
	uint32_t id = 0;
	int n, saved;

	if (!pasta_pystack_on())
		return 0;
	if (!t)
		t = pystack_thread_new();
	if (!t || t->busy)
		return 0;
	saved = errno;
	t->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	/* pystack_stop clears `on` first and then reads `captures`, so either this thread sees that
	 * captures are off, or pystack_stop waits for this thread. */
	atomic_fetch_add(&captures, 1);
	n = atomic_load(&on) ? pystack_walk(NULL, frames) : 0;
	if (n > 0)
		id = pypath_of(t, frames, n);
	atomic_fetch_sub(&captures, 1);
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = false;
	errno = saved;
	return id;
}

/* -- Verification before captures are turned on -- */

static int pystack_fail(char *why, size_t size, int error, const char *reason)
{
	snprintf(why, size, "%s", reason);
	return error;
}

/* Turns captures off, and waits until no thread reads frames. A capture takes about a microsecond.
 * The wait is limited, because a fork may copy the count of a thread that the child does not
 * have. */
static void pystack_stop(void)
{
	const struct timespec nap = {.tv_nsec = 100000};

	pasta_stack_set_python(NULL);
	atomic_store(&on, false);
	for (int i = 0; i < NAPS && atomic_load(&captures); i++)
		pasta_nap(&nap);
}

int pasta_pystack_begin_with(const struct pasta_pystack_python *python, uint32_t version, char *why,
			     size_t size)
{
	const struct py_layout *layout = py_layout_of(version >> 16 & 0xff);

	pystack_stop();
	if (version >> 24 != 3 || !layout) {
		snprintf(why, size, "Python %u.%u is not supported: use 3.8 to 3.13", version >> 24,
			 version >> 16 & 0xff);
		return -ENOTSUP;
	}
	at = *layout;
	py = *python;
	if (!py.thread_state || !py.main_interp || !py.line || !py.code_type)
		return pystack_fail(
			why, size, -ENOENT,
			"the Python in this process does not export CPython's functions");
	if (py_layout_correct(&at, py.runtime))
		return pystack_fail(
			why, size, -ENOTSUP,
			"this build of Python is free-threaded, or does not export its debug "
			"offsets");
	interp = (uintptr_t)py.main_interp();
	if (!has_key && pthread_key_create(&thread_end, pystack_thread_free))
		return pystack_fail(why, size, -EAGAIN,
				    "the process has used all its thread-local keys");
	has_key = true;
	return 0;
}

__attribute__((visibility("default"))) int pasta_pystack_begin(uint32_t version, char *why,
							       size_t size)
{
	struct pasta_pystack_python found = {0};

	if (!pasta_agent_attach_vendor())
		return pystack_fail(why, size, -ENODEV,
				    "this process was not started by 'accelprof run'");
	*(void **)&found.thread_state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
	*(void **)&found.main_interp = dlsym(RTLD_DEFAULT, "PyInterpreterState_Main");
	*(void **)&found.line = dlsym(RTLD_DEFAULT, "PyCode_Addr2Line");
	found.code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
	found.runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
	return pasta_pystack_begin_with(&found, version, why, size);
}

static size_t pyframe_describe(const int *pipe_, const struct pyframe *p, char *text, size_t size)
{
	char name[4 * TEXT + 1], file[4 * TEXT + 1];

	if (!pytext_read(pipe_, p->name, name) || !pytext_read(pipe_, p->file, file))
		return 0;
	return (size_t)snprintf(text, size, "%s\n%s\n%d\n", name, file, pyframe_line(p));
}

__attribute__((visibility("default"))) int pasta_pystack_check(char *text, size_t size)
{
	struct pyframe frames[PASTA_PYSTACK_FRAMES] = {0};
	size_t used = 0, more;
	int pipe_[2], n;

	if (!size || !py.thread_state)
		return -EINVAL;
	text[0] = '\0';
	if (pipe2(pipe_, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	n = pystack_walk(pipe_, frames);
	for (int i = 0; i < n; i++) {
		more = pyframe_describe(pipe_, &frames[i], text + used, size - used);
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
	/* Python frees its frames after the call that turns captures off. */
	if (!right || !has_key) {
		pystack_stop();
		return;
	}
	atomic_store(&on, true);
	pasta_stack_set_python(pasta_pystack_capture);
}
