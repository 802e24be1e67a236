// Each pass overwrites the tile while other warps may still read it: a second __syncthreads() is missing.
__global__ void neighbours(float *out, const float *in) {
    __shared__ float tile[128];
    int x = threadIdx.x;
    for (int k = 0; k < 1024; k += 128) {
        tile[x] = in[k + x];
        __syncthreads();
        out[k + x] = tile[x] + tile[(x + 1) % 128];
    }
}
