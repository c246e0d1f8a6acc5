/* collect.h - includes the headers of all containers that a tool can use in its state. */
#ifndef PASTA_COLLECT_H
#define PASTA_COLLECT_H

#include <pasta/cover.h>
#include <pasta/hist.h>
#include <pasta/map.h>
#include <pasta/pending.h>
#include <pasta/ranges.h>
#include <pasta/robust.h>
#include <pasta/rounds.h>

#endif
