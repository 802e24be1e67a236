// What a GPU does with accesses beyond allocations, with directions of copies, and when it tells an error. Prints what one
// H200 printed: tests/runs/programs/test_beyond_allocations.py has it.
#include <cstdio>
#include <cstring>

__global__ void load(const char *p, long at, int *out) { *out = *(const volatile int *)(p + at); }
__global__ void store(char *p, long at) { *(volatile int *)(p + at) = 7; }
__global__ void add(char *p, long at) { atomicAdd((int *)(p + at), 7); }
__global__ void around(int *p, long first) { p[first + threadIdx.x] += threadIdx.x; }
static const char *name(cudaError_t error) { return cudaGetErrorName(error); }
const long KILO = 1024, MEGA = KILO * KILO;

static void accesses() {
    const struct { long size, at; } cases[] = {
        {40, 40}, {40, 4096}, {40, 2 * MEGA}, {40, 32 * MEGA}, {40, -4}, {40, -2 * MEGA}, {MEGA, MEGA},
        {3 * MEGA, 3 * MEGA}, {3 * MEGA, 4 * MEGA - 4}, {3 * MEGA, -4}, {3 * MEGA, 8 * MEGA}, {100 * MEGA, 102 * MEGA},
    };
    for (auto one : cases) {
        char *before, *p, *behind;
        int *out, got = -1;
        cudaMalloc(&before, one.size), cudaMalloc(&out, 4), cudaMalloc(&p, one.size), cudaMalloc(&behind, one.size);
        load<<<1, 1>>>(p, one.at, out);
        store<<<1, 1>>>(p, one.at);
        printf("%ld at %ld: %s", one.size, one.at, name(cudaDeviceSynchronize()));
        if (!cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost)) printf(", %d", got);
        printf("\n");
        cudaDeviceReset();
    }
}

// Of two small allocations one follows the other: what is written beyond the first is in the second.
static void neighbours() {
    char *first, *second;
    int values[128];
    cudaMalloc(&first, 40), cudaMalloc(&second, sizeof values);
    cudaMemset(second, 0, sizeof values);
    store<<<1, 1>>>(first, 512);
    add<<<1, 1>>>(first, 516);
    add<<<1, 1>>>(first, 516);
    around<<<1, 32>>>((int *)second, -3);
    around<<<1, 32>>>((int *)first, 250);
    cudaMemcpy(values, second, sizeof values, cudaMemcpyDeviceToHost);
    for (int n : {0, 1, 2, 28, 29, 122, 127}) printf("%s%d", n ? " " : "", values[n]);
    printf("\n");
}

static void copies() {
    static char host[64 * 1024];
    for (int kind = 0; kind < 5; kind++)
        for (int to = 0; to < 4; to++)
            for (int from = 0; from < 4; from++) {
                char *p[2], text[16] = "what is copied", back[16] = "";
                for (int side = 0; side < 2; side++) {
                    int where = side ? from : to;
                    if (where == 0) p[side] = host + 4096 * side;
                    if (where == 1) cudaMallocHost(&p[side], 4096);
                    if (where == 2) cudaMalloc(&p[side], 4096);
                    if (where == 3) cudaMallocManaged(&p[side], 4096);
                }
                cudaMemcpy(p[1], text, 16, cudaMemcpyDefault);
                cudaMemcpy(p[0], back, 16, cudaMemcpyDefault);
                cudaError_t error = cudaMemcpy(p[0], p[1], 16, (cudaMemcpyKind)kind);
                cudaMemcpy(back, p[0], 16, cudaMemcpyDefault);
                printf("%c", error == cudaErrorInvalidValue ? 'i' : error ? '?' : memcmp(text, back, 16) ? 'n' : 'c');
                cudaGetLastError();
            }
    printf("\n");
}

// An error of a kernel is told by the first call that waits for the device.
static void late() {
    cudaEvent_t event;
    char *p, *other;
    int value = 1;
    cudaEventCreate(&event);
    cudaMalloc(&p, 3 * MEGA), cudaMalloc(&other, 4);
    store<<<1, 1>>>(p, 64 * MEGA);
    printf("%s", name(cudaGetLastError()));
    printf(" %s", name(cudaEventRecord(event)));
    printf(" %s", name(cudaEventSynchronize(event)));
    printf(" %s", name(cudaEventRecord(event)));
    cudaDeviceReset();
    cudaMalloc(&p, 3 * MEGA);
    store<<<1, 1>>>(p, 64 * MEGA);
    printf(" %s\n", name(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost)));
    cudaDeviceReset();
}

// 3 GiB: the upper half is reached by loads and stores of neighbours, of others, and by atomics.
__global__ void fill(unsigned *p, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, step = n / (gridDim.x * blockDim.x);
    p[n - 1 - i] = i;
    p[i * step] += 1;
    atomicAdd(&p[i * step], 5);
    p[i * step + 1] = p[(i * step) & ~31] + p[n - 1 - i];
}
static void large() {
    const size_t n = 3 * 1024ul * MEGA / 4;
    unsigned *p, value[2];
    printf("%s", name(cudaMalloc(&p, 4 * n)));
    fill<<<4, 64>>>(p, n);
    for (size_t i : {0, 1, 200, 255}) {
        cudaMemcpy(value, p + i * (n / 256), 8, cudaMemcpyDeviceToHost);
        printf(" %u,%u", value[0], value[1]);
    }
    cudaMemcpy(value, p + n - 2, 8, cudaMemcpyDeviceToHost);
    printf(" %u,%u\n", value[0], value[1]);
    cudaFree(p);
}

int main() {
    accesses();
    neighbours();
    copies();
    late();
    large();
}
