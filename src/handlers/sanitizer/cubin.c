/*
 * cubin.c - a CUDA binary's functions, found by name, and the parameters of its kernels.
 *
 * A cubin is an ELF file: each function has a section of its own (.text.NAME), each kernel one that
 * tells of it (.nv.info.NAME). Nothing in it is trusted. A broken one could name the same bytes
 * over and over: what is read is paid for, and there is only so much to spend.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "handlers/sanitizer/cubinline.h"

#define INFO_PREFIX ".nv.info."

enum {
	CUDA_MACHINE = 190,
	CUDA_ENTRY = 0x10,	/* in a symbol's st_other: it is a kernel */
	CUDA_ABI = 8,		/* from this on the architecture is in another byte of the flags */
	CUDA_INFO = SHT_LOPROC, /* a section of attributes */
};

/* A section's attributes: a byte that says how long it is, one that says what it is, a value. */
enum { HAS_SIZE = 4 };
enum { PARAM_INFO = 0x17, PARAM_BYTES = 0x19, PARAM_INFO_LARGE = 0x45 };

struct pasta_cubin {
	unsigned int sm;
	struct pasta_cubin_function *functions;
	size_t count;
	char *names;
	uint32_t *index; /* by the hash of the name: the function's number, plus 1 */
	size_t mask;
	struct pasta_cubin_param *params;
	struct pasta_cubin_mix called;
	struct pasta_cubin_lines *lines; /* NULL: no line table */
};

struct elf {
	const uint8_t *bytes;
	size_t size;
	size_t budget; /* bytes that may still be read */
	bool spent;    /* it wanted more */
	Elf64_Ehdr head;
	size_t sections;
	Elf64_Shdr section_names;
	Elf64_Shdr symbols, symbol_names, symbol_sections; /* sh_size 0: there is none */
	size_t symbol_count;
	struct pasta_error *err;
};

/* -- Bytes ------------------------------------------------------------------------------------ */

static bool spend(struct elf *e, size_t bytes)
{
	if (bytes <= e->budget) {
		e->budget -= bytes;
		return true;
	}
	e->spent = true;
	pasta_fail(e->err, -EBADMSG,
		   "the CUDA binary is damaged: its parts lie over each other (%zu bytes)",
		   e->size);
	return false;
}

/* The section's header; without bytes where it has none in the file. */
static bool section_at(const struct elf *e, size_t i, Elf64_Shdr *s)
{
	if (i >= e->sections)
		return false;
	memcpy(s, e->bytes + e->head.e_shoff + i * sizeof(*s), sizeof(*s));
	if (s->sh_type == SHT_NOBITS || s->sh_type == SHT_NULL)
		s->sh_size = 0;
	if (!s->sh_size)
		s->sh_offset = 0;
	return s->sh_offset <= e->size && s->sh_size <= e->size - s->sh_offset;
}

/* A text of a section of them, which ends inside of it; NULL if it does not. */
static const char *text_at(struct elf *e, const Elf64_Shdr *texts, uint64_t at, size_t *length)
{
	const char *text, *nul;

	if (at >= texts->sh_size)
		return NULL;
	text = (const char *)e->bytes + texts->sh_offset + at;
	nul = memchr(text, 0, texts->sh_size - at);
	*length = nul ? (size_t)(nul - text) : texts->sh_size - at;
	return spend(e, *length + 1) && nul ? text : NULL;
}

static bool named(const struct elf *e, const Elf64_Shdr *s, const char *name, size_t length)
{
	const Elf64_Shdr *names = &e->section_names;

	return s->sh_name < names->sh_size && length <= names->sh_size - s->sh_name &&
	       memcmp(e->bytes + names->sh_offset + s->sh_name, name, length) == 0;
}

/* The symbol, and the section it is in: 0 for none. */
static void symbol_at(const struct elf *e, size_t i, Elf64_Sym *s, uint32_t *section)
{
	memcpy(s, e->bytes + e->symbols.sh_offset + i * sizeof(*s), sizeof(*s));
	*section = s->st_shndx < SHN_LORESERVE ? s->st_shndx : 0;
	/* There are more sections than fit into the symbol. */
	if (s->st_shndx == SHN_XINDEX && e->symbol_sections.sh_size / sizeof(*section) > i)
		memcpy(section, e->bytes + e->symbol_sections.sh_offset + i * sizeof(*section),
		       sizeof(*section));
}

/* -- The file --------------------------------------------------------------------------------- */

static int check_head(struct elf *e)
{
	static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB};

	if (e->size < sizeof(e->head) || memcmp(e->bytes, magic, sizeof(magic)) != 0)
		return pasta_fail(e->err, -EINVAL,
				  "no CUDA binary: %zu bytes that are no ELF file of 64 bits",
				  e->size);
	memcpy(&e->head, e->bytes, sizeof(e->head));
	if (e->head.e_machine != CUDA_MACHINE)
		return pasta_fail(e->err, -EINVAL,
				  "no CUDA binary: an ELF file for machine %u, not %d",
				  e->head.e_machine, CUDA_MACHINE);
	return 0;
}

static int find_sections(struct elf *e)
{
	uint64_t at = e->head.e_shoff;
	size_t names = e->head.e_shstrndx, fit;
	Elf64_Shdr first;

	if (at > e->size || e->size - at < sizeof(first) || e->head.e_shentsize != sizeof(first))
		return pasta_fail(e->err, -EBADMSG,
				  "the CUDA binary is cut off: no table of sections in %zu bytes",
				  e->size);
	fit = (e->size - at) / sizeof(first);
	memcpy(&first, e->bytes + at, sizeof(first));
	/* Numbers that are too large for the head are in the first section. */
	e->sections = e->head.e_shnum ? e->head.e_shnum : first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (e->sections > fit)
		return pasta_fail(e->err, -EBADMSG,
				  "the CUDA binary is cut off: %zu of its %zu sections are there",
				  fit, e->sections);
	if (!section_at(e, names, &e->section_names))
		return pasta_fail(e->err, -EBADMSG,
				  "the CUDA binary is damaged: the sections' names are missing");
	return 0;
}

static int find_symbols(struct elf *e)
{
	Elf64_Shdr s;
	size_t i, symbols = 0;

	for (i = 1; i < e->sections; i++) {
		if (!section_at(e, i, &s))
			return pasta_fail(e->err, -EBADMSG,
					  "the CUDA binary is cut off: section %zu of %zu is not "
					  "in its %zu bytes",
					  i, e->sections, e->size);
		if (s.sh_type == SHT_SYMTAB && !symbols) {
			symbols = i;
			e->symbols = s;
		}
	}
	for (i = 1; symbols && i < e->sections; i++) {
		section_at(e, i, &s);
		if (s.sh_type == SHT_SYMTAB_SHNDX && s.sh_link == symbols)
			e->symbol_sections = s;
	}
	e->symbol_count = e->symbols.sh_size / sizeof(Elf64_Sym);
	if (e->symbol_count && !section_at(e, e->symbols.sh_link, &e->symbol_names))
		return pasta_fail(e->err, -EBADMSG,
				  "the CUDA binary is damaged: the symbols' names are missing");
	return 0;
}

/* -- Functions -------------------------------------------------------------------------------- */

/* The symbol's function, if it is one; its name is still the file's. */
static bool function_at(struct elf *e, size_t i, struct pasta_cubin_function *f, size_t *length)
{
	uint32_t section;
	Elf64_Shdr code;
	Elf64_Sym s;

	symbol_at(e, i, &s, &section);
	if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || !section || !section_at(e, section, &code) ||
	    !(code.sh_flags & SHF_EXECINSTR) || s.st_value > code.sh_size)
		return false;
	*f = (struct pasta_cubin_function){
		.name = text_at(e, &e->symbol_names, s.st_name, length),
		.code = code.sh_offset + s.st_value,
		.size = s.st_size,
		.start = s.st_value,
		.section = section,
		.kernel = s.st_other & CUDA_ENTRY,
	};
	if (f->size > code.sh_size - s.st_value)
		f->size = code.sh_size - s.st_value;
	return f->name && *length;
}

/* The name's place in the index: its function, or an empty one. */
static uint32_t *place_of(const struct pasta_cubin *c, const char *name, size_t length)
{
	size_t i = XXH3_64bits(name, length) & c->mask;

	while (c->index[i]) {
		const char *other = c->functions[c->index[i] - 1].name;

		if (strncmp(other, name, length) == 0 && !other[length])
			break;
		i = (i + 1) & c->mask;
	}
	return &c->index[i];
}

static int allocate(struct pasta_cubin *c, const struct elf *e, size_t functions, size_t names)
{
	c->mask = 1;
	while (c->mask < 2 * functions)
		c->mask = c->mask * 2 + 1;
	c->functions = calloc(functions + 1, sizeof(*c->functions));
	c->names = malloc(names + 1);
	c->index = calloc(c->mask + 1, sizeof(*c->index));
	if (!c->functions || !c->names || !c->index)
		return pasta_fail(e->err, -ENOMEM, "out of memory for a CUDA binary");
	return 0;
}

static void add_mix(struct pasta_cubin_mix *to, const struct pasta_cubin_mix *mix)
{
	uint32_t *sums = (uint32_t *)to;
	const uint32_t *more = (const uint32_t *)mix;

	for (size_t i = 0; i < sizeof(*mix) / sizeof(*more); i++)
		sums[i] += more[i];
}

static int add_function(struct pasta_cubin *c, struct elf *e, struct pasta_cubin_function *f,
			size_t length, char **names)
{
	uint32_t *place = place_of(c, f->name, length);

	if (*place)
		return 0;
	if (!spend(e, f->size))
		return -EBADMSG;
	f->mix_known = pasta_cubin_classify(c->sm, e->bytes + f->code, f->size, &f->mix);
	f->name = memcpy(*names, f->name, length + 1);
	*names += length + 1;
	if (f->mix_known && !f->kernel && *f->name != '$')
		add_mix(&c->called, &f->mix);
	c->functions[c->count++] = *f;
	*place = (uint32_t)c->count;
	return 0;
}

static int read_functions(struct pasta_cubin *c, struct elf *e)
{
	size_t functions = 0, bytes = 0, length, i;
	struct pasta_cubin_function f;
	char *names;
	int r;

	for (i = 1; i < e->symbol_count && !e->spent; i++)
		if (function_at(e, i, &f, &length)) {
			functions++;
			bytes += length + 1;
		}
	r = e->spent ? -EBADMSG : allocate(c, e, functions, bytes);
	names = c->names;
	for (i = 1; !r && i < e->symbol_count; i++) {
		if (function_at(e, i, &f, &length))
			r = add_function(c, e, &f, length, &names);
		if (e->spent)
			r = -EBADMSG;
	}
	return r;
}

/* -- Parameters ------------------------------------------------------------------------------- */

struct attribute {
	unsigned int what;
	const uint8_t *value;
	size_t size;
};

static uint16_t u16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

/* The attribute at *at, which is behind it afterwards. false: there is none any more. */
static bool next_attribute(const uint8_t *info, size_t size, size_t *at, struct attribute *a)
{
	const uint8_t *p = info + *at;
	size_t left = size - *at;

	if (left < 4)
		return false;
	*a = (struct attribute){.what = p[1], .value = p + 2, .size = 2};
	if (p[0] == HAS_SIZE)
		*a = (struct attribute){.what = p[1], .value = p + 4, .size = u16(p + 2)};
	*at += 4 + (p[0] == HAS_SIZE ? a->size : 0);
	return *at <= size;
}

/* A number for what it is used by, the parameter's number and offset, then the size: 14 bits of
 * the last word, or 16 where parameters need more than 4 kB. */
static bool param_of(const struct attribute *a, size_t *number, struct pasta_cubin_param *p)
{
	if ((a->what != PARAM_INFO && a->what != PARAM_INFO_LARGE) || a->size < 12)
		return false;
	*number = u16(a->value + 4);
	p->offset = u16(a->value + 6);
	p->size = a->what == PARAM_INFO ? (uint16_t)(u16(a->value + 10) >> 2) : u16(a->value + 8);
	return true;
}

/* All of them, each once, or it is not believed. */
static void read_params(struct pasta_cubin_function *f, const uint8_t *info, size_t size,
			struct pasta_cubin_param *params)
{
	struct pasta_cubin_param p;
	struct attribute a;
	size_t count = 0, number, at;
	uint16_t bytes = 0;

	for (at = 0; next_attribute(info, size, &at, &a);) {
		count += param_of(&a, &number, &p);
		if (a.what == PARAM_BYTES)
			bytes = u16(a.value);
	}
	memset(params, 0xff, count * sizeof(*params)); /* no parameter has this size */
	for (at = 0; next_attribute(info, size, &at, &a);) {
		if (!param_of(&a, &number, &p))
			continue;
		if (number >= count || params[number].size != UINT16_MAX ||
		    p.offset + p.size > bytes)
			return;
		params[number] = p;
	}
	f->params = params;
	f->params_count = (uint16_t)count;
	f->params_size = bytes;
	f->params_known = true;
}

static struct pasta_cubin_function *told_of(struct pasta_cubin *c, struct elf *e,
					    const Elf64_Shdr *s)
{
	const size_t prefix = sizeof(INFO_PREFIX) - 1;
	const char *name;
	uint32_t place;
	size_t length;

	if (s->sh_type != CUDA_INFO || !named(e, s, INFO_PREFIX, prefix))
		return NULL;
	name = text_at(e, &e->section_names, s->sh_name + prefix, &length);
	place = name ? *place_of(c, name, length) : 0;
	return place ? &c->functions[place - 1] : NULL;
}

static int read_infos(struct pasta_cubin *c, struct elf *e)
{
	enum { RECORD = 16 };
	struct pasta_cubin_param *next;
	size_t records = 0, i;
	Elf64_Shdr s;

	for (i = 1; i < e->sections && section_at(e, i, &s); i++)
		if (s.sh_type == CUDA_INFO && spend(e, s.sh_size))
			records += s.sh_size / RECORD;
	if (e->spent)
		return -EBADMSG;
	c->params = next = malloc((records + 1) * sizeof(*next));
	if (!next)
		return pasta_fail(e->err, -ENOMEM, "out of memory for a CUDA binary");
	for (i = 1; i < e->sections && section_at(e, i, &s) && !e->spent; i++) {
		struct pasta_cubin_function *f = told_of(c, e, &s);

		if (!f || !f->kernel || f->params_known)
			continue;
		read_params(f, e->bytes + s.sh_offset, s.sh_size, next);
		next += f->params_count;
	}
	return e->spent ? -EBADMSG : 0;
}

/* -- Lines ------------------------------------------------------------------------------------ */

/* What a section of relocations says of the line table; how many. */
static size_t read_fixes(const struct elf *e, const Elf64_Shdr *s, struct pasta_cubin_fix *fixes)
{
	size_t entry = s->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel), n = 0;

	for (size_t at = 0; s->sh_size - at >= entry; at += entry) {
		struct pasta_cubin_fix *f = &fixes[n];
		Elf64_Rela r = {0};
		Elf64_Sym symbol;

		memcpy(&r, e->bytes + s->sh_offset + at, entry);
		if (ELF64_R_SYM(r.r_info) >= e->symbol_count)
			continue;
		symbol_at(e, ELF64_R_SYM(r.r_info), &symbol, &f->section);
		f->at = r.r_offset;
		f->value = symbol.st_value + (uint64_t)r.r_addend;
		f->added = s->sh_type == SHT_REL;
		n += f->section != 0;
	}
	return n;
}

/* The section's number; 0: there is none, it is empty, or nothing here unpacks it. */
static size_t section_called(const struct elf *e, const char *name, struct pasta_cubin_bytes *b)
{
	Elf64_Shdr s;

	*b = (struct pasta_cubin_bytes){NULL, 0};
	for (size_t i = 1; i < e->sections && section_at(e, i, &s); i++) {
		if (!s.sh_size || (s.sh_flags & SHF_COMPRESSED) ||
		    !named(e, &s, name, strlen(name) + 1))
			continue;
		*b = (struct pasta_cubin_bytes){e->bytes + s.sh_offset, s.sh_size};
		return i;
	}
	return 0;
}

static bool find_fixes(const struct elf *e, size_t of, Elf64_Shdr *s)
{
	for (size_t i = 1; i < e->sections && section_at(e, i, s); i++)
		if ((s->sh_type == SHT_RELA || s->sh_type == SHT_REL) && s->sh_info == of)
			return true;
	return false;
}

/* The table itself is read when a line is asked for. */
static int keep_lines(struct pasta_cubin *c, const struct elf *e)
{
	struct pasta_cubin_bytes line, names[2];
	size_t number = section_called(e, ".debug_line", &line), n;
	struct pasta_cubin_fix *fixes;
	Elf64_Shdr s;

	if (!number || !find_fixes(e, number, &s))
		return 0;
	section_called(e, ".debug_line_str", &names[0]);
	section_called(e, ".debug_str", &names[1]);
	fixes = malloc((s.sh_size / sizeof(Elf64_Rel) + 1) * sizeof(*fixes));
	if (fixes) {
		n = read_fixes(e, &s, fixes);
		/* A line an instruction and an end a sequence are all that there can be. */
		c->lines = pasta_cubin_lines_new(line, names, fixes, n, e->size / 16 + n);
	}
	return c->lines ? 0 : pasta_fail(e->err, -ENOMEM, "out of memory for a CUDA binary");
}

/* -- What others call ------------------------------------------------------------------------- */

struct pasta_cubin *pasta_cubin_new(const void *bytes, size_t size, struct pasta_error *err)
{
	struct elf e = {.bytes = bytes, .size = size, .budget = 8 * size, .err = err};
	struct pasta_cubin *c;

	if (check_head(&e) || find_sections(&e) || find_symbols(&e))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c) {
		pasta_fail(err, -ENOMEM, "out of memory for a CUDA binary");
		return NULL;
	}
	c->sm = e.head.e_ident[EI_ABIVERSION] >= CUDA_ABI ? e.head.e_flags >> 8 & 0xff
							  : e.head.e_flags & 0xff;
	if (read_functions(c, &e) || read_infos(c, &e) || keep_lines(c, &e))
		goto fail;
	return c;
fail:
	pasta_cubin_free(c);
	return NULL;
}

void pasta_cubin_free(struct pasta_cubin *c)
{
	if (!c)
		return;
	pasta_cubin_lines_free(c->lines);
	free(c->params);
	free(c->index);
	free(c->names);
	free(c->functions);
	free(c);
}

unsigned int pasta_cubin_sm(const struct pasta_cubin *c)
{
	return c->sm;
}

const struct pasta_cubin_mix *pasta_cubin_called(const struct pasta_cubin *c)
{
	return &c->called;
}

size_t pasta_cubin_count(const struct pasta_cubin *c)
{
	return c->count;
}

const struct pasta_cubin_function *pasta_cubin_at(const struct pasta_cubin *c, size_t i)
{
	return i < c->count ? &c->functions[i] : NULL;
}

const struct pasta_cubin_function *pasta_cubin_find(const struct pasta_cubin *c, const char *name)
{
	uint32_t place = *place_of(c, name, strlen(name));

	return place ? &c->functions[place - 1] : NULL;
}

bool pasta_cubin_line(struct pasta_cubin *c, const struct pasta_cubin_function *f, uint64_t offset,
		      struct pasta_cubin_line *line)
{
	return c->lines && offset < f->size &&
	       pasta_cubin_lines_find(c->lines, f->section, f->start + offset, line);
}
