// A product of halves as CUTLASS's kernels for sm_90a are made: one warp loads tiles by tensor maps into a ring of stages, the
// warps of a group multiply them, and registers go from one to the other. C = A · B', rows of A and B of `k` halves.

struct alignas(64) Map { char bytes[128]; };
static __device__ unsigned place(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ void wait(unsigned barrier, unsigned parity) {
    asm volatile("{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}" ::"r"(barrier), "r"(parity) : "memory");
}
static __device__ void load(unsigned to, const Map &map, unsigned barrier, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y) : "memory");
}
static __device__ unsigned long long descriptor(unsigned address) { // rows of 128 bytes under a swizzle of 128
    return (address & 0x3FFFF) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

constexpr int STAGES = 3, ROWS = 64, COLUMNS = 32, K = 64, BYTES = 2 * K * (ROWS + COLUMNS);

extern "C" __global__ void __launch_bounds__(256, 1) product(const __grid_constant__ Map a, const __grid_constant__ Map b, float *c, int k) {
    extern __shared__ __align__(1024) unsigned char tiles[];
    __shared__ __align__(8) unsigned long long full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tmbarrier.init.shared::cta.b64 [%1], 128;" ::"r"(place(full + s)), "r"(place(empty + s)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        unsigned elected;
        asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
        if (threadIdx.x < 32 && elected)
            for (int n = 0; n < k / K; n++) {
                int s = n % STAGES, round = n / STAGES;
                if (round) wait(place(empty + s), round - 1 & 1);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(full + s)), "r"(BYTES) : "memory");
                unsigned to = place(tiles) + s * BYTES;
                load(to, a, place(full + s), n * K, blockIdx.x * ROWS);
                load(to + 2 * K * ROWS, b, place(full + s), n * K, blockIdx.y * COLUMNS);
            }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float d[16] = {};
    for (int n = 0; n < k / K; n++) {
        int s = n % STAGES;
        wait(place(full + s), n / STAGES & 1);
        unsigned at = place(tiles) + s * BYTES;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int step = 0; step < K / 16; step++) {
            unsigned long long left = descriptor(at + 32 * step), right = descriptor(at + 2 * K * ROWS + 32 * step);
            asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, 1, 1, 1, 0, 0;"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
                         : "l"(left), "l"(right));
        }
        asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place(empty + s)) : "memory");
    }
    int thread = threadIdx.x - 128, row = blockIdx.x * ROWS + thread / 32 * 16 + thread % 32 / 4, width = gridDim.y * COLUMNS;
    for (int n = 0; n < 4; n++)
        for (int i = 0; i < 4; i++) c[(row + i / 2 * 8) * width + blockIdx.y * COLUMNS + 8 * n + thread % 4 * 2 + i % 2] = d[4 * n + i];
}
