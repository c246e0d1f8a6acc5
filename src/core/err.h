/* err.h - sets errors. A function that fails describes the error in a pasta_error, and the caller
 * decides how to handle the error. <pasta/base.h> declares pasta_fail. */
#ifndef PASTA_CORE_ERR_H
#define PASTA_CORE_ERR_H

#include <errno.h>

#include <pasta/base.h>

#endif
