/* err.h - errors: the callee describes, the caller decides. pasta.h declares pasta_fail. */
#ifndef PASTA_CORE_ERR_H
#define PASTA_CORE_ERR_H

#include <errno.h>

#include <pasta/base.h>

#endif
