// Control flow: each kernel is one shape of divergence, on inputs that send the lanes of a warp different ways.
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

__device__ __forceinline__ unsigned mix(unsigned h) { return (h ^ (h >> 7)) * 1664525u + 1013904223u; }

extern "C" __global__ void trip_count(const int *in, unsigned *out) {
    unsigned h = THREAD;
    for (int k = 0; k < in[THREAD]; ++k) h = mix(h);
    out[THREAD] = h;
}

extern "C" __global__ void trip_count_rolled(const int *in, unsigned *out) {
    unsigned h = THREAD;
    int n = in[THREAD];
#pragma unroll 1
    for (int k = 0; k < n; ++k) h = mix(h + k);
    out[THREAD] = h;
}

extern "C" __global__ void one_sided(const int *in, unsigned *out) {
    unsigned h = THREAD;
    int n = in[THREAD];
    if (n & 1) {
#pragma unroll 1
        for (int k = 0; k < 5; ++k) h = mix(h + n);
    }
    out[THREAD] = mix(h);
}

extern "C" __global__ void two_sided(const int *in, unsigned *out) {
    unsigned h = THREAD;
    int n = in[THREAD];
    if (n % 3 == 0) {
#pragma unroll 1
        for (int k = 0; k < n; ++k) h = mix(h + k);
    } else {
#pragma unroll 1
        for (int k = 0; k < 3; ++k) h = h * 5 - (h >> 3);
    }
    out[THREAD] = mix(h);
}

extern "C" __global__ void nested_branches(const int *in, unsigned *out) {
    unsigned h = THREAD;
    int n = in[THREAD];
    if (n & 1) {
        if (n & 2) {
#pragma unroll 1
            for (int k = 0; k < (n & 7); ++k) h = mix(h);
            if (n & 4) out[THREAD] = h / (unsigned)(n + 1);
            else h += in[h % 64];
        } else {
            h = h / (unsigned)(n + 3) + in[n & 15];
        }
        h = mix(h + 1);
    } else if (n & 4) {
#pragma unroll 1
        for (int k = 0; k < 3; ++k) {
            if ((h >> k) & 1) h = h / 3 + in[(h >> 5) % 64];
            else h = mix(h) % 1000003u;
        }
    }
    out[THREAD] = mix(h);
}

extern "C" __global__ void early_return(const int *in, unsigned *out, int count) {
    int i = THREAD;
    if (i >= count) return;
    int n = in[i];
    if (n & 1) {
        out[i] = n;
        return;
    }
    unsigned h = i;
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        h = mix(h);
        if ((h & 7) == 3) {
            out[i] = h;
            return;
        }
    }
    if (n > 8) return;
    out[i] = h + 1;
}

extern "C" __global__ void break_continue(const int *in, unsigned *out) {
    unsigned h = THREAD;
    int n = in[THREAD];
    for (int a = 0; a < n; ++a) {
        if ((a + n) % 3 == 1) continue;
#pragma unroll 1
        for (int b = 0; b < 8; ++b) {
            h = mix(h);
            if ((h & 3) == 0) break;
            if ((h & 3) == 1) continue;
            h += in[(h >> 9) & 63];
            if ((h & 63) == 7) goto leave;
        }
        if ((h & 31) == 5) break;
    }
    h ^= 0x55;
leave:
    out[THREAD] = h;
}

extern "C" __global__ void while_true(const int *in, unsigned *out) {
    unsigned h = in[THREAD] + 1, steps = 0;
    while (true) {
        if (h == 1) break;
        if (h & 1) {
            h = 3 * h + 1;
            if (h > 100000u) return;
        } else {
            h >>= 1;
        }
        if (++steps == 60) {
            steps |= 0x100;
            break;
        }
    }
    out[THREAD] = steps;
}

// Irreducible: the loop is entered in the middle by some lanes.
extern "C" __global__ void goto_machine(const int *in, unsigned *out) {
    unsigned h = THREAD;
    int n = in[THREAD];
    if (n & 1) goto second;
first:
    h = mix(h);
    if ((h & 7) == 0) goto third;
second:
    h = h * 9 + in[h & 63];
    if (--n > 0) {
        if (h & 4) goto first;
        goto third;
    }
    goto done;
third:
    h ^= h >> 11;
    n -= 2;
    if (n > 0) goto second;
done:
    out[THREAD] = h;
}

extern "C" __global__ void switch_4(const int *in, unsigned *out) {
    unsigned h = THREAD;
    switch (in[THREAD] & 3) {
    case 0: h = h / 7 + in[h % 61]; break;
    case 1: h = mix(h) % 77; break;
    case 2:
#pragma unroll 1
        for (int k = 0; k < 4; ++k) h = mix(h);
        break;
    default: out[THREAD + gridDim.x * blockDim.x] = h;
    }
    out[THREAD] = h;
}

extern "C" __global__ void switch_20(const int *in, unsigned *out) {
    unsigned h = THREAD;
    int n = in[THREAD];
#pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        switch ((n + k * 7) % 22) {
        case 0: h = h / 7; break;
        case 1: h = mix(h); break;
        case 2: h = h % 1000u + in[h & 63]; break;
        case 3: h = __popc(h) * 77; // falls through
        case 4: h ^= 0x1234567; break;
        case 5: h = h * h + 1; break;
        case 6: h = __brev(h); break;
        case 7: h = h << (h & 7); break;
        case 8: if (h & 1) return; break;
        case 9: h = in[(h >> 3) & 63] * 3; break;
        case 10: h = __clz(h) + n; break;
        case 11: h = h / (unsigned)(n + 1); break;
        case 12: h = min(h, 1000u); break;
        case 13: h = max(h, 1000u); break;
        case 14: h = (unsigned)__float2int_rn((float)(h & 0xffff) * 0.37f); break;
        case 15: h = h ^ (h >> 16); // falls through
        case 16: h = h * 31; break;
        case 17: continue;
        case 18: out[THREAD] = h; break;
        case 19: h = mix(mix(h)); break;
        default: h = ~h;
        }
        h += 1;
    }
    out[THREAD] = h;
}

extern "C" __global__ void duff(const int *in, unsigned *out) {
    unsigned h = THREAD;
    int n = in[THREAD] + 1, rounds = (n + 3) / 4;
    switch (n & 3) {
    case 0: do { h = mix(h);
    case 3:      h = h / 3 + n;
    case 2:      h = mix(h ^ 5);
    case 1:      h += in[h & 63];
            } while (--rounds > 0);
    }
    out[THREAD] = h;
}

extern "C" __global__ void short_circuit(const int *in, const int *index, unsigned *out) {
    int i = THREAD, n = in[i], hits = 0;
    for (int k = 0; k < 4; ++k) {
        int j = n - k;
        if (j >= 0 && in[j] > 3 && (index[in[j]] & 1 || index[j] > 40)) hits += index[j & 31];
        else if (j < 0 || (n & 1 && index[j] != 7)) hits ^= k + 1;
    }
    out[i] = hits;
}

__device__ __noinline__ unsigned fibonacci(unsigned n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void recursion(const int *in, unsigned *out) { out[THREAD] = fibonacci(in[THREAD] % 9); }

__device__ __noinline__ unsigned odd_steps(unsigned n, unsigned h);
__device__ __noinline__ unsigned even_steps(unsigned n, unsigned h) {
    if (n == 0) return h;
    return (h & 1 ? odd_steps(n - 1, mix(h)) : even_steps(n - 1, h / 2 + 3)) ^ n;
}
__device__ __noinline__ unsigned odd_steps(unsigned n, unsigned h) {
    if (n == 0) return ~h;
    return even_steps(n - 1, mix(h ^ n)) + (h & 2 ? odd_steps(n / 2, h >> 1) : 0);
}

extern "C" __global__ void mutual_recursion(const int *in, unsigned *out) {
    out[THREAD] = even_steps(in[THREAD] % 6, THREAD);
}

// Recursive quicksort of a private array: calls whose depth differs by lane, local memory by pointer.
__device__ __noinline__ void quicksort(int *a, int low, int high) {
    while (low < high) {
        int pivot = a[(low + high) / 2], i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) ++i;
            while (a[j] > pivot) --j;
            if (i <= j) {
                int t = a[i];
                a[i++] = a[j];
                a[j--] = t;
            }
        }
        if (j - low < high - i) {
            quicksort(a, low, j);
            low = i;
        } else {
            quicksort(a, i, high);
            high = j;
        }
    }
}

extern "C" __global__ void recursive_sort(const int *in, int *out) {
    int a[12];
    for (int k = 0; k < 12; ++k) a[k] = in[THREAD * 12 + k];
    quicksort(a, 0, 11);
    for (int k = 0; k < 12; ++k) out[THREAD * 12 + k] = a[k];
}

__device__ __noinline__ unsigned function_a(unsigned h, unsigned n) { return mix(h) + n; }
__device__ __noinline__ unsigned function_b(unsigned h, unsigned n) { return h / (n + 1); }
__device__ __noinline__ unsigned function_c(unsigned h, unsigned n) {
    while (n--) h = mix(h);
    return h;
}
__device__ __noinline__ unsigned function_d(unsigned h, unsigned n) { return n & 1 ? function_a(h, 5) : function_c(h, 2); }
typedef unsigned (*Function)(unsigned, unsigned);
__device__ Function functions[4] = {function_a, function_b, function_c, function_d};

extern "C" __global__ void indirect_call(const int *in, unsigned *out) {
    int n = in[THREAD];
    out[THREAD] = functions[n & 3](THREAD, n & 7);
}

extern "C" __global__ void indirect_call_uniform(const int *in, unsigned *out, int which) {
    unsigned h = functions[which & 3](THREAD, in[THREAD] & 7);
    out[THREAD] = functions[(which + 1 + (threadIdx.x >> 5)) & 3](h, 3);
}

struct Shape {
    int side;
    __device__ Shape(int s) : side(s) {}
    __device__ virtual int area() const = 0;
};
struct Square : Shape {
    __device__ Square(int s) : Shape(s) {}
    __device__ int area() const override { return side * side; }
};
struct Triangle : Shape {
    __device__ Triangle(int s) : Shape(s) {}
    __device__ int area() const override { return side * (side + 1) / 2; }
};

extern "C" __global__ void virtual_call(const int *in, unsigned *out) {
    Square square(in[THREAD]);
    Triangle triangle(in[THREAD] + 1);
    const Shape *shape[2] = {&square, &triangle};
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < 3; ++k) sum = sum * 7 + shape[(in[THREAD] >> k) & 1]->area();
    out[THREAD] = sum;
}

extern "C" __global__ void call_in_divergence(const int *in, unsigned *out) {
    unsigned h = THREAD;
    int n = in[THREAD];
    if (n & 1) h = function_c(h, n & 7) + function_a(h, 1);
    else if (n & 2) {
#pragma unroll 1
        for (int k = 0; k < (n & 12); k += 4) h = function_c(h, k) ^ function_b(h, n);
    } else h = function_d(h, n >> 2);
    out[THREAD] = function_c(h, h & 3);
}

extern "C" __global__ void float_division(const float *a, const float *b, float *out) {
    float x = a[THREAD], y = b[THREAD], r = 0;
    if (x > 0.5f) r = x / y;
    else if (x > 0.25f) r = sqrtf(y) / x;
    else r = 1.0f / (y + x);
    out[THREAD] = r;
}

// Operands near the limits of the exponent take the subroutine's slow path in some lanes.
extern "C" __global__ void float_division_slow(const unsigned *a, const unsigned *b, float *out) {
    float x = __uint_as_float(a[THREAD]), y = __uint_as_float(b[THREAD]);
    out[3 * THREAD] = x / y;
    out[3 * THREAD + 1] = sqrtf(fabsf(x));
    out[3 * THREAD + 2] = 1.0f / y;
}

extern "C" __global__ void double_division(const float *a, const float *b, double *out) {
    double x = a[THREAD], y = b[THREAD] - 0.5, r;
    if (x > 0.5) r = x / y;
    else if (y > 0) r = sqrt(y) * x;
    else r = 1.0 / (x * x + 1e-310 * y);
    out[THREAD] = r;
}

extern "C" __global__ void long_division(const unsigned *a, const unsigned *b, long long *out) {
    long long x = ((long long)(int)a[THREAD] << 20) + b[THREAD], y = (int)b[THREAD] >> (a[THREAD] & 31);
    if (y == 0) y = 1;
    if (a[THREAD] & 1) x = x / y;
    else x = (unsigned long long)x % (unsigned long long)(y < 0 ? -y : y);
    out[THREAD] = x;
}

extern "C" __global__ void gcd(const int *in, int *out) {
    int a = in[THREAD], b = in[THREAD ^ 1] + 1;
    while (b) {
        int t = a % b;
        a = b;
        b = t;
    }
    out[THREAD] = a;
}

extern "C" __global__ void binary_search(const int *sorted, const int *in, int *out, int size) {
    int key = in[THREAD], low = 0, high = size;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] == key) {
            low = middle | 0x10000;
            break;
        }
        if (sorted[middle] < key) low = middle + 1;
        else high = middle;
    }
    out[THREAD] = low;
}

extern "C" __global__ void mandelbrot(int *out, float step, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float cr = x * step - 2.0f, ci = y * step - 1.0f, zr = 0, zi = 0;
    int n = 0;
    for (; n < limit && __fadd_rn(__fmul_rn(zr, zr), __fmul_rn(zi, zi)) <= 4.0f; ++n) {
        float t = __fadd_rn(__fsub_rn(__fmul_rn(zr, zr), __fmul_rn(zi, zi)), cr);
        zi = __fadd_rn(__fmul_rn(2.0f * zr, zi), ci);
        zr = t;
    }
    out[y * gridDim.x * blockDim.x + x] = n;
}

// A private stack: descend an implicit tree, branches pruned by lane.
extern "C" __global__ void tree_walk(const int *in, unsigned *out) {
    unsigned stack[16], top = 0, seed = in[THREAD], sum = 0;
    stack[top++] = 1;
    while (top) {
        unsigned node = stack[--top];
        sum += mix(node ^ seed) >> 28;
        if (node < 64 && (mix(node + seed) & 3)) stack[top++] = 2 * node;
        if (node < 64 && (mix(node * seed) & 1)) stack[top++] = 2 * node + 1;
    }
    out[THREAD] = sum;
}

// Loops by warp: whole warps go different ways, no warp diverges.
extern "C" __global__ void by_warp(unsigned *out) {
    unsigned h = THREAD, warp = threadIdx.x >> 5;
    if (warp & 1) {
#pragma unroll 1
        for (unsigned k = 0; k < warp * 2; ++k) h = mix(h);
    } else if (warp == 2) return;
    out[THREAD] = h;
}

// Shared memory read and written in the two sides, after breaks, and in the loop's tail.
extern "C" __global__ void shared_in_divergence(const int *in, int *out) {
    __shared__ int s[256], t[256];
    int x = threadIdx.x, n = in[THREAD] & 15;
    s[x] = in[THREAD];
    t[x] = 0;
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < n; ++k) {
        int v = s[(x * (k + 1)) & 255];
        if (v & 1) {
            sum += s[(v * 8) & 255];
            t[x] += k;
        } else if (v & 2) {
            sum -= s[(v * 32 + x) & 255];
            if (sum < -50) break;
        }
    }
    if (sum & 1) t[x] ^= sum;
    __syncthreads();
    out[THREAD] = sum + t[(x * 32 + x / 8) & 255];
}
