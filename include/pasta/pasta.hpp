/*
 * pasta.hpp - lets C++20 code write a tool as a class, with groups whose rows have a type.
 *
 * The classes here only call the functions of tool.h, which can also be called directly.
 */
#ifndef PASTA_PASTA_HPP
#define PASTA_PASTA_HPP

#include <cstddef>
#include <exception>
#include <iterator>
#include <new>
#include <type_traits>

#include <pasta/tool.h>

/* An initializer may omit members, which are then 0. Only g++ warns about omitted members. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace pasta
{

/*
 * A group whose rows have the type Row. Declare it as a member of the state, and list it with
 * PASTA_GROUP, so that the framework creates the group. Usage:
 *
 *	groups.kernels[{ev.kernel.name}].launches++;
 *	for (const kernel &k : groups.kernels)
 */
template <class Row> class group
{
	pasta_group *group_;

      public:
	using key_type = decltype(Row::key);
	static_assert(std::has_unique_object_representations_v<key_type>,
		      "the row's key has padding: reorder the members of the key, or declare a "
		      "member that fills the padding");
	static_assert(std::is_trivially_copyable_v<Row>,
		      "a row must be trivially copyable");

	class iterator
	{
		const pasta_group *group_ = nullptr;
		std::size_t at_ = 0;
		Row *row_ = nullptr;

	      public:
		using value_type = Row;
		using difference_type = std::ptrdiff_t;

		iterator() = default;
		explicit iterator(const pasta_group *group) : group_(group)
		{
			++*this;
		}
		Row &operator*() const
		{
			return *row_;
		}
		iterator &operator++()
		{
			row_ = static_cast<Row *>(pasta_group_next(group_, &at_));
			return *this;
		}
		iterator operator++(int)
		{
			iterator before = *this;

			++*this;
			return before;
		}
		bool operator==(std::default_sentinel_t) const
		{
			return !row_;
		}
	};

	/* Returns the row of a key, and adds the row if the key is new. */
	Row &operator[](const key_type &key) const
	{
		return *static_cast<Row *>(pasta_group_row(group_, &key));
	}
	/* Returns the row of a key, or nullptr if there is none. */
	Row *find(const key_type &key) const
	{
		return static_cast<Row *>(pasta_group_find(group_, &key));
	}
	/* Adds a number to a HIST member of a row. */
	void add(pasta_hist *&hist, uint64_t value) const
	{
		pasta_group_hist(group_, &hist, value);
	}
	std::size_t size() const
	{
		return pasta_group_count(group_);
	}
	iterator begin() const
	{
		return iterator(group_);
	}
	std::default_sentinel_t end() const
	{
		return {};
	}
	pasta_group *get() const
	{
		return group_;
	}
};

/* Calls f, and catches all exceptions, because they must not reach the C code that calls the tool.
 * Returns 0, or a negative errno that describes the exception in *err. */
template <class F> int guarded(pasta_error *err, F &&f) noexcept
{
	try {
		f();
		return 0;
	} catch (const std::bad_alloc &) {
		return pasta_fail(err, -ENOMEM, "out of memory");
	} catch (const std::exception &e) {
		return pasta_fail(err, -EIO, "%s", e.what());
	} catch (...) {
		return pasta_fail(err, -EIO,
				  "the tool threw an exception that is not a std::exception");
	}
}

/*
 * Makes a class T usable as a tool. T has a nested type groups, whose members are group<Row>, and
 * these functions:
 *
 *	T(groups &, const pasta_opts *);
 *	void event(const pasta_event &, const pasta_where *);
 *	void merge(const T &);       merges the data that is in no group, after the groups
 *	void report(pasta_out *);    reports findings and charts; the groups' tables follow
 *
 * An exception becomes the tool's error; after an exception in event, the tool receives no more
 * events. The descriptor has .state_size = sizeof(adapter<T>::state), .open = adapter<T>::open, and
 * so on; its groups are PASTA_GROUP(adapter<T>::state, groups.NAME, ...).
 */
template <class T> struct adapter {
	struct state {
		typename T::groups groups;
		alignas(T) std::byte object[sizeof(T)];
		bool made;
		pasta_error error; /* the first error that T's function `event` caused */
	};

	static T &of(void *s)
	{
		return *std::launder(reinterpret_cast<T *>(static_cast<state *>(s)->object));
	}
	static const T &of(const void *s)
	{
		return *std::launder(
			reinterpret_cast<const T *>(static_cast<const state *>(s)->object));
	}
	static int open(void *s, const pasta_opts *opts, pasta_error *err) noexcept
	{
		auto &self = *static_cast<state *>(s);

		return guarded(err, [&] {
			new (self.object) T(self.groups, opts);
			self.made = true;
		});
	}
	static void event(void *s, const pasta_event *ev, const pasta_where *where) noexcept
	{
		auto &self = *static_cast<state *>(s);

		if (!self.error.code)
			guarded(&self.error, [&] { of(s).event(*ev, where); });
	}
	static int merge(void *into, const void *from, pasta_error *err) noexcept
	{
		const auto &other = *static_cast<const state *>(from);

		if (other.error.code)
			return pasta_fail(err, other.error.code, "%s", other.error.text);
		return guarded(err, [&] { of(into).merge(of(from)); });
	}
	static int report(void *s, pasta_out *out, pasta_error *err) noexcept
	{
		const auto &self = *static_cast<state *>(s);
		int error = self.error.code;

		if (error)
			return pasta_fail(err, error, "%s", self.error.text);
		error = guarded(err, [&] { of(s).report(out); });
		return error ? error : pasta_out_groups(out, s, err);
	}
	static void close(void *s) noexcept
	{
		if (static_cast<state *>(s)->made)
			of(s).~T();
	}
};

} // namespace pasta

#endif
