/* gen_torch.c - the Python code of the model: the line and the module of each operator. */
#include "gen.h"

const struct gen_line gen_lines[GEN_LINES] = {
	{"forward", "/work/model.py", 21, "norm1"},
	{"forward", "/work/model.py", 22, "qkv"},
	{"forward", "/work/model.py", 23, "attention"},
	{"forward", "/work/model.py", 24, "out"},
	{"forward", "/work/model.py", 25, "dropout"},
	{"forward", "/work/model.py", 26, NULL},
	{"forward", "/work/model.py", 27, "norm2"},
	{"mlp", "/work/model.py", 40, "mlp.up"},
	{"mlp", "/work/model.py", 41, "mlp.gelu"},
	{"mlp", "/work/model.py", 42, "mlp.down"},
	[GEN_LINE_BACKWARD] = {"train", "/work/train.py", 12, NULL},
	[GEN_LINE_OPTIMIZER] = {"train", "/work/train.py", 13, NULL},
	[GEN_LINE_LOSS] = {"train", "/work/train.py", 15, NULL},
};

const int gen_backward_lines[] = {
	5, 9, 8, 7, GEN_LINE_BACKWARD, 6, 2, GEN_LINE_BACKWARD, 1, GEN_LINE_BACKWARD};

/* The callers: the training loop, and the loop over the layers. */
static const struct gen_line callers[] = {
	{"<module>", "/work/train.py", 20, NULL},
	{"train", "/work/train.py", 10, NULL},
	{"forward", "/work/model.py", 60, NULL},
};

size_t gen_line_path(unsigned int line, struct gen_line path[GEN_PATH])
{
	size_t n = 0;

	path[n++] = callers[0];
	if (line < GEN_FORWARD_LINES) {
		path[n++] = callers[1];
		path[n++] = callers[2];
	}
	path[n++] = gen_lines[line];
	return n;
}
