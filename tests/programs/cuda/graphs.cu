// Graphs by hand: nodes of every kind, dependencies, changes of what was instantiated, and how graphs are looked at.
#include <vector>
#include "expect.h"

__device__ int variable;
__global__ void add(int *x, int value) { atomicAdd(x, value); }
__global__ void multiply(int *x, int factor) { *x *= factor; }

static void call(void *data) { ++*(int *)data; }

static cudaKernelNodeParams kernel(void (*f)(int *, int), int **x, int *value, void **arguments) {
    arguments[0] = x, arguments[1] = value;
    cudaKernelNodeParams p = {};
    p.func = (void *)f;
    p.gridDim = p.blockDim = dim3(1);
    p.kernelParams = arguments;
    return p;
}

// What is allocated and freed while a stream is captured is there in each launch of the graph.
static void allocations_of_a_capture() {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t made;
    int *x, result = -1;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync(&x, sizeof(int), stream));
    OK(cudaMemsetAsync(x, 0, sizeof(int), stream));
    OK(cudaMemcpyAsync(&result, x, sizeof(int), cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(x, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    size_t count = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &count));
    IS(count, 4);
    OK(cudaGraphInstantiate(&made, graph, 0));
    for (int k = 0; k < 2; k++) {
        result = -1;
        OK(cudaGraphLaunch(made, stream));
        OK(cudaStreamSynchronize(stream));
        IS(result, 0);
    }
    OK(cudaGraphExecDestroy(made));
    OK(cudaGraphDestroy(graph));

    // What only others free is there again in the next launch.
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync(&x, sizeof(int), stream));
    OK(cudaMemsetAsync(x, 0, sizeof(int), stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&made, graph, 0));
    for (int k = 0; k < 2; k++) {
        result = -1;
        OK(cudaGraphLaunch(made, stream));
        OK(cudaMemcpyAsync(&result, x, sizeof(int), cudaMemcpyDeviceToHost, stream));
        OK(cudaFreeAsync(x, stream));
        OK(cudaStreamSynchronize(stream));
        IS(result, 0);
    }
    OK(cudaGraphExecDestroy(made));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

int main() {
    allocations_of_a_capture();
    int *x, calls = 0, result = -1, two = 2, five = 5, ten = 10;
    void *arguments[2];
    OK(cudaMalloc(&x, 2 * sizeof(int)));
    cudaGraph_t graph, copy, child;
    cudaGraphExec_t made;
    cudaGraphNode_t clear, plus, times, back, host, nested, empty;
    OK(cudaGraphCreate(&graph, 0));

    // (0 + 5) * 2, copied back, told; `times` is made before `plus`, on which it depends.
    cudaMemsetParams fill = {x, 0, 0, 4, 2, 1};
    OK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &fill));
    cudaKernelNodeParams p = kernel(multiply, &x, &two, arguments);
    OK(cudaGraphAddKernelNode(&times, graph, &clear, 1, &p));
    p = kernel(add, &x, &five, arguments);
    OK(cudaGraphAddKernelNode(&plus, graph, &clear, 1, &p));
    OK(cudaGraphAddDependencies(graph, &plus, &times, nullptr, 1));
    OK(cudaGraphAddMemcpyNode1D(&back, graph, &times, 1, &result, x, sizeof(int), cudaMemcpyDeviceToHost));
    cudaHostNodeParams function = {call, &calls};
    OK(cudaGraphAddHostNode(&host, graph, &back, 1, &function));
    five = two = 0; // arguments were copied
    OK(cudaGraphInstantiate(&made, graph, 0));
    for (int k = 0; k < 3; k++) OK(cudaGraphLaunch(made, 0));
    OK(cudaStreamSynchronize(0));
    IS(result, 10);
    IS(calls, 3);

    // Changes of what is instantiated leave the graph alone.
    p = kernel(add, &x, &ten, arguments);
    OK(cudaGraphExecKernelNodeSetParams(made, plus, &p));
    unsigned enabled;
    IS(cudaGraphNodeSetEnabled(made, host, 0), cudaErrorInvalidValue);
    IS(cudaGraphNodeGetEnabled(made, host, &enabled), cudaErrorInvalidValue);
    IS(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaGraphLaunch(made, 0));
    OK(cudaDeviceSynchronize());
    IS(result, 20);
    OK(cudaGraphNodeSetEnabled(made, clear, 0));
    OK(cudaGraphLaunch(made, 0));
    OK(cudaDeviceSynchronize());
    IS(result, 60);
    OK(cudaGraphNodeSetEnabled(made, clear, 2));
    OK(cudaGraphNodeGetEnabled(made, clear, &enabled));
    IS(enabled, 1);
    IS(calls, 5);
    fill.value = 1;
    OK(cudaGraphExecMemsetNodeSetParams(made, clear, &fill));
    int other = -1;
    OK(cudaGraphExecMemcpyNodeSetParams1D(made, back, &other, x, sizeof(int), cudaMemcpyDeviceToHost));
    OK(cudaGraphLaunch(made, 0));
    OK(cudaDeviceSynchronize());
    IS(other, 22);
    IS(result, 60);
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(made, graph, &info));
    IS(info.result, cudaGraphExecUpdateSuccess);
    OK(cudaGraphLaunch(made, 0));
    OK(cudaDeviceSynchronize());
    IS(result, 10);
    OK(cudaGraphExecDestroy(made));

    // A graph in a graph, beside copies of symbols.
    OK(cudaGraphClone(&child, graph));
    OK(cudaGraphCreate(&copy, 0));
    OK(cudaGraphAddChildGraphNode(&nested, copy, nullptr, 0, child));
    OK(cudaGraphAddEmptyNode(&empty, copy, &nested, 1));
    int seven = 7, nine = 9, got = 0;
    cudaGraphNode_t to, from;
    OK(cudaGraphAddMemcpyNodeToSymbol(&to, copy, &empty, 1, variable, &seven, sizeof(int), 0, cudaMemcpyHostToDevice));
    OK(cudaGraphAddMemcpyNodeFromSymbol(&from, copy, &to, 1, &got, variable, sizeof(int), 0, cudaMemcpyDeviceToHost));
    OK(cudaGraphMemcpyNodeSetParamsToSymbol(to, variable, &nine, sizeof(int), 0, cudaMemcpyHostToDevice));
    OK(cudaGraphMemcpyNodeSetParamsFromSymbol(from, &got, variable, sizeof(int), 0, cudaMemcpyDeviceToHost));
    OK(cudaGraphInstantiate(&made, copy, 0));
    result = 0;
    OK(cudaGraphLaunch(made, 0));
    OK(cudaDeviceSynchronize());
    IS(result, 10);
    IS(got, 9);

    // What graphs are made of.
    size_t count = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &count));
    IS(count, 5);
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
    IS(count, 5);
    OK(cudaGraphGetRootNodes(graph, nullptr, &count));
    IS(count, 1);
    cudaGraphNode_t nodes[5];
    OK(cudaGraphNodeGetDependencies(times, nullptr, nullptr, &count));
    IS(count, 2);
    OK(cudaGraphNodeGetDependentNodes(clear, nodes, nullptr, &count));
    IS(count, 2);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(plus, &type));
    IS(type, cudaGraphNodeTypeKernel);
    OK(cudaGraphNodeGetType(back, &type));
    IS(type, cudaGraphNodeTypeMemcpy);
    OK(cudaGraphNodeGetType(nested, &type));
    IS(type, cudaGraphNodeTypeGraph);
    cudaKernelNodeParams known;
    OK(cudaGraphKernelNodeGetParams(plus, &known));
    IS(known.func == (void *)add, 1);
    IS(*(int *)known.kernelParams[1], 5);

    // A node that is taken away; a circle; a captured stream whose kernels are found and changed.
    OK(cudaGraphDestroyNode(host));
    OK(cudaGraphGetNodes(graph, nullptr, &count));
    IS(count, 4);
    OK(cudaGraphAddDependencies(graph, &back, &clear, nullptr, 1));
    IS(cudaGraphInstantiate(&made, graph, 0) != cudaSuccess, 1);
    cudaGetLastError();
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(x, 0, 4, stream));
    add<<<1, 1, 0, stream>>>(x, 3);
    multiply<<<1, 1, 0, stream>>>(x, 4);
    OK(cudaStreamEndCapture(stream, &copy));
    OK(cudaGraphGetNodes(copy, nullptr, &count));
    IS(count, 3);
    OK(cudaGraphGetNodes(copy, nodes, &count));
    OK(cudaGraphInstantiate(&made, copy, 0));
    for (size_t n = 0; n < count; n++) {
        OK(cudaGraphNodeGetType(nodes[n], &type));
        if (type != cudaGraphNodeTypeKernel) continue;
        OK(cudaGraphKernelNodeGetParams(nodes[n], &known));
        if (known.func != (void *)add) continue;
        *(int *)known.kernelParams[1] = 6;
        OK(cudaGraphExecKernelNodeSetParams(made, nodes[n], &known));
    }
    OK(cudaGraphLaunch(made, stream));
    OK(cudaMemcpy(&result, x, 4, cudaMemcpyDeviceToHost));
    IS(result, 24);
    printf("done\n");
}
