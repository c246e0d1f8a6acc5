/* plugin_cplusplus.cpp - a library with names that only C++ has, on the path of its caller. */
namespace shapes
{
template <typename T> struct visitor {
	__attribute__((noinline)) T visit(T (*back)())
	{
		return back() + 1;
	}
};
} // namespace shapes

extern "C" int plugin_call(int (*back)());
extern "C" int plugin_call(int (*back)())
{
	return shapes::visitor<int>().visit(back) + 1;
}
