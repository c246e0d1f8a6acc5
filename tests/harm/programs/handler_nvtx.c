/* handler_nvtx - cancellation, signals, fork and descriptors in a program that uses NVTX. */
#include "handler.h"

#include "../../programs/nvtx_caller.h"

static void prepare(void)
{
	nvtxMarkA("ready");
}

/* What NVTX returns depends on the injected library, and is not checked. */
static void unit(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("domain");
	nvtxEventAttributes_t a = {.version = NVTX_VERSION,
				   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				   .messageType = NVTX_MESSAGE_TYPE_ASCII,
				   .message.ascii = "in a domain"};
	nvtxRangeId_t range;

	nvtxRangePushA("range");
	nvtxMarkA("mark");
	range = nvtxRangeStartA("of the process");
	nvtxDomainRangePushEx(domain, &a);
	nvtxDomainRangePop(domain);
	nvtxRangeEnd(range);
	nvtxRangePop();
}

static const char *settle(void)
{
	return NULL;
}
