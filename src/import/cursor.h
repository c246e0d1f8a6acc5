/*
 * cursor.h - reads JSON text of any length from start to end.
 *
 * The caller enters objects and arrays and reads their members one by one; pasta_cursor_value puts
 * a whole value on a tape. Error messages contain the file's name and the byte offset. After an
 * error, every later call returns the same error. If the member `recover` is set, damaged elements
 * of arrays are skipped and counted instead. Only one thread at a time may use a cursor.
 */
#ifndef PASTA_IMPORT_CURSOR_H
#define PASTA_IMPORT_CURSOR_H

#include "import/jsontape.h"
#include "import/tracefile.h"

/* Zero the struct before use, then set the members `file` and `err`. */
struct pasta_cursor {
	struct pasta_tracefile *file;
	struct pasta_error *err;
	/* Returns whether reading can resume at a JSON object that was found after damage. If NULL,
	 * reading resumes at any JSON object. */
	bool (*is_element)(const struct pasta_jsontape *tape);
	bool recover;
	struct pasta_jsontape tape; /* the last value */
	/* Offset in the text of the value that was put on the tape last. */
	uint64_t at;

	/* accept arrays without an end or with a comma before the end, as in Chrome's traces */
	bool loose;
	/* number of damaged parts that were skipped, and their size in bytes */
	uint64_t damaged, damaged_bytes;

	/* private to cursor.c */
	size_t pos; /* offset of the current position in the window */
	/* an object or array was entered, and none of its contents were read yet */
	bool fresh;
	bool ended; /* the text has ended, possibly because of damage */
	/* the text has ended because of damage, at an unknown nesting depth */
	bool ended_by_damage;
};

void pasta_cursor_free(struct pasta_cursor *c);

/* Goes back to the start of the text. Returns -ESPIPE for a pipe. */
int pasta_cursor_restart(struct pasta_cursor *c);

/* Returns the first character of the next value, such as '{', '[', '"' or a digit. Returns 0 at the
 * end of the text, or a negative errno. */
int pasta_cursor_peek(struct pasta_cursor *c);

/* Enters the next value, which must be a JSON object or array. */
int pasta_cursor_enter(struct pasta_cursor *c);
/* Reads the name of the object's next member. The name is valid until the next call. Returns 1; or,
 * at the end of the object, leaves the object and returns 0. */
int pasta_cursor_key(struct pasta_cursor *c, struct pasta_slice *key);
/* Returns 1 if the array has another element; or, at the end of the array, leaves the array and
 * returns 0. With `recover`, skips damage between elements. */
int pasta_cursor_element(struct pasta_cursor *c);

/* Puts the next value on the tape. With `recover`, returns 1 if the value is a damaged element of
 * an array; reading then continues with a later element, or at the end of the array. */
int pasta_cursor_value(struct pasta_cursor *c);
/* Skips the next value, of any size. With `recover`, returns 1 if the value is a damaged element of
 * an array, as pasta_cursor_value does. */
int pasta_cursor_skip(struct pasta_cursor *c);

/* With `recover`, moves to the next element after damage outside of an array. Returns 0 if there is
 * no further element. */
int pasta_cursor_rescue(struct pasta_cursor *c);

/* Reports, with the position of `token`, that a value on the tape is invalid. Returns -EBADMSG. */
int pasta_cursor_wrong(struct pasta_cursor *c, uint32_t token, const char *what);
/* Returns an error unless the text ends at the current position. */
int pasta_cursor_end(struct pasta_cursor *c);

#endif
