/* kernelname_internal.h - texts and rules that kernelname.c and kernellibrary.c share. */
#ifndef PASTA_PROCESS_KERNELNAME_INTERNAL_H
#define PASTA_PROCESS_KERNELNAME_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

/* A part of a name. */
struct pasta_namespan {
	const char *at, *end;
};

/* A short name while it is composed. */
struct pasta_nametext {
	char text[400];
	size_t size;
};

static inline size_t pasta_namespan_size(struct pasta_namespan s)
{
	return (size_t)(s.end - s.at);
}
bool pasta_namespan_is(struct pasta_namespan s, const char *text);
bool pasta_namespan_is_letter(char c);
/* Returns the word of letters, digits and underscores at a position. The word may be empty. */
struct pasta_namespan pasta_namespan_word(const char *at, const char *end);
/* Return whether a part begins or ends with a text. pasta_namespan_find returns the first
 * occurrence of a text in a part, or NULL. */
bool pasta_namespan_begins(struct pasta_namespan s, const char *text);
bool pasta_namespan_ends(struct pasta_namespan s, const char *text);
const char *pasta_namespan_find(struct pasta_namespan s, const char *text);

/* Append a part. The middle of a long part is replaced with an ellipsis. */
void pasta_nametext_add(struct pasta_nametext *t, struct pasta_namespan s);
/* Append a blank, unless the text is empty, and then a part. An empty part changes nothing. */
void pasta_nametext_word(struct pasta_nametext *t, struct pasta_namespan s);
void pasta_nametext_text(struct pasta_nametext *t, const char *word);

/* Compose the short name of a kernel from the identifier of a function of a library that encodes
 * the properties of its kernels in their names. Returns false, and leaves the text empty, if the
 * identifier follows no known grammar. */
bool pasta_kernellibrary_name(struct pasta_nametext *t, struct pasta_namespan id);
/* Compose the short name of a mangled name, such as "_ZN3fooE...", that could not be demangled
 * because it is incomplete. Returns false if the name is not mangled. */
bool pasta_kernellibrary_mangled(struct pasta_nametext *t, struct pasta_namespan name);

/* The path of a function: its identifier, the name before it that has a meaning, and the template
 * arguments of the function. */
struct pasta_kernelpath {
	struct pasta_namespan id, parent, args;
	bool scoped; /* the function is in a namespace or class */
};
/* Parse a name such as "void a::b<int>::f<float>(int)". Drop the return type, which ends with a
 * blank outside of brackets. */
void pasta_kernelpath_parse(struct pasta_kernelpath *path, struct pasta_namespan name);
/* Returns whether an identifier has no meaning without the namespace around it. */
bool pasta_kernelpath_is_generic(struct pasta_namespan id);
/* Some libraries have one function for all kernels, whose first template argument names the kernel.
 * pasta_kernelpath_is_wrapper returns whether a path is that of such a function, and
 * pasta_kernelpath_first returns the first template argument. */
bool pasta_kernelpath_is_wrapper(const struct pasta_kernelpath *path);
struct pasta_namespan pasta_kernelpath_first(const struct pasta_kernelpath *path);
/* Returns the end of the group of brackets that begins at p; `end` if the group is incomplete or
 * nested too deeply. */
const char *pasta_kernelpath_skip(const char *p, const char *end);

/* Compose the name of an instance of a generic kernel: "reduce mean f32", "copy strided bf16".
 * Returns false if the kernel is not generic, or its template arguments name no operation. */
bool pasta_kernelgeneric_name(struct pasta_nametext *t, const struct pasta_kernelpath *path);
/* Remove the parts of an identifier that only state that it is a kernel or a functor. */
struct pasta_namespan pasta_kernelgeneric_strip(struct pasta_namespan id, bool functor);
/* Returns the type of the data of a kernel that is not generic, from its template arguments; NULL
 * if they contain no type. `opaque` has room for the text of a type of which only the size is
 * known, such as "4B". */
#define PASTA_KERNELGENERIC_OPAQUE 8
const char *pasta_kernelgeneric_type(struct pasta_namespan args,
				     char opaque[PASTA_KERNELGENERIC_OPAQUE]);

/* Returns the short name of a C++ type, such as "bf16" for BFloat16; NULL if the word is not the
 * name of a number type. */
const char *pasta_kernellibrary_type(struct pasta_namespan word);

#endif
