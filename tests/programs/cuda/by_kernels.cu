// Kernels that launch kernels: with their own parameters, again from there, in streams, after all others. Prints what they wrote.
#include "expect.h"

#include <cstring>

__global__ void fill(int *out, int first, char step) { out[first + threadIdx.x] = 10 * first + step * threadIdx.x; }
__global__ void pieces(int *out, int count) {
    if (threadIdx.x < count) fill<<<1, 4>>>(out, 4 * threadIdx.x, blockIdx.x + 1);
}
__global__ void sum_of_two(long long *sums, int depth, int at) { // of a binary tree, in the order of a heap
    sums[at] = at;
    if (depth > 0)
        for (int n = 1; n < 3; n++) sum_of_two<<<1, 1>>>(sums, depth - 1, 2 * at + n);
}
__global__ void next(int *out) { *out = *out * 10 + 1; }
__global__ void last(int *out) { *out = *out * 10 + 2; }
__global__ void in_turn(int *out) {
    extern __shared__ int own[];
    own[threadIdx.x] = 7;
    last<<<1, 1, 0, cudaStreamTailLaunch>>>(out);
    cudaStream_t stream;
    bool made = !cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int n = 0; n < 3; n++) next<<<1, 1, 64, stream>>>(out);
    cudaStreamDestroy(stream);
    *out = made && !cudaGetLastError() ? own[threadIdx.x] : 0;
}
__global__ void says(int depth) {
    printf("%d to go\n", depth);
    if (depth) says<<<1, 1>>>(depth - 1);
}
__global__ void halves(int *out, int size) { // ends by a launch of no block, and one of too large blocks
    atomicAdd(out, size);
    halves<<<size / 2, 1>>>(out, size / 2);
    halves<<<1, 1025>>>(out, 0);
}
__global__ void asks(int *out) { // device, attributes, and the last error of the thread alone
    int device = 7, count = 7;
    printf("%d %d", cudaGetDevice(&device), cudaGetDeviceCount(&count));
    printf(" device %d of %d:", device, count);
    for (int which : {1, 2, 8, 10, 12, 16, 39, 41, 75, 76, 78, 81, 82, 95, 97, 106, 111}) {
        int value, status = cudaDeviceGetAttribute(&value, (cudaDeviceAttr)which, device);
        printf(" %d", status ? -status : value);
    }
    printf("\n%s: %s\n", cudaGetErrorName(cudaErrorInvalidValue), cudaGetErrorString(cudaErrorInvalidValue));
    fill<<<0, 1>>>(out, 0, 0);
    printf("empty %d %d", cudaPeekAtLastError(), cudaGetLastError());
    printf(" %d", cudaGetLastError());
    fill<<<1, 1025>>>(out, 0, 0);
    printf(" large %d", cudaGetLastError());
    fill<<<1, 1, 1000000>>>(out, 0, 0);
    printf(" shared %d", cudaGetLastError());
    fill<<<dim3(1, 70000), 1>>>(out, 0, 0);
    printf(" y %d\n", cudaGetLastError());
}
__global__ void whose() {
    if (threadIdx.x == 0) whose<<<0, 1>>>();
    __syncthreads();
    printf("%d", cudaPeekAtLastError());
}
__global__ void copies(int *out) {
    int *own = nullptr;
    cudaMalloc((void **)&own, 32);
    for (int n = 0; n < 8; n++) own[n] = n;
    printf("copies %d %d", cudaMemcpyAsync(out, own, 32, cudaMemcpyDeviceToDevice, 0), cudaMemsetAsync(out + 8, 5, 8, 0));
    fill<<<1, 4>>>(out, 0, 3);
    printf(" %d\n", cudaMemcpyAsync(out + 10, out, 16, cudaMemcpyDefault, 0));
}
__global__ void events(int *out) {
    cudaEvent_t event;
    cudaStream_t one, two;
    int made = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    next<<<1, 1, 0, one>>>(out);
    printf("%d %d %d", made, cudaEventRecord(event, one), cudaStreamWaitEvent(two, event, 0));
    last<<<1, 1, 0, two>>>(out);
    printf(" %d\n", cudaEventDestroy(event));
}
__global__ void timed() {
    cudaEvent_t event;
    cudaEventCreateWithFlags(&event, cudaEventDefault);
}
__global__ void elsewhere(int *out) { next<<<1, 1, 0, (cudaStream_t)0x1234>>>(out); }
__global__ void counted(int *count) { atomicAdd(count, 2); }
__global__ void many(int *count) { counted<<<1, 1>>>(count); }
__global__ void faulty(int *out) { out[1 << 30] = 1; }
__global__ void of_faulty(int *out) { faulty<<<1, 1>>>(out); }

template <class T> void print(const char *what, const T *numbers, int count) {
    OK(cudaDeviceSynchronize());
    printf("%s", what);
    for (int n = 0; n < count; n++) printf(" %lld", (long long)numbers[n]);
    printf("\n");
}

int main(int argc, char **argv) {
    int *out;
    long long *sums;
    OK(cudaMallocManaged(&out, 4096));
    OK(cudaMallocManaged(&sums, 4096));
    if (argc > 1) {
        if (!strcmp(argv[1], "fault")) of_faulty<<<1, 1>>>(out);
        if (!strcmp(argv[1], "timed event")) timed<<<1, 1>>>();
        if (!strcmp(argv[1], "wrong stream")) elsewhere<<<1, 1>>>(out);
        size_t most;
        OK(cudaDeviceGetLimit(&most, cudaLimitDevRuntimePendingLaunchCount));
        IS(most, 2048);
        OK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, strcmp(argv[1], "many") ? 299 : 300));
        if (!strcmp(argv[1], "many") || !strcmp(argv[1], "too many")) many<<<2, 150>>>(out);
        printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
        return 0;
    }
    pieces<<<1, 32>>>(out, 3);
    print("pieces", out, 12);
    for (int n = 0; n < 2; n++) sum_of_two<<<1, 1>>>(sums, 3, 0);
    print("tree", sums, 15);
    in_turn<<<1, 1, 4>>>(out);
    print("in turn", out, 1);
    *out = 0;
    halves<<<1, 1>>>(out, 5);
    print("halves", out, 1);
    says<<<1, 1>>>(3);
    OK(cudaDeviceSynchronize());
    asks<<<1, 1>>>(out);
    whose<<<1, 4>>>();
    OK(cudaDeviceSynchronize());
    printf("\n");
    copies<<<1, 1>>>(out);
    print("copied", out, 14);
    *out = 0;
    events<<<1, 1>>>(out);
    print("behind an event", out, 1);
    return 0;
}
