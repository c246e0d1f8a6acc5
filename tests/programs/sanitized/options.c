/*
 * options.c - in sanitized builds, part of each program under study: the program ends as it does
 * without a sanitizer. What it and its libraries leak is its own business, and a signal that it
 * dies of is part of the test. ASAN_OPTIONS and TSAN_OPTIONS override these.
 */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:"
	       "handle_abort=0";
}

const char *__tsan_default_options(void)
{
	return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0";
}
