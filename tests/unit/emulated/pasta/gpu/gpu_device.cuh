/* gpu_device.cuh - in place of the SDK's: a device that is none. */
#include "unit/emulated/warp.h"
