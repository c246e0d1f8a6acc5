/*
 * directory.h - processes, devices, threads and call paths of a run, each with one display name.
 *
 * All are known before the first event, except devices and threads in older shards: these are known
 * once their records are read. Returned pointers live until the run is closed. Structs grow only at
 * their end. Any thread.
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
	uint32_t proc;		    /* as in events */
	uint32_t pid, parent;	    /* 0: not known */
	uint32_t rank;		    /* in the job; PASTA_NO_RANK: none */
	uint32_t world;		    /* ranks of the job; 0: not known */
	uint64_t kinds;		    /* mask of the recorded kinds; 0: not known */
	const char *host, *command; /* "" if not known */
	const char *source;	    /* format of an imported trace; "": recorded */
	/* The name in all outputs, unique in the run: "rank 3" if all processes have different
	 * ranks, else "HOST-PID", else "pid PID", else "#3". */
	const char *text;
};

struct pasta_device_info {
	uint32_t size;
	uint32_t proc, device;		  /* as in events; PASTA_HOST: the host */
	uint32_t units;			  /* multiprocessors or compute units; 0: not known */
	uint64_t memory;		  /* bytes; 0: not known */
	const char *name, *vendor, *arch; /* "" if not known */
	/* "device 0", "host"; if the run has several processes, "rank 3, device 0". */
	const char *text;
};

struct pasta_thread_info {
	uint32_t size;
	uint32_t proc, tid; /* as in events */
	uint32_t reserved;
	const char *name; /* "" if not known */
	/* "loader (4711)", or "thread 4711" without a name; if the run has several processes, after
	 * the name of its process. */
	const char *text;
};

/* Never NULL: an unknown process is named by its number. */
PASTA_EXPORT const struct pasta_process_info *pasta_process(uint32_t proc);
/* Walks all processes in the order of outputs, by rank and then by number: start with *at 0; NULL
 * at the end. */
PASTA_EXPORT const struct pasta_process_info *pasta_process_next(size_t *at);
/* Never NULL: for an unknown device or thread, only the numbers and text are set. */
PASTA_EXPORT const struct pasta_device_info *pasta_device(uint32_t proc, uint32_t device);
PASTA_EXPORT const struct pasta_thread_info *pasta_thread(uint32_t proc, uint32_t tid);
/* Returns whether a process records all of these kinds; true if that is not known. */
PASTA_EXPORT bool pasta_process_records(uint32_t proc, uint64_t kinds);

/* Writes "device 0" or "host", without the process. Returns text. */
PASTA_EXPORT const char *pasta_device_text(uint32_t device, char *text, size_t size);

/*
 * A frame of a call path. An event's stack field refers to a path in the process ev->proc. Its
 * frames are the functions that were running, innermost first; an inlined function is a frame of
 * its own. A path consists of native code, or of the code of an interpreter such as Python, whose
 * frames have no module and offset. Built-in functions have no file. A path of an interpreter has
 * at most its innermost 4096 frames, and equal paths have equal refs in all processes. Texts live
 * as long as the process; an unknown one is "".
 */
struct pasta_stack_frame {
	const char *function; /* C++ names are demangled if libstdc++ is available */
	const char *file;     /* of the source */
	const char *module;   /* the program's or library's file */
	uint64_t offset;      /* of the call in that file; the address itself without a module */
	uint32_t line;	      /* 0: not known */
	uint32_t inlined;     /* 1: inlined into the next frame */
};

/* Fills in at most max frames of a path, and returns how many the path has; 0 if ref is not a path.
 * If the module's file was removed or has changed, a frame has only module and offset. The first
 * frame of a file reads its debugging information, which may take a second. */
PASTA_EXPORT size_t pasta_stack_frames(uint32_t proc, uint32_t ref,
				       struct pasta_stack_frame *frames, size_t max);
/* Writes "function (file.c:12)", or what is known: "function", "libfoo.so+0x1234". Returns text. */
PASTA_EXPORT const char *pasta_stack_frame_text(const struct pasta_stack_frame *frame, char *text,
						size_t size);

/* Returns the source line of a frame, as a path of one frame: the id is the same for the same
 * function, file and line in all processes. 0: the frame has no file, like built-in functions; or
 * out of memory. A LINE member of a group shows it as "forward (linear.py:125)", or with the file's
 * path if another line of the table has the same text. The id of an interned text is also valid in
 * a LINE. Any thread. */
PASTA_EXPORT uint32_t pasta_stack_frame_line(const struct pasta_stack_frame *frame);

/* Writes the line of a call path: "function (file.c:12)" for the innermost function whose source is
 * known, or else for the innermost function; "" for an unknown path. Truncates it to size. Returns
 * text. */
PASTA_EXPORT const char *pasta_stack_line(uint32_t proc, uint32_t stack, char *text, size_t size);
/* Finds the innermost function of a Python call path that is in a file, not in "<string>" and the
 * like, among the 64 innermost ones. Returns false if there is none. */
struct pasta_stack_frame;
PASTA_EXPORT bool pasta_python_frame(uint32_t proc, uint32_t stack,
				     struct pasta_stack_frame *frame);

#ifdef __cplusplus
}
#endif
#endif
