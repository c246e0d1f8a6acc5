/*
 * access_forms.cuh - known memory accesses: how programs make and print them.
 *
 * A program's FILE has what a profiler should have counted, as JSON: allocations by address, and
 * rows by kernel. Accesses are written in PTX, so that no compiler has fewer or others; an array is
 * accessed once by a thread, so that none are put together.
 */
#ifndef ACCESS_FORMS_CUH
#define ACCESS_FORMS_CUH

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime.h>

enum { BLOCK = 256, WARP = 32, SECTOR = 32 };
enum { ROWS_MAX = 1024, ALLOCS_MAX = 256, PAGES_MAX = 512, REQUESTS_MAX = 64 };

__attribute__((noreturn)) static inline void die(int line, const char *what, const char *why)
{
	fprintf(stderr, "%s: line %d: %s: %s\n", program_invocation_short_name, line, what, why);
	exit(1);
}

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess)                                                             \
			die(__LINE__, #call, cudaGetErrorName(e_));                                \
	} while (0)
#define EXPECT(what)                                                                               \
	do {                                                                                       \
		if (!(what))                                                                       \
			die(__LINE__, #what, "does not hold");                                     \
	} while (0)

/* -- A program that hangs prints its step -- */

enum { HUNG_S = 20 };

static const char *volatile step = "it begins";

static inline void say_hung(int number)
{
	const char *parts[] = {"hung: ", step, "\n"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
			break;
	signal(number, SIG_DFL);
	raise(number);
}

static inline void watch_for_hangs(void)
{
	struct sigaction a = {};

	a.sa_handler = say_hung;
	a.sa_flags = SA_NODEFER;
	EXPECT(!sigaction(SIGALRM, &a, NULL));
	alarm(HUNG_S);
}

/* -- What is to be counted. Threads add to it. -- */

/* Targets of rows. FOREIGN is memory that the program did not allocate: outside of all objects, or in
 * some that are not its own. */
enum { OUTSIDE = -1, VARIABLE = -2, SHARED = -3, LOCAL = -4, REMOTE = -5, FOREIGN = -6 };

struct sums {
	long loads, stores, bytes, cross;
};

static struct {
	uint64_t addr, bytes;
} allocs[ALLOCS_MAX];
static struct {
	const char *kernel;
	int target; /* an allocation's number, or one of the above */
	struct sums sums;
	struct sums also; /* all of this may be there as well, or nothing of it */
	bool unknown;	  /* the amount is not known */
} rows[ROWS_MAX];
/* Every page of these has an access that begins in it: from, from + step, ... */
static struct {
	const char *kernel;
	uint64_t from, step;
	long count;
} pages[PAGES_MAX];
static struct {
	const char *kernel;
	long loads, stores, sectors;
	long active[WARP + 1][2]; /* those that load, and that store, by active threads */
} requests[REQUESTS_MAX];
static int alloc_count, row_count, page_count, request_count;
static uint64_t variable_addr;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static inline void add(struct sums *to, struct sums s)
{
	to->loads += s.loads;
	to->stores += s.stores;
	to->bytes += s.bytes;
	to->cross += s.cross;
}

static inline void expect_sums(const char *kernel, int target, struct sums s, struct sums also = {},
			       bool unknown = false)
{
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < row_count; i++)
		if (!strcmp(rows[i].kernel, kernel) && rows[i].target == target)
			break;
	EXPECT(i < ROWS_MAX);
	rows[i].kernel = kernel;
	rows[i].target = target;
	add(&rows[i].sums, s);
	add(&rows[i].also, also);
	rows[i].unknown |= unknown;
	row_count += i == row_count;
	pthread_mutex_unlock(&lock);
}

static inline void loads(const char *kernel, int target, long n, long size)
{
	expect_sums(kernel, target, {n, 0, n * size, 0});
}

static inline void stores(const char *kernel, int target, long n, long size)
{
	expect_sums(kernel, target, {0, n, n * size, 0});
}

static inline void atomics(const char *kernel, int target, long n, long size)
{
	expect_sums(kernel, target, {n, n, 2 * n * size, 0});
}

/* How much is not known, but that it is not nothing. */
static inline void something(const char *kernel, int target)
{
	expect_sums(kernel, target, {}, {}, true);
}

static inline void touches(const char *kernel, const void *from, long step, long count)
{
	pthread_mutex_lock(&lock);
	EXPECT(page_count < PAGES_MAX);
	pages[page_count++] = {kernel, (uint64_t)(uintptr_t)from, (uint64_t)step, count};
	pthread_mutex_unlock(&lock);
}

/* What a warp of n threads does once, for each of so many warps. */
static inline void requested(const char *kernel, int kind, long warps, int active, long sectors)
{
	int i = 0;

	while (i < request_count && strcmp(requests[i].kernel, kernel))
		i++;
	EXPECT(i < REQUESTS_MAX);
	requests[i].kernel = kernel;
	requests[i].loads += kind & 1 ? warps : 0;
	requests[i].stores += kind & 2 ? warps : 0;
	requests[i].sectors += warps * sectors;
	requests[i].active[active][0] += kind & 1 ? warps : 0;
	requests[i].active[active][1] += kind & 2 ? warps : 0;
	request_count += i == request_count;
}

static inline void write_row(FILE *f, int i)
{
	const struct sums *s = &rows[i].sums, *also = &rows[i].also;

	fprintf(f, "%s[\"%s\", %d, ", i ? ",\n" : "", rows[i].kernel, rows[i].target);
	if (rows[i].unknown)
		fputs("null, null]", f);
	else
		fprintf(f, "[%ld, %ld, %ld, %ld], [%ld, %ld, %ld, %ld]]", s->loads, s->stores,
			s->bytes, s->cross, also->loads, also->stores, also->bytes, also->cross);
}

static inline void write_allocs(FILE *f)
{
	fprintf(f, "{\"variable\": %llu,\n\"allocations\": [", (unsigned long long)variable_addr);
	for (int i = 0; i < alloc_count; i++)
		fprintf(f, "%s[%llu, %llu]", i ? ", " : "", (unsigned long long)allocs[i].addr,
			(unsigned long long)allocs[i].bytes);
	fputs("],\n\"rows\": [", f);
	for (int i = 0; i < row_count; i++)
		write_row(f, i);
}

static inline void write_requests(FILE *f)
{
	fputs("],\n\"pages\": [", f);
	for (int i = 0; i < page_count; i++)
		fprintf(f, "%s[\"%s\", %llu, %llu, %ld]", i ? ",\n" : "", pages[i].kernel,
			(unsigned long long)pages[i].from, (unsigned long long)pages[i].step,
			pages[i].count);
	fputs("],\n\"requests\": [", f);
	for (int i = 0; i < request_count; i++) {
		const char *comma = "";

		fprintf(f, "%s[\"%s\", [%ld, %ld, %ld], {", i ? ",\n" : "", requests[i].kernel,
			requests[i].loads, requests[i].stores, requests[i].sectors);
		for (int n = 1; n <= WARP; n++) {
			const long *of = requests[i].active[n];

			if (!of[0] && !of[1])
				continue;
			fprintf(f, "%s\"%d\": [%ld, %ld]", comma, n, of[0], of[1]);
			comma = ", ";
		}
		fputs("}]", f);
	}
	fputs("]}\n", f);
}

static inline void write_file(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		die(__LINE__, path, "cannot be written");
	write_allocs(f);
	write_requests(f);
	EXPECT(!fclose(f));
}

/* -- Memory -- */

struct memory {
	char *p;
	size_t size;
	int target;
};

static inline struct memory known(void *p, size_t size)
{
	int target;

	pthread_mutex_lock(&lock);
	target = alloc_count++;
	EXPECT(target < ALLOCS_MAX);
	allocs[target] = {(uint64_t)(uintptr_t)p, size};
	pthread_mutex_unlock(&lock);
	return {(char *)p, size, target};
}

static inline struct memory on_device(size_t size)
{
	void *p;

	CHECK(cudaMalloc(&p, size));
	CHECK(cudaMemset(p, 0, size));
	return known(p, size);
}

/* Numbers that are not all the same. */
static inline struct memory filled(size_t size)
{
	struct memory m = on_device(size);
	unsigned char *host = (unsigned char *)malloc(size);

	EXPECT(host);
	for (size_t i = 0; i < size; i++)
		host[i] = (unsigned char)(i * 37 + i / 256);
	CHECK(cudaMemcpy(m.p, host, size, cudaMemcpyHostToDevice));
	free(host);
	return m;
}

static inline void show(const char *what, struct memory m)
{
	unsigned char *host = (unsigned char *)malloc(m.size);
	uint64_t hash = 1469598103934665603u;

	EXPECT(host);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host, m.p, m.size, cudaMemcpyDefault));
	for (size_t i = 0; i < m.size; i++)
		hash = (hash ^ host[i]) * 1099511628211u;
	printf("%s %016llx\n", what, (unsigned long long)hash);
	free(host);
}

static inline int capability(void)
{
	int major, minor;

	CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
	CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
	return major * 10 + minor;
}

/* Kernels are built as PTX of the first, for all others but the last. */
static inline bool has(int wanted, const void *kernel)
{
	cudaFuncAttributes a;

	CHECK(cudaFuncGetAttributes(&a, kernel));
	return capability() >= wanted && a.ptxVersion >= wanted;
}

/* -- Accesses -- */

#define GLOBAL(p) __cvta_generic_to_global(p)
#define ACCESS(size, type, ptx, c)                                                                 \
	static __device__ __forceinline__ type ld##size(const void *p)                             \
	{                                                                                          \
		type v;                                                                            \
		asm volatile("ld.global." ptx " %0, [%1];"                                         \
			     : "=" c(v)                                                            \
			     : "l"(GLOBAL(p))                                                      \
			     : "memory");                                                          \
		return v;                                                                          \
	}                                                                                          \
	static __device__ __forceinline__ void st##size(void *p, type v)                           \
	{                                                                                          \
		asm volatile("st.global." ptx " [%0], %1;" ::"l"(GLOBAL(p)), c(v) : "memory");     \
	}
ACCESS(1, uint32_t, "u8", "r")
ACCESS(2, uint32_t, "u16", "r")
ACCESS(4, uint32_t, "u32", "r")
ACCESS(8, uint64_t, "u64", "l")

static __device__ __forceinline__ uint4 ld16(const void *p)
{
	uint4 v;

	asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
		     : "l"(GLOBAL(p))
		     : "memory");
	return v;
}

static __device__ __forceinline__ void st16(void *p, uint4 v)
{
	asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(GLOBAL(p)), "r"(v.x),
		     "r"(v.y), "r"(v.z), "r"(v.w)
		     : "memory");
}

static __device__ __forceinline__ uint32_t shared_addr(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ uint32_t lds(uint32_t p)
{
	uint32_t v;

	asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(p) : "memory");
	return v;
}

static __device__ __forceinline__ void sts(uint32_t p, uint32_t v)
{
	asm volatile("st.shared.u32 [%0], %1;" ::"r"(p), "r"(v) : "memory");
}

static __device__ __forceinline__ uint64_t timer(void)
{
	uint64_t t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

#define INDEX ((size_t)blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

/* -- Kernels, and their closed forms -- */

#define COPY(name, size)                                                                           \
	KERNEL name(char *dst, const char *src)                                                    \
	{                                                                                          \
		st##size(dst + INDEX * size, ld##size(src + INDEX * size));                        \
	}

KERNEL k_slow(uint64_t ms)
{
	uint64_t until = timer() + ms * 1000000;

	while (timer() < until)
		;
}

KERNEL k_wait(const char *flag)
{
	uint32_t v;

	do
		asm volatile("ld.volatile.global.u32 %0, [%1];"
			     : "=r"(v)
			     : "l"(GLOBAL(flag))
			     : "memory");
	while (!v);
}

#define RUN(kernel, grid, block, stream, ...)                                                      \
	do {                                                                                       \
		kernel<<<(unsigned int)(grid), block, 0, stream>>>(__VA_ARGS__);                   \
		CHECK(cudaGetLastError());                                                         \
	} while (0)

/* n threads copy size bytes each, one after the other. */
static inline void copies(const char *kernel, struct memory dst, struct memory src, long n,
			  int size)
{
	loads(kernel, src.target, n, size);
	stores(kernel, dst.target, n, size);
	touches(kernel, src.p, size, n);
	touches(kernel, dst.p, size, n);
}

#endif
