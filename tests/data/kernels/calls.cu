// Control flow that leaves a function: recursion, pointers, jump tables; and variables that hold addresses.
__constant__ float table[64] = {1, 2, 3};
__constant__ float other[4] = {5, 6, 7, 8};
__device__ const float* to_table = table;
__device__ float variable[4] = {1, 2, 3, 4};
__device__ float* to_variable = variable + 1;
__device__ int counter = 5;
__device__ float unset[100];
__constant__ float* constant_to_variable = variable;

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recursion(int* a) { a[threadIdx.x] = fibonacci(a[threadIdx.x]); }

__device__ int triple(int x) { return x * 3; }
__device__ int add_seven(int x) { return x + 7; }
typedef int (*Function)(int);
__device__ Function functions[2] = {triple, add_seven};
__global__ void pointers(int* a, int k) { a[threadIdx.x] = functions[(k + threadIdx.x) & 1](a[threadIdx.x]); }

__global__ void jump_table(int* a, float* b) {
    float y = b[threadIdx.x];
    switch (a[threadIdx.x]) {
        case 0: y = sinf(y); break;
        case 1: y = y * y + 1; break;
        case 2: y = expf(y); break;
        case 3: y = y / 3.f; break;
        case 4: y = sqrtf(y); break;
        case 5: y = y - b[3]; break;
        case 6: y = b[(int)y]; break;
        case 7: y *= b[7]; break;
        case 8: y = cosf(y); break;
        case 9: y = 1 / y; break;
        case 10: y = fabsf(y); break;
        case 11: y = floorf(y); break;
        case 12: y = logf(y); break;
        case 13: y = atomicAdd(b, y); break;
        case 14: y += 5; break;
        case 15: y = y * y * y * y; break;
        case 16: y = fmaf(y, y, b[3]); break;
        case 17: b[9] = 1; break;
    }
    b[threadIdx.x] = y;
}

__global__ void addresses(const float** p, float* o, int i) {
    const float* chosen = i ? table : o;
    p[0] = table;
    p[1] = other + i;
    o[3] = chosen[i];
    o[4] = to_table[i] + constant_to_variable[i] + to_variable[i] + table[i];
    unset[i] = 3;
    atomicAdd(&counter, 1);
}

__global__ void quotient(float* a, const float* b) {
    a[threadIdx.x] = b[threadIdx.x] / a[threadIdx.x];
}
