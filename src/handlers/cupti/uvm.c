/* uvm.c - unified memory: CUPTI's counters of migrations and faults, turned on. */
#include <stdio.h>

#include "handlers/cupti/cupti.h"

/* As CUPTI numbers them. The first ones every version has. */
enum { SORTS = 8, SORTS_OLD = 4, SINGLE_DEVICE = 1, INVALID_PARAMETER = 1 };

static atomic_bool done, on;

/* Scope and device mean nothing to CUPTI any more: it counts all. */
static int configure(uint32_t sorts)
{
	struct cupti_uvm_config config[SORTS];

	for (uint32_t i = 0; i < sorts; i++)
		config[i] = (struct cupti_uvm_config){SINGLE_DEVICE, i + 1, 0, 1};
	return cupti.ActivityConfigureUnifiedMemoryCounter(config, sorts);
}

static int start(void)
{
	int r = configure(SORTS);

	if (r == INVALID_PARAMETER)
		r = configure(SORTS_OLD);
	return r == CUPTI_OK ? cupti.ActivityEnable(CUPTI_UVM) : r;
}

static void trouble(int result)
{
	char why[300];

	if (result == CUPTI_INSUFFICIENT_PRIVILEGES) {
		cupti_trouble("unified memory cannot be seen", result);
		return;
	}
	snprintf(why, sizeof(why),
		 "unified memory cannot be seen (%s): not every device and system can, nor under "
		 "MPS; all else is recorded",
		 cupti_text(result));
	pasta_agent_log("cupti", why);
}

/* CUPTI wants the driver to be ready, and to be asked before there are contexts; where it was too
 * early, the first context is the next chance. */
void cupti_uvm_start(bool last)
{
	int r;

	if (!pasta_agent_records(PASTA_KIND_UVM) || atomic_exchange(&done, true))
		return;
	if (!cupti.ActivityConfigureUnifiedMemoryCounter) {
		pasta_agent_log("cupti", "unified memory cannot be seen: CUPTI has no "
					 "cuptiActivityConfigureUnifiedMemoryCounter; install that "
					 "of CUDA 12 or 13, or set PASTA_CUPTI to its path");
		return;
	}
	r = start();
	atomic_store(&on, r == CUPTI_OK);
	if (r != CUPTI_OK && last)
		trouble(r);
	else if (r != CUPTI_OK)
		atomic_store(&done, false);
}

void cupti_uvm_stop(void)
{
	atomic_store(&done, true);
	if (atomic_exchange(&on, false))
		cupti.ActivityDisable(CUPTI_UVM);
}
