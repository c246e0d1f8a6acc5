/* formula.h - the least work that an operator needs, computed from its name and inputs. */
#ifndef PASTA_PROCESS_DIAGNOSIS_FORMULA_H
#define PASTA_PROCESS_DIAGNOSIS_FORMULA_H

#include "process/diagnosis/optext.h"

/* The rank of a formula. If an operator calls operators whose formulas have the same or a higher
 * rank, only the called operators count: a convolution that calls aten::add_ for its bias counts,
 * but a linear layer that calls aten::addmm does not. */
enum pasta_formula_rank {
	PASTA_FORMULA_NONE,   /* there is no formula, or the texts lack what the formula needs */
	PASTA_FORMULA_MOVE,   /* copies and fills: no arithmetic */
	PASTA_FORMULA_STREAM, /* elementwise operators, normalizations, reductions */
	PASTA_FORMULA_MATRIX, /* matrix products, convolutions, attention */
};

struct pasta_formula {
	uint32_t rank;	  /* enum pasta_formula_rank */
	bool elementwise; /* each element of the output depends only on the same element of the
			   * inputs */
	bool in_place;	  /* the operator writes to its first input */
	const struct pasta_dtype *dtype; /* of the first tensor; NULL: not known */
	double flops, bytes;		 /* 0: no formula, or the type of a tensor is not known */
	double outputs;			 /* bytes of the outputs, without those written in place */
	double working_set;		 /* bytes of all inputs and outputs */
};

/* The texts of an operator's begin and end. Missing texts are "". */
struct pasta_formula_texts {
	const char *name, *inputs, *scalars, *outputs, *strides;
};

/* Computes the work of an operator. The texts may have any content. */
void pasta_formula_of(struct pasta_formula *f, const struct pasta_formula_texts *texts);

/* -- For the files that implement formulas -- */

/* A formula that is being computed. A function that implements a formula sets `out`: elements and
 * size of the outputs. */
struct pasta_formula_call {
	struct pasta_formula *f;
	const struct pasta_formula_entry *entry;
	const struct pasta_optext *in;
	const struct pasta_optext *out; /* of the outputs; empty if they are not known */
	const char *scalars;
};

enum { PASTA_FORMULA_ARGUMENTS = 7 };
struct pasta_formula_entry {
	const char *name; /* without "aten::" */
	/* Sets flops, bytes and outputs. Returns false if something is missing. */
	bool (*compute)(const struct pasta_formula_call *call);
	uint8_t rank;
	bool elementwise;
	/* the meaning depends on the function; mostly positions of arguments */
	int8_t at[PASTA_FORMULA_ARGUMENTS];
};

/* Matrix products, convolutions and attention (formulamatrix.c), sorted by name. */
extern const struct pasta_formula_entry pasta_formula_matrix[];
extern const size_t pasta_formula_matrix_count;
/* Elementwise operators (formulaelement.c), sorted by name. */
extern const struct pasta_formula_entry pasta_formula_element[];
extern const size_t pasta_formula_element_count;
/* All others (formulastream.c), sorted by name. */
extern const struct pasta_formula_entry pasta_formula_stream[];
extern const size_t pasta_formula_stream_count;

/* The formula of all operators whose names begin with "_foreach_". */
bool pasta_formula_foreach(const struct pasta_formula_call *call);
/* Computes the size of a dimension after a convolution or pooling. `numbers` has the kernel's size,
 * stride, padding and dilation. */
double pasta_formula_window(double size, const double numbers[4]);

#endif
