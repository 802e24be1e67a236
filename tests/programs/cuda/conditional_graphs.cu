// Conditional nodes of graphs: if and else, switch, and loops, of which one is in another.
#include "expect.h"

__global__ void set(cudaGraphConditionalHandle handle, const int *value) { cudaGraphSetConditional(handle, *value); }
__global__ void add(int *x, int value) { *x += value; }
__global__ void count_down(cudaGraphConditionalHandle handle, int *left) { cudaGraphSetConditional(handle, --*left); }
__global__ void fill(int *x, int value) { *x = value; }

static int *x; // the result, the number that decides, and what is left of two loops

static cudaGraphNode_t conditional(cudaGraph_t graph, const cudaGraphNode_t *before, cudaGraphConditionalHandle handle,
                                   cudaGraphConditionalNodeType type, unsigned size, cudaGraph_t *bodies) {
    cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
    p.conditional.handle = handle;
    p.conditional.type = type;
    p.conditional.size = size;
    cudaGraphNode_t node;
    OK(cudaGraphAddNode(&node, graph, before, nullptr, before != nullptr, &p));
    for (unsigned n = 0; n < size; n++) bodies[n] = p.conditional.phGraph_out[n];
    return node;
}

template <typename Work> static void captured(cudaGraph_t graph, const cudaGraphNode_t *before, Work work) {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCaptureToGraph(stream, graph, before, nullptr, before != nullptr, cudaStreamCaptureModeGlobal));
    work(stream);
    cudaGraph_t same;
    OK(cudaStreamEndCapture(stream, &same));
    IS(same == graph, 1);
    OK(cudaStreamDestroy(stream));
}

// What a graph makes of 0, if `x[1]` is the number.
static int made_of(cudaGraphExec_t made, int number) {
    int values[4] = {0, number};
    OK(cudaMemcpy(x, values, sizeof values, cudaMemcpyHostToDevice));
    OK(cudaGraphLaunch(made, 0));
    OK(cudaMemcpy(values, x, sizeof values, cudaMemcpyDeviceToHost));
    return values[0];
}

static void if_else_and_switch(cudaGraphConditionalNodeType type, unsigned size, const int *expected) {
    cudaGraph_t graph, bodies[3];
    cudaGraphConditionalHandle handle;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    captured(graph, nullptr, [&](cudaStream_t stream) { set<<<1, 1, 0, stream>>>(handle, x + 1); });
    cudaGraphNode_t first;
    size_t count = 1;
    OK(cudaGraphGetNodes(graph, &first, &count));
    cudaGraphNode_t node = conditional(graph, &first, handle, type, size, bodies);
    cudaGraphNodeType kind;
    OK(cudaGraphNodeGetType(node, &kind));
    IS(kind, cudaGraphNodeTypeConditional);
    for (unsigned n = 0; n < size; n++)
        captured(bodies[n], nullptr, [&](cudaStream_t stream) { add<<<1, 1, 0, stream>>>(x, 10 + n); });
    captured(graph, &node, [&](cudaStream_t stream) { add<<<1, 1, 0, stream>>>(x, 100); });
    cudaGraphExec_t made;
    OK(cudaGraphInstantiate(&made, graph, 0));
    OK(cudaGraphDestroy(graph));
    for (int number = 0; number < 4; number++) IS(made_of(made, number), expected[number]);
    OK(cudaGraphExecDestroy(made));
}

// A loop of `x[2]` turns in a loop of 3. Where the inner condition has a default, it is assigned once per launch.
static void loops() {
    cudaGraph_t graph, outer, inner;
    cudaGraphConditionalHandle outer_handle, inner_handle;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&outer_handle, graph, 1, cudaGraphCondAssignDefault));
    captured(graph, nullptr, [&](cudaStream_t stream) { fill<<<1, 1, 0, stream>>>(x + 3, 3); });
    cudaGraphNode_t first;
    size_t count = 1;
    OK(cudaGraphGetNodes(graph, &first, &count));
    conditional(graph, &first, outer_handle, cudaGraphCondTypeWhile, 1, &outer);
    OK(cudaGraphConditionalHandleCreate(&inner_handle, outer, 1, cudaGraphCondAssignDefault));
    captured(outer, nullptr, [&](cudaStream_t stream) {
        add<<<1, 1, 0, stream>>>(x, 100);
        fill<<<1, 1, 0, stream>>>(x + 2, 4);
        count_down<<<1, 1, 0, stream>>>(outer_handle, x + 3);
    });
    cudaGraphNode_t nodes[3];
    count = 3;
    OK(cudaGraphGetNodes(outer, nodes, &count));
    conditional(outer, &nodes[2], inner_handle, cudaGraphCondTypeWhile, 1, &inner);
    captured(inner, nullptr, [&](cudaStream_t stream) {
        add<<<1, 1, 0, stream>>>(x, 1);
        count_down<<<1, 1, 0, stream>>>(inner_handle, x + 2);
    });
    cudaGraphExec_t made;
    OK(cudaGraphInstantiate(&made, graph, 0));
    for (int k = 0; k < 2; k++) printf("%d turns\n", made_of(made, 0));
    OK(cudaGraphExecDestroy(made));
    OK(cudaGraphDestroy(graph));
}

// A node that is added by hand to what a stream captures, between its work.
static void added_to_a_capture() {
    cudaStream_t stream;
    cudaStreamCaptureStatus status;
    cudaGraph_t graph, body;
    cudaGraphConditionalHandle handle;
    const cudaGraphNode_t *last;
    size_t count;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &last, nullptr, &count));
    IS(status, cudaStreamCaptureStatusActive);
    IS(count, 0);
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    set<<<1, 1, 0, stream>>>(handle, x + 1);
    OK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &last, nullptr, &count));
    IS(count, 1);
    cudaGraphNode_t node = conditional(graph, last, handle, cudaGraphCondTypeIf, 1, &body);
    OK(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
    add<<<1, 1, 0, stream>>>(x, 100);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, stream>>>(x, 10);
    OK(cudaStreamEndCapture(stream, nullptr));
    cudaGraphExec_t made;
    OK(cudaGraphInstantiate(&made, graph, 0));
    IS(made_of(made, 0), 100);
    IS(made_of(made, 1), 110);
}

int main() {
    OK(cudaMalloc(&x, 4 * sizeof(int)));
    const int of_if[] = {100, 110, 110, 110}, of_else[] = {111, 110, 110, 110}, of_switch[] = {110, 111, 112, 100};
    if_else_and_switch(cudaGraphCondTypeIf, 1, of_if);
    if_else_and_switch(cudaGraphCondTypeIf, 2, of_else);
    if_else_and_switch(cudaGraphCondTypeSwitch, 3, of_switch);
    added_to_a_capture();
    loops();
    printf("done\n");
}
