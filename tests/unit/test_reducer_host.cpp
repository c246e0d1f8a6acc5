/* test_reducer_host.cpp - tests <pasta/reducer_host.h>: requests, rows, failures. */
#include <pasta/reducer_host.h>

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t wait_for = 0; /* mask that the reducer waits for; 0: the active lanes */

/* Counts requests by block and space; extra counts lanes. */
PASTA_REDUCER(KEYS, ALL)
{
	uint32_t mask = wait_for ? wait_for : a->mask, lanes = __popc(__ballot_sync(mask, 1));

	if (a->lane == pasta_reducer_leader(a->mask))
		pasta_reducer_add(a, 1u << a->lane, a->block, a->space,
				  a->kind & PASTA_ACCESS_LOAD ? 1 : 0,
				  a->kind & PASTA_ACCESS_STORE ? 1 : 0, a->size, lanes);
}

static int failures;

#define EXPECT(got, wanted)                                                                        \
	do {                                                                                       \
		unsigned long long got_ = (got), wanted_ = (wanted);                               \
                                                                                                   \
		if (got_ != wanted_) {                                                             \
			failures++;                                                                \
			printf("FAILED: %s: %s: got %llu, wanted %llu\n", __func__, #got, got_,    \
			       wanted_);                                                           \
		}                                                                                  \
	} while (0)

static struct pasta_access access_of(uint32_t group, uint32_t thread, uint32_t turn)
{
	struct pasta_access a = {};

	a.addr = 4 * thread;
	a.size = 4;
	a.group = group;
	a.thread = (uint16_t)thread;
	a.turn = turn;
	a.kind = PASTA_ACCESS_LOAD;
	return a;
}

static void accesses_of_a_warp_and_a_turn_are_one_request()
{
	/* Two of a turn; another turn; another warp; another block; a lane twice. */
	struct pasta_access all[] = {access_of(0, 1, 0),  access_of(0, 5, 0),  access_of(0, 5, 1),
				     access_of(0, 37, 1), access_of(1, 37, 1), access_of(1, 37, 1)};
	std::vector<struct pasta_reducer_row> rows = pasta_reducer_run(all, 6);

	EXPECT(rows.size(), 2);
	EXPECT(pasta_reducer_find(rows, 0, PASTA_SPACE_GLOBAL).loads, 3);
	EXPECT(pasta_reducer_find(rows, 0, PASTA_SPACE_GLOBAL).extra, 4);
	EXPECT(pasta_reducer_find(rows, 1, PASTA_SPACE_GLOBAL).loads, 2);
	EXPECT(pasta_reducer_find(rows, 1, PASTA_SPACE_GLOBAL).bytes, 8);
	EXPECT(pasta_reducer_find(rows, 2, PASTA_SPACE_GLOBAL).loads, 0);
}

static void kinds_sizes_and_spaces_are_of_the_whole_request()
{
	struct pasta_access all[] = {access_of(0, 0, 0), access_of(0, 1, 0), access_of(0, 2, 0),
				     access_of(0, 3, 0)};
	std::vector<struct pasta_reducer_row> rows;

	all[1].kind = PASTA_ACCESS_ATOMIC;
	all[2].size = 8;
	all[3].space = PASTA_SPACE_PRIVATE;
	rows = pasta_reducer_run(all, 4);
	EXPECT(pasta_reducer_find(rows, 0, PASTA_SPACE_GLOBAL).loads, 3);
	EXPECT(pasta_reducer_find(rows, 0, PASTA_SPACE_GLOBAL).stores, 1);
	EXPECT(pasta_reducer_find(rows, 0, PASTA_SPACE_GLOBAL).bytes, 16);
	EXPECT(pasta_reducer_find(rows, 0, PASTA_SPACE_PRIVATE).loads, 1);
}

static void what_has_no_room_is_in_a_row_of_its_own()
{
	std::vector<struct pasta_access> all;
	std::vector<struct pasta_reducer_row> rows;

	for (uint32_t group = 0; group < 10; group++)
		all.push_back(access_of(group, 0, 0));
	rows = pasta_reducer_run(all.data(), all.size(), 4);
	EXPECT(rows.size(), 5);
	EXPECT(pasta_reducer_find(rows, PASTA_KEY_OTHER, PASTA_KEY_OTHER).loads, 6);
	EXPECT(pasta_reducer_run(all.data(), all.size()).size(), 10);
	EXPECT(pasta_reducer_run(NULL, 0).size(), 0);
}

/* Runs the reducer in another process; returns its exit status and its output. */
static int fails_with(const struct pasta_access *all, size_t count, char *text, size_t size)
{
	int ends[2], status = 0;
	ssize_t got;
	pid_t child;

	if (pipe(ends) || (child = fork()) < 0)
		return -1;
	if (!child) {
		dup2(ends[1], 2);
		pasta_reducer_run(all, count);
		_exit(0);
	}
	close(ends[1]);
	got = read(ends[0], text, size - 1);
	text[got > 0 ? got : 0] = '\0';
	close(ends[0]);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void lanes_that_wait_for_absent_lanes_are_an_error()
{
	struct pasta_access all[] = {access_of(0, 0, 0), access_of(0, 1, 0)};
	char text[200];

	wait_for = ~0u;
	EXPECT(fails_with(all, 2, text, sizeof(text)), 1);
	EXPECT(strstr(text, "lanes wait for each other") != NULL, 1);
	wait_for = 4;
	EXPECT(fails_with(all, 2, text, sizeof(text)), 1);
	EXPECT(strstr(text, "a lane passed a mask that does not include the lane itself") != NULL,
	       1);
	wait_for = 0;
}

int main()
{
	accesses_of_a_warp_and_a_turn_are_one_request();
	kinds_sizes_and_spaces_are_of_the_whole_request();
	what_has_no_room_is_in_a_row_of_its_own();
	lanes_that_wait_for_absent_lanes_are_an_error();
	printf("%d failures\n", failures);
	return failures != 0;
}
