/*
 * parcel.h - what tools reported, and the tools of a library, from one process to another.
 *
 * Who reads trusts nobody: each length, type, name and number is checked before anything is used.
 */
#ifndef PASTA_PROCESS_PARCEL_H
#define PASTA_PROCESS_PARCEL_H

#include "process/sdk/result.h"
#include "process/run/tool.h"
#include "process/io/wire.h"

/* The most of one tool. */
#define PASTA_PARCEL_TABLES 4096 /* and charts, together */
#define PASTA_PARCEL_COLUMNS 4096
#define PASTA_PARCEL_CELLS ((size_t)1 << 27) /* of all its tables */
#define PASTA_PARCEL_TOOLS 256
#define PASTA_PARCEL_OPTIONS 64

/* What else is known in the process that read the run. */
struct pasta_parcel {
	uint64_t captured;	   /* events */
	bool stopped;		   /* by an interrupt, before all was read */
	uint64_t read, to_read;	   /* bytes */
	size_t changed;		   /* files that are not what was recorded */
	const char *changed_file;  /* the first, or NULL */
	struct pasta_error unread; /* why raw accesses could not be read; code 0: they could */
};

/* A tool that reported more than the most fails here. */
void pasta_parcel_put(struct pasta_wire *w, const struct pasta_parcel *parcel,
		      struct pasta_out *const *outs, size_t count);
/* Into outs of the same tools, in the same order, which have nothing yet. 0, -EBADMSG or -ENOMEM:
 * then they still have nothing. Texts of *parcel are those of in. */
int pasta_parcel_get(struct pasta_wire_in *in, struct pasta_parcel *parcel,
		     struct pasta_out *const *outs, size_t count);

/* A descriptor, but its functions and groups. */
void pasta_parcel_put_tool(struct pasta_wire *w, const struct pasta_tool *tool);
/* A descriptor that pasta_tool_register takes, to be freed as below; its functions must never be
 * called. What is in it is not checked beyond its form: registering does that. NULL: -EBADMSG or
 * -ENOMEM in *error. */
struct pasta_tool *pasta_parcel_get_tool(struct pasta_wire_in *in, int *error);
void pasta_parcel_free_tool(struct pasta_tool *tool);

#endif
