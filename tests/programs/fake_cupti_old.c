/* fake_cupti_old - a CUPTI that lacks functions which came later. */
#define FAKE_CUPTI_OLD
#include "fake_cupti.c"
