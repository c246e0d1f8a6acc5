/* peaks.c - finds the peaks of a device by the name of the product. */
#include "process/diagnosis/peaks.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pasta/directory.h>

#include "core/lock.h"
#include "process/io/files.h"

#define G 1e9
#define T 1e12

/* Dense rates, in FLOP/s. docs/work.md lists the datasheets. The product is a sequence of
 * words in the device's name; the first entry that matches applies. */
static const struct {
	const char *product;
	double memory, fp32, tf32, half, fp64, link;
} peaks_table[] = {
	{"H200", 4800 * G, 67 * T, 494.7 * T, 989.4 * T, 67 * T, 63 * G},
	{"H100 NVL", 3900 * G, 60 * T, 417.5 * T, 835.5 * T, 60 * T, 63 * G},
	{"H100 PCIe", 2000 * G, 51 * T, 378 * T, 756 * T, 51 * T, 63 * G},
	{"H100", 3350 * G, 67 * T, 494.7 * T, 989.4 * T, 67 * T, 63 * G},
	{"A100 SXM4 80GB", 2039 * G, 19.5 * T, 156 * T, 312 * T, 19.5 * T, 31.5 * G},
	{"A100 80GB PCIe", 1935 * G, 19.5 * T, 156 * T, 312 * T, 19.5 * T, 31.5 * G},
	{"A100", 1555 * G, 19.5 * T, 156 * T, 312 * T, 19.5 * T, 31.5 * G},
	{"A40", 696 * G, 37.4 * T, 74.8 * T, 149.7 * T, 0.585 * T, 31.5 * G},
	{"A30", 933 * G, 10.3 * T, 82 * T, 165 * T, 10.3 * T, 31.5 * G},
	{"A10", 600 * G, 31.2 * T, 62.5 * T, 125 * T, 0.976 * T, 31.5 * G},
	{"L40S", 864 * G, 91.6 * T, 183 * T, 362 * T, 1.43 * T, 31.5 * G},
	{"L40", 864 * G, 90.5 * T, 90.5 * T, 181 * T, 1.41 * T, 31.5 * G},
	{"L4", 300 * G, 30.3 * T, 60 * T, 121 * T, 0.473 * T, 31.5 * G},
	{"V100 SXM2", 900 * G, 15.7 * T, 0, 125 * T, 7.8 * T, 15.75 * G},
	{"V100", 900 * G, 14 * T, 0, 112 * T, 7 * T, 15.75 * G},
	{"T4", 320 * G, 8.1 * T, 0, 65 * T, 0.253 * T, 15.75 * G},
	{"RTX 4090", 1008 * G, 82.6 * T, 82.6 * T, 165.2 * T, 1.29 * T, 31.5 * G},
	{"RTX 3090", 936 * G, 35.6 * T, 35.6 * T, 71 * T, 0.556 * T, 31.5 * G},
	{"MI210", 1638 * G, 45.3 * T, 0, 181 * T, 45.3 * T, 31.5 * G},
	/* one of the two dies of a card, which are devices of their own */
	{"MI250X", 1638 * G, 47.9 * T, 0, 191.5 * T, 47.9 * T, 31.5 * G},
	{"MI250", 1638 * G, 45.3 * T, 0, 181 * T, 45.3 * T, 31.5 * G},
	{"MI300X", 5300 * G, 163.4 * T, 653.7 * T, 1307.4 * T, 163.4 * T, 63 * G},
	{"MI325X", 6000 * G, 163.4 * T, 653.7 * T, 1307.4 * T, 163.4 * T, 63 * G},
	{"MI350X", 8000 * G, 144.2 * T, 0, 2306.9 * T, 72.1 * T, 63 * G},
	{"MI350", 8000 * G, 144.2 * T, 0, 2306.9 * T, 72.1 * T, 63 * G},
	{"MI355X", 8000 * G, 157.3 * T, 0, 2516.6 * T, 78.6 * T, 63 * G},
};

static bool peaks_is_word(char c)
{
	return isalnum((unsigned char)c);
}

/* Returns whether the words occur in the text one after another. Any characters that are neither
 * letters nor digits separate words. */
static bool peaks_has(const char *text, const char *words)
{
	for (const char *start = text; *start; start++) {
		const char *p = start, *w = words;

		if (start > text && peaks_is_word(start[-1]))
			continue;
		for (; *w && *p; p++, w++)
			if (*w == ' ' ? peaks_is_word(*p)
				      : tolower((unsigned char)*p) != tolower((unsigned char)*w))
				break;
		if (!*w && !peaks_is_word(*p))
			return true;
	}
	return false;
}

bool pasta_peaks_datasheet(const char *product, struct pasta_peaks *peaks)
{
	*peaks = (struct pasta_peaks){.size = sizeof(*peaks)};
	if (peaks_has(product, "MIG"))
		return false;
	for (size_t i = 0; i < sizeof(peaks_table) / sizeof(*peaks_table); i++) {
		if (!peaks_has(product, peaks_table[i].product))
			continue;
		peaks->memory = peaks_table[i].memory;
		peaks->fp32 = peaks_table[i].fp32;
		peaks->tf32 = peaks_table[i].tf32;
		peaks->half = peaks_table[i].half;
		peaks->fp64 = peaks_table[i].fp64;
		peaks->h2d = peaks->d2h = peaks_table[i].link;
		return true;
	}
	return false;
}

/* -- File -- */

static const struct {
	const char *name;
	size_t offset;
} peaks_members[] = {
	{"memory", offsetof(struct pasta_peaks, memory)},
	{"fp32", offsetof(struct pasta_peaks, fp32)},
	{"tf32", offsetof(struct pasta_peaks, tf32)},
	{"half", offsetof(struct pasta_peaks, half)},
	{"fp64", offsetof(struct pasta_peaks, fp64)},
	{"h2d", offsetof(struct pasta_peaks, h2d)},
	{"d2h", offsetof(struct pasta_peaks, d2h)},
};
enum { PEAKS_MEMBERS = sizeof(peaks_members) / sizeof(*peaks_members), LINE_SIZE = 512 };

/* Returns whether the line begins a section; if so, *own is whether it is that of the product. */
static bool peaks_section(const char *line, const char *product, bool *own)
{
	size_t size = strcspn(line, "\r\n");

	if (line[0] != '[' || size < 2 || line[size - 1] != ']')
		return false;
	*own = strlen(product) == size - 2 && !memcmp(line + 1, product, size - 2);
	return true;
}

static void peaks_set(struct pasta_peaks *peaks, const char *line)
{
	char name[16];
	double value;

	if (sscanf(line, " %15[a-z0-9] = %lf", name, &value) != 2 || !(value > 0) || value > 1e24)
		return;
	for (size_t i = 0; i < PEAKS_MEMBERS; i++)
		if (!strcmp(name, peaks_members[i].name))
			memcpy((char *)peaks + peaks_members[i].offset, &value, sizeof(value));
}

bool pasta_peaks_read(FILE *file, const char *product, struct pasta_peaks *peaks)
{
	bool own = false, found = false;
	char line[LINE_SIZE];

	*peaks = (struct pasta_peaks){.size = sizeof(*peaks), .measured = 1};
	while (fgets(line, sizeof(line), file)) {
		if (peaks_section(line, product, &own))
			found = found || own;
		else if (own)
			peaks_set(peaks, line);
	}
	return found;
}

int pasta_peaks_write(FILE *file, const char *product, const struct pasta_peaks *peaks)
{
	fprintf(file, "[%s]\n", product);
	for (size_t i = 0; i < PEAKS_MEMBERS; i++) {
		double value;

		memcpy(&value, (const char *)peaks + peaks_members[i].offset, sizeof(value));
		if (value > 0)
			fprintf(file, "%s = %.4g\n", peaks_members[i].name, value);
	}
	return ferror(file) ? -EIO : 0;
}

int pasta_peaks_copy(FILE *from, FILE *to, const char *product)
{
	bool own = false;
	char line[LINE_SIZE];

	while (fgets(line, sizeof(line), from)) {
		peaks_section(line, product, &own);
		if (!own)
			fputs(line, to);
	}
	return ferror(from) || ferror(to) ? -EIO : 0;
}

int pasta_peaks_path(char *path, size_t size)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int length;

	if (config && config[0] == '/')
		length = snprintf(path, size, "%s/accelprof/peaks.conf", config);
	else if (home && home[0] == '/')
		length = snprintf(path, size, "%s/.config/accelprof/peaks.conf", home);
	else
		return -ENOENT;
	return length >= 0 && (size_t)length < size ? 0 : -ENAMETOOLONG;
}

FILE *pasta_peaks_open(void)
{
	char path[4096];
	uint64_t size;
	int fd = pasta_peaks_path(path, sizeof(path)) ? -1 : pasta_files_open_named(path, &size);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

/* -- Devices -- */

/* The peaks that were found, by name of the product. Entries are never removed, so that pointers
 * remain valid. */
static struct known_peaks {
	struct known_peaks *next;
	struct pasta_peaks peaks;
	char product[];
} * peaks_known;
static pthread_mutex_t peaks_lock = PTHREAD_MUTEX_INITIALIZER;

/* Finds the measured peaks of a product. A rate that was not measured is that of the datasheet. */
static void peaks_find(const char *product, struct pasta_peaks *peaks)
{
	FILE *file = pasta_peaks_open();
	struct pasta_peaks own;
	bool measured = file && pasta_peaks_read(file, product, &own);

	if (file)
		fclose(file);
	pasta_peaks_datasheet(product, peaks);
	if (!measured)
		return;
	peaks->measured = 1;
	for (size_t i = 0; i < PEAKS_MEMBERS; i++) {
		double value;

		memcpy(&value, (const char *)&own + peaks_members[i].offset, sizeof(value));
		if (value > 0)
			memcpy((char *)peaks + peaks_members[i].offset, &value, sizeof(value));
	}
}

const struct pasta_peaks *pasta_device_peaks(uint32_t proc, uint32_t device)
{
	static const struct pasta_peaks none = {.size = sizeof(none)};
	const char *product = pasta_device(proc, device)->name;
	struct known_peaks *k;

	if (!product[0])
		return &none;
	pasta_lock(&peaks_lock);
	for (k = peaks_known; k && strcmp(k->product, product) != 0;)
		k = k->next;
	if (!k) {
		size_t size = strlen(product) + 1;

		k = malloc(sizeof(*k) + size);
		if (k) {
			memcpy(k->product, product, size);
			peaks_find(product, &k->peaks);
			k->next = peaks_known;
			peaks_known = k;
		}
	}
	pasta_unlock(&peaks_lock);
	return k ? &k->peaks : &none;
}
