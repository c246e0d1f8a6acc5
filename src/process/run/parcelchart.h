/* parcelchart.h - serializes charts. */
#ifndef PASTA_PROCESS_PARCELCHART_H
#define PASTA_PROCESS_PARCELCHART_H

#include "process/sdk/result.h"
#include "process/io/wire.h"

void pasta_parcel_put_chart(struct pasta_wire *w, const struct pasta_chart *c);
/* Reads a chart and adds it to `out`. Returns 0, -EBADMSG, -ENOMEM, or the error of `out`. After an
 * error, parts of the chart may be missing. */
int pasta_parcel_get_chart(struct pasta_wire_in *in, struct pasta_out *out);

#endif
