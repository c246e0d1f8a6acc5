/*
 * cursor.h - reads JSON text of any length from start to end.
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

/* Zero the struct before use, then set file and err. */
struct pasta_cursor {
	struct pasta_tracefile *file;
	struct pasta_error *err;
	/* Returns whether reading can resume at an object found after damage. NULL: at any object.
	 */
	bool (*is_element)(const struct pasta_jsontape *tape);
	bool recover;
	struct pasta_jsontape tape; /* the last value */
	uint64_t at;		    /* offset of the last value in the text */

	bool loose; /* accept arrays without an end, or with ',' before the end, as in Chrome's
		       traces */
	uint64_t damaged, damaged_bytes; /* damaged parts that were skipped, and their bytes */

	/* private to cursor.c */
	size_t pos;	      /* in the window */
	bool fresh;	      /* an object or array was entered, and nothing in it was read */
	bool ended;	      /* recovered: no more text */
	bool ended_by_damage; /* damage set ended; the nesting is unknown */
};

void pasta_cursor_free(struct pasta_cursor *c);

/* Restarts at the start of the text. Returns -ESPIPE for a pipe. */
int pasta_cursor_restart(struct pasta_cursor *c);

/* Returns the first character of the next value: '{', '[', '"', a digit, ...; 0 at the end of the
 * text; or a negative errno. */
int pasta_cursor_peek(struct pasta_cursor *c);

/* Enters the next value, which must be an object or array. */
int pasta_cursor_enter(struct pasta_cursor *c);
/* Reads the name of the object's next member, valid until the next call. Returns 1; or, at the end
 * of the object, leaves the object and returns 0. */
int pasta_cursor_key(struct pasta_cursor *c, struct pasta_slice *key);
/* Returns 1 if the array has another element; or, at the end of the array, leaves the array and
 * returns 0. With recover, skips damage between elements. */
int pasta_cursor_element(struct pasta_cursor *c);

/* Puts the next value on the tape. With recover, returns 1 if the value is a damaged element of an
 * array; reading then resumes at another element, or at the end of the array. */
int pasta_cursor_value(struct pasta_cursor *c);
/* Skips the next value, of any size. With recover, returns 1 if the value is damaged, like
 * pasta_cursor_value. */
int pasta_cursor_skip(struct pasta_cursor *c);

/* Moves to the next element after damage outside of an array, with recover. Returns 0 if there is
 * no further element. */
int pasta_cursor_rescue(struct pasta_cursor *c);

/* Reports an invalid value on the tape, at one of its tokens. Returns -EBADMSG. */
int pasta_cursor_wrong(struct pasta_cursor *c, uint32_t token, const char *what);
/* Fails unless the text ends here. */
int pasta_cursor_end(struct pasta_cursor *c);

#endif
