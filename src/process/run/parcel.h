/*
 * parcel.h - serializes reports and tool descriptors, to pass them from a worker to accelprof.
 *
 * The reader does not trust the worker: it checks each length, type, name and number before use.
 */
#ifndef PASTA_PROCESS_PARCEL_H
#define PASTA_PROCESS_PARCEL_H

#include "process/sdk/result.h"
#include "process/run/tool.h"
#include "process/io/wire.h"

/* Limits on the report of one tool. */
#define PASTA_PARCEL_TABLES 4096 /* tables and charts together */
#define PASTA_PARCEL_COLUMNS 4096
#define PASTA_PARCEL_CELLS ((size_t)1 << 27) /* maximum number of cells in all tables together */
#define PASTA_PARCEL_TOOLS 256
#define PASTA_PARCEL_OPTIONS 64

/* The facts that a worker reports about the run that it read. */
struct pasta_parcel {
	uint64_t captured; /* events */
	/* The user interrupted the worker before it had read all events. */
	bool stopped;
	uint64_t read, to_read;	   /* bytes */
	size_t changed;		   /* number of files that have changed since the recording */
	const char *changed_file;  /* name of the first file that has changed, or NULL */
	struct pasta_error unread; /* why raw accesses could not be read; code 0 if they could */
};

/* Writes the reports of all tools. If a report exceeds the limits, writes an error in its place. */
void pasta_parcel_put(struct pasta_wire *w, const struct pasta_parcel *parcel,
		      struct pasta_out *const *outs, size_t count);
/* Reads the reports into empty entries for the same tools, in the same order. Returns 0, -EBADMSG
 * or -ENOMEM. After an error, the entries stay empty. The texts of *parcel point into `in`. */
int pasta_parcel_get(struct pasta_wire_in *in, struct pasta_parcel *parcel,
		     struct pasta_out *const *outs, size_t count);

/* Writes a descriptor, without its functions and groups. */
void pasta_parcel_put_tool(struct pasta_wire *w, const struct pasta_tool *tool);
/* Returns a descriptor for pasta_tool_register, which checks the values in it. Free it with
 * pasta_parcel_free_tool. The descriptor's functions must never be called. On an error, returns
 * NULL and sets *error to -EBADMSG or -ENOMEM. */
struct pasta_tool *pasta_parcel_get_tool(struct pasta_wire_in *in, int *error);
void pasta_parcel_free_tool(struct pasta_tool *tool);

#endif
