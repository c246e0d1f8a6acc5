/* shardfile.c - appends frames to the file of a shard. */
#include "core/shardfile.h"

#include <errno.h>
#include <unistd.h>

int pasta_shardfile_append(struct pasta_shardfile *f, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pwrite(f->fd, (const char *)bytes + done, size - done,
				   (off_t)(f->end + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	f->end += size;
	return 0;
}

int pasta_shardfile_begin(struct pasta_shardfile *f, struct pasta_shard_head *head,
			  struct pasta_encoder *encoder)
{
	size_t n, size;
	const char *schema = pasta_schema_text(&n);
	const void *frame;
	int r;

	head->flags |= PASTA_SHARD_ENDS | PASTA_SHARD_NAMES;
	pasta_encoder_tag(encoder, head->guid);
	pasta_shard_head_seal(head);
	r = pasta_shardfile_append(f, head, sizeof(*head));
	if (r)
		return r;
	frame = pasta_encode_plain(encoder, PASTA_FRAME_SCHEMA, schema, n, 0, 0, &size);
	return pasta_shardfile_append(f, frame, size);
}
