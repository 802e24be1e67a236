// Room for code: convergence.py replaces the instructions. It needs nearly all registers, and much code.
#define R4(x) x x x x
#define R16(x) R4(R4(x))
#define R256(x) R16(R16(x))

extern "C" __global__ void k(unsigned *in, unsigned *out) {
    unsigned r[110];
    #pragma unroll
    for (int i = 0; i < 110; i++) r[i] = in[i * 32 + threadIdx.x];
    __syncthreads();
    unsigned h = r[3];
    R16(R256(R16(h = h * 77 + in[h & 31];)))
    out[7] = h;
    #pragma unroll
    for (int i = 0; i < 110; i++) out[i * 32 + threadIdx.x] = r[i];
}
