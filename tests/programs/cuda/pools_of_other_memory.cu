// Which pools' memory kernels and fills may access: as one H200 answered.
#include <cstdlib>
#include "expect.h"

__global__ void put(int *p) { *p = 7; }

static cudaMemLocation here, host;

static int *allocated(cudaMemPool_t pool, cudaStream_t s) {
    int *p;
    OK(cudaMallocFromPoolAsync(&p, 4, pool, s));
    OK(cudaStreamSynchronize(s));
    return p;
}

static cudaError_t give(cudaMemPool_t pool, cudaMemAccessFlags flags) {
    cudaMemAccessDesc wanted = {};
    wanted.location = here;
    wanted.flags = flags;
    return cudaMemPoolSetAccess(pool, &wanted, 1);
}

static void has(cudaMemPool_t pool, int wanted) {
    cudaMemAccessFlags flags;
    OK(cudaMemPoolGetAccess(&flags, pool, &here));
    IS(flags, wanted);
}

static void is_accessible(int *p, cudaStream_t s) {
    OK(cudaMemsetAsync(p, 1, 4, s));
    put<<<1, 1, 0, s>>>(p);
    OK(cudaStreamSynchronize(s));
    IS(*p, 7);
    *p = 4;
    IS(*p, 4);
}

int main(int, char **arguments) {
    cudaStream_t s;
    cudaMemPool_t pool;
    OK(cudaStreamCreate(&s));
    here.type = cudaMemLocationTypeDevice;
    host.type = cudaMemLocationTypeHost;
    int yes;
    OK(cudaDeviceGetAttribute(&yes, cudaDevAttrHostMemoryPoolsSupported, 0));
    IS(yes, 1);

    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    has(pool, cudaMemAccessFlagsProtReadWrite);
    OK(give(pool, cudaMemAccessFlagsProtReadWrite));
    IS(give(pool, cudaMemAccessFlagsProtNone), cudaErrorInvalidDevice);
    cudaGetLastError();

    OK(cudaMemGetDefaultMemPool(&pool, &here, cudaMemAllocationTypeManaged));
    has(pool, cudaMemAccessFlagsProtNone);
    int *managed = allocated(pool, s);
    is_accessible(managed, s);
    OK(give(pool, cudaMemAccessFlagsProtReadWrite));
    has(pool, cudaMemAccessFlagsProtReadWrite);
    OK(give(pool, cudaMemAccessFlagsProtNone));
    is_accessible(managed, s);
    OK(cudaFreeAsync(managed, s));

    cudaMemPoolProps of = {};
    of.allocType = cudaMemAllocationTypePinned;
    of.location = host;
    if (atoi(arguments[1])) OK(cudaMemPoolCreate(&pool, &of));
    else OK(cudaMemGetDefaultMemPool(&pool, &host, cudaMemAllocationTypePinned));
    has(pool, cudaMemAccessFlagsProtNone);
    int *before = allocated(pool, s);
    *before = 11;
    OK(give(pool, cudaMemAccessFlagsProtReadWrite));
    has(pool, cudaMemAccessFlagsProtReadWrite);
    IS(*before, 11);
    is_accessible(before, s);
    int *behind = allocated(pool, s);
    is_accessible(behind, s);
    OK(cudaFreeAsync(behind, s));
    OK(give(pool, cudaMemAccessFlagsProtNone));
    has(pool, cudaMemAccessFlagsProtNone);
    IS(*before, 4);
    IS(cudaMemsetAsync(before, 1, 4, s), cudaErrorInvalidValue);
    cudaGetLastError();
    put<<<1, 1, 0, s>>>(before);
    OK(cudaGetLastError());
    IS(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
    printf("done\n");
}
