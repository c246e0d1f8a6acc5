/* uvm.c - enables CUPTI's records of unified memory: migrations and faults. */
#include <stdio.h>

#include "handlers/cupti/cupti.h"

/* CUPTI numbers its unified memory counters from 1. Every version of CUPTI has at least the first
 * four. */
enum { TYPES = 8, TYPES_ALWAYS = 4, SINGLE_DEVICE = 1, INVALID_PARAMETER = 1 };

static atomic_bool uvm_done, uvm_on;

/* CUPTI ignores the scope and the device in the configuration, and counts on all devices. */
static int uvm_configure(uint32_t types)
{
	struct cupti_uvm_config config[TYPES];

	for (uint32_t i = 0; i < types; i++)
		config[i] = (struct cupti_uvm_config){SINGLE_DEVICE, i + 1, 0, 1};
	return cupti.ActivityConfigureUnifiedMemoryCounter(config, types);
}

static int uvm_enable(void)
{
	int r = uvm_configure(TYPES);

	if (r == INVALID_PARAMETER)
		r = uvm_configure(TYPES_ALWAYS);
	return r == CUPTI_OK ? cupti.ActivityEnable(CUPTI_UVM) : r;
}

static void uvm_report(int result)
{
	char why[300];

	if (result == CUPTI_INSUFFICIENT_PRIVILEGES) {
		cupti_trouble("unified memory is not recorded", result);
		return;
	}
	snprintf(why, sizeof(why),
		 "unified memory is not recorded (%s): this device or system does not support it, "
		 "or the program runs under MPS; everything else is recorded",
		 cupti_text(result));
	pasta_agent_log("cupti", why);
}

/* CUPTI accepts the configuration only after the driver is initialized, and expects it before the
 * first context exists. If the attempt at the driver's initialization fails, a second attempt
 * follows when the first context is created. */
void cupti_uvm_start(bool last)
{
	int r;

	if (!pasta_agent_records(PASTA_KIND_UVM) || atomic_exchange(&uvm_done, true))
		return;
	if (!cupti.ActivityConfigureUnifiedMemoryCounter) {
		pasta_agent_log("cupti",
				"unified memory is not recorded: CUPTI lacks "
				"cuptiActivityConfigureUnifiedMemoryCounter; install CUPTI "
				"of CUDA 12 or 13, or set PASTA_CUPTI to its path");
		return;
	}
	r = uvm_enable();
	atomic_store(&uvm_on, r == CUPTI_OK);
	if (r != CUPTI_OK && last)
		uvm_report(r);
	else if (r != CUPTI_OK)
		atomic_store(&uvm_done, false);
}

void cupti_uvm_stop(void)
{
	atomic_store(&uvm_done, true);
	if (atomic_exchange(&uvm_on, false))
		cupti.ActivityDisable(CUPTI_UVM);
}
