/*
 * base.h - what every other header of the SDK needs: version, errors, messages, interned strings.
 *
 * Unless a function says otherwise: strings that are passed in are copied; pointers that are
 * returned live until the tool's close; a tool calls functions from its own callbacks only, which
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
 * another major version is refused before anything but size, api_major and api_minor is read.
 * Within a major version structs grow at their end only, enumerators are appended and never
 * renumbered, and no function changes its type or goes. docs/abi.md has the rules and the history.
 */
#define PASTA_API_MAJOR 1
#define PASTA_API_MINOR 0

#ifdef __cplusplus
#define PASTA_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define PASTA_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
/* An offset that a release has shipped. */
#define PASTA_FROZEN(type, member, offset)                                                         \
	PASTA_STATIC_ASSERT(offsetof(type, member) == (offset),                                    \
			    #type "." #member " has moved: structs grow at their end only")
/* Whether the struct that the other side passed reaches as far as a member: ask before reading a
 * member that is newer than the version the tool was built for. */
#define PASTA_HAS(p, member) ((p)->size >= offsetof(__typeof__(*(p)), member) + sizeof((p)->member))

/* What went wrong, in one line that says what to do. Zero it before use; size may stay 0. */
struct pasta_error {
	uint32_t size; /* of this struct, where the framework passes one to a tool */
	int code;      /* a negative errno; 0: no error */
	char text[504];
};

/* Describe an error and return code. err may be NULL. Replaces an earlier description. */
PASTA_EXPORT int pasta_fail(struct pasta_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A message of a tool's own, for the person who runs it: one line on stderr, "accelprof: NAME:
 * ...", shown at once. Control characters are made visible. The first 100 of a state are shown, and
 * the others counted. Results belong in tables and findings, not here. From the tool's own
 * callbacks only; elsewhere the line has no name. */
enum pasta_log_level { PASTA_LOG_NOTE = 1, PASTA_LOG_WARNING, PASTA_LOG_ERROR };
PASTA_EXPORT void pasta_log(enum pasta_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The text of an interned string or bytes, and its length. Never NULL: "" for 0 or unknown ids. A
 * NUL follows the text; the length does not count it. Lives as long as the process. Any thread. */
PASTA_EXPORT const char *pasta_str(uint32_t id);
PASTA_EXPORT const char *pasta_bytes(uint32_t id, size_t *size);
/* The id of such bytes: equal bytes have one id, in all states of all tools, so that it is a key
 * that groups can be merged by. They are never freed: add only what there is a limited number of.
 * 0 when out of memory. It takes a lock. Any thread. */
PASTA_EXPORT uint32_t pasta_strings_add(const void *bytes, size_t size);
/* The text of a name, for people: "(unnamed)" for 0. */
static inline const char *pasta_name(uint32_t id)
{
	return id ? pasta_str(id) : "(unnamed)";
}

#ifdef __cplusplus
}
#endif
#endif
