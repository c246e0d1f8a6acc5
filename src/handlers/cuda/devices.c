/* devices.c - emits a device record for each device of a CUDA program. */
#include "handlers/cuda/devices.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>

#include "collect/agent.h"

/* Values of the enum CUdevice_attribute of cuda.h. */
enum { CU_MULTIPROCESSORS = 16, CU_CLOCK_KHZ = 13, CU_MAJOR = 75, CU_MINOR = 76 };

struct devices_driver {
	int (*cuDeviceGetCount)(int *);
	int (*cuDeviceGet)(int *, int);
	int (*cuDeviceGetName)(char *, int, int);
	int (*cuDeviceGetAttribute)(int *, int, int);
	int (*cuDeviceTotalMem_v2)(size_t *, int);
	int (*cuDriverGetVersion)(int *);
};

static int devices_bind(struct devices_driver *d)
{
	void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (!lib)
		return -1;
#define F(name) (*(void **)&d->name = dlsym(lib, #name))
	return F(cuDeviceGetCount) && F(cuDeviceGet) && F(cuDeviceGetName) &&
			       F(cuDeviceGetAttribute) && F(cuDeviceTotalMem_v2) &&
			       F(cuDriverGetVersion)
		       ? 0
		       : -1;
#undef F
}

static void devices_emit_one(const struct devices_driver *d, int number)
{
	int device, units = 0, khz = 0, major = 0, minor = 0, version = 0;
	char name[256] = "", text[32];
	size_t memory = 0;
	struct pasta_event ev;

	if (d->cuDeviceGet(&device, number))
		return;
	d->cuDeviceGetName(name, sizeof(name) - 1, device);
	d->cuDeviceTotalMem_v2(&memory, device);
	d->cuDeviceGetAttribute(&units, CU_MULTIPROCESSORS, device);
	d->cuDeviceGetAttribute(&khz, CU_CLOCK_KHZ, device);
	d->cuDeviceGetAttribute(&major, CU_MAJOR, device);
	d->cuDeviceGetAttribute(&minor, CU_MINOR, device);
	d->cuDriverGetVersion(&version);
	pasta_event_init(&ev, PASTA_KIND_DEVICE, 0, PASTA_EVENT_SIZE(device));
	ev.device.id = (uint32_t)number;
	ev.device.name = pasta_intern_str(name);
	ev.device.vendor = pasta_intern_str("NVIDIA");
	ev.device.memory = memory;
	ev.device.units = (uint32_t)units;
	ev.device.clock_mhz = (uint32_t)khz / 1000;
	snprintf(text, sizeof(text), "%d.%d", major, minor);
	ev.device.arch = pasta_intern_str(text);
	snprintf(text, sizeof(text), "%d", version);
	ev.device.driver = pasta_intern_str(text);
	ev.time = pasta_now();
	pasta_emit(&ev);
}

void cuda_devices_emit(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;
	struct devices_driver d;
	int count = 0;

	if (!pasta_agent_records(PASTA_KIND_DEVICE) || atomic_flag_test_and_set(&done) ||
	    devices_bind(&d) || d.cuDeviceGetCount(&count))
		return;
	for (int i = 0; i < count; i++)
		devices_emit_one(&d, i);
}
