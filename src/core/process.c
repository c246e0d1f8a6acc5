/* process.c - what a process is called, in all outputs. */
#include <stdio.h>

#include <pasta/pasta.h>

const char *pasta_process_text(const char *host, uint32_t pid, uint32_t number, char *text,
			       size_t size)
{
	if (pid && host && *host)
		snprintf(text, size, "%s-%u", host, pid);
	else if (pid)
		snprintf(text, size, "pid %u", pid);
	else
		snprintf(text, size, "#%u", number);
	return text;
}
