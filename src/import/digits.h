/* digits.h - converts decimal text to integers exactly: a double would drop nanoseconds. Any thread
 * may call these functions. */
#ifndef PASTA_IMPORT_DIGITS_H
#define PASTA_IMPORT_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Converts a JSON number times 10^shift (at most 18) to an integer: "1.5" with `shift` 3 is 1500.
 * Rounds to the nearest integer, halves up. Returns 0; -EDOM for a negative number, and stores its
 * magnitude in *value; -ERANGE if the number does not fit.
 */
int pasta_digits(const char *text, size_t size, unsigned int shift, uint64_t *value);

#endif
