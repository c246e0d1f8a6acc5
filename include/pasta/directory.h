/*
 * directory.h - processes, devices, threads and call paths of a run: one display name each.
 *
 * All are known before the first event; devices and threads of older shards once their records are
 * read. What is returned lives until the run is closed. Structs grow at their end only. Any thread.
 */
#ifndef PASTA_DIRECTORY_H
#define PASTA_DIRECTORY_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PASTA_NO_RANK UINT32_MAX
#define PASTA_HOST UINT32_MAX /* in place of a device */

struct pasta_process_info {
	uint32_t size;
	uint32_t proc;		    /* as events have it */
	uint32_t pid, parent;	    /* 0: not known */
	uint32_t rank;		    /* of the job; PASTA_NO_RANK: it has none */
	uint32_t world;		    /* ranks of the job; 0: not known */
	uint64_t kinds;		    /* mask of the kinds that it records; 0: not known */
	const char *host, *command; /* "" if not known */
	const char *source;	    /* format that it was imported from; "": it was recorded */
	/* What every output calls it: "rank 3" where all processes have ranks of their own, else
	 * "HOST-PID", else "pid PID", else "#3". No other process of the run is called so. */
	const char *text;
};

struct pasta_device_info {
	uint32_t size;
	uint32_t proc, device;		  /* as events have them; PASTA_HOST: the host */
	uint32_t units;			  /* multiprocessors or compute units; 0: not known */
	uint64_t memory;		  /* bytes; 0: not known */
	const char *name, *vendor, *arch; /* "" if not known */
	/* "device 0", "host"; with the process in front, "rank 3, device 0", where several
	 * processes are shown. */
	const char *text;
};

struct pasta_thread_info {
	uint32_t size;
	uint32_t proc, tid; /* as events have them */
	uint32_t reserved;
	const char *name; /* "" if not known */
	/* "loader (4711)", "thread 4711" if it has no name; with the process in front, likewise. */
	const char *text;
};

/* Never NULL: a process that is not known is called by its number. */
PASTA_EXPORT const struct pasta_process_info *pasta_process(uint32_t proc);
/* Walk all, in the order in which they are shown, by rank and then by number: start with *at 0;
 * NULL at the end. */
PASTA_EXPORT const struct pasta_process_info *pasta_process_next(size_t *at);
/* Never NULL: of what is not known only the numbers and text are. */
PASTA_EXPORT const struct pasta_device_info *pasta_device(uint32_t proc, uint32_t device);
PASTA_EXPORT const struct pasta_thread_info *pasta_thread(uint32_t proc, uint32_t tid);
/* Whether it records all of these kinds. What is not known counts as yes. */
PASTA_EXPORT bool pasta_process_records(uint32_t proc, uint64_t kinds);

/* "device 0", "host": where the process is shown beside it. */
PASTA_EXPORT const char *pasta_device_text(uint32_t device, char *text, size_t size);

/*
 * A call path: what an event's stack field refers to, in the process ev->proc. Its frames are the
 * functions that were running, innermost first; an inlined function is a frame of its own. A path
 * is of native code, or of an interpreter such as Python, whose frames have no module and offset.
 * Built-in functions have no file. Of an interpreter's path the innermost 4096 frames are known,
 * and equal paths have equal refs in all processes. Texts live as long as the process; an unknown
 * one is "".
 */
struct pasta_stack_frame {
	const char *function; /* C++ names as people write them, where libstdc++ is here */
	const char *file;     /* of the source */
	const char *module;   /* the program's or library's file */
	uint64_t offset;      /* of the call in that file; the address itself without a module */
	uint32_t line;	      /* 0: not known */
	uint32_t inlined;     /* 1: its code is part of the next one's */
};

/* The frames of a path: fills in at most max of them, and returns how many there are; 0 if ref is
 * not a path. Where the module's file is gone or has changed, a frame has module and offset only.
 * The first frame of a file reads its debugging information, which may take a second. */
PASTA_EXPORT size_t pasta_stack_frames(uint32_t proc, uint32_t ref,
				       struct pasta_stack_frame *frames, size_t max);
/* "function (file.c:12)", or as much as is known: "function", "libfoo.so+0x1234"; returns text. */
PASTA_EXPORT const char *pasta_stack_frame_text(const struct pasta_stack_frame *frame, char *text,
						size_t size);

/* The line of source that a frame is at, as a path of one frame: the same id for the same function,
 * file and line, whatever the process. 0: it is in no file, as built-in functions are; or there is
 * no memory. A group shows it as a LINE: "forward (linear.py:125)", or with the file's path where
 * another line in the table has the same text; an interned text may stand for one. Any thread. */
PASTA_EXPORT uint32_t pasta_stack_frame_line(const struct pasta_stack_frame *frame);

/* The line of a call path: "function (file.c:12)" of the innermost function whose source is known,
 * or else of the innermost function; "" for an unknown path. Truncated to size; returns text. */
PASTA_EXPORT const char *pasta_stack_line(uint32_t proc, uint32_t stack, char *text, size_t size);
/* The innermost function of a call path in Python that is in a file, not in "<string>" and the
 * like; false: there is none. Looks at the 64 innermost functions. */
struct pasta_stack_frame;
PASTA_EXPORT bool pasta_python_frame(uint32_t proc, uint32_t stack,
				     struct pasta_stack_frame *frame);

#ifdef __cplusplus
}
#endif
#endif
