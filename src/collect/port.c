/* port.c - implements ports, which are rings for events that a vendor's library delivers on its own
 * threads. */
#include "collect/agent.h"
#include "collect/guard.h"
#include "collect/producer.h"
#include "core/lock.h"

#define PORT_WAIT_NS 100000000L
#define PORT_STALL_NS 1000000000L
#define PORT_NAP_NS 200000L

struct pasta_port {
	pthread_mutex_t lock;
	struct pusher push;
	/* time in ns for which pushes may still wait; reset when an event has been stored */
	long patience;
};

struct pasta_port *pasta_port_open(uint32_t clock)
{
	struct pasta_port *port = NULL;
	struct pasta_guard guard;

	pasta_guard_enter(&guard);
	if (pasta_agent_begin())
		port = pasta_memory_new(sizeof(*port));
	if (port)
		pasta_pusher_open(&port->push, 0, clock, true);
	if (port && port->push.ring) {
		port->patience = PORT_STALL_NS;
	} else {
		pasta_memory_free(port, sizeof(*port));
		port = NULL;
	}
	pasta_guard_leave(&guard);
	return port;
}

/* Waits briefly for the writer. Returns false when the push or the port has used up its waiting
 * time. If the disk hangs, a push of a million events must not wait for each event. */
static bool port_nap(struct pasta_port *port, long *left)
{
	const struct timespec t = {.tv_nsec = PORT_NAP_NS};

	if (*left <= 0 || port->patience <= 0)
		return false;
	if (pasta_writer_running())
		pasta_writer_wake();
	else
		pasta_writer_drain(true);
	pasta_nap(&t);
	*left -= PORT_NAP_NS;
	port->patience -= PORT_NAP_NS;
	return true;
}

/* Copies an event into the ring. Returns false if the ring is full. */
static bool port_put(struct pusher *q, const struct pasta_event *ev)
{
	uint64_t size = ev->size, pad;
	char *to = pusher_room(q, size, &pad);

	if (!to)
		return false;
	pusher_copy(to, ev, ev->tid, size, q->seed, q->head + pad);
	if (pusher_publish(q, q->head, pad + size, 1))
		pasta_pusher_check(q);
	return true;
}

size_t pasta_port_push(struct pasta_port *port, const void *records, size_t size)
{
	long left = PORT_WAIT_NS;
	size_t dropped = 0;

	pasta_lock(&port->lock);
	for (size_t at = 0; at < size;) {
		const struct pasta_event *ev = (const void *)((const char *)records + at);

		if (port_put(&port->push, ev)) {
			port->patience = PORT_STALL_NS;
		} else if (port_nap(port, &left)) {
			continue;
		} else {
			pusher_drop(&port->push, PASTA_LOSS_FULL, 1);
			dropped++;
		}
		at += ev->size;
	}
	pasta_unlock(&port->lock);
	return dropped;
}

void pasta_port_watermark(struct pasta_port *port, uint64_t time)
{
	atomic_store(&port->push.ring->watermark, time);
}
