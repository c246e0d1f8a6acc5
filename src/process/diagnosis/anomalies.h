/* anomalies.h - steps that take longer than the other steps of their process. */
#ifndef PASTA_PROCESS_ANOMALIES_H
#define PASTA_PROCESS_ANOMALIES_H

#include <pasta/tool.h>

struct pasta_anomalies;

/* Finds the anomalous steps of a finished diagnosis. Returns NULL when out of memory. */
struct pasta_anomalies *pasta_anomalies_new(struct pasta_diagnosis *d);
void pasta_anomalies_free(struct pasta_anomalies *a);
const struct pasta_anomaly *pasta_anomalies_next(const struct pasta_anomalies *a, size_t *at);

#endif
