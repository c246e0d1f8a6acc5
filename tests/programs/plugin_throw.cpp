/* plugin_throw.cpp - a tool in C++ that throws through its callback. */
#include <stdexcept>

#include <pasta/tool.h>

static void on_event(void *, const struct pasta_event *, const struct pasta_where *)
{
	throw std::runtime_error("nobody catches this");
}

static int report(void *, struct pasta_out *, struct pasta_error *)
{
	return 0;
}

PASTA_TOOL(.name = "throw", .summary = "throws", .events = PASTA_MASK(KERNEL), .event = on_event,
	   .report = report);
