/*
 * access_loop - kernels whose memory accesses are counted, measured by the program itself.
 *
 * access_loop serve       prints "ready", then launches kernels for each line of its input,
 *                         "saxpy N" or "gather N", and answers with a line of JSON: ms per
 *                         launch, and the number of launches so far
 * access_loop walk N      does what a profiler does that sends each access to the host: looks up
 *                         N accesses one after the other on one core in an ordered map of ranges,
 *                         and counts them there. Ranges are lines of its input, "ADDRESS BYTES
 *                         WEIGHT". A range gets accesses in proportion to its weight, in rows of
 *                         32 accesses of 4 bytes, from its start to its end
 */
#include <map>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vector>

#include <cuda_runtime.h>

enum { ELEMENTS = 16 << 20, WAYS = 8, RANGES = 200, SMALL = 1 << 20, WARP = 32, BLOCK = 256 };

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "access_loop: %s: %s\n", #call, cudaGetErrorName(e_));     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

extern "C" __global__ void k_index(uint32_t *index)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	index[i] = i * 2654435761u;
}

extern "C" __global__ void k_saxpy(const float *x, float *y, float a)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	y[i] += a * x[i];
}

extern "C" __global__ void k_gather(const float *x, float *y, const uint32_t *index)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t at = index[i];
	float sum = 0;

#pragma unroll
	for (uint32_t way = 0; way < WAYS; way++)
		sum += x[(at * (2 * way + 1) + way) & (ELEMENTS - 1)];
	y[i] = sum;
}

struct server {
	float *x, *y;
	uint32_t *index;
	long launches;
};

static void saxpy(struct server *s, long n)
{
	for (long i = 0; i < n; i++)
		k_saxpy<<<ELEMENTS / BLOCK, BLOCK>>>(s->x, s->y, 2);
}

static void gather(struct server *s, long n)
{
	for (long i = 0; i < n; i++)
		k_gather<<<ELEMENTS / BLOCK, BLOCK>>>(s->x, s->y, s->index);
}

static const struct {
	const char *name;
	void (*run)(struct server *s, long n);
} kinds[] = {{"saxpy", saxpy}, {"gather", gather}};

static double timed(struct server *s, size_t kind, long n)
{
	double begin = now();

	kinds[kind].run(s, n);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	s->launches += n;
	return (now() - begin) / (double)n;
}

/* One launch for warm-up: another process had the caches. */
static int block(struct server *s, const char *line)
{
	char name[16];
	long n;

	if (sscanf(line, "%15s %ld", name, &n) != 2 || n <= 0)
		return -1;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		double ms;

		if (strcmp(kinds[i].name, name))
			continue;
		timed(s, i, 1);
		ms = timed(s, i, n);
		printf("{\"ms\": %.6f, \"launches\": %ld}\n", ms, s->launches);
		fflush(stdout);
		return 0;
	}
	return -1;
}

/* Further ranges on both sides of these, from which lookups must distinguish them. */
static void others(int count)
{
	void *p;

	for (int i = 0; i < count; i++)
		CHECK(cudaMalloc(&p, SMALL));
}

static int serve(void)
{
	size_t size = (size_t)ELEMENTS * sizeof(float);
	struct server s = {};
	char line[64];

	others((RANGES - 3) / 2);
	CHECK(cudaMalloc((void **)&s.x, size));
	CHECK(cudaMalloc((void **)&s.y, size));
	CHECK(cudaMalloc((void **)&s.index, (size_t)ELEMENTS * sizeof(*s.index)));
	others(RANGES - 3 - (RANGES - 3) / 2);
	CHECK(cudaMemset(s.x, 0, size));
	CHECK(cudaMemset(s.y, 0, size));
	k_index<<<ELEMENTS / BLOCK, BLOCK>>>(s.index);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		timed(&s, i, 1);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (block(&s, line)) {
			fprintf(stderr, "access_loop: not 'saxpy|gather N': %s", line);
			return 2;
		}
	}
	return 0;
}

/* -- The walk -- */

struct range {
	uint64_t begin, bytes, count;
};

static int read_ranges(std::map<uint64_t, struct range> *ranges, std::vector<double> *until)
{
	unsigned long long addr, bytes, weight;
	double sum = 0;
	char line[128];

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%llu %llu %llu", &addr, &bytes, &weight) != 3 || !bytes) {
			fprintf(stderr, "access_loop: not 'ADDRESS BYTES WEIGHT': %s", line);
			return -1;
		}
		if (!ranges->emplace(addr, range{addr, bytes, 0}).second)
			continue;
		sum += (double)weight;
		until->push_back(sum);
	}
	/* Numbers follow the order of the map, that is of addresses, which is the order of the lines. */
	return sum > 0 ? 0 : -1;
}

static std::vector<uint64_t> addresses(const std::map<uint64_t, struct range> &ranges,
				       const std::vector<double> &until, long n)
{
	std::vector<struct range> list;
	std::vector<uint64_t> at(until.size()), found;
	uint64_t seed = 1;

	for (const auto &pair : ranges)
		list.push_back(pair.second);
	found.reserve((size_t)n + WARP);
	while (found.size() < (size_t)n) {
		double draw;
		size_t i;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		draw = (double)(seed >> 11) / 9007199254740992.0 * until.back();
		for (i = 0; i + 1 < until.size() && until[i] <= draw;)
			i++;
		for (int lane = 0; lane < WARP; lane++, at[i] += 4)
			found.push_back(list[i].begin + at[i] % list[i].bytes);
	}
	found.resize((size_t)n);
	return found;
}

static int walk(long n)
{
	std::map<uint64_t, struct range> ranges;
	std::vector<double> until;
	uint64_t outside = 0, counted = 0;
	double begin, took;

	if (read_ranges(&ranges, &until)) {
		fputs("access_loop: ranges with some weight are wanted as input\n", stderr);
		return 2;
	}
	std::vector<uint64_t> found = addresses(ranges, until, n);

	begin = now();
	for (uint64_t addr : found) {
		auto after = ranges.upper_bound(addr);

		if (after == ranges.begin() ||
		    addr - (--after)->second.begin >= after->second.bytes)
			outside++;
		else
			after->second.count++;
	}
	took = now() - begin;
	for (const auto &pair : ranges)
		counted += pair.second.count;
	printf("{\"ns\": %.3f, \"ranges\": %zu, \"counted\": %llu, \"outside\": %llu}\n",
	       took * 1e6 / (double)n, ranges.size(), (unsigned long long)counted,
	       (unsigned long long)outside);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "serve"))
		return serve();
	if (argc == 3 && !strcmp(argv[1], "walk") && atol(argv[2]) > 0)
		return walk(atol(argv[2]));
	fputs("usage: access_loop serve | walk N\n", stderr);
	return 2;
}
