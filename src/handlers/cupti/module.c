/* module.c - records the modules (device code) that the program loads and unloads. */
#include <errno.h>
#include <stdio.h>

#include "handlers/cupti/cupti.h"

/* Returns the CRC by which CUPTI's PC samples identify a module. CUPTI computes the CRC from parts
 * of the cubin, so different cubins may have the same CRC. */
static uint64_t module_crc(const struct cupti_module *m)
{
	struct cupti_crc crc = {
		.size = sizeof(crc), .cubin_size = m->bytes, .cubin = m->cubin, .crc = 0};

	return cupti.GetCubinCrc && cupti.GetCubinCrc(&crc) == CUPTI_OK ? crc.crc : 0;
}

static void module_set_context(struct pasta_event *ev, void *context)
{
	uint32_t id = 0;

	if (!context)
		return;
	if (cupti.GetContextId && cupti.GetContextId(context, &id) == CUPTI_OK)
		ev->module.context = id;
	if (cupti.GetDeviceId && cupti.GetDeviceId(context, &id) == CUPTI_OK)
		ev->module.device = id;
}

/* The cubin is read only when a module is loaded. When a module is unloaded, the module's cubin may
 * already be freed. */
void cupti_module(const struct cupti_resource_data *data, bool loaded)
{
	const struct cupti_module *m = data ? data->descriptor : NULL;
	int saved = errno;
	struct pasta_event ev;

	if (!m)
		return;
	pasta_event_init(&ev, PASTA_KIND_MODULE, loaded ? PASTA_MODULE_LOAD : PASTA_MODULE_UNLOAD,
			 PASTA_EVENT_SIZE(module));
	ev.module.id = m->id;
	ev.module.bytes = m->bytes;
	ev.module.name = pasta_intern_str("cubin");
	module_set_context(&ev, data->context);
	if (loaded && m->cubin && m->bytes) {
		ev.module.crc = module_crc(m);
		ev.module.path = pasta_agent_save_code(m->cubin, m->bytes, "cubin");
	}
	ev.time = pasta_now();
	if (loaded && cupti_loading_since()) {
		/* The next module that the same call loads begins when this one is loaded. */
		ev.module.dur = ev.time - cupti_loading_since();
		cupti_loading_set(ev.time);
		ev.time -= ev.module.dur;
	}
	pasta_emit(&ev);
	errno = saved;
}

void cupti_modules_start(cupti_subscriber subscriber)
{
	char why[160];
	int r;

	if (!pasta_agent_records(PASTA_KIND_MODULE))
		return;
	r = cupti.EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_MODULE_LOADED);
	if (r == CUPTI_OK)
		r = cupti.EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_MODULE_UNLOADING);
	if (r == CUPTI_OK)
		return;
	snprintf(why, sizeof(why),
		 "modules are not recorded (%s), but everything else is; run 'accelprof doctor' to "
		 "see which CUPTI is used",
		 cupti_text(r));
	pasta_agent_log("cupti", why);
}
