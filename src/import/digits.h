/* digits.h - converts decimal text to integers exactly: a double would drop nanoseconds. Any thread
 * may call these functions. */
#ifndef PASTA_IMPORT_DIGITS_H
#define PASTA_IMPORT_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Multiplies a JSON number by 10^shift and rounds it to the nearest integer, halves up. For
 * example, "1.5" with `shift` 3 becomes 1500. `shift` is at most 18. Returns 0; -EDOM if the number
 * is negative, with its magnitude in *value; or -ERANGE if the result does not fit.
 */
int pasta_digits(const char *text, size_t size, unsigned int shift, uint64_t *value);

#endif
