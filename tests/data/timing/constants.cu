// Constants that a multiprocessor reads for the first time in a launch: words some way apart, each behind the last.
struct Given { unsigned v[900]; };
__constant__ unsigned table[4096];
#define G extern "C" __global__ void
#define AFTER(x, v) asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 0x12345678; @p exit; mov.u32 %0, %%clock; }" : "=r"(x) : "r"(v) : "memory")
template <class T> __device__ __forceinline__ void steps(const T& from, unsigned* log, int apart) {
    __shared__ unsigned t[130];
    unsigned c;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(c)::"memory");
    t[0] = c;
    unsigned z = 0;
    for (int k = 0; k < 64; ++k) {
        unsigned v = from[(k & 31) * apart + z];
        AFTER(c, v);
        z = c == 0x12345678u;
        t[k + 1] = c;
    }
    for (int k = threadIdx.x; k < 65; k += 32) log[blockIdx.x * 65 + k] = t[k];
}
G of_parameters(unsigned* log, int apart, Given given) { steps(given.v, log, apart); }
G of_table(unsigned* log, int apart, Given given) { steps(table, log, apart); }
