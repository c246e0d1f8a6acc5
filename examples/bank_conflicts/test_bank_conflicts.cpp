/* test_bank_conflicts.cpp - tests the reducer on the host against closed forms and a word count. */
#include <pasta/reducer_host.h>

#include <stdio.h>

#include <random>
#include <set>

#include "bank_conflicts.cu"

typedef std::vector<struct pasta_access> accesses;
typedef std::vector<struct pasta_reducer_row> rows;

static int failures;

static void expect(const char *what, uint32_t number, uint64_t got, uint64_t wanted)
{
	if (got == wanted)
		return;
	failures++;
	printf("FAILED: %s %u: got %llu, wanted %llu\n", what, number, (unsigned long long)got,
	       (unsigned long long)wanted);
}

/* Makes an access to shared memory. site is the instruction; each of its requests is a turn. */
static struct pasta_access shared(uint32_t site, uint32_t turn, uint32_t thread, uint64_t addr,
				  uint32_t size, uint32_t kind)
{
	struct pasta_access a = {};

	a.addr = addr;
	a.size = size;
	a.site = site;
	a.turn = turn;
	a.thread = (uint16_t)thread;
	a.kind = (uint8_t)kind;
	a.space = PASTA_SPACE_LOCAL;
	return a;
}

static void strides_take_as_many_wavefronts_as_lanes_share_a_bank()
{
	static const uint32_t strides[] = {1, 2, 4, 8, 16, 32, 0, 3, 33};
	static const uint32_t wavefronts[] = {1, 2, 4, 8, 16, 32, 1, 1, 1};
	accesses all;
	rows got;

	for (uint32_t i = 0; i < 9; i++)
		for (uint32_t thread = 0; thread < 32; thread++)
			all.push_back(
				shared(i, 0, thread, 1024 + 4 * strides[i] * thread, 4, 1 + i % 3));
	/* 16 adjacent bytes per lane need and take four wavefronts; bytes of one word take one. */
	for (uint32_t thread = 0; thread < 32; thread++)
		all.push_back(shared(20, 0, thread, 16 * thread, 16, PASTA_ACCESS_LOAD));
	for (uint32_t thread = 0; thread < 32; thread++)
		all.push_back(shared(21, 0, thread, thread, 1, PASTA_ACCESS_LOAD));
	got = pasta_reducer_run(all.data(), all.size());
	for (uint32_t i = 0; i < 9; i++) {
		struct pasta_reducer_row r = pasta_reducer_find(got, i, 0);

		expect("loads of stride", strides[i], r.loads, i % 3 != 1);
		expect("stores of stride", strides[i], r.stores, i % 3 != 0);
		expect("wavefronts needed of stride", strides[i], r.bytes, 1);
		expect("wavefronts of stride", strides[i], r.extra, wavefronts[i]);
	}
	expect("wavefronts needed of bytes", 16, pasta_reducer_find(got, 20, 0).bytes, 4);
	expect("wavefronts of bytes", 16, pasta_reducer_find(got, 20, 0).extra, 4);
	expect("wavefronts of bytes", 1, pasta_reducer_find(got, 21, 0).extra, 1);
}

/* Computes the wavefronts of a request from the words in each bank. */
static void count_words(const accesses &request, struct pasta_reducer_row *row)
{
	std::set<uint64_t> banks[BANKS], words;
	uint64_t most = 0;

	for (const struct pasta_access &a : request)
		for (uint64_t byte = a.addr; byte < a.addr + a.size; byte++) {
			banks[byte / WORD % BANKS].insert(byte / WORD);
			words.insert(byte / WORD);
		}
	for (const std::set<uint64_t> &bank : banks)
		most = bank.size() > most ? bank.size() : most;
	row->loads++;
	row->bytes += (words.size() + BANKS - 1) / BANKS;
	row->extra += most;
}

/* Makes a request of some lanes of a warp, at random words of a part of shared memory. */
static accesses random_request(std::mt19937 &dice, uint32_t site, uint32_t turn)
{
	uint32_t size = 1u << site % 5, span = 16u << dice() % 12, warp = dice() % 4, lanes = 0;
	accesses request;

	while (!lanes)
		lanes = turn % 3 ? dice() : dice() & dice() & dice();
	for (uint32_t lane = 0; lane < 32; lane++)
		if (lanes >> lane & 1)
			request.push_back(shared(site, turn, 32 * warp + lane,
						 dice() % span / size * size, size,
						 PASTA_ACCESS_LOAD));
	return request;
}

static void any_request_takes_what_a_count_of_its_words_gives()
{
	enum { SITES = 20, TURNS = 100 };
	struct pasta_reducer_row wanted[SITES] = {};
	std::mt19937 dice(1);
	accesses all;
	rows got;

	for (uint32_t i = 0; i < SITES * TURNS; i++) {
		accesses request = random_request(dice, i % SITES, i / SITES);

		count_words(request, &wanted[i % SITES]);
		all.insert(all.end(), request.begin(), request.end());
	}
	got = pasta_reducer_run(all.data(), all.size());
	expect("rows of sites", SITES, got.size(), SITES);
	for (uint32_t i = 0; i < SITES; i++) {
		struct pasta_reducer_row r = pasta_reducer_find(got, i, 0);

		expect("requests at", i, r.loads, wanted[i].loads);
		expect("wavefronts needed at", i, r.bytes, wanted[i].bytes);
		expect("wavefronts at", i, r.extra, wanted[i].extra);
	}
}

static void global_memory_and_bulk_copies_are_not_counted()
{
	accesses all = {shared(1, 0, 0, 0, 4, PASTA_ACCESS_LOAD),
			shared(2, 0, 0, 0, 1024, PASTA_ACCESS_STORE)};
	rows got;

	all[0].space = PASTA_SPACE_GLOBAL;
	got = pasta_reducer_run(all.data(), all.size());
	expect("rows of others", 0, got.size(), 0);
}

int main()
{
	strides_take_as_many_wavefronts_as_lanes_share_a_bank();
	any_request_takes_what_a_count_of_its_words_gives();
	global_memory_and_bulk_copies_are_not_counted();
	printf("%d failures\n", failures);
	return failures != 0;
}
