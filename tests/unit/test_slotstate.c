/* test_slotstate.c - the life cycle of a sanitizer slot: legal and illegal transitions. */
#include "handlers/sanitizer/slots.h"
#include "unit/support.h"

enum { STATES = SAN_SLOT_ABANDONED + 1 };

static void only_transitions_of_the_life_cycle_are_legal(void **state)
{
	static const bool legal[STATES][STATES] = {
		[SAN_SLOT_FREE] = {[SAN_SLOT_RESERVED] = true},
		[SAN_SLOT_RESERVED] = {[SAN_SLOT_QUEUED] = true, [SAN_SLOT_FREE] = true},
		[SAN_SLOT_QUEUED] = {[SAN_SLOT_READABLE] = true, [SAN_SLOT_ABANDONED] = true},
		[SAN_SLOT_READABLE] = {[SAN_SLOT_CLAIMED] = true},
		[SAN_SLOT_CLAIMED] = {[SAN_SLOT_FREE] = true},
		[SAN_SLOT_ABANDONED] = {[SAN_SLOT_CLAIMED] = true},
	};

	(void)state;
	for (int from = 0; from < STATES; from++)
		for (int to = 0; to < STATES; to++) {
			struct san_slot s = {.state = (enum san_slot_state)from};

			assert_int_equal(san_slot_advance(&s, (enum san_slot_state)to),
					 legal[from][to]);
			assert_int_equal(s.state, legal[from][to] ? to : from);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_transitions_of_the_life_cycle_are_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
