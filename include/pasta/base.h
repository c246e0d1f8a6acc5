/*
 * base.h - the parts of the SDK that all other headers use: version, errors, messages, interned
 * strings.
 *
 * The following rules hold for all functions of the SDK, unless a comment states an exception.
 * Functions copy the strings that they are passed. Returned pointers are valid until the tool's
 * close. A tool calls functions only from its own callbacks, which never run at the same time for
 * one state. Functions return 0 or a negative errno.
 */
#ifndef PASTA_BASE_H
#define PASTA_BASE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PASTA_EXPORT
#define PASTA_EXPORT __attribute__((visibility("default")))
#endif

/*
 * The version of this interface. A plug-in that was built for version 1.m runs, unchanged, with
 * every version 1.n with n >= m. accelprof rejects a plug-in of another major version, and reads
 * only `size`, api_major and api_minor of its descriptor. Within a major version, structs grow only
 * at their end, enumerators are appended and never renumbered, and no function is changed or
 * removed. docs/abi.md has the rules and the history.
 */
#define PASTA_API_MAJOR 1
#define PASTA_API_MINOR 0

#ifdef __cplusplus
#define PASTA_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define PASTA_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
/* Asserts at compile time that a struct member still has the offset that it had in a release. */
#define PASTA_FROZEN(type, member, offset)                                                         \
	PASTA_STATIC_ASSERT(offsetof(type, member) == (offset),                                    \
			    #type "." #member " has moved: structs grow at their end only")
/* Returns whether a struct that the framework passed to the tool has a member. Check this before
 * you read a member that is newer than the oldest version of accelprof that the tool supports. */
#define PASTA_HAS(p, member) ((p)->size >= offsetof(__typeof__(*(p)), member) + sizeof((p)->member))

/* An error: one line of text that states what went wrong and what to do. Zero the struct before
 * use; `size` may remain 0. */
struct pasta_error {
	/* size of this struct if the framework passes it to a tool; may be 0 elsewhere */
	uint32_t size;
	int code; /* a negative errno; 0: no error */
	char text[504];
};

/* Stores `code` and a formatted description in `err`, and returns `code`. `err` may be NULL. If
 * `err` has an earlier error, replaces it. */
PASTA_EXPORT int pasta_fail(struct pasta_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints a message to the user at once: "accelprof: NAME: ..." on stderr, in one line. Control
 * characters are escaped. Only the first 100 messages of a state are shown; the others are counted.
 * Report results as tables and findings, not as messages. If you call pasta_log outside of the
 * tool's callbacks, the line has no NAME. */
enum pasta_log_level { PASTA_LOG_NOTE = 1, PASTA_LOG_WARNING, PASTA_LOG_ERROR };
PASTA_EXPORT void pasta_log(enum pasta_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* pasta_str returns the interned string with an id. pasta_bytes returns the interned bytes with an
 * id, and sets *size to their number, without the terminating NUL. The result is never NULL: for 0
 * and for unknown ids it is "". The result is valid as long as the process runs. Any thread may
 * call these functions. */
PASTA_EXPORT const char *pasta_str(uint32_t id);
PASTA_EXPORT const char *pasta_bytes(uint32_t id, size_t *size);
/* Interns bytes, and returns their id, or 0 when out of memory. Equal bytes have the same id in all
 * states of all tools, so ids can be keys of groups. The bytes are never freed, so intern only a
 * limited number of texts. Any thread may call this function, which acquires a lock. */
PASTA_EXPORT uint32_t pasta_strings_add(const void *bytes, size_t size);
/* Returns the text of an interned name, as a report shows it; "(unnamed)" if id is 0. */
static inline const char *pasta_name(uint32_t id)
{
	return id ? pasta_str(id) : "(unnamed)";
}

#ifdef __cplusplus
}
#endif
#endif
