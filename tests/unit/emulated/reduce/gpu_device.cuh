/* gpu_device.cuh - in place of the one in src/reduce: a device that is none. */
#include "unit/emulated/warp.h"
