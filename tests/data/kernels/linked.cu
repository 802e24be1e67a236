// Called from a Numba kernel: the result goes through a pointer, the return value tells success.
extern "C" __device__ int weigh(float* result, float x, float weight) {
    __shared__ float last[32];
    last[threadIdx.x] = x;
    *result = x * weight + last[0];
    return 0;
}
