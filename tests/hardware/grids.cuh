// What the kernels of grids.cu and irregular.cu begin with.
constexpr unsigned WORDS = (1u << 20) - 1;  // what needs no memory of its own for each block reads and writes so many words
#define WHERE ((blockIdx.x + 7 * blockIdx.y + 31 * blockIdx.z) * blockDim.x + tid & WORDS)
#define KERNEL(name) extern "C" __global__ void name(unsigned* out, const unsigned* in, unsigned n, unsigned m)
#define INDICES unsigned tid = threadIdx.x + blockDim.x * threadIdx.y, bx = blockIdx.x, by = blockIdx.y, bz = blockIdx.z;
