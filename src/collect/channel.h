/*
 * channel.h - the second way in which a process reports what it lost: a datagram to accelprof run.
 *
 * The first is the control page. A process that cannot map it (another user's, one in a sandbox)
 * sends this instead, so that nobody takes its silence for a program that did nothing.
 */
#ifndef PASTA_COLLECT_CHANNEL_H
#define PASTA_COLLECT_CHANNEL_H

#include <stdint.h>

/* NAME/TOKEN: the socket's abstract name, which all users can see, and what a note must have in it
 * to be heard. */
#define PASTA_ENV_CHANNEL "PASTA_CHANNEL"
#define PASTA_CHANNEL_MAGIC 0x4c4e4843u /* "CHNL" */
#define PASTA_CHANNEL_NAME 64
#define PASTA_CHANNEL_TOKEN 32

/* Of one process; a later one replaces an earlier. */
struct pasta_channel_note {
	uint32_t magic;
	uint32_t pid;
	char token[PASTA_CHANNEL_TOKEN];
	uint64_t began; /* when it did; exec keeps the number */
	uint64_t lost;	/* events, in all */
	int32_t error;	/* errno: why it cannot record; 0: not known */
	char text[204]; /* the same in words */
};

void pasta_channel_begin(const char *name); /* once, while the agent attaches */
void pasta_channel_forked(void);	    /* in the child */
void pasta_channel_fail(int error, const char *text);
void pasta_channel_lost(uint64_t n);
void pasta_channel_end(void); /* the program is at its end */

#endif
