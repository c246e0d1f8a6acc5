/*
 * randomkernel.h - random kernels: a tree that is written as OpenCL C, and interpreted on the host.
 *
 * Work-items write what is theirs alone (their elements, their slot of the local array, cells by
 * atomics), and read the rest only while no work-item writes it. So the result does not depend on
 * their order. Numbers are whole and small enough for each type to hold them exactly.
 */
#ifndef PASTA_TESTS_RANDOMKERNEL_H
#define PASTA_TESTS_RANDOMKERNEL_H

#include "unit/cltrace.h"

enum rk_type { RK_CHAR, RK_SHORT, RK_INT, RK_FLOAT, RK_DOUBLE, RK_SCALARS, RK_FLOAT4 = RK_SCALARS };

static const struct {
	const char *name;
	uint32_t size;
} rk_types[] = {{"char", 1}, {"short", 2}, {"int", 4}, {"float", 4}, {"double", 8}, {"float4", 16}};

enum { RK_TYPES = RK_SCALARS + 1, RK_PRIVATE = 4, RK_OWN = 4, RK_GROUP = 32 };

/* The kernel's arguments; a local array may follow. */
enum { RK_IN0, RK_IN1, RK_STRUCTS, RK_OUT, RK_MINE, RK_CELLS };

struct rk_struct {
	int32_t a;
	float f;
	int16_t s[3];
};

enum rk_op {
	/* Expressions, each a uint. */
	RK_CONST,
	RK_VAR,
	RK_LOOP,
	RK_ME,
	RK_BINARY,
	RK_CHOICE,
	RK_LOAD,
	RK_GET,
	RK_VLOAD,
	RK_OWN_LOAD,
	RK_PRIVATE_LOAD,
	RK_LOCAL_LOAD,
	RK_MEMBER,
	RK_TABLE,
	RK_EXPRESSIONS,
	/* Statements. */
	RK_SET_VAR = RK_EXPRESSIONS,
	RK_PUT_VAR,
	RK_SET_OUT,
	RK_BUMP_OUT,
	RK_VSTORE,
	RK_SET_PRIVATE,
	RK_PUT_PRIVATE,
	RK_SET_LOCAL,
	RK_COPY_STRUCT,
	RK_EDIT_STRUCT,
	RK_SET_MEMBER,
	RK_ATOMIC,
	RK_IF,
	RK_FOR,
	RK_STATEMENTS,
	RK_ASYNC = RK_STATEMENTS, /* at the top alone */
};

struct rk_node {
	enum rk_op op;
	uint32_t value;		   /* a constant, or which one */
	bool add;		   /* an assignment that adds */
	uint32_t line;		   /* where it was written */
	struct rk_node *a, *b, *c; /* expressions; then blocks */
	struct rk_node *next;
};

struct rk_kernel {
	char name[16];
	enum rk_type in[2], out, local, mine; /* mine: of the private array */
	uint32_t count[CLT_BUFFERS];	      /* elements */
	bool local_argument, addressed;	      /* addressed: the last variable's address is taken */
	cl_uint dims;
	size_t offset[3], global[3], size[3];
	uint32_t items, group;
	struct rk_node *phase[4]; /* between barriers */
	uint32_t phases;
	uint32_t begin_line; /* where the variables begin */
};

/* Lines of the functions that all kernels of the program call. */
static struct {
	uint32_t get[RK_TYPES], bump[RK_TYPES], put[RK_SCALARS], put_var;
} rk_lines;

static struct rk_node rk_pool[1 << 15];
static size_t rk_used;

static struct rk_node *rk_new(enum rk_op op)
{
	struct rk_node *n = &rk_pool[rk_used++];

	assert_true(rk_used < sizeof(rk_pool) / sizeof(rk_pool[0]));
	*n = (struct rk_node){.op = op};
	return n;
}

static inline uint32_t rk_random(uint32_t n)
{
	return (uint32_t)random_below(n);
}

static enum rk_type rk_input(const struct rk_kernel *k, const struct rk_node *n)
{
	return k->in[n->value];
}

/* -- Making -- */

struct rk_maker {
	const struct rk_kernel *k;
	uint32_t loops;
	bool read_all; /* a phase in which the local array is read, by all, and not written */
};

static struct rk_node *rk_expression(struct rk_maker *m, int depth)
{
	struct rk_node *n;
	enum rk_op op = rk_random(depth > 0 ? RK_EXPRESSIONS : RK_BINARY);

	if (op == RK_LOOP && !m->loops)
		op = RK_ME;
	n = rk_new(op);
	n->value = op == RK_CONST ? rk_random(100) : rk_random(op == RK_VAR ? 3 : 2);
	if (op == RK_LOOP)
		n->value = rk_random(m->loops);
	if (op == RK_BINARY || op == RK_OWN_LOAD)
		n->value = rk_random(4);
	if (op == RK_VLOAD && rk_input(m->k, n) == RK_FLOAT4)
		n->op = op = RK_GET;
	if (op < RK_BINARY)
		return n;
	n->add = m->read_all; /* of the local array: any slot */
	n->a = rk_expression(m, depth - 1);
	n->b = rk_expression(m, depth - 1);
	if (op == RK_CHOICE)
		n->c = rk_expression(m, depth - 1);
	return n;
}

static struct rk_node *rk_block(struct rk_maker *m, uint32_t count, int depth);

static struct rk_node *rk_statement(struct rk_maker *m, int depth)
{
	enum rk_op op = RK_EXPRESSIONS + rk_random(RK_STATEMENTS - RK_EXPRESSIONS);
	struct rk_node *n;

	if ((op == RK_SET_LOCAL && m->read_all) || (op == RK_PUT_VAR && !m->k->addressed) ||
	    (op >= RK_IF && depth == 0))
		op = RK_SET_VAR;
	if (op == RK_VSTORE && m->k->out == RK_FLOAT4)
		op = RK_SET_OUT;
	n = rk_new(op);
	n->value = rk_random(op == RK_SET_VAR || op == RK_ATOMIC ? 3 : 4);
	n->add = rk_random(2);
	if (op == RK_FOR) {
		n->value = rk_random(4); /* also none */
		m->loops++;
		n->b = rk_block(m, 1 + rk_random(3), depth - 1);
		m->loops--;
		return n;
	}
	n->a = rk_expression(m, 2);
	if (op == RK_IF) {
		n->b = rk_block(m, 1 + rk_random(2), depth - 1);
		n->c = rk_random(2) ? rk_block(m, 1 + rk_random(2), depth - 1) : NULL;
	} else {
		n->b = rk_expression(m, 2);
	}
	return n;
}

static struct rk_node *rk_block(struct rk_maker *m, uint32_t count, int depth)
{
	struct rk_node *first = NULL, **end = &first;

	while (count--) {
		*end = rk_statement(m, depth);
		end = &(*end)->next;
	}
	return first;
}

static void rk_shape(struct rk_kernel *k)
{
	static const size_t sizes[][3] = {{16, 1, 1}, {5, 1, 1}, {32, 1, 1}, {4, 3, 1},
					  {1, 8, 1},  {2, 2, 3}, {4, 2, 1},  {3, 1, 2}};
	uint32_t which = rk_random(8);

	k->dims = sizes[which][2] > 1 ? 3 : sizes[which][1] > 1 ? 2 : 1 + rk_random(3);
	k->items = k->group = 1;
	for (int i = 0; i < 3; i++) {
		k->size[i] = sizes[which][i];
		k->global[i] = k->size[i] * (i < (int)k->dims ? 1 + rk_random(i ? 2 : 3) : 1);
		k->offset[i] = i < (int)k->dims && rk_random(2) ? rk_random(50) : 0;
		k->items *= (uint32_t)k->global[i];
		k->group *= (uint32_t)k->size[i];
	}
	assert_true(k->group <= RK_GROUP);
}

static void rk_make(struct rk_kernel *k, int number)
{
	struct rk_maker m = {.k = k};

	memset(k, 0, sizeof(*k));
	snprintf(k->name, sizeof(k->name), "k%d", number);
	rk_shape(k);
	k->in[0] = rk_random(RK_TYPES);
	k->in[1] = rk_random(RK_TYPES);
	k->out = rk_random(RK_TYPES);
	k->local = rk_random(3) || k->in[0] == RK_FLOAT4 ? rk_random(RK_SCALARS) : k->in[0];
	k->mine = rk_random(RK_SCALARS);
	k->local_argument = rk_random(2);
	k->addressed = rk_random(2);
	k->count[RK_IN0] = 32 + 4 * rk_random(5);
	k->count[RK_IN1] = 4 + 4 * rk_random(9);
	k->count[RK_STRUCTS] = 1 + rk_random(20);
	k->count[RK_OUT] = k->items * RK_OWN;
	k->count[RK_MINE] = k->items;
	k->count[RK_CELLS] = 1 + rk_random(9);
	k->phases = 1 + rk_random(4);
	for (uint32_t i = 0; i < k->phases; i++) {
		m.read_all = i % 2;
		k->phase[i] = rk_block(&m, 2 + rk_random(4), 2);
		if (i % 2 == 0 && k->local == k->in[0]) {
			struct rk_node *n = rk_new(RK_ASYNC);

			n->value = rk_random(k->count[RK_IN0] - k->group + 1);
			n->next = k->phase[i];
			k->phase[i] = n;
		}
	}
}

/* -- Writing -- */

struct rk_text {
	FILE *f;
	uint32_t line;
};

static __attribute__((format(printf, 2, 3))) void rk_write(struct rk_text *t, const char *format,
							   ...)
{
	va_list list;
	char *text;

	va_start(list, format);
	assert_true(vasprintf(&text, format, list) >= 0);
	va_end(list);
	for (const char *s = text; *s; s++)
		t->line += *s == '\n';
	fputs(text, t->f);
	free(text);
}

/* An element, as a number; and a number, as an element. */
static const char *const rk_from[] = {"(uint)(int)", "(uint)(int)", "(uint)(int)",
				      "(uint)(int)", "(uint)(int)", "sum_float4"};
static const char *const rk_to[] = {"(char)(255 & ",	"(short)(65535 & ",
				    "(int)(1048575 & ", "(float)(4095 & ",
				    "(double)(4095 & ", "(float4)((float)(255 & "};

static const char *rk_end(enum rk_type type)
{
	return type == RK_FLOAT4 ? "))" : ")";
}

static void rk_write_expression(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n);

static void rk_write_index(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n,
			   uint32_t count)
{
	rk_write(t, "(");
	rk_write_expression(t, k, n);
	rk_write(t, ") %% %uu", count);
}

static void rk_write_input(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n)
{
	enum rk_type type = rk_input(k, n);
	const char *name = rk_types[type].name;
	uint32_t count = k->count[n->value];

	if (n->op == RK_LOAD)
		rk_write(t, "%s(in%u[", rk_from[type], n->value);
	else if (n->op == RK_GET)
		rk_write(t, "get_%s(in%u, ", name, n->value);
	else
		rk_write(t, "sum_%s4(vload4(", name);
	rk_write_index(t, k, n->a, n->op == RK_VLOAD ? count / 4 : count);
	if (n->op == RK_LOAD)
		rk_write(t, "])");
	else if (n->op == RK_GET)
		rk_write(t, ")");
	else
		rk_write(t, ", in%u))", n->value);
}

static void rk_write_indexed(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n)
{
	if (n->op == RK_OWN_LOAD) {
		rk_write(t, "%s(out[me * 4 + %u])", rk_from[k->out], n->value);
	} else if (n->op == RK_PRIVATE_LOAD) {
		rk_write(t, "%s(mine[", rk_from[k->mine]);
		rk_write_index(t, k, n->a, RK_PRIVATE);
		rk_write(t, "])");
	} else if (n->op == RK_LOCAL_LOAD && n->add) {
		rk_write(t, "%s(local_[", rk_from[k->local]);
		rk_write_index(t, k, n->a, k->group);
		rk_write(t, "])");
	} else if (n->op == RK_LOCAL_LOAD) {
		rk_write(t, "%s(local_[li])", rk_from[k->local]);
	} else if (n->op == RK_TABLE) {
		rk_write(t, "(uint)table[");
		rk_write_index(t, k, n->a, RK_PRIVATE);
		rk_write(t, "]");
	} else if (n->value) {
		rk_write(t, "(uint)structs[");
		rk_write_index(t, k, n->a, k->count[RK_STRUCTS]);
		rk_write(t, "].s[");
		rk_write_index(t, k, n->b, 3);
		rk_write(t, "]");
	} else {
		rk_write(t, "(uint)own[me].a");
	}
}

static void rk_write_expression(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n)
{
	n->line = t->line;
	if (n->op == RK_CONST) {
		rk_write(t, "%uu", n->value);
	} else if (n->op == RK_VAR) {
		rk_write(t, "x%u", n->value);
	} else if (n->op == RK_LOOP) {
		rk_write(t, "i%u", n->value);
	} else if (n->op == RK_ME) {
		rk_write(t, "me");
	} else if (n->op == RK_BINARY || n->op == RK_CHOICE) {
		rk_write(t, "((");
		rk_write_expression(t, k, n->a);
		rk_write(t, n->op == RK_CHOICE ? ") & 1 ? (" : ") %c (", "+-*^"[n->value]);
		rk_write_expression(t, k, n->b);
		if (n->op == RK_CHOICE) {
			rk_write(t, ") : (");
			rk_write_expression(t, k, n->c);
		}
		rk_write(t, "))");
	} else if (n->op <= RK_VLOAD) {
		rk_write_input(t, k, n);
	} else {
		rk_write_indexed(t, k, n);
	}
}

/* = or +=, and the number, as an element. */
static void rk_write_value(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n,
			   enum rk_type type)
{
	rk_write(t, " %s %s(", n->add ? "+=" : "=", rk_to[type]);
	rk_write_expression(t, k, n->b);
	rk_write(t, ")%s;\n", rk_end(type));
}

/* The last arguments of a call. */
static void rk_write_last(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n)
{
	rk_write(t, ", ");
	rk_write_expression(t, k, n);
	rk_write(t, ");\n");
}

static void rk_write_struct(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n)
{
	if (n->op == RK_COPY_STRUCT) {
		rk_write(t, "own[me] = structs[");
		rk_write_index(t, k, n->a, k->count[RK_STRUCTS]);
		rk_write(t, "];\n");
	} else if (n->op == RK_EDIT_STRUCT) {
		rk_write(t, "{ body t = own[me];\n");
		rk_write(t, "t.a");
		rk_write_value(t, k, n, RK_SHORT);
		rk_write(t, "own[me] = t; }\n");
	} else if (n->value % 2) {
		rk_write(t, "own[me].f");
		rk_write_value(t, k, n, RK_FLOAT);
	} else {
		rk_write(t, "own[me].s[");
		rk_write_index(t, k, n->a, 3);
		rk_write(t, "]");
		rk_write_value(t, k, n, RK_SHORT);
	}
}

static void rk_write_element(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n)
{
	bool put = n->op == RK_PUT_PRIVATE;

	if (n->op == RK_SET_OUT) {
		rk_write(t, "out[me * 4 + %u]", n->value);
		rk_write_value(t, k, n, k->out);
	} else if (n->op == RK_BUMP_OUT) {
		rk_write(t, "bump_%s(&out[me * 4 + %u]", rk_types[k->out].name, n->value);
		rk_write_last(t, k, n->b);
	} else if (n->op == RK_VSTORE) {
		rk_write(t, "vstore4((%s4)(%s(", rk_types[k->out].name, rk_to[k->out]);
		rk_write_expression(t, k, n->b);
		rk_write(t, "))), me, out);\n");
	} else if (n->op == RK_SET_LOCAL) {
		rk_write(t, "local_[li]");
		rk_write_value(t, k, n, k->local);
	} else {
		if (put)
			rk_write(t, "put_%s(&", rk_types[k->mine].name);
		rk_write(t, "mine[");
		rk_write_index(t, k, n->a, RK_PRIVATE);
		rk_write(t, "]");
		if (put)
			rk_write_last(t, k, n->b);
		else
			rk_write_value(t, k, n, k->mine);
	}
}

static void rk_write_block(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n,
			   uint32_t loops);

static void rk_write_nested(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n,
			    uint32_t loops)
{
	if (n->op == RK_FOR) {
		rk_write(t, "for (uint i%u = 0; i%u < %u; i%u++) {\n", loops, loops, n->value,
			 loops);
		rk_write_block(t, k, n->b, loops + 1);
	} else {
		rk_write(t, "if (");
		rk_write_index(t, k, n->a, 3);
		rk_write(t, ") {\n");
		rk_write_block(t, k, n->b, loops);
		if (n->c)
			rk_write(t, "} else {\n");
		rk_write_block(t, k, n->c, loops);
	}
	rk_write(t, "}\n");
}

static void rk_write_statement(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n,
			       uint32_t loops)
{
	static const char *const atomics[] = {"add", "sub", "inc"};

	n->line = t->line;
	if (n->op == RK_SET_VAR) {
		rk_write(t, "x%u %s ", n->value, n->add ? "+=" : "=");
		rk_write_expression(t, k, n->b);
		rk_write(t, ";\n");
	} else if (n->op == RK_PUT_VAR) {
		rk_write(t, "put_var(&x2");
		rk_write_last(t, k, n->b);
	} else if (n->op < RK_COPY_STRUCT) {
		rk_write_element(t, k, n);
	} else if (n->op < RK_ATOMIC) {
		rk_write_struct(t, k, n);
	} else if (n->op == RK_ATOMIC) {
		rk_write(t, "atomic_%s(&cells[", atomics[n->value]);
		rk_write_index(t, k, n->a, k->count[RK_CELLS]);
		rk_write(t, "]");
		if (n->value == 2) {
			rk_write(t, ");\n");
		} else {
			rk_write(t, ", 4095 & (int)(");
			rk_write_expression(t, k, n->b);
			rk_write(t, "));\n");
		}
	} else if (n->op == RK_ASYNC) {
		rk_write(t,
			 "{ event_t e = async_work_group_copy(local_, in0 + %u, %u, 0); "
			 "wait_group_events(1, &e); }\n",
			 n->value, k->group);
	} else {
		rk_write_nested(t, k, n, loops);
	}
}

static void rk_write_block(struct rk_text *t, const struct rk_kernel *k, struct rk_node *n,
			   uint32_t loops)
{
	for (; n; n = n->next)
		rk_write_statement(t, k, n, loops);
}

/* Writes the functions that kernels call, one per line, so that a line identifies its function. */
static void rk_write_library(struct rk_text *t)
{
	rk_write(t, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
		    "typedef struct { int a; float f; short s[3]; } body;\n"
		    "__constant int table[4] = {3, 10, 17, 24};\n");
	for (int i = 0; i < RK_SCALARS; i++)
		rk_write(t,
			 "uint sum_%s4(%s4 v) { return (uint)(int)v.x + (uint)(int)v.y + "
			 "(uint)(int)v.z + (uint)(int)v.w; }\n",
			 rk_types[i].name, rk_types[i].name);
	rk_lines.put_var = t->line;
	rk_write(t, "void put_var(__private uint *p, uint v) { *p = v; }\n");
	for (int i = 0; i < RK_TYPES; i++) {
		const char *name = rk_types[i].name;

		rk_lines.get[i] = t->line;
		rk_write(t, "uint get_%s(__global const %s *p, uint i) { return %s(p[i]); }\n",
			 name, name, rk_from[i]);
		rk_lines.bump[i] = t->line;
		rk_write(t, "void bump_%s(__global %s *p, uint v) { *p += %sv)%s; }\n", name, name,
			 rk_to[i], i == RK_FLOAT4 ? ")" : "");
		if (i == RK_FLOAT4)
			continue;
		rk_lines.put[i] = t->line;
		rk_write(t, "void put_%s(__private %s *p, uint v) { *p = %sv); }\n", name, name,
			 rk_to[i]);
	}
}

static void rk_write_kernel(struct rk_text *t, struct rk_kernel *k)
{
	const char *local = rk_types[k->local].name;

	rk_write(t,
		 "__kernel void %s(__global const %s *in0, __global const %s *in1,\n"
		 "__global const body *structs, __global %s *out, __global body *own,\n"
		 "__global int *cells",
		 k->name, rk_types[k->in[0]].name, rk_types[k->in[1]].name, rk_types[k->out].name);
	if (k->local_argument)
		rk_write(t, ", __local %s *local_)\n{\n", local);
	else
		rk_write(t, ")\n{\n__local %s local_[%u];\n", local, k->group);
	rk_write(t,
		 "uint me = ((get_global_id(2) - %zu) * %zu + get_global_id(1) - %zu) * %zu + "
		 "get_global_id(0) - %zu;\n",
		 k->offset[2], k->global[1], k->offset[1], k->global[0], k->offset[0]);
	rk_write(t,
		 "uint li = (get_local_id(2) * %zu + get_local_id(1)) * %zu + "
		 "get_local_id(0);\n",
		 k->size[1], k->size[0]);
	rk_write(t, "uint x0 = 1, x1 = 2;\n");
	k->begin_line = t->line;
	rk_write(t, "uint x2 = 3;\n%s mine[%d];\n", rk_types[k->mine].name, RK_PRIVATE);
	rk_write(t, "for (uint i = 0; i < %d; i++)\nmine[i] = i;\nlocal_[li] = li;\n", RK_PRIVATE);
	rk_write(t, "%s;\n", k->addressed ? "put_var(&x2, 5)" : "");
	for (uint32_t i = 0; i < k->phases; i++) {
		if (i || k->local == k->in[0])
			rk_write(t, "barrier(CLK_LOCAL_MEM_FENCE);\n");
		rk_write_block(t, k, k->phase[i], 0);
	}
	rk_write(t, "}\n");
}

/* -- Interpreting -- */

struct rk_item {
	uint32_t x[3], loop[4], me, li;
	unsigned char mine[RK_PRIVATE * 8];
};

struct rk_world {
	const struct rk_kernel *k;
	unsigned char *memory[CLT_BUFFERS];
	unsigned char local[RK_GROUP * 8];
	struct rk_item items[RK_GROUP], *at;
	struct clt_counts (*did)[CLT_WHERE]; /* by line */
};

static void rk_did(struct rk_world *w, uint32_t line, int where, uint64_t loads, uint64_t stores,
		   uint32_t size)
{
	struct clt_counts *c = &w->did[line][where];

	c->loads += loads;
	c->stores += stores;
	c->load_bytes += loads * size;
	c->store_bytes += stores * size;
}

static void rk_loads(struct rk_world *w, uint32_t line, int where, uint32_t size)
{
	rk_did(w, line, where, 1, 0, size);
}

#define RK_GET_AS(type)                                                                            \
	({                                                                                         \
		type v_;                                                                           \
		memcpy(&v_, p, sizeof(v_));                                                        \
		(uint32_t)(int32_t) v_;                                                            \
	})

static uint32_t rk_peek(enum rk_type type, const unsigned char *p)
{
	uint32_t sum = 0;

	switch (type) {
	case RK_CHAR:
		return RK_GET_AS(int8_t);
	case RK_SHORT:
		return RK_GET_AS(int16_t);
	case RK_INT:
		return RK_GET_AS(int32_t);
	case RK_FLOAT:
		return RK_GET_AS(float);
	case RK_DOUBLE:
		return RK_GET_AS(double);
	default:
		for (int i = 0; i < 4; i++)
			sum += rk_peek(RK_FLOAT, p + 4 * i);
		return sum;
	}
}

#define RK_SET_AS(type, value)                                                                     \
	do {                                                                                       \
		type old_, new_ = (type)(value);                                                   \
		memcpy(&old_, p, sizeof(old_));                                                    \
		new_ = add ? (type)(old_ + new_) : new_;                                           \
		memcpy(p, &new_, sizeof(new_));                                                    \
	} while (0)

static void rk_poke(enum rk_type type, unsigned char *p, uint32_t v, bool add)
{
	switch (type) {
	case RK_CHAR:
		RK_SET_AS(int8_t, v & 255);
		break;
	case RK_SHORT:
		RK_SET_AS(int16_t, v & 65535);
		break;
	case RK_INT:
		RK_SET_AS(int32_t, v & 1048575);
		break;
	case RK_FLOAT:
		RK_SET_AS(float, v & 4095);
		break;
	case RK_DOUBLE:
		RK_SET_AS(double, v & 4095);
		break;
	default:
		for (int i = 0; i < 4; i++)
			rk_poke(RK_FLOAT, p + 4 * i, v & 255, add);
	}
}

static uint32_t rk_eval(struct rk_world *w, const struct rk_node *n);

static uint32_t rk_eval_input(struct rk_world *w, const struct rk_node *n)
{
	enum rk_type type = rk_input(w->k, n);
	uint32_t size = rk_types[type].size, count = w->k->count[n->value], sum = 0, i;
	const unsigned char *p = w->memory[n->value];

	if (n->op != RK_VLOAD) {
		i = rk_eval(w, n->a) % count;
		rk_loads(w, n->op == RK_GET ? rk_lines.get[type] : n->line, (int)n->value, size);
		return rk_peek(type, p + i * size);
	}
	i = rk_eval(w, n->a) % (count / 4) * 4;
	rk_loads(w, n->line, (int)n->value, 4 * size);
	for (uint32_t j = i; j < i + 4; j++)
		sum += rk_peek(type, p + j * size);
	return sum;
}

static uint32_t rk_eval_indexed(struct rk_world *w, const struct rk_node *n)
{
	const struct rk_kernel *k = w->k;
	uint32_t i, size = rk_types[k->out].size;
	struct rk_struct s;

	if (n->op == RK_OWN_LOAD) {
		rk_loads(w, n->line, RK_OUT, size);
		return rk_peek(k->out, w->memory[RK_OUT] + (w->at->me * 4 + n->value) * size);
	}
	if (n->op == RK_PRIVATE_LOAD) {
		size = rk_types[k->mine].size;
		i = rk_eval(w, n->a) % RK_PRIVATE;
		rk_loads(w, n->line, CLT_PRIVATE, size);
		return rk_peek(k->mine, w->at->mine + i * size);
	}
	if (n->op == RK_LOCAL_LOAD) {
		size = rk_types[k->local].size;
		i = n->add ? rk_eval(w, n->a) % k->group : w->at->li;
		rk_loads(w, n->line, CLT_LOCAL, size);
		return rk_peek(k->local, w->local + i * size);
	}
	if (n->op == RK_TABLE) {
		i = rk_eval(w, n->a) % RK_PRIVATE;
		rk_loads(w, n->line, CLT_CONSTANT, 4);
		return 7 * i + 3;
	}
	if (!n->value) {
		rk_loads(w, n->line, RK_MINE, 4);
		memcpy(&s, w->memory[RK_MINE] + w->at->me * sizeof(s), sizeof(s));
		return (uint32_t)s.a;
	}
	i = rk_eval(w, n->a) % k->count[RK_STRUCTS];
	memcpy(&s, w->memory[RK_STRUCTS] + i * sizeof(s), sizeof(s));
	i = rk_eval(w, n->b) % 3;
	rk_loads(w, n->line, RK_STRUCTS, 2);
	return (uint32_t)s.s[i];
}

static uint32_t rk_eval(struct rk_world *w, const struct rk_node *n)
{
	uint32_t a, b;

	switch (n->op) {
	case RK_CONST:
		return n->value;
	case RK_VAR:
		if (n->value == 2 && w->k->addressed)
			rk_loads(w, n->line, CLT_PRIVATE, 4);
		return w->at->x[n->value];
	case RK_LOOP:
		return w->at->loop[n->value];
	case RK_ME:
		return w->at->me;
	case RK_CHOICE:
		return rk_eval(w, rk_eval(w, n->a) & 1 ? n->b : n->c);
	case RK_BINARY:
		a = rk_eval(w, n->a);
		b = rk_eval(w, n->b);
		return n->value == 0   ? a + b
		       : n->value == 1 ? a - b
		       : n->value == 2 ? a * b
				       : a ^ b;
	case RK_LOAD:
	case RK_GET:
	case RK_VLOAD:
		return rk_eval_input(w, n);
	default:
		return rk_eval_indexed(w, n);
	}
}

static void rk_stores(struct rk_world *w, const struct rk_node *n, int where, enum rk_type type,
		      unsigned char *p)
{
	uint32_t v = rk_eval(w, n->b);

	rk_did(w, n->line, where, n->add, 1, rk_types[type].size);
	rk_poke(type, p, v, n->add);
}

static void rk_do_struct(struct rk_world *w, const struct rk_node *n)
{
	const uint32_t size = sizeof(struct rk_struct);
	unsigned char *own = w->memory[RK_MINE] + w->at->me * size;
	uint32_t v;
	int32_t a;

	if (n->op == RK_COPY_STRUCT) {
		v = rk_eval(w, n->a) % w->k->count[RK_STRUCTS];
		rk_loads(w, n->line, RK_STRUCTS, size);
		rk_did(w, n->line, RK_MINE, 0, 1, size);
		memcpy(own, w->memory[RK_STRUCTS] + v * size, size);
	} else if (n->op == RK_EDIT_STRUCT) {
		rk_loads(w, n->line, RK_MINE, size);
		rk_did(w, n->line, CLT_PRIVATE, 0, 1, size);
		a = (int16_t)(rk_eval(w, n->b) & 65535);
		rk_did(w, n->line + 1, CLT_PRIVATE, n->add, 1, 4);
		if (n->add)
			a += (int32_t)rk_peek(RK_INT, own);
		memcpy(own, &a, sizeof(a));
		rk_loads(w, n->line + 2, CLT_PRIVATE, size);
		rk_did(w, n->line + 2, RK_MINE, 0, 1, size);
	} else if (n->value % 2) {
		rk_stores(w, n, RK_MINE, RK_FLOAT, own + offsetof(struct rk_struct, f));
	} else {
		v = rk_eval(w, n->a) % 3;
		rk_stores(w, n, RK_MINE, RK_SHORT, own + offsetof(struct rk_struct, s) + 2 * v);
	}
}

static void rk_do_out(struct rk_world *w, const struct rk_node *n)
{
	enum rk_type type = w->k->out;
	uint32_t size = rk_types[type].size, v;
	unsigned char *own = w->memory[RK_OUT] + (size_t)w->at->me * 4 * size;

	if (n->op == RK_SET_OUT) {
		rk_stores(w, n, RK_OUT, type, own + n->value * size);
		return;
	}
	v = rk_eval(w, n->b);
	if (n->op == RK_BUMP_OUT) {
		rk_did(w, rk_lines.bump[type], RK_OUT, 1, 1, size);
		rk_poke(type, own + n->value * size, v, true);
		return;
	}
	rk_did(w, n->line, RK_OUT, 0, 1, 4 * size);
	for (uint32_t i = 0; i < 4; i++)
		rk_poke(type, own + i * size, v, false);
}

static void rk_do_own(struct rk_world *w, const struct rk_node *n)
{
	enum rk_type type = w->k->mine;
	unsigned char *p;

	if (n->op == RK_SET_LOCAL) {
		type = w->k->local;
		rk_stores(w, n, CLT_LOCAL, type, w->local + w->at->li * rk_types[type].size);
		return;
	}
	p = w->at->mine + rk_eval(w, n->a) % RK_PRIVATE * rk_types[type].size;
	if (n->op == RK_SET_PRIVATE) {
		rk_stores(w, n, CLT_PRIVATE, type, p);
		return;
	}
	rk_poke(type, p, rk_eval(w, n->b), false);
	rk_did(w, rk_lines.put[type], CLT_PRIVATE, 0, 1, rk_types[type].size);
}

static void rk_do_var(struct rk_world *w, const struct rk_node *n)
{
	uint32_t v = rk_eval(w, n->b), *x = &w->at->x[n->op == RK_PUT_VAR ? 2 : n->value];

	if (n->op == RK_PUT_VAR) {
		rk_did(w, rk_lines.put_var, CLT_PRIVATE, 0, 1, 4);
		*x = v;
		return;
	}
	if (n->value == 2 && w->k->addressed)
		rk_did(w, n->line, CLT_PRIVATE, n->add, 1, 4);
	*x = n->add ? *x + v : v;
}

static void rk_do_atomic(struct rk_world *w, const struct rk_node *n)
{
	uint32_t i = rk_eval(w, n->a) % w->k->count[RK_CELLS];
	int32_t v = n->value == 2 ? 1 : (int32_t)(rk_eval(w, n->b) & 4095), cell;

	memcpy(&cell, w->memory[RK_CELLS] + 4 * i, sizeof(cell));
	cell += n->value == 1 ? -v : v;
	memcpy(w->memory[RK_CELLS] + 4 * i, &cell, sizeof(cell));
	rk_did(w, n->line, RK_CELLS, 1, 1, 4);
}

/* The group's copy, made when its first work-item arrives. */
static void rk_do_async(struct rk_world *w, const struct rk_node *n)
{
	uint32_t size = rk_types[w->k->local].size;

	rk_did(w, n->line, CLT_PRIVATE, 0, 1, 8);
	if (w->at->li)
		return;
	memcpy(w->local, w->memory[RK_IN0] + n->value * size, (size_t)w->k->group * size);
	rk_did(w, n->line, RK_IN0, w->k->group, 0, size);
	rk_did(w, n->line, CLT_LOCAL, 0, w->k->group, size);
}

static void rk_do(struct rk_world *w, const struct rk_node *n, uint32_t loops)
{
	for (; n; n = n->next) {
		if (n->op <= RK_PUT_VAR) {
			rk_do_var(w, n);
		} else if (n->op <= RK_VSTORE) {
			rk_do_out(w, n);
		} else if (n->op <= RK_SET_LOCAL) {
			rk_do_own(w, n);
		} else if (n->op <= RK_SET_MEMBER) {
			rk_do_struct(w, n);
		} else if (n->op == RK_ATOMIC) {
			rk_do_atomic(w, n);
		} else if (n->op == RK_IF) {
			rk_do(w, rk_eval(w, n->a) % 3 ? n->b : n->c, loops);
		} else if (n->op == RK_FOR) {
			for (uint32_t *i = &w->at->loop[loops]; *i < n->value; (*i)++)
				rk_do(w, n->b, loops + 1);
			w->at->loop[loops] = 0;
		} else {
			rk_do_async(w, n);
		}
	}
}

/* The declarations before the statements. */
static void rk_begin(struct rk_world *w, uint32_t li, const size_t group[3])
{
	const struct rk_kernel *k = w->k;
	struct rk_item *it = w->at = &w->items[li];
	size_t at[3] = {li % k->size[0], li / k->size[0] % k->size[1],
			li / k->size[0] / k->size[1]};
	uint32_t size = rk_types[k->mine].size;

	*it = (struct rk_item){.x = {1, 2, 3}, .li = li};
	for (int i = 0; i < 3; i++)
		at[i] += group[i] * k->size[i];
	it->me = (uint32_t)((at[2] * k->global[1] + at[1]) * k->global[0] + at[0]);
	for (uint32_t i = 0; i < RK_PRIVATE; i++)
		rk_poke(k->mine, it->mine + i * size, i, false);
	rk_did(w, k->begin_line + 3, CLT_PRIVATE, 0, RK_PRIVATE, size);
	rk_poke(k->local, w->local + li * rk_types[k->local].size, li, false);
	rk_did(w, k->begin_line + 4, CLT_LOCAL, 0, 1, rk_types[k->local].size);
	if (k->addressed) {
		it->x[2] = 5;
		rk_did(w, k->begin_line, CLT_PRIVATE, 0, 1, 4);
		rk_did(w, rk_lines.put_var, CLT_PRIVATE, 0, 1, 4);
	}
}

static void rk_interpret(struct rk_world *w)
{
	const struct rk_kernel *k = w->k;
	size_t groups[3], g[3];

	for (int i = 0; i < 3; i++)
		groups[i] = k->global[i] / k->size[i];
	for (uint32_t n = 0; n < groups[0] * groups[1] * groups[2]; n++) {
		g[0] = n % groups[0];
		g[1] = n / groups[0] % groups[1];
		g[2] = n / groups[0] / groups[1];
		for (uint32_t i = 0; i < k->group; i++)
			rk_begin(w, i, g);
		for (uint32_t p = 0; p < k->phases; p++)
			for (uint32_t i = 0; i < k->group; i++) {
				w->at = &w->items[i];
				rk_do(w, k->phase[p], 0);
			}
	}
}

#endif
