/* peaks.h - the peaks of devices: measured ones from a file, or those of datasheets. */
#ifndef PASTA_PROCESS_DIAGNOSIS_PEAKS_H
#define PASTA_PROCESS_DIAGNOSIS_PEAKS_H

#include <stdbool.h>
#include <stdio.h>

#include <pasta/diagnosis.h>

/* Finds the peaks of a product in the table of datasheets. Returns false, and zeros, if the table
 * lacks the product, or if the name is that of a part of a device (MIG). */
bool pasta_peaks_datasheet(const char *product, struct pasta_peaks *peaks);
/* Reads the peaks of a product from a file. A section "[NVIDIA H200]" has lines such as
 * "memory = 4.1e12". Ignores lines that have another form. Returns whether the product has a
 * section. */
bool pasta_peaks_read(FILE *file, const char *product, struct pasta_peaks *peaks);
/* Writes the section of a product. Returns 0 or a negative errno. */
int pasta_peaks_write(FILE *file, const char *product, const struct pasta_peaks *peaks);
/* Copies all sections but that of a product from one file to another. Returns 0 or a negative
 * errno. */
int pasta_peaks_copy(FILE *from, FILE *to, const char *product);
/* Writes the path of the file with measured peaks to `path`: accelprof/peaks.conf in
 * XDG_CONFIG_HOME or ~/.config. Returns 0, -ENOENT if there is no home, or -ENAMETOOLONG. */
int pasta_peaks_path(char *path, size_t size);
/* Opens this file for reading. Returns NULL if it does not exist or cannot be read. */
FILE *pasta_peaks_open(void);

#endif
