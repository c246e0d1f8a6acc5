/*
 * channel.h - the datagram by which a process reports its loss to accelprof run.
 *
 * Most processes report their loss on the control page. A process that belongs to another user or
 * runs in a sandbox may be unable to map the page. Such a process sends a datagram instead, so that
 * its missing events do not go unnoticed.
 */
#ifndef PASTA_COLLECT_CHANNEL_H
#define PASTA_COLLECT_CHANNEL_H

#include <stdint.h>

/* The value of this environment variable is NAME/TOKEN. NAME is the socket's abstract name, which
 * all users can see. TOKEN is a secret: accelprof ignores messages without the token. */
#define PASTA_ENV_CHANNEL "PASTA_CHANNEL"
#define PASTA_CHANNEL_MAGIC 0x4c4e4843u /* the letters "CHNL" */
#define PASTA_CHANNEL_NAME 64
#define PASTA_CHANNEL_TOKEN 32

/* A message that reports the loss of one process. Each message replaces the process's earlier
 * messages. */
struct pasta_channel_note {
	uint32_t magic;
	uint32_t pid;
	char token[PASTA_CHANNEL_TOKEN];
	/* The time at which the process attached or was forked. This time and the process id
	 * together identify the process. The id alone does not, because the id stays the same after
	 * an exec, and may be reused. */
	uint64_t began;
	uint64_t lost;	/* number of events dropped so far */
	int32_t error;	/* the errno that explains why the process cannot record; 0 if unknown */
	char text[204]; /* description of the error */
};

/* The agent calls this function once, when it attaches. */
void pasta_channel_begin(const char *name);
void pasta_channel_forked(void); /* A forked child calls this function. */
void pasta_channel_fail(int error, const char *text);
void pasta_channel_loss(uint64_t n);
void pasta_channel_end(void); /* The process calls this function when it exits. */

#endif
