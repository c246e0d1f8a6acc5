/* optext.h - parses the texts that describe the inputs of an operator. */
#ifndef PASTA_PROCESS_DIAGNOSIS_OPTEXT_H
#define PASTA_PROCESS_DIAGNOSIS_OPTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PASTA_OPTEXT_DIMS = 8, PASTA_OPTEXT_ARGS = 48 };

enum pasta_dtype_class {
	PASTA_DTYPE_BOOL,
	PASTA_DTYPE_INTEGER,
	PASTA_DTYPE_FLOAT,
	PASTA_DTYPE_COMPLEX,
};

/* A type of elements. */
struct pasta_dtype {
	const char *name; /* of PyTorch: "bfloat16" */
	uint32_t size;	  /* bytes of an element */
	uint32_t class;	  /* enum pasta_dtype_class */
};

/* An argument of an operator. */
struct pasta_optext_arg {
	const struct pasta_dtype *dtype; /* NULL: the argument is not a tensor, or the text does
					  * not contain the type of a list's tensors */
	bool tensor, list;
	uint32_t dims_count;
	double dims[PASTA_OPTEXT_DIMS]; /* of a tensor; not set for a list */
	double elements;		/* of the tensor, or of all tensors of a list */
	double bytes;			/* the same in bytes; 0: the type is not known */
};

struct pasta_optext {
	struct pasta_optext_arg args[PASTA_OPTEXT_ARGS];
	size_t count;
};

/* Parses a text of types and dimensions, such as "c10::Half[8,64], Scalar, -" of a PyTorch trace or
 * "float16[8,64], , " of a recorded run. Ignores arguments that it cannot parse, and all arguments
 * after the first PASTA_OPTEXT_ARGS. The text may have any content. */
void pasta_optext_parse(struct pasta_optext *to, const char *text);
/* Reduces the bytes of tensors that have dimensions of stride 0, as after `expand`: their elements
 * are stored once. The text has an entry for each argument: "[150528,1,672,3];;". */
void pasta_optext_strides(struct pasta_optext *t, const char *strides);
/* Returns an argument if it is a tensor with at least `dims` dimensions, or NULL. */
const struct pasta_optext_arg *pasta_optext_tensor(const struct pasta_optext *t, size_t at,
						   size_t dims);

/* The functions below read the value of an argument from a text such as ";;[2, 2];False;1".
 * Arguments are numbered from 0. */
/* Reads the numbers of a list such as "[2, 2]", or one number, into an array of `max` numbers.
 * "True" is 1 and "False" is 0. Returns their number; 0 if the argument is missing or has another
 * form. */
size_t pasta_optext_numbers(const char *scalars, size_t at, double *numbers, size_t max);
/* Reads a number, or returns `missing`. */
double pasta_optext_number(const char *scalars, size_t at, double missing);

#endif
