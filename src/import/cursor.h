/*
 * cursor.h - reads JSON text of any length from begin to end.
 *
 * The caller enters objects and arrays and reads their members one by one; pasta_cursor_value puts
 * a whole value on a tape. Error messages have the file's name and the byte offset. Errors are
 * final: every later call returns the same one. With recover, damaged elements of arrays are
 * skipped and counted instead. One thread at a time.
 */
#ifndef PASTA_IMPORT_CURSOR_H
#define PASTA_IMPORT_CURSOR_H

#include "import/jsontape.h"
#include "import/tracefile.h"

/* Zero it before use, then set file and err. */
struct pasta_cursor {
	struct pasta_tracefile *file;
	struct pasta_error *err;
	/* With recover: returns whether an object found after damage is an element at which to
	 * resume. NULL: any object is. */
	bool (*is_element)(const struct pasta_jsontape *tape);
	bool recover;
	struct pasta_jsontape tape; /* the last value */
	uint64_t at;		    /* offset of that value in the text */

	bool loose; /* accept arrays like Chrome's: without an end, or with ',' before it */
	uint64_t damaged, damaged_bytes; /* damaged parts that were skipped, and their bytes */

	/* private to cursor.c */
	size_t pos;	      /* in the window */
	bool fresh;	      /* an object or array was just entered */
	bool ended;	      /* recovered: no more text */
	bool ended_by_damage; /* recovered: damage set ended; the nesting is unknown */
};

void pasta_cursor_free(struct pasta_cursor *c);

/* Restarts at the begin of the text. Returns -ESPIPE for a pipe. */
int pasta_cursor_restart(struct pasta_cursor *c);

/* Returns the first character of the next value: '{', '[', '"', a digit, ...; 0 at the end of the
 * text; or a negative errno. */
int pasta_cursor_peek(struct pasta_cursor *c);

/* Enters the next value, an object or array. */
int pasta_cursor_enter(struct pasta_cursor *c);
/* Reads the next member's name, valid until the next call. Returns 1; or 0 at the end of the
 * object, which it leaves. */
int pasta_cursor_key(struct pasta_cursor *c, struct pasta_slice *key);
/* Returns 1 if the entered array has another element; or 0 at its end, which it leaves. With
 * recover, skips damage between elements. */
int pasta_cursor_element(struct pasta_cursor *c);

/* Puts the next value on the tape. With recover, in an array: returns 1 if the value was damaged;
 * reading resumes at another element, or at the end of the array. */
int pasta_cursor_value(struct pasta_cursor *c);
/* Skips the next value, of any size. With recover: returns 1 if the value was damaged, as
 * pasta_cursor_value does. */
int pasta_cursor_skip(struct pasta_cursor *c);

/* With recover, after damage outside of an array: moves to the next element, as if in an array.
 * Returns 0 if there is none. */
int pasta_cursor_rescue(struct pasta_cursor *c);

/* Reports an invalid value on the tape, at one of its tokens. Returns -EBADMSG. */
int pasta_cursor_wrong(struct pasta_cursor *c, uint32_t token, const char *what);
/* Fails unless the text ends here. */
int pasta_cursor_end(struct pasta_cursor *c);

#endif
