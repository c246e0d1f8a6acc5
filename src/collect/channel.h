/*
 * channel.h - the datagram by which a process reports its loss to accelprof run.
 *
 * Most processes report their loss on the control page. A process that cannot map the page, because
 * it belongs to another user or runs in a sandbox, sends a datagram instead, so that its missing
 * events do not go unnoticed.
 */
#ifndef PASTA_COLLECT_CHANNEL_H
#define PASTA_COLLECT_CHANNEL_H

#include <stdint.h>

/* The value is NAME/TOKEN. NAME is the socket's abstract name, which all users can see. TOKEN is a
 * secret: accelprof ignores messages without it. */
#define PASTA_ENV_CHANNEL "PASTA_CHANNEL"
#define PASTA_CHANNEL_MAGIC 0x4c4e4843u /* "CHNL" */
#define PASTA_CHANNEL_NAME 64
#define PASTA_CHANNEL_TOKEN 32

/* A message with the loss of one process. A later message of the process replaces an earlier
 * one. */
struct pasta_channel_note {
	uint32_t magic;
	uint32_t pid;
	char token[PASTA_CHANNEL_TOKEN];
	/* the process's start time, because exec or a reused process id makes pid ambiguous */
	uint64_t began;
	uint64_t lost;	/* events dropped so far */
	int32_t error;	/* the errno that explains why the process cannot record; 0: unknown */
	char text[204]; /* the error as text */
};

void pasta_channel_begin(const char *name); /* called once, when the agent attaches */
void pasta_channel_forked(void);	    /* in the child */
void pasta_channel_fail(int error, const char *text);
void pasta_channel_loss(uint64_t n);
void pasta_channel_end(void); /* the program is exiting */

#endif
