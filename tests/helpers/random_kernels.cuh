// What the kernels of random_kernels.py begin with: tables, functions that are called, instructions that C++ has no operator for.
__constant__ unsigned table[32] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3};
__constant__ unsigned char bytes[16] = {1, 0, 7, 255, 128, 3, 2, 9, 4, 31, 64, 5, 6, 8, 16, 33};
__device__ __noinline__ unsigned thrice(unsigned v, unsigned n) { return v > n ? v * 3 : v; }
__device__ __noinline__ unsigned folded(unsigned v, unsigned n) { return n ? folded(v * 5 + n, n - 1) : v; }
__device__ __noinline__ unsigned once(unsigned v) { return v + 1; }
__device__ __noinline__ unsigned twice(unsigned v) { return v * 2; }
__constant__ unsigned (*functions[4])(unsigned) = {once, twice, once, twice};
struct Pair { unsigned a; short b; unsigned char c[2]; };
__constant__ Pair pairs[4] = {{5, -3, {1, 2}}, {70000, 9, {255, 0}}, {1, 1, {7, 7}}, {0x80000001u, -1, {0, 3}}};
template <int table> __device__ unsigned logic(unsigned x, unsigned y, unsigned z) {
    unsigned d;
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(x), "r"(y), "r"(z), "n"(table));
    return d;
}
__device__ unsigned field(unsigned x, unsigned at, unsigned size) {
    unsigned d;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(at), "r"(size));
    return d;
}
__device__ unsigned signed_field(unsigned x, unsigned at, unsigned size) {
    unsigned d;
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(at), "r"(size));
    return d;
}
__device__ unsigned inserted(unsigned x, unsigned y, unsigned at, unsigned size) {
    unsigned d;
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(x), "r"(y), "r"(at), "r"(size));
    return d;
}
__device__ unsigned clamped_shift(unsigned x, unsigned by) {
    unsigned d;
    asm("shr.s32 %0, %1, %2;" : "=r"(d) : "r"(x), "r"(by));
    return d;
}
__device__ unsigned carried(unsigned x, unsigned y, unsigned z) {
    unsigned d, e, f;
    asm("add.cc.u32 %0, %3, %4; addc.cc.u32 %1, %5, %3; addc.u32 %2, %4, %5;"
        : "=r"(d), "=r"(e), "=r"(f) : "r"(x), "r"(y), "r"(z));
    return d ^ e + 3 * f;
}
__device__ unsigned borrowed(unsigned x, unsigned y, unsigned z) {
    unsigned d, e, f;
    asm("sub.cc.u32 %0, %3, %4; subc.cc.u32 %1, %5, %3; subc.u32 %2, %4, %5;"
        : "=r"(d), "=r"(e), "=r"(f) : "r"(x), "r"(y), "r"(z));
    return d + e * 5 ^ f;
}
__device__ unsigned multiplied(unsigned x, unsigned y, unsigned z) {
    unsigned d, e;
    asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, %4;" : "=r"(d), "=r"(e) : "r"(x), "r"(y), "r"(z));
    return d + 7 * e;
}
