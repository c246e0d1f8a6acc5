/* chartjson.h - writes a chart as a JSON object. */
#ifndef PASTA_SINK_CHARTJSON_H
#define PASTA_SINK_CHARTJSON_H

#include "process/io/json.h"
#include "process/sdk/result.h"

/* Write a chart. docs/report.md describes the format. If an error occurs, it is stored in j. */
void pasta_json_chart(struct pasta_json *j, const struct pasta_chart *chart);

#endif
