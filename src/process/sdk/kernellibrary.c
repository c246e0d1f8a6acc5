/* kernellibrary.c - shortens the names of kernels of libraries that encode the properties of a
 * kernel in its name: xmma, cutlass, cuBLAS, nvjet, cuDNN, Tensile, MIOpen, NCCL, Triton. */
#include <stdint.h>
#include <string.h>

#include "process/sdk/kernelname_internal.h"

static struct pasta_namespan span_of(const char *text)
{
	return (struct pasta_namespan){text, text + strlen(text)};
}

static bool span_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns the next word of an identifier, whose words are separated by underscores, and advances
 * *p after it. */
static struct pasta_namespan span_next(const char **p, const char *end)
{
	struct pasta_namespan word = {*p, *p};

	while (word.end < end && *word.end != '_')
		word.end++;
	*p = word.end + (word.end < end);
	return word;
}

/* -- Types -- */

struct type {
	const char *name, *text;
};

static const char *type_find(const struct type *types, size_t count, struct pasta_namespan word)
{
	for (size_t i = 0; i < count; i++)
		if (pasta_namespan_is(word, types[i].name))
			return types[i].text;
	return NULL;
}

const char *pasta_kernellibrary_type(struct pasta_namespan word)
{
	static const struct type types[] = {
		{"float", "f32"},
		{"double", "f64"},
		{"BFloat16", "bf16"},
		{"Half", "f16"},
		{"half", "f16"},
		{"__half", "f16"},
		{"half_t", "f16"},
		{"bfloat16_t", "bf16"},
		{"__nv_bfloat16", "bf16"},
		{"nv_bfloat16", "bf16"},
		{"hip_bfloat16", "bf16"},
		{"tfloat32_t", "tf32"},
		{"long", "i64"},
		{"int", "i32"},
		{"short", "i16"},
		{"int8_t", "i8"},
		{"uint8_t", "u8"},
		{"bool", "bool"},
		{"float_e4m3_t", "f8"},
		{"float_e5m2_t", "f8"},
		{"Float8_e4m3fn", "f8"},
		{"Float8_e5m2", "f8"},
		{"__nv_fp8_e4m3", "f8"},
		{"__nv_fp8_e5m2", "f8"},
		{"float2", "f32"},
		{"float4", "f32"},
		{"__half2", "f16"},
		{"half2", "f16"},
		{"_Float16", "f16"},
		{"cuComplex", "c64"},
		{"cuDoubleComplex", "c128"},
	};

	return type_find(types, sizeof(types) / sizeof(*types), word);
}

/* Returns the type at the beginning of a word such as "bf16f32", and its length in *size. */
static const char *type_begin(struct pasta_namespan word, size_t *size)
{
	static const struct type types[] = {
		{"bf16", "bf16"}, {"tf32", "tf32"}, {"fp16", "f16"}, {"f16", "f16"},
		{"fp32", "f32"},  {"f32", "f32"},   {"f64", "f64"},  {"i8", "i8"},
		{"s8", "i8"},	  {"u8", "u8"},	    {"i32", "i32"},  {"s32", "i32"},
		{"e4m3", "f8"},	  {"e5m2", "f8"},   {"fp8", "f8"},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (pasta_namespan_begins(word, types[i].name)) {
			*size = strlen(types[i].name);
			return types[i].text;
		}
	return NULL;
}

/* Returns the first of the types that a word such as "bf16f32" consists of; NULL if it contains
 * anything else. */
static const char *type_word(struct pasta_namespan word)
{
	const char *first = NULL, *type;
	size_t size;

	while (word.at < word.end) {
		type = type_begin(word, &size);
		if (!type)
			return NULL;
		first = first ? first : type;
		word.at += size;
	}
	return first;
}

/* -- Matrix multiplications and convolutions -- */

/* The properties of a kernel. Parts that its name does not state are empty. */
struct gemm {
	struct pasta_namespan verb, more, layout, tile, depth, arch;
	/* Words of the name state `type` and `second`. The verb implies the type `implied`. */
	const char *type, *second, *implied;
	bool known; /* the name contains a word that only libraries use */
	bool sm, split, relu, bias, dropout;
};

/* Returns whether a word consists of `least` to `most` numbers that are separated by "x". */
static bool gemm_is_tile(struct pasta_namespan word, int least, int most)
{
	int numbers = 0;

	while (word.at < word.end && span_is_digit(*word.at)) {
		while (word.at < word.end && span_is_digit(*word.at))
			word.at++;
		numbers++;
		if (word.at < word.end && *word.at == 'x')
			word.at++;
	}
	return word.at == word.end && numbers >= least && numbers <= most;
}

/* Read a tile such as "tilesize128x64x32", or "128x64" followed by "32x5" (depth and stages). */
static bool gemm_tile(struct gemm *g, struct pasta_namespan word, bool adjacent)
{
	static const char *const prefixes[] = {"tilesize", "bt", "MT"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (pasta_namespan_begins(word, prefixes[i])) {
			word.at += strlen(prefixes[i]);
			break;
		}
	if (!gemm_is_tile(word, 2, 3))
		return false;
	if (!g->tile.at) {
		g->tile = word;
	} else if (adjacent && !g->depth.at && gemm_is_tile(g->tile, 2, 2) &&
		   gemm_is_tile(word, 2, 2)) {
		g->depth = word;
		g->depth.end = memchr(word.at, 'x', pasta_namespan_size(word));
	}
	return true;
}

/* Read a verb such as "s16816gemm": the letter and the numbers imply the type. */
static bool gemm_verb(struct gemm *g, struct pasta_namespan word)
{
	static const char *const verbs[] = {"gemm", "fprop", "dgrad", "wgrad", "bprop", "cudnn"};
	static const struct type letters[] = {{"s", "f32"}, {"h", "f16"},  {"d", "f64"},
					      {"c", "c64"}, {"z", "c128"}, {"i", "i8"}};
	struct pasta_namespan before = word, letter = {word.at, word.at + 1};
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (pasta_namespan_ends(word, verbs[i]))
			break;
	if (i == sizeof(verbs) / sizeof(*verbs))
		return false;
	before.end -= strlen(verbs[i]);
	if (before.at == before.end && !strcmp(verbs[i], "cudnn"))
		return false; /* names the library */
	if (before.at < before.end) {
		g->implied = type_find(letters, sizeof(letters) / sizeof(*letters), letter);
		if (!g->implied)
			return false;
		/* Tensor cores have no float32: s1688 multiplies TF32, and s16816 16-bit types. */
		if (*letter.at == 's' && before.end - before.at > 1)
			g->implied = pasta_namespan_is(before, "s1688") ? "tf32" : "f16";
	}
	if (!g->verb.at)
		g->verb = !strcmp(verbs[i], "cudnn") ? span_of("conv") : span_of(verbs[i]);
	else if (!g->more.at && strcmp(verbs[i], "gemm") != 0)
		g->more = span_of(verbs[i]);
	return true;
}

static bool gemm_arch(struct gemm *g, struct pasta_namespan word)
{
	static const char *const families[] = {"volta",	 "turing",    "ampere", "ada",
					       "hopper", "blackwell", "pascal", "maxwell"};

	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (pasta_namespan_is(word, families[i])) {
			g->known = true;
			g->arch = word;
			return true;
		}
	if (!pasta_namespan_begins(word, "sm") || pasta_namespan_size(word) < 4 ||
	    !span_is_digit(word.at[2]))
		return false;
	g->arch = word;
	return true;
}

static bool gemm_is_transposition(struct pasta_namespan word)
{
	size_t i, size = pasta_namespan_size(word);

	for (i = 0; i < size; i++)
		if (!word.at[i] || !strchr("ntNT", word.at[i]))
			return false;
	return size == 2 || size == 3;
}

static void gemm_option(struct gemm *g, struct pasta_namespan word, struct pasta_namespan before)
{
	g->known |= pasta_namespan_is(word, "xmma");
	g->split |= pasta_namespan_is(word, "splitK") || pasta_namespan_is(word, "splitk") ||
		    (pasta_namespan_is(word, "k") && pasta_namespan_is(before, "split"));
	g->relu |= pasta_namespan_is(word, "relu");
	g->bias |= pasta_namespan_is(word, "bias");
	g->dropout |= pasta_namespan_is(word, "dropout");
}

/* Read all words. `previous` is the word before the first one. */
static void gemm_read(struct gemm *g, struct pasta_namespan words, struct pasta_namespan previous)
{
	const char *p = words.at;
	bool adjacent = false;

	while (p < words.end) {
		struct pasta_namespan word = span_next(&p, words.end);
		const char *type = type_word(word);
		bool tile = gemm_tile(g, word, adjacent);

		adjacent = tile || pasta_namespan_is(word, "stages");
		if (type) {
			g->second = g->type && !g->second ? type : g->second;
			g->type = g->type ? g->type : type;
		} else if (!tile && !gemm_verb(g, word) && !gemm_arch(g, word)) {
			if (!g->layout.at &&
			    (gemm_is_transposition(word) || pasta_namespan_begins(word, "nhwc") ||
			     pasta_namespan_begins(word, "nchw"))) {
				g->layout = word;
				if (word.end - word.at > 4)
					g->layout.end = word.at + 4;
			} else if (pasta_namespan_begins(previous, "cutlass") &&
				   gemm_is_tile(word, 1, 1)) {
				g->arch = word;
				g->sm = true;
			}
			gemm_option(g, word, previous);
		}
		previous = word;
	}
}

static void gemm_lower(struct pasta_nametext *t, struct pasta_namespan word)
{
	char lower[8];
	size_t i, size;

	size = pasta_namespan_size(word);
	for (i = 0; i < sizeof(lower) && i < size; i++)
		lower[i] = (char)(word.at[i] | 0x20);
	pasta_nametext_word(t, (struct pasta_namespan){lower, lower + i});
}

/* Compose "gemm bf16 tn 128x128x64 sm90". */
static void gemm_put(struct pasta_nametext *t, const struct gemm *g)
{
	pasta_nametext_word(t, g->verb);
	if (g->relu || g->bias)
		pasta_nametext_add(t, span_of(g->relu ? "+relu" : "+bias"));
	pasta_nametext_word(t, g->more);
	if (g->type || g->implied)
		pasta_nametext_text(t, g->type ? g->type : g->implied);
	gemm_lower(t, g->layout);
	pasta_nametext_word(t, g->tile);
	if (g->depth.at) {
		pasta_nametext_add(t, span_of("x"));
		pasta_nametext_add(t, g->depth);
	}
	if (g->sm) {
		pasta_nametext_text(t, "sm");
		pasta_nametext_add(t, g->arch);
	} else {
		pasta_nametext_word(t, g->arch);
	}
	if (g->split)
		pasta_nametext_text(t, "splitk");
	if (g->dropout)
		pasta_nametext_text(t, "dropout");
}

/* -- Grammars of libraries -- */

/* sm80_xmma_gemm_..., cutlass_80_tensorop_..., ampere_sgemm_... */
static bool library_gemm(struct pasta_nametext *t, struct pasta_namespan id)
{
	struct gemm g = {.known = pasta_namespan_begins(id, "cutlass")};

	gemm_read(&g, id, (struct pasta_namespan){id.at, id.at});
	if (!g.known || !g.verb.at)
		return false;
	/* In names of xmma, the second word of types states the type of the multiplication. */
	if (g.second && pasta_namespan_find(id, "_xmma_"))
		g.type = g.second;
	gemm_put(t, &g);
	return true;
}

/* Compose the name of a kernel of Tensile, such as Cijk_Ailk_Bljk_HHS_BH_..._MT128x64x32_... In
 * these names, l is the index that is summed over. */
static bool library_tensile(struct pasta_nametext *t, struct pasta_namespan id)
{
	static const struct type letters[] = {{"B", "bf16"}, {"H", "f16"},  {"S", "f32"},
					      {"D", "f64"},  {"I", "i8"},   {"F", "f8"},
					      {"C", "c64"},  {"Z", "c128"}, {"X", "tf32"}};
	struct gemm g = {.verb = span_of("gemm"), .arch = span_of("tensile")};
	struct pasta_namespan a, b, types;
	char layout[2];
	const char *p = id.at;

	span_next(&p, id.end);
	a = span_next(&p, id.end);
	b = span_next(&p, id.end);
	types = span_next(&p, id.end);
	if (pasta_namespan_size(a) < 3 || pasta_namespan_size(b) < 3 || types.at == types.end)
		return false;
	layout[0] = a.at[1] == 'l' ? 't' : 'n';
	layout[1] = b.at[1] == 'l' ? 'n' : 't';
	g.layout = (struct pasta_namespan){layout, layout + 2};
	types.end = types.at + 1;
	g.type = type_find(letters, sizeof(letters) / sizeof(*letters), types);
	while (p < id.end && !g.tile.at) {
		struct pasta_namespan word = span_next(&p, id.end);

		if (pasta_namespan_begins(word, "MT"))
			gemm_tile(&g, word, false);
	}
	gemm_put(t, &g);
	return true;
}

/* nvjet_sm90_tst_64x8_64x16_2x4_h_bz_TNT: the first letter of "tst" is the type of the inputs. */
static bool library_nvjet(struct pasta_nametext *t, struct pasta_namespan id)
{
	static const struct type letters[] = {
		{"t", "bf16"}, {"h", "f16"}, {"s", "f32"}, {"d", "f64"}, {"q", "f8"}};
	struct gemm g = {.verb = span_of("gemm")};
	struct pasta_namespan word;
	const char *p = id.at;

	span_next(&p, id.end);
	word = span_next(&p, id.end);
	if (gemm_arch(&g, word))
		word = span_next(&p, id.end);
	if (word.at == word.end)
		return false;
	gemm_read(&g, (struct pasta_namespan){p, id.end}, word);
	word.end = word.at + 1;
	g.type = type_find(letters, sizeof(letters) / sizeof(*letters), word);
	gemm_put(t, &g);
	return true;
}

/* Compose the name of a kernel whose identifier begins with the verb, such as igemm_fwd_...,
 * fmha_cutlassF_... or sdpa_... The first `words` words are the verb. */
static bool library_verb(struct pasta_nametext *t, struct pasta_namespan id, int words)
{
	struct gemm g = {.verb = {id.at, id.at}};
	const char *p = id.at;

	while (words--)
		g.verb.end = span_next(&p, id.end).end;
	gemm_read(&g, (struct pasta_namespan){p, id.end}, (struct pasta_namespan){p, p});
	gemm_put(t, &g);
	return true;
}

/* ncclDevKernel_AllReduce_Sum_f32_RING_LL */
static bool library_nccl(struct pasta_nametext *t, struct pasta_namespan id)
{
	const char *p = id.at;

	span_next(&p, id.end);
	pasta_nametext_text(t, "nccl");
	while (p < id.end) {
		struct pasta_namespan word = span_next(&p, id.end);

		if (!pasta_namespan_is(word, "t")) /* of int8_t */
			pasta_nametext_word(t, word);
	}
	return true;
}

/* triton_poi_fused_add_0d1d2d3de: the last word lists the arguments by which the kernel was
 * specialized. */
static bool library_triton(struct pasta_nametext *t, struct pasta_namespan id)
{
	struct pasta_namespan last = {id.end, id.end};
	const char *p;
	bool special;

	while (last.at > id.at && last.at[-1] != '_')
		last.at--;
	special = pasta_namespan_find(last, "d") && span_is_digit(*last.at);
	for (p = last.at; p < last.end; p++)
		special = special && (span_is_digit(*p) || strchr("dce", *p));
	if (special && last.at > id.at)
		id.end = last.at - 1;
	pasta_nametext_word(t, id);
	return true;
}

bool pasta_kernellibrary_name(struct pasta_nametext *t, struct pasta_namespan id)
{
	static const char generated[] = "cudnn_generated_fort_native_";

	if (pasta_namespan_begins(id, "Cijk_"))
		return library_tensile(t, id);
	if (pasta_namespan_begins(id, "nvjet_"))
		return library_nvjet(t, id);
	if (pasta_namespan_begins(id, "ncclDevKernel_") || pasta_namespan_begins(id, "ncclKernel_"))
		return library_nccl(t, id);
	if (pasta_namespan_begins(id, "triton_"))
		return library_triton(t, id);
	if (pasta_namespan_begins(id, "igemm_") || pasta_namespan_begins(id, "fmha_cutlass"))
		return library_verb(t, id, 2);
	if (pasta_namespan_begins(id, generated)) {
		id.at += strlen(generated);
		return id.at < id.end && library_verb(t, id, 1);
	}
	return library_gemm(t, id);
}

/* -- Mangled names -- */

/* Skip what can precede an identifier in a mangled name: literals such as "Li64E", references to
 * earlier parts such as "S1_", and single letters. */
static const char *mangled_skip(const char *p, const char *end)
{
	const char *q = p + 1;

	if (*p == 'L')
		while (q < end && *q != 'E' && *q != '_')
			q++;
	else if (*p == 'S')
		while (q < end && *q != '_' && (span_is_digit(*q) || (*q >= 'A' && *q <= 'Z')))
			q++;
	return q;
}

/* Returns the identifier at p, whose length in decimal precedes it; an empty one if the length is
 * greater than the rest of the name. */
static struct pasta_namespan mangled_identifier(const char *p, const char *end)
{
	size_t n = 0;

	while (p < end && span_is_digit(*p) && n < 10000)
		n = 10 * n + (size_t)(*p++ - '0');
	if (n > (size_t)(end - p))
		n = 0;
	return (struct pasta_namespan){p, p + n};
}

/* Append the tile of "GemmShape<64, 128, 16>", whose arguments are mangled as
 * "ILi64ELi128ELi16EE". */
static void mangled_tile(struct pasta_nametext *t, const char *p, const char *end)
{
	for (int i = 0; i < 3 && end - p > 3; i++) {
		struct pasta_namespan number = {p + 2 + !i, p + 2 + !i};

		while (number.end < end && span_is_digit(*number.end))
			number.end++;
		if (i)
			pasta_nametext_add(t, span_of("x"));
		if (i)
			pasta_nametext_add(t, number);
		else
			pasta_nametext_word(t, number);
		p = number.end + (number.end < end);
	}
}

bool pasta_kernellibrary_mangled(struct pasta_nametext *t, struct pasta_namespan name)
{
	struct pasta_namespan id = {0}, shape = {0};
	const char *p = name.at + 2, *verb = NULL, *type = NULL;
	bool nested = true;

	if (!pasta_namespan_begins(name, "_Z"))
		return false;
	while (p < name.end) {
		if (!span_is_digit(*p)) {
			nested = nested && *p != 'I' && *p != 'E';
			p = mangled_skip(p, name.end);
			continue;
		}
		struct pasta_namespan word = mangled_identifier(p, name.end);
		bool wrapper = id.at && pasta_namespan_is(id, "Kernel");

		if (nested || (wrapper && *word.at >= 'A' && *word.at <= 'Z'))
			id = word;
		shape = !shape.at && pasta_namespan_is(word, "GemmShape") ? word : shape;
		type = type ? type : pasta_kernellibrary_type(word);
		if (!verb)
			verb = pasta_namespan_find(word, "Wgrad")   ? "wgrad"
			       : pasta_namespan_find(word, "Dgrad") ? "dgrad"
			       : pasta_namespan_find(word, "Fprop") ? "fprop"
								    : NULL;
		p = word.end > p ? word.end : p + 1;
	}
	if (!id.at || id.at == id.end)
		return false;
	pasta_nametext_word(t, verb && shape.at ? span_of(verb) : id);
	if (type)
		pasta_nametext_text(t, type);
	if (shape.at)
		mangled_tile(t, shape.end, name.end);
	return true;
}
