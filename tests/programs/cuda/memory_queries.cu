// What managed memory was advised, memory of graphs, boxes copied in one call, functions of nodes: as one H200 answered.
#include <cstring>
#include "expect.h"

static const size_t MIB = 1 << 20;
static cudaMemLocation at(cudaMemLocationType type, int id = 0) {
    cudaMemLocation place = {};
    place.type = type;
    place.id = id;
    return place;
}
static int asked(cudaMemRangeAttribute what, const void *from, size_t size) {
    int value = 77;
    OK(cudaMemRangeGetAttribute(&value, sizeof value, what, from, size));
    return value;
}
static void are(const void *from, size_t size, int read, int preferred, int prefetched) {
    int by[3] = {77, 77, 77};
    OK(cudaMemRangeGetAttribute(by, sizeof by, cudaMemRangeAttributeAccessedBy, from, size));
    IS(asked(cudaMemRangeAttributeReadMostly, from, size), read);
    IS(asked(cudaMemRangeAttributePreferredLocation, from, size), preferred);
    IS(asked(cudaMemRangeAttributeLastPrefetchLocation, from, size), prefetched);
    printf("accessed by %d %d %d\n", by[0], by[1], by[2]);
}
static void ranges(cudaStream_t s) {
    char *m, *d, *h = new char[100];
    cudaMemLocation device = at(cudaMemLocationTypeDevice), host = at(cudaMemLocationTypeHost);
    OK(cudaMallocManaged(&m, 8 * MIB));
    OK(cudaMalloc(&d, MIB));
    are(m, 8 * MIB, 0, -2, -2);
    OK(cudaMemAdvise(m, 4 * MIB, cudaMemAdviseSetReadMostly, device));
    are(m, 4 * MIB, 1, -2, -2);
    are(m, 8 * MIB, 0, -2, -2);
    are(m + 4 * MIB, 4 * MIB, 0, -2, -2);
    OK(cudaMemAdvise(m, 8 * MIB, cudaMemAdviseSetPreferredLocation, device));
    are(m, 8 * MIB, 0, 0, -2);
    OK(cudaMemAdvise(m, 4 * MIB, cudaMemAdviseSetPreferredLocation, host));
    are(m, 4 * MIB, 1, -1, -2);
    are(m, 8 * MIB, 0, -2, -2);
    OK(cudaMemAdvise(m, 8 * MIB, cudaMemAdviseSetAccessedBy, device));
    are(m, 8 * MIB, 0, -2, -2);
    OK(cudaMemAdvise(m, 8 * MIB, cudaMemAdviseSetAccessedBy, host));
    are(m, 8 * MIB, 0, -2, -2);
    OK(cudaMemPrefetchAsync(m, 8 * MIB, device, 0, s));
    are(m, 8 * MIB, 0, -2, 0);
    OK(cudaMemPrefetchAsync(m + 100, 1000, host, 0, s));
    are(m, 4096, 1, -1, -1);
    are(m, 8192, 1, -1, -2);
    are(m + 4096, 4096, 1, -1, 0);
    are(m, 8 * MIB, 0, -2, -2);
    are(m + 10, 10, 1, -1, -1);
    OK(cudaStreamSynchronize(s));
    are(m, 4096, 1, -1, -1);
    OK(cudaMemAdvise(m, 8 * MIB, cudaMemAdviseUnsetAccessedBy, device));
    are(m, 8 * MIB, 0, -2, -2);
    OK(cudaMemAdvise(m, 8 * MIB, cudaMemAdviseUnsetPreferredLocation, device));
    OK(cudaMemAdvise(m, 8 * MIB, cudaMemAdviseUnsetReadMostly, device));
    are(m, 4096, 0, -2, -1);
    void *found[2];
    int read = 5, where = 5;
    size_t sizes[2] = {4, 4};
    cudaMemRangeAttribute both[2] = {cudaMemRangeAttributeReadMostly, cudaMemRangeAttributePreferredLocation};
    found[0] = &read, found[1] = &where;
    OK(cudaMemRangeGetAttributes(found, sizes, both, 2, m, 8 * MIB));
    IS(read, 0);
    IS(where, -2);
    int type[2] = {77, 77};
    OK(cudaMemAdvise(m, 8 * MIB, cudaMemAdviseSetPreferredLocation, device));
    IS(asked(cudaMemRangeAttributePreferredLocationType, m, 8 * MIB), cudaMemLocationTypeDevice);
    IS(asked(cudaMemRangeAttributePreferredLocationId, m, 8 * MIB), 0);
    IS(asked(cudaMemRangeAttributeLastPrefetchLocationType, m + MIB, MIB), cudaMemLocationTypeDevice);
    IS(asked(cudaMemRangeAttributeLastPrefetchLocationId, m + MIB, MIB), 0);
    IS(asked(cudaMemRangeAttributeLastPrefetchLocationType, m, 4096), cudaMemLocationTypeHost);
    IS(asked(cudaMemRangeAttributeLastPrefetchLocationId, m, 4096), -1);
    IS(asked(cudaMemRangeAttributeLastPrefetchLocationType, m, MIB), cudaMemLocationTypeInvalid);
    IS(asked(cudaMemRangeAttributeLastPrefetchLocationId, m, MIB), -2);
    IS(cudaMemRangeGetAttribute(type, 2, cudaMemRangeAttributeReadMostly, m, MIB), cudaErrorInvalidValue);
    IS(cudaMemRangeGetAttribute(type, 8, cudaMemRangeAttributeReadMostly, m, MIB), cudaErrorInvalidValue);
    IS(cudaMemRangeGetAttribute(type, 6, cudaMemRangeAttributeAccessedBy, m, MIB), cudaErrorInvalidValue);
    IS(cudaMemRangeGetAttribute(type, 0, cudaMemRangeAttributeAccessedBy, m, MIB), cudaErrorInvalidValue);
    IS(cudaMemRangeGetAttribute(type, 4, cudaMemRangeAttributeReadMostly, m, 0), cudaErrorInvalidValue);
    IS(cudaMemRangeGetAttribute(type, 4, cudaMemRangeAttributeReadMostly, m, 9 * MIB), cudaErrorInvalidValue);
    IS(cudaMemRangeGetAttribute(type, 4, cudaMemRangeAttributeReadMostly, d, MIB), cudaErrorInvalidValue);
    IS(cudaMemRangeGetAttribute(type, 4, cudaMemRangeAttributeReadMostly, h, 100), cudaErrorInvalidValue);
    IS(cudaMemRangeGetAttribute(type, 4, (cudaMemRangeAttribute)99, m, MIB), cudaErrorInvalidValue);
    IS(cudaMemRangeGetAttribute(nullptr, 4, cudaMemRangeAttributeReadMostly, m, MIB), cudaErrorInvalidValue);
    IS(cudaMemAdvise(d, MIB, cudaMemAdviseSetReadMostly, device), cudaErrorInvalidValue);
    IS(cudaMemAdvise(m, 9 * MIB, cudaMemAdviseSetReadMostly, device), cudaErrorInvalidValue);
    IS(cudaMemAdvise(m, 0, cudaMemAdviseSetReadMostly, device), cudaErrorInvalidValue);
    IS(cudaMemAdvise(m, MIB, (cudaMemoryAdvise)9, device), cudaErrorInvalidValue);
    IS(cudaMemAdvise(m, MIB, cudaMemAdviseSetPreferredLocation, at(cudaMemLocationTypeDevice, 7)), cudaErrorInvalidValue);
    IS(cudaMemPrefetchAsync(d, MIB, device, 0, s), cudaErrorInvalidValue);
    IS(cudaMemPrefetchAsync(m, 9 * MIB, device, 0, s), cudaErrorInvalidValue);
    IS(cudaMemPrefetchAsync(m, 0, device, 0, s), cudaErrorInvalidValue);
    IS(cudaMemPrefetchAsync(m, MIB, at(cudaMemLocationTypeDevice, 7), 0, s), cudaErrorInvalidDevice);
    IS(cudaMemPrefetchAsync(m, MIB, device, 1, s), cudaErrorInvalidValue);
    IS(cudaMemPrefetchAsync(h, 100, device, 0, s), cudaErrorInvalidValue);
    void *starts[2] = {m, m + 4 * MIB};
    size_t many[2] = {MIB, MIB}, which[2] = {0, 1};
    cudaMemLocation places[2] = {device, host};
    OK(cudaMemPrefetchBatchAsync(starts, many, 2, places, which, 2, 0, s));
    are(m, MIB, 0, 0, 0);
    are(m + 4 * MIB, MIB, 0, 0, -1);
    which[0] = 1;
    IS(cudaMemPrefetchBatchAsync(starts, many, 2, places, which, 2, 0, s), cudaErrorInvalidValue);
    OK(cudaMemDiscardBatchAsync(starts, many, 2, 0, s));
    which[0] = 0;
    OK(cudaMemDiscardAndPrefetchBatchAsync(starts, many, 2, places, which, 2, 0, s));
    IS(cudaMemDiscardBatchAsync(starts, many, 0, 0, s), cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(s));
    cudaGetLastError();
    OK(cudaFree(m));
    OK(cudaFree(d));
}

static size_t of_graphs(cudaGraphMemAttributeType what) {
    unsigned long long value = 77;
    OK(cudaDeviceGetGraphMemAttribute(0, what, &value));
    return value;
}
// What graphs were given counts as used until it is trimmed.
static void held(size_t now, size_t most) {
    IS(of_graphs(cudaGraphMemAttrUsedMemCurrent), now);
    IS(of_graphs(cudaGraphMemAttrUsedMemHigh), most);
    IS(of_graphs(cudaGraphMemAttrReservedMemCurrent), now);
    IS(of_graphs(cudaGraphMemAttrReservedMemHigh), most);
}
static void graphs(cudaStream_t s) {
    cudaGraph_t graph;
    cudaGraphExec_t made;
    cudaGraphNode_t first, second, third, last;
    cudaMemAllocNodeParams p = {}, q;
    cudaMemsetParams fill = {};
    held(0, 0);
    OK(cudaGraphCreate(&graph, 0));
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location = at(cudaMemLocationTypeDevice);
    p.bytesize = 3 * MIB;
    q = p;
    q.bytesize = 1000;
    OK(cudaGraphAddMemAllocNode(&first, graph, nullptr, 0, &p));
    OK(cudaGraphAddMemAllocNode(&second, graph, &first, 1, &q));
    held(0, 0);
    fill.dst = p.dptr, fill.value = 5, fill.elementSize = 1, fill.width = 100, fill.height = 1;
    OK(cudaGraphAddMemsetNode(&third, graph, &second, 1, &fill));
    OK(cudaGraphAddMemFreeNode(&last, graph, &third, 1, q.dptr));
    OK(cudaGraphInstantiate(&made, graph, 0));
    held(0, 0);
    OK(cudaGraphLaunch(made, s));
    OK(cudaStreamSynchronize(s));
    held(32 * MIB, 32 * MIB);
    char got = 0;
    OK(cudaMemcpy(&got, p.dptr, 1, cudaMemcpyDefault));
    IS(got, 5);
    IS(cudaGraphLaunch(made, s), cudaErrorInvalidValue);
    OK(cudaDeviceGraphMemTrim(0));
    held(32 * MIB, 32 * MIB);
    OK(cudaFreeAsync(p.dptr, s));
    OK(cudaStreamSynchronize(s));
    held(32 * MIB, 32 * MIB);
    OK(cudaDeviceGraphMemTrim(0));
    held(0, 32 * MIB);
    OK(cudaGraphLaunch(made, s));
    OK(cudaFree(p.dptr));
    held(32 * MIB, 32 * MIB);
    unsigned long long nothing = 0, five = 5;
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &nothing));
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &nothing));
    held(32 * MIB, 32 * MIB);
    IS(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &five), cudaErrorInvalidValue);
    IS(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &nothing), cudaErrorInvalidValue);
    IS(cudaDeviceGetGraphMemAttribute(0, (cudaGraphMemAttributeType)9, &five), cudaErrorInvalidValue);
    IS(cudaDeviceGetGraphMemAttribute(1, cudaGraphMemAttrUsedMemHigh, &five), cudaErrorInvalidDevice);
    IS(cudaDeviceGraphMemTrim(1), cudaErrorInvalidDevice);
    OK(cudaGraphExecDestroy(made));
    OK(cudaGraphDestroy(graph));
    OK(cudaDeviceGraphMemTrim(0));
    held(0, 32 * MIB);
    // a graph of 40 MiB that frees what it allocates, and one that is freed at its launch
    OK(cudaGraphCreate(&graph, 0));
    p.bytesize = 40 * MIB;
    OK(cudaGraphAddMemAllocNode(&first, graph, nullptr, 0, &p));
    OK(cudaGraphAddMemFreeNode(&last, graph, &first, 1, p.dptr));
    OK(cudaGraphInstantiate(&made, graph, 0));
    OK(cudaGraphLaunch(made, s));
    OK(cudaStreamSynchronize(s));
    held(64 * MIB, 64 * MIB);
    OK(cudaGraphLaunch(made, s));
    OK(cudaStreamSynchronize(s));
    held(64 * MIB, 64 * MIB);
    OK(cudaGraphExecDestroy(made));
    OK(cudaGraphDestroy(graph));
    held(64 * MIB, 64 * MIB);
    OK(cudaDeviceGraphMemTrim(0));
    held(0, 64 * MIB);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&first, graph, nullptr, 0, &p));
    OK(cudaGraphInstantiateWithFlags(&made, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphLaunch(made, s));
    OK(cudaGraphLaunch(made, s));
    OK(cudaStreamSynchronize(s));
    held(64 * MIB, 64 * MIB);
    OK(cudaGraphExecDestroy(made));
    OK(cudaFree(p.dptr));
    OK(cudaGraphDestroy(graph));
}

static cudaMemcpy3DBatchOp box(void *to, const void *from, size_t to_row, size_t from_row, cudaExtent size) {
    cudaMemcpy3DBatchOp op = {};
    op.src.type = op.dst.type = cudaMemcpyOperandTypePointer;
    op.src.op.ptr.ptr = (void *)from, op.src.op.ptr.rowLength = from_row;
    op.dst.op.ptr.ptr = to, op.dst.op.ptr.rowLength = to_row;
    op.extent = size;
    op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    return op;
}
static void boxes(cudaStream_t s) {
    unsigned char from[4 * 4 * 4], to[4 * 4 * 4] = {}, *d;
    for (int n = 0; n < 64; n++) from[n] = n;
    OK(cudaMalloc(&d, 4096));
    OK(cudaMemset(d, 0, 4096));
    cudaMemcpy3DBatchOp ops[2] = {box(d, from, 8, 4, make_cudaExtent(3, 2, 2)), box(d + 1024, from + 32, 0, 0, make_cudaExtent(4, 4, 1))};
    ops[0].src.op.ptr.layerHeight = 4, ops[0].dst.op.ptr.layerHeight = 3;
    OK(cudaMemcpy3DBatchAsync(2, ops, 0, s));
    OK(cudaStreamSynchronize(s));
    unsigned char got[64];
    OK(cudaMemcpy(got, d, 64, cudaMemcpyDefault));
    IS(got[2], 2);
    IS(got[3], 0);
    IS(got[8], 4);
    IS(got[24], 16);
    IS(got[34], 22);
    OK(cudaMemcpy(got, d + 1024, 16, cudaMemcpyDefault));
    IS(got[15], 47);
    cudaArray_t array;
    cudaChannelFormatDesc as = cudaCreateChannelDesc<unsigned short>();
    OK(cudaMalloc3DArray(&array, &as, make_cudaExtent(8, 8, 2), 0));
    ops[0] = box(nullptr, from, 0, 2, make_cudaExtent(2, 4, 2));
    ops[0].dst.type = cudaMemcpyOperandTypeArray;
    ops[0].dst.op.array.array = array;
    ops[0].dst.op.array.offset.x = 3, ops[0].dst.op.array.offset.y = 1;
    ops[1] = box(to, nullptr, 4, 0, make_cudaExtent(4, 3, 1));
    ops[1].src.type = cudaMemcpyOperandTypeArray;
    ops[1].src.op.array.array = array;
    ops[1].src.op.array.offset.x = 2, ops[1].src.op.array.offset.y = 2, ops[1].src.op.array.offset.z = 1;
    OK(cudaMemcpy3DBatchAsync(1, ops, 0, s));
    OK(cudaMemcpy3DBatchAsync(1, ops + 1, 0, s));
    OK(cudaStreamSynchronize(s));
    IS(to[2], 20);
    IS(to[5], 23);
    IS(to[8 + 2], 24);
    IS(cudaMemcpy3DBatchAsync(0, ops, 0, s), cudaErrorInvalidValue);
    IS(cudaMemcpy3DBatchAsync(1, nullptr, 0, s), cudaErrorInvalidValue);
    IS(cudaMemcpy3DBatchAsync(1, ops, 1, s), cudaErrorInvalidValue);
    IS(cudaMemcpy3DBatchAsync(1, ops, 0, nullptr), cudaErrorInvalidValue);
    ops[0] = box(d, from, 2, 0, make_cudaExtent(4, 4, 1));
    IS(cudaMemcpy3DBatchAsync(1, ops, 0, s), cudaErrorInvalidValue);
    ops[0] = box(d, from, 0, 0, make_cudaExtent(4, 4, 0));
    IS(cudaMemcpy3DBatchAsync(1, ops, 0, s), cudaErrorInvalidValue);
    ops[0] = box(d, from, 0, 0, make_cudaExtent(4, 4, 1));
    ops[0].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    IS(cudaMemcpy3DBatchAsync(1, ops, 0, s), cudaErrorInvalidValue);
    ops[0].srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    ops[0].src.type = (cudaMemcpy3DOperandType)0;
    IS(cudaMemcpy3DBatchAsync(1, ops, 0, s), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaFreeArray(array));
    OK(cudaFree(d));
}

__global__ void put(int *p) { *p += 7; }
static void pool_of_the_host(cudaStream_t s) {
    cudaMemPool_t pool;
    cudaMemPoolProps of = {};
    int *p, *d, here = 5;
    of.allocType = cudaMemAllocationTypePinned;
    of.location.type = cudaMemLocationTypeHost;
    OK(cudaMemPoolCreate(&pool, &of));
    OK(cudaMallocFromPoolAsync(&p, 4, pool, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMalloc(&d, 4));
    OK(cudaMemset(d, 0, 4));
    *p = 3;
    OK(cudaMemcpy(p, &here, 4, cudaMemcpyHostToHost));
    OK(cudaMemcpy(&here, p, 4, cudaMemcpyDefault));
    OK(cudaMemcpy(d, p, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(p, d, 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(p, d, 4, cudaMemcpyDefault));
    OK(cudaMemcpyAsync(p, d, 4, cudaMemcpyDefault, s));
    OK(cudaMemcpyAsync(d, p, 4, cudaMemcpyDefault, s));
    OK(cudaMemcpy2D(p, 4, d, 4, 4, 1, cudaMemcpyDefault));
    IS(cudaMemset(p, 1, 4), cudaErrorInvalidValue);
    printf("%d %d\n", *p, here);
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, p));
    printf("%d %d %d %d\n", a.type, a.device, a.devicePointer == p, a.hostPointer == p);
    cudaGetLastError();
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
}

static void nodes(cudaStream_t s) {
    cudaGraph_t graph;
    cudaGraphNode_t a, b, c;
    int *d;
    OK(cudaMalloc(&d, 4096));
    OK(cudaGraphCreate(&graph, 0));
    void *arguments[] = {&d};
    cudaKernelNodeParams k = {}, got = {};
    k.func = (void *)put, k.gridDim = 3, k.blockDim = 2, k.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&a, graph, nullptr, 0, &k));
    OK(cudaGraphKernelNodeGetParams(a, &got));
    IS(got.func == (void *)put, 1);
    IS(got.gridDim.x, 3);
    IS(*(int **)got.kernelParams[0] == d, 1);
    cudaMemsetParams f = {d, 0, 5, 4, 7, 1}, seen = {};
    OK(cudaGraphAddMemsetNode(&b, graph, &a, 1, &f));
    OK(cudaGraphMemsetNodeGetParams(b, &seen));
    printf("fill %d %zu %u %u %zu %zu\n", seen.dst == d, seen.pitch, seen.value, seen.elementSize, seen.width, seen.height);
    int h[8];
    OK(cudaGraphAddMemcpyNode1D(&c, graph, &b, 1, h, d, 32, cudaMemcpyDeviceToHost));
    cudaMemcpy3DParms m;
    OK(cudaGraphMemcpyNodeGetParams(c, &m));
    printf("copy %zu %zu %zu, %zu %zu %zu %d, %zu %zu %zu %d, %d\n", m.extent.width, m.extent.height, m.extent.depth,
           m.srcPtr.pitch, m.srcPtr.xsize, m.srcPtr.ysize, m.srcPtr.ptr == d, m.dstPtr.pitch, m.dstPtr.xsize,
           m.dstPtr.ysize, m.dstPtr.ptr == h, m.kind);
    IS(cudaGraphKernelNodeGetParams(b, &got), cudaErrorInvalidValue);
    IS(cudaGraphMemsetNodeGetParams(a, &seen), cudaErrorInvalidValue);
    IS(cudaGraphKernelNodeSetParams(b, &k), cudaErrorInvalidValue);
    IS(cudaGraphMemsetNodeSetParams(a, &f), cudaErrorInvalidValue);
    IS(cudaGraphMemcpyNodeSetParams1D(a, h, d, 32, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    size_t count = 0;
    IS(cudaDeviceGetTexture1DLinearMaxWidth(&count, nullptr, 0), cudaErrorInvalidValue);
    cudaGetLastError();
    cudaChannelFormatDesc as = cudaCreateChannelDesc<float4>();
    OK(cudaDeviceGetTexture1DLinearMaxWidth(&count, &as, 0));
    printf("%zu\n", count);
    as = cudaCreateChannelDesc<unsigned char>();
    OK(cudaDeviceGetTexture1DLinearMaxWidth(&count, &as, 0));
    printf("%zu\n", count);
    OK(cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice, cudaFlushGPUDirectRDMAWritesToOwner));
    OK(cudaGraphDestroy(graph));
    cudaGetLastError();
}

int main() {
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    ranges(s);
    printf("ranges\n");
    graphs(s);
    printf("graphs\n");
    boxes(s);
    printf("boxes\n");
    nodes(s);
    printf("nodes\n");
    pool_of_the_host(s);
    int *h = new int(3), can = 77;
    OK(cudaDeviceGetAttribute(&can, cudaDevAttrPageableMemoryAccess, 0));
    IS(can, 0);
    put<<<1, 1>>>(h);
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    printf("done\n");
}
