// What a kernel reaches from its arguments, and how its parameters are declared.
struct Pair { float x, y; };
enum class Mode : int { one, two };
extern __shared__ float given[];

__global__ void before(float *out, const float *p) { out[threadIdx.x] = p[(int)threadIdx.x - 1]; }

__global__ void numbers(float *out, int n, float f, double d) { out[threadIdx.x] = n + f + (float)d; }

extern "C" __global__ void unmangled(float *out, int n, float f, double d, bool b) { out[threadIdx.x] = n + f + (float)d + b; }

__global__ void named(float *out, Pair pair, Mode mode) { out[threadIdx.x] = pair.x + pair.y + (float)(int)mode; }

__global__ void far(float *out, const float *p, long long at) { out[threadIdx.x] = p[threadIdx.x + at]; }

__global__ void at(int *out, int i) {
    __shared__ int own[32];
    own[threadIdx.x] = 1;
    __syncthreads();
    own[i + (int)threadIdx.x] = 2;
    __syncthreads();
    out[threadIdx.x] = own[threadIdx.x];
}

__global__ void copied(int *out, int i) {
    __shared__ alignas(16) int own[64];
    unsigned to = (unsigned)__cvta_generic_to_shared(own) + 16 * i;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16; cp.async.wait_all;" ::"r"(to), "l"(out));
    __syncthreads();
    out[threadIdx.x] = own[threadIdx.x];
}

__global__ void grown(float *out) {
    given[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = given[31 - threadIdx.x];
}

__device__ __noinline__ void give(int i) { given[i] = 1; }

__global__ void grown_by_a_call(int *out, int i) {
    __shared__ int own[32];
    own[threadIdx.x] = 1;
    give(i + (int)threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = own[31 - threadIdx.x];
}
