/* detour.c - replaces the start of a library function with a jump to another function. */
#include "handlers/cuda/detour.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
/* the instruction jmp *0(%rip), followed by the jump's target address */
static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};
#elif defined(__aarch64__)
/* the instructions ldr x17, 8 and br x17, followed by the jump's target address */
static const uint8_t jump[] = {0x51, 0, 0, 0x58, 0x20, 0x02, 0x1f, 0xd6};
#else
static const uint8_t jump[DETOUR_SIZE];
#endif

/* Returns whether the function is at least as long as the jump, which must not overwrite the next
 * function. */
static bool detour_fits(void *function)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	return sizeof(jump) < DETOUR_SIZE &&
	       dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
	       info.dli_saddr == function && symbol->st_size >= DETOUR_SIZE;
}

/* Writes code over the start of a function. Meanwhile the function's page stays executable, because
 * other threads may run code in the page. */
static bool detour_write(uint8_t *at, const uint8_t *code)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)at & ~(page - 1);
	size_t size = (uintptr_t)at + DETOUR_SIZE - from;

	if (mprotect((void *)from, size, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	memcpy(at, code, DETOUR_SIZE);
	__builtin___clear_cache((char *)at, (char *)at + DETOUR_SIZE);
	mprotect((void *)from, size, PROT_READ | PROT_EXEC);
	return true;
}

bool detour_set(struct detour *d, void *function, void *to)
{
	uint8_t code[DETOUR_SIZE];

	d->at = NULL;
	if (!function || !detour_fits(function))
		return false;
	memcpy(d->before, function, DETOUR_SIZE);
	memcpy(code, d->before, DETOUR_SIZE);
	memcpy(code, jump, sizeof(jump));
	memcpy(code + sizeof(jump), &to, sizeof(to));
	if (!detour_write(function, code))
		return false;
	d->at = function;
	return true;
}

void detour_undo(struct detour *d)
{
	if (d->at && detour_write(d->at, d->before))
		d->at = NULL;
}
