/* pasta.h - the former name of tool.h, supported for one minor version. */
#ifndef PASTA_PASTA_H
#define PASTA_PASTA_H

#include <pasta/tool.h>

#endif
