/*
 * channel.h - a datagram by which a process reports its loss to accelprof run.
 *
 * Most processes use the control page. A process that cannot map it (of another user, in a
 * sandbox) sends a datagram instead, so that its missing events do not go unnoticed.
 */
#ifndef PASTA_COLLECT_CHANNEL_H
#define PASTA_COLLECT_CHANNEL_H

#include <stdint.h>

/* NAME/TOKEN: the socket's abstract name, which all users can see, and a secret that a note must
 * contain to be accepted. */
#define PASTA_ENV_CHANNEL "PASTA_CHANNEL"
#define PASTA_CHANNEL_MAGIC 0x4c4e4843u /* "CHNL" */
#define PASTA_CHANNEL_NAME 64
#define PASTA_CHANNEL_TOKEN 32

/* One process's loss. A later note replaces an earlier one. */
struct pasta_channel_note {
	uint32_t magic;
	uint32_t pid;
	char token[PASTA_CHANNEL_TOKEN];
	uint64_t began; /* start time: with exec, or a reused id, pid is not unique */
	uint64_t lost;	/* events dropped so far */
	int32_t error;	/* errno: why the process cannot record; 0: unknown */
	char text[204]; /* the error as text */
};

void pasta_channel_begin(const char *name); /* once, when the agent attaches */
void pasta_channel_forked(void);	    /* in the child */
void pasta_channel_fail(int error, const char *text);
void pasta_channel_loss(uint64_t n);
void pasta_channel_end(void); /* the program is exiting */

#endif
