/*
 * base.h - the base of the SDK: version, errors, messages, interned strings.
 *
 * Unless a comment states an exception: functions copy the strings that they are passed; returned
 * pointers live until the tool's close; a tool calls functions only from its own callbacks, which
 * never run at the same time for one state; functions return 0 or a negative errno.
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
 * The version of this interface. A plug-in of 1.m runs, unchanged, on every 1.n with n >= m;
 * a plug-in of another major version is refused after only its size, api_major and api_minor are
 * read. Within a major version structs grow only at their end, enumerators are appended and never
 * renumbered, and no function is changed or removed. docs/abi.md has the rules and the history.
 */
#define PASTA_API_MAJOR 1
#define PASTA_API_MINOR 0

#ifdef __cplusplus
#define PASTA_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define PASTA_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
/* Asserts the offset of a member that a release has shipped. */
#define PASTA_FROZEN(type, member, offset)                                                         \
	PASTA_STATIC_ASSERT(offsetof(type, member) == (offset),                                    \
			    #type "." #member " has moved: structs grow at their end only")
/* Whether a struct that the framework passed has a member. Check it before you read a member that
 * is newer than the version the tool must run with. */
#define PASTA_HAS(p, member) ((p)->size >= offsetof(__typeof__(*(p)), member) + sizeof((p)->member))

/* An error: one line that states what went wrong and what to do. Zero it before use; size may stay
 * 0. */
struct pasta_error {
	uint32_t size; /* of this struct, if the framework passes it to a tool */
	int code;      /* a negative errno; 0: no error */
	char text[504];
};

/* Describes an error, and returns code. err may be NULL. Replaces an earlier description. */
PASTA_EXPORT int pasta_fail(struct pasta_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints a message to the user at once: "accelprof: NAME: ..." on stderr, in one line. Control
 * characters are made visible. The first 100 messages of a state are shown, the others counted.
 * Results belong in tables and findings, not here. Call it from the tool's callbacks; elsewhere the
 * line has no name. */
enum pasta_log_level { PASTA_LOG_NOTE = 1, PASTA_LOG_WARNING, PASTA_LOG_ERROR };
PASTA_EXPORT void pasta_log(enum pasta_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns the text or bytes of an id, and their length. Never NULL: "" for 0 and unknown ids. A NUL
 * follows the text; the length does not count it. Lives as long as the process. Any thread. */
PASTA_EXPORT const char *pasta_str(uint32_t id);
PASTA_EXPORT const char *pasta_bytes(uint32_t id, size_t *size);
/* Interns bytes, and returns their id; 0: out of memory. Equal bytes have the same id in all states
 * of all tools, so ids can be keys of groups. The bytes are never freed: intern only a limited
 * number of texts. Any thread; acquires a lock. */
PASTA_EXPORT uint32_t pasta_strings_add(const void *bytes, size_t size);
/* Returns the text of a name, for reports: "(unnamed)" for 0. */
static inline const char *pasta_name(uint32_t id)
{
	return id ? pasta_str(id) : "(unnamed)";
}

#ifdef __cplusplus
}
#endif
#endif
