// One program for many tests: its first argument chooses what it does. Every check tells when it fails.
#include <cassert>
#include <cerrno>
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
namespace cg = cooperative_groups;

static int failed = 0;
static void expect(bool good, const char *what) {
    if (!good) printf("WRONG: %s\n", what), failed++;
}
static void returns(cudaError_t wanted, cudaError_t got, const char *what, int line) {
    if (got != wanted) printf("line %d: %s: %s, not %s\n", line, what, cudaGetErrorName(got), cudaGetErrorName(wanted)), failed++;
}
#define CHECK(CALL) returns(cudaSuccess, CALL, #CALL, __LINE__)
#define REFUSED(ERROR, CALL) returns(ERROR, CALL, #CALL, __LINE__)

// The host's memory, of which none is left once it is full; the libraries that a program uses call this function too.
static bool full = false;
extern "C" void *__libc_calloc(size_t count, size_t size);
extern "C" void *calloc(size_t count, size_t size) {
    if (!full) return __libc_calloc(count, size);
    errno = ENOMEM;
    return nullptr;
}

// ---- kernels
__constant__ float factor[4];
__device__ int counter, initialised = 7;
__managed__ int shared_with_host[2] = {5, 6};
struct Node { int value; Node *next; };
__device__ Node *list;

__global__ void twice_each(int *a) { a[threadIdx.x] = 2 * a[threadIdx.x] + 1; }
__global__ void scale(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= factor[i % 4];
    atomicAdd(&counter, initialised - 6);
}
__global__ void columns(float *a) { // the store has no conflict, the load 32 ways of them
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = a[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    a[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void reversed(int *out, int n) {
    extern __shared__ int s[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = i;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = s[n - 1 - i];
}
__global__ void together(int *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    cg::this_grid().sync();
    int other = a[n - 1 - i];
    cg::this_grid().sync();
    a[i] = other;
}
__global__ void add_managed(int *m) {
    m[threadIdx.x] += shared_with_host[0] + shared_with_host[1] + threadIdx.x;
    __syncthreads();
    if (!threadIdx.x) shared_with_host[0] = 70;
}
__global__ void push(int value) { list = new Node{value, list}; }
__global__ void pop(int *out) {
    int sum = 0;
    while (list) {
        Node *next = list->next;
        sum = 10 * sum + list->value;
        delete list;
        list = next;
    }
    *out = sum;
}
__global__ void say(int k) { if (threadIdx.x < 2) printf("thread %d of %d\n", threadIdx.x, k); }
__global__ void store(int *a, int i, int value) { a[i] = value; }
__global__ void store_far(char *a, int i) { *(int *)(a + i) = 1; }
__global__ void check_that(int *a, int i) { assert(a[i] == 1); }
__global__ void give_up() { __trap(); }
__global__ void store_as_global(int i) { // an address of shared memory
    __shared__ int tile[8];
    asm volatile("st.global.u32 [%0], %1;" ::"l"(&tile[i]), "r"(i) : "memory");
}
__device__ __noinline__ int add_up(int n) {
    volatile int here[16];
    here[n & 15] = n;
    return n ? add_up(n - 1) + here[n & 15] : 0;
}
__global__ void nested(int n, int *out) { *out = add_up(n); }
__global__ void for_ever(volatile int *a) { while (!*a) {} }
__global__ void sum_list(Node *n, int *out) {
    int sum = 0;
    for (; n; n = n->next) sum += n->value;
    *out = sum;
}

// ---- what there is to do
static void symbols() {
    const int n = 1000;
    float *a, host[n], factors[4] = {1, 2, 3, 4};
    for (int i = 0; i < n; i++) host[i] = i;
    CHECK(cudaMalloc(&a, sizeof host));
    CHECK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(factor, factors, sizeof factors));
    scale<<<8, 128>>>(a, n);
    float second = 20;
    CHECK(cudaMemcpyToSymbol(factor, &second, sizeof second, sizeof(float)));
    scale<<<8, 128>>>(a, n);
    CHECK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost));
    bool good = true;
    for (int i = 0; i < n; i++) good &= host[i] == i * factors[i % 4] * (i % 4 == 1 ? 20 : factors[i % 4]);
    expect(good, "constant memory is as it was last filled");
    int count, *place;
    size_t size;
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    expect(count == 2 * 1024, "a variable keeps its value from launch to launch");
    CHECK(cudaGetSymbolAddress((void **)&place, counter));
    CHECK(cudaGetSymbolSize(&size, factor));
    expect(size == 16, "the size of a variable");
    CHECK(cudaMemset(place, 0, 4));
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    expect(!count, "a variable has an address");
    REFUSED(cudaErrorInvalidValue, cudaMemcpyToSymbol(counter, factors, 8));
    REFUSED(cudaErrorInvalidSymbol, cudaMemcpyToSymbol("counter", factors, 4));
}

static void memory() {
    char host[60], back[60] = {0};
    for (int i = 0; i < 60; i++) host[i] = i;
    char *a;
    size_t pitch;
    CHECK(cudaMallocPitch(&a, &pitch, 10, 6));
    expect(pitch >= 10 && pitch % 512 == 0, "pitch");
    CHECK(cudaMemcpy2D(a, pitch, host, 10, 10, 6, cudaMemcpyHostToDevice));
    CHECK(cudaMemset2D(a + pitch, pitch, 99, 5, 2));
    CHECK(cudaMemcpy2D(back, 10, a, pitch, 10, 6, cudaMemcpyDeviceToHost));
    expect(back[9] == 9 && back[10] == 99 && back[15] == 15 && back[24] == 99 && back[59] == 59, "two dimensions");
    REFUSED(cudaErrorInvalidPitchValue, cudaMemcpy2D(back, 5, a, pitch, 10, 6, cudaMemcpyDeviceToHost));
    cudaPitchedPtr box;
    CHECK(cudaMalloc3D(&box, make_cudaExtent(4, 3, 5)));
    cudaMemcpy3DParms c = {};
    c.srcPtr = make_cudaPitchedPtr(host, 4, 4, 3), c.dstPtr = box, c.extent = make_cudaExtent(4, 3, 5), c.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&c));
    memset(back, 0, sizeof back);
    c.dstPtr = make_cudaPitchedPtr(back, 4, 4, 3), c.srcPtr = box, c.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&c));
    expect(!memcmp(host, back, 60), "three dimensions");

    int *m, *pinned, *seen, own[64] = {0};
    CHECK(cudaMallocManaged(&m, 32 * 4));
    m[31] = 1000;
    add_managed<<<1, 32>>>(m);
    CHECK(cudaDeviceSynchronize());
    expect(m[31] == 1000 + 11 + 31 && shared_with_host[0] == 70, "managed memory");
    CHECK(cudaHostAlloc(&pinned, 128, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&seen, pinned, 0));
    store<<<1, 1>>>(seen, 5, 8);
    CHECK(cudaDeviceSynchronize());
    expect(pinned[5] == 8, "mapped memory of the host");
    own[1] = 3;
    CHECK(cudaHostRegister(own, sizeof own, cudaHostRegisterMapped));
    REFUSED(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own, sizeof own, 0));
    CHECK(cudaHostGetDevicePointer(&seen, own, 0));
    store<<<1, 1>>>(seen, 63, 4);
    CHECK(cudaDeviceSynchronize());
    expect(own[63] == 4 && own[1] == 3, "registered memory of the host");
    CHECK(cudaHostUnregister(own));
    expect(own[63] == 4, "memory keeps its bytes");
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, m + 3));
    expect(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == m + 3, "attributes of managed memory");
    CHECK(cudaPointerGetAttributes(&attributes, own));
    expect(attributes.type == cudaMemoryTypeUnregistered, "attributes of the host's own memory");
    REFUSED(cudaErrorInvalidValue, cudaMemcpy(a, host, 60, cudaMemcpyDeviceToHost));
    REFUSED(cudaErrorInvalidValue, cudaMemcpy(host, back, 60, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(a, host, 60, cudaMemcpyDefault));
    REFUSED(cudaErrorInvalidValue, cudaFree(a + 1));
    CHECK(cudaFree(a));
    REFUSED(cudaErrorInvalidValue, cudaFree(a));
    CHECK(cudaFree(nullptr));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(m));
    CHECK(cudaMallocAsync(&a, 100, 0));
    CHECK(cudaFreeAsync(a, 0));
    size_t available, total;
    CHECK(cudaMemGetInfo(&available, &total));
    expect(available <= total && total == 150109880320, "memory information"); // an H200's
}

static void count_call(void *data) { ++*(int *)data; }
static void streams() {
    cudaStream_t s, other;
    cudaEvent_t before, after;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, -1));
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreateWithFlags(&after, cudaEventDisableTiming));
    int *a, calls = 0, host = 0, priority;
    CHECK(cudaStreamGetPriority(other, &priority));
    expect(priority == -1, "priority");
    CHECK(cudaMalloc(&a, 64));
    CHECK(cudaMemset(a, 0, 64));
    CHECK(cudaEventRecord(before, s));
    store<<<1, 1, 0, s>>>(a, 0, 1);
    CHECK(cudaLaunchHostFunc(s, count_call, &calls));
    CHECK(cudaStreamAddCallback(s, [](cudaStream_t, cudaError_t, void *data) { ++*(int *)data; }, &calls, 0));
    CHECK(cudaEventRecord(after, s));
    CHECK(cudaStreamWaitEvent(other, after, 0));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaEventQuery(after));
    expect(calls == 2, "callbacks");
    float time;
    REFUSED(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, before, after));

    cudaGraph_t graph;
    cudaGraphExec_t made;
    size_t nodes;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    store<<<1, 1, 0, s>>>(a, 1, 5);
    CHECK(cudaEventRecord(after, s));
    CHECK(cudaStreamWaitEvent(other, after, 0));
    store<<<1, 1, 0, other>>>(a, 2, 6);
    CHECK(cudaEventRecord(after, other));
    CHECK(cudaStreamWaitEvent(s, after, 0));
    CHECK(cudaMemcpyAsync(&host, a + 2, 4, cudaMemcpyDeviceToHost, s));
    CHECK(cudaLaunchHostFunc(s, count_call, &calls));
    CHECK(cudaStreamEndCapture(s, &graph));
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    expect(nodes == 4 && host == 0 && calls == 2, "a captured stream does nothing yet");
    CHECK(cudaGraphInstantiate(&made, graph, 0));
    for (int k = 0; k < 3; k++) CHECK(cudaGraphLaunch(made, s));
    CHECK(cudaStreamSynchronize(s));
    expect(host == 6 && calls == 5, "a graph that was captured from two streams");
    CHECK(cudaGraphExecDestroy(made));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(other));
    REFUSED(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(other));
}

static void launches() {
    int *o, first, blocks, block;
    const int big = 25000, total = 8 * 64;
    CHECK(cudaMalloc(&o, big * 4));
    reversed<<<1, 256, big * 4>>>(o, big);
    REFUSED(cudaErrorInvalidValue, cudaGetLastError());
    CHECK(cudaFuncSetAttribute(reversed, cudaFuncAttributeMaxDynamicSharedMemorySize, big * 4));
    reversed<<<1, 256, big * 4>>>(o, big);
    CHECK(cudaMemcpy(&first, o, 4, cudaMemcpyDeviceToHost));
    expect(first == big - 1, "100,000 bytes of shared memory");
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reversed, 256, big * 4));
    expect(blocks == 2, "occupancy");
    CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &block, scale, 0, 0));
    expect(block == 1024, "the best block");
    void *arguments[] = {&o, (void *)&total};
    CHECK(cudaLaunchCooperativeKernel((void *)together, dim3(8), dim3(64), arguments, 0, 0));
    CHECK(cudaMemcpy(&first, o, 4, cudaMemcpyDeviceToHost));
    expect(first == total - 1, "a cooperative launch");
    REFUSED(cudaErrorCooperativeLaunchTooLarge, cudaLaunchCooperativeKernel((void *)together, dim3(100000), dim3(64), arguments, 0, 0));
    cudaLaunchConfig_t config = {};
    config.gridDim = 1, config.blockDim = 1;
    CHECK(cudaLaunchKernelEx(&config, store, o, 0, 42));
    CHECK(cudaMemcpy(&first, o, 4, cudaMemcpyDeviceToHost));
    expect(first == 42, "cudaLaunchKernelEx");
    cudaGetLastError();
    reversed<<<1, 2000>>>(o, 1);
    REFUSED(cudaErrorInvalidValue, cudaPeekAtLastError());
    REFUSED(cudaErrorInvalidValue, cudaGetLastError());
    CHECK(cudaGetLastError());
    reversed<<<0, 32>>>(o, 1);
    REFUSED(cudaErrorInvalidValue, cudaGetLastError());
    config.blockDim = 2000;
    REFUSED(cudaErrorInvalidValue, cudaLaunchKernelEx(&config, store, o, 0, 42));
    REFUSED(cudaErrorInvalidValue, cudaGetLastError());
    for (int k = 1; k < 4; k++) push<<<1, 1>>>(k);
    pop<<<1, 1>>>(o);
    CHECK(cudaMemcpy(&first, o, 4, cudaMemcpyDeviceToHost));
    expect(first == 321, "what new made stays from launch to launch");
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, columns));
    expect(attributes.sharedSizeBytes == 4096 && attributes.numRegs > 0, "attributes of a kernel");
}

static void device() {
    cudaDeviceProp p;
    int count, number, value;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDevice(&number));
    REFUSED(cudaErrorInvalidDevice, cudaSetDevice(1));
    CHECK(cudaGetDeviceProperties(&p, 0));
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    expect(count == 1 && number == 0 && value == p.multiProcessorCount && p.warpSize == 32, "properties");
    printf("%s, %d.%d\n", p.name, p.major, p.minor);
    expect(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"), "names of errors");
    expect(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"), "texts of errors");
    // Removed from CUDA 13:
    CHECK(cudaThreadSynchronize());
    int *managed;
    CHECK(cudaMallocManaged(&managed, 64));
    CHECK(cudaMemAdvise(managed, 64, cudaMemAdviseSetReadMostly, number));
    CHECK(cudaMemPrefetchAsync(managed, 64, number));
    cudaDeviceProp zero = {0};
    expect(p.clockRate == 1980000 && p.memoryClockRate > 0 && p.deviceOverlap == 1 && zero.clockRate == 0, "clocks");
}

static void printing() {
    say<<<2, 32>>>(7);
    printf("host first\n"); // a kernel's output comes at the next synchronization
    CHECK(cudaDeviceSynchronize());
    printf("host last\n");
}

static void many() { // as many allocations as a program with lists or trees makes
    std::vector<Node *> nodes;
    Node *next = nullptr;
    for (int i = 0; i < 10000; i++) {
        Node host{i, next};
        CHECK(cudaMalloc(&next, sizeof host));
        CHECK(cudaMemcpy(next, &host, sizeof host, cudaMemcpyHostToDevice));
        nodes.push_back(next);
    }
    int *out, sum;
    CHECK(cudaMalloc(&out, 4));
    sum_list<<<1, 1>>>(next, out);
    CHECK(cudaMemcpy(&sum, out, 4, cudaMemcpyDeviceToHost));
    expect(sum == 49995000, "a list of 10,000 allocations");
    for (Node *node : nodes) CHECK(cudaFree(node));
    for (int k = 0; k < 20000; k++) {
        CHECK(cudaMalloc(&out, 1 << 30));
        CHECK(cudaFree(out));
    }
}

static void threads() {
    std::vector<std::thread> all;
    int right[4] = {0};
    for (int t = 0; t < 4; t++)
        all.emplace_back([t, &right] {
            float *a, host[1024];
            for (int i = 0; i < 1024; i++) host[i] = i + t;
            CHECK(cudaMalloc(&a, sizeof host));
            CHECK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
            columns<<<1, dim3(32, 32)>>>(a);
            CHECK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost));
            right[t] = host[1] == 32 + t && host[33] == 33 + t;
        });
    for (auto &one : all) one.join();
    expect(right[0] + right[1] + right[2] + right[3] == 4, "four threads");
}

static void processes() { // each has memory of its own
    clearenv(); // it need not keep what banksim has put there
    pid_t child = fork();
    int *a, value = child ? 1 : 2, back, status = 0;
    CHECK(cudaMalloc(&a, 4));
    store<<<1, 1>>>(a, 0, value);
    CHECK(cudaMemcpy(&back, a, 4, cudaMemcpyDeviceToHost));
    expect(back == value, "two processes");
    if (!child) _exit(failed);
    waitpid(child, &status, 0);
    expect(!status, "the child");
}

static void many_processes(bool at_once) { // prints 1 for each that could use the GPU beside those before
    int gate[2], ready[2], status;
    char byte;
    pipe(gate);
    for (int n = 0; n < 9; n++) {
        pipe(ready);
        if (!fork()) {
            close(gate[1]);
            int *a;
            CHECK(cudaMalloc(&a, 4));
            store<<<1, 1>>>(a, 0, n);
            CHECK(cudaDeviceSynchronize());
            if (at_once) write(ready[1], "", 1), read(gate[0], &byte, 1);
            _exit(failed);
        }
        close(ready[1]);
        if (at_once) printf("%zd", read(ready[0], &byte, 1)), fflush(stdout);
        else waitpid(-1, &status, 0), expect(!status, "a process behind others");
        close(ready[0]);
    }
    close(gate[1]);
    while (waitpid(-1, &status, 0) > 0);
}

static void late_fork() { // as on a GPU
    int *a, status = 0;
    CHECK(cudaMalloc(&a, 4));
    pid_t child = fork();
    if (!child) {
        int *own = nullptr;
        bool right = cudaMalloc(&own, 4) == cudaErrorInitializationError;
        right &= cudaMemcpy(&status, own, 4, cudaMemcpyDeviceToHost) == cudaErrorInitializationError;
        _exit(right ? 0 : 1);
    }
    waitpid(child, &status, 0);
    expect(!status, "a child cannot use what its parent has");
    CHECK(cudaFree(a));
}

static void wait() {
    int *a;
    CHECK(cudaMalloc(&a, 4));
    CHECK(cudaMemset(a, 1, 4));
    for_ever<<<1, 32>>>(a); // ends at once
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemset(a, 0, 4));
    printf("waiting\n");
    for_ever<<<1, 32>>>(a);
    CHECK(cudaDeviceSynchronize());
}

static void faults(const std::string &which) { // the launch succeeds, and every later call tells the error
    const int size = 3 << 20; // it has pages of the device of its own
    int *a;
    CHECK(cudaMalloc(&a, size));
    CHECK(cudaMemset(a, 0, size));
    if (which == "outside") store<<<1, 1>>>(a, 1 << 20, 1);
    if (which == "freed") cudaFree(a), store<<<1, 1>>>(a, 0, 1);
    if (which == "host") store<<<1, 1>>>(&failed, 0, 1);
    if (which == "misaligned") store_far<<<1, 1>>>((char *)a, 2);
    if (which == "assert") check_that<<<1, 1>>>(a, 3);
    if (which == "space") store_as_global<<<1, 1>>>(1);
    if (which == "nested") {
        CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 1 << 16));
        nested<<<1, 1>>>(600, a);
        int sum = 0;
        CHECK(cudaMemcpy(&sum, a, sizeof sum, cudaMemcpyDeviceToHost));
        expect(sum == 600 * 601 / 2, "calls that nest deep");
        size_t limit;
        CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 1000));
        CHECK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
        expect(limit == 1008, "a stack comes in pieces");
        REFUSED(cudaErrorInvalidValue, cudaDeviceSetLimit(cudaLimitStackSize, 1 << 20));
        cudaGetLastError();
        CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 1 << 11));
        nested<<<1, 1>>>(600, a);
    }
    if (which == "trap") say<<<1, 1>>>(9), give_up<<<1, 1>>>();
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    printf("%s\n", cudaGetErrorName(cudaMalloc(&a, 4)));
    CHECK(cudaDeviceReset());
    CHECK(cudaMalloc(&a, 4));
    size_t limit;
    CHECK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    expect(limit == 1 << 10, "a device that is reset has its first limits");
}

int main(int argc, char **argv) {
    std::string what = argc > 1 ? argv[1] : "";
    setvbuf(stdout, nullptr, _IOLBF, 0);
    if (what == "results") symbols(), memory(), streams(), launches(), device();
    if (what == "print") printing();
    if (what == "many") many();
    if (what == "threads") threads();
    if (what == "processes") processes();
    if (what == "behind" || what == "beside") many_processes(what == "beside");
    if (what == "fork") late_fork();
    if (what == "missing") { cudaIpcMemHandle_t handle; REFUSED(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, NULL)); }
    if (what == "beyond") { char *a, host[9]; CHECK(cudaMalloc(&a, 8)); REFUSED(cudaErrorInvalidValue, cudaMemcpy(host, a, 9, cudaMemcpyDeviceToHost)); }
    if (what == "touch") { int *a; CHECK(cudaMalloc(&a, 4)); *a = 1; }
    if (what == "huge") {  // beyond 4 GiB, and beyond all memory
        int *p, found[4], before[2] = {5, 6};
        const size_t fourth = 1ull << 30;
        for (int round = 0; round < 2; round++) {
            CHECK(cudaMalloc(&p, 9ull << 30));
            CHECK(cudaMemcpy(p + fourth - 1, before, sizeof before, cudaMemcpyHostToDevice));
            twice_each<<<1, 4>>>(p + fourth - 2);
            twice_each<<<1, 1>>>(p + 2 * fourth + 1);
            CHECK(cudaMemcpy(found, p + fourth - 2, sizeof found, cudaMemcpyDeviceToHost));
            printf("%d %d %d %d\n", found[0], found[1], found[2], found[3]);
            CHECK(cudaMemcpy(found, p + 2 * fourth, sizeof found, cudaMemcpyDeviceToHost));
            printf("%d %d %d %d\n", found[0], found[1], found[2], found[3]);
            CHECK(cudaFree(p));
        }
        REFUSED(cudaErrorMemoryAllocation, cudaMalloc(&p, 1ull << 40));
    }
    if (what == "launch") { say<<<1, 1>>>(1); printf("%s\n", cudaGetErrorName(cudaGetLastError())); }
    if (what == "full") { cudaStream_t stream; CHECK(cudaFree(0)); printf("begins\n"); full = true; cudaStreamCreate(&stream); printf("went on\n"); }
    if (what == "status") return argc > 2 ? atoi(argv[2]) : 0;
    if (what == "wait") wait();
    if (argc > 2) faults(argv[2]);
    if (failed) printf("%d failed\n", failed);
    return failed != 0;
}
