// Compiled for separate linking: functions and their jump tables have code sections of their own.
extern __shared__ float dynamic[];
__device__ int variable = 7;
__device__ int* to_variable = &variable;

__device__ __noinline__ float choose(float* a, int n) {
    switch (n) {
        case 0: a[3] = sinf(a[4]); break;
        case 1: a[5] = a[3]; break;
        case 2: a[5] = a[3] * 4; break;
        case 3: a[8] = 2; break;
        case 4: __syncthreads(); break;
        case 5: a[7] = a[9]; break;
        case 6: a[11] = 2; break;
        case 7: a[n + 8] = logf(a[1]);
    }
    return a[13];
}
__device__ __noinline__ float next(float* a, int n) { return choose(a, n - 1) + 3; }
__device__ __noinline__ float alone(float* a) { return a[1] * a[2]; }
typedef float (*Function)(float*, int);
__device__ Function functions[2] = {choose, next};

extern "C" __global__ void caller(float* a, int n) {
    __shared__ float s[32];
    s[threadIdx.x] = a[threadIdx.x];
    dynamic[threadIdx.x] = a[n];
    __syncthreads();
    *to_variable = 3;
    a[1] = choose(a, n) + s[n] + dynamic[n];
    a[2] = functions[n](a, n);
}
extern "C" __global__ void simple(float* a) { a[1] = alone(a); }
