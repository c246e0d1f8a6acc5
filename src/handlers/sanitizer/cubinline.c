/*
 * cubinline.c - decodes the line table of a CUDA binary, which maps instructions to source lines.
 *
 * The code of each function starts at offset 0 of the function's own section. Only the relocations
 * show to which section a sequence of lines belongs. For inlined code, nvcc emits the inlined
 * function's line after the caller's line, at the same address, and identifies the caller with an
 * extended opcode. The last line at an address is therefore the innermost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/map.h>

#include "core/varint.h"
#include "handlers/sanitizer/cubinline.h"

enum { LNS_COPY = 1, LNS_ADVANCE_PC, LNS_ADVANCE_LINE, LNS_SET_FILE };
enum { LNS_CONST_ADD_PC = 8, LNS_FIXED_ADVANCE_PC };
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS };
enum { LNCT_PATH = 1, LNCT_DIRECTORY };
enum { PATH_LENGTH_MAX = 4096 };

struct cursor {
	const uint8_t *p, *end; /* p is NULL after an attempt to read beyond the end */
};

/* The header of a compilation unit. Its lists of directories and files are read when a name is
 * needed. */
struct unit {
	struct cursor lists, program;
	uint8_t lengths[256]; /* number of operands of each standard opcode */
	uint8_t version, wide, min_length, line_range, opcode_base;
	int8_t line_base;
};

struct row {
	uint64_t address;
	uint32_t section;
	uint32_t line;
	uint32_t file;
	uint32_t unit; /* offset of the row's compilation unit in the line table */
	uint32_t order;
	bool end; /* true if the row marks the first address after a sequence */
};

struct pasta_cubin_lines {
	uint8_t *bytes; /* of `line` and `names` */
	struct pasta_cubin_bytes line, names[2];
	struct pasta_cubin_fix *fixes;
	size_t fix_count;
	struct row *rows;
	size_t count, room, max;
	struct pasta_map *paths; /* char * paths by unit and file; NULL if the file is unknown */
	bool read;
};

/* The registers of the DWARF line number state machine. */
struct machine {
	struct pasta_cubin_lines *lines;
	const struct unit *unit;
	struct row row;
	size_t first;	  /* the sequence's first row */
	bool has_section; /* its section is known */
};

/* -- Bounds-checked numbers and strings ------------------------------------------------------- */

static uint64_t cursor_number(struct cursor *c, size_t size)
{
	uint64_t v = 0;

	if (!c->p || (size_t)(c->end - c->p) < size) {
		c->p = NULL;
		return 0;
	}
	memcpy(&v, c->p, size); /* both host and file are little-endian */
	c->p += size;
	return v;
}

static uint64_t cursor_uleb(struct cursor *c)
{
	uint64_t v = 0;

	if (c->p)
		c->p = pasta_varint_get(c->p, c->end, &v);
	return v;
}

static int64_t cursor_sleb(struct cursor *c)
{
	const uint8_t *from = c->p;
	uint64_t v = cursor_uleb(c);
	size_t bits = c->p ? (size_t)(c->p - from) * 7 : 64;

	if (bits < 64 && v >> (bits - 1) & 1)
		v |= UINT64_MAX << bits;
	return (int64_t)v;
}

static void cursor_skip(struct cursor *c, uint64_t size)
{
	if (c->p && (uint64_t)(c->end - c->p) >= size)
		c->p += size;
	else
		c->p = NULL;
}

static const char *cursor_text(struct cursor *c)
{
	const uint8_t *from = c->p;
	const uint8_t *nul = from ? memchr(from, 0, (size_t)(c->end - from)) : NULL;

	c->p = nul ? nul + 1 : NULL;
	return nul ? (const char *)from : NULL;
}

static struct cursor cursor_of(struct pasta_cubin_bytes b, uint64_t at)
{
	return (struct cursor){at <= b.size && b.data ? b.data + at : NULL, b.data + b.size};
}

/* -- Units ------------------------------------------------------------------------------------ */

/* Reads the header of the compilation unit at c and advances c. Sets c->p to NULL if the unit is
 * truncated. */
static bool unit_read(struct cursor *c, struct unit *u)
{
	struct cursor in;
	uint64_t length, header, version;

	memset(u, 0, sizeof(*u));
	length = cursor_number(c, 4);
	u->wide = length == UINT32_MAX;
	if (u->wide)
		length = cursor_number(c, 8);
	in = *c;
	cursor_skip(c, length);
	if (!c->p)
		return false;
	in.end = c->p;
	version = cursor_number(&in, 2);
	if (version < 2 || version > 5)
		return false;
	u->version = (uint8_t)version;
	if (u->version == 5)
		cursor_skip(&in, 2); /* skip the sizes of addresses and of segment selectors */
	header = cursor_number(&in, u->wide ? 8 : 4);
	u->program = in;
	cursor_skip(&u->program, header);
	if (!u->program.p)
		return false;
	in.end = u->program.p;
	u->min_length = (uint8_t)cursor_number(&in, 1);
	if (u->version >= 4)
		cursor_skip(&in, 1); /* skip the number of operations per instruction, which is 1 */
	cursor_skip(&in, 1);	     /* default of is_stmt */
	u->line_base = (int8_t)cursor_number(&in, 1);
	u->line_range = (uint8_t)cursor_number(&in, 1);
	u->opcode_base = (uint8_t)cursor_number(&in, 1);
	for (unsigned int i = 1; i < u->opcode_base; i++)
		u->lengths[i] = (uint8_t)cursor_number(&in, 1);
	u->lists = in;
	return in.p && u->line_range && u->opcode_base;
}

/* -- Lines ------------------------------------------------------------------------------------ */

static bool lines_make_room(struct pasta_cubin_lines *l)
{
	size_t room = l->room ? l->room * 2 : 256;
	struct row *rows;

	if (l->count < l->room)
		return true;
	if (l->count >= l->max)
		return false;
	rows = realloc(l->rows, room * sizeof(*rows));
	if (!rows)
		return false;
	l->rows = rows;
	l->room = room;
	return true;
}

static void machine_add_row(struct machine *m, bool end)
{
	struct pasta_cubin_lines *l = m->lines;
	struct row *last = l->count > m->first ? &l->rows[l->count - 1] : NULL;

	if (!m->has_section)
		return;
	m->row.end = end;
	if (last && last->address == m->row.address) {
		/* A sequence that ends at the address of its last line does not cover that line. */
		m->row.order = last->order;
		*last = m->row;
	} else if (lines_make_room(l)) {
		m->row.order = (uint32_t)l->count;
		l->rows[l->count++] = m->row;
	}
}

static void machine_begin_sequence(struct machine *m)
{
	m->first = m->lines->count;
	m->has_section = false;
	m->row.address = 0;
	m->row.file = 1;
	m->row.line = 1;
}

static int fix_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct pasta_cubin_fix *)a)->at;
	uint64_t y = ((const struct pasta_cubin_fix *)b)->at;

	return (x > y) - (x < y);
}

static void machine_set_address(struct machine *m, struct cursor operand)
{
	const struct pasta_cubin_lines *l = m->lines;
	struct pasta_cubin_fix key = {.at = (uint64_t)(operand.p - l->line.data)};
	const struct pasta_cubin_fix *fix = NULL;
	size_t size = (size_t)(operand.end - operand.p);
	uint64_t there = cursor_number(&operand, size == 4 || size == 8 ? size : 0);

	if (l->fix_count)
		fix = bsearch(&key, l->fixes, l->fix_count, sizeof(key), fix_compare);
	/* Rows at an address without a relocation are dropped, because their section is unknown. */
	m->has_section = fix != NULL;
	if (!fix)
		return;
	if (fix->section != m->row.section)
		m->first = l->count;
	m->row.section = fix->section;
	m->row.address = fix->value + (fix->added ? there : 0);
}

static void machine_extended(struct machine *m, struct cursor *c)
{
	struct cursor in;
	uint64_t length = cursor_uleb(c);

	in = *c;
	cursor_skip(c, length);
	if (!c->p || !length)
		return;
	in.end = c->p;
	switch (cursor_number(&in, 1)) {
	case LNE_END_SEQUENCE:
		machine_add_row(m, true);
		machine_begin_sequence(m);
		break;
	case LNE_SET_ADDRESS:
		machine_set_address(m, in);
		break;
	/* ignore other opcodes, such as the opcode by which nvcc identifies the caller of an
	 * inlined function */
	default:
		break;
	}
}

static void machine_special(struct machine *m, unsigned int opcode)
{
	const struct unit *u = m->unit;
	unsigned int adjusted = opcode - u->opcode_base;

	m->row.address += (uint64_t)(adjusted / u->line_range) * u->min_length;
	m->row.line += (uint32_t)(u->line_base + (int)(adjusted % u->line_range));
	machine_add_row(m, false);
}

static void machine_standard(struct machine *m, unsigned int opcode, struct cursor *c)
{
	const struct unit *u = m->unit;

	switch (opcode) {
	case LNS_COPY:
		machine_add_row(m, false);
		break;
	case LNS_ADVANCE_PC:
		m->row.address += cursor_uleb(c) * u->min_length;
		break;
	case LNS_ADVANCE_LINE:
		m->row.line += (uint32_t)cursor_sleb(c);
		break;
	case LNS_SET_FILE:
		m->row.file = (uint32_t)cursor_uleb(c);
		break;
	case LNS_CONST_ADD_PC:
		m->row.address +=
			(uint64_t)((255u - u->opcode_base) / u->line_range) * u->min_length;
		break;
	case LNS_FIXED_ADVANCE_PC:
		m->row.address += cursor_number(c, 2);
		break;
	default:
		for (unsigned int i = 0; i < u->lengths[opcode]; i++)
			cursor_uleb(c);
	}
}

static void machine_run(struct pasta_cubin_lines *l, const struct unit *u, uint32_t unit)
{
	struct machine m = {.lines = l, .unit = u, .row.unit = unit};
	struct cursor c = u->program;

	machine_begin_sequence(&m);
	while (c.p && c.p < c.end) {
		unsigned int opcode = *c.p++;

		if (opcode >= u->opcode_base)
			machine_special(&m, opcode);
		else if (opcode)
			machine_standard(&m, opcode, &c);
		else
			machine_extended(&m, &c);
	}
}

/* Sorts rows by address. The end of a sequence precedes the start of another sequence at the same
 * address, even if the file has them in the opposite order. */
static int row_compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->end != y->end)
		return x->end ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void lines_read(struct pasta_cubin_lines *l)
{
	struct cursor c = cursor_of(l->line, 0);
	struct unit u;

	l->read = true;
	while (c.p && c.p < c.end) {
		uint64_t at = (uint64_t)(c.p - l->line.data);

		if (at > UINT32_MAX)
			break;
		if (unit_read(&c, &u))
			machine_run(l, &u, (uint32_t)at);
	}
	if (l->count)
		qsort(l->rows, l->count, sizeof(*l->rows), row_compare);
}

/* -- Files ------------------------------------------------------------------------------------ */

struct entry {
	const char *name;
	uint64_t folder;
	uint64_t name_at; /* offset of the name in the section name_in */
	/* section that contains the name; NULL if the member `name` is set */
	const struct pasta_cubin_bytes *name_in;
};

/* Reads one field of a directory or file entry. Names in other sections are resolved later, and
 * only for the entry that is needed. */
static void entry_read_field(const struct pasta_cubin_lines *l, const struct unit *u,
			     uint64_t content, struct cursor *form_at, struct cursor *c,
			     struct entry *e)
{
	static const uint8_t sizes[] = {[0x05] = 2, [0x06] = 4, [0x07] = 8, [0x0b] = 1};
	uint64_t form = cursor_uleb(form_at), value = 0;
	const char *name = NULL;

	if (form == 0x08) /* string */
		name = cursor_text(c);
	else if (form == 0x1f || form == 0x0e) /* line_strp, strp */
		value = cursor_number(c, u->wide ? 8 : 4);
	else if (form == 0x0f) /* udata */
		value = cursor_uleb(c);
	else if (form == 0x09) /* block */
		cursor_skip(c, cursor_uleb(c));
	else if (form == 0x1e) /* data16 */
		cursor_skip(c, 16);
	else if (form < sizeof(sizes) && sizes[form])
		value = cursor_number(c, sizes[form]);
	else
		c->p = NULL;
	if (content == LNCT_DIRECTORY)
		e->folder = value;
	if (content != LNCT_PATH)
		return;
	e->name = name;
	e->name_at = value;
	e->name_in = form == 0x1f ? &l->names[0] : form == 0x0e ? &l->names[1] : NULL;
}

/* Returns the entry with this number in a DWARF 5 list of files or directories, and advances c
 * beyond the list. */
static struct entry entry_find_v5(const struct pasta_cubin_lines *l, const struct unit *u,
				  struct cursor *c, uint64_t number)
{
	unsigned int fields = (unsigned int)cursor_number(c, 1);
	struct cursor format = *c, in;
	struct entry found = {0};
	uint64_t count;

	for (unsigned int i = 0; i < 2 * fields; i++)
		cursor_uleb(c);
	count = cursor_uleb(c);
	/* A field has at least one byte, so the number of bytes limits the number of iterations. */
	for (uint64_t i = 0; i < count && fields && c->p && c->p < c->end; i++) {
		struct entry e = {0};

		in = format;
		for (unsigned int k = 0; k < fields && c->p; k++)
			entry_read_field(l, u, cursor_uleb(&in), &in, c, &e);
		if (c->p && i == number)
			found = e;
	}
	if (found.name_in) {
		in = cursor_of(*found.name_in, found.name_at);
		found.name = cursor_text(&in);
	}
	return found;
}

/* In DWARF versions 2 to 4, lists of files start with number 1 and end with an empty name. */
static struct entry entry_find_v2(struct cursor *c, uint64_t number, bool files)
{
	struct entry found = {0};

	for (uint64_t i = 1; c->p; i++) {
		struct entry e = {.name = cursor_text(c)};

		if (!e.name || !*e.name)
			break;
		if (files) {
			e.folder = cursor_uleb(c);
			cursor_uleb(c); /* modification time */
			cursor_uleb(c); /* size */
		}
		if (i == number)
			found = e;
	}
	return found;
}

static char *path_join(const char *above, const char *folder, const char *name)
{
	char path[PATH_LENGTH_MAX];
	int n;

	if (*name == '/')
		above = folder = NULL;
	else if (folder && *folder == '/')
		above = NULL;
	n = snprintf(path, sizeof(path), "%s%s%s%s%s", above ? above : "", above ? "/" : "",
		     folder ? folder : "", folder ? "/" : "", name);
	return n > 0 && (size_t)n < sizeof(path) ? strdup(path) : NULL;
}

static char *path_make(const struct pasta_cubin_lines *l, const struct row *row)
{
	struct cursor c = cursor_of(l->line, row->unit), folders, files;
	struct entry file, folder, above = {0};
	struct unit u;

	if (!unit_read(&c, &u))
		return NULL;
	folders = files = u.lists;
	if (u.version == 5) {
		above = entry_find_v5(l, &u, &files, 0);
		file = entry_find_v5(l, &u, &files, row->file);
		folder = entry_find_v5(l, &u, &folders, file.folder);
		if (!file.folder)
			above.name = NULL; /* directory 0 has no parent directory */
	} else {
		entry_find_v2(&files, 0, false);
		file = entry_find_v2(&files, row->file, true);
		folder = entry_find_v2(&folders, file.folder, false);
	}
	return file.name && *file.name ? path_join(above.name, folder.name, file.name) : NULL;
}

static const char *path_of(struct pasta_cubin_lines *l, const struct row *row)
{
	uint64_t key = (uint64_t)row->unit << 32 | row->file;
	char **path = pasta_map_find(l->paths, key);

	if (path)
		return *path;
	path = pasta_map_add(l->paths, key);
	if (!path)
		return NULL;
	*path = path_make(l, row);
	return *path;
}

/* -- Public functions ------------------------------------------------------------------------- */

static struct pasta_cubin_bytes lines_copy_bytes(uint8_t **to, struct pasta_cubin_bytes from)
{
	struct pasta_cubin_bytes copied = {*to, from.size};

	if (from.size)
		memcpy(*to, from.data, from.size);
	*to += from.size;
	return copied;
}

struct pasta_cubin_lines *pasta_cubin_lines_new(struct pasta_cubin_bytes line,
						const struct pasta_cubin_bytes names[2],
						struct pasta_cubin_fix *fixes, size_t fix_count,
						size_t rows)
{
	struct pasta_cubin_lines *l = calloc(1, sizeof(*l));
	uint8_t *to;

	if (!l) {
		free(fixes);
		return NULL;
	}
	l->fixes = fixes;
	l->fix_count = fix_count;
	l->max = rows;
	l->paths = pasta_map_new(sizeof(char *));
	l->bytes = malloc(line.size + names[0].size + names[1].size + 1);
	if (!l->paths || !l->bytes) {
		pasta_cubin_lines_free(l);
		return NULL;
	}
	to = l->bytes;
	l->line = lines_copy_bytes(&to, line);
	l->names[0] = lines_copy_bytes(&to, names[0]);
	l->names[1] = lines_copy_bytes(&to, names[1]);
	if (fix_count)
		qsort(fixes, fix_count, sizeof(*fixes), fix_compare);
	return l;
}

void pasta_cubin_lines_free(struct pasta_cubin_lines *l)
{
	char **path;
	uint64_t key;

	if (!l)
		return;
	for (size_t at = 0; l->paths && (path = pasta_map_next(l->paths, &at, &key));)
		free(*path);
	pasta_map_free(l->paths);
	free(l->rows);
	free(l->fixes);
	free(l->bytes);
	free(l);
}

bool pasta_cubin_lines_find(struct pasta_cubin_lines *l, uint32_t section, uint64_t offset,
			    struct pasta_cubin_line *line)
{
	size_t low = 0, high;
	const struct row *row;

	if (!l->read)
		lines_read(l);
	/* Finds the first row whose address is greater than the offset. */
	for (high = l->count; low < high;) {
		size_t middle = low + (high - low) / 2;

		row = &l->rows[middle];
		if (row->section < section || (row->section == section && row->address <= offset))
			low = middle + 1;
		else
			high = middle;
	}
	row = low ? &l->rows[low - 1] : NULL;
	if (!row || row->section != section || row->end || !row->line)
		return false;
	*line = (struct pasta_cubin_line){path_of(l, row), row->line};
	return line->file != NULL;
}
