/* err.h - sets errors. The function that fails describes the error; its caller decides what to do.
 * pasta.h declares pasta_fail. */
#ifndef PASTA_CORE_ERR_H
#define PASTA_CORE_ERR_H

#include <errno.h>

#include <pasta/base.h>

#endif
