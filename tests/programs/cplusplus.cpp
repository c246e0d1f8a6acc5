// cplusplus - annotate.h from C++, before main and after it too.
#include <cstdio>

#include <pasta/annotate.h>

struct region {
	explicit region(const char *name)
	{
		pasta_region_begin(name);
	}
	~region()
	{
		pasta_region_end();
	}
};

struct early_and_late {
	early_and_late()
	{
		region r("before main");
	}
	~early_and_late()
	{
		region r("after main");
	}
};

static early_and_late object;

int main()
{
	region r("main");

	pasta_counter("answer", 42);
	std::puts("done");
}
