/* err.h - errors that their caller decides about. */
#ifndef PASTA_CORE_ERR_H
#define PASTA_CORE_ERR_H

#include <errno.h>

#include <pasta/pasta.h>

#endif
