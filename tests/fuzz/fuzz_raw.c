/*
 * fuzz_raw.c - any bytes as raw accesses: as they are, and as a block whose sums are right.
 *
 * The first byte sets the number of accesses in the block's head; what is read must be written as
 * bytes that read the same.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/rawblock.h"
#include "process/read/rawfile.h"

enum { MOST = 4096 };

static void again(const struct pasta_access *accesses, size_t count)
{
	size_t room = PASTA_BATCH_HEAD + count * PASTA_BATCH_ACCESS_MAX, size;
	struct pasta_access *back = calloc(count + 1, sizeof(*back));
	uint8_t *bytes = malloc(room);

	if (!back || !bytes || pasta_raw_encode(accesses, count, bytes, room, &size) != count ||
	    pasta_raw_decode(bytes, size, back, count) != (ssize_t)count ||
	    (count && memcmp(accesses, back, count * sizeof(*back)) != 0))
		abort();
	free(bytes);
	free(back);
}

static void as_bytes(const uint8_t *data, size_t size)
{
	static struct pasta_access accesses[MOST];
	ssize_t n = pasta_raw_decode(data, size, accesses, MOST);

	if (n >= 0)
		again(accesses, (size_t)n);
}

static void as_block(uint32_t count, size_t raw_size, const void *bytes, size_t size)
{
	struct pasta_raw_block head = {
		.count = count, .raw_size = (uint32_t)raw_size, .size = (uint32_t)size};
	struct pasta_access *accesses;
	int error;

	pasta_raw_block_seal(&head, bytes);
	if (!pasta_raw_block_ok(&head) || !pasta_raw_bytes_ok(&head, bytes))
		return;
	accesses = pasta_rawfile_decode(&head, bytes, &error);
	if (accesses)
		again(accesses, count);
	else if (!error)
		abort();
	free(accesses);
}

/* The head too, if the data have one. */
static void as_file(const uint8_t *data, size_t size)
{
	struct pasta_raw_block head;
	struct pasta_access *accesses;
	int error;

	if (size < sizeof(head))
		return;
	memcpy(&head, data, sizeof(head));
	if (!pasta_raw_block_ok(&head) || head.size > size - sizeof(head))
		return;
	accesses = pasta_rawfile_decode(&head, data + sizeof(head), &error);
	free(accesses);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *packed;
	size_t n;

	as_bytes(data, size);
	as_file(data, size);
	if (size < 2)
		return 0;
	as_block(data[0], data[1] * 4u, data + 2, size - 2);
	packed = malloc(ZSTD_compressBound(size));
	n = packed ? ZSTD_compress(packed, ZSTD_compressBound(size), data + 1, size - 1, 1) : 0;
	if (packed && !ZSTD_isError(n))
		as_block(data[0], size - 1, packed, n);
	free(packed);
	return 0;
}
