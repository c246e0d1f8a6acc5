/*
 * cursor.h - a JSON text of any length, read from its begin to its end.
 *
 * Objects and arrays are entered, and their members come one by one; a value that is to be looked
 * at is put on a tape, whole. Errors are described with the file's name and the byte's number, and
 * are final: every call after one returns it. With recover, elements of arrays that are damaged are
 * passed over instead, and counted. One thread at a time.
 */
#ifndef PASTA_IMPORT_CURSOR_H
#define PASTA_IMPORT_CURSOR_H

#include "import/jsontape.h"
#include "import/tracefile.h"

/* Zero it before use, with file and err set. */
struct pasta_cursor {
	struct pasta_tracefile *file;
	struct pasta_error *err;
	/* With recover: whether an object that was found after damage is an element, so that
	 * reading goes on there. NULL: any object is. */
	bool (*is_element)(const struct pasta_jsontape *tape);
	bool recover;
	struct pasta_jsontape tape; /* the last value */
	uint64_t at;		    /* where that value began in the text */

	bool loose; /* arrays as Chrome has them: the end may be missing, and ',' be before it */
	uint64_t damaged, damaged_bytes; /* places that were passed over */

	/* cursor.c's own */
	size_t pos; /* in the window */
	bool fresh; /* an object or array was just entered */
	bool ended; /* recovered: the text has no more */
	bool lost;  /* recovered: so it was taken, for nobody knows where in it we are */
};

void pasta_cursor_free(struct pasta_cursor *c);

/* From the text's begin once more, as if nothing had been read. -ESPIPE: it came through a pipe. */
int pasta_cursor_restart(struct pasta_cursor *c);

/* The first character of the value that comes: '{', '[', '"', a digit, ...; 0 at the text's end,
 * and a negative errno. */
int pasta_cursor_peek(struct pasta_cursor *c);

/* Into an object or array that comes. */
int pasta_cursor_enter(struct pasta_cursor *c);
/* The next member's name: 1, until the next call; 0: the object has ended, and one is out of it. */
int pasta_cursor_key(struct pasta_cursor *c, struct pasta_slice *key);
/* 1: a value comes, of the array that was entered. 0: it has ended, and one is out of it. With
 * recover, what is wrong between two of them is passed over. */
int pasta_cursor_element(struct pasta_cursor *c);

/* The value that comes, on the tape. With recover, in an array: 1 if it was damaged, and reading
 * goes on at another element, or at the array's end. */
int pasta_cursor_value(struct pasta_cursor *c);
/* Pass over the value that comes, however many members it has. With recover: 1 as above, and one is
 * out of the value. */
int pasta_cursor_skip(struct pasta_cursor *c);

/* With recover, if damage outside an array was the end of it: to the next element, as if in an
 * array; 0: there is none. */
int pasta_cursor_rescue(struct pasta_cursor *c);

/* Something is wrong with the value on the tape, at one of its tokens: describe it, and return
 * -EBADMSG. */
int pasta_cursor_wrong(struct pasta_cursor *c, uint32_t token, const char *what);
/* The text must end here. */
int pasta_cursor_end(struct pasta_cursor *c);

#endif
