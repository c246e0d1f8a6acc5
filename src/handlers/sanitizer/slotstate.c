/* slotstate.c - defines which changes of a slot's state are allowed. */
#include <stdio.h>

#include "handlers/sanitizer/slots.h"

#define TO(state) (1u << SAN_SLOT_##state)
static const uint8_t slot_transitions[] = {
	[SAN_SLOT_FREE] = TO(RESERVED),
	[SAN_SLOT_RESERVED] = TO(QUEUED) | TO(FREE),
	[SAN_SLOT_QUEUED] = TO(READABLE) | TO(ABANDONED),
	[SAN_SLOT_READABLE] = TO(CLAIMED),
	[SAN_SLOT_CLAIMED] = TO(FREE),
	[SAN_SLOT_ABANDONED] = TO(CLAIMED),
};
#undef TO

static void slot_log_illegal(enum san_slot_state from, enum san_slot_state to)
{
	static atomic_flag logged = ATOMIC_FLAG_INIT;
	char text[120];

	if (atomic_flag_test_and_set(&logged))
		return;
	snprintf(text, sizeof(text),
		 "internal error: the slot of a launch cannot change from state %d to state %d",
		 (int)from, (int)to);
	pasta_agent_log("sanitizer", text);
}

bool san_slot_advance(struct san_slot *s, enum san_slot_state to)
{
	if (!(slot_transitions[s->state] >> to & 1)) {
		slot_log_illegal(s->state, to);
		return false;
	}
	s->state = to;
	return true;
}
