/* plugin_throw.cpp - a tool in C++ that throws through its callback. */
#include <stdexcept>

#include <pasta/pasta.h>

static void on_event(void *, const struct pasta_event *)
{
	throw std::runtime_error("nobody catches this");
}

static int report(void *, struct pasta_out *)
{
	return 0;
}

PASTA_TOOL(.name = "throw", .summary = "throws", .events = PASTA_MASK(KERNEL), .event = on_event,
	   .report = report);
