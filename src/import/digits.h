/* digits.h - numbers from their digits, exactly: a double would lose the nanoseconds. Any thread.
 */
#ifndef PASTA_IMPORT_DIGITS_H
#define PASTA_IMPORT_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The number times 10^shift (at most 18), as a whole number: "1.5" with shift 3 is 1500. What lies
 * past its last digit is rounded to the nearest, a half up. text is a number as JSON has it.
 * 0, -EDOM: it is less than 0, and *value is how much; -ERANGE: it does not fit.
 */
int pasta_digits(const char *text, size_t size, unsigned int shift, uint64_t *value);

#endif
