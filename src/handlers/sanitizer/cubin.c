/*
 * cubin.c - reads a CUDA binary: its functions by name, and the parameters of its kernels.
 *
 * A cubin is an ELF file. Each function has a section .text.NAME, and each kernel has a section
 * .nv.info.NAME with attributes. All offsets and sizes are checked. A damaged file could refer to
 * the same bytes repeatedly, so every read is charged to a budget that is proportional to the
 * file's size.
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
	CUDA_ENTRY = 0x10, /* bit of a symbol's st_other that marks a kernel */
	CUDA_ABI =
		8, /* first ABI version in which another byte of e_flags holds the architecture */
	CUDA_INFO = SHT_LOPROC, /* a section of attributes */
};

/* An attribute of a kernel: one byte for its format, one byte for its type, and a value. */
enum { HAS_SIZE = 4 };
enum { PARAM_INFO = 0x17, PARAM_BYTES = 0x19, PARAM_INFO_LARGE = 0x45 };

struct pasta_cubin {
	unsigned int sm;
	struct pasta_cubin_function *functions;
	size_t count;
	char *names;
	uint32_t *index; /* hash table by name; an entry is the function's number plus 1 */
	size_t mask;
	struct pasta_cubin_param *params;
	struct pasta_cubin_mix called;
	struct pasta_cubin_lines *lines; /* NULL: no line table */
};

struct elf {
	const uint8_t *bytes;
	size_t size;
	size_t budget; /* number of bytes that the parser may still read */
	bool exceeded; /* a read exceeded the budget */
	Elf64_Ehdr head;
	size_t sections;
	Elf64_Shdr section_names;
	Elf64_Shdr symbols, symbol_names, symbol_sections; /* sh_size 0: absent */
	size_t symbol_count;
	struct pasta_error *err;
};

/* -- Bytes ------------------------------------------------------------------------------------ */

static bool elf_spend(struct elf *e, size_t bytes)
{
	if (bytes <= e->budget) {
		e->budget -= bytes;
		return true;
	}
	e->exceeded = true;
	pasta_fail(e->err, -EBADMSG, "the CUDA binary of %zu bytes is damaged: its parts overlap",
		   e->size);
	return false;
}

/* Reads a section's header. Sets the size to 0 if the section has no bytes in the file. */
static bool elf_section(const struct elf *e, size_t i, Elf64_Shdr *s)
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

/* Returns a string in a string section, or NULL if the string does not end within the section. */
static const char *elf_text(struct elf *e, const Elf64_Shdr *texts, uint64_t at, size_t *length)
{
	const char *text, *nul;

	if (at >= texts->sh_size)
		return NULL;
	text = (const char *)e->bytes + texts->sh_offset + at;
	nul = memchr(text, 0, texts->sh_size - at);
	*length = nul ? (size_t)(nul - text) : texts->sh_size - at;
	return elf_spend(e, *length + 1) && nul ? text : NULL;
}

static bool elf_is_named(const struct elf *e, const Elf64_Shdr *s, const char *name, size_t length)
{
	const Elf64_Shdr *names = &e->section_names;

	return s->sh_name < names->sh_size && length <= names->sh_size - s->sh_name &&
	       memcmp(e->bytes + names->sh_offset + s->sh_name, name, length) == 0;
}

/* Reads a symbol and the number of its section, which is 0 if the symbol has no section. */
static void elf_symbol(const struct elf *e, size_t i, Elf64_Sym *s, uint32_t *section)
{
	memcpy(s, e->bytes + e->symbols.sh_offset + i * sizeof(*s), sizeof(*s));
	*section = s->st_shndx < SHN_LORESERVE ? s->st_shndx : 0;
	/* Section numbers that do not fit into a symbol are in a section of their own. */
	if (s->st_shndx == SHN_XINDEX && e->symbol_sections.sh_size / sizeof(*section) > i)
		memcpy(section, e->bytes + e->symbol_sections.sh_offset + i * sizeof(*section),
		       sizeof(*section));
}

/* -- The file --------------------------------------------------------------------------------- */

static int elf_check_header(struct elf *e)
{
	static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB};

	if (e->size < sizeof(e->head) || memcmp(e->bytes, magic, sizeof(magic)) != 0)
		return pasta_fail(e->err, -EINVAL,
				  "not a CUDA binary: the %zu bytes are not a 64-bit ELF file",
				  e->size);
	memcpy(&e->head, e->bytes, sizeof(e->head));
	if (e->head.e_machine != CUDA_MACHINE)
		return pasta_fail(e->err, -EINVAL,
				  "not a CUDA binary: the ELF file is for machine %u, not %d",
				  e->head.e_machine, CUDA_MACHINE);
	return 0;
}

static int elf_find_sections(struct elf *e)
{
	uint64_t at = e->head.e_shoff;
	size_t names = e->head.e_shstrndx, fit;
	Elf64_Shdr first;

	if (at > e->size || e->size - at < sizeof(first) || e->head.e_shentsize != sizeof(first))
		return pasta_fail(e->err, -EBADMSG,
				  "the CUDA binary is truncated: its %zu bytes do not contain the "
				  "table of sections",
				  e->size);
	fit = (e->size - at) / sizeof(first);
	memcpy(&first, e->bytes + at, sizeof(first));
	/* Numbers that do not fit into the ELF header are in the header of the first section. */
	e->sections = e->head.e_shnum ? e->head.e_shnum : first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (e->sections > fit)
		return pasta_fail(e->err, -EBADMSG,
				  "the CUDA binary is truncated: only %zu of its %zu sections are "
				  "present",
				  fit, e->sections);
	if (!elf_section(e, names, &e->section_names))
		return pasta_fail(e->err, -EBADMSG,
				  "the CUDA binary is damaged: the sections' names are missing");
	return 0;
}

static int elf_find_symbols(struct elf *e)
{
	Elf64_Shdr s;
	size_t i, symbols = 0;

	for (i = 1; i < e->sections; i++) {
		if (!elf_section(e, i, &s))
			return pasta_fail(e->err, -EBADMSG,
					  "the CUDA binary is truncated: section %zu of %zu "
					  "extends past the end of the file (%zu bytes)",
					  i, e->sections, e->size);
		if (s.sh_type == SHT_SYMTAB && !symbols) {
			symbols = i;
			e->symbols = s;
		}
	}
	for (i = 1; symbols && i < e->sections; i++) {
		elf_section(e, i, &s);
		if (s.sh_type == SHT_SYMTAB_SHNDX && s.sh_link == symbols)
			e->symbol_sections = s;
	}
	e->symbol_count = e->symbols.sh_size / sizeof(Elf64_Sym);
	if (e->symbol_count && !elf_section(e, e->symbols.sh_link, &e->symbol_names))
		return pasta_fail(e->err, -EBADMSG,
				  "the CUDA binary is damaged: the symbols' names are missing");
	return 0;
}

/* -- Functions -------------------------------------------------------------------------------- */

/* Reads a symbol that is a function; returns false if it is not a function. The function's name
 * points into the file's bytes. */
static bool elf_function(struct elf *e, size_t i, struct pasta_cubin_function *f, size_t *length)
{
	uint32_t section;
	Elf64_Shdr code;
	Elf64_Sym s;

	elf_symbol(e, i, &s, &section);
	if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || !section || !elf_section(e, section, &code) ||
	    !(code.sh_flags & SHF_EXECINSTR) || s.st_value > code.sh_size)
		return false;
	*f = (struct pasta_cubin_function){
		.name = elf_text(e, &e->symbol_names, s.st_name, length),
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

/* Returns the hash table slot of the function with this name; an empty slot if there is no such
 * function. */
static uint32_t *cubin_slot(const struct pasta_cubin *c, const char *name, size_t length)
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

static int cubin_allocate(struct pasta_cubin *c, const struct elf *e, size_t functions,
			  size_t names)
{
	c->mask = 1;
	while (c->mask < 2 * functions)
		c->mask = c->mask * 2 + 1;
	c->functions = calloc(functions + 1, sizeof(*c->functions));
	c->names = malloc(names + 1);
	c->index = calloc(c->mask + 1, sizeof(*c->index));
	if (!c->functions || !c->names || !c->index)
		return pasta_fail(e->err, -ENOMEM, "out of memory while reading a CUDA binary");
	return 0;
}

static void cubin_add_mix(struct pasta_cubin_mix *to, const struct pasta_cubin_mix *mix)
{
	uint32_t *sums = (uint32_t *)to;
	const uint32_t *more = (const uint32_t *)mix;

	for (size_t i = 0; i < sizeof(*mix) / sizeof(*more); i++)
		sums[i] += more[i];
}

static int cubin_add_function(struct pasta_cubin *c, struct elf *e, struct pasta_cubin_function *f,
			      size_t length, char **names)
{
	uint32_t *slot = cubin_slot(c, f->name, length);

	if (*slot)
		return 0;
	if (!elf_spend(e, f->size))
		return -EBADMSG;
	f->mix_known = pasta_cubin_classify(c->sm, e->bytes + f->code, f->size, &f->mix);
	f->name = memcpy(*names, f->name, length + 1);
	*names += length + 1;
	if (f->mix_known && !f->kernel && *f->name != '$')
		cubin_add_mix(&c->called, &f->mix);
	c->functions[c->count++] = *f;
	*slot = (uint32_t)c->count;
	return 0;
}

static int cubin_read_functions(struct pasta_cubin *c, struct elf *e)
{
	size_t functions = 0, bytes = 0, length, i;
	struct pasta_cubin_function f;
	char *names;
	int r;

	for (i = 1; i < e->symbol_count && !e->exceeded; i++)
		if (elf_function(e, i, &f, &length)) {
			functions++;
			bytes += length + 1;
		}
	r = e->exceeded ? -EBADMSG : cubin_allocate(c, e, functions, bytes);
	names = c->names;
	for (i = 1; !r && i < e->symbol_count; i++) {
		if (elf_function(e, i, &f, &length))
			r = cubin_add_function(c, e, &f, length, &names);
		if (e->exceeded)
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

/* Reads the attribute at *at and advances *at. Returns false at the end of the section. */
static bool attribute_next(const uint8_t *info, size_t size, size_t *at, struct attribute *a)
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

/* Decodes a parameter, which consists of an index, the parameter's number and offset, and the size.
 * The size is in 14 bits of the last word, or in 16 bits if parameters may exceed 4 kB. */
static bool attribute_param(const struct attribute *a, size_t *number, struct pasta_cubin_param *p)
{
	if ((a->what != PARAM_INFO && a->what != PARAM_INFO_LARGE) || a->size < 12)
		return false;
	*number = u16(a->value + 4);
	p->offset = u16(a->value + 6);
	p->size = a->what == PARAM_INFO ? (uint16_t)(u16(a->value + 10) >> 2) : u16(a->value + 8);
	return true;
}

/* Reads all parameters of a kernel. If a parameter is missing or occurs twice, discards all of
 * them. */
static void cubin_read_params(struct pasta_cubin_function *f, const uint8_t *info, size_t size,
			      struct pasta_cubin_param *params)
{
	struct pasta_cubin_param p;
	struct attribute a;
	size_t count = 0, number, at;
	uint16_t bytes = 0;

	for (at = 0; attribute_next(info, size, &at, &a);) {
		count += attribute_param(&a, &number, &p);
		if (a.what == PARAM_BYTES)
			bytes = u16(a.value);
	}
	/* mark all parameters as missing: no parameter has the size 0xffff */
	memset(params, 0xff, count * sizeof(*params));
	for (at = 0; attribute_next(info, size, &at, &a);) {
		if (!attribute_param(&a, &number, &p))
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

static struct pasta_cubin_function *cubin_described_function(struct pasta_cubin *c, struct elf *e,
							     const Elf64_Shdr *s)
{
	const size_t prefix = sizeof(INFO_PREFIX) - 1;
	const char *name;
	uint32_t slot;
	size_t length;

	if (s->sh_type != CUDA_INFO || !elf_is_named(e, s, INFO_PREFIX, prefix))
		return NULL;
	name = elf_text(e, &e->section_names, s->sh_name + prefix, &length);
	slot = name ? *cubin_slot(c, name, length) : 0;
	return slot ? &c->functions[slot - 1] : NULL;
}

static int cubin_read_infos(struct pasta_cubin *c, struct elf *e)
{
	enum { RECORD = 16 };
	struct pasta_cubin_param *next;
	size_t records = 0, i;
	Elf64_Shdr s;

	for (i = 1; i < e->sections && elf_section(e, i, &s); i++)
		if (s.sh_type == CUDA_INFO && elf_spend(e, s.sh_size))
			records += s.sh_size / RECORD;
	if (e->exceeded)
		return -EBADMSG;
	c->params = next = malloc((records + 1) * sizeof(*next));
	if (!next)
		return pasta_fail(e->err, -ENOMEM, "out of memory while reading a CUDA binary");
	for (i = 1; i < e->sections && elf_section(e, i, &s) && !e->exceeded; i++) {
		struct pasta_cubin_function *f = cubin_described_function(c, e, &s);

		if (!f || !f->kernel || f->params_known)
			continue;
		cubin_read_params(f, e->bytes + s.sh_offset, s.sh_size, next);
		next += f->params_count;
	}
	return e->exceeded ? -EBADMSG : 0;
}

/* -- Lines ------------------------------------------------------------------------------------ */

/* Reads the relocations of the line table from a section. Returns their number. */
static size_t cubin_read_fixes(const struct elf *e, const Elf64_Shdr *s,
			       struct pasta_cubin_fix *fixes)
{
	size_t entry = s->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel), n = 0;

	for (size_t at = 0; s->sh_size - at >= entry; at += entry) {
		struct pasta_cubin_fix *f = &fixes[n];
		Elf64_Rela r = {0};
		Elf64_Sym symbol;

		memcpy(&r, e->bytes + s->sh_offset + at, entry);
		if (ELF64_R_SYM(r.r_info) >= e->symbol_count)
			continue;
		elf_symbol(e, ELF64_R_SYM(r.r_info), &symbol, &f->section);
		f->at = r.r_offset;
		f->value = symbol.st_value + (uint64_t)r.r_addend;
		f->added = s->sh_type == SHT_REL;
		n += f->section != 0;
	}
	return n;
}

/* Returns the number of the section with this name; 0 if the section is absent, empty or
 * compressed. */
static size_t elf_find_section(const struct elf *e, const char *name, struct pasta_cubin_bytes *b)
{
	Elf64_Shdr s;

	*b = (struct pasta_cubin_bytes){NULL, 0};
	for (size_t i = 1; i < e->sections && elf_section(e, i, &s); i++) {
		if (!s.sh_size || (s.sh_flags & SHF_COMPRESSED) ||
		    !elf_is_named(e, &s, name, strlen(name) + 1))
			continue;
		*b = (struct pasta_cubin_bytes){e->bytes + s.sh_offset, s.sh_size};
		return i;
	}
	return 0;
}

static bool elf_find_fixes(const struct elf *e, size_t of, Elf64_Shdr *s)
{
	for (size_t i = 1; i < e->sections && elf_section(e, i, s); i++)
		if ((s->sh_type == SHT_RELA || s->sh_type == SHT_REL) && s->sh_info == of)
			return true;
	return false;
}

/* Copies the line table, which is decoded when a line is first requested. */
static int cubin_copy_lines(struct pasta_cubin *c, const struct elf *e)
{
	struct pasta_cubin_bytes line, names[2];
	size_t number = elf_find_section(e, ".debug_line", &line), n;
	struct pasta_cubin_fix *fixes;
	Elf64_Shdr s;

	if (!number || !elf_find_fixes(e, number, &s))
		return 0;
	elf_find_section(e, ".debug_line_str", &names[0]);
	elf_find_section(e, ".debug_str", &names[1]);
	fixes = malloc((s.sh_size / sizeof(Elf64_Rel) + 1) * sizeof(*fixes));
	if (fixes) {
		n = cubin_read_fixes(e, &s, fixes);
		/* An upper limit for the rows of the line table: one row for each instruction,
		 * and one for the end of each sequence. */
		c->lines = pasta_cubin_lines_new(line, names, fixes, n, e->size / 16 + n);
	}
	return c->lines ? 0
			: pasta_fail(e->err, -ENOMEM, "out of memory while reading a CUDA binary");
}

/* -- Public functions ------------------------------------------------------------------------- */

struct pasta_cubin *pasta_cubin_new(const void *bytes, size_t size, struct pasta_error *err)
{
	struct elf e = {.bytes = bytes, .size = size, .budget = 8 * size, .err = err};
	struct pasta_cubin *c;

	if (elf_check_header(&e) || elf_find_sections(&e) || elf_find_symbols(&e))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c) {
		pasta_fail(err, -ENOMEM, "out of memory while reading a CUDA binary");
		return NULL;
	}
	c->sm = e.head.e_ident[EI_ABIVERSION] >= CUDA_ABI ? e.head.e_flags >> 8 & 0xff
							  : e.head.e_flags & 0xff;
	if (cubin_read_functions(c, &e) || cubin_read_infos(c, &e) || cubin_copy_lines(c, &e))
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
	uint32_t slot = *cubin_slot(c, name, strlen(name));

	return slot ? &c->functions[slot - 1] : NULL;
}

bool pasta_cubin_line(struct pasta_cubin *c, const struct pasta_cubin_function *f, uint64_t offset,
		      struct pasta_cubin_line *line)
{
	return c->lines && offset < f->size &&
	       pasta_cubin_lines_find(c->lines, f->section, f->start + offset, line);
}
