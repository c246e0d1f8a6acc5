/* err.c - sets the code and the message of a pasta_error. */
#include <stdarg.h>
#include <stdio.h>

#include "core/err.h"

int pasta_fail(struct pasta_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}
