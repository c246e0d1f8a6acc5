/* trace_model.c - what repeats in a generated trace: the rows of a training step. */
#include "trace.h"

/* clang-format off */
#define PART {.kind = TRACE_PART}
#define P(d, text) {.kind = TRACE_PYTHON, .depth = (d), .name = text}
#define N(d, class, nth, each) {.kind = TRACE_MODULE, .depth = (d), .number = (nth), .of = (each), .name = "nn.Module: " class "_"}
#define O(d, text, inputs) {.kind = TRACE_OP, .depth = (d), .name = text, .in = inputs}
#define S(d, text, inputs) {.kind = TRACE_GRAD_OP, .depth = (d), .name = text, .in = inputs}
#define R(d, text) {.kind = TRACE_REGION, .depth = (d), .name = text}
#define X(d, call) {.kind = TRACE_CALL, .depth = (d), .number = TRACE_CALL_##call}
#define W(d, call) {.kind = TRACE_WAIT, .depth = (d), .number = TRACE_CALL_##call}
#define K(d, kernel) {.kind = TRACE_KERNEL, .depth = (d), .number = (kernel), .of = TRACE_CALL_LAUNCH}
#define KX(d, kernel) {.kind = TRACE_KERNEL, .depth = (d), .number = (kernel), .of = TRACE_CALL_LAUNCH_EX}
#define KD(d, kernel) {.kind = TRACE_KERNEL, .depth = (d), .number = (kernel), .of = TRACE_CALL_DRIVER_LAUNCH}
#define C(d, way, size) {.kind = TRACE_COPY, .depth = (d), .number = TRACE_##way, .of = TRACE_CALL_COPY, .bytes = (size)}
#define Z(d, size) {.kind = TRACE_SET, .depth = (d), .of = TRACE_CALL_SET, .bytes = (size)}
#define A(d, size) {.kind = TRACE_ALLOC, .depth = (d), .bytes = (size)}
#define F(d, many) {.kind = TRACE_FREE, .depth = (d), .number = (many)}

#define METHOD(name) "<built-in method " name " of type object at 0x7f3ad4c2a1c0>"
#define TENSOR(name) "<built-in method " name " of Tensor object at 0x7f38e0b1d4f0>"
#define CALL_IMPL(d) P(d, "torch/nn/modules/module.py(1750): _call_impl")
#define MODULE(d, class, nth, each, forward) N(d, class, nth, each), CALL_IMPL((d) + 1), P((d) + 2, forward)
#define EMPTY(d, inputs, size) O(d, "aten::empty", inputs), A((d) + 1, size)

#define TOKENS "l:8,$"
#define HIDDEN "b:8,$,768"
#define FLAT "b:8*$,768"
#define PIN "|n:|n:|n:|s:False|n:"

/* x: the input, flattened; w: the weights as stored; wt: the weights, transposed. */
#define LINEAR(d, nth, x3, x, out, in, kernel, size) \
	MODULE(d, "Linear", nth, 4, "torch/nn/modules/linear.py(124): forward"), \
	P((d) + 3, "<built-in function linear>"), \
	O((d) + 4, "aten::linear", x3 "|b:" out "," in "|b:" out), \
	O((d) + 5, "aten::t", "b:" out "," in), \
	O((d) + 6, "aten::transpose", "b:" out "," in "|s:0|s:1"), \
	O((d) + 7, "aten::as_strided", "b:" out "," in "|L:[" in ", " out "]|L:[1, " in "]|n:"), \
	O((d) + 5, "aten::view", x3 "|L:[8192, " in "]"), \
	S((d) + 5, "aten::addmm", "b:" out "|" x "|b:" in "," out "|s:1|s:1"), \
	X((d) + 6, CAPTURING), \
	EMPTY((d) + 6, "L:[8192, " out "]|s:15|s:0|s:0" PIN, size), \
	KX((d) + 6, kernel), \
	O((d) + 5, "aten::view", "b:8*$," out "|L:[8, 1024, " out "]")

#define LAYER_NORM(d, nth) \
	MODULE(d, "LayerNorm", nth, 2, "torch/nn/modules/normalization.py(217): forward"), \
	P((d) + 3, "torch/nn/functional.py(2900): layer_norm"), \
	P((d) + 4, METHOD("layer_norm")), \
	O((d) + 5, "aten::layer_norm", HIDDEN "|L:[768]|b:768|b:768|s:1.0000000000000001e-05|s:True"), \
	S((d) + 6, "aten::native_layer_norm", HIDDEN "|L:[768]|b:768|b:768|s:1.0000000000000001e-05"), \
	EMPTY((d) + 7, "L:[8, 1024, 768]|s:15|s:0|s:0" PIN, 12582912), \
	EMPTY((d) + 7, "L:[8192]|s:6|s:0|s:0" PIN, 32768), \
	EMPTY((d) + 7, "L:[8192]|s:6|s:0|s:0" PIN, 32768), \
	K((d) + 7, 16), \
	O((d) + 7, "aten::view", "f:8*$|L:[8, 1024, 1]")

#define ADD(d) \
	S(d, "aten::add", HIDDEN "|" HIDDEN "|s:1"), \
	A((d) + 1, 12582912), \
	K((d) + 1, 20)

#define GRAD(text, inputs) S(0, "autograd::engine::evaluate_function: " text, NULL), S(1, text, inputs)
#define ACCUMULATE(inputs) \
	O(0, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", NULL), \
	O(1, "torch::autograd::AccumulateGrad", inputs), \
	O(2, "aten::add_", inputs "|" inputs "|s:1"), \
	K(3, 24)
#define GRAD_LINEAR(g, x, out, in, dw, dx, size) \
	GRAD("AddmmBackward0", g), \
	O(2, "aten::t", "b:" in "," out), \
	O(3, "aten::transpose", "b:" in "," out "|s:0|s:1"), \
	O(4, "aten::as_strided", "b:" in "," out "|L:[" out ", " in "]|L:[" in ", 1]|n:"), \
	O(2, "aten::mm", g "|b:" out "," in), \
	A(3, size), \
	KX(3, dx), \
	O(2, "aten::mm", "b:" out ",8*$|" x), \
	A(3, 4718592), \
	KX(3, dw), \
	O(2, "aten::sum", g "|L:[0]|s:True|n:"), \
	O(3, "aten::as_strided", "b:1," out "|L:[1, " out "]|L:[" out ", 1]|n:"), \
	A(3, 6144), \
	K(3, 26), \
	F(2, 3), \
	ACCUMULATE("b:" out "," in), \
	ACCUMULATE("b:" out)
#define GRAD_NORM \
	GRAD("NativeLayerNormBackward0", HIDDEN "|b:0|b:0"), \
	O(2, "aten::native_layer_norm_backward", HIDDEN "|" HIDDEN "|L:[768]|f:8,$,1|f:8,$,1|b:768|b:768|L:[True, True, True]"), \
	EMPTY(3, "L:[8, 1024, 768]|s:15|s:0|s:0" PIN, 12582912), \
	O(3, "aten::empty_like", "b:768|s:15|s:0|s:0|s:False|s:0"), \
	O(4, "aten::empty_strided", "L:[768]|L:[1]|s:15|s:0|s:0|s:False"), \
	A(5, 1536), \
	K(3, 18), \
	K(3, 19), \
	F(2, 2), \
	ACCUMULATE("b:768")
#define GRAD_ADD \
	GRAD("AddBackward0", HIDDEN), \
	O(2, "aten::add", HIDDEN "|" HIDDEN "|s:1"), \
	K(3, 20)

/* outer: the operator's name in c10d; the rest comes from trace_collectives. */
#define COLLECTIVE(d, outer, inputs, region, nth) \
	O(d, outer, inputs), \
	{.kind = TRACE_OP, .depth = (d) + 1, .number = (nth) + 1, .name = "record_param_comms", .in = inputs "|s:0|L:['0', 'default_pg']|s:0"}, \
	R((d) + 2, region), \
	X((d) + 3, EVENT_RECORD), \
	X((d) + 3, STREAM_WAIT), \
	KX((d) + 3, GEN_KERNELS_MAX + (nth)), \
	X((d) + 3, EVENT_RECORD)

#define WRAPPER(d) P(d, "torch/optim/optimizer.py(487): wrapper")
#define TO_DEVICE(inputs) \
	P(2, TENSOR("to")), \
	O(3, "aten::to", inputs "|s:4|s:0|s:0|s:False|s:True|s:False|n:"), \
	O(4, "aten::_to_copy", inputs "|s:4|s:0|s:0|s:False|s:True|n:"), \
	O(5, "aten::empty_strided", "L:[8, 1024]|L:[1024, 1]|s:4|s:0|s:0|s:False"), \
	A(6, 65536), \
	O(5, "aten::copy_", inputs "|" inputs "|s:True"), \
	C(6, H2D, 65536)

const struct trace_node trace_nodes[] = {
	PART, /* TRACE_DATA */
	P(0, "train.py(61): train_step"),
	P(1, "train.py(40): get_batch"),
	TO_DEVICE(TOKENS),
	TO_DEVICE(TOKENS),
	P(1, "train.py(66): <lambda>"),
	O(2, "aten::arange", "s:0|s:1024|s:4|s:0|s:0|s:False"),
	EMPTY(3, "L:[0]|s:4|s:0|s:0" PIN, 8192),
	K(3, 42),

	PART, /* TRACE_EMBED */
	R(1, "forward"),
	MODULE(2, "GPT", 0, 0, "model.py(170): forward"),
	MODULE(5, "Embedding", 0, 0, "torch/nn/modules/sparse.py(190): forward"),
	P(8, "torch/nn/functional.py(2437): embedding"),
	P(9, METHOD("embedding")),
	S(10, "aten::embedding", "b:50304,768|" TOKENS "|s:-1|s:False|s:False"),
	O(11, "aten::reshape", TOKENS "|L:[-1]"),
	O(12, "aten::view", TOKENS "|L:[8192]"),
	O(11, "aten::index_select", "b:50304,768|s:0|l:8*$"),
	EMPTY(12, "L:[0]|s:15|s:0|s:0" PIN, 12582912),
	KD(12, 30),
	MODULE(5, "Embedding", 1, 0, "torch/nn/modules/sparse.py(190): forward"),
	P(8, "torch/nn/functional.py(2437): embedding"),
	P(9, METHOD("embedding")),
	S(10, "aten::embedding", "b:1024,768|l:$|s:-1|s:False|s:False"),
	O(11, "aten::index_select", "b:1024,768|s:0|l:$"),
	EMPTY(12, "L:[0]|s:15|s:0|s:0" PIN, 1572864),
	KD(12, 30),
	ADD(5),

	PART, /* TRACE_LAYER */
	MODULE(5, "Block", 0, 1, "model.py(104): forward"),
	LAYER_NORM(8, 0),
	MODULE(8, "CausalSelfAttention", 0, 1, "model.py(52): forward"),
	LINEAR(11, 0, HIDDEN, FLAT, "2304", "768", 4, 37748736),
	P(11, "torch/_tensor.py(992): split"),
	O(12, "aten::split", "b:8,$,2304|s:768|s:2"),
	O(13, "aten::narrow", "b:8,$,2304|s:2|s:0|s:768"),
	O(14, "aten::slice", "b:8,$,2304|s:2|s:0|s:768|s:1"),
	O(15, "aten::as_strided", "b:8,$,2304|L:[8, 1024, 768]|L:[2359296, 2304, 1]|s:0"),
	O(13, "aten::narrow", "b:8,$,2304|s:2|s:768|s:768"),
	O(14, "aten::slice", "b:8,$,2304|s:2|s:768|s:1536|s:1"),
	O(15, "aten::as_strided", "b:8,$,2304|L:[8, 1024, 768]|L:[2359296, 2304, 1]|s:768"),
	P(11, TENSOR("view")),
	O(12, "aten::view", HIDDEN "|L:[8, 1024, 12, 64]"),
	P(11, TENSOR("transpose")),
	O(12, "aten::transpose", "b:8,$,12,64|s:1|s:2"),
	O(13, "aten::as_strided", "b:8,$,12,64|L:[8, 12, 1024, 64]|L:[2359296, 64, 2304, 1]|n:"),
	P(11, "<built-in function scaled_dot_product_attention>"),
	O(12, "aten::scaled_dot_product_attention", "b:8,12,$,64|b:8,12,$,64|b:8,12,$,64|n:|s:0.10000000000000001|s:True|n:|s:False"),
	S(13, "aten::_scaled_dot_product_flash_attention", "b:8,12,$,64|b:8,12,$,64|b:8,12,$,64|s:0.10000000000000001|s:True|s:False|n:"),
	O(14, "aten::_flash_attention_forward", "b:8,$,12,64|b:8,$,12,64|b:8,$,12,64|n:|n:|s:1024|s:1024|s:0.10000000000000001|s:True|s:False|n:|n:|n:|n:|n:"),
	EMPTY(15, "L:[8, 1024, 12, 64]|s:15|s:0|s:0" PIN, 12582912),
	EMPTY(15, "L:[8, 12, 1024]|s:6|s:0|s:0" PIN, 393216),
	X(15, ATTRIBUTE),
	K(15, 10),
	P(11, TENSOR("contiguous")),
	O(12, "aten::contiguous", "b:8,$,12,64|s:0"),
	O(13, "aten::clone", "b:8,$,12,64|s:0"),
	O(14, "aten::empty_like", "b:8,$,12,64|s:15|s:0|s:0|s:False|s:0"),
	O(15, "aten::empty", "L:[8, 1024, 12, 64]|s:15|s:0|s:0" PIN),
	A(16, 12582912),
	O(14, "aten::copy_", "b:8,$,12,64|b:8,$,12,64|s:False"),
	K(15, 28),
	LINEAR(11, 1, HIDDEN, FLAT, "768", "768", 2, 12582912),
	ADD(8),
	LAYER_NORM(8, 1),
	MODULE(8, "MLP", 0, 1, "model.py(84): forward"),
	LINEAR(11, 2, HIDDEN, FLAT, "3072", "768", 4, 50331648),
	MODULE(11, "GELU", 0, 1, "torch/nn/modules/activation.py(734): forward"),
	P(14, "<built-in function gelu>"),
	S(15, "aten::gelu", "b:8,$,3072|s:tanh"),
	A(16, 50331648),
	K(16, 22),
	LINEAR(11, 3, "b:8,$,3072", "b:8*$,3072", "768", "3072", 6, 12582912),
	ADD(8),

	PART, /* TRACE_HEAD */
	MODULE(5, "LayerNorm", 24, 0, "torch/nn/modules/normalization.py(217): forward"),
	P(8, "torch/nn/functional.py(2900): layer_norm"),
	P(9, METHOD("layer_norm")),
	O(10, "aten::layer_norm", HIDDEN "|L:[768]|b:768|b:768|s:1.0000000000000001e-05|s:True"),
	S(11, "aten::native_layer_norm", HIDDEN "|L:[768]|b:768|b:768|s:1.0000000000000001e-05"),
	EMPTY(12, "L:[8, 1024, 768]|s:15|s:0|s:0" PIN, 12582912),
	K(12, 16),
	MODULE(5, "Linear", 48, 0, "torch/nn/modules/linear.py(124): forward"),
	P(8, "<built-in function linear>"),
	O(9, "aten::linear", HIDDEN "|b:50304,768|n:"),
	O(10, "aten::matmul", HIDDEN "|b:768,50304"),
	O(11, "aten::_unsafe_view", "b:8*$,50304|L:[8, 1024, 50304]"),
	S(11, "aten::mm", FLAT "|b:768,50304"),
	A(12, 824180736),
	KX(12, 2),
	P(2, "torch/nn/functional.py(3479): cross_entropy"),
	P(3, METHOD("cross_entropy_loss")),
	O(4, "aten::cross_entropy_loss", "b:8*$,50304|l:8*$|n:|s:1|s:-1|s:0."),
	S(5, "aten::log_softmax", "b:8*$,50304|s:1|s:6"),
	O(6, "aten::_log_softmax", "f:8*$,50304|s:1|s:False"),
	A(7, 1648361472),
	K(7, 31),
	S(5, "aten::nll_loss", "f:8*$,50304|l:8*$|n:|s:1|s:-1"),
	O(6, "aten::nll_loss_forward", "f:8*$,50304|l:8*$|n:|s:1|s:-1"),
	A(7, 512),
	A(7, 512),
	Z(7, 8),
	K(7, 32),

	PART, /* TRACE_BACKWARD */
	R(1, "backward"),
	P(2, "torch/_tensor.py(570): backward"),
	P(3, "torch/autograd/__init__.py(242): backward"),
	O(4, "aten::ones_like", "f:|s:6|s:0|s:0|s:False|s:1"),
	O(5, "aten::empty_like", "f:|s:6|s:0|s:0|s:False|s:1"),
	O(6, "aten::empty_strided", "L:[]|L:[]|s:6|s:0|s:0|s:False"),
	A(7, 512),
	O(5, "aten::fill_", "f:|s:1"),
	K(6, 40),
	P(4, "torch/autograd/graph.py(815): _engine_run_backward"),
	P(5, "<built-in method run_backward of torch._C._EngineBase object at 0x7f39b41e0d90>"),

	PART, /* TRACE_GRAD_HEAD */
	GRAD("NllLossBackward0", "f:"),
	O(2, "aten::nll_loss_backward", "f:|f:8*$,50304|l:8*$|n:|s:1|s:-1|f:"),
	A(3, 1648361472),
	Z(3, 1648361472),
	K(3, 33),
	GRAD("LogSoftmaxBackward0", "f:8*$,50304"),
	O(2, "aten::_log_softmax_backward_data", "f:8*$,50304|f:8*$,50304|s:1|s:6"),
	A(3, 1648361472),
	K(3, 34),
	F(2, 5),
	GRAD("MmBackward0", "b:8*$,50304"),
	O(2, "aten::mm", "b:8*$,50304|b:50304,768"),
	A(3, 12582912),
	KX(3, 6),
	O(2, "aten::mm", "b:50304,8*$|" FLAT),
	A(3, 77266944),
	KX(3, 8),
	F(2, 3),
	ACCUMULATE("b:50304,768"),
	GRAD_NORM,

	PART, /* TRACE_GRAD_LAYER */
	GRAD_ADD,
	GRAD_LINEAR(FLAT, "b:8*$,3072", "768", "3072", 8, 6, 50331648),
	GRAD("GeluBackward0", "b:8,$,3072"),
	O(2, "aten::gelu_backward", "b:8,$,3072|b:8,$,3072|s:tanh"),
	A(3, 50331648),
	K(3, 23),
	F(2, 2),
	GRAD_LINEAR("b:8*$,3072", FLAT, "3072", "768", 8, 4, 12582912),
	GRAD_NORM,
	GRAD_ADD,
	GRAD_LINEAR(FLAT, FLAT, "768", "768", 8, 2, 12582912),
	GRAD("ScaledDotProductFlashAttentionBackward0", "b:8,12,$,64|n:|n:|n:"),
	O(2, "aten::_scaled_dot_product_flash_attention_backward", "b:8,12,$,64|b:8,12,$,64|b:8,12,$,64|b:8,12,$,64|b:8,12,$,64|f:8,12,$|n:|n:|s:1024|s:1024|s:0.10000000000000001|s:True|l:|l:|n:"),
	O(3, "aten::_flash_attention_backward", "b:8,$,12,64|b:8,$,12,64|b:8,$,12,64|b:8,$,12,64|b:8,$,12,64|f:8,12,$|n:|n:|s:1024|s:1024|s:0.10000000000000001|s:True|l:|l:|n:|n:|n:"),
	EMPTY(4, "L:[8, 1024, 12, 64]|s:15|s:0|s:0" PIN, 12582912),
	EMPTY(4, "L:[8, 12, 1024]|s:6|s:0|s:0" PIN, 393216),
	Z(4, 25165824),
	K(4, 14),
	K(4, 12),
	K(4, 15),
	F(2, 3),
	O(2, "aten::contiguous", "b:8,$,12,64|s:0"),
	O(3, "aten::clone", "b:8,$,12,64|s:0"),
	O(4, "aten::copy_", "b:8,$,12,64|b:8,$,12,64|s:False"),
	C(5, D2D, 12582912),
	GRAD_LINEAR("b:8*$,2304", FLAT, "2304", "768", 8, 4, 12582912),
	GRAD_NORM,

	PART, /* TRACE_BUCKET */
	COLLECTIVE(0, "c10d::allreduce_", "T:7087872*1", "nccl:all_reduce", 0),

	PART, /* TRACE_GRAD_EMBED */
	GRAD_ADD,
	GRAD("EmbeddingBackward0", "b:$,768"),
	O(2, "aten::embedding_backward", "b:$,768|l:$|s:1024|s:-1|s:False|s:False"),
	O(3, "aten::embedding_dense_backward", "b:$,768|l:$|s:1024|s:-1|s:False"),
	A(4, 1572864),
	Z(4, 1572864),
	KD(4, 36),
	K(4, 35),
	ACCUMULATE("b:1024,768"),
	GRAD("EmbeddingBackward0", HIDDEN),
	O(2, "aten::embedding_backward", HIDDEN "|" TOKENS "|s:50304|s:-1|s:False|s:False"),
	O(3, "aten::embedding_dense_backward", HIDDEN "|" TOKENS "|s:50304|s:-1|s:False"),
	A(4, 77266944),
	Z(4, 77266944),
	KD(4, 36),
	K(4, 35),
	ACCUMULATE("b:50304,768"),
	F(0, 2),
	COLLECTIVE(0, "c10d::_reduce_scatter_base_", "f:4915200|f:39321600", "nccl:_reduce_scatter_base", 2),

	PART, /* TRACE_CLIP */
	R(1, "optimizer"),
	P(2, "torch/nn/utils/clip_grad.py(34): _no_grad_wrapper"),
	P(3, "torch/nn/utils/clip_grad.py(201): clip_grad_norm_"),
	O(4, "aten::_foreach_norm", "T:768,768*12|s:2|n:"),
	A(5, 4096),
	Z(5, 4096),
	K(5, 38),
	K(5, 41),
	O(4, "aten::linalg_vector_norm", "f:148|s:2|n:|s:False|n:"),
	A(5, 512),
	K(5, 27),
	O(4, "aten::_foreach_mul_", "T:768,768*12|f:"),
	K(5, 39),

	PART, /* TRACE_UPDATE */
	WRAPPER(2),
	R(3, "Optimizer.step#AdamW.step"),
	P(4, "torch/optim/adamw.py(220): step"),
	P(5, "torch/optim/adam.py(784): _fused_adam"),
	P(6, METHOD("_foreach_add_")),
	O(7, "aten::_foreach_add_", "T:*12|s:1"),
	K(8, 39),
	P(6, METHOD("_fused_adamw_")),
	O(7, "aten::_fused_adamw_", "T:768,768*12|T:768,768*12|T:768,768*12|T:768,768*12|T:*0|T:*12|s:0.00029999999999999997|s:0.90000000000000002|s:0.94999999999999996|s:0.10000000000000001|s:1e-08|s:False|s:False|n:|n:"),
	K(8, 37),
	K(8, 37),

	PART, /* TRACE_GATHER */
	COLLECTIVE(2, "c10d::_allgather_base_", "b:39321600|b:4915200", "nccl:_all_gather_base", 1),
	WRAPPER(2),
	R(3, "Optimizer.zero_grad#AdamW.zero_grad"),
	P(4, "torch/optim/optimizer.py(960): zero_grad"),
	F(5, 0),

	PART, /* TRACE_LOSS */
	P(1, TENSOR("item")),
	O(2, "aten::item", "f:"),
	O(3, "aten::_local_scalar_dense", "f:"),
	C(4, D2H, 4),
	W(4, STREAM_SYNC),

	PART, /* TRACE_SYNC */
	P(1, "torch/cuda/__init__.py(1040): synchronize"),
	P(2, "<built-in function _cuda_synchronize>"),
	W(3, DEVICE_SYNC),

	PART, /* TRACE_STEP */
	R(0, "ProfilerStep#"),
	P(0, "torch/profiler/profiler.py(848): step"),
};
const size_t trace_node_count = sizeof(trace_nodes) / sizeof(trace_nodes[0]);

const struct trace_call_info trace_calls[TRACE_CALLS] = {
	[TRACE_CALL_LAUNCH] = {"cudaLaunchKernel", 211, false, true},
	[TRACE_CALL_LAUNCH_EX] = {"cudaLaunchKernelExC", 430, false, true},
	[TRACE_CALL_DRIVER_LAUNCH] = {"cuLaunchKernel", 307, true, true},
	[TRACE_CALL_COPY] = {"cudaMemcpyAsync", 41, false, true},
	[TRACE_CALL_SET] = {"cudaMemsetAsync", 51, false, true},
	[TRACE_CALL_STREAM_SYNC] = {"cudaStreamSynchronize", 131, false, true},
	[TRACE_CALL_DEVICE_SYNC] = {"cudaDeviceSynchronize", 165, false, true},
	[TRACE_CALL_STREAM_WAIT] = {"cudaStreamWaitEvent", 147, false, true},
	[TRACE_CALL_EVENT_RECORD] = {"cudaEventRecord", 135, false, false},
	[TRACE_CALL_CAPTURING] = {"cudaStreamIsCapturing", 317, false, false},
	[TRACE_CALL_ATTRIBUTE] = {"cudaDeviceGetAttribute", 200, false, false},
};

const char *const trace_copies[TRACE_COPIES] = {
	[TRACE_H2D] = "Memcpy HtoD (Pinned -> Device)",
	[TRACE_D2H] = "Memcpy DtoH (Device -> Pinned)",
	[TRACE_D2D] = "Memcpy DtoD (Device -> Device)",
};

const struct trace_collective trace_collectives[TRACE_COLLECTIVES] = {
	{"allreduce", "BFloat16", 7087872, 7087872, 2},
	{"_allgather_base", "BFloat16", 4915200, 39321600, 2},
	{"_reduce_scatter_base", "Float", 39321600, 4915200, 4},
};
static const struct gen_kernel nccl[TRACE_COLLECTIVES] = {
	{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 94000, 9000, {24, 1, 1}, {512, 1, 1}, 96, 42176, 0, false, false},
	{"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 312000, 9000, {24, 1, 1}, {640, 1, 1}, 96, 42176, 0, false, false},
	{"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 401000, 9000, {24, 1, 1}, {544, 1, 1}, 96, 42176, 0, false, false},
};
/* clang-format on */

const uint32_t trace_lengths[TRACE_LENGTHS] = {512, 640, 896, 1024};
const uint32_t trace_streams[TRACE_STREAMS] = {7, 24, 20};
const char *const trace_roots[] = {"train.py(1): <module>", "train.py(118): main", NULL};

const char *const trace_categories[TRACE_CATS] = {
	[TRACE_CAT_OP] = "cpu_op",
	[TRACE_CAT_REGION] = "user_annotation",
	[TRACE_CAT_MEMORY] = "cpu_instant_event",
	[TRACE_CAT_PYTHON] = "python_function",
	[TRACE_CAT_RUNTIME] = "cuda_runtime",
	[TRACE_CAT_DRIVER] = "cuda_driver",
	[TRACE_CAT_KERNEL] = "kernel",
	[TRACE_CAT_COPY] = "gpu_memcpy",
	[TRACE_CAT_SET] = "gpu_memset",
	[TRACE_CAT_GPU_REGION] = "gpu_user_annotation",
	[TRACE_CAT_AC2G] = "ac2g",
	[TRACE_CAT_FWDBWD] = "fwdbwd",
	[TRACE_CAT_SPAN] = "Trace",
	[TRACE_CAT_NONE] = "",
};

const struct gen_kernel *trace_kernel(unsigned int number)
{
	return number < GEN_KERNELS_MAX ? &gen_kernels[number] : &nccl[number - GEN_KERNELS_MAX];
}
