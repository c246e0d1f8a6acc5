/*
 * directory.h - lets a tool look up the processes, devices, threads and call paths of a run, with
 * their display names.
 *
 * All of them are known before the first event, except the devices and threads of older shards,
 * which are known only after their records are read. Returned pointers are valid until the run is
 * closed. New versions add members only at the end of a struct. Any thread may call these
 * functions.
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
	uint32_t world;		    /* number of ranks in the job; 0: not known */
	uint64_t kinds;		    /* mask of the recorded kinds of events; 0: not known */
	const char *host, *command; /* "" if not known */
	const char *source; /* format of the imported trace; "" if accelprof recorded the process */
	/* The display name, unique in the run. If all processes have different ranks, the name is
	 * "rank 3". If not, the name is "HOST-PID" or "pid PID", or "#3", the number of the
	 * process, if the PID is not known. */
	const char *text;
};

struct pasta_device_info {
	uint32_t size;
	/* numbers of the process and of the device, as in events; the number PASTA_HOST means the
	 * host */
	uint32_t proc, device;
	uint32_t units;			  /* multiprocessors or compute units; 0: not known */
	uint64_t memory;		  /* bytes; 0: not known */
	const char *name, *vendor, *arch; /* "" if not known */
	/* The display name, such as "device 0" or "host". If the run has several processes, the
	 * name includes the process, such as "rank 3, device 0". */
	const char *text;
};

struct pasta_thread_info {
	uint32_t size;
	uint32_t proc, tid; /* as in events */
	uint32_t reserved;
	const char *name; /* "" if not known */
	/* The display name, such as "loader (4711)". If the thread has no name, the display name is
	 * "thread 4711". If the run has several processes, the name of the process comes first. */
	const char *text;
};

/* Returns a process. Never NULL: the display name of an unknown process is its number. */
PASTA_EXPORT const struct pasta_process_info *pasta_process(uint32_t proc);
/* Returns the next process, ordered by rank and then by number, or NULL at the end. Set *at to 0
 * before the first call. */
PASTA_EXPORT const struct pasta_process_info *pasta_process_next(size_t *at);
/* Return a device or a thread. Never NULL: for an unknown device or thread, the result has only
 * the numbers and the display name. */
PASTA_EXPORT const struct pasta_device_info *pasta_device(uint32_t proc, uint32_t device);
PASTA_EXPORT const struct pasta_thread_info *pasta_thread(uint32_t proc, uint32_t tid);
/* Returns whether all kinds of events in the mask were recorded in a process. Returns true if the
 * recorded kinds are not known. */
PASTA_EXPORT bool pasta_process_records(uint32_t proc, uint64_t kinds);

/* Writes the name of a device without its process, "device 0" or "host", to `text`. Returns `text`.
 */
PASTA_EXPORT const char *pasta_device_text(uint32_t device, char *text, size_t size);

/*
 * A frame of a call path. An event's stack field refers to a path in the process ev->proc. The
 * frames of a path are the functions that were running, innermost first; an inlined function is a
 * frame of its own. A path is either native or from an interpreter such as Python. Frames of an
 * interpreter have no module and offset, and its built-in functions have no file. An interpreter's
 * path has at most the innermost 4096 frames, and equal paths have equal references in all
 * processes. The strings are valid as long as the process runs; an unknown string is "".
 */
struct pasta_stack_frame {
	const char *function; /* name; C++ names are demangled if libstdc++ is available */
	const char *file;     /* of the source */
	const char *module;   /* file of the program or library */
	/* offset of the calling instruction in the module; if there is no module, the instruction's
	 * address */
	uint64_t offset;
	uint32_t line;	  /* 0: not known */
	uint32_t inlined; /* 1: this function was inlined into the function of the next frame */
};

/* Fills in at most `max` frames of the path with the reference `ref`, and returns the number of
 * frames that the path has, or 0 if `ref` is not a path. If the file of a module was removed or has
 * changed, only the module and offset of a frame are known. When the function finds the first frame
 * of a module, it reads the module's debugging information, which may take a second. */
PASTA_EXPORT size_t pasta_stack_frames(uint32_t proc, uint32_t ref,
				       struct pasta_stack_frame *frames, size_t max);
/* Writes a frame as "function (file.c:12)" to `text`, or only the known parts: "function",
 * "libfoo.so+0x1234". Returns `text`. */
PASTA_EXPORT const char *pasta_stack_frame_text(const struct pasta_stack_frame *frame, char *text,
						size_t size);

/* Returns an id for the source line of a frame. The id is the same for the same function, file and
 * line in all processes. Returns 0 if the frame has no file, as for built-in functions, or when out
 * of memory. A LINE member of a group shows the id as "forward (linear.py:125)", or with the file's
 * full path if another line of the table has the same text. A LINE member may also hold the id of
 * an interned string. Any thread may call this function. */
PASTA_EXPORT uint32_t pasta_stack_frame_line(const struct pasta_stack_frame *frame);

/* Writes the source line of a call path, "function (file.c:12)", to `text`, truncated to `size`
 * bytes. For a Python path, the line is that of pasta_python_frame. For any other path, or if there
 * is no such line, the line is that of the innermost function whose source is known. If no source
 * is known, it names the innermost function. For an unknown path, the text is "". Returns `text`.
 */
PASTA_EXPORT const char *pasta_stack_line(uint32_t proc, uint32_t stack, char *text, size_t size);
/* Finds the frame of a Python call path to which tools attribute activity: the innermost function
 * of the program, or, if all functions belong to Python's libraries, the innermost function.
 * Libraries are the standard library, and files in folders "site-packages" and "dist-packages".
 * With the option --lines library, the frame is the innermost function in any case. Skips functions
 * whose code comes from a string or the interpreter ("<string>") instead of a file. Searches only
 * the 256 innermost functions. Returns false if none of them comes from a file. */
struct pasta_stack_frame;
PASTA_EXPORT bool pasta_python_frame(uint32_t proc, uint32_t stack,
				     struct pasta_stack_frame *frame);

#ifdef __cplusplus
}
#endif
#endif
