/* findings.h - writes findings as text. A finding that several tools report is written once, and
 * findings that differ only in numbers or places are counted. */
#ifndef PASTA_SINK_FINDINGS_H
#define PASTA_SINK_FINDINGS_H

#include <stdio.h>

#include "process/sdk/result.h"
#include "sink/shortnames.h"
#include "sink/sink.h"

/* The findings of a report, and which of them have been written. */
struct pasta_findings;

/* Collect the findings of all tools. The result must exist until the findings are freed. Returns
 * NULL when out of memory. */
struct pasta_findings *pasta_findings_new(const struct pasta_result *result,
					  const struct pasta_sink_opts *opts);
void pasta_findings_free(struct pasta_findings *s);
/* Write the findings of one tool, except those that another tool has reported before. Returns 0 or
 * -ENOMEM. */
int pasta_findings_put(FILE *f, const struct pasta_findings *s, const struct pasta_out *out,
		       const struct pasta_shortnames *names, const struct pasta_sink_opts *opts);

#endif
