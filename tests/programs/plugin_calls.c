/* plugin_calls.c - a library that calls its caller back, so that it is on the path. */
int plugin_call(int (*back)(void));

__attribute__((noinline)) static int plugin_inner(int (*back)(void))
{
	return back() + 1;
}

int plugin_call(int (*back)(void))
{
	return plugin_inner(back) + 1;
}
