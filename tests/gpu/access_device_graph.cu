/*
 * access_device_graph - kernels that launch graphs.
 *
 *	access_device_graph FILE
 *
 * As access_nested. One graph was launched by the program before, the other was not.
 */
#include "access_forms.cuh"

enum { LAUNCHES = 10 };

static __device__ cudaGraphExec_t children[2];

KERNEL k_child(char *sum)
{
	st4(sum + INDEX * 4, ld4(sum + INDEX * 4) + 1);
}

KERNEL k_launch(char *sum)
{
	st4(sum, ld4(sum) + 100);
	for (int i = 0; i < 2; i++)
		cudaGraphLaunch(children[i], cudaStreamGraphFireAndForget);
}

/* A graph of one kernel. */
static cudaGraphExec_t make(cudaStream_t stream, void (*kernel)(char *), int threads, char *sum,
			    unsigned int flags)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	RUN(kernel, 1, threads, stream, sum);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, flags));
	return exec;
}

int main(int argc, char **argv)
{
	cudaGraphExec_t execs[2], parent;
	struct memory sums[3];
	cudaStream_t stream;

	if (argc != 2) {
		fputs("usage: access_device_graph FILE\n", stderr);
		return 2;
	}
	watch_for_hangs();
	CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < 3; i++)
		sums[i] = on_device(4096);
	step = "graphs are made";
	for (int i = 0; i < 2; i++) {
		execs[i] = make(stream, k_child, WARP, sums[i].p,
				cudaGraphInstantiateFlagDeviceLaunch);
		CHECK(cudaGraphUpload(execs[i], stream));
	}
	CHECK(cudaMemcpyToSymbol(children, execs, sizeof(execs)));
	parent = make(stream, k_launch, 1, sums[2].p, 0);
	step = "a graph is launched by the program";
	CHECK(cudaGraphLaunch(execs[0], stream));
	CHECK(cudaStreamSynchronize(stream));
	step = "graphs are launched by a kernel";
	for (int i = 0; i < LAUNCHES; i++) {
		CHECK(cudaGraphLaunch(parent, stream));
		CHECK(cudaStreamSynchronize(stream));
	}
	for (int i = 0; i < 3; i++)
		show("sum", sums[i]);
	write_file(argv[1]);
	return 0;
}
