// Atomics of 128 bits, one a launch: what an H200 did is tests/data/hardware/wide_atomics.npz.
extern "C" __global__ void wide(const int *at, uint4 *out, unsigned mask, int how) {
    extern __shared__ __align__(1024) unsigned char sh[];
    unsigned base = (unsigned)__cvta_generic_to_shared(sh), a = base + at[threadIdx.x], t = threadIdx.x;
    for (int n = t; n < 1024; n += 32) ((uint4 *)sh)[n] = make_uint4(n % 5, 0, 0, 0);
    __syncthreads();
    unsigned long long x = 0, y = 0, p = t % 5, q = 0, r = 7 + t, s = 3;
    if (mask >> t & 1) {
        if (how == 0) asm volatile("{.reg .b128 o,v;\n\tmov.b128 v,{%3,%4};\n\tatom.shared.exch.b128 o,[%2],v;\n\tmov.b128 {%0,%1},o;}" : "=l"(x), "=l"(y) : "r"(a), "l"(r), "l"(s) : "memory");
        if (how == 1) asm volatile("{.reg .b128 o,c,v;\n\tmov.b128 c,{%3,%4};\n\tmov.b128 v,{%5,%6};\n\tatom.shared.cas.b128 o,[%2],c,v;\n\tmov.b128 {%0,%1},o;}" : "=l"(x), "=l"(y) : "r"(a), "l"(p), "l"(q), "l"(r), "l"(s) : "memory");
    }
    __syncthreads();
    out[t] = make_uint4((unsigned)x, (unsigned)(x >> 32), (unsigned)y, (unsigned)(y >> 32));
    for (int n = t; n < 1024; n += 32) out[32 + n] = ((uint4 *)sh)[n];
}
