// Pools, batches of copies, nodes of graphs, clusters that run at once, words that streams write: as one H200 answered.
#include <cstring>
#include <cuda.h>
#include "expect.h"

static const size_t MIB = 1 << 20;
static cudaMemLocation device() {
    cudaMemLocation here = {};
    here.type = cudaMemLocationTypeDevice;
    return here;
}

static void is(cudaMemPool_t pool, size_t reserved, size_t most_reserved, size_t used, size_t most_used) {
    const size_t wanted[] = {reserved, most_reserved, used, most_used};
    for (int n = 0; n < 4; n++) {
        cuuint64_t got = ~0ull;
        OK(cudaMemPoolGetAttribute(pool, (cudaMemPoolAttr)(cudaMemPoolAttrReservedMemCurrent + n), &got));
        if (got != wanted[n]) printf("attribute %d is %llu, not %zu\n", n, (unsigned long long)got, wanted[n]);
    }
}

static void pools(cudaStream_t s) {
    cudaMemPool_t standard, pool, own;
    cudaMemLocation here = device(), none = {}, other = here;
    other.id = 7;
    OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    OK(cudaMemGetDefaultMemPool(&pool, &here, cudaMemAllocationTypePinned));
    IS(pool, standard);
    OK(cudaMemGetMemPool(&pool, &here, cudaMemAllocationTypePinned));
    IS(pool, standard);
    IS(cudaMemGetDefaultMemPool(&pool, &here, cudaMemAllocationTypeInvalid), cudaErrorInvalidValue);
    IS(cudaMemGetDefaultMemPool(&pool, &other, cudaMemAllocationTypePinned), cudaErrorInvalidValue);
    IS(cudaMemGetDefaultMemPool(&pool, &none, cudaMemAllocationTypePinned), cudaErrorInvalidValue);
    IS(cudaMemGetDefaultMemPool(&pool, nullptr, cudaMemAllocationTypePinned), cudaErrorInvalidValue);
    void *a, *b, *c;
    is(standard, 0, 0, 0, 0);
    OK(cudaMallocAsync(&a, 1000, s));
    is(standard, 32 * MIB, 32 * MIB, 1000, 1000);
    OK(cudaMallocAsync(&b, 5 * MIB, s));
    OK(cudaMallocAsync(&c, 100 * MIB, s));
    is(standard, 128 * MIB, 128 * MIB, 105 * MIB + 1000, 105 * MIB + 1000);
    OK(cudaFreeAsync(b, s));
    OK(cudaStreamSynchronize(s));
    is(standard, 128 * MIB, 128 * MIB, 100 * MIB + 1000, 105 * MIB + 1000);
    cuuint64_t bytes = ~0ull, nothing = 0, five = 5;
    OK(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrReleaseThreshold, &bytes));
    OK(cudaFreeAsync(c, s));
    OK(cudaFreeAsync(a, s));
    OK(cudaStreamSynchronize(s));
    is(standard, 128 * MIB, 128 * MIB, 0, 105 * MIB + 1000);
    OK(cudaMemPoolTrimTo(standard, 0));
    is(standard, 0, 128 * MIB, 0, 105 * MIB + 1000);
    OK(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrUsedMemHigh, &nothing));
    OK(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrReservedMemHigh, &nothing));
    is(standard, 0, 0, 0, 0);
    IS(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrUsedMemHigh, &five), cudaErrorInvalidValue);
    IS(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrUsedMemCurrent, &nothing), cudaErrorInvalidValue);
    IS(cudaMemPoolGetAttribute(standard, (cudaMemPoolAttr)77, &bytes), cudaErrorInvalidValue);
    int yes = 0, no = 0;
    OK(cudaMemPoolGetAttribute(standard, cudaMemPoolReuseAllowOpportunistic, &yes));
    IS(yes, 1);
    OK(cudaMemPoolSetAttribute(standard, cudaMemPoolReuseAllowOpportunistic, &no));
    OK(cudaMemPoolGetAttribute(standard, cudaMemPoolReuseAllowOpportunistic, &yes));
    IS(yes, 0);
    cudaMemPoolProps of = {};
    of.allocType = cudaMemAllocationTypePinned;
    of.location = here;
    OK(cudaMemPoolCreate(&own, &of));
    OK(cudaMallocFromPoolAsync(&a, 4096, own, s));
    OK(cudaDeviceSetMemPool(0, own));
    OK(cudaMallocAsync(&b, 8192, s));
    is(own, 32 * MIB, 32 * MIB, 12288, 12288);
    is(standard, 0, 0, 0, 0);
    OK(cudaMemSetMemPool(&here, cudaMemAllocationTypePinned, standard));
    OK(cudaDeviceGetMemPool(&pool, 0));
    IS(pool, standard);
    OK(cudaFreeAsync(a, s));
    OK(cudaFreeAsync(b, s));
    OK(cudaStreamSynchronize(s));
    is(own, 0, 32 * MIB, 0, 12288);
    OK(cudaMemPoolDestroy(own));
    IS(cudaMemPoolDestroy(standard), cudaErrorInvalidValue);
    of.maxSize = MIB;
    OK(cudaMemPoolCreate(&own, &of));
    OK(cudaMallocFromPoolAsync(&a, MIB / 2, own, s));
    IS(cudaMallocFromPoolAsync(&b, 64 * MIB, own, s), cudaErrorMemoryAllocation);
    of.location = other;
    IS(cudaMemPoolCreate(&own, &of), cudaErrorInvalidValue);
}

static void batches(cudaStream_t s) {
    char here[256], back[256], *d;
    for (int n = 0; n < 256; n++) here[n] = n;
    OK(cudaMalloc(&d, 256));
    void *to[] = {d, d + 64, d + 128};
    const void *from[] = {here, here + 64, here + 128};
    size_t sizes[] = {64, 64, 128}, first[] = {0, 1};
    cudaMemcpyAttributes how[2] = {};
    how[0].srcAccessOrder = how[1].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    OK(cudaMemcpyBatchAsync(to, from, sizes, 3, how, first, 2, s));
    OK(cudaMemcpy(back, d, 256, cudaMemcpyDefault));
    IS(memcmp(back, here, 256), 0);
    IS(cudaMemcpyBatchAsync(to, from, sizes, 3, how, first, 1, nullptr), cudaErrorInvalidValue);
    IS(cudaMemcpyBatchAsync(to, from, sizes, 3, how, first, 0, s), cudaErrorInvalidValue);
    IS(cudaMemcpyBatchAsync(to, from, sizes, 0, how, first, 1, s), cudaErrorInvalidValue);
    IS(cudaMemcpyBatchAsync(to, from, sizes, 3, how, first + 1, 1, s), cudaErrorInvalidValue);
    how[0].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    IS(cudaMemcpyBatchAsync(to, from, sizes, 3, how, first, 1, s), cudaErrorInvalidValue);
    how[0].srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    sizes[1] = 0;
    IS(cudaMemcpyBatchAsync(to, from, sizes, 3, how, first, 1, s), cudaErrorInvalidValue);
    sizes[1] = 64;
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    IS(cudaMemcpyBatchAsync(to, from, sizes, 3, how, first, 1, s), cudaErrorStreamCaptureUnsupported);
    OK(cudaStreamEndCapture(s, &graph));
    cudaMemcpy3DPeerParms box = {};
    box.srcPtr = make_cudaPitchedPtr(d, 16, 16, 4);
    box.dstPtr = make_cudaPitchedPtr(d + 128, 16, 16, 4);
    box.extent = make_cudaExtent(16, 4, 1);
    OK(cudaMemcpy3DPeer(&box));
    OK(cudaMemcpy(back, d + 128, 64, cudaMemcpyDefault));
    IS(memcmp(back, here, 64), 0);
    box.dstDevice = 3;
    IS(cudaMemcpy3DPeer(&box), cudaErrorInvalidDevice);
    CUcontext context;
    OK(cuCtxGetCurrent(&context));
    OK(cuMemcpyPeer((CUdeviceptr)d, context, (CUdeviceptr)d + 128, context, 64));
}

__global__ void add(int *p, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) p[i] += 1;
}
__device__ unsigned arrived;
__global__ void across(int *p) { // needs a cooperative launch, of which a grid has a place of its own
    unsigned long long place;
    asm("{ .reg .b32 low, high; mov.b32 low, %%envreg2; mov.b32 high, %%envreg1; mov.b64 %0, {low, high}; }" : "=l"(place));
    if (threadIdx.x) return;
    unsigned all = (atomicAdd(&arrived, 1) / gridDim.x + 1) * gridDim.x;
    while (*(volatile unsigned *)&arrived < all) {}
    p[blockIdx.x] = place != 0;
}
static void count(void *calls) { ++*(int *)calls; }

static void graphs(cudaStream_t s) {
    int *d, calls = 0, all = 64, half = 32, seen[256];
    OK(cudaMalloc(&d, 1024));
    OK(cudaMemset(d, 0, 1024));
    cudaEvent_t one, two, got;
    OK(cudaEventCreate(&one));
    OK(cudaEventCreate(&two));
    cudaGraph_t g, child, other;
    cudaGraphNode_t kernel, fill, copy, host, record, wait, take, give, inner, nested;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphCreate(&child, 0));
    OK(cudaGraphCreate(&other, 0));
    void *arguments[] = {&d, &all}, *fewer[] = {&d, &half};
    cudaKernelNodeParams add_all = {}, of_kernel = {};
    add_all.func = (void *)add;
    add_all.gridDim = 2;
    add_all.blockDim = 32;
    add_all.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&kernel, g, nullptr, 0, &add_all));
    cudaMemsetParams set = {}, of_fill = {};
    set.dst = d + 128;
    set.value = 7;
    set.elementSize = 4;
    set.width = 8;
    set.height = 1;
    OK(cudaGraphAddMemsetNode(&fill, g, nullptr, 0, &set));
    OK(cudaGraphMemsetNodeGetParams(fill, &of_fill));
    IS(memcmp(&set, &of_fill, sizeof set), 0);
    IS(cudaGraphMemsetNodeGetParams(kernel, &of_fill), cudaErrorInvalidValue);
    cudaMemcpy3DParms move = {}, of_copy = {};
    move.srcPtr = make_cudaPitchedPtr(d, 64, 16, 1);
    move.dstPtr = make_cudaPitchedPtr(d + 160, 64, 16, 1);
    move.extent = make_cudaExtent(64, 1, 1);
    move.kind = cudaMemcpyDeviceToDevice;
    OK(cudaGraphAddMemcpyNode(&copy, g, &kernel, 1, &move));
    OK(cudaGraphMemcpyNodeGetParams(copy, &of_copy));
    IS(of_copy.srcPtr.ptr, d);
    IS(of_copy.dstPtr.ptr, d + 160);
    IS(of_copy.srcPtr.pitch, 64);
    IS(of_copy.srcPtr.ysize, 1);
    IS(of_copy.extent.width, 64);
    IS(of_copy.kind, cudaMemcpyDeviceToDevice);
    cudaHostNodeParams call = {}, of_host = {};
    call.fn = count;
    call.userData = &calls;
    OK(cudaGraphAddHostNode(&host, g, &copy, 1, &call));
    OK(cudaGraphHostNodeGetParams(host, &of_host));
    IS(of_host.fn, count);
    IS(of_host.userData, &calls);
    IS(cudaGraphHostNodeGetParams(copy, &of_host), cudaErrorInvalidValue);
    OK(cudaGraphAddEventRecordNode(&record, g, &host, 1, one));
    OK(cudaGraphAddEventWaitNode(&wait, g, &record, 1, one));
    OK(cudaGraphEventRecordNodeGetEvent(record, &got));
    IS(got, one);
    IS(cudaGraphEventRecordNodeGetEvent(wait, &got), cudaErrorInvalidValue);
    OK(cudaGraphEventRecordNodeSetEvent(record, two));
    OK(cudaGraphEventWaitNodeSetEvent(wait, two));
    OK(cudaGraphEventWaitNodeGetEvent(wait, &got));
    IS(got, two);
    IS(cudaGraphEventRecordNodeSetEvent(kernel, two), cudaErrorInvalidValue);
    cudaMemAllocNodeParams memory = {}, of_memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location = device();
    memory.bytesize = 4096;
    OK(cudaGraphAddMemAllocNode(&take, g, nullptr, 0, &memory));
    OK(cudaGraphAddMemFreeNode(&give, g, &take, 1, memory.dptr));
    OK(cudaGraphMemAllocNodeGetParams(take, &of_memory));
    IS(of_memory.dptr, memory.dptr);
    IS(of_memory.bytesize, 4096);
    IS(of_memory.poolProps.allocType, cudaMemAllocationTypePinned);
    void *start = nullptr;
    OK(cudaGraphMemFreeNodeGetParams(give, &start));
    IS(start, memory.dptr);
    OK(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &add_all));
    add_all.kernelParams = fewer;
    OK(cudaGraphAddKernelNode(&inner, other, nullptr, 0, &add_all));
    OK(cudaGraphAddChildGraphNode(&nested, g, &wait, 1, child));
    cudaGraphExec_t made;
    unsigned long long flags = 9;
    OK(cudaGraphInstantiate(&made, g, 0));
    OK(cudaGraphExecGetFlags(made, &flags));
    IS(flags, 0);
    OK(cudaGraphLaunch(made, s));
    OK(cudaStreamSynchronize(s));
    IS(calls, 1);
    OK(cudaEventQuery(two));
    OK(cudaGraphExecChildGraphNodeSetParams(made, nested, other));
    OK(cudaGraphExecEventRecordNodeSetEvent(made, record, one));
    IS(cudaGraphExecEventRecordNodeSetEvent(made, wait, one), cudaErrorInvalidValue);
    cudaGraphNodeParams any = {};
    any.type = cudaGraphNodeTypeKernel;
    any.kernel.func = (void *)add;
    any.kernel.gridDim = 1;
    any.kernel.blockDim = 32;
    any.kernel.kernelParams = arguments;
    OK(cudaGraphNodeSetParams(kernel, &any));
    OK(cudaGraphExecNodeSetParams(made, kernel, &any));
    IS(cudaGraphNodeSetParams(fill, &any), cudaErrorInvalidValue);
    OK(cudaGraphKernelNodeGetParams(kernel, &of_kernel));
    IS(of_kernel.gridDim.x, 1);
    OK(cudaGraphLaunch(made, s));
    OK(cudaMemcpy(seen, d, 1024, cudaMemcpyDefault));
    IS(seen[20], 4);
    IS(seen[40], 2); // as the first launch left it
    OK(cudaGraphExecDestroy(made));
    // A node keeps its attributes when its parameters are replaced.
    cudaGraph_t grid;
    cudaGraphNode_t node, twin;
    cudaLaunchAttributeValue value = {};
    void *place[] = {&d};
    cudaKernelNodeParams sync = {};
    sync.func = (void *)across;
    sync.gridDim = 4;
    sync.blockDim = 32;
    sync.kernelParams = place;
    OK(cudaGraphCreate(&grid, 0));
    OK(cudaGraphAddKernelNode(&node, grid, nullptr, 0, &sync));
    OK(cudaGraphAddKernelNode(&twin, grid, &node, 1, &sync));
    value.priority = -1;
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority, &value));
    value.cooperative = 1;
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeCooperative, &value));
    OK(cudaGraphKernelNodeCopyAttributes(twin, node));
    OK(cudaGraphKernelNodeSetParams(twin, &sync));
    value.cooperative = 0;
    OK(cudaGraphKernelNodeGetAttribute(twin, cudaLaunchAttributeCooperative, &value));
    IS(value.cooperative, 1);
    OK(cudaGraphKernelNodeGetAttribute(twin, cudaLaunchAttributePriority, &value));
    IS(value.priority, -1);
    IS(cudaGraphKernelNodeGetAttribute(fill, cudaLaunchAttributePriority, &value), cudaErrorInvalidValue);
    OK(cudaGraphInstantiate(&made, grid, 0));
    OK(cudaGraphLaunch(made, s));
    OK(cudaMemcpy(seen, d, 16, cudaMemcpyDefault));
    IS(seen[3], 1);
}

__global__ void spread(int *p) {
    extern __shared__ char bytes[];
    __cluster_barrier_arrive(), __cluster_barrier_wait();
    p[0] = bytes[0];
}
__global__ void __cluster_dims__(2, 1, 1) of_two(int *p) { p[0] = 1; }

static void clusters() {
    const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16};
    const struct { int shared, wanted[12]; } rows[] = { // of 128 threads: 8 or more blocks to a multiprocessor, 4, 2, 1
        {0, {1056, 528, 327, 248, 193, 163, 139, 124, 88, 74, 65, 58}},
        {50000, {528, 264, 163, 124, 94, 79, 69, 62, 44, 37, 30, 28}},
        {100000, {264, 132, 79, 62, 47, 39, 32, 30, 21, 16, 14, 14}},
        {200000, {132, 66, 39, 30, 22, 17, 15, 15, 7, 7, 7, 7}}};
    OK(cudaFuncSetAttribute(spread, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000));
    cudaLaunchAttribute cluster;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cudaLaunchConfig_t c = {};
    c.blockDim = 128;
    c.attrs = &cluster;
    int n = -1;
    OK(cudaOccupancyMaxPotentialClusterSize(&n, spread, &c));
    IS(n, 8);
    c.gridDim = 1024;
    OK(cudaOccupancyMaxActiveClusters(&n, spread, &c));
    IS(n, 0);
    OK(cudaOccupancyMaxActiveClusters(&n, of_two, &c));
    IS(n, 528);
    for (int large = 0; large < 2; large++) {
        OK(cudaFuncSetAttribute(spread, cudaFuncAttributeNonPortableClusterSizeAllowed, large));
        for (auto &row : rows)
            for (int k = 0; k < 12; k++) {
                c.numAttrs = 1;
                c.dynamicSmemBytes = row.shared;
                cluster.val.clusterDim = {(unsigned)sizes[k], 1, 1};
                c.gridDim = 1024 / sizes[k] * sizes[k];
                bool fits = large || sizes[k] <= 8;
                IS(cudaOccupancyMaxActiveClusters(&n, spread, &c), fits ? 0 : cudaErrorInvalidClusterSize);
                if (fits) IS(n, row.wanted[k]);
            }
    }
    c.numAttrs = 0;
    OK(cudaOccupancyMaxPotentialClusterSize(&n, spread, &c));
    IS(n, 16);
    c.numAttrs = 1;
    c.gridDim = 64;
    cluster.val.clusterDim = {3, 1, 1};
    IS(cudaOccupancyMaxActiveClusters(&n, spread, &c), cudaErrorInvalidClusterSize);
}

static void words(CUstream s) {
    CUdeviceptr d;
    unsigned seen[4];
    OK(cuMemAlloc(&d, 64));
    OK(cuMemsetD32(d, 0, 16));
    OK(cuStreamWriteValue32(s, d, 17, 0));
    OK(cuStreamWriteValue64(s, d + 8, 1234567890123ull, 0));
    IS(cuStreamWriteValue32(s, d + 1, 17, 0), CUDA_ERROR_INVALID_VALUE);
    IS(cuStreamWriteValue32(s, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamWaitValue32(s, d, 17, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWaitValue32(s, d, 16, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWaitValue32(s, d, 1, CU_STREAM_WAIT_VALUE_AND));
    OK(cuStreamWaitValue32(s, d, 1, CU_STREAM_WAIT_VALUE_NOR));
    OK(cuStreamWaitValue64(s, d + 8, 5, CU_STREAM_WAIT_VALUE_GEQ));
    IS(cuStreamWaitValue32(s, d, 0, 9), CUDA_ERROR_INVALID_VALUE);
    CUstreamBatchMemOpParams both[2] = {};
    both[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    both[0].writeValue.address = both[1].waitValue.address = d + 4;
    both[0].writeValue.value = both[1].waitValue.value = 5;
    both[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    both[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    OK(cuStreamBatchMemOp(s, 2, both, 0));
    OK(cuStreamBatchMemOp(s, 0, both, 0));
    IS(cuStreamBatchMemOp(s, 300, both, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyDtoH(seen, d, 16));
    IS(seen[0], 17);
    IS(seen[1], 5);
    IS(seen[2], 1912276171);
    IS(seen[3], 287);
    // An H200 waits here until somebody writes the word. Work of streams is done at once by banksim, which refuses.
    IS(cuStreamWaitValue32(s, d, 18, CU_STREAM_WAIT_VALUE_EQ), CUDA_ERROR_NOT_SUPPORTED);
}

int main() {
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    pools(s);
    batches(s);
    graphs(s);
    clusters();
    words(s);
    printf("done\n");
}
